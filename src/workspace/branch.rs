//! The tip of a branch, without a pull request.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use git2::{AutotagOption, Direction, FetchOptions, Oid, RemoteCallbacks};
use tokio_util::sync::CancellationToken;

use super::ancestry::{Point, commit_tree};
use super::base::Tree;
use super::change::{Change, Store};
use super::error::{Doing, Error};
use super::git::{self, blocking};
use super::limits::Limits;
use super::mirror::{Mirrors, Place, Remote, base_ref, is_overgrown};
use super::transport::{ADDRESS, Session};

impl Mirrors {
    /// Brings the tip of a branch into the mirror, with no history below it unless the mirror has some already.
    ///
    /// Cancelled by the token, or by dropping the future: the transfer stops at its next packet.
    ///
    /// # Errors
    /// `Empty` for a repository without a commit, `BaseGone` for a branch that is not there; else the server's, the
    /// network's or the disk's.
    pub async fn branch(&self, remote: Remote, branch: &str, cancel: &CancellationToken) -> Result<Tree, Error> {
        let cancel = cancel.child_token();
        let _stop_when_dropped = cancel.clone().drop_guard();
        let session = self.session(&remote, &cancel)?;
        if !git2::Reference::is_valid_name(&format!("refs/heads/{branch}")) {
            return Err(Error::BaseGone { branch: branch.to_owned() });
        }
        let (slot, turn) = self.turn(remote.repository, &cancel).await?;
        let fetch = Fetch {
            place: self.place(remote.repository),
            session,
            limits: self.limits.clone(),
            branch: branch.to_owned(),
            quiet: slot.is_quiet(),
            in_use: slot.in_use,
        };
        blocking(move || {
            // A dropped future must not let the next one in while libgit2 still writes here.
            let _turn = turn;
            fetch.run()
        })
        .await
    }
}

/// One `branch` at work, on a blocking thread.
struct Fetch {
    place: Place,
    session: Arc<Session>,
    limits: Limits,
    branch: String,
    quiet: bool,
    in_use: Arc<()>,
}

impl Fetch {
    fn run(self) -> Result<Tree, Error> {
        let lock = self.place.lock(|| self.session.may_go_on(0));
        let _lock = lock.map_err(|error| self.session.failure().unwrap_or(error))?;
        let quiet = self.quiet;
        let kept = self.place.kept().filter(|mirror| !(quiet && is_overgrown(mirror, &self.limits)));
        let was_kept = kept.is_some();
        let mut mirror = kept.map_or_else(|| self.place.fresh(), Ok)?;
        let tip = match self.bring(&mirror) {
            Err(error) if was_kept && error.blames_the_disk() => {
                tracing::warn!(mirror = %mirror.display(), error = %error, "the mirror is damaged: fetching it anew");
                mirror = self.place.fresh()?;
                self.bring(&mirror)?
            }
            other => other?,
        };
        let store = Store {
            git_dir: mirror,
            borrowed: Vec::new(),
            _scratch: None,
            unread: HashMap::new(),
            mirror: Some((self.place.damaged.clone(), self.in_use)),
        };
        Change::new(store, tip, tip, false, String::new(), self.limits).map(Tree)
    }

    fn bring(&self, mirror: &Path) -> Result<Point, Error> {
        let repository = git::open_own(mirror)?;
        let _entered = self.session.enter();
        let mut remote = repository.remote_anonymous(ADDRESS).doing("preparing the fetch")?;
        let commit = {
            let connection = remote
                .connect_auth(Direction::Fetch, None, None)
                .map_err(|error| self.session.explain("asking for the branches", error))?;
            self.tip(connection.list().doing("reading the branches")?)?
        };
        if let Ok(tree) = commit_tree(&repository, commit) {
            return Ok(Point { commit, tree });
        }
        let mut callbacks = RemoteCallbacks::new();
        callbacks.transfer_progress(|progress| self.session.may_go_on(progress.total_objects()));
        let mut options = FetchOptions::new();
        options.remote_callbacks(callbacks).download_tags(AutotagOption::None).update_fetchhead(false);
        // A depth below what the mirror holds would cut off what other runs brought.
        let kept = repository.references_glob("refs/octoswarm/*").is_ok_and(|mut refs| refs.next().is_some());
        options.depth(match (kept, repository.is_shallow()) {
            (false, _) => 1,
            (true, true) => self.limits.first_depth,
            (true, false) => 0,
        });
        let name = base_ref(&self.branch);
        let wanted = [format!("+refs/heads/{}:{name}", self.branch)];
        remote.download(&wanted, Some(&mut options)).map_err(|error| self.session.explain("fetching", error))?;
        let tree = commit_tree(&repository, commit)?;
        repository.reference(&name, commit, true, "").doing("keeping a ref")?;
        Ok(Point { commit, tree })
    }

    fn tip(&self, heads: &[git2::RemoteHead<'_>]) -> Result<Oid, Error> {
        if heads.is_empty() {
            return Err(Error::Empty { origin: self.session.origin().to_owned() });
        }
        let name = format!("refs/heads/{}", self.branch);
        let found = heads.iter().find(|head| head.name() == name);
        found.map(git2::RemoteHead::oid).ok_or_else(|| Error::BaseGone { branch: self.branch.clone() })
    }
}
