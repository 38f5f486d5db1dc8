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
mod generation;
mod graph;
mod library;
mod manager;
mod manifest;
mod model;
mod naming;
mod packages;
mod planner;
mod pr;
mod query;
mod resolve;
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
pub use library::Library;
pub use manager::{IGNORED, Manager, globs};
pub use planner::{CheckedPlan, Planner, check_plan};
pub use pr::Pr;
pub use scout::Scout;
pub use tester::Tester;
