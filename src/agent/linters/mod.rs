//! Other people's linters: which there are, how they are asked, and what of their answers is news.
//!
//! Promise: what they say stands on lines that the change wrote, is told once, and bears their name.
//! Never: one of them outside the sandbox; one that runs the repository's code over a stranger's change.

mod ask;
mod call;
mod choose;
mod formats;
mod gather;
mod grade;
mod table;

pub use ask::{Asking, Wish, texts};
pub use gather::{Given, given, is_same, with};
pub use table::{Linter, Over, TABLE};
