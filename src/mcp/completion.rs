//! What an argument of a prompt or a template may be, as far as it was typed.

use rmcp::model::{CompletionInfo, Reference};

use super::call::Call;
use super::tools::runs;
use crate::app::local;
use crate::app::runs::RunFilter;
use crate::artifact::FORMS;

/// Runs among whose ids is looked.
const RUNS: usize = 1_000;

/// Values that begin with what was typed, or hold it; the former first.
pub(super) async fn complete(reference: &Reference, argument: &str, typed: &str, call: &Call) -> CompletionInfo {
    let known: Vec<String> = match (reference, argument) {
        (Reference::Resource(template), "id") if template.uri.starts_with("octoswarm://rules/") => {
            local::rules().unwrap_or_default().into_iter().map(|rule| rule.id.0).collect()
        }
        (Reference::Resource(template), "name") if template.uri.starts_with("octoswarm://schemas/") => {
            FORMS.iter().map(|form| form.name.to_owned()).collect()
        }
        (Reference::Resource(template), "id") if template.uri.starts_with("octoswarm://runs/") => {
            match runs::archive(call).await {
                Ok(archive) => {
                    let rows = archive.list(&RunFilter::default(), RUNS).await.unwrap_or_default();
                    rows.into_iter().map(|row| row.id.to_string()).collect()
                }
                Err(_) => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    let begins = known.iter().filter(|value| value.starts_with(typed));
    let holds = known.iter().filter(|value| !value.starts_with(typed) && value.contains(typed));
    let found: Vec<String> = begins.chain(holds).cloned().collect();
    let total = found.len();
    let values: Vec<String> = found.into_iter().take(CompletionInfo::MAX_VALUES).collect();
    let more = values.len() < total;
    CompletionInfo::with_pagination(values, u32::try_from(total).ok(), more).unwrap_or_default()
}
