//! `Job::Contribute`: from an issue to a pull request, or to one helpful comment.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::agent::{self, Contributing, Role, Scene, gate};
use crate::artifact::facts::ContributeSettings;
use crate::artifact::plan::Plan;
use crate::artifact::reply::About;
use crate::artifact::swarm::{
    CiState, CiStatus, CodeChanges, CodebaseMap, CreatedCommit, CreatedPull, IssueAnalysis, LinkedIssue, PrCreated,
    PullState, PullSummary,
};
use crate::artifact::{self, Content, Document, Proposal, PullDraft, PullIntent, PushIntent, Reply};
use crate::config::{Commits, RepoConfig};
use crate::domain::{Class, ContributeTarget, PullNumber, RunId};
use crate::github::{self, Repo};
use crate::mailbox::Priority;
use crate::pipeline::{self, Cycle, Outputs};
use crate::publish::{self, CommitMode, Opened, Pushed};
use crate::queue::Leased;
use crate::stdx::text::count;
use crate::store::{EffectState, NewRun, RunState};
use crate::workspace::{self, Edit, Tree};

use super::change;
use super::fix::counted;
use super::handle::NOT_SHOWN_YET;
use super::local::Nothing;
use super::reviewed::{Record, Reviewing};
use super::trial::{Checked, Checking, Proposed};
use super::{App, Error};

impl App {
    pub(super) async fn contribute(&self, target: &ContributeTarget, leased: &Leased) -> Result<(), Error> {
        self.still_wanted(target, leased).await?;
        // One issue of a repository at a time (A2.6); the next one asks again in a moment.
        let name = &target.place.repo;
        let cycle = self.swarms.enter(name.owner(), name.name()).map_err(pipeline::Error::Shelf)?;
        let cycle = Arc::new(cycle.ok_or(Error::Busy)?);
        let run = self
            .store
            .start_run(NewRun {
                kind: "contribute".into(),
                repository: Some(target.place.repository),
                repo: target.place.repo.clone(),
                number: Some(PullNumber(target.issue.number.0)),
                head: None,
                job: Some(leased.id),
            })
            .await?;
        let contributed = self.contributed(target, run, &cycle, leased).await;
        let over = match &contributed {
            Ok(Reply::PullOpened { .. }) => false,
            Ok(_) => true,
            Err(error) => matches!(self.class(error, leased), Class::Discard | Class::Cancelled),
        };
        if over {
            shown(cycle.ended());
        }
        let reply = match &contributed {
            Ok(reply) => {
                self.store.meter().run("contribute", counted(reply));
                let outcome = json!({ "outcome": summary(reply) });
                self.store.finish_run(run, RunState::Finished, Some(&outcome), None).await?;
                Some(reply.clone())
            }
            Err(error) => self.failed_run(run, leased, error, "work on this issue").await?,
        };
        if let Some(reply) = reply {
            self.tell(target, run, reply).await?;
        }
        contributed.map(|_| ())
    }

    /// A command has its answer, and a sweep says nothing: nobody asked. A label gets a word only where the pull request does not speak for itself, or an
    /// earlier word would mislead.
    async fn tell(&self, target: &ContributeTarget, run: RunId, reply: Reply) -> Result<(), Error> {
        if target.by.is_sweep() {
            return Ok(());
        }
        let repo = self.repo_now(&target.place).await?;
        let number = target.issue.number;
        if let Some(comment) = target.comment {
            let about = About::Comment { comment, topic: "fix".into() };
            return self.reply(&repo, number, about, Some(run), reply).await;
        }
        let said = format!("contribution/{}/{number}", target.place.repository);
        let speaks_for_itself = matches!(reply, Reply::PullOpened { .. });
        let cancelled = matches!(reply, Reply::Failed { .. }) && !self.is_open(&repo, target).await?;
        if cancelled || (speaks_for_itself && self.store.effect(&said).await?.is_none()) {
            return Ok(());
        }
        self.reply(&repo, number, About::Contribution, Some(run), reply).await
    }

    /// An attempt that died before it learned that its pull request was opened left the proof to us.
    async fn prove_opened(&self, target: &ContributeTarget, number: PullNumber) -> Result<(), Error> {
        let key = PullIntent::effect_key(&target.key());
        if self.store.effect(&key).await?.is_some_and(|row| row.state == EffectState::Sent) {
            self.store.prove(&key, &json!({ "pull": number })).await?;
        }
        Ok(())
    }

    async fn is_open(&self, repo: &Repo, target: &ContributeTarget) -> Result<bool, Error> {
        Ok(super::event::still_there(repo.issue(target.issue.number).await)?.is_some_and(|issue| issue.open))
    }

    async fn contributed(
        &self,
        target: &ContributeTarget,
        run: RunId,
        cycle: &Arc<Cycle>,
        leased: &Leased,
    ) -> Result<Reply, Error> {
        self.may_begin(leased)?;
        let repo = self.repo_now(&target.place).await?;
        let issue = repo.issue(target.issue.number).await?;
        if !issue.open {
            return Err(Error::Overtaken("the issue is closed".into()));
        }
        if let Some(by) = target.by.person()
            && let Some(has) = self.lacks_write(&repo, by).await?
        {
            return Err(Error::Overtaken(format!("`{}` may not write any more: {has}", by.login)));
        }
        let config = match self.configuration(&repo, None).await?.for_changes() {
            Ok(config) => config,
            Err(why) => return Ok(Reply::Declined { why }),
        };
        let by_label = target.comment.is_none() && !target.by.is_sweep();
        if by_label && !issue.has_label(&config.label) {
            // GitHub may not show yet what its webhook told of; later it was taken off, and that word was late or lost.
            let age = self.store.clock().now().saturating_sub(leased.created_at);
            return Err(if age < NOT_SHOWN_YET {
                github::Error::NotFound { call: format!("the label `{}` on the issue", config.label) }.into()
            } else {
                Error::Overtaken("the label was taken off".into())
            });
        }
        let urgency = match target.comment {
            Some(_) => Priority::High,
            // A sweep waits for whoever asked.
            None if target.by.is_sweep() => Priority::Low,
            None => Priority::Normal,
        };
        let about = format!("{}#{}", target.place.repo, target.issue.number);
        let journal = self.journal(run).showing(cycle).about(about, urgency);
        journal.say(&format!("working on {}#{}", target.place.repo, target.issue.number)).await?;
        let identity = self.identity().await?;
        let publisher = self.publisher.under(&leased.lease);
        if let Some(pull) = publisher.find_pull(&repo, identity, &target.key()).await? {
            journal.say(&format!("#{} is open already", pull.number)).await?;
            self.prove_opened(target, pull.number).await?;
            shown(cycle.resume(&target.issue.url).and_then(|()| cycle.opened(&pull.url)));
            return Ok(Reply::PullOpened { number: pull.number, adopted: true, draft: pull.draft });
        }
        let info = repo.info().await?;
        let tree = match self.mirrors.branch(self.remote(&repo).await?, &info.default_branch, &leased.cancel).await {
            Err(workspace::Error::Empty { .. }) => {
                return Ok(Reply::Declined { why: "the repository has no commits yet".into() });
            }
            tree => tree?,
        };
        journal.say(&format!("{} fetched at {}", info.default_branch, tree.commit().short())).await?;
        let facts = self.contribute_facts(&repo, &info, target, &issue, tree.commit(), settings(&config)).await?;
        let scene = Contributing::new(tree.clone(), facts);
        let cx = self.context(Scene::Contribute(scene), &leased.cancel).await?;
        cycle.begin(&target.issue.url).map_err(pipeline::Error::Shelf)?;
        let outputs = pipeline::contribute::run(&cx, &journal).await?;
        let id = |plan: &Plan| change::of_issue(target.issue.number.0, &plan.title);
        let record = shown_change(Record::keep(cycle.folder(), id, &outputs, &tree, &cx.clock).await).flatten();
        if let Some(stopped) = &outputs.stopped {
            return Ok(declined(&cx.contributing().map_err(of_agent)?.facts.linked, stopped));
        }
        let changes: Document<CodeChanges> = outputs.get(Role::Coder)?;
        let changes = match changes.outcome {
            Ok(changes) if changes.commit_ready => changes,
            Ok(changes) => return cannot_solve(&outputs, changes.validation.errors),
            Err(faults) => return cannot_solve(&outputs, faults.into_iter().map(|fault| fault.message).collect()),
        };
        let Proposal { draft, commit } = outputs.get(Role::Pr)?;
        let changes = commit.unwrap_or(changes);
        let bounds = settings(&config);
        let gated = match gate::check(&cx.engine, &tree, &changes, &bounds).await.map_err(of_agent)? {
            Ok(gated) => gated,
            Err(reasons) => return cannot_solve(&outputs, reasons),
        };
        journal.say(&format!("{} changed, parsed and scanned again", count(gated.files.len(), "file"))).await?;
        let reviewing = Reviewing {
            engine: &cx.engine,
            clock: &cx.clock,
            repo: &target.place.repo.to_string(),
            config: &config,
            journal: &journal,
            cancel: &leased.cancel,
            record: record.as_ref(),
        };
        // Before the checks: what they tell of is what will be opened.
        let proposed = reviewing.of(&tree, Proposed { changes, gated, draft }).await?;
        let checking = Checking {
            bench: &self.bench,
            engine: &cx.engine,
            repository: &target.place.repository.to_string(),
            config: &config,
            journal: &journal,
            cancel: &leased.cancel,
        };
        let Checked { proposed, new, against, .. } = checking.of(&tree, proposed).await?;
        if !against.is_empty() {
            return cannot_solve(&outputs, against);
        }
        let Proposed { changes, gated, draft } = proposed;
        let push = PushIntent {
            key: target.key(),
            run,
            branch: draft.branch.clone(),
            expected: None,
            parent: tree.commit().clone(),
            message: draft.commit_message.clone(),
            at: leased.created_at,
        };
        let pushed = self.push_to_free_branch(&repo, &new, &gated.edits, push, &config, &info.default_branch, leased);
        let (pushed, branch) = pushed.await?;
        journal.say(&format!("{} pushed to {branch}", pushed.head.short())).await?;
        let intent = PullIntent {
            key: target.key(),
            run,
            issue: target.issue.number,
            issue_url: target.issue.url.clone(),
            asked_by: target.by.person().map(|by| by.login.clone()),
            base_branch: info.default_branch.clone(),
            closes_issue: true,
            head: pushed.head.clone(),
            // What nobody asked for is not ready before somebody has looked at it.
            draft: PullDraft { branch, draft: draft.draft || target.by.is_sweep(), ..draft },
        };
        let opened = publisher.pull(&repo, identity, &intent).await?;
        let proof = Document::completed(cx.timestamp(), pr_created(&intent, &opened, &changes));
        let proof = serde_json::to_value(proof).map_err(|source| pipeline::Error::Document { role: "pr", source })?;
        journal.shelve(PrCreated::FILE, &proof).await?;
        shown(cycle.opened(&opened.url));
        journal.say(&format!("#{} {}", opened.number, if opened.adopted { "adopted" } else { "opened" })).await?;
        Ok(Reply::PullOpened { number: opened.number, adopted: opened.adopted, draft: opened.draft })
    }

    /// A branch of that name which is somebody else's is left alone; the next free name is taken.
    #[expect(clippy::too_many_arguments, reason = "what a push needs")]
    async fn push_to_free_branch(
        &self,
        repo: &Repo,
        new: &Tree,
        edits: &[Edit],
        intent: PushIntent,
        config: &RepoConfig,
        base: &str,
        leased: &Leased,
    ) -> Result<(Pushed, String), Error> {
        const NAMES: usize = 5;
        let wanted = intent.branch.clone();
        for nth in 1..=NAMES {
            let branch = if nth == 1 { wanted.clone() } else { format!("{wanted}-{nth}") };
            let intent = PushIntent { branch: branch.clone(), ..intent.clone() };
            match self.push(repo, new, edits, &intent, config, base, leased).await {
                Err(Error::Publish(publish::Error::Taken { .. })) if nth < NAMES => {}
                pushed => return Ok((pushed?, branch)),
            }
        }
        Err(Error::Publish(publish::Error::Taken { branch: wanted }))
    }

    /// Pushes by git, or has GitHub make the commit where commits must be signed.
    #[expect(clippy::too_many_arguments, reason = "what a push needs")]
    pub(super) async fn push(
        &self,
        repo: &Repo,
        new: &Tree,
        edits: &[Edit],
        intent: &PushIntent,
        config: &RepoConfig,
        base: &str,
        leased: &Leased,
    ) -> Result<Pushed, Error> {
        let mode = match config.commits {
            Commits::Git => CommitMode::Git,
            Commits::Api => CommitMode::Api,
            Commits::Auto if repo.needs_signatures(&intent.branch).await? || repo.needs_signatures(base).await? => {
                CommitMode::Api
            }
            Commits::Auto => CommitMode::Git,
        };
        let app = self.identity().await?;
        let who = self.bot(app, repo.installation()).await?;
        let publisher = self.publisher.under(&leased.lease);
        let pushed = publisher.push(repo, app, who, &self.mirrors, new, edits, intent, mode, &leased.cancel).await;
        match pushed {
            // Classic branch protection does not show to everyone who asks; the refusal does.
            Err(publish::Error::SignatureRequired { .. }) if config.commits == Commits::Auto => {
                let mode = CommitMode::Api;
                Ok(publisher.push(repo, app, who, &self.mirrors, new, edits, intent, mode, &leased.cancel).await?)
            }
            other => Ok(other?),
        }
    }
}

pub(super) fn settings(config: &RepoConfig) -> ContributeSettings {
    ContributeSettings {
        max_files: config.max_files,
        max_lines: config.max_lines,
        protected: config.protected.clone(),
        ignore: config.ignore.clone(),
        disable: config.disable.clone(),
    }
}

/// The status is there to be looked at: what cannot be shown does not undo what was done.
pub(super) fn shown(written: Result<(), artifact::shelf::Error>) {
    if let Err(error) = written {
        tracing::warn!(error = %error, "the swarm's status could not be written");
    }
}

/// The same of the documents of a change.
pub(super) fn shown_change<T>(written: Result<T, Error>) -> Option<T> {
    written
        .inspect_err(|error| tracing::warn!(error = %error.chain(), "a change's documents could not be written"))
        .ok()
}

pub(super) fn of_agent(source: agent::Error) -> Error {
    Error::Pipeline(pipeline::Error::Agent { role: "gate", source })
}

fn summary(reply: &Reply) -> String {
    match reply {
        Reply::PullOpened { number, adopted: false, .. } => format!("opened #{number}"),
        Reply::PullOpened { number, adopted: true, .. } => format!("#{number} was open already"),
        Reply::AlreadyAddressed { number, .. } => format!("#{number} addresses it already"),
        Reply::Declined { why } => format!("declined: {why}"),
        _ => "nothing that could be done mechanically".to_owned(),
    }
}

fn declined(linked: &[crate::artifact::facts::LinkedPull], stopped: &pipeline::Stopped) -> Reply {
    let addressed = stopped.faults.iter().any(|fault| fault.code == "already-addressed");
    match linked.first().filter(|_| addressed) {
        Some(pull) => Reply::AlreadyAddressed { number: PullNumber(pull.number), author: pull.author.clone() },
        None => {
            let why: Vec<&str> = stopped.faults.iter().map(|fault| fault.message.as_str()).collect();
            Reply::Declined { why: why.join("; ") }
        }
    }
}

/// The one helpful comment.
fn cannot_solve(outputs: &Outputs, why: Vec<String>) -> Result<Reply, Error> {
    let Nothing { understood, plan, files, why, .. } = nothing(outputs, why)?;
    Ok(Reply::CannotSolve { understood, plan, files, why })
}

/// What analyst and explorer found out, although nothing came of it.
pub(super) fn nothing(outputs: &Outputs, why: Vec<String>) -> Result<Nothing, Error> {
    let analysis: Document<IssueAnalysis> = outputs.get(Role::Analyst)?;
    let map: Document<CodebaseMap> = outputs.get(Role::Explorer)?;
    let (understood, plan) = analysis.outcome.map_or_else(
        |_| (Vec::new(), Vec::new()),
        |it| {
            let mut understood = vec![it.analysis.summary];
            understood.extend(it.analysis.requirements);
            let said = |step: &String| understood.iter().any(|line| gist(line) == gist(step));
            let plan = it.implementation_plan.steps.into_iter().filter(|step| !said(step)).collect();
            understood = once(understood);
            (understood, plan)
        },
    );
    let files = map.outcome.map_or_else(
        |_| Vec::new(),
        |map| map.relevant_files.to_modify.into_iter().take(5).map(|file| file.path).collect(),
    );
    Ok(Nothing { understood, plan, files, why, given: Vec::new() })
}

/// Each sentence once, where it came first.
fn once(lines: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    lines.into_iter().filter(|line| seen.insert(gist(line))).collect()
}

/// A sentence without what its place in a list changes: capitals and the full stop.
fn gist(line: &str) -> String {
    line.trim().trim_end_matches('.').to_lowercase()
}

fn pr_created(intent: &PullIntent, opened: &Opened, changes: &CodeChanges) -> PrCreated {
    let draft = &intent.draft;
    PrCreated {
        pr: CreatedPull {
            url: opened.url.clone(),
            number: opened.number.0,
            title: draft.title.clone(),
            branch: draft.branch.clone(),
            base: intent.base_branch.clone(),
            state: if opened.draft { PullState::Draft } else { PullState::Open },
            draft: opened.draft,
        },
        commits: vec![CreatedCommit {
            sha: intent.head.to_string(),
            message: draft.commit_message.clone(),
            files_changed: changes.summary.total_files_changed,
        }],
        issue_linked: LinkedIssue {
            number: intent.issue.0,
            url: intent.issue_url.clone(),
            auto_close: intent.closes_issue,
        },
        ci_status: CiStatus { checks_started: false, initial_status: CiState::Pending },
        summary: PullSummary {
            files_in_pr: changes.summary.total_files_changed,
            additions: changes.summary.total_additions,
            deletions: changes.summary.total_deletions,
            commits: 1,
        },
    }
}
