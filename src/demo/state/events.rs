//! What happened, as deliveries to the App: repository events by subscription, installation events always.

use serde_json::{Value, json};

use super::World;
use crate::demo::refusal::Refusal;
use crate::demo::shape;
use crate::demo::webhook::Outgoing;

impl World {
    /// Queues a repository event when the App is installed there and subscribed.
    pub fn emit(&mut self, event: &str, action: Option<&str>, repo: u64, sender: &str, extra: Value) {
        if !self.covers(repo) || !self.manifest.default_events.iter().any(|e| e == event) {
            return;
        }
        self.emit_always(event, action, Some(repo), sender, extra);
    }

    /// Events about the installation itself, which every App gets.
    pub fn emit_installation(&mut self, event: &str, action: &str, sender: &str, mut extra: Value) {
        extra["installation"] = shape::installation(self);
        self.emit_always(event, Some(action), None, sender, extra);
    }

    pub fn emit_always(&mut self, event: &str, action: Option<&str>, repo: Option<u64>, sender: &str, extra: Value) {
        // A suspended installation hears of nothing but its own suspension.
        if self.webhook_url.is_none() || (self.suspended_at.is_some() && repo.is_some()) {
            return;
        }
        self.add_user(sender, "User");
        let mut payload = json!({});
        if let Some(action) = action {
            payload["action"] = json!(action);
        }
        if let Value::Object(fields) = extra {
            for (key, value) in fields {
                payload[key] = value;
            }
        }
        if let Some(repo) = repo.and_then(|id| self.repos.get(&id)) {
            payload["repository"] = shape::repository(self, repo);
            payload["installation"] =
                json!({"id": self.installation_id, "node_id": shape::node("MDIz", self.installation_id)});
        }
        payload["sender"] = shape::user(self, sender);
        let outgoing = Outgoing {
            guid: uuid::Uuid::new_v4().to_string(),
            event: event.to_owned(),
            action: action.map(str::to_owned),
            redelivery: false,
            installation_id: Some(self.installation_id),
            repository_id: repo,
            body: payload.to_string(),
        };
        self.post(outgoing);
    }

    /// Hands a delivery to the sender task; after the box stopped nobody is there to take it.
    pub fn post(&self, outgoing: Outgoing) {
        self.pending.send_modify(|pending| *pending += 1);
        if self.outbox.send(outgoing).is_err() {
            self.pending.send_modify(|pending| *pending -= 1);
            tracing::debug!("the box has stopped: a webhook stays unsent");
        }
    }

    /// `installation_repositories` of one repository that came or went.
    pub fn repositories_event(&mut self, repo: u64, action: &str, sender: &str) -> Result<(), Refusal> {
        let short = shape::short_repository(self.repo(repo)?);
        let (added, removed) = if action == "added" { (vec![short], vec![]) } else { (vec![], vec![short]) };
        let extra = json!({
            "repository_selection": "selected",
            "repositories_added": added,
            "repositories_removed": removed,
            "requester": null,
        });
        if self.suspended_at.is_none() {
            self.emit_installation("installation_repositories", action, sender, extra);
        }
        Ok(())
    }
}
