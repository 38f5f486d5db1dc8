//! Results that a command left in files, where its output tells none.
//!
//! Never: a file that was there before; a link; a part of the truth: one report that cannot be read leaves all of it unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::checks::{Check, Counts, junit, reports};
use crate::domain::redact;
use crate::sandbox::{Seen, Workplace};
use crate::stdx::nofollow::Found;
use crate::stdx::path::join;

/// Files of a work tree that are looked over.
const MOST_FILES: usize = 500_000;
const MOST_REPORTS: usize = 2_000;
/// Bytes of one report, and of all.
const MOST_BYTES: u64 = 8 << 20;
const MOST_IN_ALL: usize = 64 << 20;
/// What dependencies bring along is no result.
const OTHERS: &[&str] = &[".git", "node_modules", ".venv", "vendor"];
const MAX_FAILING: usize = 20;

/// The work tree before a command.
pub(super) struct Before(BTreeMap<String, Seen>);

/// Looks over the work tree. `None`: it is too large for that.
pub(super) async fn before(place: &Arc<Workplace>) -> Option<Before> {
    let place = Arc::clone(place);
    tokio::task::spawn_blocking(move || place.files(OTHERS, MOST_FILES)).await.ok()?.ok().map(Before)
}

/// What the reports say that a command has written since.
pub(super) async fn since(before: Before, place: &Arc<Workplace>, check: &Check) -> Option<Counts> {
    let (place, dir, places) = (Arc::clone(place), check.dir.clone(), reports(&check.ecosystem));
    let read = move || {
        let mut now = place.files(OTHERS, MOST_FILES).ok()?;
        now.retain(|path, seen| before.0.get(path) != Some(seen));
        let below = |path: &String| {
            if dir.is_empty() {
                Some(path.clone())
            } else {
                Some(path.strip_prefix(&dir)?.strip_prefix('/')?.to_owned())
            }
        };
        let fresh: Vec<String> = now.keys().filter_map(below).collect();
        let found = places.iter().map(|glob| fresh.iter().filter(|path| glob.is_match(path)).collect::<Vec<_>>());
        sum(&place, &dir, &found.into_iter().find(|found| !found.is_empty())?)
    };
    tokio::task::spawn_blocking(read).await.ok()?
}

fn sum(place: &Workplace, dir: &str, paths: &[&String]) -> Option<Counts> {
    let mut sum = Counts::default();
    let mut bytes_in_all = 0_usize;
    if paths.len() > MOST_REPORTS {
        return None;
    }
    for path in paths {
        let Ok(Found::File { bytes, .. }) = place.read(&join(dir, path), MOST_BYTES) else { return None };
        bytes_in_all = bytes_in_all.saturating_add(bytes.len());
        if bytes_in_all > MOST_IN_ALL {
            return None;
        }
        let Counts { passed, failed, skipped, failing } = junit(&bytes)?;
        sum.passed = sum.passed.saturating_add(passed);
        sum.failed = sum.failed.saturating_add(failed);
        sum.skipped = sum.skipped.saturating_add(skipped);
        // Of an output this was done where it was taken in.
        let failing = failing.iter().map(|name| redact(name, &[]));
        let failing: Vec<String> = failing.filter(|name| !sum.failing.contains(name)).collect();
        sum.failing.extend(failing);
        sum.failing.truncate(MAX_FAILING);
    }
    Some(sum)
}
