//! A drawing as SVG and as PNG, from the same places.

use super::diagram::{Arrow, LETTER, Layout, Placed};
use super::font;
use crate::stdx::png;

/// Points of the PNG for one unit of the drawing; the letters fit it.
const SCALE: i32 = 2;
const ARROW: f64 = 5.0;

/// The drawing as an SVG document. Names stand in it as text, escaped.
pub(super) fn svg(layout: &Layout) -> String {
    let Layout { width, height, .. } = layout;
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{}\" height=\"{}\" role=\"img\" font-family=\"monospace\" font-size=\"10\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        width * SCALE,
        height * SCALE,
        xml(&layout.title)
    );
    let text = |x: i32, y: i32, fill: &str, text: &str| {
        let length = i32::try_from(text.chars().count()).unwrap_or(0) * LETTER;
        format!(
            "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>\n",
            xml(text)
        )
    };
    let mut body = String::new();
    body.push_str(&text(20, 26, "#1f2933", &layout.title));
    if let Some(legend) = layout.legend {
        body.push_str(&text(20, height - 16, "#b42318", legend));
    }
    for Arrow { points: [a, b, c, d], back } in &layout.arrows {
        let colour = if *back { "#b42318" } else { "#8593a3" };
        body.push_str(&format!(
            "<path d=\"M{} {}C{} {} {} {} {} {}\" fill=\"none\" stroke=\"{colour}\"/>\n",
            a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1
        ));
        let [tip, left, right] = head(*c, *d);
        body.push_str(&format!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\" fill=\"{colour}\"/>\n",
            tip.0, tip.1, left.0, left.1, right.0, right.1
        ));
    }
    for Placed { x, y, width, height, label, note } in &layout.boxes {
        body.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#eef3f8\" stroke=\"#3e4c59\"/>\n"
        ));
        body.push_str(&text(x + 9, y + 15, "#1f2933", label));
        body.push_str(&text(x + 9, y + 29, "#616e7c", note));
    }
    out.push_str(&body);
    out.push_str("</svg>\n");
    out
}

/// The arrow's head: its tip, and two corners behind it.
fn head(before: (i32, i32), tip: (i32, i32)) -> [(f64, f64); 3] {
    let (x, y) = (f64::from(tip.0), f64::from(tip.1));
    let (dx, dy) = (x - f64::from(before.0), y - f64::from(before.1));
    let length = dx.hypot(dy).max(1.0);
    let (dx, dy) = (dx / length * ARROW, dy / length * ARROW);
    [(x, y), (x - dx - dy * 0.6, y - dy + dx * 0.6), (x - dx + dy * 0.6, y - dy - dx * 0.6)]
}

/// Text for XML: escaped, and without the characters that no XML may hold.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// White, then four shades of each line, then the rest.
const PALETTE: [[u8; 3]; 13] = [
    [255, 255, 255],
    [225, 229, 233],
    [194, 201, 209],
    [163, 174, 186],
    [133, 147, 163],
    [238, 205, 202],
    [219, 150, 144],
    [199, 92, 84],
    [180, 35, 24],
    [238, 243, 248],
    [62, 76, 89],
    [31, 41, 51],
    [97, 110, 124],
];
const GREY: u8 = 1;
const RED: u8 = 5;
const FILL: u8 = 9;
const BORDER: u8 = 10;
const TEXT: u8 = 11;
const NOTE: u8 = 12;

/// The drawing as a PNG file.
pub(super) fn png(layout: &Layout) -> Vec<u8> {
    let size = |units: i32| usize::try_from(units * SCALE).unwrap_or(0);
    let (width, height) = (size(layout.width), size(layout.height));
    let mut canvas = Canvas { width, pixels: vec![0; width * height] };
    for Arrow { points, back } in &layout.arrows {
        let shade = if *back { RED } else { GREY };
        let [a, b, c, d] = points.map(|(x, y)| (f64::from(x), f64::from(y)));
        const PARTS: i32 = 48;
        let at = |part: i32| {
            let t = f64::from(part) / f64::from(PARTS);
            let u = 1.0 - t;
            let mix = |a: f64, b: f64, c: f64, d: f64| {
                u * u * u * a + 3.0 * u * u * t * b + 3.0 * u * t * t * c + t * t * t * d
            };
            (mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1))
        };
        for part in 0..PARTS {
            canvas.line(at(part), at(part + 1), shade);
        }
        let [tip, left, right] = head(points[2], points[3]);
        for part in 0..=8 {
            let t = f64::from(part) / 8.0;
            let foot = (left.0 + (right.0 - left.0) * t, left.1 + (right.1 - left.1) * t);
            canvas.line(tip, foot, shade);
        }
    }
    for Placed { x, y, width, height, label, note } in &layout.boxes {
        canvas.rectangle(*x, *y, *width, *height);
        canvas.text(x + 9, y + 8, label, TEXT);
        canvas.text(x + 9, y + 22, note, NOTE);
    }
    canvas.text(20, 19, &layout.title, TEXT);
    if let Some(legend) = layout.legend {
        canvas.text(20, layout.height - 23, legend, RED + 3);
    }
    png::encode(canvas.width, &canvas.pixels, &PALETTE)
}

struct Canvas {
    width: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn pixel(&mut self, x: i32, y: i32) -> Option<&mut u8> {
        let (x, y) = (usize::try_from(x).ok().filter(|x| *x < self.width)?, usize::try_from(y).ok()?);
        self.pixels.get_mut(y * self.width + x)
    }

    /// A line as thick as one unit, its rim softened; `shade` is the lightest of its four.
    fn line(&mut self, from: (f64, f64), to: (f64, f64), shade: u8) {
        let scale = f64::from(SCALE);
        let (ax, ay, bx, by) = (from.0 * scale, from.1 * scale, to.0 * scale, to.1 * scale);
        let (dx, dy) = (bx - ax, by - ay);
        let squared = dx * dx + dy * dy;
        let half = scale / 2.0;
        let range = |a: f64, b: f64| (a.min(b) - half - 1.0).floor() as i32..=(a.max(b) + half + 1.0).ceil() as i32;
        for y in range(ay, by) {
            for x in range(ax, bx) {
                let (px, py) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
                let t = if squared > 0.0 { (((px - ax) * dx + (py - ay) * dy) / squared).clamp(0.0, 1.0) } else { 0.0 };
                let away = (px - ax - t * dx).hypot(py - ay - t * dy);
                let cover = ((half + 0.5 - away).clamp(0.0, 1.0) * 4.0).round() as u8;
                if cover > 0
                    && let Some(pixel) = self.pixel(x, y)
                {
                    let new = shade + cover - 1;
                    let same = (shade..shade + 4).contains(pixel);
                    if *pixel == 0 || (same && *pixel < new) || (!same && cover == 4) {
                        *pixel = new;
                    }
                }
            }
        }
    }

    fn rectangle(&mut self, x: i32, y: i32, width: i32, height: i32) {
        let (left, top, right, bottom) = (x * SCALE, y * SCALE, (x + width) * SCALE, (y + height) * SCALE);
        for py in top..=bottom {
            for px in left..=right {
                let rim = px < left + SCALE || px > right - SCALE || py < top + SCALE || py > bottom - SCALE;
                if let Some(pixel) = self.pixel(px, py) {
                    *pixel = if rim { BORDER } else { FILL };
                }
            }
        }
    }

    fn text(&mut self, x: i32, y: i32, text: &str, colour: u8) {
        let mut left = x * SCALE;
        for c in text.chars() {
            for (row, bits) in (0..).zip(font::glyph(c)) {
                for column in (0..5).filter(|column| bits & (1 << (4 - column)) != 0) {
                    for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        if let Some(pixel) = self.pixel(left + column * SCALE + dx, y * SCALE + row * SCALE + dy) {
                            *pixel = colour;
                        }
                    }
                }
            }
            left += LETTER * SCALE;
        }
    }
}
