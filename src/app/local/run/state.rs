//! The folder that a run keeps its state in.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::app::Error;
use crate::stdx::file;
use crate::store::{self, Lock, Store};

/// What a state's folder may hold before there is a database in it.
const OURS: [&str; 8] =
    [".gitignore", "octoswarm.lock", "node", "runs", "messages", "inputs", "result.json", "change.diff"];
const DATABASE: &str = "octoswarm.db";
const IGNORE: &[u8] = b"*\n";

/// Makes the folder of the state where there is none. It lies beside a repository's files as a rule, and is none of them.
///
/// # Errors
/// It lies in a `.git`, is a file, holds what is not ours, or cannot be written.
pub(super) fn prepare(dir: &Path) -> Result<(), Error> {
    own_folder(dir, "no state of octoswarm", |name| name.starts_with(DATABASE) || OURS.contains(&name))
}

/// The folder of messages, where it is another one than the state's own; nobody else may host agents there meanwhile.
///
/// # Errors
/// As [`prepare`], or another process holds it.
pub(super) fn messages(dir: &Path, state: &Path) -> Result<Option<Lock>, Error> {
    let parent = dir.canonicalize().ok().and_then(|dir| dir.parent().map(Path::to_owned));
    let foreign =
        parent.filter(|parent| parent.join(DATABASE).exists() && state.canonicalize().ok() != Some(parent.clone()));
    if let Some(owner) = foreign {
        let why = format!("the messages in {} belong to the state in {}", dir.display(), owner.display());
        return Err(Error::Path(format!("{why}: run with `--output-dir {}`, or name another folder", owner.display())));
    }
    if dir.canonicalize().is_ok_and(|dir| state.canonicalize().is_ok_and(|state| dir == state.join("messages"))) {
        return Ok(None);
    }
    let known = ["inbox", "outbox", "processed", "failed", ".gitignore", "octoswarm.lock"];
    own_folder(dir, "no messages", |name| known.contains(&name))?;
    Ok(Some(Store::reserve(dir)?))
}

fn own_folder(dir: &Path, lacks: &str, is_ours: impl Fn(&str) -> bool) -> Result<(), Error> {
    let shown = dir.display();
    let cannot = |source: io::Error| store::Error::Io { path: dir.to_owned(), source };
    if real(dir).components().any(|part| part == Component::Normal(".git".as_ref())) {
        return Err(Error::Path(format!("{shown} lies in a `.git`, which is git's own: name another folder")));
    }
    match std::fs::read_dir(dir) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(cannot)?.file_name();
                if !name.to_str().is_some_and(&is_ours) {
                    let what = format!("{shown} holds `{}` and {lacks}", name.to_string_lossy().escape_debug());
                    return Err(Error::Path(format!(
                        "{what}: name an empty folder, one that is not there yet, or an earlier run's"
                    )));
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => file::private_dir(dir).map_err(cannot)?,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(Error::Path(format!("{shown} is a file, where a folder is to be: name another folder")));
        }
        Err(error) => return Err(cannot(error).into()),
    }
    match file::create_new(&dir.join(".gitignore"), IGNORE) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot(error).into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The path without links and `..` as far as it exists.
fn real(dir: &Path) -> PathBuf {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let there = whole.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => real.join(whole.strip_prefix(above).unwrap_or(Path::new(""))),
        None => whole,
    }
}
