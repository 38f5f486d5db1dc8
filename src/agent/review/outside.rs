//! A reviewer that another program plays: what it is given (S0.9), and what its answer comes to (S0.10 to S0.12).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::checklist::checklist;
use crate::agent::{Context, Error, Reviewing, Role};
use crate::artifact::facts::{ReviewFacts, ReviewSettings};
use crate::artifact::server::{CodeFile, CriticalItem, DebtItem, ImprovementItem, ItemSeverity};
use crate::artifact::{AgentFindings, Fault, FilePlan, check};
use crate::domain::{Category, Finding, Fingerprint, LineKind, RuleId, Severity, Span};

/// Characters of a description, and of an advice, that are kept.
const LONGEST: usize = 2_000;

/// One item of an answer, whichever reviewer's it is.
struct Said {
    severity: ItemSeverity,
    description: String,
    file: String,
    line: u32,
    advice: String,
    reference: Option<String>,
}

/// The changed files with their new text, the lines that the change wrote in each, and the reviewer's checklist.
pub(super) async fn brief(cx: &Context, category: Category, plan: &FilePlan) -> Result<Value, Error> {
    let Reviewing { facts, pack, .. } = cx.reviewing()?;
    let read = pack.read(cx, plan).await?;
    let (mut files, mut changed) = (Vec::new(), Vec::new());
    for file in &facts.files {
        let Some(text) = read.get(&file.path).and_then(|file| file.text.as_ref()) else { continue };
        files.push(CodeFile { path: file.path.clone(), content: text.to_string() });
        let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
        let lines: Vec<u32> = lines.filter(|line| line.kind == LineKind::Added).filter_map(|line| line.new).collect();
        changed.push(json!({ "path": file.path, "lines": lines }));
    }
    let mut brief = json!({ "repo": facts.repo, "base": facts.base, "head": facts.head, "changed": changed });
    if category == Category::Documentation {
        brief["codebase"] = json!({ "files": files, "metadata": {} });
    } else {
        brief["files"] = json!(files);
        brief["checklist"] = json!(checklist(category));
    }
    Ok(brief)
}

/// The findings of an answer: items as S0 spells them, or findings in our own form. Items that stand on no line which the
/// change wrote are old news and left out, as with our own reviewers; items on a file or line that is not there are faults.
pub(super) async fn adopt(
    cx: &Context,
    category: Category,
    plan: &FilePlan,
    result: Value,
) -> Result<AgentFindings, Error> {
    let Reviewing { facts, pack, .. } = cx.reviewing()?;
    if result.get("findings").is_some() || category == Category::Documentation {
        let role = category.name();
        let said = AgentFindings::deserialize(result).map_err(|source| Error::Input { role, source })?;
        return Ok(wanted(facts, said));
    }
    let invalid = |faults: Vec<String>| Error::Invalid { role: category.name(), faults: faults.join("; ") };
    let faults: Vec<String> = check(category.name(), &result)
        .unwrap_or_default()
        .iter()
        .filter(|fault| fault.is_error())
        .map(Fault::to_string)
        .collect();
    if !faults.is_empty() {
        return Err(invalid(faults));
    }
    let said = read(category, result)?;
    let files = pack.read(cx, plan).await?;
    let (mut findings, mut faults) = (Vec::new(), Vec::new());
    let mut twins: HashMap<(String, String), usize> = HashMap::new();
    for (at, item) in said.into_iter().enumerate() {
        let text = files.get(&item.file).and_then(|file| file.text.as_ref());
        let line = text.and_then(|text| text.lines().nth(usize::try_from(item.line).ok()?.checked_sub(1)?));
        let (Some(line), Some(diff)) = (line, facts.files.iter().find(|file| file.path == item.file)) else {
            faults.push(format!("[{at}]: `{}`, line {}: not in the change", item.file, item.line));
            continue;
        };
        if diff.first_added(item.line, item.line).is_none() {
            continue;
        }
        let matched = format!("{line}\n{}", item.description);
        let nth = twins.entry((item.file.clone(), matched.clone())).or_default();
        findings.push(finding(category, &item, line, &matched, *nth));
        *nth += 1;
    }
    if !faults.is_empty() {
        return Err(invalid(faults));
    }
    Ok(wanted(facts, AgentFindings { category, findings }))
}

/// What the repository's configuration leaves of it: a rule that is switched off is silent, whoever found something by it.
fn wanted(facts: &ReviewFacts, mut said: AgentFindings) -> AgentFindings {
    let ReviewSettings { min_severity, disable, .. } = &facts.settings;
    said.findings.retain(|finding| finding.severity >= *min_severity && !disable.contains(&finding.rule.0));
    said
}

fn read(category: Category, result: Value) -> Result<Vec<Said>, Error> {
    let unread = |source| Error::Input { role: category.name(), source };
    macro_rules! said {
        ($item:ty, $severity:expr, $advice:ident) => {
            Vec::<$item>::deserialize(result)
                .map_err(unread)?
                .into_iter()
                .map(|item| Said {
                    severity: $severity(&item),
                    description: item.description,
                    file: item.file,
                    line: item.line,
                    advice: item.$advice,
                    reference: item.reference,
                })
                .collect()
        };
    }
    Ok(match category {
        Category::Critical => said!(CriticalItem, |_: &CriticalItem| ItemSeverity::High, remediation),
        Category::Debt => said!(DebtItem, |item: &DebtItem| item.severity, suggestion),
        Category::Improvement | Category::Documentation => {
            said!(ImprovementItem, |item: &ImprovementItem| item.severity, suggestion)
        }
    })
}

fn finding(category: Category, item: &Said, line: &str, matched: &str, nth: usize) -> Finding {
    let rule = rule(category);
    let end_column = u32::try_from(line.chars().count()).unwrap_or(u32::MAX).saturating_add(1);
    let first = u32::try_from(line.chars().take_while(|c| c.is_whitespace()).count()).unwrap_or_default() + 1;
    let start_column = if first < end_column { first } else { 1 };
    Finding {
        category,
        severity: match item.severity {
            ItemSeverity::Low => Severity::Low,
            ItemSeverity::Medium => Severity::Medium,
            ItemSeverity::High => Severity::High,
        },
        path: item.file.clone(),
        span: Span { start_line: item.line, start_column, end_line: item.line, end_column },
        message: crate::stdx::text::truncate_chars(item.description.trim(), LONGEST),
        why: crate::stdx::text::truncate_chars(item.advice.trim(), LONGEST),
        // A change that nobody proved is not offered as one to apply; it stands in the advice.
        fix: None,
        reference: item.reference.clone(),
        fingerprint: Fingerprint::new(&rule, &item.file, matched, nth),
        rule,
    }
}

/// The rule that items of a program outside stand under: it can be switched off like any other.
pub fn rule(category: Category) -> RuleId {
    RuleId(format!("{}-agent", category.name()))
}

/// The role of a category.
pub(super) fn role(category: Category) -> Role {
    match category {
        Category::Critical => Role::Critical,
        Category::Improvement => Role::Improvement,
        Category::Debt => Role::Debt,
        Category::Documentation => Role::Documentation,
    }
}
