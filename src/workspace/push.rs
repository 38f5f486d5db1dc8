//! A commit of ours onto a branch of the server: git's receive-pack, spoken here.
//!
//! libgit2 can push, but from a shallow mirror it would send the whole tree again, and it keeps to itself what the server said.

use std::path::Path;
use std::sync::Arc;

use git2::transport::Service;
use git2::{Buf, Oid, Repository};
use tokio_util::sync::CancellationToken;

use super::advertisement;
use super::ancestry::commit_tree;
use super::error::{Doing, Error};
use super::git::{self, blocking, header};
use super::limits::Limits;
use super::mirror::{Mirrors, Place, Remote};
use super::names::is_branch;
use super::objects::missing;
use super::packet::{Packets, Report, line};
use super::transport::Session;
use crate::domain::Sha;
use crate::stdx::text::binary_size;

/// Trees that the server is believed to have, when the commit's parent is not here.
const MOST_KNOWN: usize = 16;

impl Mirrors {
    /// Pushes one commit, made by `Tree::commit_on`, to a branch. Never by force: `expected` is where the branch has to be,
    /// one of the commit's parents; None: it must not exist yet. The server compares again as it moves the branch.
    /// A branch that is at the commit already is a success.
    ///
    /// When the connection fails after the commit was sent, whether it arrived is not known: look before trying again.
    ///
    /// # Errors
    /// `BranchMoved` when the branch is elsewhere; `PushRejected` with the server's own words; `Unauthorized`;
    /// `BranchName`; else the network's or the disk's.
    pub async fn push(
        &self,
        remote: Remote,
        commit: &Sha,
        branch: &str,
        expected: Option<&Sha>,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let cancel = cancel.child_token();
        let _stop_when_dropped = cancel.clone().drop_guard();
        let session = self.session(&remote, &cancel)?;
        if !is_branch(branch) {
            return Err(Error::BranchName { branch: branch.to_owned() });
        }
        let push = Push {
            session,
            limits: self.limits.clone(),
            commit: git::oid(commit)?,
            branch: branch.to_owned(),
            expected: expected.map(git::oid).transpose()?,
        };
        let (_, turn) = self.turn(remote.repository, &cancel).await?;
        let place = self.place(remote.repository);
        let (push, pack) = blocking(move || {
            let _turn = turn;
            let pack = push.pack(&place)?;
            Ok((push, pack))
        })
        .await?;
        // The mirror is free again: only the network is waited for.
        blocking(move || push.run(&pack)).await
    }
}

struct Push {
    session: Arc<Session>,
    limits: Limits,
    commit: Oid,
    branch: String,
    expected: Option<Oid>,
}

/// What the server says before anything is sent.
struct Greeting {
    /// Where the branch is.
    tip: Option<Oid>,
    capabilities: String,
}

impl Push {
    fn run(&self, pack: &[u8]) -> Result<(), Error> {
        let greeting = self.greet()?;
        if greeting.tip == Some(self.commit) {
            return Ok(());
        }
        if greeting.tip != self.expected {
            return Err(self.moved(greeting.tip));
        }
        let report = self.send(&greeting, pack)?;
        let Some(reason) = report.refusal(&self.reference()) else { return Ok(()) };
        // Refused since somebody was faster, or for good? Where the branch is now tells.
        let now = self.greet()?.tip;
        match now {
            now if now == Some(self.commit) => Ok(()),
            now if now == self.expected => Err(Error::PushRejected { branch: self.branch.clone(), reason }),
            now => Err(self.moved(now)),
        }
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    fn moved(&self, now: Option<Oid>) -> Error {
        Error::BranchMoved { branch: self.branch.clone(), now: now.and_then(|oid| git::sha(oid).ok()) }
    }

    /// The commit, and what of its tree the server does not have.
    fn pack(&self, place: &Place) -> Result<Vec<u8>, Error> {
        let lock = place.lock(|| self.session.may_go_on(0));
        let _lock = lock.map_err(|error| self.session.failure().unwrap_or(error))?;
        let gone = || Error::Git {
            doing: "looking for the commit to push",
            source: git2::Error::from_str("the mirror it was made in is gone"),
        };
        self.pack_from(&place.kept().ok_or_else(gone)?)
    }

    fn pack_from(&self, mirror: &Path) -> Result<Vec<u8>, Error> {
        const DOING: &str = "packing the commit";
        let repository = git::open_own(mirror)?;
        let tree = commit_tree(&repository, self.commit)?;
        let parents: Vec<Oid> = repository.find_commit(self.commit).doing(DOING)?.parent_ids().collect();
        if self.expected.is_some_and(|expected| expected != self.commit && !parents.contains(&expected)) {
            return Err(Error::Unsupported("the commit to push does not follow the one its branch is expected at"));
        }
        let known = self.known(&repository, &parents)?;
        let mut builder = repository.packbuilder().doing(DOING)?;
        builder.set_threads(1);
        builder.insert_object(self.commit, None).doing(DOING)?;
        let mut left = self.limits.push_bytes;
        for object in missing(&repository, tree, &known, &self.limits)? {
            let (bytes, _) = header(&repository, object.oid).doing(DOING)?;
            left = left.checked_sub(bytes).ok_or_else(|| Error::TooLarge {
                what: "what is to be pushed",
                limit: binary_size(self.limits.push_bytes),
            })?;
            builder.insert_object(object.oid, Some(&object.path)).doing(DOING)?;
        }
        let mut pack = Buf::new();
        builder.write_buf(&mut pack).doing(DOING)?;
        Ok(pack.to_vec())
    }

    /// Trees that came from the server: the parents', else those of the commits that were fetched.
    fn known(&self, repository: &Repository, parents: &[Oid]) -> Result<Vec<Oid>, Error> {
        let known: Vec<Oid> = parents.iter().filter_map(|parent| commit_tree(repository, *parent).ok()).collect();
        if !known.is_empty() {
            return Ok(known);
        }
        let refs = repository.references_glob("refs/octoswarm/*").doing("reading the mirror's refs")?;
        let commits = refs.flatten().filter_map(|reference| reference.target());
        Ok(commits.filter_map(|commit| commit_tree(repository, commit).ok()).take(MOST_KNOWN).collect())
    }

    fn greet(&self) -> Result<Greeting, Error> {
        let (reference, branch) = (self.reference(), self.branch.clone());
        let mut tip = None;
        let capabilities = advertisement::read(
            &self.session,
            Service::ReceivePackLs,
            |reason| Error::PushRejected { branch, reason },
            |id, name| {
                if name == reference.as_bytes() {
                    tip = Some(id);
                }
            },
        )?;
        let capabilities = capabilities.ok_or_else(|| self.session.broken("it does not say what it can do"))?;
        Ok(Greeting { tip, capabilities })
    }

    fn send(&self, greeting: &Greeting, pack: &[u8]) -> Result<Report, Error> {
        let offers = |word: &str| greeting.capabilities.split(' ').any(|offered| offered == word);
        if greeting.capabilities.split(' ').any(|c| c.starts_with("object-format=") && c != "object-format=sha1") {
            return Err(Error::Unsupported("repositories with SHA-256 object ids cannot be written yet"));
        }
        if !offers("report-status") {
            return Err(self.session.broken("it does not report what becomes of a push"));
        }
        let mut wishes = vec!["report-status"];
        let banded = offers("side-band-64k");
        wishes.extend(banded.then_some("side-band-64k"));
        wishes.extend(["ofs-delta", "object-format=sha1"].into_iter().filter(|word| offers(word)));
        let (old, new) = (self.expected.unwrap_or(Oid::ZERO_SHA1), self.commit);
        let command = format!("{old} {new} {}\0 {} agent=octoswarm", self.reference(), wishes.join(" "));
        let body = [line(command.as_bytes()).as_slice(), b"0000", pack].concat();
        let answer = self.session.exchange(Service::ReceivePack, body);
        Report::read(Packets::new(&self.session, answer), banded)
    }
}
