//! What a file of code offers and asks for: its public items with their comments, its imports, its HTTP routes.

pub(super) mod declared;
mod extents;
mod imports;
mod items;
mod literal;
mod route;
pub(super) mod statements;

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Language;
use super::language;
use super::tree::{TreeNode, parse};
use super::worker::{self, Bounds, Code};
use crate::stdx::workers::Here;

pub use declared::{Declared, DeclaredKind, declarations};
pub use extents::Extent;
pub use imports::Import;
pub use items::Item;
pub use route::{Mount, Parameter, Place, Route, path_template};
pub use statements::imports;

/// One of a few. Spelled out, serde would take it for borrowed from what it reads.
type Word = &'static str;

/// One file, read once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    pub language: Option<Language>,
    /// In the order of the text. None of a file of tests.
    pub items: Vec<Item>,
    pub imports: Vec<Import>,
    /// In the order of the text. None of a file of tests.
    pub routes: Vec<Route>,
    /// Where routers of this file, or of others, are hung in.
    pub mounts: Vec<Mount>,
    /// None of a file of tests.
    pub extents: Vec<Extent>,
}

impl Outline {
    /// None for a file that is no code of a language known here, or that cannot be parsed.
    pub fn read(path: &str, text: &str) -> Option<Self> {
        let language = Language::of_path(path)?;
        let code = Code { is_test: language::is_test(path), ..Code::new(language, text) };
        let holds = |outline: &Option<Self>| outline.as_ref().is_none_or(|outline| outline.holds(&code));
        worker::ask(worker::OUTLINE, &code, |here| Self::of(here, &code), holds)?
    }

    /// Whether this can be the outline of a text, whoever says so.
    fn holds(&self, code: &Code<'_>) -> bool {
        let bounds = Bounds::new(&code.text);
        let counts = [self.items.len(), self.imports.len(), self.routes.len(), self.mounts.len(), self.extents.len()];
        self.language == Some(code.language)
            && counts.into_iter().all(|count| bounds.count(count))
            && self.items.iter().all(|item| item.holds(&bounds))
            && self.imports.iter().all(|import| import.holds(&bounds))
            && self.routes.iter().all(|route| route.holds(&bounds))
            && self.mounts.iter().all(|mount| mount.holds(&bounds))
            && self.extents.iter().all(|extent| extent.holds(&bounds))
    }

    pub(super) fn of(here: &Here, code: &Code<'_>) -> Option<Self> {
        let language = code.language;
        let tree = parse(here, language, &code.text).ok()?;
        let root = tree.root();
        let imports = imports::read(language, &root);
        if code.is_test {
            return Some(Self { language: Some(language), imports, ..Self::default() });
        }
        let (routes, mounts) = route::read(language, &root, &imports);
        Some(Self {
            language: Some(language),
            items: items::read(language, &root),
            extents: extents::read(&root),
            imports,
            routes,
            mounts,
        })
    }
}

/// 1-based.
fn line_of(node: &TreeNode<'_>) -> u32 {
    u32::try_from(node.start_pos().line() + 1).unwrap_or(u32::MAX)
}

/// White space folded, cut after so many characters.
fn fold(text: &str, max: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::stdx::text::truncate_chars(&folded, max)
}

/// One of the words that are known, for what a worker answers.
fn one_of<'de, D: Deserializer<'de>>(known: &'static [&'static str], from: D) -> Result<&'static str, D::Error> {
    let word = Cow::<str>::deserialize(from)?;
    known.iter().find(|known| **known == word).copied().ok_or_else(|| D::Error::custom("no such word"))
}
