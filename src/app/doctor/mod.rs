//! `octoswarm doctor`: everything that has to be right for the server to work, looked at one by one.
//!
//! Nothing is changed: no folder is made, no schema migrated, no delivery asked for again.

mod github;
mod installed;
mod local;
mod sandbox;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::config::{Overrides, Resolution, ServerConfig, Start};
use crate::domain::Clock;
use crate::github::Error;

/// No question is waited for longer.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Nor all of them together.
const ALL_TOGETHER: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Pass,
    /// It works, and will not for long, or not as well as it could.
    Warn,
    Fail,
    /// Not looked at; `seen` says why.
    Skipped,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What it belongs to: `configuration`, `state`, `github`, `app`, `git`, `address`.
    pub group: &'static str,
    pub name: String,
    pub outcome: Outcome,
    pub seen: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub overrides: Overrides,
    /// Look at this machine only.
    pub offline: bool,
}

/// Who has the address that the server listens on, as its owner, the webhook door, saw it.
#[derive(Debug)]
pub enum Door {
    Free,
    Ours {
        ready: bool,
        reason: Option<String>,
    },
    /// A server of ours that has no App yet.
    WaitsForSetUp,
    Taken,
    Unusable(std::io::Error),
}

/// What was looked at.
#[derive(Debug)]
pub struct Report {
    /// The configuration file that was read.
    pub file: Option<PathBuf>,
    pub checks: Vec<Check>,
}

impl Report {
    pub fn count(&self, outcome: Outcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }
}

/// Looks at everything and tells each check as it is made.
pub async fn examine(
    options: Options,
    tell: &mut dyn FnMut(&Check),
    door: impl AsyncFnOnce(SocketAddr) -> Door,
) -> Report {
    let mut exam = Exam { checks: Vec::new(), group: "", tell };
    let resolution = Resolution::load(&options.overrides);
    if tokio::time::timeout(ALL_TOGETHER, all(&mut exam, &options, &resolution, door)).await.is_err() {
        let seen = format!("not everything was looked at within {} s", ALL_TOGETHER.as_secs());
        exam.fail("time", seen, "see which check came last: what follows it was not looked at");
    }
    Report { file: resolution.file, checks: exam.checks }
}

async fn all(
    exam: &mut Exam<'_>,
    options: &Options,
    resolution: &Resolution,
    door: impl AsyncFnOnce(SocketAddr) -> Door,
) {
    let clock = Clock::system();
    // Asked first: a server that waits for its App explains why none is named.
    let door = match resolution.listen {
        Some(listen) => Some((listen, door(listen).await)),
        None => None,
    };
    let waits = matches!(door, Some((_, Door::WaitsForSetUp)));
    local::configuration(exam, resolution, waits);
    local::state(exam, resolution, &clock).await;
    sandbox::look(exam, &resolution.sandbox).await;
    sandbox::proxy(exam, &resolution.sandbox, options.offline).await;
    let config = match &resolution.start {
        _ if options.offline => Err("--offline"),
        Some(Start::Configured(config)) => Ok(config),
        Some(Start::SetUp(_)) => Err("no App is configured"),
        None => Err("the configuration is at fault"),
    };
    match config {
        Ok(config) => world(exam, config, &clock).await,
        Err(why) => {
            github::skip(exam, why);
            installed::skip(exam, why);
        }
    }
    exam.group = "address";
    match door {
        Some((listen, door)) => local::address(exam, listen, door),
        None => exam.skip("listen", "the configuration is at fault"),
    }
}

/// What is beyond this machine.
async fn world(exam: &mut Exam<'_>, config: &ServerConfig, clock: &Clock) {
    match github::reach(exam, config, clock).await {
        Ok(found) => installed::look(exam, config, &found).await,
        Err(why) => installed::skip(exam, &why),
    }
}

struct Exam<'a> {
    checks: Vec<Check>,
    group: &'static str,
    tell: &'a mut dyn FnMut(&Check),
}

impl Exam<'_> {
    fn pass(&mut self, name: &str, seen: impl Into<String>) {
        self.add(name, Outcome::Pass, seen.into(), None);
    }

    /// Right as it is, with something to know.
    fn note(&mut self, name: &str, seen: impl Into<String>, advice: impl Into<String>) {
        self.add(name, Outcome::Pass, seen.into(), Some(advice.into()));
    }

    fn warn(&mut self, name: &str, seen: impl Into<String>, advice: impl Into<String>) {
        self.add(name, Outcome::Warn, seen.into(), Some(advice.into()));
    }

    fn fail(&mut self, name: &str, seen: impl Into<String>, advice: impl Into<String>) {
        self.add(name, Outcome::Fail, seen.into(), Some(advice.into()));
    }

    fn skip(&mut self, name: &str, why: &str) {
        self.add(name, Outcome::Skipped, why.to_owned(), None);
    }

    fn add(&mut self, name: &str, outcome: Outcome, seen: String, advice: Option<String>) {
        let check = Check { group: self.group, name: name.to_owned(), outcome, seen, advice };
        (self.tell)(&check);
        self.checks.push(check);
    }
}

/// An answer of GitHub's within our patience.
async fn answer<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = || Error::Timeout { call: "this question".to_owned(), after: PATIENCE };
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(late()))
}

fn advice(error: &Error) -> String {
    error.hint().unwrap_or_else(|| "try again; if it lasts, see https://www.githubstatus.com".to_owned())
}
