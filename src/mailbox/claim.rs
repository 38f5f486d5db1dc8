//! A message in somebody's hands, and its ways on: handled, tried again, failed (S3.17, S3.29, S3.30, A3.2).

use std::fs;
use std::io;
use std::sync::Arc;

use super::bus::{Inner, off_thread};
use super::failed::Reason;
use super::inbox::Taken;
use super::{ATTEMPTS, Content, Envelope, Error, Timestamp};
use crate::domain::Millis;
use crate::stdx::{file, text};

/// A message that is the caller's alone. Dropping it without a word, as a panic does, counts as an attempt, and the message can
/// be claimed again at once; so it is when the process is killed.
#[derive(Debug)]
pub struct Claim {
    inner: Arc<Inner>,
    taken: Taken,
    content: Content,
}

impl Claim {
    pub(super) fn new(inner: Arc<Inner>, taken: Taken, content: Content) -> Self {
        Self { inner, taken, content }
    }

    pub fn envelope(&self) -> &Envelope {
        &self.taken.envelope
    }

    /// What the message carries, read as its type asks for it.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Counts from 1: how often this message has been handed out.
    pub fn attempt(&self) -> u32 {
        self.taken.record.attempts
    }

    /// It was handled: it moves to `processed/`, and no message of this id is handed out again.
    ///
    /// # Errors
    /// The file is not where the claim put it, or the disk's; then it may be handed out again.
    pub async fn ack(self) -> Result<(), Error> {
        let Self { inner, taken, .. } = self;
        off_thread(inner, |inner| inner.done(taken).map(drop)).await
    }

    /// It was not handled, for this reason: it waits for its next attempt, or moves to `failed/` if this was the last one and
    /// its sender gets an error report.
    ///
    /// # Errors
    /// As [`Claim::ack`].
    pub async fn nack(self, reason: impl Into<String>) -> Result<(), Error> {
        let (Self { inner, taken, .. }, reason) = (self, reason.into());
        off_thread(inner, move |inner| inner.retry(taken, text::truncate_chars(&reason, 4000))).await
    }

    /// It can never be handled, for this reason: it moves to `failed/` at once, and its sender gets an error report that names
    /// every fault.
    ///
    /// # Errors
    /// As [`Claim::ack`].
    pub async fn fail(self, reason: impl Into<String>, faults: Vec<String>) -> Result<(), Error> {
        let (Self { inner, taken, .. }, reason) = (self, text::truncate_chars(&reason.into(), 4000));
        off_thread(inner, move |inner| inner.fail(taken, Reason::refused(reason, faults))).await
    }

    /// As if it had never been claimed.
    pub(super) fn give_back(self) -> Result<(), Error> {
        let Self { inner, mut taken, .. } = self;
        taken.record.attempts -= 1;
        inner.put_back(&taken)
    }
}

impl Inner {
    /// From here on the attempt counts: what follows is the handler.
    pub(super) fn begin(&self, taken: &mut Taken) -> Result<(), Error> {
        let record = &mut taken.record;
        record.attempts += 1;
        record.process = std::process::id();
        record.node.clone_from(&self.options.node);
        record.claimed_at = Some(Timestamp::from_millis(self.clock.now()));
        record.not_before = None;
        self.save_record(taken)
    }

    fn save_record(&self, taken: &Taken) -> Result<(), Error> {
        let path = self.layout.record(taken.agent, &taken.envelope.message_id);
        taken.record.save(&path).map_err(Error::io("write", &path))
    }

    pub(super) fn done(&self, taken: Taken) -> Result<Envelope, Error> {
        let (agent, id) = (taken.agent, &taken.envelope.message_id);
        let (claimed, done) = (self.layout.claimed(agent, id), self.layout.done(id));
        let lost = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Error::Lost { id: id.clone() },
            _ => Error::io("move to processed/", &claimed)(error),
        };
        if let Err(error) = fs::rename(&claimed, &done) {
            let processed = self.layout.processed();
            // The folder is made when the first message is done.
            if error.kind() != io::ErrorKind::NotFound || processed.is_dir() {
                return Err(lost(error));
            }
            file::private_dir(&processed).map_err(Error::io("make the folder", &processed))?;
            fs::rename(&claimed, &done).map_err(lost)?;
        }
        self.stamp(&done);
        self.forget_record(agent, id);
        drop(taken.lock);
        Ok(taken.envelope)
    }

    fn retry(&self, mut taken: Taken, reason: String) -> Result<(), Error> {
        if taken.record.attempts >= ATTEMPTS {
            return self.fail(taken, Reason::exhausted(reason));
        }
        let wait = self.options.retry_wait.saturating_mul(1 << (taken.record.attempts - 1));
        let wait = Millis::try_from(wait.as_millis()).unwrap_or(Millis::MAX);
        taken.record.not_before = Some(Timestamp::from_millis(self.clock.now().saturating_add(wait)));
        tracing::info!(
            message.id = %taken.envelope.message_id, agent = %taken.agent, attempt = taken.record.attempts, reason,
            "a message was not handled; it is tried again"
        );
        taken.record.last_failure = Some(reason);
        self.put_back(&taken)
    }

    /// Into the inbox again, with what its record says now.
    pub(super) fn put_back(&self, taken: &Taken) -> Result<(), Error> {
        let (agent, id) = (taken.agent, &taken.envelope.message_id);
        if taken.record.attempts > 0 {
            self.save_record(taken)?;
        } else {
            self.forget_record(agent, id);
        }
        let claimed = self.layout.claimed(agent, id);
        // A copy that came meanwhile is the same message.
        fs::rename(&claimed, self.layout.waiting(agent, id)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Lost { id: id.clone() },
            _ => Error::io("put back the message", &claimed)(error),
        })?;
        self.bells.ring(agent);
        Ok(())
    }
}
