//! The tip of a branch, without a pull request.

use std::path::Path;

use git2::{AutotagOption, Direction, FetchOptions, Oid, RemoteCallbacks};
use tokio_util::sync::CancellationToken;

use super::ancestry::{Point, commit_tree};
use super::base::Tree;
use super::change::Change;
use super::error::{Doing, Error};
use super::git::{self, blocking};
use super::mirror::{Fetch, Mirrors, Remote, base_ref};
use super::transport::ADDRESS;

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
        let tip = Tip { fetch: self.fetch(remote.repository, session, slot), branch: branch.to_owned() };
        blocking(move || {
            // A dropped future must not let the next one in while libgit2 still writes here.
            let _turn = turn;
            tip.run()
        })
        .await
    }
}

/// One `branch` at work, on a blocking thread.
struct Tip {
    fetch: Fetch,
    branch: String,
}

impl Tip {
    fn run(self) -> Result<Tree, Error> {
        let (store, tip) = self.fetch.run_in_mirror(|mirror| self.bring(mirror))?;
        Change::new(store, tip, tip, false, String::new(), self.fetch.limits).map(Tree)
    }

    fn bring(&self, mirror: &Path) -> Result<Point, Error> {
        let repository = git::open_own(mirror)?;
        let _entered = self.fetch.session.enter();
        let mut remote = repository.remote_anonymous(ADDRESS).doing("preparing the fetch")?;
        let commit = {
            let connection = remote
                .connect_auth(Direction::Fetch, None, None)
                .map_err(|error| self.fetch.session.explain("asking for the branches", error))?;
            self.tip(connection.list().doing("reading the branches")?)?
        };
        if let Ok(tree) = commit_tree(&repository, commit) {
            return Ok(Point { commit, tree });
        }
        let mut callbacks = RemoteCallbacks::new();
        callbacks.transfer_progress(|progress| self.fetch.session.may_go_on(progress.total_objects()));
        let mut options = FetchOptions::new();
        options.remote_callbacks(callbacks).download_tags(AutotagOption::None).update_fetchhead(false);
        // A depth below what the mirror holds would cut off what other runs brought.
        let kept = repository.references_glob("refs/octoswarm/*").is_ok_and(|mut refs| refs.next().is_some());
        options.depth(match (kept, repository.is_shallow()) {
            (false, _) => 1,
            (true, true) => self.fetch.limits.first_depth,
            (true, false) => 0,
        });
        let name = base_ref(&self.branch);
        let wanted = [format!("+refs/heads/{}:{name}", self.branch)];
        remote.download(&wanted, Some(&mut options)).map_err(|error| self.fetch.session.explain("fetching", error))?;
        let tree = commit_tree(&repository, commit)?;
        repository.reference(&name, commit, true, "").doing("keeping a ref")?;
        Ok(Point { commit, tree })
    }

    fn tip(&self, heads: &[git2::RemoteHead<'_>]) -> Result<Oid, Error> {
        if heads.is_empty() {
            return Err(Error::Empty { origin: self.fetch.session.origin().to_owned() });
        }
        let name = format!("refs/heads/{}", self.branch);
        let found = heads.iter().find(|head| head.name() == name);
        found.map(git2::RemoteHead::oid).ok_or_else(|| Error::BaseGone { branch: self.branch.clone() })
    }
}
