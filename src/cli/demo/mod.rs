//! `octoswarm demo`: a GitHub in a box, the real server against it, people who act, and what came of it.

mod document;
mod play;
mod server;
mod show;
mod story;
mod swarm;
mod tree;

use std::convert::Infallible;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use super::interrupt::{Interrupt, Interrupts};
use super::{Exit, args, report};
use crate::demo::{AppManifest, GitHubBox, Options};
use crate::stdx::scratch::{self, Scratch};
use anyhow::Context;
use server::{Server, Settings};
use show::Show;
use story::{REPO, Story};

/// The App as an organisation would register it.
const MANIFEST: &str = include_str!("../../../app-manifest.yml");

/// How the names of the folders with keys and state begin.
const FOLDER: &str = "octoswarm-demo-";

pub async fn cmd_demo(args: args::Demo) -> Exit {
    if let Some(play) = args.play {
        return play::cmd_play(play).await;
    }
    // Before anything is on the disk: from the first moment on, whoever ends us leaves nothing behind.
    let mut interrupts = Interrupts::catch()?;
    sweep();
    if args.set_up {
        return tokio::select! {
            failed = without_app(args.box_port) => failed.map(|never| match never {}).map_err(Into::into),
            told = interrupts.next() => Ok(told.exit()),
        };
    }
    let stays = !args.once && !args.json && std::io::stdout().is_terminal();
    let Stage { mut story, folder } = tokio::select! {
        told = tell(args) => told?,
        // What was begun is dropped: first the server, then the box, then the folder that they stood in.
        told = interrupts.next() => return Ok(told.exit()),
    };
    let ok = story.came_out_right();
    // Ctrl-C is how a demo that stays up is ended: the story was told, and decides.
    let ended = if stays { Some(stay(&mut story, &folder, &mut interrupts).await?) } else { None };
    story.end().await;
    drop(folder);
    Ok(match ended.filter(|told| *told != Interrupt::Pressed) {
        Some(told) => told.exit(),
        None if ok => ExitCode::SUCCESS,
        None => ExitCode::from(super::EXIT_FINDINGS),
    })
}

/// What demos left that were killed: keys of nobody, and room on the disk. None of it stands in this one's way.
fn sweep() {
    for swept in [scratch::sweep(FOLDER), GitHubBox::sweep()] {
        if let Err(error) = swept {
            report::warning(&format!("what former demos left could not be looked for: {error}"));
        }
    }
}

/// Who plays, and the folder of keys and state. Dropped in this order.
struct Stage {
    story: Story,
    folder: Scratch,
}

async fn tell(args: args::Demo) -> anyhow::Result<Stage> {
    let began = Instant::now();
    let show = Show::new(args.json);
    let folder = Scratch::new(FOLDER)?;
    let secret = format!("demo-{}", uuid::Uuid::new_v4());
    let options = Options {
        port: args.box_port,
        record: args.record.clone(),
        ..Options::new(AppManifest::parse(MANIFEST)?, &secret)
    };
    let github = GitHubBox::start(options).await?;
    show.say(&format!("A GitHub in a box is at {}", github.web_url()));
    let settings = Settings {
        api_url: args.api_url.unwrap_or_else(|| github.api_url()),
        web_url: github.web_url(),
        app_id: github.app_id(),
        private_key: github.private_key_pem(),
        webhook_secret: secret,
    };
    let server = Server::start(settings, folder.path()).await?;
    github.set_webhook_url(&server.webhook_url());
    show.say(&format!("The server listens at {}", server.webhook_url()));

    let runs = server.state().join("runs");

    let mut story = Story::new(github, server, show).await?;
    story.tell().await.with_context(|| "the story could not be told to its end")?;
    if let Some(record) = &args.record {
        record_documents(&runs, record).context("the documents of the runs could not be recorded")?;
    }
    if args.json {
        report::line(&serde_json::to_string_pretty(&document::document(&story, began.elapsed()).await?)?);
    } else {
        story.conclude(began.elapsed());
    }
    Ok(Stage { story, folder })
}

/// Appends what the server wrote into the folders of its runs, one line each: material for checks by programs of others.
fn record_documents(runs: &Path, record: &Path) -> anyhow::Result<()> {
    let mut lines = std::fs::OpenOptions::new().append(true).open(record)?;
    for run in std::fs::read_dir(runs)? {
        for file in std::fs::read_dir(run?.path())? {
            let file = file?;
            let content: serde_json::Value = serde_json::from_slice(&std::fs::read(file.path())?)?;
            let name = file.file_name().to_string_lossy().into_owned();
            let line = serde_json::json!({ "document": { "file": name, "content": content } });
            lines.write_all(format!("{line}\n").as_bytes())?;
        }
    }
    Ok(())
}

/// A GitHub without an App, for whoever wants to see set-up; up until it is dropped.
async fn without_app(port: u16) -> anyhow::Result<Infallible> {
    let options = Options { unregistered: true, port, ..Options::new(AppManifest::parse(MANIFEST)?, "") };
    let github = GitHubBox::start(options).await?;
    for repo in [REPO, "octo/website"] {
        github.people().create_repo(repo, tree::change("main")).await?;
        github.people().add_collaborator(repo, "mona", "write").await?;
    }
    let _door = play::Door::open(&github)?;
    report::line(&format!("a GitHub in a box is at {}", github.web_url()));
    report::note("it has the organisation `octo` and no App. From another terminal:");
    report::note(&format!("  {} serve --state DIR", program()));
    report::note("Open the link that it prints, and give the box's address as the GitHub Enterprise Server.");
    report::note("Once the App is installed, this makes work for it:");
    for what in PLAYS_ISSUES {
        report::note(&format!("  {} demo {what}", program()));
    }
    report::note("Ctrl-C stops it.");
    std::future::pending().await
}

/// How this program was called, for commands that are shown to be typed.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "octoswarm".to_owned())
}

/// What can be played where there are no branches yet.
const PLAYS_ISSUES: [&str; 2] = ["issue \"A title\" ./text.md", "label NUMBER"];

/// Keeps box and server up for whoever wants to play, until it is told to stop.
async fn stay(story: &mut Story, folder: &Scratch, interrupts: &mut Interrupts) -> anyhow::Result<Interrupt> {
    let _door = play::Door::open(story.github())?;
    report::line(&format!("\nBox and server stay up. Clone it: git clone {}", story.clone_url()));
    let program = program();
    report::line("From another terminal:");
    let plays = ["push my-branch api/new.py ./new.py", "open my-branch \"A title\"", "comment 1 \"/swarm status\""];
    for what in plays.into_iter().chain(PLAYS_ISSUES) {
        report::line(&format!("  {program} demo {what}"));
    }
    report::line(&format!("Numbers are those of {REPO}; `label` sets `swarm`, which asks for a pull request."));
    let settings = server::settings_in(folder.path());
    report::line(&format!("What the doctor says of this server: {program} doctor --config {}", settings.display()));
    report::line("Ctrl-C stops it.\n");
    tokio::select! {
        watched = story.watch() => watched.map(|never| match never {}),
        told = interrupts.next() => Ok(told),
    }
}
