//! The real binary: from nothing configured to a reviewed pull request, and a restart.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use octoswarm::demo::{Change, OpenPull};
use reqwest::StatusCode;
use tokio::process::{Child, Command};

use super::{REPO, confirm, fill, github};
use crate::support::browser::Browser;
use crate::support::process;

struct Server {
    child: Child,
    base: String,
    errors: Receiver<String>,
    /// All that it said on standard error so far.
    said: Vec<String>,
}

impl Server {
    /// With nothing in its environment but a home of its own.
    async fn start(dir: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_octoswarm"))
            .args(["serve", "--listen", "127.0.0.1:0", "--state", "state"])
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir)
            .env("OCTOSWARM_WRITE_PACE_MS", "0")
            .env("OCTOSWARM_SETTLE_MS", "50")
            .env("OCTOSWARM_RECONCILE_SECONDS", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (tell, errors) = channel();
        let stderr = std::fs::File::from(child.stderr.take().unwrap().into_owned_fd().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let address = process::listens(&mut child).await.expect("it says where it listens");
        let base = format!("http://{address}");
        Self { child, base, errors, said: Vec::new() }
    }

    /// The first line of standard error with that word.
    #[track_caller]
    fn hears(&mut self, word: &str) -> String {
        loop {
            let line = self
                .errors
                .recv_timeout(Duration::from_secs(30))
                .unwrap_or_else(|_| panic!("no `{word}`: {:?}", self.said));
            self.said.push(line.clone());
            if line.contains(word) {
                return line;
            }
        }
    }

    async fn stop(mut self) -> Vec<String> {
        process::signal(&self.child, "TERM");
        assert!(self.child.wait().await.unwrap().success());
        self.said.extend(self.errors.iter());
        std::mem::take(&mut self.said)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_an_app_gets_one_and_goes_on_with_it() {
    let github = github().await;
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path()).await;
    let mut browser = Browser::new();
    let base = server.base.clone();
    let link = server.hears("set up octoswarm: open ").split("open ").nth(1).unwrap().to_owned();
    assert!(link.starts_with(&format!("{base}/setup?token=")), "{link}");
    assert_eq!(browser.open(&format!("{base}/healthz")).await.status, StatusCode::OK);
    for path in ["readyz", "webhook"] {
        let waits = browser.open(&format!("{base}/{path}")).await;
        assert_eq!(waits.status, StatusCode::SERVICE_UNAVAILABLE);
        waits.says("no GitHub App is set up yet");
    }

    let health = async |base: &str| {
        let listen = base.strip_prefix("http://").unwrap();
        let output =
            Command::new(env!("CARGO_BIN_EXE_octoswarm")).args(["health", "--listen", listen]).output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(health(&base).await, (Some(0), "waits to be set up\n".to_owned()));
    let mode = std::fs::metadata(dir.path().join("state")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "bodies of private repositories will lie there");

    let page = browser.open(&link).await;
    let form = fill(&page, &github.web_url()).set("reach", "webhook").set("webhook", &base);
    let next = browser.submit(&form).await;
    let back = confirm(&mut browser, &next).await;
    github.deliveries_settled().await;
    assert_eq!(github.deliveries()[0].status_code, 503, "the ping comes before its secret is known here");
    let page = browser.open(&back).await;
    page.says("The App is made");
    let keys = dir.path().join("state/app.json");
    assert_eq!(std::fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o600);
    server.hears("served from now on");
    assert_eq!(browser.open(&format!("{base}/readyz")).await.status, StatusCode::OK, "in the same process");
    assert_eq!(health(&base).await, (Some(0), "ready\n".to_owned()));

    let form = browser.open(&page.link("Install on GitHub")).await.form("/installations/new").set("account", "octo");
    browser.submit(&form).await.says("Installed");
    github.deliveries_settled().await;
    let page = browser.open(&format!("{base}/setup")).await;
    page.says("came in and was stored");
    let page = browser.submit(&page.form("/setup/labels")).await;
    let secret = github.webhook_secret();
    for shown in [&page.html, &next.html] {
        assert!(!shown.contains(&secret) && !shown.contains("PRIVATE KEY"));
    }
    browser.submit(&page.form("/setup/finish")).await.says("Set-up is done");
    assert_eq!(browser.open(&link).await.status, StatusCode::NOT_FOUND);

    github.people().add_collaborator(REPO, "ada", "write").await.unwrap();
    let pull =
        OpenPull::new("ada", "change", "A change", Change::new().write("c.py", "def run(t):\n    return eval(t)\n"));
    let number = github.people().open_pull(REPO, pull).await.unwrap();
    reviewed(&github, number).await;
    let said = server.stop().await;
    assert!(said.iter().all(|line| !line.contains(&secret) && !line.contains("PRIVATE KEY")), "{said:#?}");

    // Another life finds the App by itself; its first pull request is told to the old address, so the log brings it.
    let mut server = Server::start(dir.path()).await;
    let again = browser.open(&format!("{}/setup", server.base)).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.open(&format!("{}/readyz", server.base)).await.status, StatusCode::OK);
    github.set_webhook_url(&format!("{}/webhook", server.base));
    let pull = OpenPull::new("ada", "more", "More", Change::new().write("d.py", "def go(t):\n    return eval(t)\n"));
    let number = github.people().open_pull(REPO, pull).await.unwrap();
    reviewed(&github, number).await;
    server.said.clear();
    let said = server.stop().await;
    assert!(!said.iter().any(|line| line.contains("set up octoswarm")), "{said:#?}");
}

async fn reviewed(github: &octoswarm::demo::GitHubBox, number: u64) {
    for _ in 0..1200 {
        if !github.reviews(REPO, number).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("no review of #{number}: {:#?}", github.refusals());
}
