//! What is wrong with an output beyond what its agent sees: whether it speaks of files that are there (cross_reference), and
//! of the head that was asked about (timing_check).

use std::collections::HashSet;

use serde_json::Value;

use crate::agent::{self, Context, DynAgent, Role, Scene};
use crate::artifact::exchange::{AgentInput, AgentOutput, IssueSeverity, ValidationIssue, ValidationResult};
use crate::workspace::Tree;

/// So many paths are looked up; a document with more of them is cut by its own form or gate.
const MOST: usize = 500;

/// The agent's own validation, and the cross-checks.
///
/// # Errors
/// The trees cannot be read.
pub(super) async fn judge(
    cx: &Context,
    agent: &dyn DynAgent,
    input: &AgentInput,
    output: &AgentOutput,
) -> Result<ValidationResult, agent::Error> {
    let mut verdict = agent.validate(cx, output).await;
    if verdict.is_valid {
        let missing = missing(cx, agent.role(), input, output).await?;
        verdict.is_valid = missing.iter().all(|issue| issue.severity != IssueSeverity::Error);
        verdict
            .warnings
            .extend(missing.iter().filter(|i| i.severity == IssueSeverity::Warning).map(|i| i.message.clone()));
        verdict.quality_score =
            verdict.quality_score.saturating_sub(u8::try_from(missing.len() * 5).unwrap_or(u8::MAX));
        verdict.issues.extend(missing);
    }
    Ok(verdict)
}

/// Files that a document changes, or names as there, and that are not.
async fn missing(
    cx: &Context,
    role: Role,
    input: &AgentInput,
    output: &AgentOutput,
) -> Result<Vec<ValidationIssue>, agent::Error> {
    let document = role.document(&output.result);
    let (list, path, severity) = match role {
        Role::Coder => ("/changes", "file", IssueSeverity::Error),
        Role::Tester => ("/test_files", "path", IssueSeverity::Error),
        Role::Docs => ("/doc_files", "path", IssueSeverity::Error),
        Role::Analyst => ("/analysis/files_to_modify", "path", IssueSeverity::Warning),
        _ => return Ok(Vec::new()),
    };
    let tree = match &cx.scene {
        Scene::Contribute(scene) => scene.tree.clone(),
        Scene::Review(scene) => scene.change.head_tree(),
    };
    let made = made_before(input);
    let mut issues = Vec::new();
    let entries = document.as_deref().and_then(|document| document.pointer(list)).and_then(Value::as_array);
    for (nth, entry) in entries.into_iter().flatten().take(MOST).enumerate() {
        let word = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let (named, action) = (word(path), format!("{}{}", word("action"), word("change_type")));
        let wants_it = ["modified", "deleted", "edit", "delete"].contains(&action.as_str());
        if wants_it && !made.contains(named) && !is_there(&tree, named).await? {
            issues.push(ValidationIssue {
                severity,
                message: format!("`{named}` is to be {action}, and no such file is there"),
                field: Some(format!("{}[{nth}].{path}", list.trim_start_matches('/').replace('/', "."))),
                suggestion: None,
            });
        }
    }
    Ok(issues)
}

/// What the coder made before: tests and documentation build on its change.
fn made_before(input: &AgentInput) -> HashSet<&str> {
    let changes = input.history.iter().filter_map(|output| output.result.get("changes")?.as_array()).flatten();
    let created = changes.filter(|change| change.get("action").and_then(Value::as_str) == Some("created"));
    created.filter_map(|change| change.get("file")?.as_str()).collect()
}

async fn is_there(tree: &Tree, path: &str) -> Result<bool, agent::Error> {
    Ok(tree.entry(path).await?.is_some())
}
