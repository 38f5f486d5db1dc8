//! `Job::Test`: the repository's own checks over a pull request's head, on the word of somebody who may write.
//!
//! Promise: a fork's code runs only at a commit that such a person has named.

use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::agent::checks::checks;
use crate::agent::trial::Subject;
use crate::artifact::Reply;
use crate::artifact::reply::{About, TestedOutcome};
use crate::domain::{CommandTarget, IssueNumber, Job, RepositoryId, RunId, TestTarget, Verb};
use crate::github::Pull;
use crate::mailbox::Priority;
use crate::queue::Leased;
use crate::sandbox::Trust;
use crate::store::{self, NewRun, RunRow, RunState};

use super::command::{Obeyed, only};
use super::trial::{self, said, tried};
use super::{App, Error};

/// Where a run's outcome has the answer, for an attempt that only has to say it.
const TOLD: &str = "told";

/// What `test` comes to, with the commit that was named.
pub(super) fn ask(target: &CommandTarget, pull: &Pull, repository: RepositoryId, named: Option<&str>) -> Obeyed {
    let fork = pull.head_repo != Some(repository);
    let head = &pull.head_sha;
    let is_head = match named {
        // Who makes two commits can make them begin alike: the one that was read stands for the other unless it is named whole.
        Some(named) if fork => head.as_str() == named,
        Some(named) => head.as_str().starts_with(named),
        None => !fork,
    };
    if !is_head {
        let (head, named) = (head.as_str().to_owned(), named.map(str::to_owned));
        return only(Reply::NameTheHead { head, named, fork });
    }
    Obeyed {
        reply: Reply::Working { what: format!("the repository's own checks at {}", head.short()) },
        job: Some(Job::Test(TestTarget {
            place: target.place.clone(),
            number: pull.number,
            head: head.clone(),
            named: named.is_some(),
            comment: target.comment,
            by: target.by.clone(),
        })),
    }
}

impl App {
    pub(super) async fn test(&self, target: &TestTarget, leased: &Leased) -> Result<(), Error> {
        if let Some((run, reply)) = self.tested_before(leased).await? {
            return self.tell_tested(target, run, reply).await;
        }
        let run = self
            .store
            .start_run(NewRun {
                kind: "test".into(),
                repository: Some(target.place.repository),
                repo: target.place.repo.clone(),
                number: Some(target.number),
                head: Some(target.head.clone()),
                job: Some(leased.id),
            })
            .await?;
        let tested = match self.tested(target, run, leased).await {
            Err(error) if leased.cancel.is_cancelled() => Err(self.why_cancelled(leased, error).await?),
            tested => tested,
        };
        let reply = match &tested {
            Ok(reply) => {
                self.store.meter().run("test", counted(reply));
                let told = serde_json::to_value(reply).map_err(store::Error::from)?;
                let outcome = json!({ "outcome": counted(reply), TOLD: told });
                self.store.finish_run(run, RunState::Finished, Some(&outcome), None).await?;
                Some(reply.clone())
            }
            Err(error) => self.failed_run(run, leased, error, "the checks").await?,
        };
        if let Some(reply) = reply {
            self.tell_tested(target, run, reply).await?;
        }
        tested.map(|_| ())
    }

    /// What an earlier attempt of the job came to and could not say: minutes of checks are not run again for one comment.
    async fn tested_before(&self, leased: &Leased) -> Result<Option<(RunId, Reply)>, Error> {
        let runs = self.store.runs_of_job(leased.id).await?;
        let told = |run: RunRow| {
            let reply = Reply::deserialize(run.outcome?.get(TOLD)?).ok()?;
            (run.state == RunState::Finished).then_some((run.id, reply))
        };
        Ok(runs.into_iter().rev().find_map(told))
    }

    async fn tell_tested(&self, target: &TestTarget, run: RunId, mut reply: Reply) -> Result<(), Error> {
        let repo = self.repo_now(&target.place).await?;
        if let Reply::Tested { moved, .. } = &mut reply {
            let now = repo.pull(target.number).await?.head_sha;
            *moved = (now != target.head).then(|| now.as_str().to_owned());
        }
        let about = About::Comment { comment: target.comment, topic: Verb::Test.name().into() };
        self.reply(&repo, IssueNumber(target.number.0), about, Some(run), reply).await
    }

    async fn tested(&self, target: &TestTarget, run: RunId, leased: &Leased) -> Result<Reply, Error> {
        self.may_begin(leased)?;
        let repo = self.repo_now(&target.place).await?;
        let pull = repo.pull(target.number).await?;
        if !pull.is_open() {
            return Err(Error::Overtaken("the pull request is closed".into()));
        }
        if pull.head_sha != target.head {
            return Err(Error::Overtaken(format!("the head has moved: it is {} now", pull.head_sha.short())));
        }
        let fork = pull.head_repo != Some(repo.id());
        if fork && !target.named {
            return Err(Error::Overtaken("the branch belongs to a fork, and its commit was not named".into()));
        }
        if let Some(has) = self.lacks_write(&repo, &target.by).await? {
            return Err(Error::Overtaken(format!("`{}` may not write any more: {has}", target.by.login)));
        }
        let config = match self.configuration(&repo, None).await?.for_checks() {
            Ok(config) => config,
            Err(why) => return Ok(Reply::NotHere { verb: Verb::Test, why }),
        };
        let journal = self.journal(run).about(format!("{}#{}", target.place.repo, target.number), Priority::High);
        journal.say(&format!("testing {}#{}@{}", target.place.repo, target.number, target.head.short())).await?;
        let change = self
            .mirrors
            .pull(self.remote(&repo).await?, target.number, &target.head, &pull.base_ref, &leased.cancel)
            .await?;
        let (base, head) = (change.base_tree()?, change.head_tree());
        // Never from the head: a change must not choose what it is checked with.
        let all = checks(&base, &config.commands).await.map_err(super::contribute::of_agent)?;
        let name = target.place.repository.to_string();
        let trust = if fork { Trust::Stranger(target.number.0) } else { Trust::Default };
        let subject = Subject { repository: &name, tree: &head, base: Some(&base), trust };
        let (told, mut lines) = mpsc::unbounded_channel();
        let trial = async {
            let done = tried(&self.bench, subject, &all, Some(&told), &leased.cancel).await;
            drop(told);
            done
        };
        let saying = async {
            while let Some(line) = lines.recv().await {
                journal.say(&line).await?;
            }
            Ok::<(), Error>(())
        };
        let (done, spoken) = tokio::join!(trial, saying);
        let done = done?;
        spoken?;
        journal.say(&said(&done)).await?;
        Ok(Reply::Tested {
            head: target.head.as_str().to_owned(),
            // Asked for when it is said.
            moved: None,
            checks: done.iter().map(trial::tested).collect(),
        })
    }

    /// Whatever broke off when the job was told to end, the asker wants to know why it was told to.
    async fn why_cancelled(&self, leased: &Leased, error: Error) -> Result<Error, Error> {
        let reason = self.store.job(leased.id).await?.filter(|job| job.cancel_requested_at.is_some());
        Ok(reason.and_then(|job| job.last_error).map_or(error, Error::Overtaken))
    }
}

/// How the run is counted. One check that did not run leaves the whole unsaid.
fn counted(reply: &Reply) -> &'static str {
    let Reply::Tested { checks, .. } = reply else { return "declined" };
    let any = |wanted: fn(&TestedOutcome) -> bool| checks.iter().any(|check| wanted(&check.outcome));
    if any(|outcome| matches!(outcome, TestedOutcome::Failed { .. })) {
        "checks-failed"
    } else if checks.is_empty() || any(|outcome| matches!(outcome, TestedOutcome::NotRun { .. })) {
        "not-run"
    } else {
        "passed"
    }
}
