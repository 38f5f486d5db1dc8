//! Webhook JSON to an event. Only the fields we need are read; what GitHub adds tomorrow is not our business.

use serde_json::Value;

use crate::domain::{Action, Event, InstallationId, PullEvent, PullNumber, RepoName, RepositoryId, Sender, Sha};

/// The events that the App subscribes to; `app-manifest.yml` asks for exactly these.
pub const EVENTS: &[&str] = &["check_run", "check_suite", "pull_request"];

/// What GitHub sends to every App, subscribed or not.
const ALWAYS: &[&str] = &["github_app_authorization", "installation", "installation_repositories", "meta", "ping"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// Never empty; more than one only when a re-run check suite belongs to several pull requests.
    Events(Vec<Event>),
    /// Understood, and none of our business; the reason is kept on the delivery's row.
    Ignored(String),
    /// The body is not what its event name says. Kept, visible, never retried by itself.
    Malformed(String),
}

/// Why a payload gave no event.
enum Stop {
    Ignored(String),
    Malformed(String),
}

/// The event name is unsigned, so it counts only as far as the body bears it out.
pub fn parse(event_name: &str, body: &[u8]) -> Parsed {
    match events(event_name, body) {
        Ok(events) => Parsed::Events(events),
        Err(Stop::Ignored(reason)) => Parsed::Ignored(reason),
        Err(Stop::Malformed(reason)) => Parsed::Malformed(reason),
    }
}

fn events(event_name: &str, body: &[u8]) -> Result<Vec<Event>, Stop> {
    let root: Value = serde_json::from_slice(body).map_err(|error| malformed(format!("not JSON: {error}")))?;
    if !root.is_object() {
        return Err(malformed("not a JSON object"));
    }
    let json = Json(&root);
    match event_name {
        "pull_request" => pull_request(json).map(|event| vec![Event::Pull(event)]),
        "check_run" => check_run(json).map(|event| vec![event]),
        "check_suite" => check_suite(json),
        name if ALWAYS.contains(&name) => Err(ignored(format!("`{name}` asks nothing of us"))),
        name => Err(ignored(format!("`{}` is not an event we subscribe to", short(name)))),
    }
}

fn pull_request(json: Json<'_>) -> Result<PullEvent, Stop> {
    let name = json.action("pull_request")?;
    json.object("/pull_request")?;
    // Reviews and their comments carry a pull request too, under other event names; none of them has `number`.
    let number = json.number("/number")?;
    if number != json.number("/pull_request/number")? {
        return Err(malformed("`number` and `pull_request.number` differ"));
    }
    let action = match name {
        "opened" => Action::Opened,
        "reopened" => Action::Reopened,
        "ready_for_review" => Action::ReadyForReview,
        "synchronize" => Action::Pushed,
        "edited" if json.get("/changes/base").is_some_and(Value::is_object) => Action::BaseChanged,
        "edited" => return Err(ignored("`edited` without another base")),
        "closed" => Action::Closed,
        "converted_to_draft" => Action::ConvertedToDraft,
        other => return Err(ignored(format!("action `{}` of `pull_request`", short(other)))),
    };
    Ok(PullEvent {
        action,
        installation: json.installation()?,
        repository: json.repository("/pull_request/base/repo/id")?,
        repo: json.repo()?,
        default_branch: json.text("/repository/default_branch")?.to_owned(),
        number: PullNumber(number),
        head: json.sha("/pull_request/head/sha")?,
        base_ref: json.text("/pull_request/base/ref")?.to_owned(),
        // A draft is the only state that keeps a review away, so a missing flag means "not a draft".
        draft: json.get("/pull_request/draft").and_then(Value::as_bool).unwrap_or(false),
        author: json.sender("/pull_request/user")?,
        sender: json.sender("/sender")?,
    })
}

fn check_run(json: Json<'_>) -> Result<Event, Stop> {
    let action = json.action("check_run")?;
    json.object("/check_run")?;
    if action != "rerequested" {
        return Err(ignored(format!("action `{}` of `check_run`", short(action))));
    }
    let repository = json.repository("")?;
    let head = json.sha("/check_run/head_sha")?;
    let external = json.get("/check_run/external_id").and_then(Value::as_str).unwrap_or_default();
    let (pull, head) = match parse_external_id(external) {
        Some((of, pull, sha)) if of == repository => (pull, sha),
        Some(_) => return Err(malformed("`check_run.external_id` names another repository")),
        None => {
            let pulls = json.pulls("/check_run/pull_requests", repository)?;
            let first = pulls.first().ok_or_else(|| ignored("a check run that belongs to no pull request"))?;
            (*first, head)
        }
    };
    json.rerequested(repository, pull, head)
}

fn check_suite(json: Json<'_>) -> Result<Vec<Event>, Stop> {
    let action = json.action("check_suite")?;
    json.object("/check_suite")?;
    if action != "rerequested" {
        return Err(ignored(format!("action `{}` of `check_suite`", short(action))));
    }
    let repository = json.repository("")?;
    let head = json.sha("/check_suite/head_sha")?;
    let pulls = json.pulls("/check_suite/pull_requests", repository)?;
    if pulls.is_empty() {
        return Err(ignored("a check suite that belongs to no pull request"));
    }
    pulls.into_iter().map(|pull| json.rerequested(repository, pull, head.clone())).collect()
}

/// Reads `review/<repository id>/<number>@<head>`.
fn parse_external_id(text: &str) -> Option<(RepositoryId, PullNumber, Sha)> {
    let (repository, rest) = text.strip_prefix("review/")?.split_once('/')?;
    let (number, sha) = rest.split_once('@')?;
    Some((RepositoryId(repository.parse().ok()?), PullNumber(number.parse().ok()?), Sha::parse(sha)?))
}

/// A payload with readers that name the field when it is not what it should be.
#[derive(Clone, Copy)]
struct Json<'a>(&'a Value);

impl<'a> Json<'a> {
    fn get(self, pointer: &str) -> Option<&'a Value> {
        self.0.pointer(pointer).filter(|value| !value.is_null())
    }

    fn object(self, pointer: &str) -> Result<(), Stop> {
        match self.get(pointer) {
            Some(Value::Object(_)) => Ok(()),
            _ => Err(malformed(format!("{} is missing or not an object", field(pointer)))),
        }
    }

    /// The action, once the body has been seen to hold the event's object and no other event's.
    fn action(self, event: &str) -> Result<&'a str, Stop> {
        let foreign = ["check_run", "check_suite", "pull_request", "review", "comment", "thread", "issue"];
        if let Some(name) = foreign.iter().find(|name| **name != event && self.get(&format!("/{name}")).is_some()) {
            return Err(malformed(format!("named `{event}`, but the body holds `{name}`")));
        }
        self.object(&format!("/{event}"))?;
        self.text("/action")
    }

    fn text(self, pointer: &str) -> Result<&'a str, Stop> {
        self.get(pointer)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| malformed(format!("{} is missing or not a text", field(pointer))))
    }

    fn number(self, pointer: &str) -> Result<u64, Stop> {
        self.get(pointer)
            .and_then(Value::as_u64)
            .ok_or_else(|| malformed(format!("{} is missing or not a positive whole number", field(pointer))))
    }

    fn sha(self, pointer: &str) -> Result<Sha, Stop> {
        Sha::parse(self.text(pointer)?)
            .ok_or_else(|| malformed(format!("{} is not a full git object id", field(pointer))))
    }

    fn installation(self) -> Result<InstallationId, Stop> {
        if self.get("/installation").is_none() {
            return Err(ignored("not sent to an App: no `installation`"));
        }
        self.number("/installation/id").map(InstallationId)
    }

    /// The repository's id; `again`, where present, must say the same.
    fn repository(self, again: &str) -> Result<RepositoryId, Stop> {
        let id = self.number("/repository/id")?;
        let differs = !again.is_empty() && self.get(again).is_some_and(|other| other.as_u64() != Some(id));
        if differs {
            return Err(malformed(format!("`repository.id` and {} differ", field(again))));
        }
        Ok(RepositoryId(id))
    }

    fn repo(self) -> Result<RepoName, Stop> {
        self.text("/repository/full_name")?
            .parse()
            .map_err(|_| malformed("`repository.full_name` is not of the form owner/name"))
    }

    /// A deleted account is null or absent; GitHub shows it as `ghost`.
    fn sender(self, pointer: &str) -> Result<Sender, Stop> {
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
    fn pulls(self, pointer: &str, repository: RepositoryId) -> Result<Vec<PullNumber>, Stop> {
        let Some(list) = self.get(pointer) else { return Ok(Vec::new()) };
        let list = list.as_array().ok_or_else(|| malformed(format!("{} is not a list", field(pointer))))?;
        let ours =
            list.iter().filter(|pull| pull.pointer("/base/repo/id").is_none_or(|id| id.as_u64() == Some(repository.0)));
        ours.map(|pull| {
            pull.get("number")
                .and_then(Value::as_u64)
                .map(PullNumber)
                .ok_or_else(|| malformed(format!("{} holds an entry without a number", field(pointer))))
        })
        .collect()
    }

    fn rerequested(self, repository: RepositoryId, pull: PullNumber, head: Sha) -> Result<Event, Stop> {
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
fn field(pointer: &str) -> String {
    format!("`{}`", pointer.trim_start_matches('/').replace('/', "."))
}

/// Names come from the sender; a reason stays one short line.
fn short(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn ignored(reason: impl Into<String>) -> Stop {
    Stop::Ignored(reason.into())
}

fn malformed(reason: impl Into<String>) -> Stop {
    Stop::Malformed(reason.into())
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
