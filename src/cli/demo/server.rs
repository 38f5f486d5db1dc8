//! The real server as a child process: this same binary as `serve`, so that it can be killed for real.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::stdx::file;

const KEY: &str = "app.pem";
const SECRET: &str = "webhook.secret";

/// The configuration of the server whose folder this is.
pub fn settings_in(folder: &Path) -> PathBuf {
    folder.join("octoswarm.toml")
}

/// What the child needs to find the box; everything else is as in production.
pub struct Settings {
    pub api_url: String,
    pub web_url: String,
    pub app_id: u64,
    pub private_key: String,
    pub webhook_secret: String,
}

/// How long a child that was killed may take to be gone.
const DYING: Duration = Duration::from_secs(5);

/// A place on disk and a port that survive the child's death. Dropped, it leaves no child.
pub struct Server {
    settings: Settings,
    folder: PathBuf,
    listen: SocketAddr,
    child: Option<Child>,
}

impl Server {
    /// Starts the server on a free port of this machine.
    pub async fn start(settings: Settings, folder: &Path) -> anyhow::Result<Self> {
        for (name, text) in [(KEY, &settings.private_key), (SECRET, &settings.webhook_secret)] {
            file::write_private(&folder.join(name), text.as_bytes()).with_context(|| format!("cannot write {name}"))?;
        }
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = Self { settings, folder: folder.to_owned(), listen, child: None };
        server.spawn().await?;
        // For whoever asks something else of the same configuration: by now the port is known.
        server.write_settings()?;
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
        self.write_settings()?;
        // Ours from its first moment: whoever stops waiting below has it ended.
        let child = self.child.insert(self.command()?.spawn().context("cannot start this program again as `serve`")?);
        let stdout = child.stdout.take().context("the server has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = tokio::time::timeout(Duration::from_secs(30), lines.next_line())
            .await
            .context("the server did not say within 30 s where it listens")??;
        let Some(address) = first.as_deref().and_then(|line| line.strip_prefix("listening on http://")) else {
            bail!("the server did not start; its log is {}", self.log().display());
        };
        self.listen = address.parse().context("the server's address")?;
        Ok(())
    }

    fn write_settings(&self) -> anyhow::Result<()> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let settings = toml::Table::from_iter([
            ("app_id".to_owned(), toml::Value::try_from(self.settings.app_id)?),
            ("private_key_file".to_owned(), path(KEY).into()),
            ("webhook_secret_files".to_owned(), vec![path(SECRET)].into()),
            ("api_url".to_owned(), self.settings.api_url.as_str().into()),
            ("web_url".to_owned(), self.settings.web_url.as_str().into()),
            ("state".to_owned(), path("state").into()),
            ("listen".to_owned(), self.listen.to_string().into()),
            // The box is consistent at once and has no crowd to protect: no reason to wait for either.
            ("settle_ms".to_owned(), 500.into()),
            ("write_pace_ms".to_owned(), 0.into()),
        ]);
        let file = settings_in(&self.folder);
        file::write_private(&file, toml::to_string(&settings)?.as_bytes())
            .with_context(|| format!("cannot write {}", file.display()))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a named exception: the demo starts this same binary, in order to kill it"
    )]
    fn command(&self) -> anyhow::Result<Command> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log())?;
        let mut command = Command::new(std::env::current_exe().context("where this program is")?);
        command
            .args(["serve", "--until-input-ends", "--config"])
            .arg(settings_in(&self.folder))
            .env_clear()
            .current_dir(&self.folder)
            // Nothing is ever written there: it ends when we do, however we do.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        Ok(command)
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }
}

impl Drop for Server {
    /// What still writes cannot be removed: the folder goes next, so the child has to be dead and not only dying.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if child.start_kill().is_err() {
            // It has died by itself.
            return;
        }
        let killed = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && killed.elapsed() < DYING {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
