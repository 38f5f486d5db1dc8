//! `octoswarm demo`: a GitHub in a box, the real server against it, people who act, and what came of it.

mod document;
mod play;
mod server;
mod show;
mod story;
mod swarm;
mod tree;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;

use super::{Exit, args, report};
use crate::demo::{AppManifest, GitHubBox, Options};
use server::{Server, Settings};
use show::Show;
use story::{REPO, Story};

/// The App as an organisation would register it.
const MANIFEST: &str = include_str!("../../../app-manifest.yml");

pub async fn cmd_demo(args: args::Demo) -> Exit {
    if let Some(play) = args.play {
        return play::cmd_play(play).await;
    }
    if args.set_up {
        return without_app(args.box_port).await;
    }
    let began = Instant::now();
    let show = Show::new(args.json);
    let folder = tempfile::Builder::new().prefix("octoswarm-demo-").tempdir()?;
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
    let ok = story.came_out_right();
    if let Some(record) = &args.record {
        record_documents(&runs, record).context("the documents of the runs could not be recorded")?;
    }
    if args.json {
        report::line(&serde_json::to_string_pretty(&document::document(&story, began.elapsed()).await?)?);
    } else {
        story.conclude(began.elapsed());
    }
    if !args.once && !args.json && std::io::stdout().is_terminal() {
        stay(&mut story).await?;
    }
    story.end().await;
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::from(super::EXIT_FINDINGS) })
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

/// A GitHub without an App, for whoever wants to see set-up.
async fn without_app(port: u16) -> Exit {
    let options = Options { unregistered: true, port, ..Options::new(AppManifest::parse(MANIFEST)?, "") };
    let github = GitHubBox::start(options).await?;
    for repo in [REPO, "octo/website"] {
        github.people().create_repo(repo, tree::change("main")).await?;
    }
    report::line(&format!("a GitHub in a box is at {}", github.web_url()));
    report::note(
        "it has the organisation `octo` and no App: run `octoswarm serve --state DIR`, and give this address as the Enterprise Server",
    );
    tokio::signal::ctrl_c().await?;
    github.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// Keeps box and server up for whoever wants to play, until Ctrl-C.
async fn stay(story: &mut Story) -> anyhow::Result<()> {
    let door = play::Door::open(story.github())?;
    report::line(&format!("\nBox and server stay up. Clone it: git clone {}", story.clone_url()));
    let program = std::env::args().next().unwrap_or_else(|| "octoswarm".to_owned());
    report::line("From another terminal:");
    for what in [
        "push my-branch api/new.py ./new.py",
        "open my-branch \"A title\"",
        "comment 1 \"/swarm status\"",
        "issue \"A title\" ./text.md",
        "label NUMBER",
    ] {
        report::line(&format!("  {program} demo {what}"));
    }
    report::line(&format!("Numbers are those of {REPO}; `label` sets `swarm`, which asks for a pull request."));
    report::line("Ctrl-C stops it.\n");
    tokio::select! {
        watched = story.watch() => watched?,
        pressed = tokio::signal::ctrl_c() => pressed?,
    }
    door.close();
    Ok(())
}
