//! What a run worked on, found again: the trees that its facts name, out of a server's mirror or out of the repository that a
//! local run was made in.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::{Error, contribute};
use super::archive::Problem;
use crate::agent::{Context, Contributing, Monitoring, Pack, Reviewing, Role, Scene, gate};
use crate::analysis::Engine;
use crate::artifact::swarm::CodeChanges;
use crate::artifact::{ContributeFacts, Document, MonitorFacts, Proposal, ReviewFacts};
use crate::domain::{Clock, RepositoryId, RunId};
use crate::pipeline::fix::FIX;
use crate::pipeline::monitor::MONITOR;
use crate::pipeline::review::REVIEW;
use crate::pipeline::{Beginning, Flow};
use crate::store::StepRow;
use crate::workspace::{self, Change, Tree};

/// What every flow works with, wherever it works.
pub(super) struct Ground {
    pub(super) run: RunId,
    pub(super) engine: Arc<Engine>,
    pub(super) clock: Clock,
    pub(super) cancel: CancellationToken,
}

impl Ground {
    pub(super) fn context(&self, scene: Scene) -> Context {
        let Self { engine, clock, cancel, .. } = self;
        Context { engine: engine.clone(), cancel: cancel.clone(), clock: clock.clone(), scene }
    }

    /// Out of the mirror.
    pub(super) async fn mirrored(
        &self,
        mirrors: &Path,
        repository: RepositoryId,
        flow: &Flow,
        facts: &Value,
    ) -> Result<Context, Error> {
        let scene = if flow.name == MONITOR.name {
            // Nothing of the repository is read.
            Scene::Monitor(Monitoring { facts: Arc::new(self.typed::<MonitorFacts>(facts)?) })
        } else if is_review(flow) {
            let facts: ReviewFacts = self.typed(facts)?;
            reviewing(workspace::recorded(mirrors, repository, &facts.base, &facts.head).await?, facts)
        } else {
            let facts: ContributeFacts = self.typed(facts)?;
            let tree = workspace::recorded_tree(mirrors, repository, &facts.base).await?;
            Scene::Contribute(Contributing::new(tree, facts))
        };
        Ok(self.context(scene))
    }

    /// Out of a repository on this machine: the work tree as it is, the commit below it, and for a review also what the run
    /// itself had made of `made`. Nothing, if the flow worked on none of these.
    pub(super) async fn local(
        &self,
        path: &Path,
        began: &Beginning,
        made: Option<&Change>,
    ) -> Result<Option<Context>, Error> {
        use workspace::local;
        if !is_review(began.flow) {
            let facts: ContributeFacts = self.typed(&began.facts)?;
            let commit = local::change(path, Some(facts.base.as_str()), Some(facts.base.as_str())).await;
            let trees =
                [local::tree(path).await, local::head_tree(path).await, commit.map(|change| change.head_tree())];
            let scene = |tree| Scene::Contribute(Contributing::new(tree, facts.clone()));
            return Ok(self.fitting(began, trees.into_iter().flatten().map(scene)));
        }
        let facts: ReviewFacts = self.typed(&began.facts)?;
        let (base, head) = (Some(facts.base.as_str()), Some(facts.head.as_str()));
        let found = [local::change(path, base, None).await.ok(), local::change(path, base, head).await.ok()];
        let changes = made.cloned().into_iter().chain(found.into_iter().flatten());
        Ok(self.fitting(began, changes.map(|change| reviewing(change, facts.clone()))))
    }

    fn fitting(&self, began: &Beginning, mut scenes: impl Iterator<Item = Scene>) -> Option<Context> {
        scenes.find_map(|scene| Some(self.context(scene)).filter(|cx| began.is_on(cx)))
    }

    /// The change that a flow made and that its review was about; nothing where the gate lets it pass no more.
    pub(super) async fn made(&self, cx: &Context, steps: &[StepRow]) -> Result<Option<Change>, Error> {
        let Scene::Contribute(Contributing { tree, facts, .. }) = &cx.scene else { return Ok(None) };
        let Some(changes) = changes(steps) else { return Ok(None) };
        let gated = gate::check(&self.engine, tree, &changes, &facts.settings).await.map_err(contribute::of_agent)?;
        match gated {
            Ok(gated) => Ok(Some(Tree::change(tree, &gated.edits).await?)),
            Err(_) => Ok(None),
        }
    }

    fn typed<T: DeserializeOwned>(&self, facts: &Value) -> Result<T, Problem> {
        T::deserialize(facts).map_err(|error| Problem::NotReplayable {
            run: self.run,
            why: format!("this version cannot read its facts: {error}"),
            hint: "replay it with the version that made it",
        })
    }
}

fn is_review(flow: &Flow) -> bool {
    [REVIEW.name, FIX.name].contains(&flow.name)
}

fn reviewing(change: Change, facts: ReviewFacts) -> Scene {
    Scene::Review(Reviewing { change, facts: Arc::new(facts), pack: Arc::new(Pack::default()) })
}

/// What the pr agent put together, or the coder's own.
fn changes(steps: &[StepRow]) -> Option<CodeChanges> {
    let of = |role: Role| steps.iter().find(|step| step.name == role.name())?.artifact.as_ref();
    let Proposal { commit, .. } = Proposal::deserialize(of(Role::Pr)?).ok()?;
    commit.or_else(|| Document::<CodeChanges>::deserialize(of(Role::Coder)?).ok()?.outcome.ok())
}
