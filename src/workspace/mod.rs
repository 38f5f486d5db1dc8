//! Both sides of a change, read from git's object database and nowhere else.
//!
//! Promise: whatever a repository or a git server holds, reading it ends: counted, capped, timed, and every file that was not read is named with its reason.
//! Never: no checkout, no hook, no filter, no submodule, no `git` program; a token reaches only the origin it was made for; a user's repository is not written to.

mod ancestry;
mod attributes;
mod base;
mod change;
mod diff;
mod edit;
mod error;
mod git;
mod limits;
pub mod local;
mod mirror;
mod nofollow;
pub mod patch;
mod rename;
mod snapshot;
mod transport;
mod tree;
mod walk;

pub use base::Tree;
pub use change::{Change, Side};
pub use diff::Diff;
pub use edit::Edit;
pub use error::Error;
pub use limits::Limits;
pub use mirror::{Mirrors, Remote};
pub use walk::{Found, walk};
