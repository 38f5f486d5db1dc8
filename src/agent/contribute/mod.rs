//! Roles that work on the repository as a whole.

mod manager;

pub use manager::Manager;
