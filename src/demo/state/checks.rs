//! Check suites and check runs.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Annotation, CheckRun, CheckSuite, Level, World};
use crate::demo::refusal::Refusal;
use crate::demo::shape;

/// What a client may set on a check run; creation asks for `name` and `head_sha` on top.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckChange {
    pub name: Option<String>,
    pub head_sha: Option<String>,
    pub details_url: Option<String>,
    pub external_id: Option<String>,
    pub status: Option<String>,
    pub started_at: Option<String>,
    pub conclusion: Option<String>,
    pub completed_at: Option<String>,
    pub output: Option<OutputChange>,
    #[serde(default)]
    pub actions: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputChange {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    #[serde(default)]
    pub annotations: Vec<AnnotationChange>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnotationChange {
    path: String,
    start_line: u32,
    end_line: u32,
    start_column: Option<u32>,
    end_column: Option<u32>,
    annotation_level: String,
    message: String,
    title: Option<String>,
    raw_details: Option<String>,
}

const STATUSES: [&str; 3] = ["queued", "in_progress", "completed"];
const CONCLUSIONS: [&str; 7] =
    ["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required"];

/// Between the App's id and that of somebody else's.
const OTHER_APP: u64 = 7_000_000;
/// Who that other App is when it acts.
const OTHERS: &str = "somebody-elses-ci[bot]";

fn wrong(field: &str, message: impl Into<String>) -> Refusal {
    Refusal::invalid("CheckRun", field, "invalid", message)
}

impl World {
    pub fn check(&self, repo: u64, id: u64) -> Result<&CheckRun, Refusal> {
        self.repo(repo)?.checks.get(&id).ok_or_else(Refusal::not_found)
    }

    /// A check run of the App itself.
    pub fn create_check(&mut self, repo: u64, new: CheckChange) -> Result<u64, Refusal> {
        self.check_of(self.app_id, repo, new)
    }

    fn check_of(&mut self, app_id: u64, repo: u64, mut new: CheckChange) -> Result<u64, Refusal> {
        let name = new.name.take().ok_or_else(|| wrong("name", "name is missing"))?;
        let head_sha = new.head_sha.take().ok_or_else(|| wrong("head_sha", "head_sha is missing"))?;
        let known = head_sha.len() == 40
            && git2::Oid::from_str(&head_sha)
                .is_ok_and(|oid| self.git(repo).is_ok_and(|git| git.find_commit(oid).is_ok()));
        if !known {
            return Err(Refusal::new(422, format!("No commit found for SHA: {head_sha}")));
        }
        let suite = self.suite(app_id, repo, &head_sha, None, None)?;
        let (id, by) = (self.id(), self.bot_of(app_id));
        let mut run = CheckRun {
            id,
            suite,
            app_id,
            name,
            head_sha,
            status: "queued".to_owned(),
            conclusion: None,
            external_id: None,
            details_url: None,
            started_at: None,
            completed_at: None,
            title: None,
            summary: None,
            text: None,
            annotations: Vec::new(),
            actions: Vec::new(),
        };
        change(&mut run, new, &shape::time(self.now()))?;
        let done = run.status == "completed";
        self.repo_mut(repo)?.checks.insert(id, run);
        self.check_event(repo, id, "created", &by)?;
        if done {
            self.check_event(repo, id, "completed", &by)?;
            self.suite_completed(repo, suite)?;
        }
        Ok(id)
    }

    fn bot_of(&mut self, app_id: u64) -> String {
        if app_id == self.app_id {
            return self.bot();
        }
        self.add_user(OTHERS, "Bot");
        OTHERS.to_owned()
    }

    pub fn update_check(&mut self, repo: u64, id: u64, new: CheckChange) -> Result<(), Refusal> {
        let run = self.check(repo, id)?.clone();
        if run.app_id != self.app_id {
            return Err(Refusal::new(
                403,
                "Invalid app_id `app_id` - check run can only be modified by the GitHub App that created it.",
            ));
        }
        self.change_check(repo, run, new)
    }

    fn change_check(&mut self, repo: u64, mut run: CheckRun, new: CheckChange) -> Result<(), Refusal> {
        if new.head_sha.is_some() {
            return Err(wrong("head_sha", "head_sha cannot be changed"));
        }
        let was_done = run.status == "completed";
        change(&mut run, new, &shape::time(self.now()))?;
        let done = run.status == "completed" && !was_done;
        let (id, suite, by) = (run.id, run.suite, self.bot_of(run.app_id));
        self.repo_mut(repo)?.checks.insert(id, run);
        if done {
            self.check_event(repo, id, "completed", &by)?;
            self.suite_completed(repo, suite)?;
        }
        Ok(())
    }

    /// A check run of somebody else's App, as every repository has.
    pub fn foreign_check(&mut self, repo: u64, head_sha: &str, name: &str) -> Result<u64, Refusal> {
        let change =
            CheckChange { name: Some(name.to_owned()), head_sha: Some(head_sha.to_owned()), ..CheckChange::default() };
        self.check_of(self.app_id + OTHER_APP, repo, change)
    }

    /// That App's run comes to its end.
    pub fn complete_foreign_check(&mut self, repo: u64, id: u64, conclusion: &str) -> Result<(), Refusal> {
        let run = self.check(repo, id)?.clone();
        if run.app_id == self.app_id {
            return Err(Refusal::unprocessable("the run is the App's own"));
        }
        let completed = CheckChange {
            status: Some("completed".to_owned()),
            conclusion: Some(conclusion.to_owned()),
            ..CheckChange::default()
        };
        self.change_check(repo, run, completed)
    }

    pub fn check_event(&mut self, repo: u64, id: u64, action: &str, sender: &str) -> Result<(), Refusal> {
        let extra = json!({"check_run": shape::check_run(self, repo, id)?});
        if action == "rerequested" {
            // GitHub sends these to the App that owns the run, whether it subscribed or not.
            let ours = self.check(repo, id)?.app_id == self.app_id;
            if ours && self.covers(repo) && self.app_permissions().get("checks") >= Some(&Level::Write) {
                self.emit_always("check_run", Some(action), Some(repo), sender, extra);
            }
        } else {
            self.emit("check_run", Some(action), repo, sender, extra);
        }
        Ok(())
    }

    pub fn suite_event(&mut self, repo: u64, suite: u64, action: &str, sender: &str) -> Result<(), Refusal> {
        if self.covers(repo) && self.app_permissions().get("checks") >= Some(&Level::Write) {
            let extra = json!({"check_suite": shape::check_suite(self, repo, suite)?});
            self.emit_always("check_suite", Some(action), Some(repo), sender, extra);
        }
        Ok(())
    }

    /// Once all runs of a suite are completed, every App that listens is told, whichever App's suite it is.
    fn suite_completed(&mut self, repo: u64, suite: u64) -> Result<(), Refusal> {
        let r = self.repo(repo)?;
        if r.checks.values().any(|run| run.suite == suite && run.status != "completed") {
            return Ok(());
        }
        let found = r.suites.get(&suite).ok_or_else(Refusal::not_found)?;
        let (by, app_id) = (found.pushed_by.clone(), found.app_id);
        let by = by.unwrap_or_else(|| self.bot_of(app_id));
        let extra = json!({"check_suite": shape::check_suite(self, repo, suite)?});
        self.emit("check_suite", Some("completed"), repo, &by, extra);
        Ok(())
    }

    /// GitHub opens one suite per App and commit.
    fn suite(
        &mut self,
        app_id: u64,
        repo: u64,
        sha: &str,
        branch: Option<String>,
        before: Option<String>,
    ) -> Result<u64, Refusal> {
        let of_commit = |suite: &&CheckSuite| suite.head_sha == sha;
        let suites = &self.repo(repo)?.suites;
        if let Some(suite) = suites.values().find(|suite| of_commit(suite) && suite.app_id == app_id) {
            return Ok(suite.id);
        }
        // The push is the same for all of them.
        let beside = suites.values().find(of_commit).cloned();
        let pushed_by = beside.as_ref().and_then(|suite| suite.pushed_by.clone());
        let head_branch = branch.or_else(|| beside.as_ref().and_then(|suite| suite.head_branch.clone()));
        let before = before.or_else(|| beside.and_then(|suite| suite.before));
        let (id, created_at) = (self.id(), self.now());
        let suite = CheckSuite { id, app_id, pushed_by, head_sha: sha.to_owned(), head_branch, before, created_at };
        self.repo_mut(repo)?.suites.insert(id, suite);
        Ok(id)
    }

    pub fn suite_for_push(
        &mut self,
        repo: u64,
        sha: &str,
        branch: &str,
        before: Option<&str>,
        sender: &str,
    ) -> Result<(), Refusal> {
        let (ours, suites) = (self.app_id, &self.repo(repo)?.suites);
        let known = suites.values().any(|suite| suite.head_sha == sha && suite.app_id == ours);
        let suite = self.suite(ours, repo, sha, Some(branch.to_owned()), before.map(str::to_owned))?;
        if let Some(suite) = self.repo_mut(repo)?.suites.get_mut(&suite) {
            suite.pushed_by.get_or_insert_with(|| sender.to_owned());
        }
        if !known && self.manifest.default_events.iter().any(|e| e == "check_suite") {
            self.suite_event(repo, suite, "requested", sender)?;
        }
        Ok(())
    }
}

fn change(run: &mut CheckRun, new: CheckChange, now: &str) -> Result<(), Refusal> {
    if let Some(status) = &new.status
        && !STATUSES.contains(&status.as_str())
    {
        return Err(wrong("status", format!("status `{status}` is not a member of {STATUSES:?}")));
    }
    if let Some(conclusion) = &new.conclusion
        && !CONCLUSIONS.contains(&conclusion.as_str())
    {
        return Err(wrong("conclusion", format!("conclusion `{conclusion}` is not a member of {CONCLUSIONS:?}")));
    }
    if new.conclusion.is_some() && new.status.as_deref().is_some_and(|status| status != "completed") {
        return Err(wrong("conclusion", "a conclusion needs the status `completed`"));
    }
    let completes = new.status.as_deref() == Some("completed");
    if completes && new.conclusion.is_none() && run.conclusion.is_none() {
        return Err(wrong("conclusion", "the status `completed` needs a conclusion"));
    }
    for (field, time) in [("started_at", &new.started_at), ("completed_at", &new.completed_at)] {
        if let Some(time) = time
            && chrono::DateTime::parse_from_rfc3339(time).is_err()
        {
            return Err(wrong(field, format!("`{time}` is not a time in ISO 8601")));
        }
    }
    if new.actions.len() > 3 {
        return Err(wrong("actions", "at most 3 actions are allowed"));
    }
    if let Some(output) = new.output {
        set_output(run, output)?;
    }
    if let Some(name) = new.name {
        run.name = name;
    }
    if completes || new.conclusion.is_some() {
        "completed".clone_into(&mut run.status);
        run.completed_at = Some(new.completed_at.unwrap_or_else(|| now.to_owned()));
        run.conclusion = new.conclusion.or(run.conclusion.take());
    } else if let Some(status) = new.status {
        run.status = status;
        run.conclusion = None;
        run.completed_at = None;
    }
    run.started_at = new.started_at.or(run.started_at.take()).or_else(|| Some(now.to_owned()));
    run.external_id = new.external_id.or(run.external_id.take());
    run.details_url = new.details_url.or(run.details_url.take());
    if !new.actions.is_empty() {
        run.actions = new.actions;
    }
    Ok(())
}

fn set_output(run: &mut CheckRun, output: OutputChange) -> Result<(), Refusal> {
    if output.title.is_none() && run.title.is_none() {
        return Err(wrong("output.title", "title is missing"));
    }
    let summary = output.summary.ok_or_else(|| wrong("output.summary", "summary is missing"))?;
    for (field, text) in [("output.summary", Some(&summary)), ("output.text", output.text.as_ref())] {
        if text.is_some_and(|text| text.chars().count() > 65_535) {
            return Err(wrong(field, format!("{field} exceeds a maximum length of 65535 characters")));
        }
    }
    if output.annotations.len() > 50 {
        return Err(wrong("output.annotations", "at most 50 annotations are allowed in one request"));
    }
    for new in &output.annotations {
        if new.end_line < new.start_line || new.start_line == 0 {
            return Err(wrong("output.annotations", format!("{}: end_line precedes start_line", new.path)));
        }
        if (new.start_column.is_some() || new.end_column.is_some()) && new.start_line != new.end_line {
            return Err(wrong("output.annotations", "columns are allowed on a single line only"));
        }
        if !["notice", "warning", "failure"].contains(&new.annotation_level.as_str()) {
            return Err(wrong("output.annotations", format!("annotation_level `{}` is unknown", new.annotation_level)));
        }
        if new.message.len() > 65_536 {
            return Err(wrong("output.annotations", "message exceeds 64 KB"));
        }
    }
    run.title = output.title.or(run.title.take());
    run.summary = Some(summary);
    run.text = output.text.or(run.text.take());
    // A later request appends: that is how more than 50 annotations are sent.
    run.annotations.extend(output.annotations.into_iter().map(|new| Annotation {
        path: new.path,
        start_line: new.start_line,
        end_line: new.end_line,
        start_column: new.start_column,
        end_column: new.end_column,
        annotation_level: new.annotation_level,
        message: new.message,
        title: new.title,
        raw_details: new.raw_details,
    }));
    Ok(())
}
