//! Owners: they make, rename, guard and archive repositories, give roles, and install the App.

use super::{Change, People};
use crate::demo::Error;
use crate::demo::refusal::Refusal;
use crate::demo::state::{NewLabel, Repo};

#[expect(clippy::missing_errors_doc, reason = "said once, at the type")]
#[expect(clippy::unused_async, reason = "people act through time; callers should not care which act needs it")]
impl People {
    /// Makes `owner/name` with these files on `main`; returns its id.
    pub async fn create_repo(&self, full_name: &str, files: Change) -> Result<u64, Error> {
        let (owner, name) = full_name.split_once('/').ok_or_else(Refusal::not_found)?;
        Ok(self.shared.world().create_repo(owner, name, Some(&files.0))?)
    }

    /// Makes `owner/name` without a branch or a commit; the first push makes `main`.
    pub async fn create_empty_repo(&self, full_name: &str) -> Result<u64, Error> {
        let (owner, name) = full_name.split_once('/').ok_or_else(Refusal::not_found)?;
        Ok(self.shared.world().create_repo(owner, name, None)?)
    }

    fn set(&self, repo: &str, set: impl FnOnce(&mut Repo)) -> Result<(), Error> {
        self.act(repo, |world, id| world.repo_mut(id).map(set))
    }

    /// Its former name leads to it still.
    pub async fn rename_repo(&self, by: &str, repo: &str, name: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.rename_repo(id, name, by))
    }

    /// Nothing can be written any more.
    pub async fn archive_repo(&self, by: &str, repo: &str) -> Result<(), Error> {
        self.archive(by, repo, true)
    }

    pub async fn unarchive_repo(&self, by: &str, repo: &str) -> Result<(), Error> {
        self.archive(by, repo, false)
    }

    fn archive(&self, by: &str, repo: &str, archived: bool) -> Result<(), Error> {
        self.act(repo, |world, id| {
            world.repo_mut(id)?.archived = archived;
            let action = if archived { "archived" } else { "unarchived" };
            world.emit("repository", Some(action), id, by, serde_json::json!({}));
            Ok(())
        })
    }

    /// What GitHub finds out about a repository by itself; the license is an SPDX id.
    pub async fn describe_repo(
        &self,
        repo: &str,
        language: Option<&str>,
        stars: u64,
        license: Option<&str>,
    ) -> Result<(), Error> {
        self.set(repo, |r| {
            r.language = language.map(str::to_owned);
            r.stars = stars;
            r.license = license.map(str::to_owned);
        })
    }

    pub async fn make_private(&self, repo: &str) -> Result<(), Error> {
        self.set(repo, |r| r.private = true)
    }

    /// Gives somebody a role: `read`, `triage`, `write`, `maintain`, `admin`, or a custom one.
    pub async fn add_collaborator(&self, repo: &str, login: &str, role: &str) -> Result<(), Error> {
        self.act(repo, |world, id| {
            let known = ["read", "triage", "write", "maintain", "admin"].contains(&role)
                || world.repo(id)?.custom_roles.contains_key(role);
            if !known {
                return Err(Refusal::new(422, format!("there is no role `{role}`: make it with `create_role` first")));
            }
            world.add_user(login, "User");
            world.repo_mut(id)?.collaborators.insert(login.to_owned(), role.to_owned());
            Ok(())
        })
    }

    pub async fn remove_collaborator(&self, repo: &str, login: &str) -> Result<(), Error> {
        self.set(repo, |r| drop(r.collaborators.remove(login)))
    }

    /// A custom role on top of `read`, `triage`, `write`, `maintain` or `admin`.
    pub async fn create_role(&self, repo: &str, name: &str, base: &str) -> Result<(), Error> {
        self.set(repo, |r| drop(r.custom_roles.insert(name.to_owned(), base.to_owned())))
    }

    pub async fn create_label(&self, repo: &str, name: &str) -> Result<(), Error> {
        let new = NewLabel { name: name.to_owned(), color: None, description: None };
        self.act(repo, |world, id| world.create_label(id, new).map(drop))
    }

    /// Nobody pushes over the wire to branches that match; `*` stops at a slash. People of the box still may.
    pub async fn protect_branch(&self, repo: &str, pattern: &str) -> Result<(), Error> {
        self.set(repo, |r| r.protected.push(pattern.to_owned()))
    }

    pub async fn unprotect_branch(&self, repo: &str, pattern: &str) -> Result<(), Error> {
        self.set(repo, |r| r.protected.retain(|known| known != pattern))
    }

    /// Branches that match take signed commits only; `~ALL` matches every branch.
    pub async fn require_signatures(&self, repo: &str, pattern: &str) -> Result<(), Error> {
        self.set(repo, |r| r.signatures.push(pattern.to_owned()))
    }

    pub async fn drop_signatures(&self, repo: &str, pattern: &str) -> Result<(), Error> {
        self.set(repo, |r| r.signatures.retain(|known| known != pattern))
    }

    /// Whether draft pull requests are offered.
    pub async fn allow_drafts(&self, repo: &str, allowed: bool) -> Result<(), Error> {
        self.set(repo, |r| r.drafts = allowed)
    }

    /// Whether the App may rewrite branches by a git push; it may not until somebody allows it.
    pub async fn allow_force_pushes(&self, repo: &str, allowed: bool) -> Result<(), Error> {
        self.set(repo, |r| r.force_pushes = allowed)
    }

    /// The App asks for this since it was installed, and the owner has not granted it.
    pub async fn withhold_permission(&self, name: &str) {
        let mut world = self.shared.world();
        let mut granted = world.granted_permissions();
        granted.remove(name);
        world.granted = Some(granted);
    }

    /// The owner grants what the App asked for since it was installed: the whole of its manifest.
    pub async fn accept_permissions(&self, by: &str) {
        self.shared.world().granted = None;
        self.shared.world().emit_installation("installation", "new_permissions_accepted", by, serde_json::json!({}));
    }

    /// The App no longer sees this repository.
    pub async fn remove_repo_from_installation(&self, by: &str, repo: &str) -> Result<(), Error> {
        self.act(repo, |world, id| {
            if world.covers(id) {
                world.repositories_event(id, "removed", by)?;
                world.removed.insert(id);
            }
            Ok(())
        })
    }

    pub async fn add_repo_to_installation(&self, by: &str, repo: &str) -> Result<(), Error> {
        self.act(repo, |world, id| {
            if world.removed.remove(&id) {
                world.repositories_event(id, "added", by)?;
            }
            Ok(())
        })
    }

    pub async fn suspend(&self, by: &str) {
        let mut world = self.shared.world();
        world.suspended_at = Some(world.now());
        world.emit_installation("installation", "suspend", by, serde_json::json!({}));
    }

    pub async fn unsuspend(&self, by: &str) {
        let mut world = self.shared.world();
        world.suspended_at = None;
        world.emit_installation("installation", "unsuspend", by, serde_json::json!({}));
    }

    /// Installs the App, for the first time or again, on the box's account.
    pub async fn install(&self, by: &str) {
        let mut world = self.shared.world();
        world.uninstalled = false;
        let seen: Vec<_> = world.repos.values().filter(|r| world.covers(r.id)).collect();
        let short: Vec<_> = seen.into_iter().map(crate::demo::shape::short_repository).collect();
        world.emit_installation("installation", "created", by, serde_json::json!({"repositories": short}));
    }

    pub async fn uninstall(&self, by: &str) {
        let mut world = self.shared.world();
        world.emit_installation("installation", "deleted", by, serde_json::json!({"repositories": []}));
        world.uninstalled = true;
    }
}
