//! `Job::Fix`: the mechanical fixes that remain in a pull request become one commit on its branch.

use serde_json::json;

use crate::agent::{Scene, gate};
use crate::artifact::reply::{About, FixNote};
use crate::artifact::{PushIntent, Reply, ReviewReport};
use crate::domain::{Class, FixTarget, IssueNumber, RunId};
use crate::github::Repo;
use crate::mailbox::Priority;
use crate::pipeline;
use crate::queue::Leased;
use crate::store::{Beat, NewRun, RunState};
use crate::workspace::Remote;

use super::contribute::{of_agent, settings};
use super::{App, Error, review};

impl App {
    pub(super) async fn fix(&self, target: &FixTarget, leased: &Leased) -> Result<(), Error> {
        let run = self
            .store
            .start_run(NewRun {
                kind: "fix".into(),
                repository: Some(target.place.repository),
                repo: target.place.repo.clone(),
                number: Some(target.number),
                head: Some(target.head.clone()),
                job: Some(leased.id),
            })
            .await?;
        let fixed = self.fixed(target, run, leased).await;
        let reply = match &fixed {
            Ok(reply) => {
                self.store.meter().run("fix", counted(reply));
                let outcome = json!({ "outcome": summary(reply) });
                self.store.finish_run(run, RunState::Finished, Some(&outcome), None).await?;
                Some(reply.clone())
            }
            Err(error) => self.failed_run(run, leased, error, "the fix").await?,
        };
        if let Some(reply) = reply {
            let repo = self.repo_now(&target.place).await?;
            let about = About::Comment { comment: target.comment, topic: "fix".into() };
            self.reply(&repo, IssueNumber(target.number.0), about, Some(run), reply).await?;
        }
        fixed.map(|_| ())
    }

    async fn fixed(&self, target: &FixTarget, run: RunId, leased: &Leased) -> Result<Reply, Error> {
        self.may_begin(leased)?;
        let repo = self.repo_now(&target.place).await?;
        let pull = repo.pull(target.number).await?;
        if !pull.is_open() {
            return Err(Error::Overtaken("the pull request is closed".into()));
        }
        // The new head may be the commit that an earlier attempt pushed, whether that attempt counted or not: `push` knows it.
        let may_be_ours = self.store.effect(&format!("push/{}", target.key())).await?.is_some();
        if pull.head_sha != target.head && !may_be_ours {
            return Err(Error::Overtaken(format!("the head is {} now", pull.head_sha.short())));
        }
        if pull.head_repo != Some(repo.id()) {
            return Err(Error::Overtaken("the branch belongs to a fork".into()));
        }
        if let Some(has) = self.lacks_write(&repo, &target.by).await? {
            return Err(Error::Overtaken(format!("`{}` may not write any more: {has}", target.by.login)));
        }
        let journal = self.journal(run).about(format!("{}#{}", target.place.repo, target.number), Priority::High);
        journal.say(&format!("fixing {}#{}@{}", target.place.repo, target.number, target.head.short())).await?;
        let config = match self.configuration(&repo, None).await?.for_changes() {
            Ok(config) => config,
            Err(why) => return Ok(Reply::Declined { why }),
        };
        let change = self
            .mirrors
            .pull(self.remote(&repo).await?, target.number, &target.head, &pull.base_ref, &leased.cancel)
            .await?;
        let tree = change.head_tree();
        let scene = review::scene(change, target.place.repo.to_string(), Vec::new(), review::settings(&config)).await?;
        let cx = self.context(Scene::Review(scene), &leased.cancel).await?;
        let done = pipeline::fix::run(&cx, &journal).await?;
        let changes = match done.changes.outcome {
            Ok(changes) if changes.commit_ready => changes,
            Ok(changes) => return Ok(Reply::NothingToFix { why: changes.validation.errors.join("; ") }),
            Err(faults) => {
                let why: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
                return Ok(Reply::NothingToFix { why: why.join("; ") });
            }
        };
        let gated = match gate::check(&cx.engine, &tree, &changes, &settings(&config)).await.map_err(of_agent)? {
            Ok(gated) => gated,
            Err(reasons) => return Ok(Reply::NothingToFix { why: reasons.join("; ") }),
        };
        let new = tree.with(&gated.edits).await?;
        let intent = PushIntent {
            key: target.key(),
            run,
            branch: pull.head_ref.clone(),
            expected: Some(target.head.clone()),
            parent: target.head.clone(),
            message: changes.suggested_commit_message.clone(),
            at: leased.created_at,
        };
        let pushed = self.push(&repo, &new, &gated.edits, &intent, &config, &pull.base_ref, leased).await?;
        journal.say(&format!("{} pushed to {}", pushed.head.short(), pull.head_ref)).await?;
        Ok(fixed_reply(&done.report, pushed.head.short(), gated.files.len()))
    }

    /// The repository as it is called now, and where its commits come from.
    pub(super) async fn remote(&self, repo: &Repo) -> Result<Remote, Error> {
        let credential = repo.credential().await?;
        Ok(Remote { repository: repo.id(), url: repo.clone_url(), credential: Some(credential) })
    }

    /// An attempt may begin: it was not cancelled, and it is not the one that only says that all others failed.
    pub(super) fn may_begin(&self, leased: &Leased) -> Result<(), Error> {
        let last = leased.last_error.clone();
        if leased.cancel.is_cancelled() {
            return Err(Error::Overtaken(last.unwrap_or_else(|| "cancelled before it began".into())));
        }
        if leased.attempt > 1 && leased.attempt >= leased.max_attempts {
            let last = last.unwrap_or_else(|| "the worker died each time".into());
            return Err(Error::GivenUp { attempts: leased.attempt as usize - 1, last });
        }
        Ok(())
    }

    /// Writes down how a run failed, and tells what the asker is owed: nothing while another attempt may follow.
    pub(super) async fn failed_run(
        &self,
        run: RunId,
        leased: &Leased,
        error: &Error,
        what: &str,
    ) -> Result<Option<Reply>, Error> {
        let class = self.class(error, leased);
        let state = if class == Class::Cancelled { RunState::Cancelled } else { RunState::Failed };
        self.store.meter().run(leased.job.kind(), state.as_str());
        self.store.finish_run(run, state, None, Some(&error.chain())).await?;
        let stopped = leased.cancel.is_cancelled();
        Ok(match (self.store.lease_state(&leased.lease).await?, class) {
            (Beat::Lost, _) => None,
            (Beat::Alive, Class::Cancelled) if stopped => None,
            (Beat::CancelRequested, _) | (Beat::Alive, Class::Cancelled | Class::Discard) => Some(Reply::Failed {
                what: what.to_owned(),
                why: self.without_paths(&error.to_string()),
                hint: error.hint().map(|hint| self.without_paths(&hint)),
            }),
            (Beat::Alive, Class::Retry | Class::RetryAfter(_) | Class::Snooze(_)) => None,
        })
    }
}

/// How a run that changes things is counted, by the word it ends with.
pub(super) fn counted(reply: &Reply) -> &'static str {
    match reply {
        Reply::Fixed { .. } | Reply::PullOpened { .. } => "changed",
        Reply::Declined { .. } => "declined",
        _ => "nothing-to-do",
    }
}

fn summary(reply: &Reply) -> &'static str {
    match reply {
        Reply::Fixed { .. } => "fixed",
        Reply::Declined { .. } => "declined",
        _ => "nothing to fix",
    }
}

fn fixed_reply(report: &ReviewReport, commit: &str, files: usize) -> Reply {
    let (with, without): (Vec<_>, Vec<_>) = report.findings.iter().partition(|finding| finding.fix.is_some());
    Reply::Fixed {
        commit: commit.to_owned(),
        files,
        fixes: with
            .into_iter()
            .map(|finding| FixNote {
                rule: finding.rule.0.clone(),
                path: finding.path.clone(),
                line: finding.span.start_line,
            })
            .collect(),
        left: without.len(),
    }
}
