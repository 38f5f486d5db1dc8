//! One life of a few cycles: a box, a state folder, a server that is killed again and again, and people who go on acting.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use octoswarm::demo::{AppManifest, Change, Fault, FaultKind, GitHubBox, OpenPull, Options, People, Pull};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sqlx::Connection;

use super::facts::{self, Asked, BRANCH, STRANGER, WRITER};
use super::point::{How, Point, Primary};
use super::post::Post;
use super::rows::{self, Remains};
use super::server::{Server, Started};
use super::wire::{self, Gap};
use crate::contribute::{BODY, TITLE, UNSAFE};
use crate::support::world::{CLEAN, DEFECTS};

/// How long everything may take to come to rest; generous, for machines with more to do.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long to wait for a named call before the kill comes anyway.
const FOR_THE_CALL: Duration = Duration::from_secs(20);
/// Our own pull requests are drafts, and get their review too.
const CONFIG: (&str, &str) = (".github/octoswarm.yml", "review_drafts: true\n");
const REPOS: [&str; 2] = ["octo/calc", "octo/abacus"];

/// What was measured.
#[derive(Debug, Default)]
pub struct Measured {
    pub cycles: usize,
    /// By point: struck there, or missed it and killed anyway.
    pub points: BTreeMap<&'static str, (usize, usize)>,
    pub kills: usize,
    pub interrupted: usize,
    pub acked: usize,
    pub acts: usize,
    /// From the start of the process to the first move of an interrupted job, in milliseconds.
    pub recovery: Vec<i64>,
    /// The same from when the server listens; it may move before that.
    pub from_listening: Vec<i64>,
    /// From the start of the process to its listening, in milliseconds.
    pub boot: Vec<i64>,
}

impl Measured {
    pub fn add(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.kills += other.kills;
        self.interrupted += other.interrupted;
        self.acked += other.acked;
        self.acts += other.acts;
        self.recovery.extend(other.recovery);
        self.from_listening.extend(other.from_listening);
        self.boot.extend(other.boot);
        for (name, (struck, missed)) in other.points {
            let entry = self.points.entry(name).or_default();
            *entry = (entry.0 + struck, entry.1 + missed);
        }
    }
}

pub struct Lane {
    github: Arc<GitHubBox>,
    people: People,
    post: Post,
    server: Server,
    folder: Option<tempfile::TempDir>,
    rng: StdRng,
    asked: Vec<Asked>,
    labelled: Vec<(String, u64)>,
    returned: Vec<(String, String)>,
    branches: usize,
    /// What this cycle did, for whoever has to look into it.
    story: Vec<String>,
    /// Before this time nothing of the current life happened.
    started: Option<Started>,
    pub measured: Measured,
}

type Outcome = Result<(), Vec<String>>;

impl Lane {
    pub async fn begin() -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let folder = tempfile::Builder::new().prefix("octoswarm-kill-").tempdir().unwrap();
        let manifest = AppManifest::parse(include_str!("../../../app-manifest.yml")).unwrap();
        let options = Options { requests_an_hour: 1_000_000, ..Options::new(manifest, "a secret for the kill loop") };
        let github = Arc::new(GitHubBox::start(options).await.unwrap());
        let (people, post) = (github.people(), Post::new(github.clone()));
        for repo in REPOS {
            let files = Change::new().write("README.md", "# calc\n").write("src/base.py", CLEAN);
            people.create_repo(repo, files.write("src/a.py", UNSAFE).write(CONFIG.0, CONFIG.1)).await.unwrap();
            people.add_collaborator(repo, WRITER, "write").await.unwrap();
        }
        let server = Server::new(&github, folder.path());
        Self {
            people,
            post,
            server,
            github,
            folder: Some(folder),
            rng: StdRng::seed_from_u64(0),
            asked: Vec::new(),
            labelled: Vec::new(),
            returned: Vec::new(),
            branches: 0,
            story: Vec::new(),
            started: None,
            measured: Measured::default(),
        }
    }

    /// What happened in this cycle, and where its remains lie.
    pub fn keep(&mut self) -> (Vec<String>, PathBuf) {
        (self.story.clone(), self.folder.take().unwrap().keep())
    }

    pub async fn first_start(&mut self) -> Outcome {
        self.start().await?;
        self.quiet().await
    }

    /// People act, the server is killed at the point, starts again, and all must be as if nothing had happened.
    pub async fn cycle(&mut self, seed: u64, point: &Point) -> Outcome {
        self.rng = StdRng::seed_from_u64(seed);
        self.story.clear();
        let repo = REPOS[self.rng.random_range(0..REPOS.len())];
        if point.act == Primary::Push || point.act == Primary::Fix {
            self.open(repo, DEFECTS).await;
            self.quiet().await?;
        }
        self.post.hold();
        let number = self.primary(repo, point.act).await;
        for _ in 0..self.rng.random_range(0..=3) {
            self.extra(number).await;
        }
        self.post.collect().await;

        let struck = self.strike(point, repo, number).await?;
        self.measured.kills += 1;
        self.post.address(None);
        self.github.release_withheld();
        self.github.forgive();
        let entry = self.measured.points.entry(point.name).or_default();
        if struck {
            entry.0 += 1
        } else {
            entry.1 += 1
        }
        self.tell(if struck { "killed at the point" } else { "the point did not come; killed anyway" });
        let mut interrupted = self.look_at_remains().await?;

        if self.rng.random_bool(0.2) {
            let after = self.millis(0..400);
            self.tell(&format!("killed again {after:?} into the next start"));
            self.server.start_and_die(&self.server.state(), after).await;
            self.measured.kills += 1;
            // What that short life brought to an end is interrupted no more.
            let open = Remains::of(&self.server.state()).await.unwrap().open().await;
            interrupted.retain(|job| open.contains(job));
        }
        self.post.release().await;
        self.start().await?;
        if self.rng.random_bool(0.15) {
            self.refuses_a_second().await?;
        }
        self.quiet().await?;
        self.recovery(&interrupted).await?;
        self.measured.cycles += 1;
        self.check().await?;
        if point.act == Primary::Push && self.rng.random_bool(0.5) {
            self.bring_back(repo, number).await;
            self.quiet().await?;
            self.check().await?;
        }
        Ok(())
    }

    fn millis(&mut self, range: impl rand::distr::uniform::SampleRange<u64>) -> Duration {
        Duration::from_millis(self.rng.random_range(range))
    }

    fn tell(&mut self, what: &str) {
        self.story.push(what.to_owned());
    }

    async fn start(&mut self) -> Outcome {
        let started = self.server.start().await.map_err(|problem| vec![problem])?;
        self.measured.boot.push(i64::try_from(started.listening_after.as_millis()).unwrap());
        self.post.address(Some(started.address));
        self.started = Some(started);
        Ok(())
    }

    fn address(&self) -> SocketAddr {
        self.started.as_ref().unwrap().address
    }

    // What people do.

    async fn primary(&mut self, repo: &'static str, act: Primary) -> u64 {
        match act {
            Primary::Open => self.open(repo, DEFECTS).await,
            Primary::OpenAny => {
                let text = [DEFECTS, UNSAFE, CLEAN][self.rng.random_range(0..3)];
                self.open(repo, text).await
            }
            Primary::Push => {
                let pull = self.newest(repo);
                self.push(repo, &pull).await;
                pull.number
            }
            Primary::Fix => {
                let number = self.newest(repo).number;
                self.command(repo, number, WRITER, "fix").await;
                number
            }
            Primary::Status => {
                let number = self.open(repo, CLEAN).await;
                self.command(repo, number, WRITER, "status").await;
                number
            }
            Primary::Issue => self.issue(repo).await,
        }
    }

    async fn extra(&mut self, primary: u64) {
        let repo = REPOS[self.rng.random_range(0..REPOS.len())];
        let pulls = self.pulls(repo);
        let pull = pulls.get(self.rng.random_range(0..pulls.len().max(1))).cloned();
        match (self.rng.random_range(0..14), pull) {
            (0, _) => drop(self.issue(repo).await),
            (1 | 2, _) | (_, None) => {
                let text = [DEFECTS, UNSAFE, CLEAN][self.rng.random_range(0..3)];
                self.open(repo, text).await;
            }
            (3 | 4, Some(pull)) => self.push(repo, &pull).await,
            (5, Some(pull)) => self.command(repo, pull.number, WRITER, "fix").await,
            (6, Some(pull)) => self.command(repo, pull.number, WRITER, "status").await,
            (7, Some(pull)) => self.command(repo, pull.number, WRITER, "review").await,
            (8, Some(pull)) => self.command(repo, pull.number, STRANGER, "fix").await,
            (9, Some(pull)) => {
                self.people.comment("max", repo, pull.number, "Looks good, `/swarm fix` may help.").await.unwrap();
                self.tell(&format!("no command at {repo}#{}", pull.number));
            }
            (10, Some(pull)) if pull.number != primary => {
                self.people.close_pull(WRITER, repo, pull.number).await.unwrap();
                self.tell(&format!("{repo}#{} closed", pull.number));
            }
            (10 | 11, _) => {
                let nth = self.rng.random_range(0..1000);
                let done = self.post.again(nth);
                self.tell(if done { "something delivered again" } else { "nothing to deliver again yet" });
            }
            (12, _) => {
                let nth = self.rng.random_range(0..1000);
                let guid = format!("00000000-0000-4000-8000-{:012x}", self.rng.random::<u32>());
                let done = self.post.replay(nth, &guid);
                self.tell(if done { "something replayed under another GUID" } else { "nothing to replay yet" });
            }
            (_, Some(pull)) => self.command(repo, pull.number, WRITER, "help").await,
        }
        self.measured.acts += 1;
    }

    /// People's open pull requests.
    fn pulls(&self, repo: &str) -> Vec<Pull> {
        let open = |pull: &Pull| pull.state == "open" && pull.author == WRITER;
        self.github.pulls(repo).into_iter().filter(open).collect()
    }

    fn newest(&self, repo: &str) -> Pull {
        self.pulls(repo).pop().unwrap()
    }

    async fn open(&mut self, repo: &str, text: &str) -> u64 {
        self.branches += 1;
        let (branch, path) = (format!("{BRANCH}{}", self.branches), format!("src/p{}.py", self.branches));
        let pull = OpenPull::new(WRITER, &branch, "A change", Change::new().write(&path, text));
        let number = self.people.open_pull(repo, pull).await.unwrap();
        self.measured.acts += 1;
        self.tell(&format!("{repo}#{number} opened from {branch}"));
        number
    }

    /// Takes away one finding, or brings a file with two where there is none left.
    async fn push(&mut self, repo: &str, pull: &Pull) {
        let nth = pull.head_ref.trim_start_matches(BRANCH);
        let path = format!("src/p{nth}.py");
        let text = self.github.file(repo, &pull.head_sha, &path).unwrap();
        let steps = [("return eval(", "return int("), ("yaml.load(", "yaml.safe_load("), ("== None", "is None")];
        let change = match steps.into_iter().find(|(before, _)| text.contains(before)) {
            Some((before, after)) => Change::new().write(&path, text.replace(before, after)),
            None => Change::new().write(&format!("src/p{nth}_{}.py", pull.head_sha.get(..6).unwrap()), DEFECTS),
        };
        self.people.push_to_pull(WRITER, repo, pull.number, "Go on", change).await.unwrap();
        self.measured.acts += 1;
        self.tell(&format!("{repo}#{} pushed to", pull.number));
    }

    /// A finding that was gone is there again.
    async fn bring_back(&mut self, repo: &str, number: u64) {
        let Some(pull) = self.github.pull(repo, number).filter(|pull| pull.state == "open") else { return };
        let path = format!("src/p{}.py", pull.head_ref.trim_start_matches(BRANCH));
        let text = self.github.file(repo, &pull.head_sha, &path).unwrap();
        let change = Change::new().write(&path, text.replace("return int(", "return eval("));
        self.people.push_to_pull(WRITER, repo, number, "Back again", change).await.unwrap();
        self.returned.push((repo.to_owned(), path));
        self.tell(&format!("a finding comes back in {repo}#{number}"));
    }

    async fn issue(&mut self, repo: &'static str) -> u64 {
        let number = self.people.open_issue(WRITER, repo, TITLE, BODY).await.unwrap();
        self.people.label(WRITER, repo, number, "swarm").await.unwrap();
        self.labelled.push((repo.to_owned(), number));
        self.measured.acts += 1;
        self.tell(&format!("{repo}#{number} labelled"));
        number
    }

    async fn command(&mut self, repo: &'static str, number: u64, by: &str, verb: &'static str) {
        let comment = self.people.comment(by, repo, number, &format!("/swarm {verb}")).await.unwrap();
        self.asked.push(Asked { repo: repo.to_owned(), number, comment, by: by.to_owned(), verb });
        self.measured.acts += 1;
        self.tell(&format!("{by} asks for `{verb}` at {repo}#{number}"));
    }

    // How the server dies.

    /// The server is dead when this returns; whether it died where it should.
    async fn strike(&mut self, point: &Point, repo: &str, number: u64) -> Result<bool, Vec<String>> {
        match &point.how {
            How::AnyTime => {
                let after = self.millis(0..900);
                self.post.release().await;
                self.carry_for(after).await;
            }
            How::Call { method, path, skip, half } => {
                let path = path.replace("{n}", &number.to_string()).replace("{repo}", repo);
                let kind = if *half { FaultKind::WithholdHalf } else { FaultKind::Withhold };
                return Ok(self.at_call(method, &path, *skip, kind).await);
            }
            How::AnyCall => {
                let skip = self.rng.random_range(0..14);
                self.tell(&format!("to die after {skip} calls"));
                return Ok(self.at_call("", "", skip, FaultKind::Withhold).await);
            }
            How::Dispatch(gap) => return Ok(self.in_a_dispatch(*gap).await),
            How::HalfBody => return self.half_a_body().await,
            How::Unanswered => return self.unanswered().await,
            How::Uncommitted => return self.uncommitted().await,
            How::Checkpoint => return Ok(self.at_checkpoint().await),
            How::Graceful => return self.gracefully(number).await,
            How::Paused => {
                self.post.release().await;
                let (before, frozen, after) = (self.millis(0..300), self.millis(100..600), self.millis(0..300));
                self.carry_for(before).await;
                self.server.signal("STOP");
                tokio::time::sleep(frozen).await;
                self.server.signal("CONT");
                self.carry_for(after).await;
            }
            How::Starting => {
                self.server.kill().await;
                for _ in 0..3 {
                    let after = self.millis(0..250);
                    self.server.start_and_die(&self.server.state(), after).await;
                    self.measured.kills += 1;
                }
            }
            How::Migrating => {
                self.server.kill().await;
                self.migrating().await?;
            }
        }
        self.server.kill().await;
        Ok(true)
    }

    /// Goes on bringing what the acts cause.
    async fn carry_for(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.post.carry().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn at_call(&mut self, method: &str, path: &str, skip: u32, kind: FaultKind) -> bool {
        if skip > 0 {
            self.github.fail_next(Fault::once(method, path, FaultKind::Slow(Duration::ZERO)).times(skip));
        }
        self.github.fail_next(Fault::once(method, path, kind));
        self.post.release().await;
        let met = tokio::select! {
            () = self.github.wait_withheld() => true,
            () = self.all_quiet_or(FOR_THE_CALL) => false,
        };
        self.server.kill().await;
        met
    }

    /// The kill comes as soon as a message lies in that gap, after some that are let pass.
    async fn in_a_dispatch(&mut self, gap: Gap) -> bool {
        let (state, skip) = (self.server.state(), self.rng.random_range(0..6));
        self.tell(&format!("to die {gap:?} after {skip} such messages"));
        let mut seen = gap.look(&state);
        let enough = seen.len() + skip + 1;
        self.post.release().await;
        let until = Instant::now() + FOR_THE_CALL;
        let last = tokio::task::block_in_place(|| {
            while Instant::now() < until {
                for hanging in gap.look(&state) {
                    if seen.insert(hanging.clone()) && seen.len() >= enough {
                        return Some(hanging);
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            None
        });
        self.server.strike();
        self.server.kill().await;
        last.is_some_and(|hanging| gap.holds(&state, &hanging))
    }

    /// Returns when nothing moves any more, or the time is over.
    async fn all_quiet_or(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.post.carry().await == 0 && rows::is_idle(&self.server.state()).await {
                // What was just caused may be on its way.
                tokio::time::sleep(Duration::from_millis(50)).await;
                if self.post.carry().await == 0 && rows::is_idle(&self.server.state()).await {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn half_a_body(&mut self) -> Result<bool, Vec<String>> {
        let letter = self.post.waiting("pull_request").unwrap();
        let stream = letter.send_raw(self.address(), false).await;
        tokio::time::sleep(self.millis(0..50)).await;
        self.server.kill().await;
        let sent = stream.is_some();
        drop(stream);
        self.expect_halves(&letter.guid, (false, false)).await?;
        Ok(sent)
    }

    async fn unanswered(&mut self) -> Result<bool, Vec<String>> {
        let letter = self.post.waiting("pull_request").unwrap();
        let mut conn = rows::beside(&self.server.state()).await.unwrap();
        let stream = letter.send_raw(self.address(), true).await;
        let until = Instant::now() + FOR_THE_CALL;
        let mut stored = false;
        while !stored && Instant::now() < until {
            stored = rows::is_stored(&mut conn, &letter.guid).await;
        }
        self.server.strike();
        conn.close().await.unwrap();
        self.server.kill().await;
        drop(stream);
        self.expect_halves(&letter.guid, (true, true)).await?;
        Ok(stored)
    }

    async fn uncommitted(&mut self) -> Result<bool, Vec<String>> {
        let letter = self.post.waiting("pull_request").unwrap();
        let mut rival = rows::rival(&self.server.state()).await;
        sqlx::query("BEGIN IMMEDIATE").execute(&mut rival).await.unwrap();
        let stream = letter.send_raw(self.address(), true).await;
        tokio::time::sleep(self.millis(20..200)).await;
        self.server.kill().await;
        drop(stream);
        let seen = self.expect_halves(&letter.guid, (false, false)).await;
        rival.close().await.unwrap();
        seen.map(|()| true)
    }

    async fn expect_halves(&self, guid: &str, wanted: (bool, bool)) -> Outcome {
        let mut remains = Remains::of(&self.server.state()).await.unwrap();
        let there = remains.halves(guid).await;
        if there == wanted {
            return Ok(());
        }
        Err(vec![format!("delivery {guid}: (row, job) are {there:?}, not {wanted:?}")])
    }

    /// Much is written, and the kill comes as soon as the database file itself changes.
    async fn at_checkpoint(&mut self) -> bool {
        // More pages of 4 KB than the log holds before it is folded; each body is one of those that need not queue.
        for _ in 0..160 {
            let guid = format!("11111111-0000-4000-8000-{:012x}", self.rng.random::<u32>());
            self.post.ballast(&guid, 250_000);
        }
        let file = self.server.state().join("octoswarm.db");
        let changed = move || std::fs::metadata(&file).unwrap().modified().unwrap();
        let before = changed();
        self.post.release().await;
        let until = Instant::now() + FOR_THE_CALL;
        let met = tokio::task::block_in_place(|| {
            while Instant::now() < until {
                if changed() != before {
                    return true;
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            false
        });
        self.server.strike();
        self.server.kill().await;
        met
    }

    /// Asked to stop while a job waits for GitHub; then killed within the grace, or left to end by itself.
    async fn gracefully(&mut self, number: u64) -> Result<bool, Vec<String>> {
        self.github.fail_next(Fault::withhold("GET", &format!("/pulls/{number}")));
        self.post.release().await;
        let met = tokio::select! {
            () = self.github.wait_withheld() => true,
            () = self.all_quiet_or(FOR_THE_CALL) => false,
        };
        self.server.signal("TERM");
        if self.rng.random_bool(0.5) {
            let within = self.millis(0..1500);
            self.carry_for(within).await;
            self.server.kill().await;
            return Ok(met);
        }
        self.tell("left to end by itself");
        self.github.release_withheld();
        match self.server.ended(Duration::from_secs(40)).await {
            Some(status) if status.success() => {}
            ended => return Err(vec![format!("asked to stop, the server ended with {ended:?}")]),
        }
        let left = Remains::of(&self.server.state()).await.unwrap().interrupted().await;
        if left.is_empty() {
            Ok(met)
        } else {
            Err(vec![format!("stopped in order, but the jobs {left:?} keep a lease")])
        }
    }

    /// A new state is killed over and over while its schema is made; in the end it must be whole.
    async fn migrating(&mut self) -> Outcome {
        let folder = tempfile::tempdir_in(self.folder.as_ref().unwrap().path()).unwrap();
        let state = folder.path().join("state");
        for _ in 0..5 {
            // Opening comes right after the rules were loaded; how long that takes depends on the machine.
            let usual = self.measured.boot.last().copied().unwrap_or(100).unsigned_abs();
            let after = self.millis(usual / 4..=usual);
            self.server.start_and_die(&state, after).await;
            self.measured.kills += 1;
        }
        let node = std::fs::read_to_string(state.join("node")).ok();
        self.server.start_on(&state).await.map_err(|problem| vec![format!("after a killed migration: {problem}")])?;
        self.server.kill().await;
        let mut problems = Remains::of(&state).await.unwrap().problems().await;
        if node.is_some() && std::fs::read_to_string(state.join("node")).ok() != node {
            problems.push("the node's id changed".to_owned());
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    // What comes after.

    async fn look_at_remains(&mut self) -> Result<Vec<i64>, Vec<String>> {
        let mut remains = Remains::of(&self.server.state()).await.unwrap();
        let problems = remains.problems().await;
        if !problems.is_empty() {
            return Err(problems);
        }
        let interrupted = remains.interrupted().await;
        self.measured.interrupted += interrupted.len();
        Ok(interrupted)
    }

    async fn refuses_a_second(&mut self) -> Outcome {
        match self.server.second().await {
            Some(code) if code != 0 => Ok(()),
            ended => Err(vec![format!("a second server on the same state ended with {ended:?}")]),
        }
    }

    /// Everything is delivered, acknowledged and worked off.
    async fn quiet(&mut self) -> Outcome {
        let until = Instant::now() + PATIENCE;
        self.post.release().await;
        let mut still = 0;
        while Instant::now() < until {
            let quiet = self.post.carry().await == 0 && rows::is_idle(&self.server.state()).await;
            still = if quiet { still + 1 } else { 0 };
            // Twice, with the box's own deliveries asked for in between.
            if still == 2 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut problems = vec![format!("not at rest after {PATIENCE:?}; {} unacknowledged", self.post.carry().await)];
        problems.extend(rows::unfinished(&self.server.state()).await);
        Err(problems)
    }

    async fn recovery(&mut self, interrupted: &[i64]) -> Outcome {
        let Started { at, listening_after, .. } = *self.started.as_ref().unwrap();
        let boot = i64::try_from(listening_after.as_millis()).unwrap();
        let (times, never) = rows::recovered(&self.server.state(), interrupted, at).await;
        // How long a process takes to load says more of the machine than of the mechanism.
        let from_listening: Vec<i64> = times.iter().map(|time| (time - boot).max(0)).collect();
        let late: Vec<String> = from_listening
            .iter()
            .filter(|time| **time > super::RECOVERY_BAR)
            .map(|time| format!("an interrupted job moved again only {time} ms after the server listened"))
            .chain(never.iter().map(|job| format!("the interrupted job {job} never moved again")))
            .collect();
        self.measured.recovery.extend(times);
        self.measured.from_listening.extend(from_listening);
        if late.is_empty() { Ok(()) } else { Err(late) }
    }

    async fn check(&mut self) -> Outcome {
        let acked = self.post.acked();
        let mut problems = self.post.odd();
        problems.extend(rows::problems(&self.server.state(), &acked).await);
        problems.extend(wire::problems(&self.server.state()));
        problems.extend(facts::problems(&self.github, &self.asked, &self.labelled, &self.returned));
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// One more pull request in each repository, so that each mirror is used once more; then nothing may lie about.
    pub async fn end(&mut self) -> Outcome {
        self.story = vec!["the end: every mirror is used once more".to_owned()];
        for repo in REPOS {
            self.open(repo, CLEAN).await;
        }
        self.quiet().await?;
        self.check().await?;
        self.measured.acked += self.post.acked().len();
        let state = self.server.state();
        let litter = facts::litter(&state, &rows::runs(&state).await);
        self.server.kill().await;
        if litter.is_empty() { Ok(()) } else { Err(litter) }
    }
}
