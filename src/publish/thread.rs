//! Our review threads: which are open, and which are settled.

use std::collections::BTreeSet;

use serde_json::json;

use super::guard::Guard;
use super::{Error, Publisher, marker};
use crate::artifact::{ReviewIntent, ReviewReport};
use crate::domain::{Fingerprint, PullNumber};
use crate::github::{self, AppInfo, Repo, Thread};
use crate::store::EffectState;

/// A thread of ours that nobody has resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenThread {
    pub path: String,
    pub fingerprint: Fingerprint,
}

/// What came of resolving.
#[derive(Default)]
pub(super) struct Resolved {
    pub(super) count: usize,
    pub(super) note: Option<String>,
}

impl Publisher {
    /// The open threads of our App: their paths are read again, so that a review can tell which of them are settled.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub async fn open_threads(&self, repo: &Repo, app: &AppInfo, number: PullNumber) -> Result<Vec<OpenThread>, Error> {
        let threads = repo.threads(number).await?;
        let open = threads.into_iter().filter(|thread| !thread.resolved).filter_map(|thread| {
            let fingerprint = marker::thread_finding(app, &thread)?;
            Some(OpenThread { path: thread.path, fingerprint })
        });
        Ok(open.collect())
    }

    /// The findings that need no new comment: they have a thread of ours, open, or resolved by a person who has seen it.
    /// A thread that we resolved ourselves does not count, for then the finding has come back.
    pub(super) async fn told(
        &self,
        app: &AppInfo,
        intent: &ReviewIntent,
        threads: &[Thread],
    ) -> Result<BTreeSet<Fingerprint>, Error> {
        let mut told = BTreeSet::new();
        for thread in threads {
            let Some(fingerprint) = marker::thread_finding(app, thread) else { continue };
            let key = resolve_key(intent, thread);
            let row = if thread.resolved { self.ledger.get(&key).await? } else { None };
            let by_us = match row.map(|row| row.state) {
                Some(EffectState::Proved) => true,
                // We asked for it and died before we heard that it was done; it may never have arrived.
                Some(EffectState::Sent) if resolved_by_other(app, thread) => {
                    self.ledger.given_up(&key, "somebody else resolved the thread first").await?;
                    false
                }
                Some(EffectState::Sent) => {
                    self.ledger.proved(&key, &json!({ "thread": thread.id, "found": true })).await?;
                    true
                }
                Some(EffectState::Intended | EffectState::Failed) | None => false,
            };
            if !by_us {
                told.insert(fingerprint);
            }
        }
        Ok(told)
    }

    /// Resolves the threads whose finding is gone, read anew, and that nobody has answered.
    pub(super) async fn settle_threads(
        &self,
        repo: &Repo,
        app: &AppInfo,
        intent: &ReviewIntent,
        threads: &[Thread],
        guard: &Guard<'_>,
    ) -> Result<Resolved, Error> {
        let mut done = Resolved::default();
        for thread in threads.iter().filter(|thread| is_settled(app, intent, thread)) {
            let key = resolve_key(intent, thread);
            let row = self
                .ledger
                .intend(&key, intent.run, "resolve", &json!({ "thread": thread.id, "path": thread.path }))
                .await?;
            // We resolved it and somebody opened it again: theirs is the last word.
            if row.state == EffectState::Proved {
                continue;
            }
            guard.check().await?;
            self.ledger.sent(&key).await?;
            match repo.resolve_thread(&thread.id).await {
                Ok(()) => {
                    self.ledger.proved(&key, &json!({ "thread": thread.id })).await?;
                    done.count += 1;
                }
                Err(error) => match error.root() {
                    github::Error::NotFound { .. } => self.ledger.failed(&key, "the thread is gone").await?,
                    github::Error::Forbidden { .. } => {
                        self.ledger.failed(&key, &error.to_string()).await?;
                        done.note = Some(
                            "Threads whose finding is gone could not be resolved: the App lacks `contents: write`, \
                             which GitHub asks for. Grant it in the App's settings, accept it in the installation's \
                             settings, or resolve the threads by hand."
                                .to_owned(),
                        );
                        break;
                    }
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(done)
    }
}

fn resolve_key(intent: &ReviewIntent, thread: &Thread) -> String {
    format!("resolve/{}/{}", intent.target.repository, thread.id)
}

/// Whether GitHub names somebody else who resolved it. The schema gives `resolvedBy` the type `User`, which an App is not, and
/// says nothing of what stands there when an App did it: nothing, or the App's login. A person is always named, so long as
/// there is an account: whoever is named and is not us is one, and theirs is the last word.
fn resolved_by_other(app: &AppInfo, thread: &Thread) -> bool {
    thread.resolved_by.as_ref().is_some_and(|login| *login != app.slug && *login != app.bot_login)
}

/// A finding is gone only when whoever finds such things has looked. Of a thread that does not tell whose it is, any missing
/// reviewer may have been the one.
fn was_looked_for(app: &AppInfo, report: &ReviewReport, thread: &Thread) -> bool {
    let absent = &report.coverage.absent;
    if marker::is_of_linter(app, thread, report.silent.iter()) {
        return false;
    }
    absent.is_empty()
        || marker::thread_category(app, thread)
            .is_some_and(|category| absent.iter().all(|reviewer| reviewer.reviewer != category.name()))
}

fn is_settled(app: &AppInfo, intent: &ReviewIntent, thread: &Thread) -> bool {
    let report = &intent.report;
    let gone = marker::thread_finding(app, thread).is_some_and(|fingerprint| !report.present.contains(&fingerprint));
    let unanswered = thread.comments.iter().all(|comment| marker::is_own_comment(app, comment));
    gone && !thread.resolved
        && unanswered
        && report.settled_paths.contains(&thread.path)
        && was_looked_for(app, report, thread)
}
