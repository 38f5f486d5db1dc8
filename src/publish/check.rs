//! The check run: begun before the work, concluded after it.

use serde_json::json;

use super::guard::Guard;
use super::render::{self, Place, Summary};
use super::{Error, Published, Publisher};
use crate::artifact::ReviewIntent;
use crate::domain::{Finding, OnUnreviewed, Outcome, ReviewTarget, RunId};
use crate::github::{
    ANNOTATIONS_PER_REQUEST, Annotation, AppInfo, CheckRun, CheckRunId, CheckRunUpdate, CheckStatus, Conclusion,
    NewCheckRun, Output, Repo,
};
use crate::stdx::hash;
use crate::store::EffectState;

/// The check's name: what a branch rule requires.
pub const CHECK_NAME: &str = "octoswarm";
/// More annotations than this help nobody; the check's text lists all findings.
const ANNOTATIONS: usize = 500;

impl Publisher {
    /// Makes sure that the head has our check run, in progress.
    ///
    /// # Errors
    /// `Superseded` when the pull request moved on; else GitHub's or the ledger's.
    pub async fn begin(
        &self,
        repo: &Repo,
        app: &AppInfo,
        target: &ReviewTarget,
        run: RunId,
    ) -> Result<CheckRunId, Error> {
        let key = format!("check/{}", target.key());
        let row = self.ledger.intend(&key, run, "check", &json!({ "external_id": target.key() })).await?;
        self.ledger.settled(&row).await;
        if let Some(found) = self.own_check(repo, app, target).await? {
            if row.state != EffectState::Proved {
                self.ledger.proved(&key, &json!({ "check_run": found.id })).await?;
            }
            let was_cancelled = found.conclusion.as_deref() == Some("cancelled");
            if found.status == CheckStatus::Completed && (target.forced || was_cancelled) {
                Guard::new(repo, target).check().await?;
                self.ledger.may_speak().await?;
                let update = CheckRunUpdate { status: CheckStatus::InProgress, conclusion: None, output: None };
                repo.update_check_run(found.id, &update).await?;
            }
            return Ok(found.id);
        }
        Guard::new(repo, target).check().await?;
        self.ledger.sent_again(&row).await?;
        let made = repo.create_check_run(&new_run(target)).await?;
        self.ledger.proved(&key, &json!({ "check_run": made.id })).await?;
        Ok(made.id)
    }

    /// Writes the outcome into the check run. What GitHub holds already is not written again.
    ///
    /// # Errors
    /// `Superseded` when the pull request moved on; else GitHub's or the ledger's.
    pub async fn conclude(
        &self,
        repo: &Repo,
        app: &AppInfo,
        intent: &ReviewIntent,
        check: CheckRunId,
        published: &Published,
    ) -> Result<(), Error> {
        let (conclusion, note) = conclusion(intent);
        let output = output(repo, intent, published, note.as_deref());
        let now = self.own_checks(repo, app, &intent.target).await?.into_iter().find(|run| run.id == check);
        let there = match &now {
            Some(now) if now.annotations > 0 => repo.annotations(check).await?,
            _ => Vec::new(),
        };
        let wanted = annotations(intent, published);
        let stale = there.iter().any(|annotation| !wanted.contains(annotation));
        let missing = if stale { wanted } else { without(wanted, there) };
        if !stale && missing.is_empty() && now.as_ref().is_some_and(|now| says(now, conclusion, &output)) {
            return self.concluded(&intent.target, check).await;
        }
        let check = if stale { self.replace(repo, intent, check, conclusion, &output).await? } else { check };
        let guard = Guard::new(repo, &intent.target);
        let mut chunks: Vec<&[Annotation]> = missing.chunks(ANNOTATIONS_PER_REQUEST).collect();
        if chunks.is_empty() {
            chunks.push(&[]);
        }
        let last = chunks.len() - 1;
        for (nth, chunk) in chunks.into_iter().enumerate() {
            // The conclusion goes with the last request: a check that is done shows all that it has to say.
            let done = nth == last;
            let update = CheckRunUpdate {
                status: if done { CheckStatus::Completed } else { CheckStatus::InProgress },
                conclusion: done.then_some(conclusion),
                output: Some(Output { annotations: chunk.to_vec(), ..output.clone() }),
            };
            let sketch = json!({ "check_run": check, "conclusion": update.conclusion, "annotations": chunk.len() });
            let digest = hash::sha256(json!(update).to_string().as_bytes());
            let key = format!("conclude/{}/{nth}/{}", intent.target.key(), &digest[..16]);
            let row = self.ledger.intend(&key, intent.run, "check-update", &sketch).await?;
            guard.check().await?;
            self.ledger.sent_again(&row).await?;
            let written = repo.update_check_run(check, &update).await?;
            self.ledger.proved(&key, &json!({ "check_run": written.id, "conclusion": written.conclusion })).await?;
        }
        self.concluded(&intent.target, check).await
    }

    /// The check says what it should: what an earlier life sent has arrived, or is of no consequence any more.
    async fn concluded(&self, target: &ReviewTarget, check: CheckRunId) -> Result<(), Error> {
        let proof = json!({ "check_run": check, "found": true });
        self.ledger.arrived(&format!("conclude/{}/", target.key()), &proof).await
    }

    /// Ends the check run of a head that has been overtaken, so that it does not spin for ever. Says nothing if there is none.
    /// Nobody speaks about that head again: what an earlier life sent for it is looked for here, or nowhere.
    ///
    /// # Errors
    /// GitHub's or the ledger's.
    pub async fn abandon(
        &self,
        repo: &Repo,
        app: &AppInfo,
        target: &ReviewTarget,
        run: RunId,
        reason: &str,
    ) -> Result<(), Error> {
        self.settle_reviews(repo, app, target).await?;
        let Some(found) = self.own_check(repo, app, target).await? else { return Ok(()) };
        let proof = json!({ "check_run": found.id, "found": true });
        self.ledger.arrived(&format!("check/{}", target.key()), &proof).await?;
        let key = format!("abandon/{}", target.key());
        if found.status == CheckStatus::Completed {
            self.ledger.arrived(&key, &proof).await?;
            return self.concluded(target, found.id).await;
        }
        let row = self.ledger.intend(&key, run, "check-update", &json!({ "check_run": found.id })).await?;
        self.ledger.sent_again(&row).await?;
        let output = Output {
            title: "Overtaken".to_owned(),
            summary: super::neutral::prose(reason),
            text: None,
            annotations: Vec::new(),
        };
        let update = CheckRunUpdate {
            status: CheckStatus::Completed,
            conclusion: Some(Conclusion::Cancelled),
            output: Some(output),
        };
        repo.update_check_run(found.id, &update).await?;
        self.ledger.proved(&key, &json!({ "check_run": found.id })).await?;
        self.concluded(target, found.id).await
    }

    async fn own_checks(&self, repo: &Repo, app: &AppInfo, target: &ReviewTarget) -> Result<Vec<CheckRun>, Error> {
        let mut runs = repo.check_runs(&target.head, app.id, CHECK_NAME).await?;
        // Two pull requests may share a head; each has its own run.
        runs.retain(|run| run.external_id.as_deref() == Some(target.key().as_str()));
        Ok(runs)
    }

    async fn own_check(&self, repo: &Repo, app: &AppInfo, target: &ReviewTarget) -> Result<Option<CheckRun>, Error> {
        Ok(self.own_checks(repo, app, target).await?.into_iter().max_by_key(|run| run.id.0))
    }

    /// Annotations cannot be taken back: a run that shows some that no longer hold is closed, and another takes its place.
    async fn replace(
        &self,
        repo: &Repo,
        intent: &ReviewIntent,
        old: CheckRunId,
        conclusion: Conclusion,
        output: &Output,
    ) -> Result<CheckRunId, Error> {
        let target = &intent.target;
        let guard = Guard::new(repo, target);
        guard.check().await?;
        // Closed first: when we die in between, the old run is found again and replaced then.
        let close = CheckRunUpdate {
            status: CheckStatus::Completed,
            conclusion: Some(conclusion),
            output: Some(output.clone()),
        };
        self.ledger.may_speak().await?;
        repo.update_check_run(old, &close).await?;
        let key = format!("check/{}/after/{}", target.key(), old.0);
        let row = self.ledger.intend(&key, intent.run, "check", &json!({ "external_id": target.key() })).await?;
        guard.check().await?;
        self.ledger.sent_again(&row).await?;
        let made = repo.create_check_run(&new_run(target)).await?;
        self.ledger.proved(&key, &json!({ "check_run": made.id })).await?;
        Ok(made.id)
    }
}

fn new_run(target: &ReviewTarget) -> NewCheckRun {
    NewCheckRun {
        name: CHECK_NAME.to_owned(),
        head_sha: target.head.clone(),
        external_id: target.key(),
        status: CheckStatus::InProgress,
        output: None,
    }
}

/// One for each finding that has no comment of its own.
fn annotations(intent: &ReviewIntent, published: &Published) -> Vec<Annotation> {
    let without_comment = |finding: &&Finding| !published.commented.contains(&finding.fingerprint);
    intent.report.findings.iter().filter(without_comment).take(ANNOTATIONS).map(render::annotation).collect()
}

/// What GitHub does not hold yet: an annotation sent twice would show twice.
fn without(mut wanted: Vec<Annotation>, mut there: Vec<Annotation>) -> Vec<Annotation> {
    wanted.retain(|annotation| match there.iter().position(|other| other == annotation) {
        Some(at) => {
            there.swap_remove(at);
            false
        }
        None => true,
    });
    wanted
}

/// Clean, findings, nothing-to-review and could-not-review never share a conclusion by accident; the note says what decided.
fn conclusion(intent: &ReviewIntent) -> (Conclusion, Option<String>) {
    match &intent.report.outcome {
        Outcome::Clean => (Conclusion::Success, None),
        Outcome::Findings { .. } if !is_bad(intent) && intent.report.coverage.is_incomplete() => {
            let note =
                "What was found does not fail this check, but not every reviewer has looked. \"Re-run\" tries again.";
            (unreviewed(intent.on_unreviewed), Some(note.to_owned()))
        }
        Outcome::Findings { .. } => match intent.fail_on {
            Some(bar) if is_bad(intent) => {
                (Conclusion::Failure, Some(format!("Findings of severity {bar} or above fail this check.")))
            }
            Some(bar) => (Conclusion::Success, Some(format!("All of them are below {bar}, where this check fails."))),
            None => (Conclusion::Success, Some("Findings never fail this check.".to_owned())),
        },
        // No success, since no rule judged it; nobody has to act on it either, so `on_unreviewed` has no say.
        Outcome::NothingToReview { .. } => (Conclusion::Neutral, None),
        Outcome::CouldNotReview { .. } => {
            let conclusion = unreviewed(intent.on_unreviewed);
            (conclusion, Some("This says nothing about the change itself. \"Re-run\" tries again.".to_owned()))
        }
    }
}

/// A finding fails the check.
fn is_bad(intent: &ReviewIntent) -> bool {
    let over = |bar| intent.report.findings.iter().any(|finding| finding.severity >= bar);
    intent.fail_on.is_some_and(over)
}

fn unreviewed(on: OnUnreviewed) -> Conclusion {
    match on {
        OnUnreviewed::Neutral => Conclusion::Neutral,
        OnUnreviewed::ActionRequired => Conclusion::ActionRequired,
        OnUnreviewed::Failure => Conclusion::Failure,
    }
}

fn output(repo: &Repo, intent: &ReviewIntent, published: &Published, note: Option<&str>) -> Output {
    let report = &intent.report;
    let notices: Vec<String> = intent.notices.iter().chain(&published.notes).cloned().collect();
    let summary = Summary {
        place: Place { web_url: &repo.web_url(), head: &intent.target.head },
        outcome: &report.outcome,
        coverage: &report.coverage,
        findings: &report.findings,
        outside: &[],
        inline: 0,
        notices: &notices,
        run: intent.run.to_string(),
        markers: Vec::new(),
    };
    render::check(&summary, note)
}

/// Whether GitHub's run already says all this.
fn says(now: &CheckRun, conclusion: Conclusion, output: &Output) -> bool {
    let same = |there: &Option<String>, wanted: &str| render::same(there.as_deref().unwrap_or_default(), wanted);
    now.status == CheckStatus::Completed
        && json!(conclusion).as_str() == now.conclusion.as_deref()
        && now.title.as_deref() == Some(output.title.as_str())
        && same(&now.summary, &output.summary)
        && same(&now.text, output.text.as_deref().unwrap_or_default())
}
