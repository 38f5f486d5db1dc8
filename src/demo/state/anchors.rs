//! Where review comments stand: proved against the diff when they are made, carried along when the head moves.

use super::{NewComment, Pull, World};
use crate::demo::diff::{self, Anchor, FileChange};
use crate::demo::refusal::Refusal;
use crate::demo::repo;

/// A new comment whose place was proved.
pub struct Placed {
    pub side: String,
    pub start_side: Option<String>,
    pub diff_hunk: String,
}

impl World {
    /// The commit a review speaks about: the head, or an older commit of the pull request.
    pub fn review_commit(&self, repo: u64, pull: &Pull, commit: Option<&str>) -> Result<String, Refusal> {
        let Some(commit) = commit else { return Ok(pull.head_sha.clone()) };
        if commit == pull.head_sha {
            return Ok(commit.to_owned());
        }
        let known = repo::commits(&self.git(repo)?, &pull.base_sha, &pull.head_sha)?;
        if known.iter().any(|sha| sha == commit) {
            return Ok(commit.to_owned());
        }
        Err(Refusal::invalid("PullRequestReview", "commit_id", "custom", "commit_id is not part of the pull request"))
    }

    pub fn changes(&self, repo: u64, pull: &Pull, commit: &str) -> Result<Vec<FileChange>, Refusal> {
        Ok(diff::three_dot(&self.git(repo)?, &pull.base_sha, commit)?)
    }

    /// Proves every place and every suggestion of one review; one wrong comment sinks them all.
    pub fn prove(files: &[FileChange], comments: &[NewComment]) -> Result<Vec<Placed>, Refusal> {
        let mut placed = Vec::new();
        let mut ranges = Vec::new();
        let mut problems: Option<Refusal> = None;
        for comment in comments {
            match prove_one(files, comment, &mut ranges) {
                Ok(place) => placed.push(place),
                Err(refusal) => match &mut problems {
                    Some(first) => first.errors.extend(refusal.errors),
                    None => problems = Some(refusal),
                },
            }
        }
        if let Some(refusal) = problems {
            return Err(refusal);
        }
        if let Some(pair) = diff::overlap(&ranges) {
            return Err(Refusal::unprocessable(format!("Suggestions overlap and cannot be applied together: {pair}")));
        }
        Ok(placed)
    }

    /// After a push or a change of base: comments move with their line or become outdated.
    pub fn carry_comments(&mut self, repo: u64, number: u64) -> Result<(), Refusal> {
        let pull = self.pull(repo, number)?.clone();
        let git = self.git(repo)?;
        let files = self.changes(repo, &pull, &pull.head_sha)?;
        let comments: Vec<_> =
            self.repo(repo)?.review_comments.values().filter(|c| c.pull == number).cloned().collect();
        for mut comment in comments {
            let carry = |line: u32| -> Result<Option<u32>, Refusal> {
                if comment.side == "LEFT" {
                    return Ok(Some(line));
                }
                Ok(diff::carried(&git, &comment.original_commit_id, &pull.head_sha, &comment.path)?.line(line))
            };
            let start = match comment.original_start_line {
                Some(line) => carry(line)?.map(Some),
                None => Some(None),
            };
            let line = carry(comment.original_line)?;
            let (line, start) = match (line, start) {
                (Some(line), Some(start)) => (Some(line), start),
                _ => (None, None),
            };
            let stands = line.filter(|line| {
                let start = start.map(|start| (comment.start_side.as_deref().unwrap_or(&comment.side), start));
                let anchor = Anchor { path: &comment.path, side: &comment.side, line: *line, start };
                diff::place(&files, anchor).is_ok()
            });
            comment.line = stands;
            comment.start_line = stands.and(start);
            if stands.is_some() {
                comment.commit_id.clone_from(&pull.head_sha);
            }
            let r = self.repo_mut(repo)?;
            if let Some(thread) = r.threads.get_mut(&comment.thread) {
                thread.outdated = stands.is_none();
            }
            r.review_comments.insert(comment.id, comment);
        }
        Ok(())
    }
}

fn prove_one(
    files: &[FileChange],
    comment: &NewComment,
    ranges: &mut Vec<(String, u32, u32)>,
) -> Result<Placed, Refusal> {
    let side = comment.side.as_deref().unwrap_or("RIGHT");
    let start_side = comment.start_side.as_deref().unwrap_or(side);
    if [side, start_side].iter().any(|s| !matches!(*s, "LEFT" | "RIGHT")) {
        return Err(Refusal::unprocessable("Pull request review thread side is not included in the list"));
    }
    if comment.start_side.is_some() && comment.start_line.is_none() {
        return Err(Refusal::unprocessable("Pull request review thread start line is missing"));
    }
    if comment.body.trim().is_empty() {
        return Err(Refusal::unprocessable("Pull request review comment body can't be blank"));
    }
    let start = comment.start_line.map(|line| (start_side, line));
    let diff_hunk = diff::place(files, Anchor { path: &comment.path, side, line: comment.line, start })?;
    let blocks = diff::suggestions(&comment.body).len();
    if blocks > 0 {
        let first = comment.start_line.unwrap_or(comment.line);
        let file = files.iter().find(|file| file.path == comment.path);
        if side != "RIGHT" || start_side != "RIGHT" || !file.is_some_and(|file| file.wrote(first, comment.line)) {
            return Err(Refusal::unprocessable("Suggestions may only cover lines that the pull request added"));
        }
        // Two blocks in one comment replace the same lines: that is an overlap, too.
        for _ in 0..blocks {
            ranges.push((comment.path.clone(), first, comment.line));
        }
    }
    let start_side = comment.start_line.map(|_| start_side.to_owned());
    Ok(Placed { side: side.to_owned(), start_side, diff_hunk })
}
