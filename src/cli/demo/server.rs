//! The real server as a child process: this same binary as `serve`, so that it can be killed for real.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::stdx::file;

/// What the child needs to find the box; everything else is as in production.
pub struct Settings {
    pub api_url: String,
    pub web_url: String,
    pub app_id: u64,
    pub private_key: String,
    pub webhook_secret: String,
}

/// A place on disk and a port that survive the child's death.
pub struct Server {
    settings: Settings,
    folder: PathBuf,
    listen: SocketAddr,
    child: Option<Child>,
}

impl Server {
    /// Starts the server on a free port of this machine.
    pub async fn start(settings: Settings, folder: &Path) -> anyhow::Result<Self> {
        for (name, text) in [("app.pem", &settings.private_key), ("webhook.secret", &settings.webhook_secret)] {
            file::write_private(&folder.join(name), text.as_bytes()).with_context(|| format!("cannot write {name}"))?;
        }
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self { settings, folder: folder.to_owned(), listen, child: None };
        server.spawn().await?;
        Ok(server)
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub fn webhook_url(&self) -> String {
        format!("http://{}/webhook", self.listen)
    }

    /// SIGKILL: no handler runs, nothing is flushed.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().await.context("cannot kill the server")?;
        }
        Ok(())
    }

    /// Starts again on the same state and port.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.kill().await?;
        self.spawn().await
    }

    async fn spawn(&mut self) -> anyhow::Result<()> {
        let mut child = self.command()?.spawn().context("cannot start this program again as `serve`")?;
        let stdout = child.stdout.take().context("the server has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(Duration::from_secs(30), lines.next_line())
            .await
            .context("the server did not say within 30 s where it listens")??;
        let Some(address) = first.as_deref().and_then(|line| line.strip_prefix("listening on http://")) else {
            bail!("the server did not start; its log is {}", self.log().display());
        };
        self.listen = address.parse().context("the server's address")?;
        self.child = Some(child);
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a named exception: the demo starts this same binary, in order to kill it"
    )]
    fn command(&self) -> anyhow::Result<Command> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log())?;
        let mut command = Command::new(std::env::current_exe().context("where this program is")?);
        command
            .arg("serve")
            .env_clear()
            .env("OCTOSWARM_APP_ID", self.settings.app_id.to_string())
            .env("OCTOSWARM_PRIVATE_KEY_FILE", self.folder.join("app.pem"))
            .env("OCTOSWARM_WEBHOOK_SECRET_FILE", self.folder.join("webhook.secret"))
            .env("OCTOSWARM_API_URL", &self.settings.api_url)
            .env("OCTOSWARM_WEB_URL", &self.settings.web_url)
            .env("OCTOSWARM_STATE", self.state())
            .env("OCTOSWARM_LISTEN", self.listen.to_string())
            // The box is consistent at once and has no crowd to protect: no reason to wait for either.
            .env("OCTOSWARM_SETTLE_MS", "500")
            .env("OCTOSWARM_WRITE_PACE_MS", "0")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        Ok(command)
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }
}
