//! Which programs commands find on this machine: what one version of them has fetched is not given to another.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::registries::Ecosystem;

/// Where systems have programs, in the order in which commands look for them.
const SYSTEM: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The programs that fetch dependencies, or that they are built for.
fn programs(ecosystem: Ecosystem) -> &'static [&'static str] {
    match ecosystem {
        Ecosystem::Cargo => &["cargo", "rustc"],
        Ecosystem::Npm => &["node", "npm", "pnpm", "yarn", "bun", "deno"],
        Ecosystem::Python => &["python3", "pip3", "uv", "poetry", "pdm", "pipenv", "conda"],
        Ecosystem::Go => &["go"],
        Ecosystem::Maven => &["java", "mvn"],
        Ecosystem::Gradle => &["java", "gradle"],
        Ecosystem::Ruby => &["ruby", "bundle"],
        Ecosystem::Composer => &["php", "composer"],
        Ecosystem::NuGet => &["dotnet"],
        Ecosystem::Hex => &["erl", "elixir", "mix"],
    }
}

/// The folders of `PATH` inside: the operator's own come first.
pub(super) fn path(tools: &[PathBuf]) -> Vec<PathBuf> {
    let own = tools.iter().map(|tool| {
        let bin = tool.join("bin");
        if bin.is_dir() { bin } else { tool.clone() }
    });
    own.chain(SYSTEM.map(PathBuf::from)).collect()
}

/// Whether commands find a program, when they are shown these folders beside the system's.
pub fn finds(tools: &[PathBuf], program: &str) -> bool {
    path(tools).iter().any(|folder| folder.join(program).is_file())
}

/// A line for each program that is there: its file, the file's size and when it was last changed. Nothing is run for that. A
/// launcher that chooses among versions by itself, as rustup's does, looks the same for all of them.
pub(super) fn installed(tools: &[PathBuf], ecosystems: &[Ecosystem]) -> Vec<String> {
    let path = path(tools);
    let mut names: Vec<&str> = ecosystems.iter().flat_map(|ecosystem| programs(*ecosystem)).copied().collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| path.iter().find_map(|folder| file(&folder.join(name)))).collect()
}

fn file(path: &Path) -> Option<String> {
    let found = fs::canonicalize(path).ok()?;
    let stat = fs::metadata(&found).ok().filter(fs::Metadata::is_file)?;
    Some(format!("{} {} {} {}.{:09}", path.display(), found.display(), stat.size(), stat.mtime(), stat.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_in_its_place_looks_different() {
        let tool = tempfile::tempdir().unwrap();
        let tools = [tool.path().to_owned()];
        let bin = tool.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let without = installed(&tools, &[Ecosystem::Hex]);
        crate::stdx::file::write_atomic(&bin.join("mix"), b"one").unwrap();
        let one = installed(&tools, &[Ecosystem::Hex]);
        assert_eq!(one, installed(&tools, &[Ecosystem::Hex]));
        crate::stdx::file::write_atomic(&bin.join("mix"), b"other").unwrap();
        let other = installed(&tools, &[Ecosystem::Hex]);
        assert!(without != one && one != other);
        assert_eq!(installed(&tools, &[]), [""; 0]);
        assert!(Ecosystem::ALL.iter().all(|ecosystem| !programs(*ecosystem).is_empty()));
    }
}
