//! Whether repositories' commands can be run here, and what holds them.

use std::time::Duration;

use super::Exam;
use crate::app::{bench, parsers as workers};
use crate::config::Sandboxing;
use crate::sandbox::{Parsers, Sandbox, Verdict};

/// A machine that hangs over its namespaces must not hold the doctor up.
const PATIENCE: Duration = Duration::from_secs(20);
/// A proxy is near.
const NEAR: Duration = Duration::from_secs(5);
const GROUP: &str = "sandbox";
const PARSERS: &str = "parsers";

/// Whether somebody answers where registries are to be reached by.
pub(super) async fn proxy(exam: &mut Exam<'_>, settings: &Sandboxing, offline: bool) {
    let Some(at) = &settings.proxy else { return };
    exam.group = GROUP;
    if offline {
        return exam.pass("proxy", format!("registries are reached by {at}"));
    }
    let connected = tokio::time::timeout(NEAR, tokio::net::TcpStream::connect(at)).await;
    match connected.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())) {
        Ok(_) => exam.pass("proxy", format!("registries are reached by {at}, which answers")),
        Err(error) => {
            let todo = "correct `proxy` in `[sandbox]`, or start the proxy; until then no dependencies are fetched";
            exam.warn("proxy", format!("registries are to be reached by {at}, which does not answer: {error}"), todo);
        }
    }
}

/// What commands find beside the system's own programs.
fn toolchains(exam: &mut Exam<'_>, settings: &Sandboxing) {
    let (there, missing): (Vec<_>, Vec<_>) = settings.tools.iter().partition(|path| path.is_dir());
    let list = |paths: &[&std::path::PathBuf]| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    if !missing.is_empty() {
        let todo = "mend `tools` under `[sandbox]`: every command would fail";
        return exam.warn("toolchains", format!("not there: {}", list(&missing)), todo);
    }
    let seen = match there.is_empty() {
        true => "the system's own".to_owned(),
        false => format!("the system's own, and {}", list(&there)),
    };
    exam.pass("toolchains", seen);
}

/// Where none works nothing of a repository is run: that is a warning, since everything else goes on.
pub(super) async fn look(exam: &mut Exam<'_>, settings: &Sandboxing) {
    exam.group = GROUP;
    parsers(exam).await;
    toolchains(exam, settings);
    let opened = tokio::time::timeout(PATIENCE, Sandbox::open(bench::settings(settings, std::env::temp_dir()))).await;
    let checks = match opened {
        Ok(Ok(sandbox)) => sandbox.probe().checks.clone(),
        Ok(Err(unavailable)) => unavailable.checks,
        Err(_) => {
            let seen = format!("it was not done within {} s", PATIENCE.as_secs());
            return exam.warn("trial", seen, "see whether `bwrap --ro-bind / / true` ends on this machine");
        }
    };
    for check in checks {
        match (check.verdict, check.advice) {
            (Verdict::Good, None) => exam.pass(check.name, check.seen),
            (Verdict::Good | Verdict::Missing, Some(advice)) => exam.note(check.name, check.seen, advice),
            (Verdict::Missing, None) => exam.pass(check.name, check.seen),
            (Verdict::Fatal, advice) => {
                let todo = advice.unwrap_or_else(|| "see docs/sandbox.md".to_owned());
                exam.warn(check.name, check.seen, format!("{todo}; until then no command of a repository is run"));
            }
        }
    }
}

/// Whether what reads strangers' files in C can be had, and what it can reach.
async fn parsers(exam: &mut Exam<'_>) {
    let tried = tokio::task::spawn_blocking(|| {
        let parsers = Parsers::new(workers::settings()).map_err(|error| error.to_string())?;
        parsers.try_out()
    });
    match tried.await.unwrap_or_else(|error| Err(error.to_string())) {
        Err(why) => {
            let todo = "no file of code is read without it: see docs/sandbox.md, section Parsers";
            exam.fail(PARSERS, format!("none can be started: {why}"), todo);
        }
        Ok((_, tried)) if !tried.parsed => {
            exam.fail(
                PARSERS,
                "one started, and could not read a small file",
                "please report it: no file of code is read",
            );
        }
        Ok((held, tried)) => {
            let reached = || format!("a parser could {}", tried.could.join(", "));
            match (held.lacks(), tried.could.is_empty(), tried.variables) {
                (None, true, 0) => {
                    exam.pass(
                        PARSERS,
                        "one started and read a small file; it can open no file and no socket, nor start anything",
                    );
                }
                (Some(lack), true, 0) => {
                    exam.note(PARSERS, format!("one started; {lack}"), "the other walls stand without it")
                }
                (lack, false, _) => {
                    let todo = format!("{}: it is held by its limits alone", lack.unwrap_or("please report it"));
                    exam.warn(PARSERS, reached(), todo);
                }
                (_, true, variables) => {
                    exam.warn(PARSERS, format!("it has {variables} variables of an environment"), "please report it");
                }
            }
        }
    }
}
