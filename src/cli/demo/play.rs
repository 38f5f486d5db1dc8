//! `octoswarm demo comment|push|open|issue|label|review|merge`: acting in a box that stays up in another terminal.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::story::REPO;
use crate::cli::args::Play;
use crate::cli::{Exit, Failure, report};
use crate::config;
use crate::demo::GitHubBox;
use crate::stdx::file;

/// Where the running box is, for the other terminal; readable by its owner only, since the token is the key to it.
#[derive(Serialize, Deserialize)]
struct Address {
    url: String,
    token: String,
}

/// The address on disk, until it is dropped with the box.
pub struct Door {
    path: PathBuf,
    text: Vec<u8>,
}

impl Door {
    pub fn open(github: &GitHubBox) -> anyhow::Result<Self> {
        let path = address_file()?;
        let text = serde_json::to_vec(&Address { url: github.web_url(), token: github.control_token() })?;
        file::write_private(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path, text })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // A demo that began later has put its own address there, which stays.
        if std::fs::read(&self.path).is_ok_and(|text| text == self.text) {
            // Gone already is as good.
            let _gone = std::fs::remove_file(&self.path);
        }
    }
}

pub async fn cmd_play(play: Play) -> Exit {
    let (what, body) = request(play).map_err(Failure::Usage)?;
    let address = address().map_err(Failure::Usage)?;
    let answer = reqwest::Client::new()
        .post(format!("{}/_box/{what}", address.url))
        .header("X-Box-Token", &address.token)
        .json(&body)
        .send()
        .await
        .map_err(|_| anyhow::anyhow!("the box does not answer: is `octoswarm demo` still up in the other terminal?"))?;
    let (status, text) = (answer.status(), answer.text().await?);
    if status == reqwest::StatusCode::NOT_FOUND {
        return Err(Failure::Usage(anyhow::anyhow!("{REPO} has no issue or pull request of that number")));
    }
    if !status.is_success() {
        return Err(Failure::Failed(anyhow::anyhow!("the box refused: {text}")));
    }
    report::line(&crate::stdx::text::visible(&text));
    Ok(ExitCode::SUCCESS)
}

fn request(play: Play) -> anyhow::Result<(&'static str, Value)> {
    Ok(match play {
        Play::Comment { number, body, who } => {
            ("comment", json!({"repo": REPO, "number": number, "as": who, "body": body}))
        }
        Play::Push { branch, path, from, message, who } => {
            let content = content(&from)?;
            (
                "push",
                json!({"repo": REPO, "branch": branch, "as": who, "path": path, "content": content, "message": message}),
            )
        }
        Play::Open { branch, title, base, who } => {
            ("open", json!({"repo": REPO, "branch": branch, "as": who, "title": title, "base": base}))
        }
        Play::Issue { title, from, who } => {
            let body = content(&from)?;
            ("issue", json!({"repo": REPO, "as": who, "title": title, "body": body}))
        }
        Play::Label { number, label, who } => {
            ("label", json!({"repo": REPO, "number": number, "as": who, "label": label}))
        }
        Play::Review { number, verdict, body, who } => {
            ("review", json!({"repo": REPO, "number": number, "as": who, "verdict": verdict.event(), "body": body}))
        }
        Play::Merge { number, who } => ("merge", json!({"repo": REPO, "number": number, "as": who})),
    })
}

fn content(from: &Path) -> anyhow::Result<String> {
    if from == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input as text")?;
        return Ok(text);
    }
    std::fs::read_to_string(from).with_context(|| format!("cannot read {} as text", from.display()))
}

fn address() -> anyhow::Result<Address> {
    let path = address_file()?;
    let Ok(bytes) = std::fs::read(&path) else {
        bail!("no demo is up: start `octoswarm demo` in another terminal first");
    };
    serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged; start the demo again", path.display()))
}

fn address_file() -> anyhow::Result<PathBuf> {
    Ok(config::state_dir(None)?.join("demo.json"))
}
