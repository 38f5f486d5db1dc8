//! What the sandbox costs: to begin, while a test suite runs, and with several at once. `cargo bench --bench sandbox`;
//! `benches/README.md` says more.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark: it starts processes, tells the time, prints, and stops where it stands when something fails"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use octoswarm::sandbox::{self, Entry, Sandbox, Settings, Workplace};
use tokio_util::sync::CancellationToken;

use support::table::{Page, milliseconds};
use support::{octoswarm, option, scratch};

/// What a small suite of tests does, part by part: compute, touch many small files, start many small processes.
const SUITE: &str = r#"
import hashlib, os, subprocess, sys

def compute(n):
    data = b"x" * 65536
    for _ in range(n):
        data = hashlib.sha256(data).digest() * 2048

def files(n):
    os.makedirs("made", exist_ok=True)
    for i in range(n):
        with open(f"made/{i}", "w") as file:
            file.write("a line\n" * 100)
    for i in range(n):
        with open(f"made/{i}") as file:
            file.read()
        os.stat(f"made/{i}")
    for i in range(n):
        os.unlink(f"made/{i}")

def processes(n):
    for _ in range(n):
        subprocess.run(["/bin/true"], check=True)

{"compute": compute, "files": files, "processes": processes}[sys.argv[1]](int(sys.argv[2]))
"#;

fn main() {
    let times = option("times", 31.0) as usize;
    let scale = option("scale", 1.0);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let home = scratch();
    let settings = Settings {
        helper: octoswarm().into(),
        bwrap: None,
        tools: Vec::new(),
        scratch: home.path().to_owned(),
        registries: Vec::new(),
        upstream: None,
    };
    let sandbox = match runtime.block_on(Sandbox::open(settings)) {
        Ok(sandbox) => sandbox,
        Err(why) => return println!("NOT RUN, since this machine has no sandbox: {why}"),
    };
    let bench = Bench { runtime, sandbox, plain: home.path().join("plain") };
    std::fs::create_dir(&bench.plain).unwrap();
    std::fs::write(bench.plain.join("suite.py"), SUITE).unwrap();
    let mut page = Page::new("sandbox");
    bench.starts(&mut page, times);
    bench.suite(&mut page, scale);
    bench.at_once(&mut page, 8, scale);
    page.keep();
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    sandbox: Sandbox,
    /// A folder on the same disk as the work trees.
    plain: PathBuf,
}

impl Bench {
    fn place(&self) -> Workplace {
        let place = self.sandbox.workplace().expect("a work tree");
        place.put("suite.py", Entry::File { bytes: SUITE.as_bytes(), executable: false }).expect("a file");
        place
    }

    fn inside(&self, place: &Workplace, argv: &[&str]) -> Duration {
        let began = Instant::now();
        self.runtime.block_on(run(&self.sandbox, place, argv));
        began.elapsed()
    }

    fn starts(&self, page: &mut Page, times: usize) {
        page.head(&["`true`", "times", "median", "slowest", "to a plain start"]);
        let place = self.place();
        let plain = many(times, || outside(Command::new("true").current_dir(&self.plain)));
        let bare = many(times, || outside(&mut bwrap(&self.plain)));
        let ours = many(times, || self.inside(&place, &["true"]));
        let base = plain[plain.len() / 2];
        for (name, all) in
            [("a plain start", &plain), ("bubblewrap alone, the same namespaces", &bare), ("ours", &ours)]
        {
            let median = all[all.len() / 2];
            let slowest = all[all.len() - 1];
            page.row(&[
                name.to_owned(),
                times.to_string(),
                milliseconds(median),
                milliseconds(slowest),
                ratio(median, base),
            ]);
        }
        page.line("");
    }

    fn suite(&self, page: &mut Page, scale: f64) {
        page.head(&["suite", "outside", "inside", "inside to outside"]);
        let place = self.place();
        let (mut before, mut after) = (Duration::ZERO, Duration::ZERO);
        for (part, n) in parts(scale) {
            let argv = ["python3", "suite.py", part, &n];
            // Warm for both, and the better of three for both.
            let out = best(|| outside(Command::new("python3").args(&argv[1..]).current_dir(&self.plain)));
            let within = best(|| self.inside(&place, &argv));
            (before, after) = (before + out, after + within);
            page.row(&[format!("{part}, {n}"), milliseconds(out), milliseconds(within), ratio(within, out)]);
        }
        page.row(&["all".to_owned(), milliseconds(before), milliseconds(after), ratio(after, before)]);
        page.line("");
    }

    /// Each in a work tree of its own.
    fn at_once(&self, page: &mut Page, many: usize, scale: f64) {
        page.head(&[&format!("{many} suites"), "one after the other", "at once", "at once to one after the other"]);
        let n = ((200.0 * scale) as usize).max(1).to_string();
        for (part, n) in [("compute", n.clone()), ("files", n)] {
            let argv = ["python3", "suite.py", part, n.as_str()];
            let places: Vec<Workplace> = (0..many).map(|_| self.place()).collect();
            let turns = places.iter().map(|place| self.inside(place, &argv)).sum();
            let began = Instant::now();
            self.runtime.block_on(join_all(places.iter().map(|place| run(&self.sandbox, place, &argv))));
            let together = began.elapsed();
            page.row(&[format!("{part}, {n}"), milliseconds(turns), milliseconds(together), ratio(together, turns)]);
        }
    }
}

fn parts(scale: f64) -> [(&'static str, String); 3] {
    let scaled = |n: f64| ((n * scale) as usize).max(1).to_string();
    [("compute", scaled(20_000.0)), ("files", scaled(20_000.0)), ("processes", scaled(1_000.0))]
}

async fn run(sandbox: &Sandbox, place: &Workplace, argv: &[&str]) {
    let command = sandbox::Command::new(argv.iter().copied());
    let ran = sandbox.run(place, command, &CancellationToken::new()).await.expect("the command is run");
    assert!(ran.ended.is_success(), "{argv:?}: {ran:?}");
}

fn outside(command: &mut Command) -> Duration {
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().expect("the command starts");
    assert!(status.success(), "{command:?}");
    began.elapsed()
}

/// The namespaces and mounts of ours, and nothing else of it.
fn bwrap(work: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]);
    command.args(["--unshare-cgroup-try", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session"]);
    command.args(["--cap-drop", "ALL", "--clearenv", "--ro-bind", "/usr", "/usr"]);
    for name in ["/bin", "/sbin", "/lib", "/lib64"] {
        match std::fs::read_link(name) {
            Ok(target) => command.arg("--symlink").arg(target).arg(name),
            Err(_) => command.args(["--ro-bind-try", name, name]),
        };
    }
    command.args([
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/home/sandbox",
        "--tmpfs",
        "/dev/shm",
    ]);
    command.arg("--bind").arg(work).args(["/work", "--chdir", "/work", "--", "/bin/true"]);
    command
}

fn many(times: usize, mut one: impl FnMut() -> Duration) -> Vec<Duration> {
    one();
    let mut all: Vec<Duration> = (0..times.max(1)).map(|_| one()).collect();
    all.sort_unstable();
    all
}

fn best(mut one: impl FnMut() -> Duration) -> Duration {
    (0..3).map(|_| one()).min().expect("three of them")
}

fn ratio(of: Duration, to: Duration) -> String {
    format!("{:.2}", of.as_secs_f64() / to.as_secs_f64())
}
