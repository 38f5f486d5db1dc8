//! `review_diff` and `review_repository`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{begins, page_size, page_text, yes};
use crate::app::local::{self, Compared, Reviewing};
use crate::artifact::server::Aggregate;
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::table::{Effect, Tool};
use crate::mcp::wire::{Coverage, Findings};
use crate::stdx::text::count;

pub(in crate::mcp) struct ReviewDiff;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The repository, or a folder in it that the review is limited to; the first root where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// What the change is compared with: a branch, a tag or a commit; the default branch where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    base: Option<String>,
    /// The change's last commit; the work tree with all that is not committed where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1024))]
    head: Option<String>,
    /// Whether the `.github/octoswarm.yml` of the base side holds.
    #[serde(default = "yes")]
    obey_config: bool,
    /// Findings on a page.
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 500))]
    limit: u32,
    /// `next_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

/// The findings of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Reviewed {
    /// Merge base of the two sides: a commit's whole id.
    base: String,
    /// Commit of the new side.
    head: String,
    /// The new side is the work tree above that commit.
    work_tree: bool,
    #[serde(flatten)]
    findings: Findings,
}

impl Tool for ReviewDiff {
    const NAME: &'static str = "review_diff";
    const TITLE: &'static str = "Review a change";
    const ABOUT: &'static str = "Reviews the change between two revisions of a local git repository, or what is not committed yet, as a pull \
        request is reviewed: documentation, debt, improvement and critical agents look at the lines that the change wrote. Nothing is \
        changed. Use it before committing or opening a pull request. Answers findings by page.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Reviewed;

    async fn run(input: Input, call: &Call) -> Result<Answer, Trouble> {
        let from = begins(input.cursor.as_deref())?;
        let (path, _) = call.repository(input.path.as_deref())?;
        let _turn = call.turn().await?;
        let asked = Reviewing {
            base: input.base.as_deref(),
            head: input.head.as_deref(),
            obey: input.obey_config,
            watch: call.watch(),
            ..Reviewing::default()
        };
        let checked = local::review(&path, asked).await?;
        let Some(Compared { base, head, work_tree, since, nothing }) = &checked.compared else {
            return Err(Trouble::new("the review compared nothing"));
        };
        let most = input.limit as usize;
        let findings = Findings::page(&checked, from, most);
        let reviewed = Reviewed { base: base.clone(), head: head.clone(), work_tree: *work_tree, findings };
        let what = if *work_tree { "the work tree" } else { "the change" };
        let said = if *nothing {
            format!("There is no difference between {} and {what}.", crate::mcp::roots::shown(since))
        } else {
            format!("Reviewed {what} since {}. {}", crate::mcp::roots::shown(since), page_text(&checked, from, most))
        };
        Answer::new(&reviewed, said)
    }
}

pub(in crate::mcp) struct ReviewRepository;

/// A part of the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Part {
    Documentation,
    Debt,
    Improvement,
    Critical,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct WholeInput {
    /// The folder to review, a repository or not; the first root where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// The parts that are wanted in the answer. The documents of `documentation` are long; the others are what most ask for.
    #[serde(default = "without_documents")]
    #[schemars(length(min = 1, max = 4))]
    parts: BTreeSet<Part>,
    /// Items of each part in the answer, the first ones; `total` counts all.
    #[serde(default = "items_of_a_part")]
    #[schemars(range(min = 1, max = 5000))]
    limit: u32,
}

fn items_of_a_part() -> u32 {
    200
}

fn without_documents() -> BTreeSet<Part> {
    BTreeSet::from([Part::Debt, Part::Improvement, Part::Critical])
}

/// The review of a whole codebase. Parts that were not asked for are empty.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Whole {
    aggregate: Aggregate,
    total: Total,
    coverage: Coverage,
}

/// How many there are, in the answer or not.
#[derive(Debug, Serialize, JsonSchema)]
struct Total {
    critical: usize,
    improvement: usize,
    debt: usize,
    /// Documents that can be written.
    documentation: usize,
}

impl Tool for ReviewRepository {
    const NAME: &'static str = "review_repository";
    const TITLE: &'static str = "Review a whole codebase";
    const ABOUT: &'static str = "Reviews a whole folder, a repository or not, by the checklists of the documentation, debt, improvement and critical \
        agents, in that order: what a newcomer or an auditor would want to know. Nothing is changed. Use scan for single findings with \
        fixes. Answers one aggregate of the four parts.";
    const EFFECT: Effect = Effect::Reads;
    type Input = WholeInput;
    type Output = Whole;

    async fn run(input: WholeInput, call: &Call) -> Result<Answer, Trouble> {
        let path = call.resolve(input.path.as_deref())?;
        if !path.is_dir() {
            return Err(Trouble::new("the path is a file").hint("name its folder, or use scan for one file"));
        }
        let _turn = call.turn().await?;
        let local::Audited { mut aggregate, coverage } = local::audit(path, None, call.watch()).await?;
        let documents: Vec<String> = aggregate.documentation.keys().cloned().collect();
        let total = Total {
            critical: aggregate.critical.len(),
            improvement: aggregate.improvement.len(),
            debt: aggregate.debt.len(),
            documentation: documents.len(),
        };
        let most = input.limit as usize;
        aggregate.critical.truncate(most);
        aggregate.improvement.truncate(most);
        aggregate.debt.truncate(most);
        let wants = |part: Part| input.parts.contains(&part);
        if !wants(Part::Documentation) {
            aggregate.documentation.clear();
        }
        if !wants(Part::Debt) {
            aggregate.debt.clear();
        }
        if !wants(Part::Improvement) {
            aggregate.improvement.clear();
        }
        if !wants(Part::Critical) {
            aggregate.critical.clear();
        }
        let mut text = format!(
            "{}, {}, {} of debt; {} of {} read.\n",
            count(total.critical, "critical issue"),
            count(total.improvement, "improvement"),
            count(total.debt, "item"),
            coverage.read,
            count(coverage.total, "file"),
        );
        for item in aggregate.critical.iter().take(super::PAGE) {
            text.push_str(&format!(
                "\n- [critical] {}:{}: {}",
                crate::mcp::roots::shown(&item.file),
                item.line,
                crate::mcp::roots::shown(&item.description)
            ));
        }
        text.push_str(&format!("\n\nDocuments that can be written from it: {}.", documents.join(", ")));
        for (agent, error) in &aggregate.errors {
            text.push_str(&format!("\nThe {agent} agent failed: {}", error.message));
        }
        Answer::new(&Whole { aggregate, total, coverage: (&coverage).into() }, text)
    }
}
