//! `scan`: whole files and folders.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{begins, page_size, page_text, yes};
use crate::app::local::{self, Scanning};
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::table::{Effect, Tool};
use crate::mcp::wire::Findings;

pub(in crate::mcp) struct Scan;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// Files and folders, below the roots; the first root where none is named.
    #[serde(default)]
    #[schemars(length(max = 100), inner(length(min = 1, max = 4096)))]
    paths: Vec<String>,
    /// Whether the repository's own `.github/octoswarm.yml` holds (what it ignores and disables is left out).
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

impl Tool for Scan {
    const NAME: &'static str = "scan";
    const TITLE: &'static str = "Scan files and folders";
    const ABOUT: &'static str = "Scans whole files and folders, changed or not, with the static rules: security holes, bugs, debt, secrets. No \
        model is asked and nothing is run. Use it to look at code as it lies on the disk; use review_diff for what a change did. \
        Answers findings by page, each with a fingerprint that apply_fix takes if it has a fix.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Findings;

    async fn run(input: Input, call: &Call) -> Result<Answer, Trouble> {
        let from = begins(input.cursor.as_deref())?;
        let named = if input.paths.is_empty() { vec![".".to_owned()] } else { input.paths };
        let paths = named.iter().map(|path| call.resolve(Some(path))).collect::<Result<Vec<_>, _>>()?;
        // As a review names them, where all are of one repository: then one finding has one name.
        let homes: Vec<_> =
            named.iter().map(|path| call.repository(Some(path)).ok().and_then(|(_, tree)| tree)).collect();
        let below = match homes.first().cloned().flatten() {
            Some(tree) if homes.iter().all(|home| home.as_ref() == Some(&tree)) => tree,
            _ => call.first_root()?.to_owned(),
        };
        let _turn = call.turn().await?;
        let asked = Scanning { paths, obey: input.obey_config, below: Some(below), watch: call.watch() };
        let checked = local::scan(asked).await?;
        let most = input.limit as usize;
        Answer::new(&Findings::page(&checked, from, most), page_text(&checked, from, most))
    }
}
