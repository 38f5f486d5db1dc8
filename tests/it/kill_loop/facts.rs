//! What must stand on the box once everything is quiet: each effect once, and none that nobody asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use octoswarm::demo::{GitHubBox, IssueComment, Pull, Repo, ReviewComment};

/// A comment of a person that is a command.
#[derive(Debug, Clone)]
pub struct Asked {
    pub repo: String,
    pub number: u64,
    pub comment: u64,
    pub by: String,
    pub verb: &'static str,
}

/// Who may write, and who may not.
pub const WRITER: &str = "ada";
pub const STRANGER: &str = "eve";
/// How the branches of people begin.
pub const BRANCH: &str = "change-";

/// Whether the rules find something on this line; whether the check fails over it.
fn finding(line: &str) -> Option<bool> {
    if line.contains("return eval(") || line.contains("yaml.load(") {
        return Some(true);
    }
    line.contains("== None").then_some(false)
}

/// Everything that is wrong on the box.
pub fn problems(
    github: &GitHubBox,
    asked: &[Asked],
    labelled: &[(String, u64)],
    returned: &[(String, String)],
) -> Vec<String> {
    let mut problems = Vec::new();
    for repo in github.repos() {
        let name = repo.full_name();
        let facts = Facts { github, bot: github.bot_login(), name: &name, repo: &repo, returned };
        let asked: Vec<&Asked> = asked.iter().filter(|asked| asked.repo == name).collect();
        let labelled: Vec<u64> = labelled.iter().filter(|(of, _)| *of == name).map(|(_, number)| *number).collect();
        let mut found = Vec::new();
        facts.checks(&mut found);
        facts.reviews(&mut found);
        facts.conversations(&asked, &mut found);
        facts.reactions(&asked, &labelled, &mut found);
        facts.contributions(&labelled, &mut found);
        facts.commits(&mut found);
        problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
    }
    problems.extend(refused(github));
    problems
}

/// A correct client is refused nothing, but for asking whether something is there.
fn refused(github: &GitHubBox) -> Vec<String> {
    let asks = ["/contents/", "/git/ref/", "/permission"];
    let refusals = github.refusals().into_iter();
    let refusals = refusals.filter(|call| !(call.status == 404 && asks.iter().any(|ask| call.path.contains(ask))));
    refusals.map(|call| format!("the box refused {} {}: {:?}", call.method, call.path, call.refused)).collect()
}

struct Facts<'a> {
    github: &'a GitHubBox,
    bot: String,
    name: &'a str,
    repo: &'a Repo,
    /// Repository and path of each finding that came back after it was gone.
    returned: &'a [(String, String)],
}

impl Facts<'_> {
    /// One check run of ours for each head, concluded; and one for the head of each open pull request.
    fn checks(&self, problems: &mut Vec<String>) {
        let mut by_head: BTreeMap<&str, Vec<(&str, Option<&str>)>> = BTreeMap::new();
        for run in self.repo.checks.values().filter(|run| run.app_id == self.github.app_id()) {
            by_head.entry(&run.head_sha).or_default().push((&run.status, run.conclusion.as_deref()));
        }
        for (head, runs) in &by_head {
            if !matches!(runs.as_slice(), [("completed", Some(_))]) {
                problems.push(format!("the check runs of {head} are {runs:?}"));
            }
        }
        for pull in self.open() {
            let wanted = if self.findings(pull).into_values().any(|fails| fails) { "failure" } else { "success" };
            let there = by_head.get(pull.head_sha.as_str()).and_then(|runs| runs.first()).and_then(|run| run.1);
            if there != Some(wanted) {
                problems.push(format!("the check of #{} at its head says {there:?}, not {wanted}", pull.number));
            }
        }
    }

    fn open(&self) -> impl Iterator<Item = &Pull> {
        self.repo.pulls.values().filter(|pull| pull.state == "open")
    }

    /// Where the rules find something at the head of a pull request.
    fn findings(&self, pull: &Pull) -> BTreeMap<(String, u32), bool> {
        let commits = self.github.commits(self.name, &pull.head_ref);
        let main = self.github.commits(self.name, "main");
        let of_pull = commits.iter().take_while(|commit| main.iter().all(|known| known.sha != commit.sha));
        let paths: BTreeSet<&String> = of_pull.flat_map(|commit| &commit.files).collect();
        let mut findings = BTreeMap::new();
        for path in paths {
            let text = self.github.file(self.name, &pull.head_sha, path).unwrap_or_default();
            for (line, number) in text.lines().zip(1..) {
                if let Some(fails) = finding(line) {
                    findings.insert((path.clone(), number), fails);
                }
            }
        }
        findings
    }

    /// One review a head; one comment for each finding; a thread is resolved exactly where its finding is gone.
    fn reviews(&self, problems: &mut Vec<String>) {
        let mut heads = BTreeMap::<_, usize>::new();
        for review in self.repo.reviews.values().filter(|review| review.author == self.bot) {
            *heads.entry((review.pull, &review.commit_id)).or_default() += 1;
        }
        for ((pull, head), count) in heads.into_iter().filter(|(_, count)| *count > 1) {
            problems.push(format!("#{pull} has {count} reviews of {head}"));
        }
        let own = |comment: &&ReviewComment| comment.author == self.bot;
        let mut places = BTreeMap::<_, usize>::new();
        for comment in self.repo.review_comments.values().filter(own) {
            *places.entry((comment.pull, &comment.path, comment.original_line)).or_default() += 1;
        }
        for ((pull, path, line), count) in &places {
            let returns = self.returned.iter().filter(|(repo, of)| repo == self.name && of == *path).count();
            if *count > 1 + returns {
                problems.push(format!("{count} comments at {path}:{line} of #{pull}, which came back {returns} times"));
            }
        }
        for pull in self.open() {
            let wanted = self.findings(pull);
            let mut open = BTreeMap::<_, usize>::new();
            for comment in self.repo.review_comments.values().filter(own).filter(|c| c.pull == pull.number) {
                let resolved = self.repo.threads.get(&comment.thread).is_some_and(|t| t.resolved_by.is_some());
                *open.entry((comment.path.clone(), comment.original_line)).or_default() += usize::from(!resolved);
            }
            for place in open.keys().chain(wanted.keys()).collect::<BTreeSet<_>>() {
                let (there, stands) = (open.get(place).copied().unwrap_or_default(), wanted.contains_key(place));
                if there != usize::from(stands) {
                    let place = format!("{}:{} of #{}", place.0, place.1, pull.number);
                    problems.push(format!("{there} open threads at {place}; a finding is there: {stands}"));
                }
            }
        }
    }

    /// One answer for each command of who may; one refusal for who may not; nothing else.
    fn conversations(&self, asked: &[&Asked], problems: &mut Vec<String>) {
        let own: Vec<&IssueComment> = self.repo.comments.values().filter(|c| c.author == self.bot).collect();
        let mut said = BTreeMap::<(u64, String), usize>::new();
        for comment in &own {
            *said.entry((comment.number, marker(&comment.body).to_owned())).or_default() += 1;
        }
        let mut wanted = BTreeMap::<(u64, String), &Asked>::new();
        for one in asked {
            let marker = if one.by == WRITER {
                format!("answer {}/{}", self.repo.id, one.comment)
            } else {
                // The account's id stands in the middle.
                format!("refusal {}/{}/{}", self.repo.id, one.number, one.verb)
            };
            wanted.insert((one.number, marker), one);
        }
        for ((number, marker), count) in &said {
            let plain = without_actor(marker);
            if *count > 1 {
                problems.push(format!("{count} comments `{marker}` at #{number}"));
            }
            if wanted.remove(&(*number, plain)).is_none() {
                problems.push(format!("nobody asked for the comment `{marker}` at #{number}"));
            }
        }
        for ((number, marker), one) in wanted {
            problems.push(format!("no comment `{marker}` at #{number} although {} asked for `{}`", one.by, one.verb));
        }
        for comment in own.iter().filter(|comment| comment.body.contains("**Working on it:**")) {
            problems.push(format!("#{}: still being worked on, it says: {}", comment.number, comment.body));
        }
    }

    /// One reaction for each command of who may and each label, and no other.
    fn reactions(&self, asked: &[&Asked], labelled: &[u64], problems: &mut Vec<String>) {
        let commands =
            asked.iter().filter(|asked| asked.by == WRITER).map(|asked| format!("comment/{}", asked.comment));
        let mut wanted: BTreeSet<String> = commands.collect();
        wanted.extend(labelled.iter().map(|number| format!("issue/{number}")));
        let mut there = BTreeMap::<&str, usize>::new();
        for reaction in self.repo.reactions.iter().filter(|reaction| reaction.author == self.bot) {
            *there.entry(&reaction.subject).or_default() += 1;
        }
        for (subject, count) in &there {
            if !wanted.remove(*subject) || *count != 1 {
                problems.push(format!("{count} reactions to {subject}"));
            }
        }
        problems.extend(wanted.into_iter().map(|subject| format!("no reaction to {subject}")));
    }

    /// One pull request for each issue, one branch for each pull request, one commit on each branch, pushed once.
    fn contributions(&self, labelled: &[u64], problems: &mut Vec<String>) {
        let own: Vec<&Pull> = self.repo.pulls.values().filter(|pull| pull.author == self.bot).collect();
        for issue in labelled {
            let closes = format!("Fixes #{issue}");
            let of_it = own.iter().filter(|pull| {
                let body = pull.body.as_deref().unwrap_or_default();
                body.lines().any(|line| line.trim_end_matches('.').trim() == closes)
            });
            let count = of_it.count();
            if count != 1 {
                problems.push(format!("{count} pull requests for #{issue}"));
            }
        }
        if own.len() != labelled.len() {
            problems.push(format!("{} pull requests of ours for {} issues", own.len(), labelled.len()));
        }
        let heads: BTreeSet<String> = own.iter().map(|pull| pull.head_ref.clone()).collect();
        let branches = self.github.branches(self.name).into_keys();
        let branches: BTreeSet<String> = branches.filter(|name| name != "main" && !name.starts_with(BRANCH)).collect();
        if heads != branches {
            problems.push(format!("branches {branches:?}, but pull requests from {heads:?}"));
        }
        for head in &heads {
            let text = self.github.file(self.name, head, "src/a.py").unwrap_or_default();
            if !text.contains("yaml.safe_load(") {
                problems.push(format!("the branch {head} does not hold the change"));
            }
            let pushes = self.pushes(head);
            if pushes != 1 {
                problems.push(format!("{pushes} pushes to {head}"));
            }
        }
    }

    fn pushes(&self, branch: &str) -> usize {
        let reference = format!("refs/heads/{branch}");
        let ours = |push: &&octoswarm::demo::Push| {
            push.repo == self.name && push.by == self.bot && push.reference == reference && push.refused.is_none()
        };
        self.github.pushes().iter().filter(ours).count()
    }

    /// A task has one commit, which was pushed once.
    fn commits(&self, problems: &mut Vec<String>) {
        for branch in self.github.branches(self.name).into_keys() {
            let mut tasks = BTreeMap::<String, usize>::new();
            for commit in self.github.commits(self.name, &branch) {
                if let Some(task) = commit.message.lines().find(|line| line.starts_with("Octoswarm-Task:")) {
                    *tasks.entry(task.to_owned()).or_default() += 1;
                }
            }
            let (commits, pushes) = (tasks.values().sum::<usize>(), self.pushes(&branch));
            if tasks.values().any(|count| *count > 1) || commits != pushes {
                problems.push(format!("{branch} holds {tasks:?}, and was pushed to {pushes} times"));
            }
        }
    }
}

/// What our comment says at its end that it is about.
fn marker(body: &str) -> &str {
    let last = body.trim_end().rsplit('\n').next().unwrap_or_default();
    last.strip_prefix("<!-- octoswarm:v1 ").and_then(|rest| rest.strip_suffix(" -->")).unwrap_or("without a marker")
}

fn without_actor(marker: &str) -> String {
    let parts: Vec<&str> = marker.split('/').collect();
    match parts.as_slice() {
        [kind, number, _actor, verb] if kind.starts_with("refusal") => format!("{kind}/{number}/{verb}"),
        _ => marker.to_owned(),
    }
}

/// Files that no part of the state is made of: what a killed process left and nobody cleared away.
pub fn litter(state: &Path, runs: &BTreeSet<String>) -> Vec<String> {
    let mut litter = Vec::new();
    for path in files(state) {
        let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
        let fits = match parts.as_slice() {
            [file] => ["octoswarm.db", "octoswarm.db-wal", "octoswarm.db-shm", "octoswarm.lock", "node"].contains(file),
            ["runs", run, file] => runs.contains(*run) && file.ends_with(".json"),
            ["swarms", _, file] | ["swarms", _, "cycles", _, file] => file.ends_with(".json"),
            ["swarms", _, "agentd", "changes", _, file @ ..]
            | ["swarms", _, "cycles", _, "agentd", "changes", _, file @ ..] => {
                file == ["STATE.yaml"] || matches!(file, [.., last] if last.ends_with(".md") && !last.starts_with('.'))
            }
            // Nothing waits, and nothing has failed; what was half written when it was killed goes with a sweep, by its age.
            ["messages", "processed", file] | ["messages", "outbox", _, file] => {
                file.ends_with(".json") || file.ends_with(".tmp")
            }
            ["messages", "inbox", _, file] => file.ends_with(".tmp"),
            ["mirrors", file] => file.ends_with(".lock"),
            ["mirrors", _, _, inside @ ..] => {
                let last = inside.last().copied().unwrap_or_default();
                !last.ends_with(".lock")
                    && !last.contains("tmp")
                    && !last.contains("unfinished")
                    && (!inside.contains(&"pack") || last.starts_with("pack-"))
            }
            _ => false,
        };
        if !fits {
            litter.push(format!("left behind: {}", path.display()));
        }
    }
    litter
}

fn files(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(folder).unwrap().flatten() {
            if item.file_type().unwrap().is_dir() {
                folders.push(item.path());
            } else {
                files.push(item.path().strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    files
}
