//! A change becomes one commit at the tip of a branch. Never by force, never onto a tip that is not what was expected.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::neutral::history;
use super::{Error, Publisher};
use crate::artifact::PushIntent;
use crate::domain::{Identity, Sha, redact};
use crate::github::{self, AppInfo, CommitInfo, Repo, TreeEntry};
use crate::stdx::text::{truncate_chars, visible_line};
use crate::store::{EffectRow, EffectState};
use crate::workspace::{self, Edit, EntryKind, Mirrors, Remote, Tree};

/// The trailer that tells our commits apart, at the very end of the message.
const TRAILER: &str = "Octoswarm-Task";
/// Characters of a commit's message.
const MESSAGE: usize = 10_000;
/// So many works for one task are remembered.
const REMEMBERED: usize = 20;
/// Characters of GitHub's reason for refusing a push.
const REASON: usize = 600;

/// Who makes the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitMode {
    /// We do, and push it. The same work is the same commit at every attempt.
    Git,
    /// GitHub does, and signs it.
    Api,
}

/// A commit that stands at the tip of its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    pub head: Sha,
    /// It was there before, and is not byte for byte what we would have pushed now.
    pub adopted: bool,
}

/// What a look at the branch showed.
enum Look {
    /// It is where it should be for us to write.
    Free,
    Done(Pushed),
}

/// The work of one call.
struct Push<'a> {
    repo: &'a Repo,
    app: &'a AppInfo,
    intent: &'a PushIntent,
    /// The commit that we would push, or that GitHub made for us and we know of.
    ours: Option<Sha>,
    /// The work that such a commit may hold: what this job made, at this attempt or an earlier one.
    made: Vec<Value>,
}

impl Publisher {
    /// Makes `new` the tree at the tip of the branch, as one commit. `edits` made `new` of the parent's tree.
    ///
    /// A tip that carries this work already is found and nothing is written: by the commit itself, or by its trailer where its
    /// tree is one that this job made, or would make. What another job made of the task when it was described otherwise is not
    /// this job's work, and a trailer alone can be written by anybody. A commit that somebody took away again is not pushed
    /// again for the same job.
    ///
    /// # Errors
    /// `Taken` when the branch should not exist and does, with somebody else's work; `Superseded` when it moved on or the job
    /// lost its lease; `Rejected` and `SignatureRequired` when GitHub does not take the commit; else GitHub's, git's or the
    /// ledger's. After an error that leaves the fate open the next call finds what arrived.
    #[expect(clippy::too_many_arguments, reason = "the two ways to commit need all of it")]
    pub async fn push(
        &self,
        repo: &Repo,
        app: &AppInfo,
        who: &Identity,
        mirrors: &Mirrors,
        new: &Tree,
        edits: &[Edit],
        intent: &PushIntent,
        mode: CommitMode,
        cancel: &CancellationToken,
    ) -> Result<Pushed, Error> {
        let key = format!("push/{}", intent.key);
        let job = json!(self.ledger.job());
        let work = json!({ "job": job, "parent": intent.parent, "tree": new.id() });
        let amend = |before: Option<&Value>| {
            json!({
                "branch": intent.branch,
                "expected": intent.expected,
                "parent": intent.parent,
                "tree": new.id(),
                "job": job,
                "made": made(before, &work),
            })
        };
        let row = self.ledger.amend(&key, intent.run, "push", amend).await?;
        self.ledger.settled(&row).await;
        let message = message(intent);
        let commit = match mode {
            CommitMode::Git => Some(new.commit_on(&intent.parent, &message, who, intent.at).await?),
            CommitMode::Api => None,
        };
        let known = told(&row).filter(|_| row.state == EffectState::Proved);
        let made = works(&row.intent).filter(|made| made["job"] == job || same_work(made, &work)).cloned().collect();
        let push = Push { repo, app, intent, ours: commit.clone().or(known), made };
        if let Look::Done(pushed) = push.look().await? {
            return self.pushed(&key, pushed).await;
        }
        if row.state == EffectState::Proved {
            // It stood there once. Who took it away did not want it; only another job, asked for since, pushes again.
            return Err(Error::Superseded(format!("the commit was taken off the branch `{}`", intent.branch)));
        }
        let written = match commit {
            Some(commit) => {
                let credential = repo.push_credential().await?;
                let remote = Remote { repository: repo.id(), url: repo.clone_url(), credential: Some(credential) };
                self.ledger.sent(&key).await?;
                let sent = mirrors.push(remote, &commit, &intent.branch, intent.expected.as_ref(), cancel).await;
                sent.map(|()| commit).map_err(|error| push.git_refusal(error))
            }
            None => {
                self.ledger.sent(&key).await?;
                push.by_api(new, edits, &message).await
            }
        };
        match written {
            Ok(head) => self.pushed(&key, Pushed { head, adopted: false }).await,
            Err(Refusal::Moved) => match push.look().await? {
                // Another attempt of ours was faster.
                Look::Done(pushed) => self.pushed(&key, pushed).await,
                Look::Free => Err(Error::Superseded(format!("the branch `{}` moves", intent.branch))),
            },
            Err(Refusal::Final(error)) => {
                self.ledger.failed(&key, &error.to_string()).await?;
                Err(error)
            }
            Err(Refusal::Open(error)) => Err(error),
        }
    }

    async fn pushed(&self, key: &str, pushed: Pushed) -> Result<Pushed, Error> {
        self.ledger.proved(key, &json!({ "head": pushed.head })).await?;
        Ok(pushed)
    }
}

/// Why a write did not succeed, or may not have.
enum Refusal {
    /// The branch is not where it was a moment ago.
    Moved,
    /// Nothing was written, and no later attempt will be.
    Final(Error),
    /// The next attempt looks.
    Open(Error),
}

impl Push<'_> {
    async fn look(&self) -> Result<Look, Error> {
        let intent = self.intent;
        let tip = self.repo.branch_head(&intent.branch).await?;
        if tip == intent.expected {
            return Ok(Look::Free);
        }
        let Some(tip) = tip else {
            return Err(Error::Superseded(format!("the branch `{}` is gone", intent.branch)));
        };
        if self.ours.as_ref() == Some(&tip) {
            return Ok(Look::Done(Pushed { head: tip, adopted: false }));
        }
        let commit = self.repo.commit(&tip).await?;
        let in_place = match &intent.expected {
            Some(expected) => commit.parents.as_slice() == std::slice::from_ref(expected),
            None => commit.parents.len() == 1,
        };
        if in_place && self.is_ours(&commit) {
            return Ok(Look::Done(Pushed { head: tip, adopted: true }));
        }
        Err(match &intent.expected {
            None => Error::Taken { branch: intent.branch.clone() },
            Some(expected) => Error::Superseded(format!(
                "the branch `{}` is at {} now, not at {}",
                intent.branch,
                tip.short(),
                expected.short()
            )),
        })
    }

    /// By its trailer; by its author, where GitHub knows whose address it carries; and by what it holds.
    fn is_ours(&self, commit: &CommitInfo) -> bool {
        let author_fits = commit.author_login.as_ref().is_none_or(|login| *login == self.app.bot_login);
        let found = json!({ "parent": commit.parents.first(), "tree": commit.tree });
        author_fits
            && carries(&commit.message, &self.intent.key)
            && self.made.iter().any(|made| same_work(made, &found))
    }

    fn git_refusal(&self, error: workspace::Error) -> Refusal {
        match error {
            workspace::Error::BranchMoved { .. } => Refusal::Moved,
            workspace::Error::PushRejected { reason, .. } => Refusal::Final(self.refused(&reason)),
            other => Refusal::Open(other.into()),
        }
    }

    fn api_refusal(&self, error: github::Error) -> Refusal {
        match error.root() {
            github::Error::Validation { message, errors, .. } => {
                let said = errors.iter().fold(message.clone(), |said, error| format!("{said}; {error}"));
                let lower = said.to_ascii_lowercase();
                if ["already exists", "fast forward", "fast-forward"].iter().any(|words| lower.contains(words)) {
                    Refusal::Moved
                } else {
                    Refusal::Final(self.refused(&said))
                }
            }
            github::Error::Conflict { .. } => Refusal::Moved,
            github::Error::Forbidden { message, .. } if is_about_rules(message) => {
                Refusal::Final(self.refused(message))
            }
            github::Error::Forbidden { .. } | github::Error::NotFound { .. } => Refusal::Final(error.into()),
            _ => Refusal::Open(error.into()),
        }
    }

    fn refused(&self, reason: &str) -> Error {
        let reason = truncate_chars(&visible_line(&redact(reason.trim(), &[])), REASON);
        let branch = self.intent.branch.clone();
        if is_about_signatures(&reason) {
            Error::SignatureRequired { branch, reason }
        } else {
            Error::Rejected { branch, reason }
        }
    }

    /// Tree, commit, then the branch: only the last one shows to anybody.
    async fn by_api(&self, new: &Tree, edits: &[Edit], message: &str) -> Result<Sha, Refusal> {
        let (repo, intent) = (self.repo, self.intent);
        let refusal = |error| self.api_refusal(error);
        let mut entries = Vec::new();
        for edit in edits {
            entries.push(entry(new, edit).await.map_err(|error| Refusal::Open(error.into()))?);
        }
        let base = repo.commit(&intent.parent).await.map_err(refusal)?.tree;
        let tree = repo.create_tree(&base, &entries).await.map_err(refusal)?;
        if tree != *new.id() {
            return Err(Refusal::Final(Error::OtherTree { ours: new.id().clone(), theirs: tree }));
        }
        let commit = repo.create_commit(message, &tree, &intent.parent).await.map_err(refusal)?;
        match &intent.expected {
            None => repo.create_branch(&intent.branch, &commit).await.map_err(refusal)?,
            Some(_) => repo.move_branch(&intent.branch, &commit).await.map_err(refusal)?,
        }
        Ok(commit)
    }
}

/// What was made for the task so far, this last: which job's, on which parent, which tree.
fn made(before: Option<&Value>, work: &Value) -> Value {
    let mut all: Vec<Value> = before.into_iter().flat_map(works).filter(|made| *made != work).cloned().collect();
    all.push(work.clone());
    all.drain(..all.len().saturating_sub(REMEMBERED));
    Value::Array(all)
}

fn works(intent: &Value) -> impl Iterator<Item = &Value> {
    intent.get("made").and_then(Value::as_array).into_iter().flatten()
}

fn same_work(one: &Value, other: &Value) -> bool {
    ["parent", "tree"].iter().all(|part| one.get(part).is_some_and(|value| other.get(part) == Some(value)))
}

fn told(row: &EffectRow) -> Option<Sha> {
    row.proof.as_ref()?.get("head")?.as_str().and_then(Sha::parse)
}

async fn entry(new: &Tree, edit: &Edit) -> Result<TreeEntry, workspace::Error> {
    Ok(match edit {
        Edit::Delete { path } => TreeEntry { path: path.clone(), mode: "100644", content: None },
        Edit::Write { path, text, .. } => {
            let executable = new.entry(path).await? == Some(EntryKind::Executable);
            let mode = if executable { "100755" } else { "100644" };
            TreeEntry { path: path.clone(), mode, content: Some(text.clone()) }
        }
    })
}

/// A refusal of this change, not of the App.
fn is_about_rules(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["workflow", "protected branch", "rule violation", "signature"].iter().any(|words| reason.contains(words))
}

/// GitHub's words for it, from a push and from its API.
fn is_about_signatures(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["verified signature", "must be signed", "signed commits", "required_signatures", "required signatures"]
        .iter()
        .any(|words| reason.contains(words))
}

/// The message with our trailer at its end. What others wrote in it mentions, refers to and attributes nothing.
fn message(intent: &PushIntent) -> String {
    let forged = |line: &&str| {
        let lower = line.trim_start().to_ascii_lowercase();
        // Git takes blanks before the colon.
        let token = lower.split_once(':').map_or(lower.as_str(), |(token, _)| token.trim_end());
        token.starts_with("octoswarm-")
            || token.ends_with("-by") && !token.contains(char::is_whitespace) && lower.contains(':')
            || matches!(token, "on-behalf-of" | "skip-checks")
    };
    let text = history(&intent.message, own_number(&intent.key));
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !forged(line)).collect();
    let text = truncate_chars(lines.join("\n").trim(), MESSAGE);
    let text = if text.is_empty() { "Change by octoswarm" } else { &text };
    format!("{text}\n\n{TRAILER}: {}\n", intent.key)
}

/// The issue of `contribute/7/3`, the pull request of `fix/7/12@<head>`.
fn own_number(key: &str) -> Option<u64> {
    key.split('/').nth(2)?.split('@').next()?.parse().ok()
}

/// Whether our trailer for this key ends the message.
fn carries(message: &str, key: &str) -> bool {
    let last = message.trim_end().rsplit('\n').next().unwrap_or_default();
    last.trim_end().strip_prefix(TRAILER).and_then(|rest| rest.strip_prefix(": ")) == Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RunId;

    #[track_caller]
    fn check(key: &str, text: &str, want: &str) {
        let sha = Sha::parse(&"a".repeat(40)).unwrap();
        let intent = PushIntent {
            key: key.into(),
            run: RunId(uuid::Uuid::nil()),
            branch: "fix/issue-3".into(),
            expected: None,
            parent: sha,
            message: text.into(),
            at: 0,
        };
        let message = message(&intent);
        assert_eq!(message, want);
        assert!(carries(&message, key) && carries(message.trim_end(), key));
        assert!(carries(&message.replace('\n', "\r\n"), key));
        for other in ["contribute/7/30", "contribute/7", "fix/7/3@a"] {
            assert!(!carries(&message, other), "{other}");
        }
    }

    #[test]
    fn a_message_ends_with_our_trailer_alone() {
        check(
            "contribute/7/3",
            "Load YAML safely\n\nRefs #3",
            "Load YAML safely\n\nRefs #3\n\nOctoswarm-Task: contribute/7/3\n",
        );
        check(
            "fix/7/12@abc",
            "Fix #12 and #13\nOctoswarm-Task: contribute/7/30\n Co-Authored-By: Mallory <m@evil.invalid>",
            "Fix #12 and # 13\n\nOctoswarm-Task: fix/7/12@abc\n",
        );
        check(
            "contribute/7/3",
            "Mend it\n\nCo-authored-by : M <m@x.y>\nReviewed-by: Ada\nOn-behalf-of: @x\nskip-checks: true\nStand-by: see A",
            "Mend it\n\nOctoswarm-Task: contribute/7/3\n",
        );
        check(
            "contribute/7/3",
            "Sort step-by\n\nsort step-by: by step",
            "Sort step-by\n\nsort step-by: by step\n\nOctoswarm-Task: contribute/7/3\n",
        );
        check("contribute/7/3", " \n", "Change by octoswarm\n\nOctoswarm-Task: contribute/7/3\n");
    }

    #[test]
    fn a_trailer_elsewhere_is_somebodys_quote() {
        assert!(!carries("Octoswarm-Task: a\n\nRevert it", "a"));
        assert!(!carries("Revert \"Octoswarm-Task: a", "a"));
        assert!(!carries("", "a"));
    }

    #[test]
    fn signatures_are_known_by_githubs_words() {
        for reason in [
            "GH013: Repository rule violations found for refs/heads/x. - Commits must have verified signatures.",
            "Commit must be signed",
        ] {
            assert!(is_about_signatures(reason), "{reason}");
        }
        assert!(!is_about_signatures("GH006: Protected branch update failed"));
    }
}
