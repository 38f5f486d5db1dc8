//! Where other people's code runs: a repository's commands, and linters that read its configuration. Where our code reads other people's
//! bytes in C, too ([`Parsers`]).
//!
//! Promise: without network, host files, our environment or anything of git; capped in time, memory, processes, disk and output; gone
//! without a trace when it is over. A command that installs is let to registries, by their names. Where that cannot be had, nothing
//! runs.
//! Never: a command outside the walls; a path of theirs followed by us; a word of theirs believed.
//!
//! The walls, from outside in: a user of its own (where we are root), limits of the process, bubblewrap's namespaces and mounts, a list
//! of system calls, Landlock. A watch beside them sums up what all processes take.

#[cfg(target_os = "linux")]
mod bridge;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod seccomp;

mod cache;
mod census;
mod clear;
mod copy;
mod deps;
mod greeting;
mod groups;
mod limits;
mod output;
mod parsers;
mod plan;
mod probe;
mod proxy;
mod registries;
mod run;
mod surroundings;
mod toolchain;
mod walls;
mod watch;
mod workplace;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

pub use cache::{Cache, Key, NotKept, Saved, Trust};
pub use deps::{Deps, Network, Stage};
pub use limits::Limits;
pub use output::Output;
pub use parsers::{Held, ParserSettings, Parsers, Tried, Work};
pub use probe::{Check, Probe, Unavailable, Verdict};
pub use registries::{Ecosystem, HostPort, NoHostPort, Upstream};
pub use run::{Command, Ended, Error, Excess, Ran, Sandbox, Settings};
pub use toolchain::finds;
pub use walls::WORK;
pub use workplace::{Entry, Seen, Use, Workplace, sweep};

/// With this as its first argument the program is one of the sandbox's own, and nothing else of it is begun.
pub const VERB: &str = "sandbox-helper";
/// The part that reads strangers' bytes.
const PARSE: &str = "parse";

/// The other lives of this program: launcher, last wall, and worker that does this `work`. `None` when it was started as itself.
pub fn helper(mut args: impl Iterator<Item = OsString>, work: &Work) -> Option<ExitCode> {
    let _program = args.next();
    if args.next()? != VERB {
        return None;
    }
    let args = args.collect::<Vec<_>>();
    let (code, why) = match args.as_slice() {
        [part, plan] if part == PARSE => parsers::serve(plan, work),
        args => play(args),
    };
    // Nobody reads more than this.
    let _unheard = writeln!(std::io::stderr(), "octoswarm: {why}");
    Some(ExitCode::from(code))
}

#[cfg(target_os = "linux")]
fn play(args: &[OsString]) -> (u8, String) {
    match args.split_first() {
        Some((part, rest)) if part == "inner" => inner::become_command(rest),
        Some((part, rest)) if part == "bridged" => bridge::run_beside(rest),
        Some((part, [])) if part == "examine" => inner::examine(),
        Some((part, [plan])) if part == "launch" => (inner::NOT_STARTED, launch::launch(&plan.to_string_lossy())),
        _ => (2, "this part of octoswarm is for its sandbox alone".to_owned()),
    }
}

#[cfg(not(target_os = "linux"))]
fn play(_: &[OsString]) -> (u8, String) {
    (2, "there is no sandbox on this system".to_owned())
}
