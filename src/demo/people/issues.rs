//! People among issues: they open, label, close and lock them, and talk.

use super::People;
use crate::demo::Error;
use crate::demo::refusal::Refusal;

#[expect(clippy::missing_errors_doc, reason = "said once, at the type")]
#[expect(clippy::unused_async, reason = "people act through time; callers should not care which act needs it")]
impl People {
    pub async fn open_issue(&self, author: &str, repo: &str, title: &str, body: &str) -> Result<u64, Error> {
        self.act(repo, |world, id| world.open_issue(id, author, title, body))
    }

    pub async fn edit_issue(&self, by: &str, repo: &str, number: u64, title: &str, body: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.edit_issue(id, number, title, body, by))
    }

    /// Lets an issue have been opened so many days earlier: nobody waits for issues to grow old.
    pub async fn backdate_issue(&self, repo: &str, number: u64, days: u32) -> Result<(), Error> {
        self.act(repo, |world, id| {
            let issue = world.repo_mut(id)?.issues.get_mut(&number).ok_or_else(Refusal::not_found)?;
            issue.created_at -= i64::from(days) * 86_400_000;
            Ok(())
        })
    }

    /// Labels an issue or pull request; a label that is new to the repository comes into being.
    pub async fn label(&self, by: &str, repo: &str, number: u64, label: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.add_labels(id, number, &[label.to_owned()], by).map(drop))
    }

    pub async fn unlabel(&self, by: &str, repo: &str, number: u64, label: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.remove_label(id, number, label, by))
    }

    pub async fn close_issue(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.close_issue(id, number, by, "completed", None))
    }

    pub async fn reopen_issue(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.reopen_issue(id, number, by))
    }

    /// Locks the conversation of an issue or pull request.
    pub async fn lock_issue(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_locked(id, number, true, by))
    }

    pub async fn unlock_issue(&self, by: &str, repo: &str, number: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.set_locked(id, number, false, by))
    }

    /// A locked conversation takes comments of those only who may write to the repository.
    pub async fn comment(&self, author: &str, repo: &str, number: u64, body: &str) -> Result<u64, Error> {
        self.act(repo, |world, id| {
            world.may_speak(id, number, author)?;
            world.comment(id, number, author, body)
        })
    }

    /// The same by another App: `bot` is its login, as in `helper[bot]`.
    pub async fn comment_as_bot(&self, bot: &str, repo: &str, number: u64, body: &str) -> Result<u64, Error> {
        self.act(repo, |world, id| {
            world.add_user(bot, "Bot");
            world.may_speak(id, number, bot)?;
            world.comment(id, number, bot, body)
        })
    }

    /// Its author may, and whoever may write to the repository.
    pub async fn edit_comment(&self, by: &str, repo: &str, comment: u64, body: &str) -> Result<(), Error> {
        self.act(repo, |world, id| world.edit_comment(id, comment, by, body))
    }

    pub async fn delete_comment(&self, by: &str, repo: &str, comment: u64) -> Result<(), Error> {
        self.act(repo, |world, id| world.delete_comment(id, comment, by))
    }

    /// `content` as GitHub names it: `+1`, `eyes`, `rocket` and so on.
    pub async fn react_to_comment(&self, by: &str, repo: &str, comment: u64, content: &str) -> Result<(), Error> {
        self.act(repo, |world, id| {
            world.add_user(by, "User");
            world.react(id, &format!("comment/{comment}"), by, content).map(drop)
        })
    }
}
