//! How the sources are laid out, counted line by line.

use std::collections::{BTreeMap, BTreeSet};

use super::work::File;

/// An `.editorconfig` that says what the sources already do.
pub(super) fn editorconfig(files: &[File], paths: &BTreeSet<String>) -> String {
    let endings = files.iter().filter(|file| file.text.contains("\r\n")).count();
    let newline = if endings * 2 > files.len() { "crlf" } else { "lf" };
    let mut text =
        format!("root = true\n\n[*]\ncharset = utf-8\nend_of_line = {newline}\ninsert_final_newline = true\n");
    let sloppy = |file: &&File| file.text.lines().any(|line| line.ends_with([' ', '\t']));
    if !files.iter().any(|file| sloppy(&file)) {
        text.push_str("trim_trailing_whitespace = true\n");
    }
    let mut by_ending: BTreeMap<&str, Indents> = BTreeMap::new();
    for file in files {
        let ending = file.path.rsplit_once('.').map_or("", |(_, ending)| ending);
        if KNOWN.contains(&ending) && !file.path.ends_with("-lock.json") {
            by_ending.entry(ending).or_default().count(&file.text);
        }
    }
    for (ending, indents) in by_ending {
        if let Some(style) = indents.style() {
            text.push_str(&format!("\n[*.{ending}]\n{style}"));
        }
    }
    if paths.iter().any(|path| path == "Makefile" || path.ends_with("/Makefile")) {
        text.push_str("\n[Makefile]\nindent_style = tab\n");
    }
    text
}

const KNOWN: [&str; 22] = [
    "rs", "py", "js", "jsx", "mjs", "ts", "tsx", "go", "java", "kt", "rb", "php", "c", "h", "cpp", "css", "html",
    "json", "yml", "yaml", "toml", "sh",
];

/// How lines begin.
#[derive(Default)]
struct Indents {
    tabs: usize,
    /// Steps to a deeper level, by their number of spaces.
    steps: BTreeMap<usize, usize>,
}

impl Indents {
    fn count(&mut self, text: &str) {
        let mut before = 0;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if line.starts_with('\t') {
                self.tabs += 1;
                continue;
            }
            let spaces = line.len() - line.trim_start_matches(' ').len();
            if spaces > before && matches!(spaces - before, 2 | 3 | 4 | 8) {
                *self.steps.entry(spaces - before).or_default() += 1;
            }
            before = spaces;
        }
    }

    fn style(&self) -> Option<String> {
        let stepped: usize = self.steps.values().sum();
        if self.tabs > stepped {
            return Some("indent_style = tab\n".to_owned());
        }
        let (size, _) = self.steps.iter().max_by_key(|(size, times)| (**times, std::cmp::Reverse(**size)))?;
        Some(format!("indent_style = space\nindent_size = {size}\n"))
    }
}
