//! Git's objects over REST: blobs, trees and commits.

use std::path::Path;

use base64::Engine;
use git2::{Index, ObjectType, Oid, Repository};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{Actor, Ctx, Reply, allows};
use crate::demo::refusal::Refusal;
use crate::demo::state::{Level, World, workflow_refusal};
use crate::demo::{repo, shape};

/// The repository of the path and its git side; an empty repository has none to speak of.
pub fn opened(world: &World, ctx: &Ctx) -> Result<(u64, Repository), Refusal> {
    let id = ctx.repo(world)?;
    let git = world.git(id)?;
    if repo::is_empty(&git) {
        return Err(Refusal::new(409, "Git Repository is empty."));
    }
    Ok((id, git))
}

/// Whether the token may write workflow files.
pub fn may_workflows(ctx: &Ctx) -> bool {
    matches!(&ctx.actor, Actor::Installation(token) if allows(&token.permissions, "workflows", Level::Write))
}

pub fn full_sha(text: &str) -> Option<Oid> {
    if text.len() != 40 { None } else { Oid::from_str(text).ok() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBlob {
    content: String,
    encoding: Option<String>,
}

pub fn create_blob(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let new: NewBlob = ctx.body()?;
    let bytes = match new.encoding.as_deref().unwrap_or("utf-8") {
        "utf-8" => new.content.into_bytes(),
        "base64" => {
            let text: String = new.content.chars().filter(|c| !c.is_ascii_whitespace()).collect();
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .map_err(|_| Refusal::invalid("Blob", "content", "invalid", "content is not valid Base64"))?
        }
        _ => return Err(Refusal::invalid("Blob", "encoding", "invalid", "encoding is utf-8 or base64")),
    };
    let sha = git.blob(&bytes)?.to_string();
    let url = format!("{}/repos/{}/git/blobs/{sha}", world.api(), world.repo(id)?.full_name());
    Reply::created(json!({"sha": sha, "url": url}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTree {
    base_tree: Option<String>,
    tree: Vec<NewEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewEntry {
    path: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    /// Absent, `null` to delete, or an object.
    #[serde(default, deserialize_with = "given")]
    sha: Option<Option<String>>,
    content: Option<String>,
}

/// Tells `null` from absence.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

fn wrong_tree(message: impl Into<String>) -> Refusal {
    Refusal::new(422, message)
}

pub fn create_tree(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let new: NewTree = ctx.body()?;
    if new.tree.is_empty() {
        return Err(wrong_tree("Invalid tree info"));
    }
    let mut index = Index::new()?;
    if let Some(base) = &new.base_tree {
        let tree = full_sha(base).and_then(|oid| git.find_tree(oid).ok());
        index.read_tree(&tree.ok_or_else(|| wrong_tree("base_tree is not a valid tree oid"))?)?;
    }
    let mut seen = std::collections::BTreeSet::new();
    for entry in &new.tree {
        if !seen.insert(entry.path.as_str()) {
            return Err(wrong_tree(format!("tree.path {} is given twice", entry.path)));
        }
        if entry.path.starts_with(".github/workflows/") && !may_workflows(ctx) {
            return Err(Refusal::new(403, workflow_refusal(&entry.path)));
        }
        put(&git, &mut index, entry)?;
    }
    let sha = index.write_tree_to(&git)?;
    Reply::created(shape::tree(world, id, &git.find_tree(sha)?)?)
}

fn put(git: &Repository, index: &mut Index, entry: &NewEntry) -> Result<(), Refusal> {
    if !repo::is_path(&entry.path) {
        return Err(wrong_tree("tree.path contains a malformed path component"));
    }
    let (mode, kind) = match (entry.mode.as_str(), entry.kind.as_str()) {
        ("100644", "blob") => (0o100_644, ObjectType::Blob),
        ("100755", "blob") => (0o100_755, ObjectType::Blob),
        ("120000", "blob") => (0o120_000, ObjectType::Blob),
        ("040000", "tree") => (0o040_000, ObjectType::Tree),
        ("160000", "commit") => (0o160_000, ObjectType::Commit),
        (mode, kind) => return Err(wrong_tree(format!("tree.mode {mode} does not go with tree.type {kind}"))),
    };
    let object = match (&entry.sha, &entry.content) {
        (Some(None), None) => return remove(index, &entry.path),
        (Some(Some(sha)), None) => {
            let oid = full_sha(sha);
            // A submodule's commit lives elsewhere; every other object has to be here.
            let here = |oid: &Oid| kind == ObjectType::Commit || git.find_object(*oid, Some(kind)).is_ok();
            oid.filter(here).ok_or_else(|| wrong_tree(format!("tree.sha {sha} is not a valid {}", entry.kind)))?
        }
        (None, Some(content)) if kind == ObjectType::Blob => git.blob(content.as_bytes())?,
        (None, Some(_)) => return Err(wrong_tree("tree.content goes with tree.type blob only")),
        (Some(_), Some(_)) | (None, None) => {
            return Err(wrong_tree("Must supply either tree.sha or tree.content, and not both"));
        }
    };
    // Whatever stood at this path goes, be it a file or a folder.
    let _ = remove(index, &entry.path);
    if kind == ObjectType::Tree {
        let mut files = Vec::new();
        git.find_tree(object)?.walk(git2::TreeWalkMode::PreOrder, |folder, item| {
            if item.kind() != Some(ObjectType::Tree) {
                let name = String::from_utf8_lossy(item.name_bytes()).into_owned();
                files.push((format!("{}/{folder}{name}", entry.path), item.id(), item.filemode()));
            }
            git2::TreeWalkResult::Ok
        })?;
        for (path, oid, mode) in files {
            index.add(&repo::index_entry(&path, oid, u32::try_from(mode).unwrap_or(0o100_644)))?;
        }
        return Ok(());
    }
    Ok(index.add(&repo::index_entry(&entry.path, object, mode))?)
}

fn remove(index: &mut Index, path: &str) -> Result<(), Refusal> {
    let folder = format!("{path}/");
    let gone: Vec<Vec<u8>> = index
        .iter()
        .map(|entry| entry.path)
        .filter(|known| known == path.as_bytes() || known.starts_with(folder.as_bytes()))
        .collect();
    if gone.is_empty() {
        return Err(wrong_tree("GitRPC::BadObjectState"));
    }
    for path in gone {
        index.remove(Path::new(&*String::from_utf8_lossy(&path)), 0)?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCommit {
    message: String,
    tree: String,
    #[serde(default)]
    parents: Vec<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Person {
    name: String,
    email: String,
    date: Option<String>,
}

impl Person {
    fn signature(&self, now: i64) -> Result<git2::Signature<'static>, Refusal> {
        let wrong = |field: &str| Refusal::invalid("Commit", field, "invalid", format!("{field} is invalid"));
        let at = match &self.date {
            None => now / 1000,
            Some(date) => chrono::DateTime::parse_from_rfc3339(date).map_err(|_| wrong("date"))?.timestamp(),
        };
        git2::Signature::new(&self.name, &self.email, &git2::Time::new(at, 0)).map_err(|_| wrong("author"))
    }
}

/// With neither author nor committer the commit is the App's, and GitHub signs it.
pub fn create_commit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let new: NewCommit = ctx.body()?;
    if new.message.trim().is_empty() {
        return Err(Refusal::invalid("Commit", "message", "missing_field", "message can't be blank"));
    }
    let tree = full_sha(&new.tree).and_then(|oid| git.find_tree(oid).ok());
    let tree = tree.ok_or_else(|| Refusal::new(422, "Tree SHA does not exist"))?;
    let mut parents = Vec::new();
    for parent in &new.parents {
        let found = full_sha(parent).and_then(|oid| git.find_commit(oid).ok());
        parents.push(found.ok_or_else(|| Refusal::new(422, "Parent SHA does not exist or is not a commit object"))?);
    }
    let parents: Vec<&git2::Commit<'_>> = parents.iter().collect();
    let ours = Person { name: world.bot(), email: world.noreply(&world.bot()), date: None };
    let signed = new.author.is_none() && new.committer.is_none();
    let author = new.author.unwrap_or(ours);
    let committer = new.committer.unwrap_or_else(|| author.clone());
    let (author, committer) = (author.signature(world.now())?, committer.signature(world.now())?);
    let sha = repo::write_commit(&git, (&author, &committer), &new.message, &tree, &parents, signed)?;
    if signed {
        world.signed.insert(sha.clone());
    }
    Reply::created(shape::git_commit(world, id, &sha)?)
}

pub fn commit(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let found = full_sha(ctx.param("sha")).and_then(|oid| git.find_commit(oid).ok());
    let sha = found.ok_or_else(Refusal::not_found)?.id().to_string();
    Reply::ok(shape::git_commit(world, id, &sha)?)
}

pub fn tree(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let found = full_sha(ctx.param("sha")).and_then(|oid| git.find_tree(oid).ok()).ok_or_else(Refusal::not_found)?;
    Reply::ok(shape::tree(world, id, &found)?)
}

pub fn blob(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let (id, git) = opened(world, ctx)?;
    let found = full_sha(ctx.param("sha")).and_then(|oid| git.find_blob(oid).ok()).ok_or_else(Refusal::not_found)?;
    let url = format!("{}/repos/{}/git/blobs/{}", world.api(), world.repo(id)?.full_name(), found.id());
    let content: Value = json!(base64::engine::general_purpose::STANDARD.encode(found.content()));
    Reply::ok(json!({
        "sha": found.id().to_string(),
        "node_id": format!("B_kwDO{}", found.id()),
        "size": found.size(),
        "url": url,
        "content": content,
        "encoding": "base64",
    }))
}
