//! From a webhook to the posted review, and from a label to the opened pull request: the real binary as `serve`, the GitHub
//! in a box, real git over HTTP, a repository of more than ten thousand files.
//!
//! `cargo bench --bench flow` builds the repository from published packages; `cargo bench --bench flow -- --repo PATH`
//! takes the checked out commit of a local one. The clock starts when the person has acted and stops when the box holds
//! the review, or the pull request. Nothing here fails for being slow; it does fail when nothing comes of an act.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark prints, starts processes, takes the time and stops where it cannot go on"
)]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use octoswarm::app::runs::Observer;
use octoswarm::demo::{AppManifest, Change, GitHubBox, OpenPull, Options, People};
use support::{Page, median};

const REPO: &str = "octo/large";
const COMMITS: usize = 300;
/// As often a case is run warm; the median is told.
const RUNS: usize = 3;

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().skip_while(|argument| argument != "--repo").skip(1).take(1).collect();
    let repository = given.first().map_or_else(from_packages, PathBuf::from);
    let mut page = Page::new("flow");
    let mut world = World::start(&repository).await;
    world.describe(&repository, &mut page);
    world.limits(&mut page);
    page.head(&[
        "act",
        "mirror",
        "files",
        "posted after",
        "check done after",
        "accepted",
        "begun",
        "fetched",
        "reviewed",
        "posted",
        "concluded",
        "calls",
    ]);
    for (files, cold, runs) in
        [(1, true, 1), (1, false, RUNS), (10, false, RUNS), (100, true, 1), (100, false, RUNS), (1000, false, 1)]
    {
        world.review(files, cold, runs, &mut page).await;
    }
    page.line(
        "\nThe columns after `check done after` are the steps in between, one after the other: the delivery is a running job; \
         the check run is begun; both sides are in the mirror; all agents are done; the review is posted; the check is \
         concluded. `calls` are requests to the API.",
    );
    page.head(&["act", "mirror", "pull request after", "fetched", "agents", "calls"]);
    for cold in [true, false] {
        world.contribute(cold, &mut page).await;
    }
    page.keep();
    world.stop().await;
}

/// A bare repository of package files, a few more with every commit.
fn from_packages() -> PathBuf {
    let git = support::folder().join("large.git");
    let sources = [
        support::from_pypi(&["Django==5.2.8", "SQLAlchemy==2.0.44"]),
        support::from_pypi(&["sympy==1.14.0"]),
        support::from_npm("react-native@0.72.17"),
        support::from_npm("effect@3.17.0"),
    ];
    support::once(&git, &format!("{sources:?} {COMMITS}"), || {
        support::run(Command::new("git").args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(&git));
        let mut import = Command::new("git")
            .args(["fast-import", "--quiet"])
            .current_dir(&git)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut to = std::io::BufWriter::new(import.stdin.take().unwrap());
        let all: Vec<(String, PathBuf)> = sources
            .iter()
            .flat_map(|source| {
                let name = |path: &Path| path.strip_prefix(source).unwrap().to_str().unwrap().replace("package/", "");
                support::files(source).into_iter().map(|path| (name(&path), path)).collect::<Vec<_>>()
            })
            .filter(|(name, path)| !name.contains(['"', '\n']) && path.metadata().unwrap().len() < 1 << 20)
            .collect();
        for nth in 0..COMMITS {
            let date = 1_700_000_000 + nth * 3600;
            write!(to, "commit refs/heads/main\ncommitter Ada <ada@example.com> {date} +0000\ndata 8\nMore {nth:03}\n")
                .unwrap();
            // Spread, so that every commit touches many folders.
            for (name, path) in all.iter().skip(nth).step_by(COMMITS) {
                let bytes = fs::read(path).unwrap();
                write!(to, "M 100644 inline {name}\ndata {}\n", bytes.len()).unwrap();
                to.write_all(&bytes).unwrap();
                writeln!(to).unwrap();
            }
            writeln!(to).unwrap();
        }
        drop(to);
        assert!(import.wait().unwrap().success(), "git fast-import failed");
    });
    git
}

struct World {
    github: GitHubBox,
    server: Server,
    /// Files that a change can touch.
    files: Vec<String>,
    pulls: usize,
    issues: usize,
}

impl World {
    async fn start(repository: &Path) -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let manifest = AppManifest::parse(include_str!("../app-manifest.yml")).unwrap();
        let mut options = Options::new(manifest, "a secret for a benchmark");
        options.requests_an_hour = 1_000_000;
        let github = GitHubBox::start(options).await.unwrap();
        github.people().create_empty_repo(REPO).await.unwrap();
        github.people().add_collaborator(REPO, "ada", "write").await.unwrap();
        let url = with_password(&github);
        let push = ["push", "--quiet", &url, "HEAD:refs/heads/main"].map(str::to_owned);
        let git = repository.to_owned();
        tokio::task::spawn_blocking(move || support::run(Command::new("git").args(push).current_dir(git)))
            .await
            .unwrap();
        github.deliveries_settled().await;
        let defect = "import yaml\n\n\ndef read(path):\n    with open(path) as file:\n        return yaml.load(file)\n";
        let change = Change::new().write("octo_settings/a.py", defect).write("octo_settings/b.py", defect);
        github.people().push("ada", REPO, "main", "Read settings", change).await.unwrap();
        let files = github.files(REPO, "main").into_keys().filter(|path| is_code(path)).collect();
        let server = Server::start(&github);
        Self { github, server, files, pulls: 0, issues: 0 }
    }

    fn people(&self) -> People {
        self.github.people()
    }

    fn describe(&self, repository: &Path, page: &mut Page) {
        let all = self.github.files(REPO, "main").len();
        let commits = self.github.commits(REPO, "main").len();
        let name =
            if repository.starts_with(support::folder()) { "Packages" } else { "A repository given by its path" };
        page.line(&format!(
            "\n{name}: {all} files, {commits} commits. The pause between writes is 0 (as delivered it is 1 s, which GitHub asks \
             for; a review writes three times).",
        ));
    }

    /// What nothing can be faster than: git itself, and the box's own answers.
    fn limits(&self, page: &mut Page) {
        let url = with_password(&self.github);
        let fetch = |depth: &str| {
            let to = tempfile::tempdir().unwrap();
            support::run(Command::new("git").args(["init", "--quiet", "--bare"]).arg(to.path()));
            let began = Instant::now();
            let arguments = ["fetch", "--quiet", "--no-tags", depth, &url, "refs/heads/main:refs/heads/main"];
            tokio::task::block_in_place(|| support::run(Command::new("git").args(arguments).current_dir(to.path())));
            began.elapsed()
        };
        let shallow = median((0..3).map(|_| fetch("--depth=50").as_secs_f64()));
        let warm = {
            let to = tempfile::tempdir().unwrap();
            let git = |arguments: &[&str]| {
                tokio::task::block_in_place(|| support::run(Command::new("git").args(arguments).current_dir(to.path())))
            };
            git(&["init", "--quiet", "--bare"]);
            let arguments = ["fetch", "--quiet", "--no-tags", "--depth=50", &url, "refs/heads/main:refs/heads/main"];
            git(&arguments);
            let began = Instant::now();
            git(&["ls-remote", "--quiet", &url, "refs/heads/main"]);
            began.elapsed()
        };
        page.line(&format!(
            "Limits in this run: `git fetch --depth=50` of the default branch into an empty repository {}, `git ls-remote` {}.",
            seconds(shallow),
            seconds(warm.as_secs_f64()),
        ));
    }

    async fn review(&mut self, files: usize, cold: bool, runs: usize, page: &mut Page) {
        let mut taken = Vec::new();
        for _ in 0..runs {
            if cold {
                self.server.forget(&self.github);
            }
            taken.push(self.review_once(files).await);
        }
        taken.sort_by_key(|taken| taken.posted);
        let middle = &taken[taken.len() / 2];
        let mut cells = vec![
            "pull request opened".to_owned(),
            mirror(cold),
            files.to_string(),
            seconds(middle.posted.as_secs_f64()),
            seconds(middle.concluded.as_secs_f64()),
        ];
        cells.extend(middle.steps.iter().map(|ms| format!("{ms} ms")));
        cells.push(middle.calls.to_string());
        page.row(&cells);
        let name = format!("flow-{files}-{}.txt", if cold { "cold" } else { "warm" });
        fs::write(support::folder().join(name), &middle.timeline).unwrap();
    }

    async fn review_once(&mut self, files: usize) -> Taken {
        self.pulls += 1;
        let branch = format!("change-{}", self.pulls);
        let change = self.change(files);
        self.people().push("ada", REPO, &branch, "Change much", change).await.unwrap();
        self.settle().await;
        let calls_before = self.github.calls().len();
        let pull = OpenPull::new("ada", &branch, "Change much", Change::new());
        let began = (Instant::now(), now());
        let number = self.people().open_pull(REPO, pull).await.unwrap();
        let head = self.github.pull(REPO, number).unwrap().head_sha;
        let posted = until(began.0, || !self.github.read_reviews(REPO, number).is_empty()).await;
        let done = || self.github.check_runs(REPO, &head).iter().any(|run| run.conclusion.is_some());
        let concluded = until(began.0, done).await;
        self.settle().await;
        self.github.take_comments();
        let calls = self.github.calls().split_off(calls_before);

        let observer = Observer::open(&self.server.state).await.unwrap();
        let timelines = observer.timelines(50).await.unwrap();
        let runs = timelines.iter().flat_map(|timeline| &timeline.jobs).flat_map(|job| &job.runs);
        let run = runs.filter(|run| run.run.kind == "review").max_by_key(|run| run.run.started_at).unwrap();
        let mut lines: Vec<(i64, String)> = vec![(run.run.started_at, "run".into())];
        lines.extend(calls.iter().map(|call| (call.at, format!("  {} {}", call.method, call.path))));
        for step in &run.steps {
            lines.push((step.started_at, format!("{} begins", step.name)));
            lines.extend(step.finished_at.map(|at| (at, format!("{} ends", step.name))));
        }
        let progress = observer.progress(run.run.id, 0).await.unwrap();
        lines.extend(progress.iter().map(|row| (row.at, row.text.clone())));
        lines.extend(run.run.finished_at.map(|at| (at, "run ends".into())));
        lines.sort();
        let mut timeline = String::new();
        for (at, what) in &lines {
            writeln!(timeline, "{:>6} ms {what}", at - began.1).unwrap();
        }

        let call = |method: &str, end: &str| {
            let hit = calls.iter().find(|call| call.method == method && call.path.ends_with(end));
            hit.map_or(began.1, |call| call.at)
        };
        let fetched = progress.iter().find(|row| row.text == "both sides fetched").map_or(began.1, |row| row.at);
        let reviewed = run.steps.iter().filter_map(|step| step.finished_at).max().unwrap_or(began.1);
        let ended = began.1 + i64::try_from(concluded.as_millis()).unwrap();
        let marks =
            [run.run.started_at, call("POST", "/check-runs"), fetched, reviewed, call("POST", "/reviews"), ended];
        let mut before = began.1;
        let steps = marks.iter().map(|at| at - std::mem::replace(&mut before, *at)).collect();
        Taken { posted, concluded, steps, calls: calls.len(), timeline }
    }

    /// A function more in so many files; one in ten has a defect.
    fn change(&self, files: usize) -> Change {
        assert!(files <= self.files.len(), "the repository has only {} files of code", self.files.len());
        let (every, of) = (self.files.len() / files, self.pulls);
        let touched = self.files.iter().skip(of % every.max(1)).step_by(every).take(files);
        touched.enumerate().fold(Change::new(), |change, (nth, path)| {
            let mut text = self.github.file(REPO, "main", path).unwrap();
            let test = if nth % 10 == 0 { "eval(value)" } else { "str(value)" };
            if path.ends_with(".py") {
                write!(text, "\n\ndef octo_added_{of}(value):\n    return {test}\n").unwrap();
            } else {
                write!(text, "\nexport function octoAdded{of}(value) {{ return {test}; }}\n").unwrap();
            }
            change.write(path, text)
        })
    }

    async fn contribute(&mut self, cold: bool, page: &mut Page) {
        if cold {
            self.server.forget(&self.github);
        }
        self.issues += 1;
        let title = format!("Loading settings can run code, part {}", self.issues);
        let body = "We use `yaml.load` on files that users upload, in `octo_settings/a.py` and `octo_settings/b.py`. Somebody \
                    could smuggle in Python objects that way.\nPlease switch every place to the safe loader.\n";
        let number = self.people().open_issue("ada", REPO, &title, body).await.unwrap();
        self.settle().await;
        let (calls_before, own_before) = (self.github.calls().len(), self.own_pulls());
        let began = (Instant::now(), now());
        self.people().label("ada", REPO, number, "swarm").await.unwrap();
        let idle = || !self.github.read_comments(REPO, number).is_empty();
        let opened = until(began.0, || self.own_pulls() > own_before || idle()).await;
        self.settle().await;
        let said: Vec<_> = self.github.take_comments().into_iter().filter(|posted| posted.number == number).collect();
        assert!(self.own_pulls() > own_before, "no pull request for the issue: {said:?}");
        let calls = self.github.calls().split_off(calls_before);
        let observer = Observer::open(&self.server.state).await.unwrap();
        let timelines = observer.timelines(50).await.unwrap();
        let runs = timelines.iter().flat_map(|timeline| &timeline.jobs).flat_map(|job| &job.runs);
        let run = runs.filter(|run| run.run.kind == "contribute").max_by_key(|run| run.run.started_at).unwrap();
        let first = run.steps.iter().map(|step| step.started_at).min().unwrap_or(began.1);
        let agents: Vec<String> = run
            .steps
            .iter()
            .map(|step| format!("{} {} ms", step.name, step.finished_at.unwrap_or(step.started_at) - step.started_at))
            .collect();
        page.row(&[
            "issue labelled".to_owned(),
            mirror(cold),
            seconds(opened.as_secs_f64()),
            format!("{} ms", first - began.1),
            agents.join(", "),
            calls.len().to_string(),
        ]);
    }

    fn own_pulls(&self) -> usize {
        let bot = self.github.bot_login();
        self.github.pulls(REPO).iter().filter(|pull| pull.author == bot).count()
    }

    async fn settle(&self) {
        let observer = Observer::open(&self.server.state).await.unwrap();
        let began = Instant::now();
        loop {
            self.github.deliveries_settled().await;
            if observer.is_idle().await.unwrap() {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(300), "the server does not come to rest");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn stop(self) {
        drop(self.server);
        self.github.stop().await;
    }
}

struct Taken {
    posted: Duration,
    concluded: Duration,
    steps: Vec<i64>,
    calls: usize,
    timeline: String,
}

/// The real binary; it dies with this value.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
    state: PathBuf,
    lives: usize,
}

impl Server {
    fn start(github: &GitHubBox) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.pem"), github.private_key_pem()).unwrap();
        let state = folder.path().join("state-0");
        let child = Self::spawn(github, folder.path(), &state);
        Self { child, folder, state, lives: 0 }
    }

    /// Another life that knows nothing.
    fn forget(&mut self, github: &GitHubBox) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lives += 1;
        self.state = self.folder.path().join(format!("state-{}", self.lives));
        self.child = Self::spawn(github, self.folder.path(), &self.state);
    }

    fn spawn(github: &GitHubBox, folder: &Path, state: &Path) -> Child {
        let mut child = Command::new(support::octoswarm())
            .arg("serve")
            .env("OCTOSWARM_APP_ID", github.app_id().to_string())
            .env("OCTOSWARM_PRIVATE_KEY_FILE", folder.join("app.pem"))
            .env("OCTOSWARM_WEBHOOK_SECRET", github.webhook_secret())
            .env("OCTOSWARM_API_URL", github.api_url())
            .env("OCTOSWARM_WEB_URL", github.web_url())
            .env("OCTOSWARM_STATE", state)
            .env("OCTOSWARM_LISTEN", "127.0.0.1:0")
            .env("OCTOSWARM_RECONCILE_SECONDS", "0")
            .env("OCTOSWARM_WRITE_PACE_MS", std::env::var("OCTOSWARM_WRITE_PACE_MS").unwrap_or_else(|_| "0".into()))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(state.with_extension("log")).unwrap())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| {
            panic!("the server did not start: {}", fs::read_to_string(state.with_extension("log")).unwrap())
        });
        github.set_webhook_url(&format!("http://{address}/webhook"));
        child
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

async fn until(began: Instant, done: impl Fn() -> bool) -> Duration {
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(300), "nothing came of it in five minutes");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    began.elapsed()
}

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

fn with_password(github: &GitHubBox) -> String {
    github.clone_url(REPO).replacen("http://", "http://ada:demo@", 1)
}

fn is_code(path: &str) -> bool {
    let quiet = ["test", "spec", "mock", "bench", "example", "min.", "dist/", "vendor", "fixture"];
    (path.ends_with(".py") || path.ends_with(".ts") && !path.ends_with(".d.ts"))
        && !quiet.iter().any(|word| path.to_lowercase().contains(word))
}

fn mirror(cold: bool) -> String {
    if cold { "none yet" } else { "warm" }.to_owned()
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}
