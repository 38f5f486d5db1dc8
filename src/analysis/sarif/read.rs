//! Any producer's log as what its tool says of places in files.

use std::collections::BTreeSet;

use serde_json::Value;

use super::place::Places;
use super::wire::{Answer, Change, Component, ComponentReference, Log, Message, Reference, Region, Rule, Run};
use crate::analysis::told::{self, Edit, Place, Told, Unit, slug};
use crate::domain::{Category, Severity};
use crate::stdx::text::{binary_size, count, truncate_chars, visible_line};

/// Larger logs are not read.
pub const MAX_BYTES: usize = 64 << 20;
/// Of one run; GitHub takes as many.
pub const MAX_RESULTS: usize = 25_000;
/// Our own name as a producer.
const OURS: &str = "octoswarm";

/// What a log says.
#[derive(Debug, Default, PartialEq)]
pub struct Results {
    pub told: Vec<Told>,
    /// The tools that wrote it, in their order.
    pub tools: Vec<String>,
    /// Results that speak of no file below the root.
    pub elsewhere: usize,
    /// Results that somebody has suppressed.
    pub suppressed: usize,
    /// Results beyond the cap.
    pub over: usize,
    /// Tools that say of themselves that they failed, with their words.
    pub failed: Vec<(String, String)>,
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it has {}, more than the {} that are read", binary_size(*.0 as u64), binary_size(MAX_BYTES as u64))]
    TooLarge(usize),
    #[error("it is no SARIF log: {0}")]
    Json(#[source] serde_json::Error),
    #[error("it is SARIF {0}, and only 2.1.0 is read")]
    Version(String),
    #[error("it is no SARIF log: it has no `version`")]
    NoVersion,
    #[error("it is no SARIF log: it has no `runs`")]
    NoRuns,
}

/// Reads a log. `roots` are absolute paths that stand for the repository's root.
///
/// # Errors
/// What makes it unreadable, as a clause about the log.
pub fn read(text: &str, roots: &[String]) -> Result<Results, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLarge(text.len()));
    }
    let log: Log = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(Error::Json)?;
    match log.version.as_deref() {
        Some("2.1.0") => {}
        Some(other) => return Err(Error::Version(visible_line(&truncate_chars(other, 40)))),
        None => return Err(Error::NoVersion),
    }
    let mut results = Results::default();
    for run in log.runs.ok_or(Error::NoRuns)? {
        results.add(&run, roots);
    }
    Ok(results)
}

impl Results {
    /// What of the log is not told, a clause each.
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        if self.over > 0 {
            left_out.push(format!("{} beyond the {MAX_RESULTS} that are read", count(self.over, "result")));
        }
        if self.elsewhere > 0 {
            left_out.push(format!("{} about no file of the repository", count(self.elsewhere, "result")));
        }
        left_out
    }

    fn add(&mut self, run: &Run, roots: &[String]) {
        let driver = run.tool.as_ref().and_then(|tool| tool.driver.as_ref());
        let name = driver.and_then(|driver| driver.name.as_deref()).map_or_else(|| slug(""), slug);
        if !self.tools.contains(&name) {
            self.tools.push(name.clone());
        }
        let invocations = run.invocations.iter().flatten();
        if let Some(failed) = invocations.into_iter().find(|one| one.execution_successful == Some(false)) {
            let mut told = failed.tool_execution_notifications.iter().flatten();
            let error = told.find(|one| one.level.as_deref() == Some("error"));
            let words = error.and_then(|one| one.message.as_ref()?.text.as_deref());
            let words = words.map_or_else(|| "it says so without a reason".to_owned(), clause);
            self.failed.push((name.clone(), words));
        }
        let reading = Reading {
            name,
            driver,
            extensions: run.tool.as_ref().and_then(|tool| tool.extensions.as_deref()).unwrap_or_default(),
            places: Places {
                bases: run.original_uri_base_ids.as_ref(),
                artifacts: run.artifacts.as_deref().unwrap_or_default(),
                roots,
            },
            unit: match run.column_kind.as_deref() {
                Some("unicodeCodePoints") => Unit::Character,
                _ => Unit::Utf16,
            },
        };
        let all = run.results.as_deref().unwrap_or_default();
        self.over += all.len().saturating_sub(MAX_RESULTS);
        for answer in all.iter().take(MAX_RESULTS) {
            if !is_finding(answer) {
                continue;
            }
            if is_suppressed(answer) {
                self.suppressed += 1;
                continue;
            }
            match reading.told(answer) {
                Some(told) => self.told.push(told),
                None => self.elsewhere += 1,
            }
        }
    }
}

/// It fails, and is not older than what the producer compared with.
fn is_finding(answer: &Answer) -> bool {
    answer.kind.as_deref().is_none_or(|kind| kind == "fail")
        && answer.level.as_deref() != Some("none")
        && !matches!(answer.baseline_state.as_deref(), Some("unchanged" | "absent"))
}

/// Somebody has decided so, and nobody has taken that back.
fn is_suppressed(answer: &Answer) -> bool {
    let all = answer.suppressions.as_deref().unwrap_or_default();
    !all.is_empty() && all.iter().all(|one| one.status.as_deref().is_none_or(|status| status == "accepted"))
}

struct Reading<'a> {
    name: String,
    driver: Option<&'a Component>,
    extensions: &'a [Component],
    places: Places<'a>,
    unit: Unit,
}

impl<'a> Reading<'a> {
    fn told(&self, answer: &Answer) -> Option<Told> {
        let locations = answer.locations.as_deref().unwrap_or_default();
        let physical = locations.iter().find_map(|location| location.physical_location.as_ref())?;
        let path = self.places.path(physical.artifact_location.as_ref()?)?;
        let (component, rule) = self.rule(answer);
        let named = answer.rule_id.as_deref().or_else(|| answer.rule.as_ref()?.id.as_deref());
        let id = named.or_else(|| rule?.id.as_deref()).unwrap_or_default();
        // A part of a tool may be another tool: our own logs name those that we asked.
        let origin = component.and_then(|component| component.name.as_deref()).map(slug);
        let tool = match &origin {
            Some(origin) if id.strip_prefix(origin.as_str()).is_some_and(|rest| rest.starts_with('/')) => {
                origin.clone()
            }
            _ => self.name.clone(),
        };
        let id = id.strip_prefix(&format!("{tool}/")).unwrap_or(id);
        let facts = Facts { answer, rule };
        Some(Told {
            severity: facts.severity(),
            category: facts.category(),
            message: self.message(answer.message.as_ref(), rule, component).unwrap_or_else(|| facts.short()),
            about: rule.and_then(about).unwrap_or_default(),
            help: rule.and_then(|rule| rule.help_uri.clone()),
            cwes: facts.weaknesses(),
            region: physical.region.and_then(|region| self.region(region)),
            edits: self.edits(answer.fixes.as_deref().unwrap_or_default(), &path).unwrap_or_default(),
            path,
            rule: id.to_owned(),
            tool: if tool == OURS { String::new() } else { tool },
        })
    }

    /// The rule that a result is of, and the part of the tool that has it.
    fn rule(&self, answer: &Answer) -> (Option<&'a Component>, Option<&'a Rule>) {
        let reference = answer.rule.as_ref();
        let component = match reference.and_then(|reference| reference.tool_component.as_ref()) {
            Some(named) => self.component(named),
            None => self.driver,
        };
        let index = reference.and_then(|reference| reference.index).or(answer.rule_index);
        let by_index = |component: &'a Component| component.rules.as_deref()?.get(usize::try_from(index?).ok()?);
        let guid = reference.and_then(|reference| reference.guid.as_deref());
        let id = answer.rule_id.as_deref().or_else(|| reference?.id.as_deref());
        // `a/b` is a special case of rule `a`, where there is no rule of the whole name.
        let names: Vec<&str> = id.map(|id| ancestry(id).collect()).unwrap_or_default();
        let by_name = |component: &'a Component| {
            let rules = component.rules.as_deref()?;
            let same = |rule: &&Rule| guid.is_some() && rule.guid.as_deref() == guid;
            rules
                .iter()
                .find(same)
                .or_else(|| names.iter().find_map(|name| rules.iter().find(|rule| rule.id.as_deref() == Some(name))))
        };
        if let Some(component) = component
            && let Some(rule) = by_index(component).or_else(|| by_name(component))
        {
            return (Some(component), Some(rule));
        }
        let found = self.driver.into_iter().chain(self.extensions).find_map(|one| Some((one, by_name(one)?)));
        found.map_or((component, None), |(component, rule)| (Some(component), Some(rule)))
    }

    fn component(&self, named: &ComponentReference) -> Option<&'a Component> {
        let by_index = named.index.and_then(|index| self.extensions.get(usize::try_from(index).ok()?));
        let same = |one: &&'a Component| {
            (named.guid.is_some() && one.guid == named.guid) || (named.name.is_some() && one.name == named.name)
        };
        by_index.or_else(|| self.extensions.iter().chain(self.driver).find(same)).or(self.driver)
    }

    /// Its words, with what belongs into their places.
    fn message(&self, message: Option<&Message>, rule: Option<&Rule>, component: Option<&Component>) -> Option<String> {
        let message = message?;
        let by_id = || {
            let id = message.id.as_deref()?;
            let of_rule = rule.and_then(|rule| rule.message_strings.as_ref()?.get(id));
            of_rule.or_else(|| component?.global_message_strings.as_ref()?.get(id))?.text.as_deref()
        };
        let text = message.text.as_deref().or_else(by_id)?;
        let filled = filled(text, message.arguments.as_deref().unwrap_or_default());
        Some(unlinked(&filled)).filter(|text| !text.trim().is_empty())
    }

    fn region(&self, region: Region) -> Option<told::Region> {
        let number = |n: Option<i64>| n.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        Some(told::Region {
            start_line: number(region.start_line)?,
            start_column: number(region.start_column),
            end_line: number(region.end_line),
            end_column: number(region.end_column),
            unit: self.unit,
        })
    }

    /// The first change that is all in this file; nothing where a part of it is not to be understood.
    fn edits(&self, changes: &[Change], path: &str) -> Option<Vec<Edit>> {
        let own = |change: &&Change| {
            let files = change.artifact_changes.as_deref().unwrap_or_default();
            let here = |file: &super::wire::ArtifactChange| {
                file.artifact_location.as_ref().and_then(|location| self.places.path(location)).as_deref() == Some(path)
            };
            files.len() == 1 && files.iter().all(here)
        };
        let files = changes.iter().find(own)?.artifact_changes.as_deref()?;
        let replacements = files.first()?.replacements.as_deref()?;
        let edit = |one: &super::wire::Replacement| {
            Some(Edit {
                at: Place::Region(self.region(one.deleted_region?)?),
                text: one.inserted_content.as_ref().and_then(|content| content.text.clone()).unwrap_or_default(),
            })
        };
        replacements.iter().map(edit).collect()
    }
}

/// `a/b/c`, `a/b`, `a`.
fn ancestry(id: &str) -> impl Iterator<Item = &str> {
    std::iter::once(id).chain(id.rmatch_indices('/').map(|(at, _)| &id[..at]))
}

/// What the rule is about, shortest first.
fn about(rule: &Rule) -> Option<String> {
    let text = |message: &Option<Message>| message.as_ref().and_then(|message| message.text.clone());
    let text = text(&rule.short_description).or_else(|| text(&rule.full_description))?;
    // What follows the first paragraph is a page of its own.
    let first = text.trim().split("\n\n").next().unwrap_or_default().trim().to_owned();
    // A pattern of the message, not a sentence.
    (!first.is_empty() && !first.contains(['{', '}'])).then_some(first)
}

/// `{0}` is the first argument; `{{` and `}}` are braces.
fn filled(text: &str, arguments: &[String]) -> String {
    if arguments.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = ["{{", "}}"].iter().find_map(|pair| from.strip_prefix(pair)) {
            out.push_str(&from[..1]);
            rest = after;
            continue;
        }
        let number = from[1..].find('}').map(|end| &from[1..=end]);
        let argument = number.filter(|_| from.starts_with('{')).and_then(|n| arguments.get(n.parse::<usize>().ok()?));
        match (number, argument) {
            (Some(number), Some(argument)) => {
                out.push_str(argument);
                rest = &from[number.len() + 2..];
            }
            _ => {
                out.push_str(&from[..1]);
                rest = &from[1..];
            }
        }
    }
    out + rest
}

/// `[text](1)` leads to another place of the log: the text is what is said.
fn unlinked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let (before, from) = rest.split_at(at);
        let target = from[2..].find(')').map(|end| &from[2..2 + end]);
        let inner = target.filter(|target| !target.is_empty() && target.bytes().all(|b| b.is_ascii_digit()));
        match (before.rfind('['), inner) {
            (Some(open), Some(target)) => {
                out.push_str(&before[..open]);
                out.push_str(&before[open + 1..]);
                rest = &from[target.len() + 3..];
            }
            _ => {
                out.push_str(before);
                out.push_str("](");
                rest = &from[2..];
            }
        }
    }
    out + rest
}

/// A stranger's words within a sentence of ours.
fn clause(text: &str) -> String {
    truncate_chars(visible_line(text).trim().trim_end_matches('.'), 300)
}

/// A result with its rule.
struct Facts<'a> {
    answer: &'a Answer,
    rule: Option<&'a Rule>,
}

impl Facts<'_> {
    /// Of the result, else of its rule.
    fn property(&self, name: &str) -> Option<&Value> {
        let of_rule = || self.rule?.properties.as_ref()?.get(name);
        self.answer.properties.as_ref().and_then(|all| all.get(name)).or_else(of_rule)
    }

    fn word(&self, name: &str) -> Option<&str> {
        self.property(name)?.as_str()
    }

    /// From 0 to 10, as GitHub has it.
    fn security_severity(&self) -> Option<f64> {
        let value = self.property("security-severity")?;
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        number.filter(|number| number.is_finite())
    }

    fn severity(&self) -> Severity {
        if let Some(score) = self.security_severity() {
            return match score {
                score if score >= 7.0 => Severity::High,
                score if score >= 4.0 => Severity::Medium,
                _ => Severity::Low,
            };
        }
        let usual = self.rule.and_then(|rule| rule.default_configuration.as_ref()?.level.as_deref());
        let level = self.answer.level.as_deref().or(usual).or_else(|| self.word("problem.severity"));
        match level {
            Some("error") => Severity::High,
            Some("note" | "none" | "recommendation") => Severity::Low,
            _ => Severity::Medium,
        }
    }

    fn category(&self) -> Category {
        let ours = self.word("category");
        if let Some(category) = Category::ALL.into_iter().find(|category| Some(category.name()) == ours) {
            return category;
        }
        let tags = self.tags();
        let tagged = |words: &[&str]| tags.iter().any(|tag| words.contains(&tag.as_str()));
        if self.security_severity().is_some() || tagged(&["security", "vulnerability"]) {
            Category::Critical
        } else if tagged(&["documentation", "docs"]) {
            Category::Documentation
        } else {
            Category::Improvement
        }
    }

    fn tags(&self) -> Vec<String> {
        let properties = [self.answer.properties.as_ref(), self.rule.and_then(|rule| rule.properties.as_ref())];
        let lists = properties.into_iter().flatten().filter_map(|all| all.get("tags")?.as_array());
        lists.flatten().filter_map(Value::as_str).map(str::to_ascii_lowercase).collect()
    }

    /// From tags (`external/cwe/cwe-079`, `CWE-95: …`), a property `cwe`, taxa and relationships.
    fn weaknesses(&self) -> Vec<u32> {
        let mut found = BTreeSet::new();
        for tag in self.tags() {
            found.extend(weakness(&tag));
        }
        match self.property("cwe") {
            Some(Value::String(text)) => found.extend(weakness(text)),
            Some(Value::Array(all)) => found.extend(all.iter().filter_map(|one| weakness(one.as_str()?))),
            _ => {}
        }
        let related = self.rule.into_iter().flat_map(|rule| rule.relationships.iter().flatten());
        let taxa = related.filter_map(|one| one.target.as_ref()).chain(self.answer.taxa.iter().flatten());
        found.extend(taxa.filter_map(taxon));
        found.into_iter().collect()
    }

    /// The rule's own words, where the result has none.
    fn short(&self) -> String {
        self.rule.and_then(about).unwrap_or_default()
    }
}

/// Of `cwe-079`, wherever it stands in a word.
fn weakness(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let digits = &lower[lower.find("cwe-")? + 4..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// A taxon of the CWE: by its own name, or by its taxonomy's.
fn taxon(reference: &Reference) -> Option<u32> {
    let id = reference.id.as_deref()?;
    let of_cwe = reference
        .tool_component
        .as_ref()
        .and_then(|one| one.name.as_deref())
        .is_some_and(|name| name.eq_ignore_ascii_case("cwe"));
    weakness(id).or_else(|| id.parse().ok().filter(|_| of_cwe))
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
