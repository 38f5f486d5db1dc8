//! What the issue asks for, and how it could be done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::brief::{Brief, Section};
use super::library::Reading;
use super::query::{NAMED, Query};
use super::survey::{self, Class, Survey};
use super::{customs, demand, triage, words};
use crate::agent::mechanic::{self, Ask, Understanding};
use crate::agent::{Agent, Context, Contributing, Error, Role, gate};
use crate::artifact::swarm::{
    Analysis, ChangeType, CurrentIssue, Difficulty, FileToModify, ImplementationPlan, IssueAnalysis, Kind, Risk,
};
use crate::artifact::{ContributeFacts, Document};

const MAX_FILES: usize = 10;
const MAX_STEPS: usize = 12;
const MAX_NOTES: usize = 20;
const MAX_TEXT: usize = 400;
/// A named symbol that is defined in more files than this leads nowhere.
const MAX_DEFINERS: usize = 2;

pub struct Analyst;

#[derive(Debug, Deserialize)]
pub struct AnalystInput {
    facts: ContributeFacts,
    scout: Document<CurrentIssue>,
}

impl Agent for Analyst {
    const VERSION: &'static str = "1";
    type Input = AnalystInput;
    type Output = Document<IssueAnalysis>;

    fn role(&self) -> Role {
        Role::Analyst
    }

    async fn run(&self, cx: &Context, input: AnalystInput) -> Result<Document<IssueAnalysis>, Error> {
        let Ok(issue) = input.scout.outcome else {
            return Ok(Document::failed(cx.timestamp(), "nothing-to-analyse", "there is no issue to analyse"));
        };
        let Contributing { tree, library, .. } = cx.contributing()?;
        let issue = issue.selected_issue;
        let brief = Brief::read(&issue.title, &issue.body);
        let reading = library.read(cx, &brief).await?;
        let survey = &reading.survey;
        let context = customs::context(tree, survey).await?;
        let files = files(&brief, reading);
        let understood = mechanic::understand(&brief.title, &brief.body);
        let requirements = requirements(&brief, &understood);
        let complexity = triage::difficulty(&issue.labels, issue.kind, &brief, Some(files.len()));
        let breaking = is_breaking(&brief, &issue.labels);
        let steps = steps(&brief, issue.kind, &files, &requirements, survey);
        let warnings = warnings(&brief, &files, &input.facts, breaking)?;
        let analysis = Analysis {
            summary: summary(&brief),
            kind: issue.kind,
            complexity,
            estimated_loc_change: estimated_lines(complexity, requirements.len(), files.len()),
            breaking_change: breaking,
            tests_required: needs_tests(issue.kind, &brief, &files),
            docs_update_required: needs_docs(issue.kind, &brief),
            files_to_modify: files,
            requirements,
        };
        let risk_level = risk(&analysis, &brief);
        let blockers = blockers(&brief, &analysis, &understood);
        Ok(Document::completed(
            cx.timestamp(),
            IssueAnalysis {
                issue_url: issue.url,
                analysis,
                repository_context: context,
                implementation_plan: ImplementationPlan {
                    steps,
                    estimated_time: match complexity {
                        Difficulty::Trivial => "a quarter of an hour",
                        Difficulty::Easy => "an hour",
                        Difficulty::Medium => "half a day",
                    }
                    .to_owned(),
                    risk_level,
                },
                warnings,
                blockers,
            },
        ))
    }

    fn faults(&self, _cx: &Context, document: &Document<IssueAnalysis>) -> Vec<String> {
        let Ok(IssueAnalysis { analysis, .. }) = &document.outcome else { return Vec::new() };
        let mut seen = BTreeSet::new();
        let files = &analysis.files_to_modify;
        let outside = files.iter().filter(|file| !survey::is_inside(&file.path));
        let twice = files.iter().filter(|file| !seen.insert(&file.path));
        outside
            .map(|file| format!("files_to_modify: `{}` is no path of the tree", words::line(&file.path, 200)))
            .chain(twice.map(|file| format!("files_to_modify: `{}` twice", words::line(&file.path, 200))))
            .collect()
    }

    fn line(&self, document: &Document<IssueAnalysis>) -> Option<String> {
        Some(match &document.outcome {
            Ok(IssueAnalysis { analysis, blockers, .. }) => {
                let asked = crate::stdx::text::count(analysis.requirements.len(), "requirement");
                match blockers.len() {
                    0 => asked,
                    n => format!("{asked}, {}", crate::stdx::text::count(n, "open question")),
                }
            }
            Err(faults) => faults.first().map_or_else(|| "not analysed".to_owned(), |fault| fault.message.clone()),
        })
    }
}

/// One sentence or two: the title, and the first that says more.
fn summary(brief: &Brief) -> String {
    let title = brief.title.trim_end_matches(['.', ' ']);
    let idle = |text: &str| {
        let lower = text.to_lowercase();
        ["hi", "hello", "hey", "thanks", "dear", "first of all"]
            .iter()
            .any(|word| lower.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)))
    };
    let says_more = |text: &str| {
        let known: BTreeSet<String> = words::stems(title).collect();
        words::stems(text).filter(|stem| !known.contains(stem)).count() >= 2
    };
    let second = brief.prose().find(|s| !s.quoted && s.ticked.is_none() && !idle(&s.text) && says_more(&s.text));
    let title = if title.is_empty() { "No title".to_owned() } else { title.to_owned() };
    match second {
        Some(sentence) => words::line(&format!("{title}. {}", sentence.text), MAX_TEXT),
        None => words::line(&format!("{title}."), MAX_TEXT),
    }
}

/// What can be done mechanically comes first, then what the sentences ask for.
fn requirements(brief: &Brief, understood: &Understanding) -> Vec<String> {
    let mut all: Vec<String> =
        understood.asks.iter().filter(|ask| is_exact(ask)).map(|ask| words::line(&ask.describe(), MAX_TEXT)).collect();
    let more = demand::demands(brief);
    // Quotation marks and full stops make no other requirement of it.
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let known: BTreeSet<String> = all.iter().map(|text| plain(text)).collect();
    all.extend(more.into_iter().filter(|text| !known.contains(&plain(text))));
    all.truncate(MAX_NOTES);
    all
}

/// Whether it is clear to the letter; that a defect is described is only a guess until a rule knows it.
fn is_exact(ask: &Ask) -> bool {
    match ask {
        Ask::Patch(_) | Ask::Replace(_) | Ask::Add(_) => true,
        Ask::Repair(_) => false,
    }
}

/// Files that the issue leads to: named, traced, or the home of a symbol that it names.
fn files(brief: &Brief, reading: &Reading) -> Vec<FileToModify> {
    const LEAST: f32 = 0.5;
    let (survey, query) = (&reading.survey, reading.query.whole());
    let mut places: Vec<(f32, &str, String)> = query
        .places
        .iter()
        .filter(|(_, place)| place.weight >= LEAST)
        .map(|(path, place)| {
            let why: Vec<&str> = place.reasons().collect();
            (place.weight, path.as_str(), why.join(" and "))
        })
        .collect();
    places.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(two.1)));
    let mut files: Vec<FileToModify> = places
        .into_iter()
        .take(MAX_FILES)
        .map(|(_, path, why)| {
            let gone = is_to_go(brief, path);
            let change_type = if gone { ChangeType::Delete } else { ChangeType::Edit };
            FileToModify { path: path.to_owned(), change_type, description: why }
        })
        .collect();
    for path in to_be_made(brief, survey) {
        if files.len() < MAX_FILES && !files.iter().any(|file| file.path == path) {
            files.push(FileToModify { path, change_type: ChangeType::Create, description: NAMED.to_owned() });
        }
    }
    if files.is_empty() && !query.names.is_empty() {
        for (path, names) in definers(&query, reading) {
            let names: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
            let description = format!("defines {}", names.join(", "));
            files.push(FileToModify { path, change_type: ChangeType::Edit, description });
        }
        files.truncate(MAX_FILES);
    }
    files
}

/// Where symbols that the issue names are defined; those with many homes are left out.
fn definers(query: &Query, reading: &Reading) -> BTreeMap<String, BTreeSet<String>> {
    let named = |index: &usize| {
        let term = query.terms.get(*index)?;
        query.names.contains_key(&term.text).then(|| term.text.clone())
    };
    let sources = reading.survey.files.iter().filter(|file| file.class == Class::Source);
    let found: Vec<(&String, BTreeSet<String>)> = sources
        .filter_map(|file| {
            let noted = reading.files.get(&file.path)?;
            Some((&file.path, noted.measured.defines.iter().filter_map(named).collect()))
        })
        .collect();
    let mut homes: BTreeMap<&String, usize> = BTreeMap::new();
    found.iter().flat_map(|(_, names)| names).for_each(|name| *homes.entry(name).or_default() += 1);
    let rare = |names: &BTreeSet<String>| -> BTreeSet<String> {
        names.iter().filter(|name| homes.get(name).is_some_and(|n| *n <= MAX_DEFINERS)).cloned().collect()
    };
    found.iter().map(|(path, names)| ((*path).clone(), rare(names))).filter(|(_, names)| !names.is_empty()).collect()
}

/// Files that are asked for and are not there.
fn to_be_made(brief: &Brief, survey: &Survey) -> Vec<String> {
    static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(?:add|create|introduce|write|provide|missing|need|needs|new)\s+(?:(?:an?|the|new|missing|empty|file|files|named|called)\s+)*[`'\x22]?(?:\./)?$",
        )
    });
    let known = |mention: &str| survey.resolve(mention).is_some();
    let wanted = |mention: &&(String, Option<u32>)| {
        let path = &mention.0;
        let folder = path.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let there = folder.is_none_or(|folder| survey.files.iter().any(|file| file.path.starts_with(&folder)));
        survey::is_inside(path) && there && !known(path) && follows(brief, path, &BEFORE)
    };
    brief.paths.iter().filter(wanted).map(|(path, _)| path.clone()).take(MAX_FILES).collect()
}

fn is_to_go(brief: &Brief, path: &str) -> bool {
    static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(?:remove|delete|drop)\s+(?:(?:the|an?|old|obsolete|unused|stale|empty|whole|file)\s+)*[`'\x22]?(?:\./)?$",
        )
    });
    let name = survey::name(path);
    follows(brief, path, &BEFORE) || follows(brief, name, &BEFORE)
}

/// Whether a mention comes right after such words.
fn follows(brief: &Brief, mention: &str, before: &Regex) -> bool {
    let texts = std::iter::once(brief.title.as_str()).chain(brief.prose().map(|sentence| sentence.text.as_str()));
    let mut places = texts.flat_map(|text| text.match_indices(mention).map(move |(at, _)| &text[..at]));
    places.any(|text| before.is_match(text) && !demand::is_negated(text))
}

fn estimated_lines(complexity: Difficulty, requirements: usize, files: usize) -> u64 {
    let work = requirements.max(files).max(1) as u64;
    match complexity {
        Difficulty::Trivial => (2 * work).clamp(1, 5),
        Difficulty::Easy => (5 * work).clamp(5, 20),
        Difficulty::Medium => (12 * work).clamp(20, 100),
    }
}

fn is_breaking(brief: &Brief, labels: &[String]) -> bool {
    static SIGN: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\bbreaking[ -](?:api )?changes?\b|\bbackwards?[ -]incompatib|\b(?:drop|remove)s? support for\b|\bremove the deprecated\b|^[a-z]+(?:\([^)]*\))?!:",
        )
    });
    static DENIED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(r"(?i)\b(?:non|not|no|without|avoid\w*|isn't)[ -](?:an? |any )?(?:breaking|backward)")
    });
    let texts = std::iter::once(brief.title.as_str()).chain(brief.prose().map(|sentence| sentence.text.as_str()));
    let said = texts.into_iter().any(|text| SIGN.is_match(text) && !DENIED.is_match(text));
    said || labels.iter().any(|label| label.to_lowercase().contains("breaking"))
}

fn needs_tests(kind: Kind, brief: &Brief, files: &[FileToModify]) -> bool {
    let only_docs = !files.is_empty() && files.iter().all(|file| survey::is_docs(&file.path));
    let asked = brief.prose().any(|s| s.section == Section::Wanted && s.text.to_lowercase().contains("test"));
    match kind {
        Kind::Documentation => false,
        Kind::Test => true,
        Kind::BugFix | Kind::Feature => !only_docs,
        Kind::Refactor => asked,
    }
}

fn needs_docs(kind: Kind, brief: &Brief) -> bool {
    static SIGN: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(?:docs|documentation|readme|changelog|document(?:ed|s)?|option|flag|setting|public api)\b",
        )
    });
    match kind {
        Kind::Documentation | Kind::Feature => true,
        Kind::BugFix | Kind::Test | Kind::Refactor => {
            let texts = brief.prose().filter(|s| s.section == Section::Wanted).map(|s| s.text.as_str());
            std::iter::once(brief.title.as_str()).chain(texts).any(|text| SIGN.is_match(text))
        }
    }
}

fn risk(analysis: &Analysis, brief: &Brief) -> Risk {
    let touchy = triage::risky(&brief.title).is_some();
    let deletes = analysis.files_to_modify.iter().any(|file| file.change_type == ChangeType::Delete);
    if analysis.breaking_change || touchy {
        Risk::High
    } else if deletes || analysis.complexity == Difficulty::Medium || analysis.files_to_modify.len() > 3 {
        Risk::Medium
    } else {
        Risk::Low
    }
}

fn steps(brief: &Brief, kind: Kind, files: &[FileToModify], requirements: &[String], survey: &Survey) -> Vec<String> {
    let mut steps = Vec::new();
    if kind == Kind::BugFix && (!brief.frames.is_empty() || !brief.code.is_empty()) {
        steps.push("Write a test that fails as the issue describes".to_owned());
    }
    for file in files.iter().take(5) {
        let what = match file.change_type {
            ChangeType::Create => "Create",
            ChangeType::Edit => "Edit",
            ChangeType::Delete => "Delete",
        };
        steps.push(words::line(&format!("{what} {} ({})", file.path, file.description), MAX_TEXT));
    }
    if files.is_empty() {
        steps.push("Find where the repository does what the issue speaks of".to_owned());
    }
    steps.extend(requirements.iter().take(4).map(|text| words::line(&demand::as_step(text, kind), MAX_TEXT)));
    if needs_tests(kind, brief, files) {
        steps.push("Cover the change with a test".to_owned());
    }
    if needs_docs(kind, brief) && kind != Kind::Documentation {
        steps.push("Bring the documentation up to date".to_owned());
    }
    if let Some(path) = survey.first(&["CHANGELOG.md", "CHANGES.md", "CHANGES.rst", "CHANGELOG.rst"]) {
        steps.push(format!("Tell of it in {path}"));
    }
    steps.truncate(MAX_STEPS);
    steps
}

fn warnings(
    brief: &Brief,
    files: &[FileToModify],
    facts: &ContributeFacts,
    breaking: bool,
) -> Result<Vec<String>, Error> {
    static ORDERS: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(?:ignore|disregard|forget) (?:all |any |the )?(?:previous|prior|above|earlier)\b|\bsystem prompt\b|\byou are (?:now )?an? (?:ai|assistant|agent)\b",
        )
    });
    let mut warnings: Vec<String> = facts.warnings.iter().map(|text| words::line(text, MAX_TEXT)).collect();
    if brief.secrets {
        warnings.push(
            "the issue holds what looks like a secret: it should be revoked, since everyone could read it".to_owned(),
        );
    }
    let text = format!("{} {}", brief.title, brief.body);
    if let Some(what) = triage::risky(&text) {
        warnings.push(format!("the issue speaks of {what}: a person who knows the matter should look at the change"));
    }
    if breaking {
        warnings.push("what is asked for may break those who use this".to_owned());
    }
    if ORDERS.is_match(&text) {
        warnings.push(
            "the issue gives orders to its reader rather than telling what should change; they are not followed"
                .to_owned(),
        );
    }
    let protected = gate::globs(&facts.settings.protected)?;
    let guarded = files.iter().filter(|file| gate::protection(&file.path, &protected).is_some()).take(5);
    warnings
        .extend(guarded.map(|file| format!("{} is protected and will not be changed", words::line(&file.path, 200))));
    warnings.truncate(MAX_NOTES);
    Ok(warnings)
}

/// Questions that have to be answered before the work can be sure of its aim.
fn blockers(brief: &Brief, analysis: &Analysis, understood: &Understanding) -> Vec<String> {
    let mut blockers = Vec::new();
    if understood.is_actionable() && understood.asks.iter().any(is_exact) {
        // What can be done as it stands needs no answer first; who does it sees what excludes it.
        return blockers;
    }
    if words::stems(&brief.title).count() + words::stems(&brief.body).count() < 2 {
        blockers.push("What should change? The issue says too little to tell.".to_owned());
    } else if demand::is_question(brief) {
        blockers.push("What should change? The issue asks a question rather than for a change.".to_owned());
    }
    for (one, two) in demand::contradictions(&analysis.requirements).into_iter().take(3) {
        blockers
            .push(words::line(&format!("Which of the two holds? \"{one}\" and \"{two}\" exclude each other."), 700));
    }
    let wordless = brief.prose().count() == 0 && brief.code.is_empty();
    if blockers.is_empty()
        && wordless
        && understood.asks.is_empty()
        && analysis.kind == Kind::BugFix
        && analysis.files_to_modify.is_empty()
    {
        blockers.push("What happens, and what should happen instead? The issue has no description.".to_owned());
    }
    blockers
}
