//! What a file of code offers and asks for: its public items with their comments, its imports, its HTTP routes.

mod declared;
mod extents;
mod imports;
mod items;
mod literal;
mod route;
mod statements;

use super::Language;
use super::engine::{TreeNode, parse};
use super::language;

pub use declared::{Declared, DeclaredKind, declarations};
pub use extents::Extent;
pub use imports::Import;
pub use items::Item;
pub use route::{Mount, Parameter, Place, Route, path_template};
pub use statements::imports;

/// One file, read once.
#[derive(Debug, Clone, Default)]
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
        let tree = parse(language, text).ok()?;
        let root = tree.root();
        let imports = imports::read(language, &root);
        if language::is_test(path) {
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
