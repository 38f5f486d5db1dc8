//! The debt, improvement and critical agents over whole files (S0.9 to S0.13).

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio_util::sync::CancellationToken;

use super::checklist::questions;
use super::{measure, parallel};
use crate::analysis::{Engine, links};
use crate::artifact::server::{
    AdviceItem, ChecklistInput, ChecklistItem, CodeFile, CriticalItem, CriticalSeverity, CriticalType, DebtItem,
    DebtType, ImprovementItem, ImprovementType, ItemSeverity,
};
use crate::artifact::{AgentError, ErrorCode};
use crate::domain::{Category, Finding, Severity};

/// What a reviewer is asked, wherever its files are held.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) files: &'a [CodeFile],
    pub(super) checklist: &'a [ChecklistItem],
}

impl<'a> From<&'a ChecklistInput> for Asked<'a> {
    fn from(input: &'a ChecklistInput) -> Self {
        Self { files: &input.files, checklist: &input.checklist }
    }
}

/// Files as the engine read them, once for all reviewers.
pub(super) struct Reading {
    /// By path, then in the order of the text.
    findings: Vec<Finding>,
}

impl Reading {
    /// What is left when it is told to stop is not read, and the reading of no use.
    pub(super) fn of(engine: &Engine, files: &[CodeFile], stop: &CancellationToken) -> Self {
        let paths: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let folders: HashSet<&str> =
            paths.iter().flat_map(|path| path.match_indices('/').filter_map(|(at, _)| path.get(..at))).collect();
        let exists =
            |path: &str| path.is_empty() || paths.contains(path) || folders.contains(path.trim_end_matches('/'));
        let found = parallel::map(files, |CodeFile { path, content }| {
            if stop.is_cancelled() {
                return Vec::new();
            }
            let mut found = engine.scan(path, content).findings;
            if crate::analysis::skip_reason(path, content.as_bytes()).is_none() {
                found.extend(measure::findings(path, content));
                if path.ends_with(".md") {
                    // Only pages: pictures and other files that are no text are not among what we are given.
                    let broken = links::broken_links(path, content, &exists);
                    found.extend(broken.into_iter().filter(|finding| finding.message.contains(".md` ")));
                }
            }
            found
        });
        let mut findings: Vec<Finding> = found.into_iter().flatten().collect();
        findings.sort_by(|a, b| (&a.path, a.span, &a.rule).cmp(&(&b.path, b.span, &b.rule)));
        Self { findings }
    }

    /// What answers the questions of a checklist.
    fn answers<'s>(&'s self, category: Category, input: Asked<'_>) -> impl Iterator<Item = &'s Finding> + use<'s> {
        let asked: HashSet<&str> = input.checklist.iter().map(|item| item.id.as_str()).collect();
        let answering: HashSet<&str> = questions(category)
            .iter()
            .filter(|question| asked.contains(question.id))
            .flat_map(|question| question.rules.iter().chain(question.measures))
            .copied()
            .collect();
        self.findings.iter().filter(move |finding| answering.contains(finding.rule.0.as_str()))
    }
}

/// # Errors
/// `ERR_001` with every fault of the input.
pub(super) fn debt(reading: &Reading, input: Asked<'_>) -> Result<Vec<DebtItem>, AgentError> {
    advised(reading, Category::Debt, DebtType::Debt, input)
}

/// # Errors
/// `ERR_001` with every fault of the input.
pub(super) fn improvement(reading: &Reading, input: Asked<'_>) -> Result<Vec<ImprovementItem>, AgentError> {
    advised(reading, Category::Improvement, ImprovementType::Improvement, input)
}

fn advised<T: Copy>(
    reading: &Reading,
    category: Category,
    kind: T,
    input: Asked<'_>,
) -> Result<Vec<AdviceItem<T>>, AgentError> {
    check(category, input)?;
    let item = |finding: &Finding| AdviceItem {
        kind,
        severity: severity(finding),
        description: finding.message.clone(),
        file: finding.path.clone(),
        line: finding.span.start_line,
        suggestion: advice(finding),
        reference: finding.reference.clone(),
    };
    Ok(reading.answers(category, input).map(item).collect())
}

/// # Errors
/// `ERR_001` with every fault of the input.
pub(super) fn critical(reading: &Reading, input: Asked<'_>) -> Result<Vec<CriticalItem>, AgentError> {
    check(Category::Critical, input)?;
    let item = |finding: &Finding| CriticalItem {
        kind: CriticalType::Critical,
        severity: CriticalSeverity::High,
        description: finding.message.clone(),
        file: finding.path.clone(),
        line: finding.span.start_line,
        remediation: advice(finding),
        reference: finding.reference.clone(),
    };
    Ok(reading.answers(Category::Critical, input).map(item).collect())
}

fn severity(finding: &Finding) -> ItemSeverity {
    match finding.severity {
        Severity::Low => ItemSeverity::Low,
        Severity::Medium => ItemSeverity::Medium,
        Severity::High => ItemSeverity::High,
    }
}

/// Why it matters and what to do; the new lines where the change is mechanical.
fn advice(finding: &Finding) -> String {
    let Some(fix) = &finding.fix else { return finding.why.clone() };
    let lines = match fix.end_line {
        end if end == fix.start_line => format!("line {end}"),
        end => format!("lines {} to {end}", fix.start_line),
    };
    match fix.replacement.as_str() {
        "" => format!("{} Remove {lines}.", finding.why),
        text => format!("{} Replace {lines} by:\n{text}", finding.why),
    }
}

/// Everything that is wrong with an input, in one error.
fn check(category: Category, input: Asked<'_>) -> Result<(), AgentError> {
    let mut faults = files(input.files);
    let prefix = |category: Category| match category {
        Category::Debt => "DEBT-",
        Category::Improvement => "IMPR-",
        Category::Critical => "CRIT-",
        Category::Documentation => "DOC-",
    };
    if input.checklist.is_empty() {
        faults.push("checklist: empty, so nothing would be looked for".to_owned());
    }
    let mut seen = BTreeSet::new();
    for (at, item) in input.checklist.iter().enumerate() {
        let id = item.id.as_str();
        if id.trim().is_empty() {
            faults.push(format!("checklist[{at}].id: empty"));
        } else if let Some(other) =
            Category::ALL.into_iter().find(|other| *other != category && id.starts_with(prefix(*other)))
        {
            faults.push(format!("checklist[{at}].id: `{id}` is a question of the {other} agent"));
        } else if !seen.insert(id) {
            faults.push(format!("checklist[{at}].id: `{id}` is asked twice"));
        }
    }
    invalid(category.name(), faults)
}

/// An error that names all faults, if there are any.
pub(super) fn invalid(agent: &str, faults: Vec<String>) -> Result<(), AgentError> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(ErrorCode::InvalidInput.error(agent, format!("the input is not valid: {}", faults.join("; "))))
}

/// What is wrong with the files of a codebase.
pub(super) fn files(files: &[CodeFile]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        let path = file.path.as_str();
        let shown = crate::stdx::text::visible_line(path);
        if path.trim().is_empty() {
            faults.push(format!("files[{at}].path: empty"));
        } else if path.len() > 4096 {
            faults.push(format!("files[{at}].path: longer than 4096 bytes"));
        } else if path.chars().any(char::is_control) {
            faults.push(format!("files[{at}].path: `{shown}` holds control characters"));
        } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            faults.push(format!("files[{at}].path: `{shown}` is no path within a codebase"));
        } else if let Some(first) = seen.insert(path, at) {
            faults.push(format!("files[{at}].path: `{shown}` is files[{first}] as well"));
        }
    }
    faults
}

/// What is wrong with items that are said of files; nothing when they may be handed out.
pub(super) fn faults<'a>(
    files: &[CodeFile],
    items: impl Iterator<Item = (&'a str, u32, &'a str, &'a str)>,
) -> Vec<String> {
    let lines: HashMap<&str, usize> =
        files.iter().map(|file| (file.path.as_str(), file.content.lines().count().max(1))).collect();
    let mut faults = Vec::new();
    for (file, line, description, advice) in items {
        match lines.get(file) {
            None => faults.push(format!("{file}: not a file of the codebase")),
            Some(count) if line == 0 || usize::try_from(line).is_ok_and(|line| line > *count) => {
                faults.push(format!("{file}:{line}: no line of the file"));
            }
            Some(_) if description.trim().is_empty() || advice.trim().is_empty() => {
                faults.push(format!("{file}:{line}: says nothing"));
            }
            Some(_) => {}
        }
    }
    faults
}
