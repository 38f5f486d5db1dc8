//! Where the modules of a drawing stand: in layers, whoever needs another above it. The same graph gives the same drawing.

use super::modules::Graph;
use crate::stdx::text::{count, truncate_chars};

/// Of one letter and of one line, in units of the drawing.
pub(super) const LETTER: i32 = 6;
const BOX_HEIGHT: i32 = 36;
const PAD: i32 = 9;
const GAP: i32 = 22;
const ROW_GAP: i32 = 44;
const MARGIN: i32 = 20;
const TITLE: i32 = 24;
/// Boxes beside each other; a wider layer goes on in the next row.
const MAX_ROW: usize = 6;
const MAX_LABEL: usize = 26;
/// Sweeps that bring boxes near to what they are tied to.
const SWEEPS: usize = 4;

pub(super) struct Layout {
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) title: String,
    pub(super) legend: Option<&'static str>,
    pub(super) boxes: Vec<Placed>,
    pub(super) arrows: Vec<Arrow>,
}

pub(super) struct Placed {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
    pub(super) label: String,
    pub(super) note: String,
}

/// A curve: its ends and what bends it.
pub(super) struct Arrow {
    pub(super) points: [(i32, i32); 4],
    /// Against the layers: its two ends need each other, perhaps through others.
    pub(super) back: bool,
}

/// Places a graph.
pub(super) fn layout(graph: &Graph, name: &str) -> Layout {
    let back = back_edges(graph);
    let rows = rows(graph, &back);
    let labels: Vec<String> = graph.nodes.iter().map(|node| short(&node.name)).collect();
    let notes: Vec<String> = graph.nodes.iter().map(|node| count(node.files, "file")).collect();
    let letters = |text: &str| i32::try_from(text.chars().count()).unwrap_or(0) * LETTER;
    let width_of = |at: usize| {
        let text = |all: &[String]| all.get(at).map_or(0, |text| letters(text));
        text(&labels).max(text(&notes)) + 2 * PAD
    };
    let widths: Vec<i32> = rows
        .iter()
        .map(|row| {
            let boxes: i32 = row.iter().map(|at| width_of(*at)).sum();
            boxes + GAP * (i32::try_from(row.len()).unwrap_or(0) - 1).max(0)
        })
        .collect();
    let title = truncate_chars(&format!("Modules of {name}"), 60);
    let legend = (!back.is_empty()).then_some("red: modules that need each other");
    let widest = widths.iter().copied().max().unwrap_or(0).max(letters(&title)).max(legend.map_or(0, letters));
    let mut places: Vec<(usize, Placed)> = Vec::new();
    let mut y = MARGIN + TITLE;
    for (row, width) in rows.iter().zip(&widths) {
        let mut x = MARGIN + (widest - width) / 2;
        for at in row {
            let (label, note) =
                (labels.get(*at).cloned().unwrap_or_default(), notes.get(*at).cloned().unwrap_or_default());
            places.push((*at, Placed { x, y, width: width_of(*at), height: BOX_HEIGHT, label, note }));
            x += width_of(*at) + GAP;
        }
        y += BOX_HEIGHT + ROW_GAP;
    }
    places.sort_by_key(|(at, _)| *at);
    let boxes: Vec<Placed> = places.into_iter().map(|(_, placed)| placed).collect();
    let arrows = graph
        .edges
        .keys()
        .filter_map(|(from, to)| Some(arrow(boxes.get(*from)?, boxes.get(*to)?, back.contains(&(*from, *to)))))
        .collect();
    let height = y - ROW_GAP + MARGIN + if legend.is_some() { TITLE } else { 0 };
    Layout { width: widest + 2 * MARGIN, height, title, legend, boxes, arrows }
}

/// From the lower edge of one box to the upper edge of the other, or out at the side of those in one row.
fn arrow(from: &Placed, to: &Placed, back: bool) -> Arrow {
    let (a, b) = (from.x + from.width / 2, to.x + to.width / 2);
    let points = if to.y > from.y {
        let (top, end) = (from.y + from.height, to.y);
        let bend = ((end - top) / 2).min(ROW_GAP);
        [(a, top), (a, top + bend), (b, end - bend), (b, end)]
    } else if to.y == from.y {
        let (top, rise) = (from.y, ROW_GAP / 2);
        [(a, top), (a, top - rise), (b, top - rise), (b, top)]
    } else {
        // A little aside, so that it does not lie on the arrow that goes the other way.
        let (aside, top, end) = (LETTER, from.y, to.y + to.height);
        let bend = ((top - end) / 2).min(ROW_GAP);
        [(a + aside, top), (a + aside, top - bend), (b + aside, end + bend), (b + aside, end)]
    };
    Arrow { points, back }
}

/// The end of a long name says more than its beginning.
fn short(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= MAX_LABEL {
        return name.to_owned();
    }
    format!("..{}", name.chars().skip(letters + 2 - MAX_LABEL).collect::<String>())
}

/// Edges that close a circle, found going through the nodes in their order.
fn back_edges(graph: &Graph) -> std::collections::BTreeSet<(usize, usize)> {
    let count = graph.nodes.len();
    let next: Vec<Vec<usize>> =
        (0..count).map(|at| graph.edges.keys().filter(|(from, _)| *from == at).map(|(_, to)| *to).collect()).collect();
    let mut needed = vec![0_usize; count];
    for (_, to) in graph.edges.keys() {
        if let Some(by) = needed.get_mut(*to) {
            *by += 1;
        }
    }
    // Whoever nobody needs stands at the top.
    let mut starts: Vec<usize> = (0..count).collect();
    starts.sort_by_key(|at| (needed.get(*at).copied(), std::cmp::Reverse(next.get(*at).map(Vec::len)), *at));
    let (mut done, mut open, mut back) = (vec![false; count], vec![false; count], std::collections::BTreeSet::new());
    for start in starts {
        let mut path = vec![(start, 0)];
        if done.get(start).copied().unwrap_or(true) {
            continue;
        }
        while let Some((at, nth)) = path.last_mut() {
            let at = *at;
            if let Some(mark) = open.get_mut(at) {
                *mark = true;
            }
            let to = next.get(at).and_then(|next| next.get(*nth)).copied();
            *nth += 1;
            match to {
                Some(to) if open.get(to).copied().unwrap_or(false) => {
                    back.insert((at, to));
                }
                Some(to) if done.get(to).copied().unwrap_or(true) => {}
                Some(to) => path.push((to, 0)),
                None => {
                    path.pop();
                    for (marks, value) in [(&mut open, false), (&mut done, true)] {
                        if let Some(mark) = marks.get_mut(at) {
                            *mark = value;
                        }
                    }
                }
            }
        }
    }
    back
}

/// The nodes of each row, from the top and from the left.
fn rows(graph: &Graph, back: &std::collections::BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let forward: Vec<(usize, usize)> = graph.edges.keys().filter(|edge| !back.contains(edge)).copied().collect();
    let mut layer = vec![0_usize; graph.nodes.len()];
    // Without circles, as many rounds as there are nodes are enough.
    for _ in 0..graph.nodes.len() {
        let mut moved = false;
        for (from, to) in &forward {
            let least = layer.get(*from).copied().unwrap_or(0) + 1;
            if let Some(own) = layer.get_mut(*to).filter(|own| **own < least) {
                *own = least;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    let depth = layer.iter().copied().max().map_or(0, |deepest| deepest + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); depth];
    for (at, own) in layer.iter().enumerate() {
        if let Some(nodes) = layers.get_mut(*own) {
            nodes.push(at);
        }
    }
    let mut place = vec![0_usize; graph.nodes.len()];
    let mark = |nodes: &[usize], place: &mut Vec<usize>| {
        for (x, at) in nodes.iter().enumerate() {
            if let Some(own) = place.get_mut(*at) {
                *own = x * 1000 / nodes.len().max(1);
            }
        }
    };
    layers.iter().for_each(|nodes| mark(nodes, &mut place));
    for _ in 0..SWEEPS {
        for nodes in &mut layers {
            let middle = |at: usize| {
                let near: Vec<usize> = forward
                    .iter()
                    .filter_map(|(from, to)| match at {
                        _ if *from == at => place.get(*to).copied(),
                        _ if *to == at => place.get(*from).copied(),
                        _ => None,
                    })
                    .collect();
                near.iter().sum::<usize>().checked_div(near.len()).unwrap_or(500)
            };
            let mut keyed: Vec<(usize, usize)> = nodes.iter().map(|at| (middle(*at), *at)).collect();
            keyed.sort_unstable();
            *nodes = keyed.into_iter().map(|(_, at)| at).collect();
            mark(nodes, &mut place);
        }
    }
    layers
        .iter()
        .flat_map(|nodes| {
            let rows = nodes.len().div_ceil(MAX_ROW).max(1);
            nodes.chunks(nodes.len().div_ceil(rows).max(1)).map(<[usize]>::to_vec).collect::<Vec<_>>()
        })
        .collect()
}
