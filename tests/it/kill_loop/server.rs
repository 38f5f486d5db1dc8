//! The real binary as `serve`: started, killed, stopped, on one state folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use octoswarm::demo::GitHubBox;
use tokio::process::{Child, Command};

use crate::support::process;

pub struct Server {
    folder: PathBuf,
    variables: Vec<(&'static str, String)>,
    child: Option<Child>,
}

/// One start that came to listen.
pub struct Started {
    pub address: SocketAddr,
    /// When the process was started, in milliseconds since the epoch: as rows tell the time.
    pub at: i64,
    pub listening_after: Duration,
}

pub fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

impl Server {
    pub fn new(github: &GitHubBox, folder: &Path) -> Self {
        for (name, text) in [("app.pem", github.private_key_pem()), ("webhook.secret", github.webhook_secret())] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let file = |name: &str| folder.join(name).display().to_string();
        let variables = vec![
            ("OCTOSWARM_APP_ID", github.app_id().to_string()),
            ("OCTOSWARM_PRIVATE_KEY_FILE", file("app.pem")),
            ("OCTOSWARM_WEBHOOK_SECRET_FILE", file("webhook.secret")),
            ("OCTOSWARM_API_URL", github.api_url()),
            ("OCTOSWARM_WEB_URL", github.web_url()),
            ("OCTOSWARM_LISTEN", "127.0.0.1:0".to_owned()),
            // The box shows at once what it has accepted, and has no crowd to protect.
            ("OCTOSWARM_SETTLE_MS", "50".to_owned()),
            ("OCTOSWARM_WRITE_PACE_MS", "0".to_owned()),
            // What the server would find again by itself is not to hide what it lost.
            ("OCTOSWARM_RECONCILE_SECONDS", "0".to_owned()),
        ];
        Self { folder: folder.to_owned(), variables, child: None }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    fn command(&self, state: &Path) -> Command {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command
            .arg("serve")
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("OCTOSWARM_STATE", state)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true);
        command
    }

    pub async fn start(&mut self) -> Result<Started, String> {
        let state = self.state();
        self.start_on(&state).await
    }

    pub async fn start_on(&mut self, state: &Path) -> Result<Started, String> {
        let (at, began) = (now(), Instant::now());
        let mut child = self.command(state).spawn().unwrap();
        let first = tokio::time::timeout(Duration::from_secs(60), process::listens(&mut child)).await;
        let Some(address) = first.map_err(|_| "the server did not listen within a minute".to_owned())? else {
            return Err(format!("the server did not start: {:?}", child.wait().await));
        };
        self.child = Some(child);
        Ok(Started { address, at, listening_after: began.elapsed() })
    }

    /// Starts and dies in the middle of it.
    pub async fn start_and_die(&self, state: &Path, after: Duration) {
        let mut child = self.command(state).spawn().unwrap();
        tokio::time::sleep(after).await;
        child.kill().await.unwrap();
    }

    /// SIGKILL, without waiting for the end.
    pub fn strike(&mut self) {
        self.child.as_mut().unwrap().start_kill().unwrap();
    }

    /// SIGKILL: no handler runs, nothing is flushed.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.unwrap();
        }
    }

    pub fn signal(&self, name: &str) {
        process::signal(self.child.as_ref().unwrap(), name);
    }

    /// Ends by itself, after having been asked to.
    pub async fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        let mut child = self.child.take().unwrap();
        match tokio::time::timeout(within, child.wait()).await {
            Ok(status) => Some(status.unwrap()),
            Err(_) => {
                child.kill().await.unwrap();
                None
            }
        }
    }

    /// Another server on the same state: how it ended.
    pub async fn second(&self) -> Option<i32> {
        let mut child = self.command(&self.state()).spawn().unwrap();
        match tokio::time::timeout(Duration::from_secs(30), child.wait()).await {
            Ok(status) => status.unwrap().code(),
            Err(_) => {
                child.kill().await.unwrap();
                None
            }
        }
    }
}
