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
pub(super) const MESSAGES: &str = "messages";
/// What a folder of messages may hold.
const OF_MESSAGES: [&str; 6] = ["inbox", "outbox", "processed", "failed", ".gitignore", "octoswarm.lock"];
const IGNORE: &[u8] = b"*\n";

/// Makes the folder of the state where there is none, and that of messages where it is another one, which then nobody else may
/// host agents in. Both are looked at before either is made. They lie beside a repository's files as a rule, and are none of
/// them.
///
/// # Errors
/// One lies in a `.git`, is a file, holds what is not ours, belongs to another state, or cannot be written; another process has
/// the folder of messages.
pub(super) fn prepare(state: &Path, messages: Option<&Path>) -> Result<Option<Lock>, Error> {
    let apart = messages.filter(|messages| real(messages) != real(&state.join(MESSAGES)));
    look(state, "no state of octoswarm", |name| name.starts_with(DATABASE) || OURS.contains(&name))?;
    if let Some(messages) = apart {
        let whole = real(messages);
        if let Some(owner) = whole.parent().filter(|parent| parent.join(DATABASE).exists() && **parent != real(state)) {
            let why = format!("the messages in {} belong to the state in {}", messages.display(), owner.display());
            let what = format!("run with `--output-dir {}`, or name another folder", owner.display());
            return Err(Error::Path(format!("{why}: {what}")));
        }
        look(messages, "no messages", |name| OF_MESSAGES.contains(&name))?;
    }
    make(state)?;
    match apart {
        Some(messages) => {
            make(messages)?;
            Ok(Some(Store::reserve(messages)?))
        }
        None => Ok(None),
    }
}

fn cannot(dir: &Path) -> impl Fn(io::Error) -> Error {
    move |source| store::Error::Io { path: dir.to_owned(), source }.into()
}

/// Whether a folder can be taken, as far as is seen without writing.
fn look(dir: &Path, lacks: &str, is_ours: impl Fn(&str) -> bool) -> Result<(), Error> {
    let shown = dir.display();
    if real(dir).components().any(|part| part == Component::Normal(".git".as_ref())) {
        return Err(Error::Path(format!("{shown} lies in a `.git`, which is git's own: name another folder")));
    }
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let file = dir.ancestors().find(|above| above.is_file()).unwrap_or(dir).display();
            return Err(Error::Path(format!("{file} is a file, where a folder is to be: name another folder")));
        }
        entries => entries.map_err(cannot(dir))?,
    };
    for entry in entries {
        let name = entry.map_err(cannot(dir))?.file_name();
        if !name.to_str().is_some_and(&is_ours) {
            let what = format!("{shown} holds `{}` and {lacks}", name.to_string_lossy().escape_debug());
            let instead = "name an empty folder, one that is not there yet, or an earlier run's";
            return Err(Error::Path(format!("{what}: {instead}")));
        }
    }
    Ok(())
}

fn make(dir: &Path) -> Result<(), Error> {
    file::private_dir(dir).map_err(cannot(dir))?;
    match file::create_new(&dir.join(".gitignore"), IGNORE) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot(dir)(error)),
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
