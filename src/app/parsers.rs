//! Who reads strangers' bytes in C for this program: workers, as the sandbox holds them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::bench;
use crate::sandbox::{self, ParserSettings, Parsers, Work};
use crate::stdx::workers::{self, Answers, Here};
use crate::{analysis, workspace};

/// More would be more memory; reviews take turns.
const MOST: usize = 4;
const MEMORY: u64 = 1 << 30;
/// Ordinary files take milliseconds.
const TIME: Duration = Duration::from_secs(10);
const QUESTIONS: u32 = 1_000;

/// The rooms that have something read elsewhere.
const ROOMS: &[Answers] = &[analysis::answer, workspace::answer];

/// The other lives of this program: parts of its sandbox, workers among them. `None` when it was started as itself.
pub fn sandbox_helper(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    sandbox::helper(args, &Work { prepare, answer })
}

/// What a worker answers to a question.
pub fn answer(question: &[u8]) -> Option<Vec<u8>> {
    workers::answer(question, ROOMS)
}

fn prepare() -> Result<(), String> {
    workers::prepare(|here: &Here| {
        analysis::prepare(here).map_err(|error| error.to_string())?;
        workspace::prepare(here).map_err(|error| error.to_string())
    })
}

/// From here on this process reads no stranger's bytes in C itself.
///
/// # Errors
/// No thread can be had.
pub fn install() -> std::io::Result<()> {
    // Who was first has made the same.
    let _first = workers::install(Arc::new(Parsers::new(settings())?));
    Ok(())
}

/// What workers of this program may take.
pub fn settings() -> ParserSettings {
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
    ParserSettings { helper: program(), most, memory: MEMORY, time: TIME, questions: QUESTIONS }
}

/// This program's file. Where it is what runs here it is told so that it stays the same one, also when an update has put another in its
/// place: a worker of another version would have other questions.
fn program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    let found = bench::helper();
    if std::env::current_exe().is_ok_and(|running| running == found) && own.exists() { own } else { found }
}
