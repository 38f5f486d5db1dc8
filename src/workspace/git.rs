//! libgit2, tamed once for the whole process, and the ways to open a repository.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git2::{Config, ConfigLevel, ObjectType, Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::error::{Doing, Error};
use super::transport;
use crate::domain::Sha;

/// Sets what libgit2 keeps in globals. Every way into the room comes through here before its first git call.
pub(super) fn tame() -> Result<(), Error> {
    static TAMED: OnceLock<Result<(), String>> = OnceLock::new();
    match TAMED.get_or_init(|| set_globals().map_err(|e| e.message().to_owned())) {
        Ok(()) => Ok(()),
        Err(message) => Err(Error::Git { doing: "setting up libgit2", source: git2::Error::from_str(message) }),
    }
}

#[expect(unsafe_code, reason = "libgit2's globals; `tame` calls this once, before any other use of libgit2")]
fn set_globals() -> Result<(), git2::Error> {
    let levels = [ConfigLevel::ProgramData, ConfigLevel::System, ConfigLevel::XDG, ConfigLevel::Global];
    for level in levels {
        // SAFETY: the caller's `OnceLock` keeps two threads from being here at once, and nothing has used libgit2 yet.
        unsafe { git2::opts::set_search_path(level, "")? };
    }
    // SAFETY: as above.
    unsafe { git2::opts::set_verify_owner_validation(true)? };
    git2::opts::strict_object_creation(true);
    git2::opts::strict_hash_verification(true);
    transport::register()
}

/// Opens a bare repository of ours. What its own config file says is not heard.
pub(super) fn open_own(path: &Path) -> Result<Repository, Error> {
    tame()?;
    // Not `open_bare`: that one does not read where a shallow history ends.
    let flags = RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
    let no_ceiling: [&Path; 0] = [];
    let repository = Repository::open_ext(path, flags, no_ceiling).doing("opening the mirror")?;
    let empty = Config::new().doing("making an empty git config")?;
    repository.set_config(&empty).doing("emptying the git config")?;
    Ok(repository)
}

/// Makes a bare repository without hooks, description or templates.
pub(super) fn init_own(path: &Path) -> Result<(), Error> {
    tame()?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).no_reinit(true).initial_head("octoswarm");
    Repository::init_opts(path, &options).doing("making a bare repository")?;
    Ok(())
}

/// Opens somebody's repository, found upwards from `path`.
pub(super) fn open_theirs(path: &Path) -> Result<Repository, Error> {
    tame()?;
    let no_ceiling: [&Path; 0] = [];
    Repository::open_ext(path, RepositoryOpenFlags::CROSS_FS, no_ceiling).map_err(|source| match source.code() {
        git2::ErrorCode::NotFound => Error::NotARepository { path: path.to_owned() },
        git2::ErrorCode::Owner => Error::ForeignOwner { path: path.to_owned() },
        _ if source.message().contains("unsupported extension name extensions.objectformat")
            || source.message().contains("unknown object format") =>
        {
            Error::Unsupported("repositories with SHA-256 object ids cannot be read yet")
        }
        _ => Error::Git { doing: "opening the repository", source },
    })
}

/// Where a repository's objects lie, alternates of alternates included.
pub(super) fn object_dirs(repository: &Repository) -> Vec<PathBuf> {
    /// As many levels as git itself follows.
    const LEVELS: usize = 5;
    let mut dirs = vec![repository.commondir().join("objects")];
    let mut from = 0;
    for _ in 0..LEVELS {
        let to = dirs.len();
        for index in from..to {
            let listed = std::fs::read_to_string(dirs[index].join("info/alternates")).unwrap_or_default();
            for line in listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                let dir = dirs[index].join(line);
                if !dirs.contains(&dir) {
                    dirs.push(dir);
                }
            }
        }
        from = to;
    }
    dirs
}

/// An object's size and kind, from its header alone.
pub(super) fn header(repository: &Repository, oid: Oid) -> Result<(u64, ObjectType), git2::Error> {
    let odb = repository.odb()?;
    // git2 panics on a kind that does not exist, which a damaged pack can name.
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| odb.read_header(oid)));
    let (bytes, kind) = read.unwrap_or_else(|_| {
        Err(git2::Error::new(git2::ErrorCode::GenericError, git2::ErrorClass::Odb, "an object of no known kind"))
    })?;
    Ok((bytes as u64, kind))
}

pub(super) fn oid(sha: &Sha) -> Result<Oid, Error> {
    if sha.as_str().len() != 40 {
        return Err(Error::Unsupported("repositories with SHA-256 object ids cannot be read yet"));
    }
    Oid::from_str(sha.as_str()).doing("reading an object id")
}

pub(super) fn sha(oid: Oid) -> Result<Sha, Error> {
    Sha::parse(&oid.to_string()).ok_or(Error::Unsupported("git gave an object id of unknown length"))
}

/// Runs blocking git work off the async threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Interrupted))
}
