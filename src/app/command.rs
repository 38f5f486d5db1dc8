//! `Job::Command`: each verb of a comment is obeyed and answered, in one comment of ours.

use crate::artifact::Reply;
use crate::artifact::reply::{About, Status, StatusLine};
use crate::domain::{
    Asker, CommandTarget, ContributeTarget, Conversation, FixTarget, Job, PullNumber, ReviewTarget, Verb, fix_group,
    issue_group, test_group,
};
use crate::github::{Pull, Repo};
use crate::queue::Leased;
use crate::stdx::text::{iso8601, truncate_chars};
use crate::store::{Enqueued, JobRow, JobState, RunRow, RunState};

use super::{App, Error};

/// Runs that a status tells of.
const RECENT: usize = 5;
/// Characters of a status line's detail.
const DETAIL: usize = 200;

/// What a verb comes to: said first, then done, so that a placeholder never overwrites an outcome.
pub(super) struct Obeyed {
    pub(super) reply: Reply,
    pub(super) job: Option<Job>,
}

impl App {
    pub(super) async fn command(&self, target: &CommandTarget, leased: &Leased) -> Result<(), Error> {
        if leased.cancel.is_cancelled() {
            return Err(Error::Overtaken("cancelled before it began".into()));
        }
        let repo = self.repo_now(&target.place).await?;
        if repo.comment(target.comment).await?.is_none() {
            return Err(Error::Overtaken("the comment was deleted".into()));
        }
        if let Some(has) = self.lacks_write(&repo, &target.by).await? {
            return Err(Error::Overtaken(format!("`{}` may not write any more: {has}", target.by.login)));
        }
        let pull = match target.issue.pull {
            true => Some(repo.pull(PullNumber(target.issue.number.0)).await?),
            false => None,
        };
        for unknown in &target.unknown {
            let reply = Reply::Unknown { word: unknown.word.clone(), nearest: unknown.nearest };
            self.answer(&repo, target, &unknown.word, reply).await?;
        }
        // Another attempt goes on where the last one stopped: what was obeyed may be over by now, and is not begun again.
        let progress = format!("command/{}", leased.id);
        let obeyed = self.store.get_cursor(&progress).await?.and_then(|count| count.parse().ok()).unwrap_or(0);
        for (nth, verb) in (1..).zip(&target.verbs).skip(obeyed) {
            let Obeyed { reply, job } = self.obey(*verb, target, pull.as_ref(), &repo).await?;
            self.answer(&repo, target, verb.name(), reply).await?;
            if let Some(job) = job {
                self.make_way(&job).await?;
                let enqueued = self.store.enqueue(&job, self.now_because(leased.cause.as_ref())).await?;
                if let Some(reply) = self.joined(*verb, target, enqueued).await? {
                    self.answer(&repo, target, verb.name(), reply).await?;
                }
            }
            if nth < target.verbs.len() {
                self.store.set_cursor(&progress, &nth.to_string()).await?;
            }
        }
        Ok(())
    }

    /// What to say when somebody else's job does the same work already: its outcome will stand elsewhere.
    async fn joined(&self, verb: Verb, target: &CommandTarget, enqueued: Enqueued) -> Result<Option<Reply>, Error> {
        let Enqueued::Existing(id) = enqueued else { return Ok(None) };
        let answered_at = match self.store.job(id).await?.and_then(|row| row.job) {
            Some(Job::Fix(other)) => Some(other.comment),
            Some(Job::Test(other)) => Some(other.comment),
            Some(Job::Contribute(other)) => other.comment,
            Some(Job::Review(_) | Job::Delivery { .. } | Job::Command(_) | Job::Monitor(_) | Job::Audit(_)) | None => {
                return Ok(None);
            }
        };
        if answered_at == Some(target.comment) {
            return Ok(None);
        }
        let why = match answered_at {
            Some(_) => {
                "the same is under way already; its outcome will stand in the answer to the command that came first"
            }
            None => {
                "the work that the label asked for is under way already; its outcome will stand in this conversation"
            }
        };
        Ok(Some(Reply::NotHere { verb, why: why.to_owned() }))
    }

    async fn answer(&self, repo: &Repo, target: &CommandTarget, topic: &str, reply: Reply) -> Result<(), Error> {
        let about = About::Comment { comment: target.comment, topic: topic.to_owned() };
        self.reply(repo, target.issue.number, about, None, reply).await
    }

    async fn obey(
        &self,
        verb: Verb,
        target: &CommandTarget,
        pull: Option<&Pull>,
        repo: &Repo,
    ) -> Result<Obeyed, Error> {
        Ok(match (verb, pull) {
            (Verb::Help, Some(_)) => only(Reply::Help { on: Conversation::Pull }),
            (Verb::Help, None) => only(Reply::Help { on: Conversation::Issue }),
            (Verb::Status, _) => only(Reply::Status(self.status(target).await?)),
            (Verb::Cancel, _) => {
                let mut jobs = 0;
                for group in groups(target) {
                    jobs += self.store.cancel_group(&group, None, &format!("cancelled by {}", target.by.login)).await?;
                }
                only(Reply::Cancelled { jobs })
            }
            (Verb::Retry, _) => self.retry(target, pull, repo).await?,
            (Verb::Review, None) => not_here(verb, "only pull requests are reviewed"),
            (Verb::Test, None) => not_here(verb, "only pull requests are run"),
            (Verb::Review | Verb::Fix | Verb::Test, Some(pull)) if !pull.is_open() => {
                not_here(verb, "the pull request is closed")
            }
            (Verb::Review, Some(pull)) => review(target, pull),
            (Verb::Test, Some(pull)) => match self.configuration(repo, None).await?.for_checks() {
                Err(why) => not_here(verb, &why),
                Ok(_) => super::test::ask(target, pull, repo.id(), target.commit.as_deref()),
            },
            (Verb::Fix, None) if !target.issue.open => not_here(verb, "the issue is closed"),
            (Verb::Fix, _) => match (self.configuration(repo, None).await?.for_changes(), pull) {
                (Err(why), _) => not_here(verb, &why),
                (Ok(_), Some(pull)) => fix(target, pull, repo),
                (Ok(_), None) => contribute(target),
            },
        })
    }

    /// What failed last is tried again; what was cancelled, or came to nothing, is begun anew.
    async fn retry(&self, target: &CommandTarget, pull: Option<&Pull>, repo: &Repo) -> Result<Obeyed, Error> {
        let mut last: Option<JobRow> = None;
        for group in groups(target) {
            let found = self.store.group_jobs(&group, 1).await?.into_iter().next();
            last = last.into_iter().chain(found).max_by_key(|job| job.id);
        }
        let Some(JobRow { state, job: Some(job), kind, .. }) = last else {
            return Ok(only(Reply::NothingToRetry));
        };
        match state {
            JobState::Available | JobState::Scheduled | JobState::Running | JobState::Retryable => {
                Ok(not_here(Verb::Retry, &format!("the {kind} is under way already")))
            }
            JobState::Completed if kind != "contribute" => Ok(only(Reply::NothingToRetry)),
            JobState::Completed | JobState::Discarded | JobState::Cancelled => {
                // Asked for anew, by who says "retry", and answered there: nothing is taken from who asked before.
                let anew = match (job, pull) {
                    (Job::Review(_), Some(pull)) => review(target, pull),
                    (Job::Fix(_), Some(pull)) => fix(target, pull, repo),
                    // Somebody has named the commit of a fork: that holds for this commit alone.
                    (Job::Test(last), Some(pull)) => {
                        let named = last.named.then(|| last.head.as_str().to_owned());
                        super::test::ask(target, pull, repo.id(), named.as_deref())
                    }
                    (Job::Contribute(_), None) => contribute(target),
                    _ => only(Reply::NothingToRetry),
                };
                let reply = match anew.job {
                    Some(_) => Reply::Retried { what: format!("the {kind}") },
                    None => anew.reply,
                };
                Ok(Obeyed { reply, job: anew.job })
            }
        }
    }

    async fn status(&self, target: &CommandTarget) -> Result<Status, Error> {
        let mut status = Status::default();
        for group in groups(target) {
            for job in self.store.group_jobs(&group, 20).await? {
                status.running.extend(unfinished(&job));
            }
        }
        let number = PullNumber(target.issue.number.0);
        let runs = self.store.runs_about(target.place.repository, number, RECENT).await?;
        status.recent = runs.iter().filter(|run| run.state != RunState::Running).map(ended).collect();
        Ok(status)
    }
}

pub(super) fn only(reply: Reply) -> Obeyed {
    Obeyed { reply, job: None }
}

fn not_here(verb: Verb, why: &str) -> Obeyed {
    only(Reply::NotHere { verb, why: why.to_owned() })
}

fn review(target: &CommandTarget, pull: &Pull) -> Obeyed {
    let target = ReviewTarget { forced: true, ..review_target(target, pull) };
    Obeyed {
        reply: Reply::ReviewAsked { head: target.head.short().to_owned(), already: false },
        job: Some(Job::Review(target)),
    }
}

/// At the head that the asker saw; the job ends by itself if there is another one.
fn review_target(target: &CommandTarget, pull: &Pull) -> ReviewTarget {
    ReviewTarget {
        installation: target.place.installation,
        repository: target.place.repository,
        repo: target.place.repo.clone(),
        number: pull.number,
        head: target.pinned.as_ref().map_or_else(|| pull.head_sha.clone(), |pinned| pinned.head.clone()),
        base_ref: pull.base_ref.clone(),
        forced: false,
    }
}

fn fix(target: &CommandTarget, pull: &Pull, repo: &Repo) -> Obeyed {
    if pull.head_repo != Some(repo.id()) {
        return not_here(
            Verb::Fix,
            "the branch belongs to a fork, which the App may not push to; its author can commit the suggestions of the review",
        );
    }
    if pull.head_ref == target.place.default_branch {
        return not_here(
            Verb::Fix,
            "the pull request's branch is the default branch, which is changed by pull requests only",
        );
    }
    let Some(pinned) = &target.pinned else { return not_here(Verb::Fix, "the head is not known") };
    if pinned.head != pull.head_sha {
        return not_here(Verb::Fix, "new commits were pushed since you asked; ask again if you still want it");
    }
    Obeyed {
        reply: Reply::Working { what: format!("the mechanical fixes at {}", pinned.head.short()) },
        job: Some(Job::Fix(FixTarget {
            place: target.place.clone(),
            number: pull.number,
            head: pinned.head.clone(),
            base_ref: pull.base_ref.clone(),
            comment: target.comment,
            by: target.by.clone(),
        })),
    }
}

/// The issue as it was when the command was given.
fn contribute(target: &CommandTarget) -> Obeyed {
    Obeyed {
        reply: Reply::Working { what: "the change that this issue asks for".into() },
        job: Some(Job::Contribute(Box::new(ContributeTarget {
            place: target.place.clone(),
            issue: target.issue.clone(),
            by: Asker::Person(target.by.clone()),
            comment: Some(target.comment),
        }))),
    }
}

/// The groups of jobs that work on this conversation's subject.
fn groups(target: &CommandTarget) -> Vec<String> {
    let (repository, number) = (target.place.repository, PullNumber(target.issue.number.0));
    if target.issue.pull {
        let (fixes, tests) = (fix_group(repository, number), test_group(repository, number));
        vec![format!("pull/{repository}/{number}"), fixes, tests]
    } else {
        vec![issue_group(repository, target.issue.number)]
    }
}

fn unfinished(job: &JobRow) -> Option<StatusLine> {
    let state = match job.state {
        JobState::Available | JobState::Scheduled => "waiting",
        JobState::Running => "running",
        JobState::Retryable => "waiting for another attempt",
        JobState::Completed | JobState::Discarded | JobState::Cancelled => return None,
    };
    Some(StatusLine {
        what: job.kind.clone(),
        head: match &job.job {
            Some(Job::Review(target)) => Some(target.head.short().to_owned()),
            Some(Job::Fix(target)) => Some(target.head.short().to_owned()),
            Some(Job::Test(target)) => Some(target.head.short().to_owned()),
            Some(Job::Delivery { .. } | Job::Command(_) | Job::Contribute(_) | Job::Monitor(_) | Job::Audit(_))
            | None => None,
        },
        state: state.to_owned(),
        detail: job.last_error.as_deref().map(|error| truncate_chars(error, DETAIL)).unwrap_or_default(),
        at: iso8601(job.created_at),
    })
}

fn ended(run: &RunRow) -> StatusLine {
    let outcome = run.outcome.as_ref().and_then(|outcome| outcome.get("outcome")?.as_str().map(str::to_owned));
    let detail = run.detail.clone().or(outcome).unwrap_or_default();
    StatusLine {
        what: run.kind.clone(),
        head: run.head.as_ref().map(|head| head.short().to_owned()),
        state: run.state.as_str().to_owned(),
        detail: truncate_chars(&detail, DETAIL),
        at: iso8601(run.finished_at.unwrap_or(run.started_at)),
    }
}
