//! `/metrics` of the real program, after real work in the box.

mod exposition;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use octoswarm::app::runs::Observer;
use octoswarm::demo::{AppManifest, Change, GitHubBox, OpenPull, Options};
use reqwest::{RequestBuilder, StatusCode};

use crate::contribute::{BODY, TITLE, UNSAFE};
use crate::support::process;
use crate::support::world::{CLEAN, DEFECTS, REPO};
use exposition::{Exposition, Kind};

const SECRET: &str = "a secret for the metrics";
const LOG: &str = "server.log";
const PAGE: &str = "docs/metrics.md";

/// The program as `serve`, with the box as its GitHub.
pub struct Server {
    github: GitHubBox,
    dir: tempfile::TempDir,
    address: SocketAddr,
    http: reqwest::Client,
    _child: tokio::process::Child,
}

impl Server {
    async fn start() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(env: &[(&str, &str)]) -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let manifest = AppManifest::parse(include_str!("../../app-manifest.yml")).unwrap();
        let github = GitHubBox::start(Options::new(manifest, SECRET)).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("k"), github.private_key_pem()).unwrap();
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"))
            .args(["serve", "--listen", "127.0.0.1:0", "--state", "state"])
            .current_dir(dir.path())
            .env_clear()
            .env("OCTOSWARM_APP_ID", github.app_id().to_string())
            .env("OCTOSWARM_PRIVATE_KEY_FILE", "k")
            .env("OCTOSWARM_WEBHOOK_SECRET", SECRET)
            .env("OCTOSWARM_API_URL", github.api_url())
            .env("OCTOSWARM_WEB_URL", github.web_url())
            .env("OCTOSWARM_SETTLE_MS", "50")
            .env("OCTOSWARM_WRITE_PACE_MS", "1")
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            // A pipe that nobody reads would hold the server up once it is full.
            .stderr(std::fs::File::create(dir.path().join(LOG)).unwrap())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let address = process::listens(&mut child).await.expect("it says where it listens");
        github.set_webhook_url(&format!("http://{address}/webhook"));
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { github, dir, address, http, _child: child }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("http://{}{path}", self.address))
    }

    /// The text of `/metrics`, strictly read. What is told of rows may be a second old.
    async fn scrape(&self) -> Exposition {
        let answer = self.get("/metrics").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        Exposition::parse(&answer.text().await.unwrap())
    }

    /// Scrapes until it shows this.
    async fn scrape_until(&self, shows: impl Fn(&Exposition) -> bool) -> Exposition {
        let scraping = async {
            loop {
                let now = self.scrape().await;
                if shows(&now) {
                    return now;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), scraping).await.expect("the metrics show it in the end")
    }

    async fn settle(&self) {
        let observer = Observer::open(&self.dir.path().join("state")).await.unwrap();
        let idle = async {
            loop {
                self.github.deliveries_settled().await;
                if observer.is_idle().await.unwrap() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), idle).await.expect("all jobs end");
    }

    /// A pull request with findings is reviewed, and an issue becomes a pull request.
    pub async fn story(&self) {
        let people = self.github.people();
        people.create_repo(REPO, Change::new().write("src/base.py", CLEAN).write("src/a.py", UNSAFE)).await.unwrap();
        people.add_collaborator(REPO, "ada", "write").await.unwrap();
        let change = Change::new().write("src/run.py", DEFECTS);
        people.open_pull(REPO, OpenPull::new("ada", "change", "A change", change)).await.unwrap();
        self.settle().await;
        let issue = people.open_issue("ada", REPO, TITLE, BODY).await.unwrap();
        people.label("ada", REPO, issue, "swarm").await.unwrap();
        self.settle().await;
    }

    /// The whole lines of its log.
    pub fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.dir.path().join(LOG)).unwrap();
        let (whole, _) = log.rsplit_once('\n').unwrap_or_default();
        whole.lines().map(str::to_owned).collect()
    }

    async fn deliver(&self, event: &str, guid: &str, body: &str, secret: &str) -> StatusCode {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let request = self.http.post(format!("http://{}/webhook", self.address));
        let request = request
            .header("content-type", "application/json")
            .header("x-github-event", event)
            .header("x-github-delivery", guid)
            .header("x-hub-signature-256", signature);
        request.body(body.to_owned()).send().await.unwrap().status()
    }

    /// Where the log says that the metrics are served.
    async fn metrics_address(&self) -> String {
        let reading = async {
            loop {
                let log = std::fs::read_to_string(self.dir.path().join(LOG)).unwrap();
                // Without its end a line may not be whole yet.
                let (whole, _) = log.rsplit_once('\n').unwrap_or_default();
                if let Some((_, address)) = whole.lines().find_map(|line| line.split_once("metrics on http://")) {
                    return address.trim_end_matches("/metrics").to_owned();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reading).await.expect("the log tells the address")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_and_a_contribution_move_the_figures_and_no_name_leaks() {
    let server = Server::start().await;
    let before = server.scrape().await;
    assert_eq!(before.sum("octoswarm_deliveries_received_total"), 0.0);
    assert_eq!(
        before.value("octoswarm_job_attempts_total", &[("kind", "review"), ("outcome", "discarded")]),
        Some(0.0)
    );
    server.story().await;
    let now = server.scrape_until(|now| now.sum("octoswarm_jobs") == 0.0).await;
    let value = |name: &str, labels: &[(&str, &str)]| now.value(name, labels).unwrap_or_default();
    assert!(value("octoswarm_deliveries_received_total", &[("event", "pull_request"), ("outcome", "accepted")]) >= 2.0);
    assert!(value("octoswarm_deliveries_settled_total", &[("event", "pull_request"), ("state", "handled")]) >= 1.0);
    assert!(value("octoswarm_deliveries_settled_total", &[("event", "issues"), ("state", "handled")]) >= 1.0);
    assert!(value("octoswarm_job_attempts_total", &[("kind", "review"), ("outcome", "completed")]) >= 1.0);
    assert_eq!(value("octoswarm_job_attempts_total", &[("kind", "contribute"), ("outcome", "completed")]), 1.0);
    assert_eq!(value("octoswarm_runs_total", &[("flow", "review"), ("outcome", "findings")]), 1.0);
    assert_eq!(value("octoswarm_runs_total", &[("flow", "contribute"), ("outcome", "changed")]), 1.0);
    assert_eq!(value("octoswarm_findings_total", &[("category", "critical"), ("severity", "high")]), 1.0);
    assert_eq!(value("octoswarm_steps_total", &[("role", "coder"), ("outcome", "done")]), 1.0);
    assert_eq!(value("octoswarm_effects_total", &[("kind", "review"), ("outcome", "posted")]), 1.0);
    assert_eq!(value("octoswarm_effects_total", &[("kind", "pull-request"), ("outcome", "posted")]), 1.0);
    assert_eq!(value("octoswarm_github_requests_total", &[("endpoint", "CREATE_PULL"), ("status", "2xx")]), 1.0);
    assert!(value("octoswarm_github_wait_seconds_total", &[("cause", "pace")]) > 0.0);
    assert!(now.sum("octoswarm_github_rate_limit_remaining") > 0.0);
    assert!(value("octoswarm_delivery_lag_seconds_count", &[]) >= 3.0);
    assert!(value("octoswarm_webhook_ack_seconds_sum", &[]) > 0.0);
    assert!(now.sum("octoswarm_database_bytes") > 4096.0, "what is written lies in the log until a checkpoint");
    assert!(value("process_resident_memory_bytes", &[]) > 1e6 && value("process_cpu_seconds_total", &[]) > 0.0);
    assert!(value("process_start_time_seconds", &[]) > 1.7e9);
    let version = env!("CARGO_PKG_VERSION");
    assert!(now.text.contains(&format!("octoswarm_build_info{{version=\"{version}\"")), "{}", now.text);
    for name in [REPO, "octo", "calc", "ada", "run.py", "src/", "swarm[bot]", &server.github.bot_login(), SECRET] {
        let leaks = now.text.lines().find(|line| line.replace("octoswarm_", "").contains(name));
        assert_eq!(leaks, None, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_make_no_series() {
    let server = Server::start().await;
    assert_eq!(server.deliver("push", "g-0", "{}", SECRET).await, StatusCode::ACCEPTED);
    assert_eq!(server.deliver("push", "g-0", "{}", SECRET).await, StatusCode::OK);
    assert_eq!(server.deliver("push", "h-0", "{}", "wrong").await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.deliver("NO SUCH", "i-0", "{}", SECRET).await, StatusCode::BAD_REQUEST);
    let before = server.scrape().await;
    for n in 1..60 {
        server.deliver(&format!("event_{n}"), &format!("g-{n}"), "{}", SECRET).await;
        server.deliver(&format!("event_{n}"), &format!("h-{n}"), "{}", "wrong").await;
        server.deliver(&format!("EVENT {n}"), &format!("i-{n}"), "{}", SECRET).await;
    }
    let now = server.scrape().await;
    let value = |name: &str, labels: &[(&str, &str)]| now.value(name, labels).unwrap_or_default();
    assert_eq!(value("octoswarm_deliveries_received_total", &[("event", "other"), ("outcome", "ignored")]), 60.0);
    assert_eq!(value("octoswarm_deliveries_received_total", &[("event", "other"), ("outcome", "known")]), 1.0);
    assert_eq!(value("octoswarm_webhook_refused_total", &[("reason", "unsigned")]), 60.0);
    assert_eq!(value("octoswarm_webhook_refused_total", &[("reason", "malformed")]), 60.0);
    let of_the_door = |e: &Exposition| -> Vec<String> {
        let door = |name: &str| name.starts_with("octoswarm_webhook") || name.starts_with("octoswarm_deliver");
        e.samples.iter().filter(|s| door(&s.name)).map(|s| format!("{}{:?}", s.name, s.labels)).collect()
    };
    assert_eq!(of_the_door(&now), of_the_door(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_gets_the_metrics_only_with_the_token() {
    let open = Server::start().await;
    let answer = open.get("/metrics").header("x-forwarded-for", "203.0.113.9").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(answer.text().await.unwrap().contains("metrics_token_file"));

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "a-long-token\n").unwrap();
    let closed = Server::with(&[("OCTOSWARM_METRICS_TOKEN_FILE", file.to_str().unwrap())]).await;
    let answer = closed.get("/metrics").send().await.unwrap();
    assert_eq!(
        (answer.status(), &answer.headers()["www-authenticate"]),
        (StatusCode::UNAUTHORIZED, &"Bearer".parse().unwrap())
    );
    let answer = closed.get("/metrics").bearer_auth("a-long-token").header("via", "1.1 proxy").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    Exposition::parse(&answer.text().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_their_own_takes_the_metrics_off_the_webhooks() {
    let server = Server::with(&[("OCTOSWARM_METRICS_LISTEN", "127.0.0.1:0")]).await;
    let address = server.metrics_address().await;
    assert_eq!(server.get("/metrics").send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let own = server.http.get(format!("http://{address}/metrics")).send().await.unwrap();
    Exposition::parse(&own.text().await.unwrap());
    let webhook = server.http.post(format!("http://{address}/webhook")).send().await.unwrap();
    assert_eq!(webhook.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scraper_that_asks_for_openmetrics_gets_it() {
    let server = Server::start().await;
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let answer = server.get("/metrics").header("accept", accept).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = answer.text().await.unwrap();
    assert!(text.ends_with("# EOF\n") && text.contains("# TYPE octoswarm_runs counter\n"), "{text}");
}

/// The table of the page is what a scrape shows. `UPDATE=1` writes it anew.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_lists_every_metric_of_a_scrape_after_the_story() {
    let server = Server::start().await;
    server.story().await;
    let now = server.scrape().await;
    let mut table = String::from("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
    for family in &now.families {
        let mut labels: Vec<&str> = now.labels_of(&family.name).into_iter().filter(|label| *label != "le").collect();
        labels.sort_unstable();
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        table.push_str(&format!(
            "| `{}` | {kind} | {} | {} |\n",
            family.name,
            labels.join(", "),
            family.help.trim_end_matches('.')
        ));
    }
    let (begin, end) = ("<!-- table -->\n", "<!-- end of table -->");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(begin).unwrap();
    let (written, tail) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{head}{begin}{table}{end}{tail}")).unwrap();
    } else {
        assert_eq!(written, table, "{PAGE} is stale: run this test with UPDATE=1");
    }
    for word in page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        if let Some(name) = word.strip_prefix("octoswarm_").map(|_| word) {
            assert!(
                now.samples.iter().any(|sample| sample.name == name) || now.family(name).is_some(),
                "{PAGE}: {name}"
            );
        }
    }
}

// The health check of images, which asks the same server.

#[tokio::test(flavor = "multi_thread")]
async fn the_health_verb_says_whether_the_server_takes_deliveries() {
    let server = Server::start().await;
    let health = |listen: String| async move {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command.arg("health").env_clear().env("OCTOSWARM_LISTEN", listen).output().await.unwrap()
    };
    let ready = health(server.address.to_string()).await;
    assert_eq!((ready.status.code(), ready.stdout.as_slice()), (Some(0), b"ready\n".as_slice()));
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = free.local_addr().unwrap().to_string();
    drop(free);
    let silent = health(nobody).await;
    assert_eq!(silent.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&silent.stderr).contains("nothing answers"), "{silent:?}");
    let wrong = health("nowhere".to_owned()).await;
    assert_eq!(wrong.status.code(), Some(2));
}
