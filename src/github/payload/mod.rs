//! Webhook JSON to an event. Only the fields we need are read; what GitHub adds tomorrow is not our business.

mod activity;
mod installation;
mod issue;
mod json;
mod pull;

use serde_json::Value;

use crate::domain::Event;
use json::{Json, Stop, ignored, malformed, short};

/// The events that the App subscribes to; `app-manifest.yml` asks for exactly these.
pub const EVENTS: &[&str] = &[
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
];

/// What GitHub sends to every App, subscribed or not, beside `installation` and `installation_repositories`.
const ALWAYS: &[&str] = &["github_app_authorization", "meta", "ping"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// Never empty; more than one only when a check suite belongs to several pull requests.
    Events(Vec<Event>),
    /// Understood, and none of our business; the reason is kept on the delivery's row.
    Ignored(String),
    /// The body is not what its event name says. Kept, visible, never retried by itself.
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
        "pull_request" => pull::pull_request(json).map(|event| vec![Event::Pull(event)]),
        "check_run" => pull::check_run(json).map(|event| vec![event]),
        "check_suite" => pull::check_suite(json),
        "pull_request_review" => activity::review(json).map(|event| vec![event]),
        "pull_request_review_comment" => activity::review_comment(json).map(|event| vec![event]),
        "pull_request_review_thread" => activity::review_thread(json).map(|event| vec![event]),
        "issues" => issue::issues(json).map(|event| vec![Event::Issue(event)]),
        "issue_comment" => issue::issue_comment(json).map(|event| vec![Event::Comment(event)]),
        "installation" => installation::installation(json).map(|event| vec![Event::Installation(event)]),
        "installation_repositories" => installation::repositories(json).map(|event| vec![Event::Installation(event)]),
        name if ALWAYS.contains(&name) => Err(ignored(format!("`{name}` asks nothing of us"))),
        name => Err(ignored(format!("`{}` is not an event we subscribe to", short(name)))),
    }
}

#[cfg(test)]
mod tests;
