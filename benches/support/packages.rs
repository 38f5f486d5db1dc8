//! Published packages to read and the pinned peers to read them beside: fetched once, kept below `target/bench`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use super::{folder, once, project, run};

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
