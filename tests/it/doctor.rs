//! `octoswarm doctor` through the real binary: one patient a fault, and one that is well.

use std::collections::BTreeMap;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use octoswarm::demo::{AppManifest, Change, Fault, FaultKind, GitHubBox, Hook, Options};
use octoswarm::domain::clock::Clock;
use serde_json::Value;
use sqlx::{ConnectOptions, Connection};

use crate::support::process;

const MANIFEST: &str = include_str!("../../app-manifest.yml");
const SECRET: &str = "canary-of-the-webhook-secret";
const REPO: &str = "octo/calc";

/// A box, a folder with key, secret and state, and what the server would be started with.
struct Patient {
    github: GitHubBox,
    dir: tempfile::TempDir,
    variables: BTreeMap<&'static str, String>,
}

/// What the doctor said.
struct Said {
    document: Value,
    code: i32,
    text: String,
}

impl Patient {
    async fn new() -> Self {
        Self::with(MANIFEST, |_| ()).await
    }

    async fn with(manifest: &str, change: impl FnOnce(&mut Options)) -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let mut options = Options::new(AppManifest::parse(manifest).unwrap(), SECRET);
        change(&mut options);
        let github = GitHubBox::start(crate::support::recorded(options)).await.unwrap();
        github.set_webhook_url("http://127.0.0.1:1/webhook");
        let dir = tempfile::tempdir().unwrap();
        let variables = BTreeMap::from([
            ("OCTOSWARM_APP_ID", github.app_id().to_string()),
            ("OCTOSWARM_PRIVATE_KEY_FILE", "key.pem".to_owned()),
            ("OCTOSWARM_WEBHOOK_SECRET_FILE", "secret".to_owned()),
            ("OCTOSWARM_API_URL", github.api_url()),
            ("OCTOSWARM_WEB_URL", github.web_url()),
            ("OCTOSWARM_STATE", "state".to_owned()),
            ("OCTOSWARM_LISTEN", "127.0.0.1:0".to_owned()),
        ]);
        let patient = Self { github, dir, variables };
        patient.keep("key.pem", &patient.github.private_key_pem(), 0o600);
        patient.keep("secret", SECRET, 0o600);
        patient
    }

    fn keep(&self, name: &str, text: &str, mode: u32) {
        use std::io::Write;
        let path = self.dir.path().join(name);
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.variables.insert(name, value.into());
        self
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn command(&self, args: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command.args(args).current_dir(self.dir.path()).env_clear().env("HOME", self.dir.path());
        command.envs(&self.variables).kill_on_drop(true).stdin(Stdio::null());
        command
    }

    async fn output(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().await.unwrap();
        let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        let text = String::from_utf8(text).unwrap();
        let key = self.github.private_key_pem();
        let line_of_key = key.lines().nth(3).unwrap();
        for secret in [SECRET, line_of_key, "ghs_", "eyJ"] {
            assert!(!text.contains(secret), "a secret was shown: {text}");
        }
        output
    }

    async fn doctor(&self) -> Said {
        self.doctor_with(&[]).await
    }

    async fn doctor_with(&self, args: &[&str]) -> Said {
        let output = self.output(&[&["doctor", "--format", "json"], args].concat()).await;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        Said { document, code: output.status.code().unwrap(), text }
    }

    /// Starts the server and gives its address.
    async fn serve(&self) -> (tokio::process::Child, String) {
        let mut child = self.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let address = process::listens(&mut child).await.expect("a server that starts says where it listens");
        (child, address.to_string())
    }

    async fn create_repo(&self) {
        self.github.people().create_repo(REPO, Change::new().write("README.md", "# calc\n")).await.unwrap();
    }

    /// Every file of the state with its bytes, as far as anybody else would notice.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let Ok(entries) = std::fs::read_dir(self.state()) else { return BTreeMap::new() };
        let entries = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        entries.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
    }

    async fn stop(mut server: tokio::process::Child, signal: &str) {
        process::signal(&server, signal);
        server.wait().await.unwrap();
    }
}

impl Said {
    /// `pass: what was seen -> what to do`.
    #[track_caller]
    fn about(&self, name: &str) -> String {
        let checks = self.document["checks"].as_array().unwrap();
        let of_that_name: Vec<String> = checks
            .iter()
            .filter(|check| check["name"] == name)
            .map(|check| {
                let advice = check["advice"].as_str().map_or_else(String::new, |advice| format!(" -> {advice}"));
                format!("{}: {}{advice}", check["outcome"].as_str().unwrap(), check["seen"].as_str().unwrap())
            })
            .collect();
        assert!(!of_that_name.is_empty(), "nothing about {name}: {}", self.text);
        of_that_name.join("\n")
    }

    /// That check has that outcome, and says each of these.
    #[track_caller]
    fn says(&self, name: &str, outcome: &str, words: &[&str]) -> &Self {
        let about = self.about(name);
        assert!(about.starts_with(&format!("{outcome}: ")), "{name}: {about}");
        for word in words {
            assert!(about.contains(word), "{name} does not say {word:?}: {about}");
        }
        self
    }

    /// The names of the checks with that outcome, in order.
    fn names(&self, outcome: &str) -> Vec<&str> {
        let checks = self.document["checks"].as_array().unwrap().iter();
        checks.filter(|check| check["outcome"] == outcome).map(|check| check["name"].as_str().unwrap()).collect()
    }

    #[track_caller]
    fn fails_alone(&self, name: &str) -> &Self {
        assert_eq!((self.names("fail"), self.code), (vec![name], 1), "{}", self.text);
        self
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_well_passes_every_check_while_it_works() {
    let mut patient = Patient::new().await;
    let (server, address) = patient.serve().await;
    patient.github.set_webhook_url(&format!("http://{address}/webhook"));
    patient.create_repo().await;
    patient.github.deliveries_settled().await;
    patient.set("OCTOSWARM_LISTEN", &address);
    let said = patient.doctor().await;
    assert_eq!(said.code, 0, "{}", said.text);
    assert_eq!((said.names("fail"), said.names("skipped")), (vec![], vec![]), "{}", said.text);
    // The machine that runs the tests may have little room, or a slow disk that others use as well, or nothing for a sandbox.
    let of_the_machine = ["disk", "durable write", "bubblewrap", "user", "files", "trial"];
    let warned: Vec<_> = said.names("warn").into_iter().filter(|name| !of_the_machine.contains(name)).collect();
    assert_eq!(warned, [""; 0], "{}", said.text);
    said.says("database", "pass", &["beside a running server"])
        .says("listen", "pass", &["ready"])
        .says("installation octo", "pass", &["1 repository"])
        .says("transport", "pass", &["its branch"])
        .says("deliveries", "pass", &["arrived"])
        .says("private key", "pass", &["2048 bits", "key.pem"])
        .says("sign-in", "pass", &["octoswarm"]);
    let text = patient.output(&["doctor"]).await;
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("  ok   transport") && text.contains(" 0 failed") && !text.contains('\u{1b}'), "{text}");
    Patient::stop(server, "TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_changes_nothing_and_leaves_nothing_behind() {
    let patient = Patient::new().await;
    patient.create_repo().await;
    let said = patient.doctor().await;
    said.says("folder", "pass", &["not there yet"]).says("database", "pass", &["none yet"]);
    assert!(!patient.state().exists(), "the doctor made the state folder");
    let (server, _) = patient.serve().await;
    Patient::stop(server, "TERM").await;
    let before = patient.files();
    patient.doctor().await.says("database", "pass", &["schema 3"]).says("journal", "pass", &[]);
    assert_eq!(patient.files(), before, "after an orderly stop");
    let (server, _) = patient.serve().await;
    Patient::stop(server, "KILL").await;
    let before = patient.files();
    assert!(before.iter().any(|(name, bytes)| name.ends_with("-wal") && !bytes.is_empty()), "the kill left a log");
    patient.doctor().await.says("database", "pass", &["was killed"]).says("queue", "pass", &[]);
    assert_eq!(patient.files(), before, "after a kill");
    let log = patient.state().join("octoswarm.db-wal");
    let (log, length) =
        (std::fs::OpenOptions::new().write(true).open(&log).unwrap(), std::fs::metadata(&log).unwrap().len());
    // With a hole in it, it takes no room.
    log.set_len(600 * 1024 * 1024).unwrap();
    patient.doctor_with(&["--offline"]).await.says("database", "warn", &["too large", "start the server"]);
    log.set_len(length).unwrap();
    patient.serve().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_app_is_told_from_a_wrong_clock() {
    let patient = Patient::new().await;
    let other = Patient::with(MANIFEST, |options| options.fresh_key = true).await;
    patient.keep("key.pem", &other.github.private_key_pem(), 0o600);
    let said = patient.doctor().await;
    let id = patient.github.app_id().to_string();
    said.fails_alone("sign-in").says("sign-in", "fail", &["does not belong to App", &id]).says("clock", "pass", &[]);
    said.says("permissions", "skipped", &["does not know us"]).says("transport", "skipped", &[]);
    for (by, side) in [(-300_000, "ahead of"), (700_000, "behind")] {
        let now = Clock::system().now();
        let patient = Patient::with(MANIFEST, |options| options.clock = Clock::manual(now + by)).await;
        patient.create_repo().await;
        let said = patient.doctor().await;
        assert_eq!(said.code, 1);
        said.says("clock", "fail", &[side, "NTP"]).says("sign-in", "fail", &["set this machine's clock"]);
        // The rest is looked at by GitHub's clock.
        said.says("transport", "pass", &[]).says("permissions", "pass", &[]);
    }
    let now = Clock::system().now();
    let patient = Patient::with(MANIFEST, |options| options.clock = Clock::manual(now + 40_000)).await;
    patient.doctor().await.says("clock", "warn", &["behind"]).says("sign-in", "pass", &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_app_may_and_hears_is_compared_with_what_the_code_uses() {
    let less = MANIFEST.replace("  checks: write\n", "").replace("contents: write", "contents: read");
    let less = less.replace("  - issues\n", "");
    let said = Patient::with(&less, |_| ()).await.doctor().await;
    said.says("permissions", "fail", &["checks: write", "contents: write", "Permissions & events"]);
    said.says("events", "fail", &["not subscribed to issues"]);
    assert_eq!(said.code, 1);
    let more = MANIFEST.replace("  checks: write\n", "  checks: write\n  actions: write\n");
    let more = more.replace("  - issues\n", "  - issues\n  - push\n");
    let patient = Patient::with(&more, |_| ()).await;
    patient.create_repo().await;
    let said = patient.doctor().await;
    said.says("permissions", "pass", &["more than needed: actions: write"]).says(
        "events",
        "pass",
        &["never used: push"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_installation_is_looked_at() {
    let mut patient = Patient::new().await;
    // What is told of all this arrives, so that it is no fault of its own.
    let (_server, address) = patient.serve().await;
    patient.github.set_webhook_url(&format!("http://{address}/webhook"));
    patient.doctor().await.says("installation octo", "warn", &["no repository"]).says("transport", "skipped", &[]);
    patient.create_repo().await;
    patient.github.people().withhold_permission("issues").await;
    let said = patient.doctor().await;
    said.fails_alone("installation octo").says("installation octo", "fail", &["not granted issues: write", "accepts"]);
    patient.github.people().accept_permissions("octo").await;
    patient.doctor().await.says("installation octo", "pass", &[]);
    patient.set("OCTOSWARM_ACCOUNTS", "acme");
    let said = patient.doctor().await;
    said.says("installation octo", "pass", &["not served"]).says("installations", "warn", &["acme"]);
    said.says("transport", "skipped", &[]).says("rate limit", "skipped", &[]);
    patient.set("OCTOSWARM_ACCOUNTS", "OCTO");
    patient.doctor().await.says("installation octo", "pass", &["1 repository"]);
    patient.github.people().suspend("octo").await;
    patient.doctor().await.fails_alone("installation octo").says("installation octo", "fail", &["suspended"]);
    patient.github.people().unsuspend("octo").await;
    patient.github.people().uninstall("octo").await;
    let said = patient.doctor().await;
    said.fails_alone("installations").says("installations", "fail", &["/apps/octoswarm/installations/new"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_github_is_told_by_what_stands_in_the_way() {
    let mut patient = Patient::new().await;
    let port = patient.github.web_url().rsplit_once(':').unwrap().1.to_owned();
    // Three servers that do not answer, the most a machine may name, take three seconds; the dot at the end keeps the machine's
    // own domains from being tried as well.
    patient.set("RES_OPTIONS", "timeout:1 attempts:1");
    for (api, words) in [
        ("http://127.0.0.1:1".to_owned(), ["nothing answers", "firewall"]),
        ("https://api.github.invalid.".to_owned(), ["cannot be resolved", "DNS"]),
        (format!("https://127.0.0.1:{port}/api/v3"), ["TLS fails", "certificate"]),
        (patient.github.web_url(), ["not GitHub's API", "/api/v3"]),
    ] {
        patient.set("OCTOSWARM_API_URL", &api);
        let said = patient.doctor().await;
        said.fails_alone("reach").says("reach", "fail", &words).says("clock", "skipped", &["not reached"]);
        said.says("listen", "pass", &[]).says("database", "pass", &[]);
    }
    patient.set("OCTOSWARM_API_URL", patient.github.api_url());
    patient.github.fail_next(Fault::once("GET", "/meta", FaultKind::Html));
    patient.doctor().await.fails_alone("reach").says("reach", "fail", &["502", "text/html"]);
    patient.github.set_version("3.9.1");
    patient.doctor().await.says("reach", "warn", &["3.9.1", "upgrade"]);
    let said = patient.doctor_with(&["--offline"]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    said.says("reach", "skipped", &["--offline"]).says("private key", "pass", &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_secrets_are_looked_at_and_never_shown() {
    let patient = Patient::new().await;
    patient.keep("key.pem", &patient.github.private_key_pem(), 0o644);
    patient.keep("secret", SECRET, 0o640);
    let said = patient.doctor_with(&["--offline"]).await;
    assert_eq!(said.code, 0);
    said.says("private key", "warn", &["chmod 600"]).says("webhook secret", "warn", &["chmod 600"]);
    patient.keep("secret", "short", 0o600);
    patient.doctor_with(&["--offline"]).await.says("webhook secret", "warn", &["16 characters", "openssl rand"]);
    for (key, word) in [
        ("not a key", "not PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "CERTIFICATE"),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", "2048"),
        ("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", "EC PRIVATE KEY"),
    ] {
        patient.keep("key.pem", key, 0o600);
        patient.doctor_with(&["--offline"]).await.fails_alone("private key").says("private key", "fail", &[word]);
    }
    let said = patient.doctor().await;
    assert_eq!(said.code, 1, "{}", said.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_used_is_left_as_it_is() {
    let patient = Patient::new().await;
    let (server, _) = patient.serve().await;
    Patient::stop(server, "TERM").await;
    let path = patient.state().join("octoswarm.db");
    let mut conn = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 1)";
    sqlx::query(later).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let before = patient.files();
    patient.doctor_with(&["--offline"]).await.fails_alone("database").says("database", "fail", &["9999", "newer"]);
    // The last connection has folded the log into the file: all but the first page is there, and is damaged.
    assert!(!before.keys().any(|name| name.ends_with("-wal")), "{:?}", before.keys());
    let mut damaged = std::fs::read(&path).unwrap();
    assert!(damaged.len() > 4 * 4096);
    damaged[4096..].fill(0xff);
    std::fs::write(&path, &damaged).unwrap();
    patient.doctor_with(&["--offline"]).await.fails_alone("database").says("database", "fail", &["damaged", "backup"]);
    std::fs::write(&path, "this is a text").unwrap();
    let said = patient.doctor_with(&["--offline"]).await;
    said.fails_alone("database").says("queue", "skipped", &["cannot be read"]);
    assert_eq!(patient.files().len(), before.len());
    assert_eq!(std::fs::read(&path).unwrap(), b"this is a text");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_that_cannot_be_used_is_said_to_be_so() {
    let mut patient = Patient::new().await;
    // Whoever runs the tests may be root, whom no permission stops: the kernel's own folder and a file do.
    patient.keep("file", "", 0o600);
    for place in ["/proc/octoswarm", "file/state", "file"] {
        patient.set("OCTOSWARM_STATE", place);
        let said = patient.doctor_with(&["--offline"]).await;
        said.fails_alone("folder").says("folder", "fail", &["writ"]).says("durable write", "skipped", &[]);
    }
    patient.set("OCTOSWARM_STATE", "state");
    std::fs::create_dir(patient.state()).unwrap();
    std::fs::set_permissions(patient.state(), std::fs::Permissions::from_mode(0o755)).unwrap();
    patient.doctor_with(&["--offline"]).await.says("folder", "warn", &["755", "chmod 700"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_do_not_arrive_tell_why() {
    let mut patient = Patient::new().await;
    patient.create_repo().await;
    patient.github.deliveries_settled().await;
    patient.doctor().await.fails_alone("deliveries").says("deliveries", "fail", &["connect", "firewall"]);
    patient.keep("secret", "another secret than on GitHub", 0o600);
    let (server, address) = patient.serve().await;
    patient.github.set_webhook_url(&format!("http://{address}/webhook"));
    let people = patient.github.people();
    people.open_issue("ada", REPO, "A title", "A body").await.unwrap();
    patient.github.deliveries_settled().await;
    patient.doctor().await.fails_alone("deliveries").says("deliveries", "fail", &["401", "secret differs"]);
    Patient::stop(server, "TERM").await;
    patient.keep("secret", SECRET, 0o600);
    patient.set("OCTOSWARM_RECONCILE_SECONDS", "0");
    let (server, address) = patient.serve().await;
    patient.github.set_webhook_url(&format!("http://{address}/webhook"));
    people.open_issue("ada", REPO, "Another title", "A body").await.unwrap();
    patient.github.deliveries_settled().await;
    let said = patient.doctor().await;
    assert_eq!(said.code, 0, "{}", said.text);
    said.says("deliveries", "warn", &["did not arrive", "asks GitHub for them again"]);
    Patient::stop(server, "TERM").await;
    patient.set("OCTOSWARM_POLL", "true").set("OCTOSWARM_RECONCILE_SECONDS", "1");
    patient.variables.remove("OCTOSWARM_WEBHOOK_SECRET_FILE");
    let said = patient.doctor().await;
    said.says("deliveries", "pass", &["taken from there"]).says("webhook secret", "pass", &["none needed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_set_up_as_the_server_takes_it() {
    let patient = Patient::new().await;
    patient.github.set_hook(Hook { json: false, checks_certificates: false, signed: false });
    let said = patient.doctor().await;
    said.says("webhook", "fail", &["not JSON", "certificates", "not signed", "application/json", "SSL verification"]);
    patient.github.set_hook(Hook::default());
    patient.github.set_webhook_url("");
    patient.doctor().await.says("webhook", "fail", &["no address"]);
    patient.github.set_webhook_url("https://octoswarm.example.com/webhook");
    patient.doctor().await.says("webhook", "warn", &["example"]);
    patient.github.set_webhook_url("https://user:hunter2@octoswarm.test/webhook?key=hunter2");
    let said = patient.doctor().await;
    said.says("webhook", "pass", &["https://octoswarm.test/webhook"]);
    assert!(!said.text.contains("hunter2"), "{}", said.text);
    patient.github.set_webhook_url("https://octoswarm.test/hooks");
    patient.doctor().await.says("webhook", "warn", &["/webhook"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_another_holds_is_named() {
    let mut patient = Patient::new().await;
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    patient.set("OCTOSWARM_LISTEN", other.local_addr().unwrap().to_string());
    // It takes connections and never answers: the doctor must not wait for ever.
    let said = patient.doctor_with(&["--offline"]).await;
    said.fails_alone("listen").says("listen", "fail", &["taken", "--listen"]);
    drop(other);
    patient.set("OCTOSWARM_LISTEN", "192.0.2.1:80");
    patient.doctor_with(&["--offline"]).await.fails_alone("listen").says("listen", "fail", &["cannot listen"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_use_is_told_from_a_sick_server() {
    let patient = Patient::new().await;
    assert_eq!(patient.output(&["doctor", "--format", "pdf"]).await.status.code(), Some(2));
    assert_eq!(patient.output(&["doctor", "--listen", "here"]).await.status.code(), Some(2));
    let nothing = Patient { variables: BTreeMap::new(), ..patient };
    let said = nothing.doctor_with(&["--listen", "127.0.0.1:0"]).await;
    said.fails_alone("app id").says("app id", "fail", &["octoswarm serve"]).says("reach", "skipped", &["no App"]);
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8(bytes.to_vec()).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_setting_is_shown_with_where_it_comes_from() {
    let mut patient = Patient::new().await;
    patient.keep("octoswarm.toml", "workers = 7\naccounts = ['octo']\n", 0o644);
    patient.set("OCTOSWARM_WORKER", "3");
    let output = patient.output(&["config", "check", "--state", "elsewhere"]).await;
    assert_eq!(output.status.code(), Some(0));
    let settings = lines(&output.stdout);
    let words = |name: &str| -> Vec<String> {
        let line =
            settings.iter().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("no {name}"));
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    };
    assert_eq!(words("workers"), ["7", "octoswarm.toml"]);
    assert_eq!(words("state"), ["elsewhere", "--state"]);
    assert_eq!(words("retention_days"), ["30", "default"]);
    assert_eq!(words("private_key_file"), ["set", "(from", "key.pem)", "OCTOSWARM_PRIVATE_KEY_FILE"]);
    assert_eq!(words("accounts"), ["octo", "octoswarm.toml"]);
    let told = lines(&output.stderr).join("\n");
    assert!(told.contains("OCTOSWARM_WORKER has no effect; did you mean `OCTOSWARM_WORKERS`?"), "{told}");
    assert!(told.ends_with("valid"), "{told}");
    // What has no value has a row all the same.
    assert_eq!(words("api_url")[0], patient.github.api_url());
    assert_eq!(
        (words("public_url"), words("metrics_listen")),
        (vec!["not".into(), "set".into()], words("metrics_token_file"))
    );
    assert_eq!(words("log_filter"), ["info", "default"]);
    let nothing = Patient { variables: BTreeMap::new(), ..patient };
    let output = nothing.output(&["config", "check"]).await;
    let shown = lines(&output.stdout);
    for name in ["app_id", "private_key_file", "webhook_secret_files", "api_url", "web_url", "public_url"] {
        assert!(shown.iter().any(|row| row.split_whitespace().eq([name, "not", "set"])), "{name}: {shown:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_is_no_valid_configuration() {
    for (name, value, told) in [
        ("OCTOSWARM_PRIVATE_KEY", "not a key", "it is not PEM"),
        ("OCTOSWARM_APP_ID", "0", "no App has the id 0"),
        ("OCTOSWARM_WORKERS", "300", "300 is not between 1 and 256"),
        ("OCTOSWARM_WORKERS", "many", "`many` is not a whole number"),
        ("OCTOSWARM_POLL", "perhaps", "`perhaps` is not true or false"),
        ("OCTOSWARM_LOG", "==bad==", "is not a log filter"),
        ("OCTOSWARM_LOG", "inof", "did you mean `info`?"),
        ("OCTOSWARM_PUBLIC_URL", "http://swarm.example.com", "the link to set-up"),
    ] {
        let mut patient = Patient::new().await;
        patient.set(name, value);
        for verb in [["config", "check"].as_slice(), &["serve"]] {
            let output = patient.output(verb).await;
            let said = lines(&output.stderr).join("\n");
            assert_eq!(output.status.code(), Some(2), "{name}={value} {verb:?}: {said}");
            assert!(said.contains(told), "{name}={value} {verb:?}: {said}");
        }
    }
    let mut patient = Patient::new().await;
    patient.keep("octoswarm.toml", "workers = 300\n", 0o644);
    let output = patient.output(&["config", "check"]).await;
    let said = lines(&output.stderr).join("\n");
    assert!(said.contains("octoswarm.toml:1:11 is not valid: `workers`: 300 is not between 1 and 256"), "{said}");
    patient.keep("octoswarm.toml", "", 0o644);
    patient.keep("secret", "short", 0o600);
    patient.set("OCTOSWARM_LOG", "octoswarm=debug");
    let output = patient.output(&["config", "check"]).await;
    let said = lines(&output.stderr).join("\n");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("shorter than 16 characters"), "{said}");
    let shown = lines(&output.stdout);
    let row = ["log_filter", "octoswarm=debug", "OCTOSWARM_LOG"];
    assert!(shown.iter().any(|line| line.split_whitespace().eq(row)), "{shown:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_waits_for_its_app_is_told_from_a_sick_one() {
    let mut patient = Patient::new().await;
    patient.variables.retain(|name, _| matches!(*name, "OCTOSWARM_STATE" | "OCTOSWARM_LISTEN"));
    let (server, address) = patient.serve().await;
    patient.set("OCTOSWARM_LISTEN", &address);
    let said = patient.doctor().await;
    said.fails_alone("app id").says("app id", "fail", &["it waits to be set up: open the link"]);
    said.says("listen", "warn", &["waits to be set up", "docs/setup.md"]);
    assert!(!said.text.contains("start `octoswarm serve`"), "{}", said.text);
    // Another one on the same folder is told in the words that a server with an App uses.
    let second = patient.output(&["serve", "--listen", "127.0.0.1:0"]).await;
    let text = lines(&second.stderr).join("\n");
    assert!(text.contains("another octoswarm already runs on this state: process "), "{text}");
    assert_eq!(
        text.matches("/state").count() + text.matches(" on state").count(),
        1,
        "the folder is named once: {text}"
    );
    Patient::stop(server, "TERM").await;
    let health = patient.output(&["health"]).await;
    let text = lines(&health.stderr).join("\n");
    assert_eq!(
        (health.status.code(), text),
        (
            Some(1),
            format!(
                "error: nothing answers on {address}: is the server running, and is that its address? (`--listen`)"
            )
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_is_its_owners_alone() {
    let patient = Patient::new().await;
    let (server, _) = patient.serve().await;
    for name in ["octoswarm.db", "octoswarm.db-wal", "octoswarm.db-shm"] {
        let mode = std::fs::metadata(patient.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    Patient::stop(server, "TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_named_at_once() {
    let mut patient = Patient::new().await;
    patient.keep("octoswarm.toml", "retenion_days = 3\nworkers = 'many'\n\npoll = 1\n", 0o644);
    patient.set("OCTOSWARM_LISTEN", "here").set("OCTOSWARM_WEB_URL", "http://github.com");
    patient.set("OCTOSWARM_PRIVATE_KEY_FILE", "missing.pem").variables.remove("OCTOSWARM_APP_ID");
    let output = patient.output(&["config", "check"]).await;
    assert_eq!(output.status.code(), Some(2));
    let told = lines(&output.stderr).join("\n");
    for words in [
        "octoswarm.toml:1:1",
        "did you mean `retention_days`?",
        "octoswarm.toml:2:11",
        "octoswarm.toml:4:8",
        "OCTOSWARM_LISTEN",
        "web_url",
        "missing.pem",
        "the App's id is missing",
        "invalid: 7 faults",
    ] {
        assert!(told.contains(words), "{words} is not among: {told}");
    }
    let serve = patient.output(&["serve"]).await;
    assert_eq!(serve.status.code(), Some(2));
    let told_by_serve = lines(&serve.stderr).join("\n");
    assert_eq!(told.strip_suffix("\ninvalid: 7 faults").unwrap(), told_by_serve, "serve names them all as well");
    patient.keep("octoswarm.toml", "workers = \n", 0o644);
    let broken = lines(&patient.output(&["config", "check"]).await.stderr).join("\n");
    assert!(broken.contains("octoswarm.toml:1:11 is not valid") && !broken.contains("App's id is missing"), "{broken}");
    for slip in [
        "webhook_secret = hunter2hunter2\"\n",
        "webhook_secret_files = \"hunter2hunter2\"\n",
        "webhook_secret = \"hunter2hunter2\n",
    ] {
        patient.keep("octoswarm.toml", slip, 0o644);
        let told = lines(&patient.output(&["config", "check"]).await.stderr).join("\n");
        assert!(told.contains("octoswarm.toml:1:") && !told.contains("hunter2"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_keep_the_app_from_starting_is_said_while_there_is_none() {
    let mut patient = Patient::new().await;
    patient.variables.retain(|name, _| matches!(*name, "OCTOSWARM_STATE" | "OCTOSWARM_LISTEN"));
    assert_eq!(patient.output(&["config", "check"]).await.status.code(), Some(0));
    patient.set("OCTOSWARM_WORKERS", "many").set("OCTOSWARM_METRICS_TOKEN_FILE", "missing.token");
    for verb in [["config", "check"].as_slice(), &["serve"]] {
        let output = patient.output(verb).await;
        let told = lines(&output.stderr).join("\n");
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("missing.token"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repositorys_file_is_checked_line_by_line() {
    let patient = Patient::new().await;
    let check = async |text: &str| {
        patient.keep("octoswarm.yml", text, 0o644);
        let output = patient.output(&["config", "check", "octoswarm.yml"]).await;
        (output.status.code().unwrap(), lines(&output.stderr).join("\n"))
    };
    let (code, told) = check("reviw: true\nfail_on: sometimes\nignore:\n  - 'a['\ndisable: [no-such-rule]\n").await;
    assert_eq!(code, 2, "{told}");
    for words in [
        "octoswarm.yml:1:1: there is no key `reviw`; did you mean `review`?",
        "octoswarm.yml:2:10: `fail_on`",
        "octoswarm.yml:4:5: `ignore`",
        "octoswarm.yml:5:11: `disable`",
    ] {
        assert!(told.contains(words), "{words} is not among: {told}");
    }
    let (code, told) = check("review: true\nlabel: 'a,b'\ndisable: [no-such-rule]\n").await;
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("valid, 2 warnings") && told.contains("2:8: `label`"), "{told}");
    assert_eq!(check("").await.0, 0);
    assert_eq!(patient.output(&["config", "check", "missing.yml"]).await.status.code(), Some(2));
    assert_eq!(patient.output(&["config", "check", "x.yml", "--poll"]).await.status.code(), Some(2));
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).is_dir());
}
