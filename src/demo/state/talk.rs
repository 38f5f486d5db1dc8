//! Reviews, review comments and threads.

use serde::Deserialize;
use serde_json::json;

use super::{Review, ReviewComment, Thread, World};
use crate::demo::refusal::Refusal;
use crate::demo::{diff, repo, shape};

/// The longest text GitHub takes, in characters.
const LONGEST: usize = 65_536;

/// One inline comment as a client sends it. `position`, the old way to anchor, is not offered.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    pub path: String,
    pub body: String,
    pub line: u32,
    #[serde(default)]
    pub side: Option<String>,
    #[serde(default)]
    pub start_line: Option<u32>,
    #[serde(default)]
    pub start_side: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewReview {
    #[serde(default)]
    pub commit_id: Option<String>,
    #[serde(default)]
    pub body: Option<String>,
    #[serde(default)]
    pub event: Option<String>,
    #[serde(default)]
    pub comments: Vec<NewComment>,
}

pub fn check_length(resource: &str, body: &str) -> Result<(), Refusal> {
    if body.chars().count() > LONGEST {
        return Err(Refusal::invalid(
            resource,
            "body",
            "custom",
            format!("body is too long (maximum is {LONGEST} characters)"),
        ));
    }
    Ok(())
}

impl World {
    pub fn create_review(&mut self, repo: u64, number: u64, author: &str, new: NewReview) -> Result<u64, Refusal> {
        self.add_user(author, "User");
        let pull = self.pull(repo, number)?.clone();
        let body = new.body.unwrap_or_default();
        check_length("PullRequestReview", &body)?;
        for comment in &new.comments {
            check_length("PullRequestReviewComment", &comment.body)?;
        }
        let state = match new.event.as_deref() {
            Some("COMMENT") => "COMMENTED",
            Some("APPROVE") if pull.author == author => {
                return Err(Refusal::unprocessable("Can not approve your own pull request"));
            }
            Some("REQUEST_CHANGES") if pull.author == author => {
                return Err(Refusal::unprocessable("Can not request changes on your own pull request"));
            }
            Some("APPROVE") => "APPROVED",
            Some("REQUEST_CHANGES") => "CHANGES_REQUESTED",
            Some(other) => {
                return Err(Refusal::unprocessable(format!(
                    "Variable $event of type PullRequestReviewEvent was provided invalid value: {other}"
                )));
            }
            None => {
                return Err(Refusal::unprocessable("event is missing: the review would stay pending and unseen"));
            }
        };
        if body.trim().is_empty() && (state == "CHANGES_REQUESTED" || (state == "COMMENTED" && new.comments.is_empty()))
        {
            return Err(Refusal::unprocessable("Review body can't be blank when there are no comments"));
        }
        let commit = self.review_commit(repo, &pull, new.commit_id.as_deref())?;
        let files = self.changes(repo, &pull, &commit)?;
        let placed = Self::prove(&files, &new.comments)?;
        let (id, now, blank) = (self.id(), self.now(), body.trim().is_empty());
        let review = Review {
            id,
            pull: number,
            author: author.to_owned(),
            body,
            state: state.to_owned(),
            commit_id: commit.clone(),
            submitted_at: now,
            updated_at: now,
            former_bodies: Vec::new(),
            // Without a text of its own there is nothing to read in it.
            read: author != self.bot() || blank,
            minimized: None,
        };
        self.repo_mut(repo)?.reviews.insert(id, review);
        let mut made = Vec::new();
        for (comment, place) in new.comments.into_iter().zip(placed) {
            let (comment_id, thread_id) = (self.id(), self.id());
            let thread = Thread {
                id: thread_id,
                node_id: shape::node("PRRT", thread_id),
                pull: number,
                resolved_by: None,
                outdated: false,
                comments: vec![comment_id],
            };
            let comment = ReviewComment {
                id: comment_id,
                pull: number,
                review: id,
                thread: thread_id,
                in_reply_to: None,
                author: author.to_owned(),
                body: comment.body,
                path: comment.path,
                side: place.side,
                line: Some(comment.line),
                start_line: comment.start_line,
                start_side: place.start_side,
                original_line: comment.line,
                original_start_line: comment.start_line,
                commit_id: commit.clone(),
                original_commit_id: commit.clone(),
                diff_hunk: place.diff_hunk,
                created_at: now,
                updated_at: now,
                read: author != self.bot(),
                minimized: None,
            };
            let r = self.repo_mut(repo)?;
            r.threads.insert(thread_id, thread);
            r.review_comments.insert(comment_id, comment);
            made.push(comment_id);
        }
        if commit != pull.head_sha {
            self.carry_comments(repo, number)?;
        }
        let pull_json = shape::pull(self, repo, number, false)?;
        let extra = json!({"review": shape::review(self, repo, id, true)?, "pull_request": pull_json});
        self.emit("pull_request_review", Some("submitted"), repo, author, extra);
        for comment in made {
            self.review_comment_event(repo, comment, "created", author)?;
        }
        Ok(id)
    }

    fn review_comment_event(&mut self, repo: u64, id: u64, action: &str, sender: &str) -> Result<(), Refusal> {
        let number = self.review_comment(repo, id)?.pull;
        let extra = json!({
            "comment": shape::review_comment(self, repo, id)?,
            "pull_request": shape::pull(self, repo, number, false)?,
        });
        self.emit("pull_request_review_comment", Some(action), repo, sender, extra);
        Ok(())
    }

    pub fn review_comment(&self, repo: u64, id: u64) -> Result<&ReviewComment, Refusal> {
        self.repo(repo)?.review_comments.get(&id).ok_or_else(Refusal::not_found)
    }

    /// A reply goes to the thread's end, whichever of its comments it answers.
    pub fn reply(&mut self, repo: u64, to: u64, author: &str, body: &str) -> Result<u64, Refusal> {
        check_length("PullRequestReviewComment", body)?;
        if body.trim().is_empty() {
            return Err(Refusal::invalid("PullRequestReviewComment", "body", "missing_field", "body can't be blank"));
        }
        self.add_user(author, "User");
        let answered = self.review_comment(repo, to)?.clone();
        if answered.in_reply_to.is_some() {
            return Err(Refusal::invalid(
                "PullRequestReviewComment",
                "in_reply_to",
                "custom",
                "replies to replies are not supported: answer the thread's first comment",
            ));
        }
        let (review_id, id, now, bot) = (self.id(), self.id(), self.now(), self.bot());
        let review = Review {
            id: review_id,
            pull: answered.pull,
            author: author.to_owned(),
            body: String::new(),
            state: "COMMENTED".to_owned(),
            commit_id: answered.original_commit_id.clone(),
            submitted_at: now,
            updated_at: now,
            former_bodies: Vec::new(),
            // It has no text of its own: there is nothing to read in it.
            read: true,
            minimized: None,
        };
        let comment = ReviewComment {
            id,
            review: review_id,
            in_reply_to: Some(to),
            author: author.to_owned(),
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            read: author != bot,
            minimized: None,
            ..answered
        };
        let r = self.repo_mut(repo)?;
        if let Some(thread) = r.threads.get_mut(&comment.thread) {
            thread.comments.push(id);
        }
        r.reviews.insert(review_id, review);
        r.review_comments.insert(id, comment);
        self.review_comment_event(repo, id, "created", author)?;
        Ok(id)
    }

    pub fn edit_review_comment(&mut self, repo: u64, id: u64, author: &str, body: &str) -> Result<(), Refusal> {
        check_length("PullRequestReviewComment", body)?;
        let now = self.now();
        let found = self.repo_mut(repo)?.review_comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
        if found.author != author {
            return Err(Refusal::forbidden());
        }
        body.clone_into(&mut found.body);
        found.updated_at = now;
        found.read = false;
        self.review_comment_event(repo, id, "edited", author)
    }

    pub fn delete_review_comment(&mut self, repo: u64, id: u64, author: &str) -> Result<(), Refusal> {
        if self.review_comment(repo, id)?.author != author {
            return Err(Refusal::forbidden());
        }
        self.review_comment_event(repo, id, "deleted", author)?;
        let r = self.repo_mut(repo)?;
        if let Some(gone) = r.review_comments.remove(&id)
            && let Some(thread) = r.threads.get_mut(&gone.thread)
        {
            thread.comments.retain(|c| *c != id);
            if thread.comments.is_empty() {
                r.threads.remove(&gone.thread);
            }
        }
        Ok(())
    }

    pub fn edit_review(&mut self, repo: u64, id: u64, author: &str, body: &str) -> Result<(), Refusal> {
        check_length("PullRequestReview", body)?;
        if body.trim().is_empty() {
            return Err(Refusal::invalid("PullRequestReview", "body", "missing_field", "body can't be blank"));
        }
        let now = self.now();
        let review = self.repo_mut(repo)?.reviews.get_mut(&id).ok_or_else(Refusal::not_found)?;
        if review.author != author {
            return Err(Refusal::forbidden());
        }
        let former = std::mem::replace(&mut review.body, body.to_owned());
        review.former_bodies.push(former);
        review.updated_at = now;
        review.read = false;
        let number = review.pull;
        let extra = json!({
            "review": shape::review(self, repo, id, true)?,
            "pull_request": shape::pull(self, repo, number, false)?,
            "changes": {"body": {"from": ""}},
        });
        self.emit("pull_request_review", Some("edited"), repo, author, extra);
        Ok(())
    }

    pub fn dismiss_review(&mut self, repo: u64, id: u64, by: &str) -> Result<(), Refusal> {
        if !self.repo(repo)?.writes(by) {
            return Err(Refusal::forbidden());
        }
        let now = self.now();
        let review = self.repo_mut(repo)?.reviews.get_mut(&id).ok_or_else(Refusal::not_found)?;
        if !matches!(review.state.as_str(), "APPROVED" | "CHANGES_REQUESTED") {
            let state = review.state.to_lowercase();
            return Err(Refusal::unprocessable(format!("Can not dismiss a {state} pull request review")));
        }
        "DISMISSED".clone_into(&mut review.state);
        review.updated_at = now;
        let number = review.pull;
        let extra = json!({
            "review": shape::review(self, repo, id, true)?,
            "pull_request": shape::pull(self, repo, number, false)?,
        });
        self.emit("pull_request_review", Some("dismissed"), repo, by, extra);
        Ok(())
    }

    pub fn set_resolved(&mut self, repo: u64, thread: u64, by: &str, resolved: bool) -> Result<(), Refusal> {
        let found = self.repo_mut(repo)?.threads.get_mut(&thread).ok_or_else(Refusal::not_found)?;
        found.resolved_by = resolved.then(|| by.to_owned());
        let (number, node_id, ids) = (found.pull, found.node_id.clone(), found.comments.clone());
        self.add_user(by, "User");
        let comments = ids.iter().map(|id| shape::review_comment(self, repo, *id)).collect::<Result<Vec<_>, _>>()?;
        let extra = json!({
            "thread": {"node_id": node_id, "comments": comments},
            "pull_request": shape::pull(self, repo, number, false)?,
        });
        let action = if resolved { "resolved" } else { "unresolved" };
        self.emit("pull_request_review_thread", Some(action), repo, by, extra);
        Ok(())
    }

    /// Applies every open suggestion of a pull request in one commit, as "Commit suggestions" does.
    pub fn apply_suggestions(&mut self, repo: u64, number: u64, by: &str) -> Result<Vec<(String, String)>, Refusal> {
        let pull = self.pull(repo, number)?.clone();
        let head_repo = pull.head_repo.ok_or_else(|| Refusal::unprocessable("the head repository is gone"))?;
        let changes = self.changes(repo, &pull, &pull.head_sha)?;
        let mut open: Vec<(String, u32, u32, String)> = Vec::new();
        for thread in self.repo(repo)?.threads.values().filter(|t| t.pull == number && t.resolved_by.is_none()) {
            for id in &thread.comments {
                let comment = self.review_comment(repo, *id)?;
                for text in diff::suggestions(&comment.body) {
                    let line = comment.line.ok_or_else(|| {
                        Refusal::unprocessable(format!("the suggestion at {} is outdated", comment.path))
                    })?;
                    let start = comment.start_line.unwrap_or(line);
                    let stands = changes.iter().any(|f| f.path == comment.path && f.wrote(start, line));
                    if comment.side != "RIGHT" || !stands {
                        return Err(Refusal::unprocessable(format!(
                            "the suggestion at {}:{start}-{line} stands outside the added lines",
                            comment.path
                        )));
                    }
                    open.push((comment.path.clone(), start, line, text));
                }
            }
        }
        let ranges: Vec<_> = open.iter().map(|(path, start, end, _)| (path.clone(), *start, *end)).collect();
        if let Some(pair) = diff::overlap(&ranges) {
            return Err(Refusal::unprocessable(format!("suggestions overlap: {pair}")));
        }
        if open.is_empty() {
            return Err(Refusal::unprocessable("there is no open suggestion"));
        }
        // From the end, so that earlier line numbers stay true.
        open.sort_by(|a, b| (&b.0, b.1).cmp(&(&a.0, a.1)));
        let git = self.git(repo)?;
        let mut files: Vec<(String, String)> = Vec::new();
        for (path, start, end, text) in open {
            if files.last().is_none_or(|(last, _)| *last != path) {
                let bytes = repo::read_file(&git, &pull.head_sha, &path)?;
                let content = String::from_utf8(bytes).map_err(|_| Refusal::unprocessable("the file is not UTF-8"))?;
                files.push((path.clone(), content));
            }
            if let Some((_, content)) = files.last_mut() {
                *content = replace_lines(content, start, end, &text);
            }
        }
        let tree = files.iter().map(|(path, text)| (path.clone(), Some(text.clone().into_bytes()))).collect();
        self.commit_to(head_repo, &pull.head_ref, by, "Apply suggestions from code review", &tree, super::Parent::Tip)?;
        Ok(files)
    }
}

fn replace_lines(content: &str, start: u32, end: u32, text: &str) -> String {
    let mut out = String::new();
    for (index, line) in (1_u32..).zip(content.split_inclusive('\n')) {
        if index == start {
            out.push_str(text);
        }
        if index < start || index > end {
            out.push_str(line);
        }
    }
    out
}
