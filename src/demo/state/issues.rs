//! Issues and the issue side of pull requests: opened, labelled, closed, locked, with their history.

use serde::Deserialize;
use serde_json::json;

use super::{Issue, IssueEvent, Label, World};
use crate::demo::refusal::Refusal;
use crate::demo::shape;

/// A label as a client asks for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewLabel {
    pub name: String,
    pub color: Option<String>,
    pub description: Option<String>,
}

/// What every new repository offers.
const LABELS: [(&str, &str, &str); 9] = [
    ("bug", "d73a4a", "Something isn't working"),
    ("documentation", "0075ca", "Improvements or additions to documentation"),
    ("duplicate", "cfd3d7", "This issue or pull request already exists"),
    ("enhancement", "a2eeef", "New feature or request"),
    ("good first issue", "7057ff", "Good for newcomers"),
    ("help wanted", "008672", "Extra attention is needed"),
    ("invalid", "e4e669", "This doesn't seem right"),
    ("question", "d876e3", "Further information is requested"),
    ("wontfix", "ffffff", "This will not be worked on"),
];

impl World {
    pub fn open_issue(&mut self, repo: u64, author: &str, title: &str, body: &str) -> Result<u64, Refusal> {
        let body = Some(body).filter(|body| !body.is_empty()).map(str::to_owned);
        let issue = self.new_issue(repo, author, title, body)?;
        let number = issue.number;
        self.repo_mut(repo)?.issues.insert(number, issue);
        self.issues_event(repo, number, "opened", author, json!({}))?;
        Ok(number)
    }

    pub(super) fn new_issue(
        &mut self,
        repo: u64,
        author: &str,
        title: &str,
        body: Option<String>,
    ) -> Result<Issue, Refusal> {
        self.add_user(author, "User");
        let (id, now) = (self.id(), self.now());
        let r = self.repo_mut(repo)?;
        r.last_number += 1;
        Ok(Issue {
            id,
            number: r.last_number,
            title: title.to_owned(),
            body,
            author: author.to_owned(),
            state: "open".to_owned(),
            state_reason: None,
            locked: false,
            labels: Vec::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
            closed_by: None,
        })
    }

    pub(super) fn default_labels(&mut self) -> Vec<Label> {
        LABELS
            .iter()
            .map(|(name, color, description)| Label {
                id: self.id(),
                name: (*name).to_owned(),
                color: (*color).to_owned(),
                description: Some((*description).to_owned()),
                default: true,
            })
            .collect()
    }

    pub fn create_label(&mut self, repo: u64, new: NewLabel) -> Result<String, Refusal> {
        let wrong = |field: &str, code: &str, message: &str| Err(Refusal::invalid("Label", field, code, message));
        let name = new.name.trim().to_owned();
        if name.is_empty() {
            return wrong("name", "missing_field", "name can't be blank");
        }
        if name.chars().count() > 50 {
            return wrong("name", "invalid", "name is too long (maximum is 50 characters)");
        }
        if new.description.as_ref().is_some_and(|text| text.chars().count() > 100) {
            return wrong("description", "invalid", "description is too long (maximum is 100 characters)");
        }
        let color = new.color.unwrap_or_else(|| "ededed".to_owned());
        if color.len() != 6 || !color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return wrong("color", "invalid", "color must be six hexadecimal digits without `#`");
        }
        if self.repo(repo)?.label(&name).is_some() {
            return wrong("name", "already_exists", "name already exists");
        }
        let id = self.id();
        let label = Label { id, name: name.clone(), color, description: new.description, default: false };
        self.repo_mut(repo)?.labels.push(label);
        Ok(name)
    }

    /// A label that the repository does not offer yet comes into being, as on GitHub.
    pub fn add_labels(
        &mut self,
        repo: u64,
        number: u64,
        labels: &[String],
        sender: &str,
    ) -> Result<Vec<String>, Refusal> {
        self.issue(repo, number)?;
        self.add_user(sender, "User");
        for label in labels {
            let name = match self.repo(repo)?.label(label) {
                Some(known) => known.name.clone(),
                None => self.create_label(repo, NewLabel { name: label.clone(), color: None, description: None })?,
            };
            let now = self.now();
            let issue = self.issue_mut(repo, number)?;
            if issue.labels.contains(&name) {
                continue;
            }
            issue.labels.push(name.clone());
            issue.updated_at = now;
            self.label_event(repo, number, "labeled", &name, sender)?;
        }
        Ok(self.issue(repo, number)?.labels.clone())
    }

    pub fn remove_label(&mut self, repo: u64, number: u64, label: &str, sender: &str) -> Result<(), Refusal> {
        self.add_user(sender, "User");
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        let Some(at) = issue.labels.iter().position(|known| known.eq_ignore_ascii_case(label)) else {
            return Err(Refusal::new(404, "Label does not exist"));
        };
        let name = issue.labels.remove(at);
        issue.updated_at = now;
        self.label_event(repo, number, "unlabeled", &name, sender)
    }

    fn label_event(&mut self, repo: u64, number: u64, action: &str, name: &str, by: &str) -> Result<(), Refusal> {
        self.issue_event(repo, number, action, by, Some(name.to_owned()), None)?;
        let label = shape::label(self, repo, name)?;
        self.issues_event(repo, number, action, by, json!({"label": label}))
    }

    /// `state_reason` is `completed` or `not_planned`.
    pub fn close_issue(
        &mut self,
        repo: u64,
        number: u64,
        by: &str,
        reason: &str,
        commit: Option<String>,
    ) -> Result<(), Refusal> {
        self.add_user(by, "User");
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        if issue.state == "closed" {
            return Ok(());
        }
        "closed".clone_into(&mut issue.state);
        issue.state_reason = Some(reason.to_owned());
        issue.closed_at = Some(now);
        issue.closed_by = Some(by.to_owned());
        issue.updated_at = now;
        self.issue_event(repo, number, "closed", by, None, commit)?;
        self.issues_event(repo, number, "closed", by, json!({}))
    }

    pub fn reopen_issue(&mut self, repo: u64, number: u64, by: &str) -> Result<(), Refusal> {
        self.add_user(by, "User");
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        if issue.state == "open" {
            return Ok(());
        }
        "open".clone_into(&mut issue.state);
        issue.state_reason = Some("reopened".to_owned());
        issue.closed_at = None;
        issue.closed_by = None;
        issue.updated_at = now;
        self.issue_event(repo, number, "reopened", by, None, None)?;
        self.issues_event(repo, number, "reopened", by, json!({}))
    }

    pub fn set_locked(&mut self, repo: u64, number: u64, locked: bool, by: &str) -> Result<(), Refusal> {
        self.add_user(by, "User");
        self.issue_mut(repo, number)?.locked = locked;
        let action = if locked { "locked" } else { "unlocked" };
        self.issue_event(repo, number, action, by, None, None)?;
        self.issues_event(repo, number, action, by, json!({}))
    }

    pub fn edit_issue(&mut self, repo: u64, number: u64, title: &str, body: &str, by: &str) -> Result<(), Refusal> {
        self.add_user(by, "User");
        let now = self.now();
        let issue = self.issue_mut(repo, number)?;
        let mut changes = json!({});
        if issue.title != title {
            changes["title"] = json!({"from": std::mem::replace(&mut issue.title, title.to_owned())});
        }
        if issue.body.as_deref().unwrap_or_default() != body {
            changes["body"] = json!({"from": issue.body.replace(body.to_owned())});
        }
        issue.updated_at = now;
        self.issues_event(repo, number, "edited", by, json!({"changes": changes}))
    }

    /// One more line in the history of an issue or pull request.
    pub fn issue_event(
        &mut self,
        repo: u64,
        number: u64,
        event: &str,
        actor: &str,
        label: Option<String>,
        commit_id: Option<String>,
    ) -> Result<(), Refusal> {
        let (id, created_at) = (self.id(), self.now());
        let (actor, event) = (actor.to_owned(), event.to_owned());
        self.repo_mut(repo)?.events.push(IssueEvent { id, number, actor, event, label, commit_id, created_at });
        Ok(())
    }

    /// `issues`, or `pull_request` when the number is one.
    fn issues_event(
        &mut self,
        repo: u64,
        number: u64,
        action: &str,
        sender: &str,
        mut extra: serde_json::Value,
    ) -> Result<(), Refusal> {
        if self.repo(repo)?.pulls.contains_key(&number) {
            return self.pull_event(repo, number, action, sender, extra);
        }
        extra["issue"] = shape::issue(self, repo, number)?;
        self.emit("issues", Some(action), repo, sender, extra);
        Ok(())
    }
}
