//! The documentation that belongs to a change: an entry in the changelog, and what documents say in code of something that
//! is called or done differently now. Words of the issue reach a file only as plain ones.

mod changelog;
mod fragment;
mod mentions;

use std::collections::BTreeSet;

use serde::Deserialize;

use super::assembly::{self, assemble};
use super::changed::{Changed, Touched, stretches};
use super::substitution::{self, Substitution, What};
use super::survey::{self, Class, Listed};
use super::{convention, words};
use crate::agent::{Agent, Context, Error, Role};
use crate::analysis::links;
use crate::artifact::swarm::{
    CodeChanges, DocFileChange, DocsChanges, DocsSummary, DocsValidation, FileChange, IssueAnalysis, Kind,
    SectionUpdate, WriteAction,
};
use crate::artifact::{ContributeFacts, Document, Documented};
use crate::stdx::text::count;
use changelog::Group;
use fragment::Maker;

pub struct Docs;

#[derive(Debug, Deserialize)]
pub struct DocsInput {
    facts: ContributeFacts,
    analyst: Document<IssueAnalysis>,
    coder: Document<CodeChanges>,
}

/// Where changelogs lie, nearest to the root first.
const CHANGELOGS: &[&str] = &[
    "CHANGELOG.md",
    "CHANGES.md",
    "HISTORY.md",
    "NEWS.md",
    "CHANGELOG.rst",
    "CHANGES.rst",
    "HISTORY.rst",
    "NEWS.rst",
    "docs/CHANGELOG.md",
    "docs/CHANGELOG.rst",
    "docs/CHANGES.rst",
];
const LONGEST_ENTRY: usize = 120;
const MOST_SECTIONS: usize = 50;

/// What is to be said and done.
#[derive(Default)]
struct Plan {
    required: bool,
    why: Vec<String>,
    edits: Vec<FileChange>,
    notes: Vec<String>,
}

impl Agent for Docs {
    const VERSION: &'static str = "1";
    type Input = DocsInput;
    type Output = Documented;

    fn role(&self) -> Role {
        Role::Docs
    }

    async fn run(&self, cx: &Context, input: DocsInput) -> Result<Documented, Error> {
        let Some(coder) = input.coder.outcome.as_ref().ok().filter(|changes| changes.commit_ready) else {
            let why = "nothing was changed, so there is nothing to document.";
            let document = document(false, why.to_owned(), Vec::new(), DocsValidation::default(), 0);
            return Ok(documented(cx, document, Vec::new(), Vec::new()));
        };
        let changed = Changed::of(cx, coder).await?;
        let plan = plan(cx, &input, coder, &changed).await?;
        let assembled = assemble(cx, coder, &plan.edits).await?;
        let mut notes = plan.notes;
        notes.extend(assembled.dropped);
        let files = follow(&changed, &assembled.kept).await?;
        let (told, new): (Vec<DocFileChange>, Vec<u64>) = files.iter().map(told).unzip();
        let links_valid = links_lead_somewhere(&changed, &files);
        let mut reason = plan.why;
        reason.extend(notes.iter().cloned());
        if files.is_empty() {
            reason.push("no document is touched, so no link was checked".to_owned());
        } else if !links_valid {
            reason.push("not every link of the touched documents could be checked and leads somewhere".to_owned());
        }
        let reason = format!(
            "{}.\nnot run: examples and spelling of the documents (commands of the repository are not executed)",
            reason.join("; ")
        );
        let validation = DocsValidation { links_valid, ..DocsValidation::default() };
        let document = document(plan.required, words::block(&reason, 2_000), told, validation, new.iter().sum());
        Ok(documented(cx, document, assembled.kept, notes))
    }

    fn faults(&self, _cx: &Context, output: &Documented) -> Vec<String> {
        let mut faults = Vec::new();
        for edit in output.edits.iter().filter(|edit| !survey::is_docs(&edit.file)) {
            faults.push(format!("edits: `{}` is no documentation", words::line(&edit.file, 200)));
        }
        if let Ok(document) = &output.document.outcome {
            let validation = document.validation;
            if validation.examples_tested || validation.spelling_checked {
                faults.push("validation: neither examples nor spelling were checked here".to_owned());
            }
            if validation.links_valid && document.doc_files.is_empty() {
                faults.push("validation: no document was touched whose links could be valid".to_owned());
            }
        }
        faults
    }

    fn line(&self, output: &Documented) -> Option<String> {
        let document = output.document.outcome.as_ref().ok()?;
        Some(match (document.docs_required, document.doc_files.len()) {
            (false, 0) => "no documentation needed".to_owned(),
            (true, 0) => "no documentation written".to_owned(),
            (_, n) => format!("documentation in {}", count(n, "file")),
        })
    }
}

fn documented(cx: &Context, document: DocsChanges, edits: Vec<FileChange>, notes: Vec<String>) -> Documented {
    Documented { document: Document::completed(cx.timestamp(), document), edits, notes }
}

fn document(
    required: bool,
    reason: String,
    doc_files: Vec<DocFileChange>,
    validation: DocsValidation,
    added: u64,
) -> DocsChanges {
    let sections: u64 = doc_files.iter().map(|file| file.sections_updated.len() as u64).sum();
    let summary = DocsSummary {
        files_updated: doc_files.len() as u64,
        sections_added: added,
        sections_modified: sections.saturating_sub(added),
    };
    DocsChanges { docs_required: required, reason, doc_files, validation, summary }
}

async fn plan(cx: &Context, input: &DocsInput, coder: &CodeChanges, changed: &Changed) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    let sources: Vec<&Touched> = changed.of_class(Class::Source).collect();
    let classes: BTreeSet<Class> = changed.files.iter().map(|file| survey::class_of(&file.path)).collect();
    let only = |wanted: Class| classes.iter().all(|class| *class == wanted);
    if only(Class::Docs) {
        plan.why.push("the change is to the documentation itself".to_owned());
        return Ok(plan);
    }
    if only(Class::Test) {
        plan.why.push("only tests are changed".to_owned());
        return Ok(plan);
    }
    if changed.is_only_comments() {
        plan.why.push("only comments are changed".to_owned());
        return Ok(plan);
    }
    let replaced = substitution::find(cx, changed).await?;
    follow_mentions(cx, changed, &replaced, &mut plan).await?;
    let subject = coder.suggested_commit_message.lines().next().unwrap_or_default();
    let kind = input.analyst.outcome.as_ref().map_or(Kind::BugFix, |analysis| analysis.analysis.kind);
    let deprecates = added_lines(&sources).any(|line| line.to_lowercase().contains("deprecat"));
    let public = replaced.iter().find(|one| one.what == What::Name && !one.from.starts_with('_'));
    let flag = replaced.iter().find(|one| one.from.starts_with("--") || matches!(one.what, What::Value(_)));
    let settings = input.analyst.outcome.as_ref().is_ok_and(|analysis| analysis.analysis.docs_update_required);
    let feature = convention::word_of(subject) == Some("feat") || kind == Kind::Feature;
    let why = if sources.is_empty() {
        None
    } else if deprecates {
        Some("it deprecates something".to_owned())
    } else if let Some(one) = public {
        Some(format!("a name that others may use is another one now: {}", one.told()))
    } else if let Some(one) = flag {
        Some(format!("a setting is another one now: {}", one.told()))
    } else if feature {
        Some("it is a feature".to_owned())
    } else if settings {
        Some("the issue is about what is documented or configured".to_owned())
    } else {
        None
    };
    plan.required = why.is_some() || !plan.edits.is_empty();
    plan.why.push(match (&why, plan.edits.is_empty()) {
        (Some(why), _) => why.clone(),
        (None, false) => "documents name what was replaced".to_owned(),
        (None, true) if sources.is_empty() => "nothing that is shipped is changed".to_owned(),
        (None, true) => "nothing that is documented works differently".to_owned(),
    });
    if !sources.is_empty()
        && let Some(group) = group(subject, deprecates, feature, public.is_some())
    {
        enter(input, coder, changed, group, &mut plan).await?;
    }
    Ok(plan)
}

fn added_lines<'a>(files: &'a [&Touched]) -> impl Iterator<Item = String> + 'a {
    files.iter().flat_map(|file| file.stretches()).flat_map(|stretch| stretch.added)
}

/// Under which heading of a changelog; none for what its readers do not notice.
fn group(subject: &str, deprecates: bool, feature: bool, public: bool) -> Option<Group> {
    match convention::word_of(subject) {
        _ if deprecates => Some(Group::Deprecated),
        Some("feat") => Some(Group::Added),
        Some("fix") if feature => Some(Group::Changed),
        Some("fix") => Some(Group::Fixed),
        Some("perf") => Some(Group::Changed),
        Some("refactor") if public => Some(Group::Changed),
        Some(_) | None => None,
    }
}

/// Documents that name in code what the change replaced.
async fn follow_mentions(
    cx: &Context,
    changed: &Changed,
    replaced: &[Substitution],
    plan: &mut Plan,
) -> Result<(), Error> {
    if replaced.is_empty() {
        return Ok(());
    }
    let all = replaced.to_vec();
    let wanted = |file: &Listed| file.class == Class::Docs && mentions::tells_of_now(&file.path);
    let found = changed
        .read(cx, wanted, move |path, text| {
            let update = mentions::update(path, text, &all);
            (update.text.is_some() || !update.notes.is_empty()).then(|| (text.to_owned(), update))
        })
        .await?;
    for (path, (old, update)) in found {
        plan.notes.extend(update.notes);
        if let Some(new) = update.text {
            let description =
                format!("{}.", fragment::capital(&format!("follows the change: {}", update.told.join("; "))));
            plan.edits.push(assembly::file_change(&path, Some(&old), &new, description));
        }
    }
    Ok(())
}

/// Adds the entry to the changelog, or says why there is none.
async fn enter(
    input: &DocsInput,
    coder: &CodeChanges,
    changed: &Changed,
    group: Group,
    plan: &mut Plan,
) -> Result<(), Error> {
    let title = input.facts.issue.title.open();
    let subject = coder.suggested_commit_message.lines().next().unwrap_or_default();
    let entry = entry(subject, title);
    let maker = fragment::maker(changed).await?;
    match &maker {
        Maker::Hands => {}
        Maker::Tool(tool) => {
            plan.why.push(format!("the changelog is made by {tool}, so no entry is written by hand"));
            return Ok(());
        }
        Maker::Changesets | Maker::Towncrier(_) => {
            let Some(entry) = entry else {
                plan.notes.push("no changelog fragment: there are no words for it that are safe".to_owned());
                return Ok(());
            };
            match fragment::write(&maker, changed, input.facts.issue.number, group, &entry).await? {
                Err(why) => plan.notes.push(format!("no changelog fragment: {why}")),
                Ok(new) => {
                    let description = "What the next release says of this change.".to_owned();
                    plan.edits.push(assembly::file_change(&new.path, None, &new.text, description));
                    told_in_changelog(plan);
                }
            }
            return Ok(());
        }
    }
    let Some(path) = nearest(changed) else { return Ok(()) };
    if changed.files.iter().any(|file| file.path == path) {
        plan.why.push(format!("`{path}` is a part of the change already"));
        return Ok(());
    }
    let Some(old) = changed.text(&path).await? else { return Ok(()) };
    if changelog::is_generated(&old) {
        plan.why.push(format!("`{path}` is made by a program, so no entry is written by hand"));
        return Ok(());
    }
    let Some(entry) = entry else {
        plan.notes.push(format!("no entry in `{path}`: there are no words for it that are safe"));
        return Ok(());
    };
    match changelog::enter(&path, &old, group, &entry) {
        Err(why) => plan.notes.push(format!("no entry in `{path}`: {why}")),
        Ok(entered) => {
            let description = format!("An entry under {}.", words::line(&entered.heading, 100));
            plan.edits.push(assembly::file_change(&path, Some(&old), &entered.text, description));
            told_in_changelog(plan);
        }
    }
    Ok(())
}

fn told_in_changelog(plan: &mut Plan) {
    plan.required = true;
    plan.why.push("the changelog tells of such changes".to_owned());
}

/// The changelog of the innermost folder that holds all that is shipped and changed.
fn nearest(changed: &Changed) -> Option<String> {
    let mut folder: Option<Vec<&str>> = None;
    for file in changed.of_class(Class::Source) {
        let own: Vec<&str> = file.path.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect();
        folder = Some(match folder {
            None => own,
            Some(known) => known.iter().zip(&own).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect(),
        });
    }
    let mut folder = folder?;
    loop {
        let prefix = if folder.is_empty() { String::new() } else { format!("{}/", folder.join("/")) };
        let here = CHANGELOGS.iter().find_map(|name| changed.survey.find(&format!("{prefix}{name}")));
        if let Some(path) = here {
            return Some(path.to_owned());
        }
        folder.pop()?;
    }
}

/// What an entry says, without bullet and full stop: what the commit says, unless that is too general; then what the issue is
/// called. Nothing in it links, mentions, closes or is markup.
fn entry(subject: &str, title: &str) -> Option<String> {
    let rest = |text: &str| convention::conventional(text).map_or(text.to_owned(), |(_, rest)| rest.to_owned());
    let told = rest(subject);
    let general = ["apply the patch", "apply ", "make the change", "make "].iter().any(|start| told.starts_with(start));
    let text = if general || told.trim().is_empty() { rest(title) } else { told };
    let text = convention::tame(&text.replace('`', ""));
    let text = text.trim_end_matches(['.', '!', '?', ' ']);
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let end = word.len() - word.chars().rev().take_while(|c| ",;:.!?".contains(*c)).count();
        let (core, marks) = word.split_at(end);
        let plain = core.chars().all(|c| c.is_alphanumeric() || "'’-/,.%".contains(c))
            && core.starts_with(char::is_alphanumeric)
            && !core.contains("//")
            && !(core.contains('.') && core.chars().any(char::is_alphabetic))
            && !words::looks_like_code(core);
        out.push(match (plain, core.is_empty()) {
            (true, _) => word.to_owned(),
            (false, true) => continue,
            (false, false) => format!("`{core}`{marks}"),
        });
    }
    let text = out.join(" ");
    (text.chars().filter(|c| c.is_alphabetic()).count() >= 3 && text.chars().count() <= LONGEST_ENTRY).then_some(text)
}

/// The documents of the change, with the edits on them.
async fn follow(changed: &Changed, edits: &[FileChange]) -> Result<Vec<Touched>, Error> {
    let mut files: Vec<Touched> = changed.of_class(Class::Docs).filter(|file| file.new.is_some()).cloned().collect();
    for edit in edits {
        match files.iter_mut().find(|file| file.path == edit.file) {
            Some(file) => file.new = file.new.as_deref().and_then(|text| assembly::after(Some(text), &edit.diff).ok()),
            None => {
                let old = changed.text(&edit.file).await?;
                let new = assembly::after(old.as_deref(), &edit.diff).ok();
                files.push(Touched { path: edit.file.clone(), old, new });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// A document as the change leaves it, and how many of its sections are new.
fn told(file: &Touched) -> (DocFileChange, u64) {
    let (old, new) = (file.old.as_deref().unwrap_or_default(), file.new.as_deref().unwrap_or_default());
    let before: BTreeSet<String> = headings(old).into_iter().map(|(_, heading)| heading).collect();
    let after = headings(new);
    let mut sections: Vec<(String, usize, usize)> = Vec::new();
    for stretch in stretches(old, new) {
        for at in 0..stretch.added.len().max(1) {
            let line = stretch.line + u32::try_from(at).unwrap_or(0);
            let own = after.iter().rev().find(|(start, _)| *start <= line).map_or("", |(_, heading)| heading.as_str());
            let known = sections.iter().position(|(heading, ..)| heading == own);
            let known = known.unwrap_or_else(|| {
                sections.push((own.to_owned(), 0, 0));
                sections.len() - 1
            });
            sections[known].1 += usize::from(at < stretch.added.len());
            sections[known].2 += usize::from(at == 0) * stretch.removed.len();
        }
    }
    let is_new = |heading: &str| !heading.is_empty() && !before.contains(heading);
    let new_ones = sections.iter().filter(|(heading, ..)| is_new(heading)).count() as u64;
    sections.truncate(MOST_SECTIONS);
    let update = |(heading, added, removed): &(String, usize, usize)| SectionUpdate {
        heading: words::line(heading, 200),
        change: if is_new(heading) {
            "a new section".to_owned()
        } else {
            format!("{} added, {} removed", count(*added, "line"), count(*removed, "line"))
        },
    };
    let change = DocFileChange {
        path: file.path.clone(),
        action: if file.old.is_some() { WriteAction::Modified } else { WriteAction::Created },
        sections_updated: sections.iter().map(update).collect(),
    };
    (change, new_ones)
}

/// Headings of Markdown and reStructuredText, with their 1-based lines.
fn headings(text: &str) -> Vec<(u32, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut fenced = false;
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        let depth = line.chars().take_while(|c| *c == '#').count();
        let marked = (1..=6).contains(&depth) && line.get(depth..).is_some_and(|rest| rest.starts_with(' '));
        let under = lines.get(at + 1).map(|next| next.trim_end()).unwrap_or_default();
        let lined = under.len() >= 3
            && ["=", "-", "~", "^"].iter().any(|sign| under.replace(sign, "").is_empty())
            && line.starts_with(char::is_alphanumeric);
        if !fenced && (marked || lined) {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            all.push((number, line.trim_matches(['#', ' ']).to_owned()));
        }
    }
    all
}

/// True only when every touched document is one whose links are read here, and none leads nowhere.
fn links_lead_somewhere(changed: &Changed, files: &[Touched]) -> bool {
    let mut there: BTreeSet<&str> = BTreeSet::new();
    let created = files.iter().map(|file| file.path.as_str());
    for path in changed.survey.files.iter().map(|file| file.path.as_str()).chain(created) {
        there.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
        there.insert(path);
    }
    let leads = |file: &Touched| {
        let lower = file.path.to_ascii_lowercase();
        let markdown = lower.ends_with(".md") || lower.ends_with(".markdown");
        let text = file.new.as_deref().unwrap_or_default();
        // Of some paths, as those of templates, no link is read.
        let read = !links::broken_links(&file.path, "[x](no-such-file.md)", &|_| false).is_empty();
        markdown && read && links::broken_links(&file.path, text, &|path| there.contains(path)).is_empty()
    };
    !files.is_empty() && files.iter().all(leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(subject: &str, title: &str, want: Option<&str>) {
        assert_eq!(entry(subject, title).as_deref(), want);
    }

    #[test]
    fn an_entry_says_what_the_commit_says_or_what_the_issue_is_called() {
        check("refactor: rename load_all to read_all", "x", Some("rename `load_all` to `read_all`"));
        check("fix: replace yaml.load by yaml.safe_load", "x", Some("replace `yaml.load` by `yaml.safe_load`"));
        check("fix: apply the patch to a.py", "fix(core): gross() rounds down.", Some("`gross()` rounds down"));
        check("fix: make 3 changes that the issue asks for", "", None);
    }

    #[test]
    fn a_stranger_s_words_are_plain_words_in_an_entry() {
        for title in [
            "<img src=x onerror=y> @octocat closes #12 [x](javascript:y) *b* _i_ <!-- z -->",
            "`` `a` ``` https://evil.example/x GH-3 [skip ci] ![a](b) | ~~c~~ \\d",
        ] {
            let entry = entry("fix: apply the patch to a.py", title).unwrap_or_default();
            let outside: String = entry.split('`').step_by(2).collect();
            assert!(!outside.contains(['<', '>', '@', '#', '[', ']', '(', '*', '_', '|', '~', '\\', '!']), "{entry}");
            assert!(!entry.contains("https:") && !entry.contains("skip ci"), "{entry}");
        }
    }
}
