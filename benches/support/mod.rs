//! What the benchmarks share: folders, packages to read, processes and their accounts, made-up deliveries, a load generator,
//! tables.
#![allow(dead_code, unused_imports, reason = "each benchmark uses a part of this")]

mod finished;
pub mod limit;
pub mod load;
mod packages;
pub mod payload;
pub mod process;
pub mod table;

pub use finished::{Usage, measure};
pub use packages::{from_cargo, from_npm, from_pypi, peers};
pub use table::Page;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The release build of this same commit; `OCTOSWARM_BINARY` names another one, to compare with.
pub fn octoswarm() -> String {
    std::env::var("OCTOSWARM_BINARY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_octoswarm").to_owned())
}

pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where downloads, trees, states and tables are kept between runs: below the folder that cargo builds in.
pub fn folder() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_octoswarm"));
    binary.ancestors().nth(2).expect("the binary lies in target/<profile>").join("bench")
}

/// On the same disk as the build, which is a real one; a system's `/tmp` may be memory.
pub fn scratch() -> tempfile::TempDir {
    let parent = folder().join("state");
    fs::create_dir_all(&parent).expect("a folder for the benchmarks' states");
    tempfile::tempdir_in(parent).expect("a folder for a state")
}

/// Runs a command to its end; the benchmark stops when it fails.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed with {}:\n{told}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
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

pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The number after `--name`, or the default: `cargo bench --bench deliveries -- --seconds 5`.
pub fn option(name: &str, default: f64) -> f64 {
    let mut args = std::env::args().skip_while(|arg| arg != &format!("--{name}")).skip(1);
    args.next().map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("--{name} takes a number")))
}

pub fn seconds(name: &str, default: f64) -> Duration {
    Duration::from_secs_f64(option(name, default))
}
