//! Roles that work on the repository as a whole.

mod brief;
mod ecosystem;
mod manager;
mod manifest;
mod query;
mod retrieval;
mod style;
mod survey;
mod words;

pub use manager::Manager;
