//! SARIF 2.1.0, the format that code scanning services read: ours as they take it, and anybody's as findings.

mod place;
mod read;
mod wire;
mod write;

pub use read::{Error, MAX_BYTES, MAX_RESULTS, Results, read};
pub use write::log;
