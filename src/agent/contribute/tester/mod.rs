//! The tests that belong to a change: which there are, which have to follow, which one an issue states. What it cannot know
//! it does not write, and nothing is run.

mod cases;
mod example;
mod refs;
mod stale;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::assembly::{self, assemble};
use super::changed::{Changed, Touched};
use super::substitution::{self, Substitution, What};
use super::survey::{self, Class, Listed};
use super::{convention, generation, words};
use crate::agent::{Agent, Context, Error, Role, Told};
use crate::analysis::Language;
use crate::artifact::exchange::{AgentInput, AgentOutput, MoreMetadata};
use crate::artifact::generation::TestSuite;
use crate::artifact::swarm::{
    CodeChanges, CodebaseMap, FileChange, IssueAnalysis, Kind, TestChanges, TestFileChange, TestSummary, TestValidation,
};
use crate::artifact::{ContributeFacts, Document, Form, Tested};
use crate::stdx::text::count;

pub struct Tester;

#[derive(Debug, Deserialize)]
pub struct TesterInput {
    facts: ContributeFacts,
    analyst: Document<IssueAnalysis>,
    explorer: Document<CodebaseMap>,
    coder: Document<CodeChanges>,
}

/// Said wherever something could be taken for a result (A2.4).
const NOT_RUN: &str = "not run: existing and new tests (commands of the repository are not executed)";
const NOT_MEASURED: &str = "not measured";
/// Files that are named where there are more.
const NAMED: usize = 3;

/// A file that holds tests, as far as the change is concerned.
struct Found {
    /// It refers to something that the change touched.
    exercises: bool,
    /// Kept where it may have to follow the change.
    text: Option<String>,
}

/// What is to be said and done.
struct Plan {
    required: bool,
    why: String,
    edits: Vec<FileChange>,
    notes: Vec<String>,
}

impl Agent for Tester {
    const VERSION: &'static str = "1";
    type Input = TesterInput;
    type Output = Tested;

    fn role(&self) -> Role {
        Role::Tester
    }

    async fn run(&self, cx: &Context, input: TesterInput) -> Result<Tested, Error> {
        let Some(coder) = input.coder.outcome.as_ref().ok().filter(|changes| changes.commit_ready) else {
            return Ok(tested(cx, nothing("nothing was changed, so there is nothing to test"), Vec::new(), None));
        };
        let changed = Changed::of(cx, coder).await?;
        let replaced = substitution::find(cx, &changed).await?;
        let found = look(cx, &changed, &replaced).await?;
        let mut plan = plan(cx, &input, coder, &changed, &replaced, &found).await?;
        let assembled = assemble(cx, coder, &plan.edits).await?;
        plan.notes.extend(assembled.dropped);
        let after = follow(&changed, &assembled.kept).await?;
        let files: Vec<TestFileChange> = after.iter().filter_map(|file| told::told(file, &changed)).collect();
        let added: u64 = files.iter().map(|file| file.tests_added.len() as u64).sum();
        let modified: u64 = after.iter().map(told::modified).sum();
        let mut reason = vec![plan.why.clone()];
        if plan.required {
            reason.push(match (added, files.is_empty()) {
                (0, true) => format!("none was added: {}", without(&plan.notes)),
                (0, false) => "existing tests were changed with it, and none was added".to_owned(),
                (n, _) => format!("{} added", were(n, "test")),
            });
        }
        reason.push(exercised(&found));
        let reason = format!("{}.\n{NOT_RUN}", reason.join("; "));
        let install = input.explorer.outcome.as_ref().map_or("", |map| map.build_commands.install.as_str());
        let suite = told::suite(input.facts.issue.number, cx.timestamp(), install, &after, &plan.notes);
        let document = TestChanges {
            tests_required: plan.required,
            reason: words::block(&reason, 2_000),
            validation: not_run(),
            summary: TestSummary { tests_added: added, tests_modified: modified, total_test_files: files.len() as u64 },
            test_files: files,
        };
        let mut output = tested(cx, document, assembled.kept, suite);
        output.notes = plan.notes;
        Ok(output)
    }

    fn faults(&self, _cx: &Context, output: &Tested) -> Vec<String> {
        let mut faults = Vec::new();
        for edit in output.edits.iter().filter(|edit| !survey::is_test(&edit.file)) {
            faults.push(format!("edits: `{}` holds no tests", words::line(&edit.file, 200)));
        }
        if let Ok(document) = &output.document.outcome {
            let validation = &document.validation;
            if validation.existing_tests_pass || validation.new_tests_pass {
                faults.push("validation: nothing was run here that could have passed".to_owned());
            }
            let added: usize = document.test_files.iter().map(|file| file.tests_added.len()).sum();
            if added as u64 != document.summary.tests_added {
                faults.push("summary: counts other tests than are listed".to_owned());
            }
        }
        faults
    }

    fn told(&self, output: &Tested) -> Told {
        let missing = output.document.outcome.as_ref().is_ok_and(|document| {
            document.tests_required && document.summary.tests_added == 0 && output.edits.is_empty()
        });
        let more = MoreMetadata { tests_executed: Some(false), ..MoreMetadata::default() };
        Told { partial: missing, warnings: output.notes.clone(), more, ..Told::default() }
    }

    async fn present(&self, _cx: &Context, _input: &AgentInput, output: &AgentOutput) -> Result<Value, Error> {
        Ok(output.result.get("suite").cloned().unwrap_or_default())
    }

    /// Whole test files (S1.14), or the edits of our own form.
    async fn adopt(&self, cx: &Context, input: &AgentInput, result: Value) -> Result<Tested, Error> {
        let unread = |source| Error::Input { role: Role::Tester.name(), source };
        if result.get("testFiles").is_none() {
            return Tested::deserialize(result).map_err(unread);
        }
        let suite: TestSuite = generation::read(Role::Tester, Form::of::<TestSuite>().name, result)?;
        let given = TesterInput::deserialize(Value::Object(input.fields())).map_err(unread)?;
        let coder = given.coder.outcome.map_err(|_| Error::Invalid {
            role: Role::Tester.name(),
            faults: "there is no change to test".to_owned(),
        })?;
        let edits = generation::test_edits(cx, &coder, &suite).await?;
        let changed = Changed::of(cx, &coder).await?;
        let after = follow(&changed, &edits).await?;
        let files: Vec<TestFileChange> = after.iter().filter_map(|file| told::told(file, &changed)).collect();
        let added: u64 = files.iter().map(|file| file.tests_added.len() as u64).sum();
        let document = TestChanges {
            tests_required: true,
            reason: format!("{added} added by the tester.\n{NOT_RUN}"),
            validation: not_run(),
            summary: TestSummary {
                tests_added: added,
                tests_modified: after.iter().map(told::modified).sum(),
                total_test_files: files.len() as u64,
            },
            test_files: files,
        };
        Ok(tested(cx, document, edits, Some(suite)))
    }

    fn line(&self, output: &Tested) -> Option<String> {
        let document = output.document.outcome.as_ref().ok()?;
        let summary = document.summary;
        Some(match (document.tests_required, summary.tests_added, summary.tests_modified) {
            (false, 0, 0) => "no tests needed".to_owned(),
            (_, added, modified) => format!("{added} tests added, {modified} changed"),
        })
    }
}

fn tested(cx: &Context, document: TestChanges, edits: Vec<FileChange>, suite: Option<TestSuite>) -> Tested {
    Tested { document: Document::completed(cx.timestamp(), document), edits, suite, notes: Vec::new() }
}

fn nothing(reason: &str) -> TestChanges {
    TestChanges {
        tests_required: false,
        reason: format!("{reason}.\n{NOT_RUN}"),
        test_files: Vec::new(),
        validation: not_run(),
        summary: TestSummary::default(),
    }
}

fn not_run() -> TestValidation {
    TestValidation {
        existing_tests_pass: false,
        new_tests_pass: false,
        coverage_before: NOT_MEASURED.to_owned(),
        coverage_after: NOT_MEASURED.to_owned(),
    }
}

/// Every file with tests in a language of the change.
async fn look(cx: &Context, changed: &Changed, replaced: &[Substitution]) -> Result<BTreeMap<String, Found>, Error> {
    let sources: Vec<String> = changed.of_class(Class::Source).map(|file| file.path.clone()).collect();
    let languages: BTreeSet<&str> = sources.iter().filter_map(|path| family(path)).collect();
    let wanted =
        |file: &Listed| cases::may_hold(&file.path) && family(&file.path).is_some_and(|l| languages.contains(l));
    let from: Vec<String> = replaced.iter().map(|one| one.from.clone()).collect();
    changed
        .read(cx, wanted, move |path, text| {
            if cases::names(path, text).is_empty() {
                return None;
            }
            let exercises = sources.iter().any(|source| refs::refers(path, text, source));
            let concerned = survey::is_test(path) && (exercises || from.iter().any(|from| text.contains(from)));
            Some(Found { exercises, text: concerned.then(|| text.to_owned()) })
        })
        .await
}

/// Languages whose tests may exercise each other's code.
fn family(path: &str) -> Option<&'static str> {
    Language::of_path(path).map(|language| match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => "JavaScript",
        Language::Python => "Python",
        Language::Rust => "Rust",
        Language::Go => "Go",
        Language::Java => "Java",
    })
}

async fn plan(
    cx: &Context,
    input: &TesterInput,
    coder: &CodeChanges,
    changed: &Changed,
    replaced: &[Substitution],
    found: &BTreeMap<String, Found>,
) -> Result<Plan, Error> {
    let mut plan = Plan { required: false, why: String::new(), edits: Vec::new(), notes: Vec::new() };
    let classes: BTreeSet<Class> = changed.files.iter().map(|file| survey::class_of(&file.path)).collect();
    let none_of = |wanted: &[Class]| classes.iter().all(|class| !wanted.contains(class));
    let sources: Vec<&Touched> = changed.of_class(Class::Source).collect();
    let early = if none_of(&[Class::Source, Class::Aside, Class::Test, Class::Other, Class::Foreign]) {
        Some("only documentation is changed")
    } else if none_of(&[Class::Source, Class::Aside, Class::Test]) {
        Some("only settings, data or documentation are changed")
    } else if changed.is_only_comments() {
        Some("only comments are changed")
    } else if none_of(&[Class::Source, Class::Test]) {
        Some("only scripts and examples are changed")
    } else {
        None
    };
    if let Some(why) = early {
        plan.why = why.to_owned();
        return Ok(plan);
    }
    if sources.is_empty() {
        (plan.required, plan.why) = (true, "the change is to the tests themselves".to_owned());
        return Ok(plan);
    }
    if found.is_empty() {
        let languages: BTreeSet<&str> = sources.iter().filter_map(|file| survey::language(&file.path)).collect();
        let languages: Vec<&str> = languages.into_iter().collect();
        plan.why = format!("the repository has no tests in {} that a new one could stand beside", listed(&languages));
        return Ok(plan);
    }
    let updates = updates(found, replaced, &mut plan.notes);
    for (path, update) in updates {
        let Some((old, new)) = found.get(&path).and_then(|f| f.text.clone()).zip(update.text) else { continue };
        let description = sentence(&format!("follows the change: {}", update.told.join("; ")));
        plan.edits.push(assembly::file_change(&path, Some(&old), &new, description));
    }
    let kind = kind(input, coder);
    let renames = !replaced.is_empty() && replaced.iter().all(|one| matches!(one.what, What::Name | What::Path));
    (plan.required, plan.why) = if !plan.edits.is_empty() {
        (true, "existing tests hold fast what the change replaces".to_owned())
    } else if renames && kind != Kind::Feature {
        (false, "a new name changes no behaviour".to_owned())
    } else {
        match kind {
            Kind::BugFix => (true, "a bug fix wants a regression test".to_owned()),
            Kind::Feature => (true, "a feature wants tests of its own".to_owned()),
            Kind::Test => (true, "the issue asks for tests".to_owned()),
            Kind::Refactor => (false, "no behaviour is meant to change".to_owned()),
            Kind::Documentation => (false, "the issue is about documentation".to_owned()),
        }
    };
    if matches!(kind, Kind::BugFix | Kind::Feature | Kind::Test) {
        regression(cx, input, changed, found, &mut plan).await?;
    }
    Ok(plan)
}

fn updates(
    found: &BTreeMap<String, Found>,
    replaced: &[Substitution],
    notes: &mut Vec<String>,
) -> Vec<(String, stale::Update)> {
    let mut all = Vec::new();
    for (path, file) in found {
        let Some(text) = &file.text else { continue };
        let update = stale::update(path, text, replaced);
        notes.extend(update.notes.iter().cloned());
        all.push((path.clone(), update));
    }
    all
}

/// What the coder says was done, else what the issue was taken for.
fn kind(input: &TesterInput, coder: &CodeChanges) -> Kind {
    let subject = coder.suggested_commit_message.lines().next().unwrap_or_default();
    let said = input.analyst.outcome.as_ref().map_or(Kind::BugFix, |analysis| analysis.analysis.kind);
    match convention::word_of(subject) {
        Some("feat") => Kind::Feature,
        Some("refactor" | "style" | "chore") => Kind::Refactor,
        Some("docs") => Kind::Documentation,
        Some("test") => Kind::Test,
        Some(_) | None => said,
    }
}

/// Writes what the issue states of a function that the change is about, where a file tests that function already.
async fn regression(
    cx: &Context,
    input: &TesterInput,
    changed: &Changed,
    found: &BTreeMap<String, Found>,
    plan: &mut Plan,
) -> Result<(), Error> {
    let issue = &input.facts.issue;
    let examples = example::read(issue.title.open(), issue.body.open());
    if examples.is_empty() {
        plan.notes
            .push("no regression test: the issue states no input with its output in a form that is certain".to_owned());
        return Ok(());
    }
    for one in examples {
        let homes: Vec<&Touched> =
            changed.of_class(Class::Source).filter(|file| file.symbols().contains(&one.function)).collect();
        let function = words::line(&one.function, 100);
        let [home] = homes.as_slice() else {
            plan.notes
                .push(format!("no regression test for `{function}`: the change is not to a function of that name"));
            continue;
        };
        if defined_elsewhere(cx, changed, &home.path, &one.function).await? {
            plan.notes.push(format!("no regression test for `{function}`: more than one function has that name"));
            continue;
        }
        let mut why = "no file with tests imports it".to_owned();
        for (path, file) in found.iter().filter(|(path, file)| file.exercises && survey::is_test(path)) {
            let edited = plan.edits.iter().position(|edit| edit.file == *path);
            let Some(first) = &file.text else { continue };
            let current = match edited.and_then(|at| plan.edits.get(at)) {
                Some(edit) => assembly::after(Some(first), &edit.diff).unwrap_or_else(|_| first.clone()),
                None => first.clone(),
            };
            match one.write(path, &current, &home.path, issue.number) {
                Err(reason) => why = format!("`{path}`: {reason}"),
                Ok(written) => {
                    let told = edited.and_then(|at| plan.edits.get(at)).map_or("", |edit| edit.description.as_str());
                    let description = format!("{told} A regression test for `{function}`, as the issue states it.");
                    let edit = assembly::file_change(path, Some(first), &written.text, description.trim().to_owned());
                    match edited {
                        Some(at) => plan.edits[at] = edit,
                        None => plan.edits.push(edit),
                    }
                    why.clear();
                    break;
                }
            }
        }
        if !why.is_empty() {
            plan.notes.push(format!("no regression test for `{function}`: {why}"));
        }
    }
    Ok(())
}

async fn defined_elsewhere(cx: &Context, changed: &Changed, home: &str, name: &str) -> Result<bool, Error> {
    let own = family(home);
    let wanted = |file: &Listed| file.class == Class::Source && family(&file.path) == own;
    let name = name.to_owned();
    let count = move |path: &str, text: &str| {
        let names = text.contains(&name).then(|| crate::analysis::Names::read(path, text)).flatten()?;
        Some(names.defined.iter().filter(|one| **one == name).count()).filter(|n| *n > 0)
    };
    let found = changed.read(cx, wanted, count).await?;
    Ok(found.values().sum::<usize>() > 1)
}

/// The files of the change that hold tests, with the tester's edits on them.
async fn follow(changed: &Changed, edits: &[FileChange]) -> Result<Vec<Touched>, Error> {
    let mut files: Vec<Touched> =
        changed.files.iter().filter(|file| cases::may_hold(&file.path) && file.new.is_some()).cloned().collect();
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

fn exercised(found: &BTreeMap<String, Found>) -> String {
    let paths: Vec<&str> = found.iter().filter(|(_, file)| file.exercises).map(|(path, _)| path.as_str()).collect();
    match paths.len() {
        0 => "no test was found that exercises what is changed".to_owned(),
        n if n > NAMED => {
            let shown: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
            format!("{} and {} exercise what is changed", shown.join(", "), count(n - NAMED, "other file"))
        }
        n => {
            let shown: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            format!("{} {} what is changed", listed(&shown), if n == 1 { "exercises" } else { "exercise" })
        }
    }
}

/// Why no test came of it.
fn without(notes: &[String]) -> String {
    let about = notes.iter().find_map(|note| note.strip_prefix("no regression test"));
    let why = about.map(|why| why.trim_start_matches(':').trim()).filter(|why| !why.is_empty());
    why.unwrap_or("what it would have to expect is not certain").to_owned()
}

fn were(n: u64, noun: &str) -> String {
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    format!("{} {}", count(n, noun), if n == 1 { "was" } else { "were" })
}

fn listed<T: AsRef<str>>(items: &[T]) -> String {
    items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>() + ".").unwrap_or_default()
}
