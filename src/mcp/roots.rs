//! The folders that tools may read and write, and nothing outside of them.

use std::path::{Component, Path, PathBuf};

use super::call::Trouble;
use crate::app::local;

/// Longer names are no paths.
const LONGEST: usize = 4_096;

/// Whole paths without links; the first one is where relative paths begin. There may be none.
#[derive(Debug, Clone, Default)]
pub struct Roots(Vec<PathBuf>);

/// A root that cannot be one.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be a root: {why}", .path.display())]
pub struct NoRoot {
    path: PathBuf,
    why: String,
}

impl Roots {
    /// # Errors
    /// The first that is no folder.
    pub fn new(paths: &[PathBuf]) -> Result<Self, NoRoot> {
        let root = |path: &PathBuf| {
            let no = |why: String| NoRoot { path: path.clone(), why };
            let whole = path.canonicalize().map_err(|error| no(error.to_string()))?;
            if whole.is_dir() { Ok(whole) } else { Err(no("it is no folder".into())) }
        };
        paths.iter().map(root).collect::<Result<_, _>>().map(Self)
    }

    /// # Errors
    /// There is none.
    pub(super) fn first(&self) -> Result<&Path, Trouble> {
        self.0.first().map(PathBuf::as_path).ok_or_else(|| {
            Trouble::new("this server may not read any folder of its machine").hint(
                "whoever runs it can name folders: `octoswarm mcp --root DIR`, or `roots` in the table `[api]` of octoswarm.toml",
            )
        })
    }

    /// The whole path of what an argument names: relative to the first root, or absolute, and below a root either way, whatever
    /// links lead there.
    ///
    /// # Errors
    /// It is none, lies outside, or is not there.
    pub(super) fn resolve(&self, named: &str) -> Result<PathBuf, Trouble> {
        let first = self.first()?;
        let shown = shown(named);
        if named.contains('\0') || named.len() > LONGEST {
            return Err(Trouble::new(format!("`{shown}` is no path: it holds a NUL, or is too long")));
        }
        let path = first.join(named);
        // What is outside is not looked for: whether it is there is none of the caller's business.
        let outside = || {
            Trouble::new(format!("`{shown}` lies outside of the folders that this server may read"))
                .hint(format!("name a path below {}", self.list()))
        };
        if !self.hold(&plain(&path)) {
            return Err(outside());
        }
        let whole = path.canonicalize().map_err(|error| {
            let why = if error.kind() == std::io::ErrorKind::NotFound {
                "there is no such file or folder".to_owned()
            } else {
                error.to_string()
            };
            Trouble::new(format!("`{shown}` cannot be read: {why}"))
                .hint(format!("paths are relative to {}", first.display()))
        })?;
        if self.hold(&whole) { Ok(whole) } else { Err(outside()) }
    }

    /// The same for a path in a repository: its work tree and its git folder lie below a root too. The former is told.
    ///
    /// # Errors
    /// There is no repository, or it lies outside.
    pub(super) fn repository(&self, named: &str) -> Result<(PathBuf, Option<PathBuf>), Trouble> {
        let path = self.resolve(named)?;
        let home = local::home(&path).map_err(Trouble::from)?;
        let outside = |what: &str, at: &Path| {
            Trouble::new(format!(
                "the repository around `{}` cannot be used: its {what} lies outside of the roots",
                shown(named)
            ))
            .hint(format!("make `{}` a root too, if it is yours: --root", at.display()))
        };
        if let Some(tree) = home.work_tree.as_deref().filter(|tree| !self.hold(tree)) {
            return Err(outside("work tree", tree));
        }
        if !self.hold(&home.git_dir) && !home.linked {
            return Err(outside("git folder", &home.git_dir));
        }
        Ok((path, home.work_tree))
    }

    fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    pub(super) fn list(&self) -> String {
        self.0.iter().map(|root| format!("`{}`", root.display())).collect::<Vec<_>>().join(" or ")
    }
}

/// Without `.` and `..`, by its letters alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// An argument as it may stand in an answer.
pub(super) fn shown(text: &str) -> String {
    crate::stdx::text::truncate_chars(&crate::stdx::text::visible_line(text), 200)
}
