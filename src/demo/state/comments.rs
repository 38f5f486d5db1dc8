//! The conversation of issues and pull requests, and reactions to anything.

use serde_json::{Value, json};

use super::{IssueComment, Reaction, World, check_length};
use crate::demo::refusal::Refusal;
use crate::demo::shape;

impl World {
    pub fn comment(&mut self, repo: u64, number: u64, author: &str, body: &str) -> Result<u64, Refusal> {
        check_comment(body)?;
        self.issue(repo, number)?;
        self.add_user(author, "User");
        let (id, now) = (self.id(), self.now());
        let comment = IssueComment {
            id,
            number,
            author: author.to_owned(),
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            read: author != self.bot(),
            minimized: None,
        };
        self.repo_mut(repo)?.comments.insert(id, comment);
        self.issue_mut(repo, number)?.updated_at = now;
        self.comment_event(repo, id, "created", author, json!({}))?;
        Ok(id)
    }

    /// A locked conversation is closed to those who may not write to the repository.
    pub fn may_speak(&self, repo: u64, number: u64, author: &str) -> Result<(), Refusal> {
        if self.issue(repo, number)?.locked && !self.repo(repo)?.writes(author) {
            return Err(Refusal::new(403, "Unable to create comment because issue is locked."));
        }
        Ok(())
    }

    /// Its author may, and every person who may write to the repository.
    pub fn edit_comment(&mut self, repo: u64, id: u64, by: &str, body: &str) -> Result<(), Refusal> {
        check_comment(body)?;
        let number = self.may_change_comment(repo, id, by)?;
        let (now, bot) = (self.now(), self.bot());
        let found = self.repo_mut(repo)?.comments.get_mut(&id).ok_or_else(Refusal::not_found)?;
        let former = std::mem::replace(&mut found.body, body.to_owned());
        found.updated_at = now;
        found.read = found.author != bot;
        self.issue_mut(repo, number)?.updated_at = now;
        self.comment_event(repo, id, "edited", by, json!({"changes": {"body": {"from": former}}}))
    }

    pub fn delete_comment(&mut self, repo: u64, id: u64, by: &str) -> Result<(), Refusal> {
        self.may_change_comment(repo, id, by)?;
        self.comment_event(repo, id, "deleted", by, json!({}))?;
        self.repo_mut(repo)?.comments.remove(&id);
        Ok(())
    }

    fn may_change_comment(&self, repo: u64, id: u64, by: &str) -> Result<u64, Refusal> {
        let r = self.repo(repo)?;
        let found = r.comments.get(&id).ok_or_else(Refusal::not_found)?;
        if found.author != by && !r.writes(by) {
            return Err(Refusal::forbidden());
        }
        Ok(found.number)
    }

    fn comment_event(
        &mut self,
        repo: u64,
        id: u64,
        action: &str,
        sender: &str,
        mut extra: Value,
    ) -> Result<(), Refusal> {
        let number = self.repo(repo)?.comments.get(&id).ok_or_else(Refusal::not_found)?.number;
        extra["issue"] = shape::issue(self, repo, number)?;
        extra["comment"] = shape::issue_comment(self, repo, id)?;
        self.emit("issue_comment", Some(action), repo, sender, extra);
        Ok(())
    }

    pub fn react(&mut self, repo: u64, subject: &str, author: &str, content: &str) -> Result<(u64, bool), Refusal> {
        if !["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"].contains(&content) {
            return Err(Refusal::invalid("Reaction", "content", "invalid", "content is not a reaction"));
        }
        let (id, created_at) = (self.id(), self.now());
        let same = |r: &&Reaction| r.subject == subject && r.author == author && r.content == content;
        let reactions = &mut self.repo_mut(repo)?.reactions;
        if let Some(known) = reactions.iter().find(same) {
            return Ok((known.id, false));
        }
        let (subject, author, content) = (subject.to_owned(), author.to_owned(), content.to_owned());
        reactions.push(Reaction { id, subject, author, content, created_at });
        Ok((id, true))
    }
}

fn check_comment(body: &str) -> Result<(), Refusal> {
    check_length("IssueComment", body)?;
    if body.trim().is_empty() {
        return Err(Refusal::invalid("IssueComment", "body", "missing_field", "body can't be blank"));
    }
    Ok(())
}
