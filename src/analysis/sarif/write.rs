//! Findings as a SARIF log.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::analysis::RuleInfo;
use crate::domain::{Coverage, Finding, Fix, Outcome, Severity};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One run as a SARIF log. Only rules that found something are listed, so that a log stays small; `version` is ours. A log
/// without results says whether anything could be read at all.
pub fn log(findings: &[Finding], coverage: &Coverage, outcome: &Outcome, rules: &[RuleInfo], version: &str) -> Value {
    let used: BTreeSet<&str> = findings.iter().map(|finding| finding.rule.0.as_str()).collect();
    let listed: Vec<&RuleInfo> = rules.iter().filter(|rule| used.contains(rule.id.0.as_str())).collect();
    let index = |id: &str| listed.iter().position(|rule| rule.id.0 == id);
    let origins = origins(findings);
    let weaknesses: BTreeSet<&str> = listed.iter().filter_map(|rule| weakness(rule.reference.as_deref())).collect();
    let mut run = json!({
        "tool": { "driver": {
            "name": "octoswarm",
            "semanticVersion": version,
            "rules": listed.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
        }},
        "invocations": [{
            "executionSuccessful": !matches!(outcome, Outcome::CouldNotReview { .. }) && !coverage.is_incomplete(),
            "toolExecutionNotifications": notifications(coverage, outcome),
        }],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": { "ROOT": { "description": { "text": "The root of the repository." } } },
        "results": findings.iter().map(|finding| {
            let mut result = result(finding, index(&finding.rule.0));
            if let Some(reference) = reference(&origins, finding) {
                result["rule"] = reference;
            }
            result
        }).collect::<Vec<_>>(),
    });
    if !origins.is_empty() {
        run["tool"]["extensions"] = origins.iter().map(|(tool, rules)| extension(tool, rules)).collect();
    }
    if !weaknesses.is_empty() {
        run["tool"]["driver"]["supportedTaxonomies"] = json!([{ "name": "CWE", "index": 0 }]);
        run["taxonomies"] = json!([{
            "name": "CWE",
            "organization": "MITRE",
            "informationUri": "https://cwe.mitre.org/",
            "shortDescription": { "text": "Common Weakness Enumeration" },
            "taxa": weaknesses.iter().map(|id| json!({ "id": id, "helpUri": cwe_address(id) })).collect::<Vec<_>>(),
        }]);
    }
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] })
}

/// Tools that we asked, each with a finding of each of its rules, in the order of names.
fn origins(findings: &[Finding]) -> Vec<(&str, Vec<&Finding>)> {
    let mut origins: BTreeMap<&str, BTreeMap<&str, &Finding>> = BTreeMap::new();
    for finding in findings {
        if let Some((tool, _)) = finding.rule.0.split_once('/') {
            origins.entry(tool).or_default().entry(&finding.rule.0).or_insert(finding);
        }
    }
    origins.into_iter().map(|(tool, rules)| (tool, rules.into_values().collect())).collect()
}

/// A tool's part of the log: its rules, as far as it says what they are about.
fn extension(tool: &str, rules: &[&Finding]) -> Value {
    let descriptor = |finding: &&Finding| {
        let id = finding.rule.0.as_str();
        let mut descriptor = json!({
            "id": id,
            "name": id.split_once('/').map_or(id, |(_, rule)| rule),
            "shortDescription": { "text": finding.why },
            "defaultConfiguration": { "level": level(finding.severity) },
            "properties": {
                "tags": [finding.category.name(), "linter"],
                "problem.severity": problem_severity(finding.severity),
            },
        });
        if let Some(address) = finding.reference.as_deref().filter(|reference| reference.starts_with("https://")) {
            descriptor["helpUri"] = json!(address);
        }
        descriptor
    };
    json!({ "name": tool, "rules": rules.iter().map(descriptor).collect::<Vec<_>>() })
}

/// Where a finding's rule stands, if it is another tool's.
fn reference(origins: &[(&str, Vec<&Finding>)], finding: &Finding) -> Option<Value> {
    let (tool, _) = finding.rule.0.split_once('/')?;
    let at = origins.iter().position(|(name, _)| *name == tool)?;
    let index = origins.get(at)?.1.iter().position(|one| one.rule == finding.rule)?;
    Some(json!({ "id": finding.rule.0, "index": index, "toolComponent": { "name": tool, "index": at } }))
}

fn descriptor(rule: &RuleInfo) -> Value {
    let mut tags = vec![rule.category.name().to_owned()];
    let mut properties = json!({ "precision": "high", "problem.severity": problem_severity(rule.severity) });
    let cwe = weakness(rule.reference.as_deref());
    if let Some(id) = cwe {
        tags.push("security".to_owned());
        tags.push(format!("external/cwe/cwe-{id}"));
        // GitHub sorts security results by this number.
        properties["security-severity"] = json!(security_severity(rule.severity));
    }
    properties["tags"] = json!(tags);
    let reference = rule.reference.as_deref().map(|r| weakness(Some(r)).map_or_else(|| r.to_owned(), cwe_address));
    let source = reference.as_deref().map(|r| format!("\n\nSee <{r}>.")).unwrap_or_default();
    let mut descriptor = json!({
        "id": rule.id.0,
        "name": rule.id.0,
        "shortDescription": { "text": rule.message },
        "fullDescription": { "text": format!("{} {}", rule.message, rule.why) },
        "help": {
            "text": rule.why,
            "markdown": format!("**{}**\n\n{}{source}\n\nTo allow one place, write `octoswarm-ignore: {}` in a comment on that line or the line above.", rule.message, rule.why, rule.id.0),
        },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": properties,
    });
    if let Some(reference) = reference.filter(|r| r.starts_with("https://")) {
        descriptor["helpUri"] = json!(reference);
    }
    if let Some(id) = cwe {
        descriptor["relationships"] =
            json!([{ "target": { "id": id, "toolComponent": { "name": "CWE", "index": 0 } }, "kinds": ["superset"] }]);
    }
    descriptor
}

/// Why the run failed, every reviewer and linter whose part is missing, and every file that was not read, or not wholly.
fn notifications(coverage: &Coverage, outcome: &Outcome) -> Vec<Value> {
    let failed = match outcome {
        Outcome::CouldNotReview { reason } => Some(json!({ "level": "error", "message": { "text": reason } })),
        Outcome::NothingToReview { reason } => Some(json!({ "level": "note", "message": { "text": reason } })),
        Outcome::Clean | Outcome::Findings { .. } => None,
    };
    let about = |level: &str, path: &str, text: String| {
        let mut notification = json!({ "level": level, "message": { "text": text } });
        // Beyond the limits of a change, there is no path but a word in brackets.
        if !path.starts_with('(') {
            notification["locations"] =
                json!([{ "physicalLocation": { "artifactLocation": { "uri": uri(path), "uriBaseId": "ROOT" } } }]);
        }
        notification
    };
    let absent = coverage.absent.iter().zip(coverage.unreviewed()).map(|(reviewer, clause)| {
        let level = if reviewer.left_out { "note" } else { "error" };
        json!({ "level": level, "message": { "text": clause } })
    });
    let unread = coverage.not_read.iter().map(|file| {
        let level = if file.left_out { "note" } else { "warning" };
        about(level, &file.path, format!("{} was not read: {}", file.path, file.reason))
    });
    let kinds: Vec<_> = coverage.text_only_kinds().iter().map(|(kind, files)| format!("{files} ({kind})")).collect();
    let text_only = (!kinds.is_empty()).then(|| {
        let text = format!("Read for secrets and merge markers only: {}.", kinds.join(", "));
        json!({ "level": "note", "message": { "text": text } })
    });
    let unlinted = coverage.linters.iter().filter_map(|linter| {
        let why = linter.not_run.as_deref()?;
        Some(json!({ "level": "warning", "message": { "text": format!("{} was not asked: {why}", linter.name) } }))
    });
    let broken = coverage
        .syntax_errors
        .iter()
        .map(|path| about("warning", path, format!("{path} has syntax errors; findings may be missing there")));
    failed.into_iter().chain(absent).chain(unlinted).chain(unread).chain(text_only).chain(broken).collect()
}

fn result(finding: &Finding, rule_index: Option<usize>) -> Value {
    let span = finding.span;
    let location = json!({ "uri": uri(&finding.path), "uriBaseId": "ROOT" });
    let mut result = json!({
        "ruleId": finding.rule.0,
        "level": level(finding.severity),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": location,
            "region": {
                "startLine": span.start_line,
                "startColumn": span.start_column,
                "endLine": span.end_line,
                "endColumn": span.end_column,
            },
        }}],
        "partialFingerprints": { "octoswarm/v1": finding.fingerprint.as_str() },
        "properties": { "category": finding.category.name() },
    });
    if let Some(index) = rule_index {
        result["ruleIndex"] = json!(index);
    }
    if let Some(fix) = &finding.fix {
        result["fixes"] = json!([{
            "description": { "text": finding.message },
            "artifactChanges": [{ "artifactLocation": location, "replacements": [replacement(fix)] }],
        }]);
    }
    result
}

/// A region without columns is whole lines without the last line ending; deleting takes the ending along.
fn replacement(fix: &Fix) -> Value {
    if fix.replacement.is_empty() {
        let region =
            json!({ "startLine": fix.start_line, "startColumn": 1, "endLine": fix.end_line + 1, "endColumn": 1 });
        return json!({ "deletedRegion": region });
    }
    json!({
        "deletedRegion": { "startLine": fix.start_line, "endLine": fix.end_line },
        "insertedContent": { "text": fix.replacement },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}

fn problem_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "recommendation",
    }
}

fn security_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "3.0",
    }
}

/// The number of a `CWE-n` reference.
fn weakness(reference: Option<&str>) -> Option<&str> {
    reference?.strip_prefix("CWE-").filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
}

fn cwe_address(id: &str) -> String {
    format!("https://cwe.mitre.org/data/definitions/{id}.html")
}

/// A path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Category, Fingerprint, RuleId, Span};

    #[test]
    fn severities_paths_and_deletions_have_their_sarif_form() {
        let rule = RuleId("debugger-left".into());
        let finding = Finding {
            category: Category::Debt,
            severity: Severity::High,
            rule: rule.clone(),
            path: "src/ä b.js".into(),
            span: Span { start_line: 3, start_column: 2, end_line: 3, end_column: 11 },
            message: "m".into(),
            why: "w".into(),
            fix: Some(Fix { start_line: 3, end_line: 3, replacement: String::new() }),
            reference: Some("CWE-489".into()),
            fingerprint: Fingerprint::new(&rule, "src/ä b.js", "debugger;", 0),
        };
        let info = RuleInfo {
            id: rule,
            category: Category::Debt,
            severity: Severity::High,
            languages: Vec::new(),
            message: "m".into(),
            why: "w".into(),
            reference: Some("CWE-489".into()),
            has_fix: true,
        };
        let log = log(&[finding], &Coverage::default(), &Outcome::Findings { count: 1 }, &[info], "0.1.0");
        let run = &log["runs"][0];
        let result = &run["results"][0];
        assert_eq!(result["level"], "error");
        assert_eq!(result["ruleIndex"], 0);
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "src/%C3%A4%20b.js");
        let replacement = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
        assert_eq!(replacement["deletedRegion"]["endLine"], 4);
        assert_eq!(run["taxonomies"][0]["taxa"][0]["id"], "489");
        assert_eq!(run["tool"]["driver"]["rules"][0]["helpUri"], "https://cwe.mitre.org/data/definitions/489.html");
    }
}
