//! Roles that work on the repository as a whole.

mod brief;
mod convention;
mod ecosystem;
mod explorer;
mod manager;
mod manifest;
mod query;
mod retrieval;
mod scout;
mod style;
mod survey;
mod triage;
mod words;

pub use explorer::Explorer;
pub use manager::Manager;
pub use scout::Scout;
