//! Reads what a comment asks for.
//!
//! Promise: a command is a line that stands alone, plain and visible to every reader; the same text gives the same commands.
//! Never: no I/O, no settings, no argument but the commit of `test`; a line that says more is not obeyed.

mod element;
mod line;
mod nearest;
mod speech;

use std::collections::HashMap;

use crate::domain::{Untrusted, Verb};
use line::Said;
pub use nearest::nearest;

/// What a command's line begins with. A mention of the App does the same.
pub const PREFIX: &str = "/swarm";

/// GitHub takes no longer comment. What is longer came from somewhere else and holds no commands.
const MAX_CHARS: usize = 65_536;
/// A reader is told of so many unknown words.
const MAX_UNKNOWN: usize = 3;

/// What the App is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    slug: String,
}

/// What one comment asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands {
    /// In order of first mention, without repeats.
    pub verbs: Vec<Verb>,
    /// The commit that `test` names, in lower case, 7 to 64 hex digits; of several the first.
    pub commit: Option<String>,
    /// The first word of lines that call us and say something else than a verb, as it was written, without repeats; at
    /// most three, each of at most 40 characters, none of them hidden. `…` stands for what is not repeated: more words,
    /// the value after a `=`, the rest of a long word.
    pub unknown: Vec<String>,
}

impl Names {
    /// `slug` is the App's name in addresses, as `GET /app` gives it. An empty one is never mentioned.
    pub fn new(slug: &str) -> Self {
        Self { slug: slug.to_owned() }
    }

    /// The account under which the App acts.
    pub fn bot_login(&self) -> String {
        format!("{}[bot]", self.slug)
    }
}

impl Commands {
    pub fn is_empty(&self) -> bool {
        self.verbs.is_empty() && self.unknown.is_empty()
    }

    fn of(said: impl IntoIterator<Item = Said>) -> Self {
        let mut commands = Self::default();
        for one in said {
            match one {
                Said::Verb(verb) => commands.add(verb),
                Said::Test(commit) => {
                    commands.add(Verb::Test);
                    commands.commit.get_or_insert(commit);
                }
                Said::Unknown(word) if commands.unknown.len() == MAX_UNKNOWN || commands.unknown.contains(&word) => {}
                Said::Unknown(word) => commands.unknown.push(word),
            }
        }
        commands
    }

    fn add(&mut self, verb: Verb) {
        if !self.verbs.contains(&verb) {
            self.verbs.push(verb);
        }
    }
}

/// The commands of a comment. Who wrote it, and whether they may, is not asked here.
pub fn parse(body: &Untrusted, names: &Names) -> Commands {
    Commands::of(all(body, names))
}

/// The commands that an edit added: those that `after` has more often than `before`. Moving a line, or writing the
/// prefix in another way, adds none.
pub fn new_in(before: &Untrusted, after: &Untrusted, names: &Names) -> Commands {
    let mut old: HashMap<Said, usize> = HashMap::new();
    for one in all(before, names) {
        *old.entry(one).or_default() += 1;
    }
    Commands::of(all(after, names).into_iter().filter(|one| match old.get_mut(one) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        Some(_) | None => true,
    }))
}

/// Every line that calls us, in order, with repeats.
fn all(body: &Untrusted, names: &Names) -> Vec<Said> {
    let text = body.open().replace("\r\n", "\n");
    if text.chars().count() > MAX_CHARS {
        return Vec::new();
    }
    let mut start = 0;
    let mut lines = Vec::new();
    for raw in text.split_inclusive('\n') {
        let line = line::trim(raw.trim_end_matches('\n'));
        let indent = raw.len() - line::trim_start(raw).len();
        if let Some(said) = line::read(line, names) {
            lines.push((start + indent..start + indent + line.len(), said));
        }
        start += raw.len();
    }
    // Most comments do not call us: they are not read as Markdown.
    if lines.is_empty() {
        return Vec::new();
    }
    let plain = speech::plain(&text);
    lines.into_iter().filter(|(range, _)| plain[range.clone()].iter().all(|byte| *byte)).map(|(_, said)| said).collect()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
