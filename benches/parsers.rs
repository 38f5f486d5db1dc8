//! What it costs to have strangers' bytes read in C by workers: 100 files of our own sources, in place and by the pool.
//!
//! Four threads ask, as a review does. Nothing here fails for being slow; it does fail when the two do not say the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, reads files and stops where it cannot go on"
)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use octoswarm::analysis::{Engine, Names, Outline};
use octoswarm::app::parsers;
use octoswarm::sandbox::Parsers;
use octoswarm::stdx::workers;
use octoswarm::workspace::patch;
use support::table::{megabytes, milliseconds, ratio};
use support::{Page, median, option, project};

/// As many as a review has in hand.
const THREADS: usize = 4;

type File = (String, String);
type Work = fn(&Engine, &File) -> usize;

/// What a review, and the work on an issue, want of a file; each tells how much it found.
const WORKS: [(&str, Work); 4] = [
    ("scan", |engine, (path, text)| engine.scan(path, text).findings.len()),
    ("outline", |_, (path, text)| Outline::read(path, text).map_or(0, |outline| outline.items.len())),
    ("names", |_, (path, text)| Names::read(path, text).map_or(0, |names| names.used.len())),
    ("diff", |_, (path, text)| patch::diff(Some(path), Some(path), text, &edited(text)).len()),
];

fn main() {
    let wanted = option("files", 100.0) as usize;
    let runs = option("runs", 9.0) as usize;
    let engine = Engine::embedded().unwrap();
    let files = files(wanted);
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    let mut page = Page::new("parsers");
    page.line(&format!("{} files of this repository, {}.", files.len(), megabytes(bytes as u64)));

    let in_place: Vec<_> = WORKS.iter().map(|(_, work)| measured(*work, &engine, &files, runs)).collect();
    let pool = Parsers::new(parsers::settings()).unwrap();
    assert!(workers::install(Arc::new(pool.clone())));
    let began = Instant::now();
    WORKS[0].1(&engine, &files[0]);
    let first = began.elapsed();

    page.head(&["100 files", "in place", "by workers", "ratio"]);
    for ((name, work), (here, found)) in WORKS.iter().zip(&in_place) {
        let (there, same) = measured(*work, &engine, &files, runs);
        assert_eq!(*found, same, "{name}: workers say something else");
        let cells = [milliseconds(*here), milliseconds(there), ratio(there.as_secs_f64(), here.as_secs_f64())];
        page.row(&[vec![(*name).to_owned()], cells.to_vec()].concat());
    }
    let resident: Vec<u64> = pool.idle().into_iter().map(resident).collect();
    page.line(&format!(
        "\nThe first file, with a worker's start and the rules of its language: {}. {} workers, {} each at most.",
        milliseconds(first),
        resident.len(),
        megabytes(resident.into_iter().max().unwrap_or(0)),
    ));
    page.keep();
}

/// How long all files take, the median of several runs after one to warm up, and what was found.
fn measured(work: Work, engine: &Engine, files: &[File], runs: usize) -> (Duration, usize) {
    let once = || {
        let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let began = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        found.fetch_add(work(engine, file), Ordering::Relaxed);
                    }
                });
            }
        });
        (began.elapsed().as_secs_f64(), found.into_inner())
    };
    let (_, found) = once();
    (Duration::from_secs_f64(median((0..runs).map(|_| once().0))), found)
}

/// Every tenth line is another one.
fn edited(text: &str) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(nth, line)| if nth % 10 == 9 { "changed\n" } else { line }).collect()
}

/// Files of all parts of the project, the same each time.
fn files(wanted: usize) -> Vec<File> {
    fn below(folder: &Path, found: &mut Vec<File>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((path.to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut all = Vec::new();
    below(&project().join("src"), &mut all);
    all.sort();
    let every = (all.len() / wanted).max(1);
    all.into_iter().step_by(every).take(wanted).collect()
}

fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
