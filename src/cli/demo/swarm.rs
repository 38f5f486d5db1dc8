//! The second half of the story: issues that become pull requests, commands, and outages that heal.

use anyhow::Context;

use super::story::{Checks, PATIENCE, REPO, Story};
use super::tree;
use crate::demo::{Fault, IssueComment, OpenPull, Pull};

/// The label that asks for work.
const LABEL: &str = "swarm";

impl Story {
    pub(super) async fn tell_of_issues(&mut self) -> anyhow::Result<()> {
        self.scenario("labelled-issue", "mona labels an issue `swarm`: unsafe YAML loading in several files")?;
        let checks = self.labelled_issue().await;
        self.outcome(checks).await?;

        self.scenario("labelled-again", "the label is set again, and its first delivery comes a second time")?;
        let checks = self.labelled_again().await;
        self.outcome(checks).await?;

        self.scenario("fix-command", "a stranger comments `/swarm fix` on mona's pull request, then mona does")?;
        let checks = self.fix_command().await;
        self.outcome(checks).await?;

        self.scenario("unsolvable", "mona labels an issue that no mechanic can solve")?;
        let checks = self.unsolvable().await;
        self.outcome(checks).await?;

        self.scenario("server-down", "the server is down while mona opens a pull request and labels an issue")?;
        let checks = self.server_down().await;
        self.outcome(checks).await?;

        self.scenario(
            "killed-twice",
            "SIGKILL after the push took effect, and again after the pull request did, before either is recorded",
        )?;
        let checks = self.killed_twice().await;
        self.outcome(checks).await?;

        self.scenario("merged", "mona approves and merges what the App has opened for her issue")?;
        let checks = self.merged().await;
        self.outcome(checks).await
    }

    async fn labelled_issue(&mut self) -> anyhow::Result<Checks> {
        let number = self.labelled("unsafe-yaml").await?;
        self.settle().await?;
        let mut checks = Checks::default();
        let pulls = self.own_pulls();
        checks.that(pulls.len() == 1, format!("there should be one pull request of the App's, not {}", pulls.len()));
        let pull = pulls.first().context("the App opened no pull request")?;
        let body = pull.body.clone().unwrap_or_default();
        checks.that(body.contains(&format!("Fixes #{number}")), "it should link the issue");
        checks.that(body.contains("not checked"), "it should say what was not checked");
        for path in ["api/settings.py", "tools/import_prices.py", "tools/nightly.py"] {
            let text = self.text_at(pull, path)?;
            checks.that(!text.contains("yaml.load"), format!("{path} should load safely"));
            checks.that(text.contains("yaml.safe_load"), format!("{path} should use the safe loader"));
        }
        let seen = self.github().reactions(REPO).iter().any(|r| r.subject == format!("issue/{number}"));
        checks.that(seen, "the issue should carry a reaction");
        checks.that(self.said(number).is_empty(), "the pull request should speak for itself");
        Ok(checks)
    }

    async fn labelled_again(&mut self) -> anyhow::Result<Checks> {
        let labeled = self.github().deliveries().into_iter().find(|d| d.action.as_deref() == Some("labeled"));
        let labeled = labeled.context("the delivery of the label")?;
        let number = self.issue_of(&labeled.payload)?;
        self.people().redeliver(&labeled.guid).await?;
        self.people().unlabel("mona", REPO, number, LABEL).await?;
        self.people().label("mona", REPO, number, LABEL).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        checks.that(self.own_pulls().len() == 1, "there should be no second pull request");
        checks.that(self.said(number).is_empty(), "nothing should have been said");
        Ok(checks)
    }

    async fn fix_command(&mut self) -> anyhow::Result<Checks> {
        let pull = OpenPull::new("mona", "stock", "Count the stock", tree::change("mechanical"));
        let number = self.people().open_pull(REPO, pull).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        let head = |story: &Self| story.github().pull(REPO, number).map(|pull| pull.head_sha).unwrap_or_default();
        let before = head(self);
        for _ in 0..2 {
            self.people().comment("hubot-fan", REPO, number, "/swarm fix").await?;
            self.settle().await?;
        }
        checks.that(head(self) == before, "a stranger's command should change nothing");
        checks.that(self.said(number).len() == 1, "a stranger should be refused once");
        self.people().comment("mona", REPO, number, "/swarm fix").await?;
        self.settle().await?;
        let after = head(self);
        let commits = self.github().commits(REPO, "stock");
        let first = commits.first().map(|commit| (commit.sha.clone(), commit.parents.clone()));
        checks.that(first == Some((after.clone(), vec![before])), "one commit should have been added");
        let pull = self.github().pull(REPO, number).context("the pull request")?;
        let text = self.text_at(&pull, "tools/stock.py")?;
        checks.that(
            text.contains("if items is None:") && !text.contains("breakpoint"),
            "the commit should hold all mechanical fixes",
        );
        checks.that(self.said(number).len() == 2, "the command should have one answer");
        self.expect_check(&mut checks, number, "success");
        Ok(checks)
    }

    async fn unsolvable(&mut self) -> anyhow::Result<Checks> {
        let before = self.own_pulls().len();
        let number = self.labelled("chart").await?;
        self.settle().await?;
        let mut checks = Checks::default();
        checks.that(self.own_pulls().len() == before, "no pull request should have been opened");
        checks.that(self.said(number).len() == 1, "there should be one comment");
        Ok(checks)
    }

    async fn server_down(&mut self) -> anyhow::Result<Checks> {
        self.kill().await?;
        let pull = OpenPull::new("mona", "health", "Watch the shop's health", tree::change("clean"));
        let number = self.people().open_pull(REPO, pull).await?;
        let before = self.own_pulls().len();
        self.labelled("typo").await?;
        self.github().deliveries_settled().await;
        self.restart("  started again: what was missed is in the App's delivery log").await?;
        self.until("the pull request is reviewed", |story| story.check_conclusions(number) == ["success"]).await?;
        self.until("the issue has its pull request", |story| story.own_pulls().len() == before + 1).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        let opened = self.own_pulls();
        checks.that(opened.len() == before + 1, "there should be one more pull request of the App's");
        let text = self.text_at(opened.last().context("the App's pull request")?, "docs/orders.md")?;
        checks.that(!text.contains("recieve") && text.matches("receive").count() == 2, "both words should be right");
        Ok(checks)
    }

    async fn killed_twice(&mut self) -> anyhow::Result<Checks> {
        let (before, branches) = (self.own_pulls().len(), self.github().branches(REPO).len());
        for (path, told) in [
            ("/git-receive-pack", "  the box has taken the push and withholds the answer: SIGKILL"),
            ("/pulls", "  the box has opened the pull request and withholds the answer: SIGKILL"),
        ] {
            self.github().fail_next(Fault::withhold("POST", path));
            if path == "/git-receive-pack" {
                self.labelled("rounding").await?;
            } else {
                self.restart("  started again on the same state").await?;
            }
            tokio::time::timeout(PATIENCE, self.github().wait_withheld())
                .await
                .with_context(|| format!("the server never sent POST {path}"))?;
            self.kill().await?;
            self.say(told);
            self.github().release_withheld();
        }
        self.restart("  started again on the same state").await?;
        self.settle().await?;
        let mut checks = Checks::default();
        checks.that(self.github().branches(REPO).len() == branches + 1, "there should be one branch more");
        checks.that(self.own_pulls().len() == before + 1, "there should be one pull request more");
        let own = self.own_pulls();
        let text = self.text_at(own.last().context("the App's pull request")?, "core/src/price.rs")?;
        checks.that(text.contains("(net * tax_percent + 50) / 100"), "the patch should be in it");
        Ok(checks)
    }

    async fn merged(&mut self) -> anyhow::Result<Checks> {
        let number = self.own_pulls().last().context("the App's pull request")?.number;
        let before = self.said(number).len();
        self.people().ready_for_review("mona", REPO, number).await?;
        self.people().review("mona", REPO, number, "APPROVE", "").await?;
        let commit = self.people().merge_pull("mona", REPO, number).await?;
        self.settle().await?;
        let mut checks = Checks::default();
        let activity = self.document("review-activity.json")?;
        let outcome = &activity["final_outcome"];
        checks.that(activity["pr"]["number"] == number, "the pull request should be followed");
        checks.that(
            outcome["result"] == "merged" && outcome["merged_by"] == "mona" && outcome["merge_commit"] == commit,
            format!("the outcome should be the merge, not {outcome}"),
        );
        checks.that(activity["current_status"]["approvals"] == 1, "her approval should be counted");
        checks.that(self.document("swarm-status.json")?["stats"]["prs_merged"] == 1, "the merge should be counted");
        checks.that(self.said(number).len() == before, "nothing should have been said");
        Ok(checks)
    }

    /// What the server keeps of the repository's current cycle.
    fn document(&self, name: &str) -> anyhow::Result<serde_json::Value> {
        let path = self.state().join("swarms").join(REPO.replace('/', "__")).join(name);
        let text = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Opens one of the prepared issues and labels it.
    async fn labelled(&mut self, issue: &str) -> anyhow::Result<u64> {
        let text = tree::text("issues", &format!("{issue}.md"))?;
        let (title, body) = text.split_once('\n').context("an issue has a title and a body")?;
        let number = self.people().open_issue("mona", REPO, title, body.trim()).await?;
        self.people().label("mona", REPO, number, LABEL).await?;
        Ok(number)
    }

    fn issue_of(&self, payload: &str) -> anyhow::Result<u64> {
        let payload: serde_json::Value = serde_json::from_str(payload)?;
        payload.pointer("/issue/number").and_then(serde_json::Value::as_u64).context("the payload names its issue")
    }

    /// The pull requests that the App opened, oldest first.
    fn own_pulls(&self) -> Vec<Pull> {
        let bot = self.github().bot_login();
        let mut pulls: Vec<Pull> = self.github().pulls(REPO).into_iter().filter(|pull| pull.author == bot).collect();
        pulls.sort_by_key(|pull| pull.number);
        pulls
    }

    /// What the App said in a conversation.
    pub(super) fn said(&self, number: u64) -> Vec<IssueComment> {
        let bot = self.github().bot_login();
        self.github().comments(REPO, number).into_iter().filter(|comment| comment.author == bot).collect()
    }

    fn text_at(&self, pull: &Pull, path: &str) -> anyhow::Result<String> {
        self.github().file(REPO, &pull.head_sha, path).with_context(|| format!("{path} is not there"))
    }
}
