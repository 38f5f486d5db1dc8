//! The documents that flow between rooms: what a flow starts from, and what it wants done.
//!
//! Promise: an artifact is plain data, complete enough that the next room needs nothing else; what has a schema is checked
//! before it is written.
//! Never: no behaviour with side effects; no GitHub, no tables, no git.

pub mod activity;
pub mod agentd;
pub mod beside;
pub mod check;
pub mod code_review;
pub mod document;
pub mod draft;
pub mod exchange;
pub mod facts;
pub mod fault;
pub mod form;
pub mod generation;
pub mod intent;
mod place;
pub mod plan;
pub mod planned;
pub mod project;
pub mod reply;
pub mod review;
mod rules;
pub mod server;
pub mod shelf;
pub mod status;
pub mod swarm;

pub use beside::{Documented, Monitored, Tested};
pub use check::check;
pub use document::{Content, Document};
pub use draft::{Proposal, PullDraft};
pub use exchange::{AgentError, ErrorCode};
pub use facts::{ContributeFacts, MonitorFacts, ReviewFacts};
pub use fault::Fault;
pub use form::{FORMS, Form, Typed};
pub use intent::{PullIntent, PushIntent, ReviewIntent};
pub use planned::{Planned, Unplanned};
pub use reply::{Reply, ReplyIntent};
pub use review::{AgentFindings, FilePlan, ReviewReport, Snapshot};
pub use shelf::Shelf;
