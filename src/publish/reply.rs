//! What we answer people: one comment for each thing that is asked or worked on, edited in place when there is more to say.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::render::reply::{self as render, SECTIONS};
use super::{Error, Publisher, marker, render::same};
use crate::artifact::reply::About;
use crate::artifact::{Reply, ReplyIntent};
use crate::domain::{CommentId, IssueNumber};
use crate::github::{self, AppInfo, Comment, Reaction, Repo};
use crate::store::{EffectRow, EffectState};

/// So many sections are remembered; fewer are shown.
const REMEMBERED: usize = 5 * SECTIONS;

/// What a reaction is given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactTo {
    Issue(IssueNumber),
    Comment(CommentId),
}

/// One section of an answer, as the ledger keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Section {
    topic: String,
    reply: Reply,
}

impl Publisher {
    /// GitHub keeps one reaction of a kind from us, however often it is given. A comment that is gone gets none, silently.
    ///
    /// # Errors
    /// `Superseded` when the job lost its lease; else GitHub's or the ledger's.
    pub async fn react(&self, repo: &Repo, on: ReactTo, reaction: Reaction) -> Result<(), Error> {
        self.ledger.may_speak().await?;
        let done = match on {
            ReactTo::Issue(number) => repo.react_to_issue(number, reaction).await,
            ReactTo::Comment(comment) => repo.react_to_comment(comment, reaction).await,
        };
        match done {
            Err(error) if matches!(error.root(), github::Error::NotFound { .. }) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Says the reply in the comment that is about this, and returns that comment. What it says already is not written again,
    /// also when somebody edited or deleted it since. A refusal, a breaker and an escalation are
    /// said once and never change.
    ///
    /// # Errors
    /// `Superseded` when the job lost its lease; else GitHub's or the ledger's.
    pub async fn reply(&self, repo: &Repo, app: &AppInfo, intent: &ReplyIntent) -> Result<CommentId, Error> {
        let key = key(repo, intent);
        // Two jobs may answer the same comment: neither posts a second one, nor takes back what the other said.
        let _turn = self.ledger.turn(&key).await;
        let row = if changes(&intent.about) {
            self.ledger.amend(&key, intent.run, "comment", |before| amended(before, intent)).await?
        } else {
            self.ledger.intend(&key, intent.run, "comment", &amended(None, intent)).await?
        };
        if let (EffectState::Proved, Some(comment)) = (row.state, told(&row)) {
            return Ok(comment);
        }
        let replies: Vec<Reply> = sections(&row.intent).into_iter().map(|section| section.reply).collect();
        let body = render::reply(&replies, &app.slug, intent.run, &marker::of_key(&key));
        if let Some(there) = self.standing_comment(repo, app, intent.number, &row).await? {
            if same(&there.body, &body) {
                return self.said(&key, there.id).await;
            }
            self.ledger.sent(&key).await?;
            match repo.update_comment(there.id, &body).await {
                Ok(comment) => return self.said(&key, comment.id).await,
                // Deleted just now: what is new is said all the same.
                Err(error) if matches!(error.root(), github::Error::NotFound { .. }) => {}
                Err(error) => return self.ledger.noted(&key, Err(error)).await,
            }
        }
        self.ledger.sent(&key).await?;
        let made = repo.create_comment(intent.number, &body).await;
        let made = self.ledger.noted(&key, made).await?;
        self.said(&key, made.id).await
    }

    /// The comment that an earlier life, or an earlier reply, has written.
    async fn standing_comment(
        &self,
        repo: &Repo,
        app: &AppInfo,
        number: IssueNumber,
        row: &EffectRow,
    ) -> Result<Option<Comment>, Error> {
        let own = |comment: &Comment| marker::is_own(app, &comment.author);
        if let Some(id) = told(row)
            && let Some(comment) = repo.comment(id).await?.filter(own)
        {
            return Ok(Some(comment));
        }
        self.ledger.settled(row).await;
        let all = repo.comments(number).await?;
        Ok(all.into_iter().rfind(|comment| own(comment) && marker::carries(&comment.body, &row.key)))
    }

    async fn said(&self, key: &str, comment: CommentId) -> Result<CommentId, Error> {
        self.ledger.proved(key, &json!({ "comment": comment })).await?;
        Ok(comment)
    }
}

/// `answer/<repository>/<comment>`, `contribution/<repository>/<issue>`, `refusal/<repository>/<number>/<actor>/<verb>`,
/// `breaker/<repository>/<number>/<hour>`, `escalation/<repository>/<number>`.
fn key(repo: &Repo, intent: &ReplyIntent) -> String {
    let (repository, number) = (repo.id(), intent.number);
    match &intent.about {
        About::Comment { comment, .. } => format!("answer/{repository}/{comment}"),
        About::Contribution => format!("contribution/{repository}/{number}"),
        About::Refusal { actor, verb } => format!("refusal/{repository}/{number}/{actor}/{}", marker::part(verb)),
        About::Breaker { hour } => format!("breaker/{repository}/{number}/{hour}"),
        About::Escalation => format!("escalation/{repository}/{number}"),
    }
}

/// Whether there may be more to say about it.
fn changes(about: &About) -> bool {
    match about {
        About::Comment { .. } | About::Contribution => true,
        About::Refusal { .. } | About::Breaker { .. } | About::Escalation => false,
    }
}

/// The sections with this reply among them: in the place of an earlier one on the same topic, else at the end. The outcome of
/// a command stays when a job that was interrupted says once more that it is at work.
fn amended(before: Option<&Value>, intent: &ReplyIntent) -> Value {
    let topic = match &intent.about {
        About::Comment { topic, .. } => topic.as_str(),
        About::Contribution | About::Refusal { .. } | About::Breaker { .. } | About::Escalation => "",
    };
    let of_command = matches!(intent.about, About::Comment { .. });
    let is_working = |reply: &Reply| matches!(reply, Reply::Working { .. });
    let mut sections = before.map(sections).unwrap_or_default();
    match sections.iter().position(|section| section.topic == topic) {
        Some(at) if of_command && is_working(&intent.reply) && !is_working(&sections[at].reply) => {}
        Some(at) => sections[at].reply = intent.reply.clone(),
        None if sections.len() >= REMEMBERED => {}
        None => sections.push(Section { topic: topic.to_owned(), reply: intent.reply.clone() }),
    }
    json!({ "number": intent.number, "sections": sections })
}

/// A section that an older octoswarm wrote and this one cannot read is left out.
fn sections(intent: &Value) -> Vec<Section> {
    let all = intent.get("sections").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(|section| Section::deserialize(section).ok()).collect()
}

fn told(row: &EffectRow) -> Option<CommentId> {
    row.proof.as_ref()?.get("comment")?.as_u64().map(CommentId)
}
