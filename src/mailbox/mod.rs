//! The message bus: agents in this process and programs beside it talk in JSON files.
//!
//! Promise: a message that was sent is handled at least once, in order of its priority, or lies in `failed/` with the reason;
//! whoever claims one holds it alone, and what a killed holder held comes back.
//! Never: nothing here knows what a task means, and no file of anybody's is followed out of the folders or read without bound.

mod bus;
mod claim;
pub mod content;
mod envelope;
mod error;
mod failed;
mod ids;
mod inbox;
mod layout;
mod names;
mod part;
mod record;
mod retention;
mod send;
mod time;
mod watch;

pub use bus::{Bus, Options};
pub use claim::Claim;
pub use content::{Content, MessageType};
pub use envelope::{Draft, Envelope, Priority, Timeout, faults, validate_message};
pub use error::Error;
pub use ids::MessageId;
pub use names::AgentName;
pub use part::{Amount, Fraction, Percent};
pub use retention::Swept;
pub use time::Timestamp;
pub use watch::Mailbox;

/// How large a message's file may be, in bytes (S3.27).
pub const MAX_BYTES: u64 = 10 * 1024 * 1024;
/// How many messages may wait in one inbox (S3.26).
pub const MAX_PENDING: usize = 1000;
/// How often a message is handed out before it goes to `failed/`: once, and three times again (S3.30).
pub const ATTEMPTS: u32 = 4;
