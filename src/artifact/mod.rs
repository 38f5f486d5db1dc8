//! The documents that flow between rooms: what a flow starts from, and what it wants done.
//!
//! Promise: an artifact is plain data, complete enough that the next room needs nothing else.
//! Never: no behaviour with side effects; no GitHub, no tables, no git.

pub mod facts;
pub mod intent;
pub mod review;

pub use facts::ReviewFacts;
pub use intent::ReviewIntent;
pub use review::{AgentFindings, FilePlan, ReviewReport};
