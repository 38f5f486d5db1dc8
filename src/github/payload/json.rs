//! Readers that name the field when it is not what it should be.

use serde_json::Value;

use crate::domain::{Event, InstallationId, Place, PullNumber, RepoName, RepositoryId, Sender, Sha};

/// What the bodies of repository events are about. A body that holds one of another event's was sent under a wrong name.
const OBJECTS: &[&str] =
    &["check_run", "check_suite", "comment", "discussion", "issue", "pull_request", "review", "thread"];

/// Why a payload gave no event.
pub(super) enum Stop {
    Ignored(String),
    Malformed(String),
}

/// A payload with readers that name the field when it is not what it should be.
#[derive(Clone, Copy)]
pub(super) struct Json<'a>(pub(super) &'a Value);

impl<'a> Json<'a> {
    pub(super) fn get(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    pub(super) fn object(self, pointer: &str) -> Result<(), Stop> {
        match self.get(pointer) {
            Some(Value::Object(_)) => Ok(()),
            _ => Err(malformed(format!("{} is missing or not an object", field(pointer)))),
        }
    }

    /// The action, once the body has been seen to hold the event's object and, but for `beside`, no other event's.
    pub(super) fn action(self, object: &str, beside: &[&str]) -> Result<&'a str, Stop> {
        let foreign = OBJECTS.iter().filter(|name| **name != object && !beside.contains(name));
        if let Some(name) = foreign.into_iter().find(|name| self.get(&format!("/{name}")).is_some()) {
            return Err(malformed(format!("named as an event of `{object}`, but the body holds `{name}`")));
        }
        self.object(&format!("/{object}"))?;
        self.text("/action")
    }

    pub(super) fn text(self, pointer: &str) -> Result<&'a str, Stop> {
        self.get(pointer)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| malformed(format!("{} is missing or not a text", field(pointer))))
    }

    /// A text that may be missing, null or empty: what people write, and what only readers miss.
    pub(super) fn words(self, pointer: &str) -> Result<&'a str, Stop> {
        match self.get(pointer) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(malformed(format!("{} is not a text", field(pointer)))),
        }
    }

    /// Missing or null is no.
    pub(super) fn flag(self, pointer: &str) -> Result<bool, Stop> {
        match self.get(pointer) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(malformed(format!("{} is neither true nor false", field(pointer)))),
        }
    }

    /// Missing or null is empty.
    pub(super) fn list(self, pointer: &str) -> Result<&'a [Value], Stop> {
        match self.get(pointer) {
            None => Ok(&[]),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(malformed(format!("{} is not a list", field(pointer)))),
        }
    }

    pub(super) fn number(self, pointer: &str) -> Result<u64, Stop> {
        self.get(pointer)
            .and_then(Value::as_u64)
            .ok_or_else(|| malformed(format!("{} is missing or not a positive whole number", field(pointer))))
    }

    pub(super) fn sha(self, pointer: &str) -> Result<Sha, Stop> {
        Sha::parse(self.text(pointer)?)
            .ok_or_else(|| malformed(format!("{} is not a full git object id", field(pointer))))
    }

    pub(super) fn installation(self) -> Result<InstallationId, Stop> {
        if self.get("/installation").is_none() {
            return Err(ignored("not sent to an App: no `installation`"));
        }
        self.number("/installation/id").map(InstallationId)
    }

    /// The repository's id; `again`, where present, must say the same.
    pub(super) fn repository(self, again: &str) -> Result<RepositoryId, Stop> {
        let id = self.number("/repository/id")?;
        let differs = !again.is_empty() && self.get(again).is_some_and(|other| other.as_u64() != Some(id));
        if differs {
            return Err(malformed(format!("`repository.id` and {} differ", field(again))));
        }
        Ok(RepositoryId(id))
    }

    pub(super) fn repo(self) -> Result<RepoName, Stop> {
        self.text("/repository/full_name")?
            .parse()
            .map_err(|_| malformed("`repository.full_name` is not of the form owner/name"))
    }

    /// Where it happened.
    pub(super) fn place(self) -> Result<Place, Stop> {
        Ok(Place {
            installation: self.installation()?,
            repository: self.repository("")?,
            repo: self.repo()?,
            default_branch: self.text("/repository/default_branch")?.to_owned(),
        })
    }

    /// A deleted account is null or absent; GitHub shows it as `ghost`.
    pub(super) fn sender(self, pointer: &str) -> Result<Sender, Stop> {
        if self.get(pointer).is_none() {
            return Ok(Sender { id: 0, login: "ghost".to_owned(), bot: false });
        }
        self.object(pointer)?;
        Ok(Sender {
            id: self.number(&format!("{pointer}/id"))?,
            login: self.text(&format!("{pointer}/login"))?.to_owned(),
            bot: self.get(&format!("{pointer}/type")).and_then(Value::as_str) == Some("Bot"),
        })
    }

    /// Numbers of the listed pull requests that aim at this repository; GitHub lists others' too.
    pub(super) fn pulls(self, pointer: &str, repository: RepositoryId) -> Result<Vec<PullNumber>, Stop> {
        let ours = self
            .list(pointer)?
            .iter()
            .filter(|pull| pull.pointer("/base/repo/id").is_none_or(|id| id.as_u64() == Some(repository.0)));
        ours.map(|pull| {
            pull.get("number")
                .and_then(Value::as_u64)
                .map(PullNumber)
                .ok_or_else(|| malformed(format!("{} holds an entry without a number", field(pointer))))
        })
        .collect()
    }

    pub(super) fn rerequested(self, repository: RepositoryId, pull: PullNumber, head: Sha) -> Result<Event, Stop> {
        Ok(Event::Rerequested {
            installation: self.installation()?,
            repository,
            repo: self.repo()?,
            sender: self.sender("/sender")?,
            pull,
            head,
        })
    }
}

/// `/pull_request/head/sha` as people write it.
pub(super) fn field(pointer: &str) -> String {
    format!("`{}`", pointer.trim_start_matches('/').replace('/', "."))
}

/// Names come from the sender; a reason stays one short line.
pub(super) fn short(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

pub(super) fn ignored(reason: impl Into<String>) -> Stop {
    Stop::Ignored(reason.into())
}

pub(super) fn malformed(reason: impl Into<String>) -> Stop {
    Stop::Malformed(reason.into())
}
