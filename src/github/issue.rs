//! Issues as they stand now, and who set a label.

use serde::Deserialize;
use serde_json::Value;

use super::client::Call;
use super::error::Error;
use super::user::{User, UserWire};
use super::{Repo, endpoint};
use crate::domain::IssueNumber;

/// An issue, or the issue side of a pull request. Title, body and labels are whatever people wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueInfo {
    pub number: IssueNumber,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub author: User,
    /// Logins of those who work on it.
    pub assignees: Vec<String>,
    /// ISO 8601, as GitHub gives it.
    pub created_at: String,
    /// ISO 8601, as GitHub gives it.
    pub updated_at: String,
    pub comments: u64,
    pub open: bool,
    pub locked: bool,
    /// The number is a pull request's.
    pub pull: bool,
    /// Where people find it.
    pub url: String,
}

#[derive(Deserialize)]
pub(super) struct IssueWire {
    number: IssueNumber,
    title: String,
    body: Option<String>,
    #[serde(default)]
    labels: Vec<LabelWire>,
    user: Option<UserWire>,
    #[serde(default)]
    assignees: Vec<UserWire>,
    created_at: String,
    updated_at: String,
    #[serde(default)]
    comments: u64,
    state: String,
    #[serde(default)]
    locked: bool,
    pull_request: Option<Value>,
    html_url: String,
}

/// The newest part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuePage {
    pub issues: Vec<IssueInfo>,
    /// There are older ones, which were not read.
    pub more: bool,
}

/// GitHub's schema allows a bare name, too.
#[derive(Deserialize)]
#[serde(untagged)]
enum LabelWire {
    Name(String),
    Label { name: Option<String> },
}

#[derive(Deserialize)]
struct EventWire {
    /// What happened; the kinds are many and grow.
    event: Option<String>,
    label: Option<LabelWire>,
    actor: Option<UserWire>,
}

impl LabelWire {
    fn name(self) -> Option<String> {
        match self {
            Self::Name(name) => Some(name),
            Self::Label { name } => name,
        }
    }
}

impl From<IssueWire> for IssueInfo {
    fn from(wire: IssueWire) -> Self {
        Self {
            number: wire.number,
            title: wire.title,
            body: wire.body.unwrap_or_default(),
            labels: wire.labels.into_iter().filter_map(LabelWire::name).collect(),
            author: User::of(wire.user),
            assignees: wire.assignees.into_iter().map(|user| user.login).collect(),
            created_at: wire.created_at,
            updated_at: wire.updated_at,
            comments: wire.comments,
            open: wire.state == "open",
            locked: wire.locked,
            pull: wire.pull_request.is_some_and(|value| !value.is_null()),
            url: wire.html_url,
        }
    }
}

impl IssueInfo {
    /// Labels are compared as GitHub does: without regard to case.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|own| same_label(own, label))
    }
}

impl Repo {
    /// # Errors
    /// `NotFound` also when the issue was deleted or transferred, or issues are switched off; else as [`Error`] says.
    pub async fn issue(&self, number: IssueNumber) -> Result<IssueInfo, Error> {
        let call = self.call(&endpoint::GET_ISSUE, &[&number.to_string()]);
        let issue: IssueInfo = self.json::<IssueWire>(&call).await?.into();
        // A transferred issue has another number in its new home.
        if issue.number == number { Ok(issue) } else { Err(Error::NotFound { call: call.text() }) }
    }

    /// The open issues that carry the label, newest first, without pull requests. None when issues are switched off.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn issues_labeled(&self, label: &str) -> Result<Vec<IssueInfo>, Error> {
        let mut call = self.call(&endpoint::LIST_ISSUES, &[]).query("state", "open");
        // GitHub splits the filter at commas, which a label may hold.
        if !label.contains(',') {
            call = call.query("labels", label);
        }
        let listed = self.all(call, |page: Vec<IssueWire>| page.into_iter().map(IssueInfo::from).collect()).await;
        let issues: Vec<IssueInfo> = match listed {
            // 410. The repository itself being gone looks the same, and has no issues either.
            Err(Error::NotFound { .. }) => Vec::new(),
            listed => listed?,
        };
        // A server that ignores a filter must not make us take up work that nobody asked for.
        Ok(issues.into_iter().filter(|issue| issue.open && !issue.pull && issue.has_label(label)).collect())
    }

    /// The open issues and pull requests that carry one of the labels, or all when none is named, newest first; of each label
    /// at most so many pages of a hundred. None when issues are switched off.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn issues_open(&self, labels: &[String], pages: usize) -> Result<IssuePage, Error> {
        let mut all = IssuePage { issues: Vec::new(), more: false };
        for call in listings(&self.call(&endpoint::LIST_ISSUES, &[]), labels) {
            let client = &self.github.client;
            let listed = client.first_pages(call, pages, |call| async move { self.send(&call).await }).await;
            all.add(match listed {
                Err(Error::NotFound { .. }) => (Vec::new(), false),
                listed => listed?,
            });
        }
        Ok(all)
    }

    /// Who set the label last. `None` when nobody did, when it was taken off since, or when that account is gone.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn label_actor(&self, number: IssueNumber, label: &str) -> Result<Option<User>, Error> {
        let call = self.call(&endpoint::LIST_ISSUE_EVENTS, &[&number.to_string()]);
        let events: Vec<EventWire> = self.all(call, |page: Vec<EventWire>| page).await?;
        let mut actor = None;
        for event in events {
            let Some(name) = event.label.and_then(LabelWire::name) else { continue };
            match event.event.as_deref() {
                Some("labeled") if same_label(&name, label) => actor = event.actor.map(|user| User::of(Some(user))),
                Some("unlabeled") if same_label(&name, label) => actor = None,
                _ => {}
            }
        }
        Ok(actor)
    }
}

impl IssuePage {
    /// What carries two of the labels comes twice.
    pub(super) fn add(&mut self, (issues, more): (Vec<IssueWire>, bool)) {
        for issue in issues.into_iter().map(IssueInfo::from) {
            if !self.issues.iter().any(|known| known.number == issue.number) {
                self.issues.push(issue);
            }
        }
        self.more |= more;
    }
}

/// GitHub's filter takes issues that carry all labels that it is given, so each label is a list of its own. It splits at commas,
/// which a label cannot hold.
pub(super) fn listings(call: &Call, labels: &[String]) -> Vec<Call> {
    let call = call.clone().query("state", "open");
    match labels {
        [] => vec![call],
        labels => labels.iter().map(|label| call.clone().query("labels", label)).collect(),
    }
}

fn same_label(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
