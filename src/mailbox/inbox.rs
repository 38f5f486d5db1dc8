//! One inbox: what waits in it, in which order, and how one of the messages becomes somebody's own.
//!
//! A claim is a lock on the message's file (`flock`, which the system frees when the holder dies, however it dies) and its
//! new name, `<id>.claimed`, which readers that look for `*.json` do not see. A claimed file that nobody has locked was a dead
//! holder's and waits like any other.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::bus::{Inner, lock};
use super::claim::Claim;
use super::envelope::{self, expiry};
use super::failed::Reason;
use super::layout::Name;
use super::record::Record;
use super::{ATTEMPTS, AgentName, Envelope, Error, MAX_BYTES, MessageId, Priority, Timeout, Timestamp};
use crate::domain::Millis;
use crate::stdx::error::chain;
use crate::stdx::file;

/// So many files are complained about: whoever makes more of them does it on purpose.
const MOST_WARNED: usize = 1000;

/// The byte order mark, which JSON has no use for.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What decides on a message's place in the row, and which file it was read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    inode: u64,
    header: Header,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Header {
    timestamp: Timestamp,
    #[serde(default)]
    priority: Option<Priority>,
    #[serde(default)]
    timeout: Option<Timeout>,
}

/// A file that may be taken.
#[derive(Debug)]
pub(super) struct Candidate {
    id: MessageId,
    claimed: bool,
    /// Expired, or not to be read: it waits for nobody but `failed/`.
    pub(super) dead: bool,
    priority: Priority,
    timestamp: Timestamp,
}

/// A message that is ours as long as its file is locked.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) agent: AgentName,
    pub(super) envelope: Envelope,
    pub(super) record: Record,
    pub(super) lock: File,
}

impl Inner {
    pub(super) fn claim(inner: &Arc<Self>, agent: AgentName) -> Result<Option<Claim>, Error> {
        for candidate in inner.scan(agent)? {
            let Some(mut taken) = inner.take(agent, &candidate)? else { continue };
            match taken.envelope.content() {
                Ok(content) => {
                    inner.begin(&mut taken)?;
                    return Ok(Some(Claim::new(inner.clone(), taken, content)));
                }
                Err(faults) => inner.fail(taken, Reason::content(faults))?,
            }
        }
        Ok(None)
    }

    pub(super) fn receive(&self, agent: AgentName) -> Result<Vec<Envelope>, Error> {
        let mut received = Vec::new();
        for candidate in self.scan(agent)? {
            let taken = self.take(agent, &candidate);
            match taken.and_then(|taken| taken.map(|taken| self.done(taken)).transpose()) {
                Ok(envelope) => received.extend(envelope),
                Err(error) if received.is_empty() => return Err(error),
                // What was acknowledged is the caller's; the rest is there the next time.
                Err(error) => {
                    tracing::warn!(%agent, error = %chain(&error), "not all messages that wait can be received");
                    break;
                }
            }
        }
        Ok(received)
    }

    /// Whether anything lies there that [`Self::claim`] would look at.
    pub(super) fn holds_any(&self, agent: AgentName) -> Result<bool, Error> {
        let mut any = false;
        self.each_entry(agent, |name, _| any |= !matches!(name, Name::Staged | Name::Record(_) | Name::Foreign))?;
        Ok(any)
    }

    fn each_entry(&self, agent: AgentName, mut see: impl FnMut(Name, &fs::DirEntry)) -> Result<(), Error> {
        let inbox = self.layout.inbox(agent);
        let entries = match fs::read_dir(&inbox) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(Error::io("read the folder", &inbox))?,
        };
        for entry in entries {
            let entry = entry.map_err(Error::io("read the folder", &inbox))?;
            see(Name::of(&entry.file_name()), &entry);
        }
        Ok(())
    }

    /// What may be taken now, the first first. Files that are called like no message are moved away.
    pub(super) fn scan(&self, agent: AgentName) -> Result<Vec<Candidate>, Error> {
        let (mut files, mut records, mut misnamed) = (Vec::new(), HashSet::new(), Vec::new());
        self.each_entry(agent, |name, entry| match name {
            Name::Waiting(id) => files.push((id, false, entry.ino())),
            Name::Claimed(id) => files.push((id, true, entry.ino())),
            Name::Record(id) => drop(records.insert(id)),
            Name::Staged => {}
            Name::Misnamed => misnamed.push(entry.path()),
            Name::Foreign => self.warn_once(&entry.path(), "no message: it is left where it is"),
        })?;
        for path in misnamed {
            let fault = "the name of the file is no id of a message, such as pm_20241220_150000_001".to_owned();
            self.set_aside(agent, &path, &Reason::malformed(vec![fault]))?;
        }
        let now = self.clock.now();
        let mut candidates: Vec<Candidate> = self
            .headers(agent, files)
            .into_iter()
            .map(|(id, claimed, header)| Candidate {
                id,
                claimed,
                dead: header.is_none_or(|header| expiry(header.timestamp, header.timeout).is_some_and(|at| at <= now)),
                priority: header.and_then(|header| header.priority).unwrap_or_default(),
                timestamp: header.map_or(Timestamp::from_millis(0), |header| header.timestamp),
            })
            .filter(|candidate| {
                candidate.dead
                    || candidate.claimed
                    || !records.contains(&candidate.id)
                    || self.is_due(agent, candidate, now)
            })
            .collect();
        candidates.sort_by(|a, b| {
            let key = |c: &Candidate| (!c.dead, Reverse(c.priority), c.timestamp);
            key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id))
        });
        Ok(candidates)
    }

    fn is_due(&self, agent: AgentName, candidate: &Candidate, now: Millis) -> bool {
        let record = Record::load(&self.layout.record(agent, &candidate.id));
        record.not_before.is_none_or(|at| at.millis() <= now)
    }

    /// The headers of these files: those that were read before from memory. `None` for what cannot be read as a message;
    /// what is gone, or cannot be read now, is left out.
    fn headers(&self, agent: AgentName, files: Vec<(MessageId, bool, u64)>) -> Vec<(MessageId, bool, Option<Header>)> {
        let remembered: Vec<Option<Header>> = {
            let known = lock(&self.known);
            let known = known.get(&agent);
            let recall = |id, inode| known?.get(id).filter(|known| known.inode == inode).map(|known| known.header);
            files.iter().map(|(id, _, inode)| recall(id, *inode)).collect()
        };
        let (mut headers, mut next) = (Vec::with_capacity(files.len()), Vec::with_capacity(files.len()));
        for ((id, claimed, inode), header) in files.into_iter().zip(remembered) {
            let path = if claimed { self.layout.claimed(agent, &id) } else { self.layout.waiting(agent, &id) };
            let header = match header.map_or_else(|| read(&path), |header| Ok(Ok(header))) {
                Ok(header) => header.ok(),
                Err(error) => {
                    if error.kind() != io::ErrorKind::NotFound {
                        self.warn_once(&path, &format!("cannot be read now: {error}"));
                    }
                    continue;
                }
            };
            next.extend(header.map(|header| (id.clone(), Known { inode, header })));
            headers.push((id, claimed, header));
        }
        lock(&self.known).insert(agent, next.into_iter().collect());
        headers
    }

    /// Makes a message ours. `None` when somebody else has it, when it was handled before, or when it cannot be handled at all
    /// and was moved to `failed/`.
    pub(super) fn take(&self, agent: AgentName, candidate: &Candidate) -> Result<Option<Taken>, Error> {
        let id = &candidate.id;
        let (waiting, claimed) = (self.layout.waiting(agent, id), self.layout.claimed(agent, id));
        let path = if candidate.claimed { &claimed } else { &waiting };
        let mut opened = match file::open_plain(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied) => {
                self.set_aside(agent, path, &Reason::malformed(vec![error.to_string()]))?;
                return Ok(None);
            }
            Err(error) => return Err(Error::io("open the message", path)(error)),
        };
        match opened.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::io("lock the message", path)(error)),
        }
        if !candidate.claimed {
            match file::rename_new(&waiting, &claimed) {
                Ok(()) => {}
                // Taken by somebody else, or a second copy of one that is being handled.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
                    return Ok(None);
                }
                Err(error) => return Err(Error::io("claim the message", &waiting)(error)),
            }
        }
        // Between opening and locking it may have been handled, and another may have come under its name.
        if !is_same(&opened, &claimed) {
            return Ok(None);
        }
        if self.layout.done(id).symlink_metadata().is_ok() {
            self.put_duplicate_away(agent, id)?;
            return Ok(None);
        }
        let record = Record::load(&self.layout.record(agent, id));
        let message = bytes(&mut opened).map_err(Error::io("read the message", &claimed))?;
        let envelope = match envelope(agent, id, message) {
            Ok(envelope) => envelope,
            Err(faults) => {
                self.set_aside(agent, &claimed, &Reason::malformed(faults).after(record.attempts))?;
                return Ok(None);
            }
        };
        let taken = Taken { agent, envelope, record, lock: opened };
        let now = self.clock.now();
        if taken.envelope.expires_at().is_some_and(|at| at <= now) {
            self.fail(taken, Reason::expired())?;
            return Ok(None);
        }
        if taken.record.attempts >= ATTEMPTS {
            let reason = Reason::holder_gone(&taken.record);
            self.fail(taken, reason)?;
            return Ok(None);
        }
        Ok(Some(taken))
    }

    /// A second copy of what was handled: kept beside the first, never handled.
    fn put_duplicate_away(&self, agent: AgentName, id: &MessageId) -> Result<(), Error> {
        let claimed = self.layout.claimed(agent, id);
        let kept = self.layout.processed().join(format!("{id}.duplicate.json"));
        fs::rename(&claimed, &kept).map_err(Error::io("put away the message", &claimed))?;
        self.stamp(&kept);
        self.forget_record(agent, id);
        tracing::info!(message.id = %id, %agent, "a message came again; it had been handled and was not handed out");
        Ok(())
    }

    pub(super) fn warn_once(&self, path: &Path, what: &str) {
        let mut warned = lock(&self.warned);
        if warned.len() < MOST_WARNED && warned.insert(path.to_owned()) {
            tracing::warn!(path = %path.display(), "in a folder of messages: {what}");
        }
    }
}

/// The header in a file, or why it is no message; the outer error may pass.
fn read(path: &Path) -> io::Result<Result<Header, ()>> {
    let mut file = match file::open_plain(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied) => {
            return Ok(Err(()));
        }
        file => file?,
    };
    Ok(bytes(&mut file)?.and_then(|bytes| serde_json::from_slice(&bytes).map_err(drop)))
}

/// The message in a file of that name in that inbox, or all that is wrong with it.
fn envelope(agent: AgentName, id: &MessageId, bytes: Result<Vec<u8>, ()>) -> Result<Envelope, Vec<String>> {
    let bytes = bytes.map_err(|()| vec![format!("$: more than {MAX_BYTES} bytes")])?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| vec![format!("$: not JSON: {error}")])?;
    let misplaced = misplaced(agent, id, &value);
    let sound = if misplaced.is_empty() { Envelope::from_value(value.clone()).ok() } else { None };
    sound.ok_or_else(|| [envelope::faults(&value), misplaced].concat())
}

/// What the frame alone cannot know.
fn misplaced(agent: AgentName, id: &MessageId, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let own = value.get("message_id").and_then(|own| MessageId::deserialize(own).ok());
    if let Some(own) = own.filter(|own| own != id) {
        faults.push(format!("$.message_id: {own} is not what the file is called"));
    }
    let to = value.get("to").or_else(|| value.get("to_agent")).and_then(|to| AgentName::deserialize(to).ok());
    if let Some(to) = to.filter(|to| *to != agent) {
        faults.push(format!("$.to: {to} is not whose inbox it was in"));
    }
    faults
}

/// All of a file, unless that is more than a message may have; without the mark that some systems begin a text with.
fn bytes(file: &mut File) -> io::Result<Result<Vec<u8>, ()>> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(MAX_BYTES)).unwrap_or_default());
    if length <= MAX_BYTES {
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    }
    let fits = length <= MAX_BYTES && bytes.len() as u64 <= MAX_BYTES;
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    Ok(if fits { Ok(bytes) } else { Err(()) })
}

fn is_same(file: &File, path: &Path) -> bool {
    let id = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(file.metadata()).is_some_and(|held| id(path.symlink_metadata()) == Some(held))
}
