//! The documents that flow between rooms: what a flow starts from, and what it wants done.
//!
//! Promise: an artifact is plain data, complete enough that the next room needs nothing else.
//! Never: no behaviour with side effects; no GitHub, no tables, no git.

pub mod document;
pub mod draft;
pub mod facts;
pub mod intent;
pub mod reply;
pub mod review;
pub mod shelf;
pub mod swarm;

pub use document::{Content, Document, Fault};
pub use draft::PullDraft;
pub use facts::{ContributeFacts, ReviewFacts};
pub use intent::{PullIntent, PushIntent, ReviewIntent};
pub use reply::{Reply, ReplyIntent};
pub use review::{AgentFindings, FilePlan, ReviewReport};
pub use shelf::Shelf;
