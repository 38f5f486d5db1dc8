//! Roles that work on the repository as a whole.

mod coder;
mod manager;

pub use coder::Coder;
pub use manager::Manager;
