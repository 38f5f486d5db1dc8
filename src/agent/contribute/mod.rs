//! Roles that work on the repository as a whole.

mod analyst;
mod assembly;
mod brief;
mod changed;
mod coder;
mod convention;
mod customs;
mod demand;
mod docs;
mod ecosystem;
mod explorer;
mod manager;
mod manifest;
mod pr;
mod query;
pub mod rank;
mod retrieval;
mod scout;
mod style;
mod substitution;
mod survey;
mod tester;
mod triage;
mod words;

pub(super) use customs::{GUIDES, STYLE_SETTINGS};
pub(super) use manifest::{Manifests, Project, project};
pub(super) use survey::{Class, Survey, is_minor};

pub use analyst::Analyst;
pub use coder::Coder;
pub use docs::Docs;
pub use explorer::Explorer;
pub use manager::{IGNORED, Manager, globs};
pub use pr::Pr;
pub use scout::Scout;
pub use tester::Tester;
pub use triage::Point;
