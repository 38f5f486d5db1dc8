//! Other people's linters over a change, before its review.

use tokio_util::sync::CancellationToken;

use super::Error;
use super::bench::Bench;
use crate::agent::Reviewing;
use crate::agent::checks::checks;
use crate::agent::linters::{Asking, Wish};
use crate::agent::trial::Subject;
use crate::artifact::facts::Linted;
use crate::config::RepoConfig;
use crate::sandbox::{self, Trust};
use crate::stdx::text::count;

/// Asks those that the configuration wants. `repository` is what its dependencies are kept under. A stranger's change is read by none that runs its code.
pub(super) async fn linted(
    bench: &Bench,
    (repository, trust): (&str, Trust),
    scene: &Reviewing,
    config: &RepoConfig,
    cancel: &CancellationToken,
) -> Result<Linted, Error> {
    let (change, facts) = (&scene.change, &*scene.facts);
    let finds = |program: &str| sandbox::finds(bench.tools(), program);
    let wish = Wish::of(&config.linters, (change, facts), trust == Trust::Default, finds).await?;
    if wish.is_idle() {
        return Ok(wish.unasked(facts));
    }
    let (base, head) = (change.base_tree()?, change.head_tree());
    let checks = match wish.runs_code() {
        true => checks(&base, &config.commands).await.map_err(super::contribute::of_agent)?,
        false => Vec::new(),
    };
    let opened = bench.sandbox().await;
    let at = bench.around(&opened, None);
    let subject = Subject { repository, tree: &head, base: Some(&base), trust };
    Ok(wish.ask(Asking { change, facts, bench: at, subject, checks: &checks }, cancel).await?)
}

/// A line for the run.
pub(super) fn said(linted: &Linted) -> String {
    let asked = linted.runs.iter().filter(|run| run.not_run.is_none()).count();
    format!(
        "{} of {} asked: {} to tell",
        asked,
        count(linted.runs.len(), "linter"),
        count(linted.fresh.len(), "finding")
    )
}
