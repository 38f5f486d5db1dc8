//! Both sides of a change, read from git's object database and nowhere else; and changes of ours, written there and pushed.
//!
//! Promise: whatever a repository or a git server holds, reading it ends: counted, capped, timed, and every file that was not read is named with its reason.
//! Never: no checkout, no hook, no filter, no submodule, no `git` program; a token reaches only the origin it was made for; a user's repository is not written to, except by `local::create_branch` and `local::apply`, which say so; no push by force.

mod advertisement;
mod ancestry;
pub mod archive;
mod attributes;
mod base;
mod branch;
mod build;
mod change;
mod compare;
mod diff;
mod edit;
mod error;
mod git;
mod limits;
pub mod local;
mod mirror;
mod names;
mod objects;
mod packet;
pub mod patch;
mod push;
mod recorded;
mod rename;
mod snapshot;
mod transport;
mod tree;
mod walk;
mod worktree;

pub use advertisement::count_branches;
pub use base::{EntryKind, ExportLimits, Exported, FileEntry, Tree};
pub use change::{Change, Side};
pub use compare::{answer, prepare};
pub use diff::Diff;
pub use edit::Edit;
pub use error::Error;
pub use limits::Limits;
pub use mirror::{Mirrors, Remote};
pub use recorded::{recorded, recorded_tree};
pub use walk::{Found, Listed, read_text, walk};
