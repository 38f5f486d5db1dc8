//! What cannot be handled: kept under `failed/` with the reason beside it, and its sender told (S3.29, S3.30, S3.32).

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, json};

use super::bus::Inner;
use super::content::{ErrorReport, Level, MessageType, error_type};
use super::inbox::Taken;
use super::layout::Name;
use super::record::Record;
use super::{AgentName, Draft, Envelope, Error, MessageId, Timestamp};
use crate::stdx::error::chain;
use crate::stdx::{file, text};

/// Why a message goes to `failed/`.
#[derive(Debug)]
pub(super) struct Reason {
    text: String,
    /// Faults with their JSON paths.
    details: Vec<String>,
    attempts: u32,
    report: Report,
}

/// What its sender is told.
#[derive(Debug)]
struct Report {
    error_type: &'static str,
    impact: Level,
    recovery: &'static str,
}

impl Reason {
    /// The frame is not sound: who sent it is not known.
    pub(super) fn malformed(details: Vec<String>) -> Self {
        Self { text: "malformed".to_owned(), ..Self::content(details) }
    }

    pub(super) fn content(details: Vec<String>) -> Self {
        let recovery = "correct the fields that the context names and send it again as a new message";
        Self {
            text: "malformed content".to_owned(),
            details,
            attempts: 0,
            report: Report { error_type: error_type::DATA_FORMAT, impact: Level::High, recovery },
        }
    }

    /// Whoever it is for cannot use it, however often it is read.
    pub(super) fn refused(text: String, details: Vec<String>) -> Self {
        Self { text, ..Self::content(details) }
    }

    /// How often it had been handed out by then.
    pub(super) fn after(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    pub(super) fn expired() -> Self {
        let recovery = "if it is still wanted, send it again with a longer timeout, or none";
        Self {
            text: "expired".to_owned(),
            details: Vec::new(),
            attempts: 0,
            report: Report { error_type: error_type::TIMEOUT, impact: Level::Medium, recovery },
        }
    }

    /// Handled as often as may be, the last time with this reason.
    pub(super) fn exhausted(text: String) -> Self {
        let recovery = "give the task to another agent, or find the cause before it is sent again";
        Self {
            text,
            details: Vec::new(),
            attempts: 0,
            report: Report { error_type: error_type::HANDLING_FAILED, impact: Level::High, recovery },
        }
    }

    pub(super) fn holder_gone(record: &Record) -> Self {
        let last = record.last_failure.as_deref().map(|reason| format!("; a failure before: {reason}"));
        let (process, node) = (record.process, &record.node);
        Self::exhausted(format!(
            "process {process} on {node} ended while it handled the message{}",
            last.unwrap_or_default()
        ))
    }
}

/// `<name>.error.json`
#[derive(Debug, Serialize)]
struct ErrorFile<'a> {
    original_name: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    details: &'a [String],
    attempts: u32,
    time: Timestamp,
    agent: AgentName,
}

impl Inner {
    /// Moves a message that is ours, and tells its sender.
    pub(super) fn fail(&self, taken: Taken, reason: Reason) -> Result<(), Error> {
        let reason = reason.after(taken.record.attempts);
        let claimed = self.layout.claimed(taken.agent, &taken.envelope.message_id);
        self.set_aside(taken.agent, &claimed, &reason)?;
        self.report(&taken.envelope, &reason);
        Ok(())
    }

    /// Moves a file out of an inbox, whatever it is; nothing is read or followed. A folder stays where it is: what it holds
    /// is not ours to keep or to remove.
    pub(super) fn set_aside(&self, agent: AgentName, path: &Path, reason: &Reason) -> Result<(), Error> {
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            self.warn_once(path, "a folder: it is left where it is");
            return Ok(());
        }
        let failed = self.layout.failed();
        file::private_dir(&failed).map_err(Error::io("make the folder", &failed))?;
        let (original, stem) = names(path);
        let mut kept = stem.clone();
        for n in 2.. {
            match file::rename_new(path, &failed.join(format!("{kept}.json"))) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => kept = format!("{stem}.{n}"),
                // Somebody else moved it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(Error::io("move to failed/", path)(error)),
            }
        }
        if let Some(id) = MessageId::parse(&stem) {
            self.forget_record(agent, &id);
        }
        let time = Timestamp::from_millis(self.clock.now());
        let Reason { text, details, attempts, .. } = reason;
        let told = ErrorFile { original_name: &original, reason: text, details, attempts: *attempts, time, agent };
        let beside = failed.join(format!("{kept}.error.json"));
        let bytes = serde_json::to_vec_pretty(&told).unwrap_or_default();
        file::replace(&beside, &bytes).map_err(Error::io("write", &beside))?;
        self.stamp(&beside);
        self.stamp(&failed.join(format!("{kept}.json")));
        tracing::warn!(file = original, %agent, reason = text, attempts, details = details.join("; "), "a message was moved to failed/");
        Ok(())
    }

    /// An error report to the sender, if it can be told: the webhook has no inbox, and a report is not answered with a report.
    fn report(&self, envelope: &Envelope, reason: &Reason) {
        if envelope.message_type == MessageType::ErrorReport || !envelope.from.receives() {
            return;
        }
        let id = &envelope.message_id;
        let mut context = Map::new();
        context.insert("message_id".to_owned(), json!(id));
        context.insert("type".to_owned(), json!(envelope.message_type));
        context.insert("attempts".to_owned(), json!(reason.attempts));
        if !reason.details.is_empty() {
            context.insert("faults".to_owned(), json!(reason.details));
        }
        let Report { error_type, impact, recovery } = reason.report;
        let report = ErrorReport {
            error_type: error_type.to_owned(),
            error_message: format!("{} was not handled: {}", id, reason.text),
            context,
            stack_trace: None,
            recovery_action: Some(recovery.to_owned()),
            impact_level: impact,
            related_task_id: Some(id.clone()),
        };
        if let Err(error) = self.send(Draft::new(envelope.to, envelope.from, report).reply_to(id.clone())) {
            tracing::warn!(message.id = %id, sender = %envelope.from, error = %chain(&error), "the sender of a failed message cannot be told");
        }
    }

    /// Retention counts from here on.
    pub(super) fn stamp(&self, path: &Path) {
        if let Err(error) = file::set_modified(path, self.clock.now()) {
            tracing::debug!(path = %path.display(), %error, "a file's time cannot be set; it is kept as of when it was written");
        }
    }

    pub(super) fn forget_record(&self, agent: AgentName, id: &MessageId) {
        let path = self.layout.record(agent, id);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "a record of attempts cannot be removed; the sweep tries again");
            }
            _ => {}
        }
    }
}

/// How the file was called when it came, and how it is called in `failed/`, without the ending: an id as it is, every other
/// name made harmless.
fn names(path: &Path) -> (String, String) {
    match path.file_name().map(Name::of) {
        Some(Name::Waiting(id) | Name::Claimed(id)) => (format!("{id}.json"), id.to_string()),
        _ => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
            let stem = text::truncate_chars(name.strip_suffix(".json").unwrap_or(&name), 100);
            let stem = format!("misnamed-{}", stem.chars().map(plain).collect::<String>());
            (name, stem)
        }
    }
}
