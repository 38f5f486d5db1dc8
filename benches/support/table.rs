//! Markdown tables, on the terminal and under `target/bench`.

use std::fmt::Write;
use std::time::Duration;

/// A page of Markdown, printed as it grows.
pub struct Page {
    name: &'static str,
    text: String,
}

impl Page {
    /// Opens with the machine and the day: a number without them says nothing.
    pub fn new(name: &'static str) -> Self {
        let mut page = Self { name, text: String::new() };
        page.line(&format!("{}; {}.", machine(), chrono::Utc::now().format("%Y-%m-%d %H:%M UTC")));
        page
    }

    pub fn line(&mut self, text: &str) {
        println!("{text}");
        let _ = writeln!(self.text, "{text}");
    }

    /// Begins a table; text and table are parted by an empty line.
    pub fn head(&mut self, columns: &[&str]) {
        if !self.text.ends_with("\n\n") {
            self.line("");
        }
        self.line(&format!("| {} |", columns.join(" | ")));
        self.line(&format!("|{}", " --- |".repeat(columns.len())));
    }

    pub fn row(&mut self, cells: &[String]) {
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    /// Writes the page down for the documentation.
    pub fn keep(self) {
        let path = super::folder().join(format!("{}.md", self.name));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("target/bench");
        std::fs::write(&path, self.text).expect("the page is written");
        println!("\nwritten to {}", path.display());
    }
}

fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("unknown");
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let kilobytes: u64 = read("/proc/meminfo").split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    let load = read("/proc/loadavg").split(' ').next().unwrap_or("?").to_owned();
    let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
    format!(
        "{processors} processors ({model}), {} GB, Linux {kernel}, load {load} before the run",
        kilobytes / 1_000_000
    )
}

pub fn milliseconds(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") }
}

pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

pub fn rate(per_second: f64) -> String {
    let text = format!("{per_second:.0}");
    match text.len() {
        4.. => format!("{},{}", &text[..text.len() - 3], &text[text.len() - 3..]),
        _ => text,
    }
}

pub fn ratio(ours: f64, theirs: f64) -> String {
    if theirs > 0.0 { format!("{:.2}×", ours / theirs) } else { "–".to_owned() }
}
