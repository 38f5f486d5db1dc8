//! Roles that work on the repository as a whole.

mod analyst;
mod brief;
mod coder;
mod convention;
mod customs;
mod demand;
mod ecosystem;
mod explorer;
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
mod survey;
mod triage;
mod words;

pub use analyst::Analyst;
pub use coder::Coder;
pub use explorer::Explorer;
pub use library::Library;
pub use manager::Manager;
pub use planner::{CheckedPlan, Planner, check_plan};
pub use pr::Pr;
pub use scout::Scout;
