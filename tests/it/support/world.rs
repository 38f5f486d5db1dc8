//! The real app, the real webhook door over real HTTP, and the box as its GitHub.

use std::net::SocketAddr;
use std::time::Duration;

use octoswarm::app::runs::Observer;
use octoswarm::app::{self, App};
use octoswarm::config::{LogFormat, Metrics, ServerConfig, Tuning};
use octoswarm::demo::{
    AppManifest, Change, CheckRun, Fault, GitHubBox, OpenPull, Options, People, Review, ReviewComment,
};
use octoswarm::domain::{Clock, Secret};
use octoswarm::webhook;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub const REPO: &str = "octo/calc";
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const SECRET: &str = "a secret for one test";

/// Line 5 is flagged as critical, line 9 as a small improvement with a fix; the rest is clean.
pub const DEFECTS: &str =
    "import os\n\n\ndef run(text):\n    return eval(text)\n\n\ndef is_gone(x):\n    return x == None\n";
/// The same without the critical one.
pub const HALF_FIXED: &str =
    "import os\n\n\ndef run(text):\n    return int(text)\n\n\ndef is_gone(x):\n    return x == None\n";
pub const CLEAN: &str = "def add(a, b):\n    return a + b\n";

pub struct World {
    pub github: GitHubBox,
    pub app: App,
    /// The box's and the App's.
    pub clock: Clock,
    state: tempfile::TempDir,
    address: SocketAddr,
    running: Option<Running>,
    /// How often the scout sweeps in the next life of the server.
    scout: Option<Duration>,
    /// A test that ends well says so through [`World::end`], which looks for what was left behind.
    ended: bool,
}

/// The server's tasks, until they are stopped or dropped dead.
struct Running {
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl World {
    pub async fn start() -> Self {
        Self::with_manifest(include_str!("../../../app-manifest.yml")).await
    }

    pub async fn with_manifest(manifest: &str) -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let clock = Clock::ahead();
        let options = Options { clock: clock.clone(), ..Options::new(AppManifest::parse(manifest).unwrap(), SECRET) };
        let options = super::recorded(options);
        let github = GitHubBox::start(options).await.unwrap();
        let state = tempfile::tempdir().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let app = App::with_clock(&config(&github, &state, MONTH), clock.clone()).await.unwrap();
        let mut world = Self { github, app, clock, state, address, running: None, scout: None, ended: false };
        world.serve().await;
        let people = world.people();
        let base = Change::new().write("README.md", "# calc\n").write("src/base.py", CLEAN);
        people.create_repo(REPO, base).await.unwrap();
        people.add_collaborator(REPO, "ada", "write").await.unwrap();
        world
    }

    async fn serve(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        self.github.set_webhook_url(&format!("http://{}/webhook", self.address));
        let door = webhook::State::new(self.app.store().clone(), vec![Secret::new(SECRET)], app::HANDLED).unwrap();
        let stop = CancellationToken::new();
        let http = webhook::serve_http(listener, webhook::router(door), stop.clone(), webhook::Limits::default());
        let (app, stop_work) = (self.app.clone(), stop.clone());
        let tasks = vec![tokio::spawn(http), tokio::spawn(async move { app.work(stop_work).await })];
        self.running = Some(Running { stop, tasks });
    }

    /// The process dies: its tasks end where they are, nothing is finished.
    pub async fn crash(&mut self) {
        let running = self.running.take().unwrap();
        for task in &running.tasks {
            task.abort();
        }
        for task in running.tasks {
            task.await.ok();
        }
        running.stop.cancel();
    }

    /// Dies while it waits for the answer to that call of `act`, which took effect; another life begins on the same state.
    pub async fn crash_during(&mut self, method: &str, path: &str, act: impl AsyncFnOnce(&World)) {
        self.github.fail_next(Fault::withhold(method, path));
        act(self).await;
        self.github.wait_withheld().await;
        self.crash().await;
        self.github.release_withheld();
        self.restart().await;
        self.settle().await;
    }

    /// Another life begins on the same state and port.
    pub async fn restart(&mut self) {
        self.restart_keeping(MONTH).await;
    }

    /// The same with another retention.
    pub async fn restart_keeping(&mut self, retention: Duration) {
        // The former life's lock goes with its last clone of the store.
        let mut config = config(&self.github, &self.state, retention);
        config.tuning.scout = self.scout;
        let placeholder = tempfile::tempdir().unwrap();
        self.app =
            App::with_clock(&self::config(&self.github, &placeholder, retention), self.clock.clone()).await.unwrap();
        self.app = App::with_clock(&config, self.clock.clone()).await.unwrap();
        self.serve().await;
    }

    /// Dies and starts again with other settings.
    pub async fn restart_with(&mut self, change: impl FnOnce(&mut ServerConfig)) {
        self.crash().await;
        let placeholder = tempfile::tempdir().unwrap();
        self.app = App::new(&config(&self.github, &placeholder, MONTH)).await.unwrap();
        let mut config = config(&self.github, &self.state, MONTH);
        change(&mut config);
        self.app = App::new(&config).await.unwrap();
        self.serve().await;
    }

    /// Starts again as a server that serves these accounts only.
    pub async fn restart_serving(&mut self, accounts: &[&str]) {
        self.crash().await;
        let placeholder = tempfile::tempdir().unwrap();
        self.app = App::with_clock(&config(&self.github, &placeholder, MONTH), self.clock.clone()).await.unwrap();
        let mut config = config(&self.github, &self.state, MONTH);
        config.accounts = accounts.iter().map(|account| (*account).to_owned()).collect();
        self.app = App::with_clock(&config, self.clock.clone()).await.unwrap();
        self.serve().await;
    }

    /// Starts again as a server whose scout sweeps so often; `None`: never.
    pub async fn restart_scouting(&mut self, every: Option<Duration>) {
        self.crash().await;
        self.begin_scouting(every).await;
    }

    /// The same after the former life has ended.
    pub async fn begin_scouting(&mut self, every: Option<Duration>) {
        self.scout = every;
        self.restart().await;
    }

    /// Starts again as a server that takes its deliveries from the log; no webhook reaches it.
    pub async fn poll(&mut self) {
        self.crash().await;
        let placeholder = tempfile::tempdir().unwrap();
        self.app = App::with_clock(&config(&self.github, &placeholder, MONTH), self.clock.clone()).await.unwrap();
        let mut config = config(&self.github, &self.state, MONTH);
        config.tuning.poll = true;
        config.tuning.reconcile = Some(Duration::from_secs(1));
        config.webhook_secrets.clear();
        self.app = App::with_clock(&config, self.clock.clone()).await.unwrap();
        self.serve().await;
        self.mute_webhooks();
    }

    /// All that the delivery log still has for us has come, and is worked off; how it came.
    pub async fn caught_up(&self) -> app::CaughtUp {
        let (mut all, mut quiet) = (app::CaughtUp::default(), 0);
        for _ in 0..200 {
            let done = self.app.catch_up().await.unwrap();
            self.settle().await;
            all.redelivered += done.redelivered;
            all.taken += done.taken;
            quiet = if done == app::CaughtUp::default() { quiet + 1 } else { 0 };
            // What is young may still be on its way: the log is asked until it is old.
            if quiet > 15 {
                return all;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there is always something left in the delivery log: {all:?}");
    }

    /// From here on GitHub's deliveries reach nobody.
    pub fn mute_webhooks(&mut self) {
        self.github.set_webhook_url("http://127.0.0.1:1/webhook");
    }

    pub fn people(&self) -> People {
        self.github.people()
    }

    pub fn state_dir(&self) -> &std::path::Path {
        self.state.path()
    }

    /// Everything sent is delivered, everything delivered is worked off.
    pub async fn settle(&self) {
        let observer = Observer::open(self.state.path()).await.unwrap();
        let all = async {
            loop {
                self.github.deliveries_settled().await;
                if observer.is_idle().await.unwrap() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(30), all).await.is_err() {
            let rows = observer.timelines(50).await.unwrap();
            panic!("still busy after half a minute: {}", serde_json::to_string_pretty(&rows).unwrap());
        }
    }

    /// Opens a pull request with one new file.
    pub async fn open(&self, path: &str, text: &str) -> u64 {
        let branch = format!("change-{}", self.github.pulls(REPO).len());
        let pull = OpenPull::new("ada", &branch, "A change", Change::new().write(path, text));
        let number = self.people().open_pull(REPO, pull).await.unwrap();
        self.settle().await;
        number
    }

    pub async fn push(&self, number: u64, path: &str, text: &str) {
        let change = Change::new().write(path, text);
        self.people().push_to_pull("ada", REPO, number, "Change it", change).await.unwrap();
        self.settle().await;
    }

    /// Marked as read.
    pub fn reviews(&self, number: u64) -> Vec<Review> {
        self.github.read_reviews(REPO, number)
    }

    /// Marked as read.
    pub fn comments(&self, number: u64) -> Vec<ReviewComment> {
        self.github.read_review_comments(REPO, number)
    }

    /// `path:line first line of the body`, sorted.
    pub fn comment_places(&self, number: u64) -> Vec<String> {
        let mut places: Vec<String> =
            self.comments(number).iter().map(|c| format!("{}:{}", c.path, c.original_line)).collect();
        places.sort();
        places
    }

    pub fn resolved_places(&self, number: u64) -> Vec<String> {
        let threads = self.github.threads(REPO, number);
        let resolved: Vec<u64> = threads.iter().filter(|t| t.resolved_by.is_some()).map(|t| t.id).collect();
        let mut places: Vec<String> = self
            .comments(number)
            .iter()
            .filter(|c| resolved.contains(&c.thread))
            .map(|c| format!("{}:{}", c.path, c.original_line))
            .collect();
        places.sort();
        places
    }

    /// The only check run of the pull request's head.
    #[track_caller]
    pub fn check(&self, number: u64) -> CheckRun {
        let head = self.github.pull(REPO, number).unwrap().head_sha;
        let mut runs = self.github.check_runs(REPO, &head);
        assert_eq!(runs.len(), 1, "one check run a head");
        runs.remove(0)
    }

    #[track_caller]
    pub fn conclusion(&self, number: u64) -> String {
        let check = self.check(number);
        check.conclusion.unwrap_or_else(|| panic!("the check is still {}", check.status))
    }

    /// Why the latest delivery ended as it did.
    pub async fn last_reason(&self) -> String {
        let observer = Observer::open(self.state.path()).await.unwrap();
        let last = observer.timelines(1).await.unwrap().pop().unwrap();
        format!("{}: {}", last.delivery.state.as_str(), last.delivery.reason.unwrap_or_default())
    }

    /// The latest `pull_request` delivery led to a review that came to its end.
    pub async fn last_review_finished(&self) -> bool {
        let observer = Observer::open(self.state.path()).await.unwrap();
        let timelines = observer.timelines(50).await.unwrap();
        let last = timelines.iter().rfind(|t| t.delivery.event == "pull_request").unwrap();
        last.jobs.iter().any(|job| job.job.kind == "review" && job.job.state.as_str() == "completed")
    }

    /// An issue, written and labelled by people who may.
    pub async fn ask(&self, title: &str, body: &str) -> u64 {
        let number = self.people().open_issue("ada", REPO, title, body).await.unwrap();
        self.people().label("ada", REPO, number, "swarm").await.unwrap();
        self.settle().await;
        number
    }

    pub async fn comment(&self, who: &str, number: u64, body: &str) -> u64 {
        let id = self.people().comment(who, REPO, number, body).await.unwrap();
        self.settle().await;
        id
    }

    /// What the App said in a conversation, marked as read.
    pub fn said(&self, number: u64) -> Vec<String> {
        let bot = self.github.bot_login();
        let comments = self.github.read_comments(REPO, number).into_iter();
        comments.filter(|comment| comment.author == bot).map(|comment| comment.body).collect()
    }

    /// The pull requests that the App opened.
    pub fn own_pulls(&self) -> Vec<octoswarm::demo::Pull> {
        let bot = self.github.bot_login();
        self.github.pulls(REPO).into_iter().filter(|pull| pull.author == bot).collect()
    }

    /// What GitHub refused: a correct client is refused nothing, but for asking whether something is there.
    pub fn refused_calls(&self) -> Vec<String> {
        let refusals = self.github.refusals().into_iter();
        let asks = ["/contents/", "/git/ref/", "/permission"];
        let refusals = refusals.filter(|call| !(call.status == 404 && asks.iter().any(|ask| call.path.contains(ask))));
        refusals.map(|call| format!("{} {} {:?}", call.method, call.path, call.refused)).collect()
    }

    /// The test is over: nothing may be left unread, unfinished, or refused.
    pub async fn end(mut self) {
        self.settle().await;
        let unread = self.github.unread();
        assert!(unread.is_empty(), "posted, but not looked at by the test: {unread:#?}");
        assert_eq!(self.refused_calls(), [""; 0], "calls that the box refused");
        assert_eq!(self.github.faults_left(), 0, "scripted faults that never struck");
        self.stop().await;
    }

    /// For tests whose point is that calls are refused.
    pub async fn end_with_refusals(mut self) {
        self.settle().await;
        assert!(self.github.unread().is_empty(), "posted, but not looked at by the test");
        self.stop().await;
    }

    async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop.cancel();
            for task in running.tasks {
                task.await.unwrap();
            }
        }
        self.ended = true;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.ended, "a test ends its world with `end`, so that nothing is left behind unseen");
        }
    }
}

fn config(github: &GitHubBox, state: &tempfile::TempDir, retention: Duration) -> ServerConfig {
    ServerConfig {
        app_id: github.app_id(),
        private_key: Secret::new(github.private_key_pem()),
        webhook_secrets: vec![Secret::new(SECRET)],
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        api_url: github.api_url(),
        web_url: github.web_url(),
        state: state.path().to_owned(),
        log: LogFormat::Text,
        accounts: Vec::new(),
        metrics: Metrics::default(),
        agents: Default::default(),
        sandbox: Default::default(),
        api: None,
        tuning: Tuning {
            workers: 4,
            write_pace: Duration::ZERO,
            settle: Duration::from_millis(50),
            retention,
            // Tests say when: its calls would meet the faults that are meant for others.
            reconcile: None,
            poll: false,
            scout: None,
        },
    }
}
