//! What the benchmarks of the engine share: packages to read, processes measured from outside, the table that is kept.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, starts processes, writes files and stops where it cannot go on; each uses a part of this"
)]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// The release build of this same commit; `OCTOSWARM_BINARY` names another one, to compare with.
pub fn octoswarm() -> String {
    std::env::var("OCTOSWARM_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_octoswarm").to_owned())
}

/// Where downloads, trees and tables are kept between runs.
pub fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| project().join("target"), PathBuf::from);
    target.join("bench")
}

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command to its end; the benchmark stops when it fails.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed with {}:\n{told}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A Python environment with the pinned peers in it.
pub fn peers() -> PathBuf {
    let venv = folder().join("peers");
    let wanted = ["ast-grep-cli==0.51.1", "ruff==0.17.5"];
    once(&venv, &wanted.join(" "), || {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        run(Command::new(venv.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(wanted));
    });
    venv.join("bin")
}

/// Wheels, unpacked.
pub fn from_pypi(packages: &[&str]) -> PathBuf {
    let to = folder().join("pypi").join(packages.join("+"));
    once(&to, &packages.join(" "), || {
        let mut pip = Command::new(peers().join("pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--target"]);
        run(pip.arg(&to).args(packages));
    });
    to
}

/// One npm package, unpacked, without what it depends on.
pub fn from_npm(package: &str) -> PathBuf {
    let to = folder().join("npm").join(package);
    once(&to, package, || {
        fs::create_dir_all(&to).unwrap();
        let name = run(Command::new("npm").args(["pack", "--silent", package]).current_dir(&to));
        let tarball = to.join(name.trim());
        run(Command::new("tar").arg("xzf").arg(&tarball).arg("-C").arg(&to));
        fs::remove_file(tarball).unwrap();
    });
    to
}

/// The sources of crates that this project is built from, as cargo unpacked them.
pub fn from_cargo(crates: &[&str]) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        manifest_path: PathBuf,
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let text = run(Command::new(cargo).args(["metadata", "--locked", "--format-version=1"]).current_dir(project()));
    let metadata: Metadata = serde_json::from_str(&text).unwrap();
    let wanted = metadata.packages.into_iter().filter(|package| crates.contains(&package.name.as_str()));
    wanted.filter_map(|package| Some(package.manifest_path.parent()?.to_owned())).collect()
}

/// Does `work` for a folder unless it was done before to the same end.
pub fn once(folder: &Path, what: &str, work: impl FnOnce()) {
    let done = folder.with_extension("done");
    if fs::read_to_string(&done).is_ok_and(|before| before == what) {
        return;
    }
    fs::remove_dir_all(folder).ok();
    fs::create_dir_all(folder).unwrap();
    work();
    fs::write(done, what).unwrap();
}

/// Every file below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// One finished process, as the operating system accounts for it.
#[derive(Debug, Clone, Deserialize)]
pub struct Usage {
    /// Seconds from the start to the end.
    pub wall: f64,
    /// Seconds of processor time, user and system.
    pub cpu: f64,
    /// Largest resident set, in bytes. What the measuring process itself holds, about 10 MB, is the least it can say.
    pub peak: u64,
    pub code: i32,
}

const MEASURE: &str = "
import json, os, subprocess, sys, time
out = open(os.devnull, 'wb')
began = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
_, status, usage = os.wait4(child.pid, 0)
wall = time.perf_counter() - began
print(json.dumps({'wall': wall, 'cpu': usage.ru_utime + usage.ru_stime, 'peak': usage.ru_maxrss * 1024,
                  'code': os.waitstatus_to_exitcode(status)}))
";

/// Runs a command whose output goes nowhere.
pub fn measure<S: AsRef<OsStr>>(command: &[S]) -> Usage {
    let told = run(Command::new(peers().join("python")).args(["-I", "-S", "-c", MEASURE]).args(command));
    serde_json::from_str(&told).unwrap()
}

pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A page of Markdown, printed as it grows and kept below `target/bench`.
pub struct Page {
    name: &'static str,
    text: String,
}

impl Page {
    /// Begins with the machine and the day: a number without them says nothing.
    pub fn new(name: &'static str) -> Self {
        let mut page = Self { name, text: String::new() };
        page.line(&format!("{}; {}.", machine(), chrono::Utc::now().format("%Y-%m-%d %H:%M UTC")));
        page
    }

    pub fn line(&mut self, text: &str) {
        println!("{text}");
        let _ = writeln!(self.text, "{text}");
    }

    pub fn head(&mut self, columns: &[&str]) {
        self.line("");
        self.line(&format!("| {} |", columns.join(" | ")));
        self.line(&format!("|{}", " --- |".repeat(columns.len())));
    }

    pub fn row(&mut self, cells: &[String]) {
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    pub fn keep(self) {
        let path = folder().join(format!("{}.md", self.name));
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, self.text).unwrap();
        println!("\nkept in {}", path.display());
    }
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("unknown");
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let kilobytes: u64 = read("/proc/meminfo").split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    let load = read("/proc/loadavg").split(' ').next().unwrap_or("?").to_owned();
    format!("{processors} processors ({model}), {} GB, load {load} before the run", kilobytes / 1_000_000)
}
