//! Other people's commands behind the walls: what they can do, what they cannot, and what is left of them.

mod deps;
mod doctor;
mod escape;
mod parsers;
pub(crate) mod proxy;

use std::io::Write;
use std::path::PathBuf;

use octoswarm::sandbox::{Command, Ran, Sandbox, Settings, Workplace};
use tokio_util::sync::CancellationToken;

pub(crate) struct Place {
    pub(crate) sandbox: Sandbox,
    pub(crate) work: Workplace,
    pub(crate) scratch: tempfile::TempDir,
}

/// `None` where this machine has no sandbox; then it says so aloud, and `OCTOSWARM_TEST_SANDBOX=require` fails.
pub(crate) async fn place() -> Option<Place> {
    place_with(|_| {}).await
}

pub(crate) async fn place_with(change: impl FnOnce(&mut Settings)) -> Option<Place> {
    let scratch = tempfile::tempdir().unwrap();
    let mut settings = Settings {
        helper: PathBuf::from(env!("CARGO_BIN_EXE_octoswarm")),
        bwrap: None,
        tools: Vec::new(),
        scratch: scratch.path().to_owned(),
        registries: Vec::new(),
        upstream: None,
    };
    change(&mut settings);
    match Sandbox::open(settings).await {
        Ok(sandbox) => {
            let work = sandbox.workplace().unwrap();
            Some(Place { sandbox, work, scratch })
        }
        Err(why) => {
            let required = std::env::var_os("OCTOSWARM_TEST_SANDBOX").is_some_and(|value| value == "require");
            assert!(!required, "no sandbox on this machine, and it is required: {why}");
            // Past the capture of tests that pass: nobody would see it there.
            let _heard = writeln!(std::io::stderr(), "NOT RUN, since this machine has no sandbox: {why}");
            None
        }
    }
}

impl Place {
    pub(crate) async fn run(&self, command: Command) -> Ran {
        self.sandbox.run(&self.work, command, &CancellationToken::new()).await.unwrap()
    }

    /// What a shell prints.
    pub(crate) async fn sh(&self, line: &str) -> String {
        self.run(Command::shell(line)).await.output.text.open().to_owned()
    }
}
