//! `apply_fix`: proven fixes into the work tree.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::yes;
use crate::app::local::{self, Fixes, Mended, Mending};
use crate::domain::{Fingerprint, RuleId};
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::table::{Effect, Tool};
use crate::stdx::text::count;

pub(in crate::mcp) struct ApplyFix;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// The repository, or a path in it; the first root where none is named.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4096))]
    path: Option<String>,
    /// Findings whose fixes are wanted, as scan and review_diff tell them.
    #[serde(default)]
    #[schemars(length(max = 1000), inner(regex(pattern = r"^[0-9a-f]{24}$")))]
    fingerprints: Vec<String>,
    /// Rules all of whose findings are to be fixed.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(min = 1, max = 200)))]
    rules: Vec<String>,
    /// Only the diff is wanted: nothing is written.
    #[serde(default)]
    dry_run: bool,
    /// Whether the repository's own `.github/octoswarm.yml` holds.
    #[serde(default = "yes")]
    obey_config: bool,
}

/// What was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Applied {
    /// The files were written. False for a dry run, and where there was nothing to do.
    written: bool,
    /// Unified diff of all files.
    diff: String,
    files: Vec<File>,
    /// Findings whose fix is part of it.
    fixed: Vec<FixedFinding>,
    /// What was asked for and not done, with the reason.
    left: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct File {
    path: String,
    added: u64,
    removed: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FixedFinding {
    fingerprint: String,
    rule: String,
    path: String,
    line: u32,
}

impl Tool for ApplyFix {
    const NAME: &'static str = "apply_fix";
    const TITLE: &'static str = "Apply proven fixes";
    const ABOUT: &'static str = "Applies the mechanical fixes of findings to the files of a git work tree: name findings by their fingerprints, or \
        rules. Each fix is proven again first (the file still parses, the finding goes, no other comes), all files are written or none, and \
        nothing is committed. With dry_run the diff is only shown. Answers the diff, what was fixed, and what was left with the reason.";
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;
    type Output = Applied;

    async fn run(input: Input, call: &Call) -> Result<Answer, Trouble> {
        let fixes = match (input.fingerprints.is_empty(), input.rules.is_empty()) {
            (true, true) => {
                return Err(Trouble::new("nothing was named: give `fingerprints` or `rules`")
                    .hint("scan and review_diff tell the fingerprint of each finding"));
            }
            (false, false) => return Err(Trouble::new("give `fingerprints` or `rules`, not both")),
            (false, true) => {
                Fixes::Findings(input.fingerprints.iter().filter_map(|text| Fingerprint::parse(text)).collect())
            }
            (true, false) => {
                let known: BTreeSet<String> = local::rules()?.into_iter().map(|rule| rule.id.0).collect();
                if let Some(unknown) = input.rules.iter().find(|rule| !known.contains(*rule)) {
                    // Says what was probably meant.
                    super::explain_rule::rule(unknown)?;
                }
                Fixes::Rules(input.rules.into_iter().map(RuleId).collect())
            }
        };
        let (path, _) = call.repository(input.path.as_deref())?;
        let _turn = call.turn().await?;
        let paths = vec![path.clone()];
        let asked = Mending { fixes, paths, write: !input.dry_run, obey: input.obey_config, watch: call.watch() };
        let Mended { diff, files, repaired, left, warnings } = local::mend(&path, asked).await?;
        let applied = Applied {
            written: !input.dry_run && !files.is_empty(),
            files: files
                .iter()
                .map(|file| File { path: file.path.clone(), added: file.added, removed: file.removed })
                .collect(),
            fixed: repaired
                .into_iter()
                .map(|done| FixedFinding {
                    fingerprint: done.fingerprint.as_str().to_owned(),
                    rule: done.rule.0,
                    path: done.path,
                    line: done.line,
                })
                .collect(),
            diff,
            left,
            warnings,
        };
        let mut text = match (applied.files.is_empty(), input.dry_run) {
            (true, _) => "Nothing was changed.\n".to_owned(),
            (false, true) => format!(
                "{} would change {} (dry run, nothing was written):\n\n",
                count(applied.fixed.len(), "fix"),
                count(applied.files.len(), "file")
            ),
            (false, false) => {
                format!("{} applied to {}:\n\n", count(applied.fixed.len(), "fix"), count(applied.files.len(), "file"))
            }
        };
        text.push_str(&applied.diff);
        for line in &applied.left {
            text.push_str(&format!("\nNot done: {}", crate::mcp::roots::shown(line)));
        }
        Answer::new(&applied, text)
    }
}
