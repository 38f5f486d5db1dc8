//! Sending: every check first, then written beside and renamed, and never over anything (S3.17, S3.18, S3.26, S3.27).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use super::bus::{Inner, lock};
use super::layout::Name;
use super::{AgentName, Content, Draft, Envelope, Error, MAX_BYTES, MAX_PENDING, MessageId};
use crate::stdx::file;

impl Inner {
    pub(super) fn send(&self, draft: Draft) -> Result<Envelope, Error> {
        if !draft.to.receives() {
            return Err(Error::CannotReceive { agent: draft.to });
        }
        Content::read(draft.message_type, &draft.content).map_err(|faults| Error::Content { faults })?;
        let (from, to, now) = (draft.from, draft.to, self.clock.now());
        for dir in [self.layout.outbox(from), self.layout.inbox(to)] {
            file::private_dir(&dir).map_err(Error::io("make the folder", &dir))?;
        }
        // Held to the end, so that no two senders in this process see the same free place.
        let mut counts = lock(&self.counts);
        let pending = self.pending(to)?;
        if pending >= MAX_PENDING {
            return Err(Error::Full { agent: to, pending });
        }
        let count = counts.entry(from).or_insert(1);
        let drawn = draft.id.clone();
        let mut envelope = draft.seal(drawn.clone().unwrap_or_else(|| MessageId::counted(from, now, *count)), now);
        loop {
            let bytes = envelope.to_json();
            let size = bytes.len() as u64;
            if size > MAX_BYTES {
                return Err(Error::TooLarge { bytes: size });
            }
            let placed = self.place(&envelope, &bytes)?;
            if let Some(id) = drawn.as_ref().filter(|_| !placed) {
                return Err(Error::Taken { id: id.clone() });
            }
            *count += u64::from(drawn.is_none());
            if placed {
                drop(counts);
                self.bells.ring(to);
                return Ok(envelope);
            }
            envelope.message_id = MessageId::counted(from, now, *count);
        }
    }

    /// The next id of a sender that is free; nobody else in this process gets it. Another program may count under the same name:
    /// answers about its messages are not to reach whoever holds ours.
    pub(super) fn draw(&self, from: AgentName) -> MessageId {
        let outbox = self.layout.outbox(from);
        let mut counts = lock(&self.counts);
        let count = counts.entry(from).or_insert(1);
        loop {
            let id = MessageId::counted(from, self.clock.now(), *count);
            *count += 1;
            if !outbox.join(format!("{id}.json")).exists() {
                return id;
            }
        }
    }

    /// `false` when somebody has used the id. Whoever takes one makes `<id>.tmp` in the outbox first, and of several processes
    /// only one can.
    fn place(&self, envelope: &Envelope, bytes: &[u8]) -> Result<bool, Error> {
        let (id, layout) = (&envelope.message_id, &self.layout);
        let outbox = layout.outbox(envelope.from);
        let (copy, copied) = (outbox.join(format!("{id}.tmp")), outbox.join(format!("{id}.json")));
        let waiting = layout.waiting(envelope.to, id);
        let staged = waiting.with_extension("tmp");
        let failed = layout.failed().join(format!("{id}.json"));

        if !made(&copy, bytes)? {
            return Ok(false);
        }
        let used = [&copied, &layout.claimed(envelope.to, id), &layout.done(id), &failed];
        let placed = if used.into_iter().any(|path| path.symlink_metadata().is_ok()) {
            Ok(false)
        } else {
            made(&staged, bytes).and_then(|made| {
                if !made {
                    return Ok(false);
                }
                let renamed = is_new(file::rename_new(&staged, &waiting), "put the message", &waiting);
                if !matches!(renamed, Ok(true)) {
                    discard(&staged);
                }
                renamed
            })
        };
        match placed {
            Ok(true) => {
                let kept = fs::rename(&copy, &copied);
                if let Err(error) = kept.and_then(|()| file::set_modified(&copied, envelope.timestamp.millis())) {
                    tracing::warn!(message.id = %id, %error, "a message was sent, but its copy in the outbox cannot be finished");
                }
            }
            Ok(false) | Err(_) => discard(&copy),
        }
        placed
    }

    fn pending(&self, agent: AgentName) -> Result<usize, Error> {
        let inbox = self.layout.inbox(agent);
        let entries = fs::read_dir(&inbox).map_err(Error::io("read the folder", &inbox))?;
        let mut pending = 0;
        for entry in entries {
            let name = entry.map_err(Error::io("read the folder", &inbox))?.file_name();
            pending += usize::from(matches!(Name::of(OsStr::new(&name)), Name::Waiting(_)));
        }
        Ok(pending)
    }
}

fn made(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    is_new(file::create_new(path, bytes), "write", path)
}

fn is_new(done: io::Result<()>, doing: &'static str, path: &Path) -> Result<bool, Error> {
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Error::io(doing, path)(error)),
    }
}

fn discard(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "an unfinished file cannot be removed; the sweep tries again");
    }
}
