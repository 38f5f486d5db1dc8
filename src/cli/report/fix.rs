//! What came of an issue, for the person beside the diff.

use super::{list, note};
use crate::app::local::{CheckOutcome, Done, Form, Nothing};
use crate::stdx::text::{count, visible_line};

/// What an issue can say so that a mechanic understands it.
const FORMS: [(Form, &str); 4] = [
    (Form::Patch, "a patch in the issue"),
    (Form::Replacement, "\"replace `a` by `b`\""),
    (Form::Rule, "the name of a rule (`octoswarm rules` lists them)"),
    (Form::StandardFile, "the name of a standard file that is missing"),
];

/// What was changed and what was not checked.
pub fn fixed(done: &Done) {
    let (added, removed) = done.files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    note(&format!("{} changed, +{added} −{removed}:", count(done.files.len(), "file")));
    for file in &done.files {
        note(&format!("  {}: {}", visible_line(&file.path), visible_line(&file.description)));
    }
    checked(done);
    list("Note:", &done.notes);
}

/// How a change was checked, and what was not.
pub fn checked(done: &Done) {
    let Some(checks) = &done.checks else {
        return note("Parsed and scanned again; tests, linters and builds were not run.");
    };
    let told = checks.iter().map(|check| match &check.outcome {
        CheckOutcome::Passed => format!("passed: {}", check.what),
        CheckOutcome::Failed { why } => format!("failed: {}: {why}", check.what),
        CheckOutcome::NotRun { why } => format!("not run: {}: {why}", check.what),
    });
    list("Parsed and scanned again; the repository's own checks:", &told.collect::<Vec<_>>());
}

/// Why nothing was changed, and what would help.
pub fn not_fixed(nothing: &Nothing) {
    list("Nothing was changed:", &nothing.why);
    list("Understood:", &nothing.understood);
    list("How it could be done:", &nothing.plan);
    list("Where:", &nothing.files);
    let forms = FORMS.iter().filter(|(form, _)| !nothing.given.contains(form));
    note(&format!("What would help: {}.", forms.map(|(_, text)| *text).collect::<Vec<_>>().join("; ")));
}
