//! Who imports whom in a repository: files, and folders where the language's unit is the folder; circles; an order from the
//! bottom up.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::resolve::{Resolver, folder};
use super::survey::{Class, Survey};
use crate::analysis::{Import, Language};

/// Units and what they import, by index into `units`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Graph {
    /// Paths of files; of folders for Go, whose packages they are. Sorted.
    pub(super) units: Vec<String>,
    by_path: HashMap<String, usize>,
    pub(super) uses: Vec<BTreeSet<usize>>,
    pub(super) used_by: Vec<BTreeSet<usize>>,
    /// Uses that only declare a part, as `mod a;` does: no circle comes of them.
    parts: BTreeSet<(usize, usize)>,
}

impl Graph {
    pub(super) fn of(survey: &Survey, resolver: &Resolver<'_>, imports: &[(String, Vec<Import>)]) -> Self {
        let code = survey.files.iter().filter(|file| {
            file.class != Class::Foreign && file.class != Class::Docs && Language::of_path(&file.path).is_some()
        });
        let unit = |path: &str| match Language::of_path(path) {
            Some(Language::Go) => match folder(path) {
                "" => ".".to_owned(),
                folder => folder.to_owned(),
            },
            _ => path.to_owned(),
        };
        let of_path: BTreeMap<&str, String> = code.map(|file| (file.path.as_str(), unit(&file.path))).collect();
        let units: BTreeSet<&String> = of_path.values().collect();
        let units: Vec<String> = units.into_iter().cloned().collect();
        let index = |unit: &String| units.binary_search(unit).ok();
        let by_path: HashMap<String, usize> =
            of_path.iter().filter_map(|(path, unit)| Some(((*path).to_owned(), index(unit)?))).collect();
        let (mut real, mut parts) = (BTreeSet::new(), BTreeSet::new());
        for (from, imports) in imports {
            let Some(own) = by_path.get(from) else { continue };
            for import in imports {
                for path in resolver.files(from, import) {
                    let Some(other) = by_path.get(path).filter(|other| *other != own) else { continue };
                    if import.part { &mut parts } else { &mut real }.insert((*own, *other));
                }
            }
        }
        parts.retain(|edge| !real.contains(edge));
        Self::new(units, by_path, &real, parts)
    }

    fn new(
        units: Vec<String>,
        by_path: HashMap<String, usize>,
        real: &BTreeSet<(usize, usize)>,
        parts: BTreeSet<(usize, usize)>,
    ) -> Self {
        let (mut uses, mut used_by) = (vec![BTreeSet::new(); units.len()], vec![BTreeSet::new(); units.len()]);
        for (from, to) in real.iter().chain(&parts) {
            uses[*from].insert(*to);
            used_by[*to].insert(*from);
        }
        Self { units, by_path, uses, used_by, parts }
    }

    pub(super) fn unit(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Files with their unit, in no order.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, usize)> {
        self.by_path.iter().map(|(path, unit)| (path.as_str(), *unit))
    }

    /// The same graph with units drawn together; `group` names each unit's group.
    pub(super) fn grouped(&self, group: impl Fn(&str) -> String) -> Self {
        let names: Vec<String> = self.units.iter().map(|unit| group(unit)).collect();
        let units: Vec<String> = names.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
        let of: Vec<usize> = names.iter().filter_map(|name| units.binary_search(name).ok()).collect();
        let by_path = self.by_path.iter().map(|(path, unit)| (path.clone(), of[*unit])).collect();
        let (mut real, mut parts) = (BTreeSet::new(), BTreeSet::new());
        for (from, uses) in self.uses.iter().enumerate() {
            for to in uses.iter().filter(|to| of[from] != of[**to]) {
                let part = self.parts.contains(&(from, *to));
                if part { &mut parts } else { &mut real }.insert((of[from], of[*to]));
            }
        }
        parts.retain(|edge| !real.contains(edge));
        Self::new(units, by_path, &real, parts)
    }

    /// Units that import each other in a circle, each circle's and the circles themselves in order.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let uses = |unit: usize| self.uses[unit].iter().copied().filter(move |to| !self.parts.contains(&(unit, *to)));
        let mut found: Vec<Vec<usize>> =
            components(self.units.len(), uses).into_iter().filter(|c| c.len() > 1).collect();
        found.iter_mut().for_each(|cycle| cycle.sort_unstable());
        found.sort();
        found
    }

    /// How far above the bottom each unit stands: one that imports nothing is at 0, any other above all that it imports
    /// unless they import it, too.
    pub(super) fn levels(&self) -> Vec<usize> {
        let components = components(self.units.len(), |unit| self.uses[unit].iter().copied());
        let mut home = vec![0; self.units.len()];
        for (at, component) in components.iter().enumerate() {
            component.iter().for_each(|unit| home[*unit] = at);
        }
        let mut levels = vec![0; self.units.len()];
        for (at, component) in components.iter().enumerate() {
            let below = component.iter().flat_map(|unit| &self.uses[*unit]).filter(|to| home[**to] != at);
            let level = below.map(|to| levels[*to] + 1).max().unwrap_or(0);
            component.iter().for_each(|unit| levels[*unit] = level);
        }
        levels
    }

    /// All that a unit imports, itself or through others; at most `most`.
    pub(super) fn reach(&self, unit: usize, most: usize) -> BTreeSet<usize> {
        let (mut met, mut open) = (BTreeSet::new(), vec![unit]);
        while let Some(at) = open.pop() {
            for to in &self.uses[at] {
                if met.len() < most && met.insert(*to) {
                    open.push(*to);
                }
            }
        }
        met
    }
}

/// The strongly connected components, each after all that it leads to (Tarjan's algorithm, without recursion: a chain of
/// imports may be longer than the stack is deep).
fn components<I: Iterator<Item = usize>>(count: usize, next: impl Fn(usize) -> I) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut index, mut low, mut on_stack) = (vec![NEW; count], vec![0; count], vec![false; count]);
    let (mut stack, mut found, mut counter) = (Vec::new(), Vec::new(), 0);
    for start in 0..count {
        if index[start] != NEW {
            continue;
        }
        let mut calls: Vec<(usize, I)> = Vec::new();
        let mut enter = vec![start];
        loop {
            if let Some(unit) = enter.pop() {
                (index[unit], low[unit], on_stack[unit]) = (counter, counter, true);
                counter += 1;
                stack.push(unit);
                calls.push((unit, next(unit)));
            }
            let Some((unit, rest)) = calls.last_mut() else { break };
            let unit = *unit;
            match rest.next() {
                Some(to) if index[to] == NEW => enter.push(to),
                Some(to) if on_stack[to] => low[unit] = low[unit].min(index[to]),
                Some(_) => {}
                None => {
                    calls.pop();
                    if let Some((above, _)) = calls.last() {
                        low[*above] = low[*above].min(low[unit]);
                    }
                    if low[unit] == index[unit] {
                        let at = stack.iter().rposition(|on| *on == unit).unwrap_or(0);
                        let component = stack.split_off(at);
                        component.iter().for_each(|unit| on_stack[*unit] = false);
                        found.push(component);
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(count: usize, edges: &[(usize, usize)]) -> Graph {
        let units = (0..count).map(|n| format!("{n:03}")).collect();
        Graph::new(units, HashMap::new(), &edges.iter().copied().collect(), BTreeSet::new())
    }

    #[test]
    fn circles_are_found_and_levels_go_upwards() {
        let graph = graph(7, &[(0, 1), (1, 2), (2, 1), (2, 3), (4, 0), (5, 6), (6, 5)]);
        assert_eq!(graph.cycles(), [vec![1, 2], vec![5, 6]]);
        assert_eq!(graph.levels(), [2, 1, 1, 0, 3, 0, 0]);
        assert_eq!(graph.reach(4, 100), BTreeSet::from([0, 1, 2, 3]));
    }

    #[test]
    fn a_chain_longer_than_any_stack_has_its_levels() {
        let edges: Vec<(usize, usize)> = (0..200_000).map(|n| (n, n + 1)).collect();
        let graph = graph(200_001, &edges);
        assert_eq!(graph.levels()[0], 200_000);
        assert!(graph.cycles().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn an_import_never_leads_upwards_but_in_a_circle(edges in proptest::collection::btree_set((0..12_usize, 0..12_usize), 0..40)) {
            let edges: Vec<(usize, usize)> = edges.into_iter().filter(|(a, b)| a != b).collect();
            let graph = graph(12, &edges);
            let (levels, cycles) = (graph.levels(), graph.cycles());
            for (from, to) in edges {
                let together = cycles.iter().any(|cycle| cycle.contains(&from) && cycle.contains(&to));
                proptest::prop_assert!(together || levels[from] > levels[to]);
                proptest::prop_assert!(!together || levels[from] == levels[to]);
            }
        }
    }
}
