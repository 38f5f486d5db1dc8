//! Toolchains that whoever starts octoswarm works with and the system does not bring: the folders that `PATH` leads to.
//!
//! Never: a folder that also holds somebody's settings, keys or sources. Of a home only what version managers install is shown.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Programs that make a folder one of a toolchain.
const PROGRAMS: &[&str] = &[
    "cargo",
    "rustc",
    "go",
    "node",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "python3",
    "python",
    "uv",
    "poetry",
    "ruff",
    "ruby",
    "bundle",
    "php",
    "composer",
    "java",
    "javac",
    "mvn",
    "gradle",
    "dotnet",
    "mix",
    "elixir",
    "erl",
    "swift",
    "dart",
    "flutter",
    "ghc",
    "cabal",
    "stack",
    "zig",
    "cmake",
    "meson",
    "ninja",
    "shellcheck",
    "hadolint",
    "golangci-lint",
    "semgrep",
    "eslint",
];
/// Shown to every command anyway, or nothing that can be shown.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/snap", "/proc", "/sys", "/dev", "/run", "/tmp", "/var", "/etc"];
/// Where version managers install, below a home; `*` is one name.
const IN_HOME: &[&str] = &[
    ".rustup/toolchains/*",
    ".pyenv/versions/*",
    ".rbenv/versions/*",
    ".nodenv/versions/*",
    ".nvm/versions/node/*",
    ".local/share/fnm/node-versions/*/installation",
    ".local/share/mise/installs/*/*",
    ".local/share/uv/python/*",
    ".asdf/installs/*/*",
    ".volta/tools/image/*/*",
    ".sdkman/candidates/*/*",
    ".ghcup/ghc/*",
    // Beside it lies what was downloaded.
    ".deno/bin",
    ".bun/bin",
    ".dotnet",
];

/// In the order of `PATH`, without repeats. `env` tells variables.
pub(super) fn found(env: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let home = env("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.components().count() > 1);
    let path = env("PATH").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let all = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let roots = all.flat_map(|folder| roots(&folder, home.as_deref(), env));
    roots.filter(|root| seen.insert(root.clone())).collect()
}

fn roots(folder: &Path, home: Option<&Path>, env: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    if !PROGRAMS.iter().any(|program| folder.join(program).is_file()) {
        return Vec::new();
    }
    // rustup's programs look for the toolchain in its own folder, and write there.
    let chosen = if is_rustup(folder) {
        let rustup = env("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".rustup")));
        rustup.and_then(|rustup| toolchain(&rustup, env("RUSTUP_TOOLCHAIN"))).into_iter().collect()
    } else if folder.ends_with("shims") {
        shims(folder, env("PYENV_VERSION"))
    } else if folder.ends_with("bin") {
        // Around it, or where that holds more than the toolchain, itself.
        folder.parent().into_iter().chain([folder]).map(Path::to_owned).collect()
    } else {
        Vec::new()
    };
    let mut shown = chosen.iter().filter_map(|root| root.canonicalize().ok()).filter(|root| is_shown(root, home));
    // Of several versions all are wanted, of a folder and what is around it one.
    if folder.ends_with("bin") { shown.next().into_iter().collect() } else { shown.collect() }
}

fn is_rustup(folder: &Path) -> bool {
    let rustup = folder.join("rustup").canonicalize();
    rustup.is_ok() && folder.join("cargo").is_file()
}

/// The named one, else the one that rustup takes by itself.
fn toolchain(rustup: &Path, named: Option<String>) -> Option<PathBuf> {
    let by_default = || {
        let text = std::fs::read_to_string(rustup.join("settings.toml")).ok()?;
        let settings: toml::Table = toml::from_str(&text).ok()?;
        Some(settings.get("default_toolchain")?.as_str()?.to_owned())
    };
    let name = named.or_else(by_default)?;
    let all = rustup.join("toolchains");
    let exact = all.join(&name);
    if exact.is_dir() {
        return Some(exact);
    }
    // `stable` stands for `stable-` and the machine.
    let begins = format!("{name}-");
    let entries = std::fs::read_dir(&all).ok()?.filter_map(Result::ok);
    entries
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&begins)))
        .min()
}

/// The versions behind a manager's `shims`, as its `version` file names them.
fn shims(folder: &Path, named: Option<String>) -> Vec<PathBuf> {
    let Some(manager) = folder.parent() else { return Vec::new() };
    let text = named.map(|named| named.replace(':', "\n"));
    let text = text.or_else(|| std::fs::read_to_string(manager.join("version")).ok()).unwrap_or_default();
    let plain =
        |name: &&str| !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    text.lines()
        .map(str::trim)
        .filter(plain)
        .map(|name| manager.join("versions").join(name))
        .filter(|p| p.is_dir())
        .collect()
}

/// Whether strangers' commands may read all that is below.
fn is_shown(root: &Path, home: Option<&Path>) -> bool {
    match home_of(root, home) {
        Some(inside) => root.is_dir() && IN_HOME.iter().any(|pattern| fits(&inside, pattern)),
        None => root.is_dir() && root.components().count() > 2 && !SYSTEM.iter().any(|system| root.starts_with(system)),
    }
}

/// The path below the home that it is in, whosever that is.
fn home_of(root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let own = home.and_then(|home| home.canonicalize().ok());
    for home in own.as_deref().into_iter().chain([Path::new("/root")]) {
        if let Ok(inside) = root.strip_prefix(home) {
            return Some(inside.to_owned());
        }
    }
    // `/home/somebody/…`, and what other systems call it.
    let others = ["/home", "/Users"].iter().find_map(|homes| root.strip_prefix(homes).ok())?;
    Some(others.components().skip(1).collect())
}

fn fits(inside: &Path, pattern: &str) -> bool {
    let (path, pattern): (Vec<_>, Vec<&str>) = (inside.components().collect(), pattern.split('/').collect());
    let same = |(part, wanted): (&Component<'_>, &&str)| *wanted == "*" || part.as_os_str() == *wanted;
    path.len() == pattern.len() && path.iter().zip(&pattern).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, path: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            crate::stdx::file::write_atomic(&path, text.as_bytes()).unwrap();
            path
        }

        fn found(&self, path: &[&str], more: &[(&str, &str)]) -> Vec<String> {
            let home = self.0.path().canonicalize().unwrap();
            let path: Vec<PathBuf> = path.iter().map(|folder| home.join(folder)).collect();
            let path = std::env::join_paths(path).unwrap().into_string().unwrap();
            let env = |name: &str| match name {
                "HOME" => home.to_str().map(str::to_owned),
                "PATH" => Some(path.clone()),
                other => more.iter().find(|(name, _)| *name == other).map(|(_, value)| (*value).to_owned()),
            };
            let inside = |root: PathBuf| root.strip_prefix(&home).unwrap().to_str().unwrap().to_owned();
            found(&env).into_iter().map(inside).collect()
        }
    }

    #[test]
    fn rustup_and_pyenv_show_the_version_that_is_chosen_and_nothing_of_their_own() {
        let home = Home::new();
        for program in ["rustup", "cargo"] {
            home.file(&format!(".cargo/bin/{program}"), "");
        }
        home.file(".cargo/credentials.toml", "token = 'secret'");
        home.file(".rustup/settings.toml", "default_toolchain = 'stable'\nversion = '12'\n");
        for name in ["nightly-x", "stable-x"] {
            home.file(&format!(".rustup/toolchains/{name}/bin/cargo"), "");
        }
        home.file(".pyenv/shims/python3", "");
        home.file(".pyenv/version", "3.11.7\n../../.ssh\n3.9.1\n");
        home.file(".pyenv/versions/3.11.7/bin/python3", "");
        home.file(".ssh/id", "");
        let path = [".cargo/bin", ".pyenv/shims", ".cargo/bin"];
        assert_eq!(home.found(&path, &[]), [".rustup/toolchains/stable-x", ".pyenv/versions/3.11.7"]);
        let nightly = [("RUSTUP_TOOLCHAIN", "nightly")];
        assert_eq!(home.found(&path[..1], &nightly), [".rustup/toolchains/nightly-x"]);
        assert!(home.found(&path[..1], &[("RUSTUP_TOOLCHAIN", "beta")]).is_empty());
    }

    #[test]
    fn of_a_home_only_what_version_managers_install_is_shown() {
        let home = Home::new();
        for path in [
            ".nvm/versions/node/v22.1.0/bin/node",
            ".local/bin/uv",
            "bin/python3",
            "work/venv/bin/python",
            ".bun/bin/bun",
            ".ssh/bin/node",
        ] {
            home.file(path, "");
        }
        let own = [".nvm/versions/node/v22.1.0/bin", ".local/bin", "bin", "work/venv/bin"];
        let path = [&own[..], &[".bun/bin", ".ssh/bin", "nowhere/bin"]].concat();
        assert_eq!(home.found(&path, &[]), [".nvm/versions/node/v22.1.0", ".bun/bin"]);
    }

    #[test]
    fn the_systems_own_folders_are_none_and_a_folder_without_programs_is_none() {
        let env = |path: &str| {
            let path = path.to_owned();
            move |name: &str| (name == "PATH").then(|| path.clone())
        };
        assert!(found(&env("/usr/bin:/bin:/usr/local/bin:.:bin")).is_empty());
        assert!(found(&|_: &str| None).is_empty());
        assert!(!is_shown(Path::new("/usr/share"), None) && !is_shown(Path::new("/root"), None));
    }
}
