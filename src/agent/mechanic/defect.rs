//! A defect as somebody describes it, in words, with code beside them.

use super::Scope;
use super::text::{CODE_END, CODE_START, Shown};
use crate::analysis::Language;

/// What was said about it. Which rule knows it is decided later, with the rules at hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defect {
    /// One line.
    pub title: String,
    /// The rest of the prose.
    pub body: String,
    /// Code that stands within the prose.
    pub inline: Vec<String>,
    /// Code blocks: the language that was named, and the code.
    pub shown: Vec<(String, String)>,
    pub scope: Scope,
    /// Code files and folders that the text names.
    pub seen_in: Scope,
    /// Somebody is asked to do something about it; else it is only told.
    pub asked: bool,
    /// The open tasks of the text, each as a defect of its own. The whole is tried first: then they only say where and how.
    pub tasks: Vec<Defect>,
}

impl Defect {
    pub(super) fn new(title: &str, body: &str, shown: &[Shown], asked: bool) -> Self {
        let all = format!("{title}\n{body}");
        let mut inline = Vec::new();
        for part in all.split(CODE_START).skip(1) {
            let code = part.split(CODE_END).next().unwrap_or_default();
            if !inline.iter().any(|known| known == code) {
                inline.push(code.to_owned());
            }
        }
        let plain = |text: &str| text.replace([CODE_START, CODE_END], "`");
        Self {
            title: plain(title),
            body: plain(body),
            inline,
            shown: shown.iter().map(|s| (s.language.clone(), s.code.clone())).collect(),
            // Paths in a report say where it was seen, not where alone it may be repaired.
            scope: Scope { paths: Vec::new(), ..Scope::read(&all, &[]) },
            seen_in: Scope { paths: code(Scope::read(&all, &[]).paths), ..Scope::default() },
            asked,
            tasks: Vec::new(),
        }
    }

    pub(super) fn describe(&self) -> String {
        format!("Repair what is described: {}", self.in_short())
    }

    pub(super) fn in_short(&self) -> String {
        crate::stdx::text::truncate_chars(self.title.trim_end_matches('.'), 120).to_string()
    }
}

fn code(paths: Vec<String>) -> Vec<String> {
    paths.into_iter().filter(|path| path.ends_with('/') || Language::of_path(path).is_some()).collect()
}
