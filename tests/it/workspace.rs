//! Git servers, honest and hostile, and repositories of all kinds, through the room's own door.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use octoswarm::domain::{ChangeKind, Credential, FileDiff, Identity, PullNumber, RepositoryId, Secret, Sha};
use octoswarm::workspace::{
    Change, Diff, Edit, EntryKind, Error, Limits, Listed, Mirrors, Remote, Side, Tree, local, walk,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::git_server::{GitServer, Manner, git};

mod agreement;
mod edits;
mod hostile;
mod local_change;
mod local_write;
mod patches;
mod pull;
mod push;

const TOKEN: &str = "ghs_1_eyJhbGciOi.a-token";
const REPOSITORY: RepositoryId = RepositoryId(7);
const PULL: PullNumber = PullNumber(1);

/// A served repository, a clone to work in, and mirrors.
struct Bench {
    dir: TempDir,
    server: GitServer,
    limits: Limits,
}

impl Bench {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (served, work) = (dir.path().join("served/o/r.git"), dir.path().join("work"));
        fs::create_dir_all(&served).unwrap();
        fs::create_dir_all(&work).unwrap();
        git(&served, &["init", "-q", "--bare", "-b", "main"]);
        git(&work, &["init", "-q", "-b", "main"]);
        git(&work, &["remote", "add", "origin", served.to_str().unwrap()]);
        let server = GitServer::start(&dir.path().join("served"), Some(("x-access-token", TOKEN))).await;
        Self { dir, server, limits: Limits::default() }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("mirrors")
    }

    fn mirror(&self) -> PathBuf {
        let mut found = fs::read_dir(self.root().join("7")).unwrap();
        let only = found.next().unwrap().unwrap().path();
        assert!(found.next().is_none());
        only
    }

    fn commit(&self, files: &[(&str, &str)]) -> Sha {
        commit(&self.work(), files)
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.work(), args)
    }

    /// Publishes a commit as the base branch or as a pull request's head.
    fn push(&self, to: &str) -> Sha {
        self.git(&["push", "-q", "--force", "origin", &format!("HEAD:{to}")]);
        Sha::parse(&self.git(&["rev-parse", "HEAD"])).unwrap()
    }

    fn remote(&self) -> Remote {
        let credential = Credential {
            origin: self.server.origin.clone(),
            user: "x-access-token".to_owned(),
            token: Secret::new(TOKEN),
        };
        Remote { repository: REPOSITORY, url: format!("{}/o/r.git", self.server.origin), credential: Some(credential) }
    }

    fn mirrors(&self) -> Mirrors {
        Mirrors::new(self.root(), self.limits.clone()).unwrap()
    }

    async fn branch(&self, name: &str) -> Result<Tree, Error> {
        self.mirrors().branch(self.remote(), name, &CancellationToken::new()).await
    }

    async fn pull(&self, head: &Sha) -> Result<Change, Error> {
        self.pull_from(self.remote(), head).await
    }

    async fn pull_from(&self, remote: Remote, head: &Sha) -> Result<Change, Error> {
        self.mirrors().pull(remote, PULL, head, "main", &CancellationToken::new()).await
    }

    /// `main` with one commit and a pull request that changes one line of it.
    fn simple(&self) -> (Sha, Sha) {
        self.commit(&[("a.txt", "one\ntwo\nthree\n"), ("docs/b.md", "b\n")]);
        let base = self.push("main");
        self.git(&["checkout", "-q", "-b", "topic"]);
        self.commit(&[("a.txt", "one\n2\nthree\n")]);
        (base, self.push("refs/pull/1/head"))
    }
}

fn commit(dir: &Path, files: &[(&str, &str)]) -> Sha {
    for (path, content) in files {
        write(dir, path, content.as_bytes());
    }
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", "change"]);
    Sha::parse(&git(dir, &["rev-parse", "HEAD"])).unwrap()
}

fn write(dir: &Path, path: &str, content: &[u8]) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn file<'a>(diff: &'a Diff, path: &str) -> &'a FileDiff {
    diff.files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path} is not in {diff:#?}"))
}

fn paths(diff: &Diff) -> Vec<&str> {
    diff.files.iter().map(|file| file.path.as_str()).collect()
}

/// Added and removed lines, as `+text` and `-text`.
fn lines(file: &FileDiff) -> Vec<String> {
    use octoswarm::domain::LineKind::{Added, Context, Removed};
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines
        .filter_map(|line| match line.kind {
            Added => Some(format!("+{}", line.text)),
            Removed => Some(format!("-{}", line.text)),
            Context => None,
        })
        .collect()
}

fn not_read<'a>(diff: &'a Diff, path: &str) -> &'a str {
    let found = diff.not_read.iter().find(|not_read| not_read.path == path);
    &found.unwrap_or_else(|| panic!("{path} is not in {:#?}", diff.not_read)).reason
}

/// The file written, the rest of it as it was.
fn edit(path: &str, text: &str) -> Edit {
    Edit::Write { path: path.to_owned(), text: text.as_bytes().to_vec(), executable: None }
}

fn delete(path: &str) -> Edit {
    Edit::Delete { path: path.to_owned() }
}

fn bot() -> Identity {
    Identity { name: "octoswarm[bot]".to_owned(), email: "1+octoswarm[bot]@users.noreply.example.test".to_owned() }
}

/// A repository with one commit on `main`.
fn repository_of(files: &[(&str, &str)]) -> (TempDir, Sha) {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let head = commit(dir.path(), files);
    (dir, head)
}

fn text(text: &str) -> Side {
    Side::Text(text.to_owned())
}

fn reason(side: Side) -> String {
    match side {
        Side::NotRead(reason) => reason,
        other => panic!("{other:?} was read"),
    }
}
