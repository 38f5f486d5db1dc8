//! What the benchmarks share: processes and their accounts, made-up deliveries, a load generator, tables.

pub mod limit;
pub mod load;
pub mod payload;
pub mod process;
pub mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

/// On the same disk as the build, which is a real one; a system's `/tmp` may be memory.
pub fn scratch() -> tempfile::TempDir {
    let parent = target().join("bench").join("state");
    std::fs::create_dir_all(&parent).expect("a folder for the benchmarks' states");
    tempfile::tempdir_in(parent).expect("a folder for a state")
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_octoswarm"));
    binary.ancestors().nth(2).expect("the binary lies in target/<profile>").to_owned()
}

/// The number after `--name`, or the default: `cargo bench --bench deliveries -- --seconds 5`.
pub fn option(name: &str, default: f64) -> f64 {
    let mut args = std::env::args().skip_while(|arg| arg != &format!("--{name}")).skip(1);
    args.next().map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("--{name} takes a number")))
}

pub fn seconds(name: &str, default: f64) -> Duration {
    Duration::from_secs_f64(option(name, default))
}
