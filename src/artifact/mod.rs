//! The documents that flow between rooms: what a flow starts from, and what it wants done.
//!
//! Promise: an artifact is plain data, complete enough that the next room needs nothing else.
//! Never: no behaviour with side effects; no GitHub, no tables, no git.

pub mod code_review;
pub mod document;
pub mod draft;
pub mod exchange;
pub mod facts;
pub mod generation;
pub mod intent;
pub mod plan;
pub mod planned;
pub mod project;
pub mod reply;
pub mod review;
pub mod server;
pub mod shelf;
pub mod status;
pub mod swarm;

pub use document::{Content, Document};
pub use draft::PullDraft;
pub use exchange::{AgentError, ErrorCode};
pub use facts::{ContributeFacts, ReviewFacts};
pub use intent::{PullIntent, PushIntent, ReviewIntent};
pub use planned::{Planned, Unplanned};
pub use reply::{Reply, ReplyIntent};
pub use review::{AgentFindings, FilePlan, ReviewReport, Snapshot};
pub use shelf::Shelf;
