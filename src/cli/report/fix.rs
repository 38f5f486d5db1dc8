//! What came of an issue, for the person beside the diff.

use super::{list, note};
use crate::app::local::{Done, Nothing};
use crate::stdx::text::{count, visible_line};

/// What was changed and what was not checked.
pub fn fixed(done: &Done) {
    let (added, removed) = done.files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    note(&format!("{} changed, +{added} −{removed}:", count(done.files.len(), "file")));
    for file in &done.files {
        note(&format!("  {}: {}", visible_line(&file.path), visible_line(&file.description)));
    }
    note("Parsed and scanned again; tests, linters and builds were not run.");
    list("Note:", &done.notes);
}

/// Why nothing was changed, and what would help.
pub fn not_fixed(nothing: &Nothing) {
    list("Nothing was changed:", &nothing.why);
    list("Understood:", &nothing.understood);
    list("How it could be done:", &nothing.plan);
    list("Where:", &nothing.files);
    note(
        "What would help: a patch in the issue; \"replace `a` by `b`\"; the name of a rule (`octoswarm rules` lists them); \
         the name of a standard file that is missing.",
    );
}
