//! Which of many open issues to work on when nobody has chosen one. Pure: the same listing is always ranked the same way.
//!
//! For an issue that a person labelled nearly everything only scores. Here nobody has looked, so what speaks against an issue
//! leaves it out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::brief::{self, Brief};
use super::scout;
use super::triage::{self, Glance, Point};
use super::words;
use crate::agent::mechanic::{self, Ask};
use crate::analysis::Engine;
use crate::artifact::exchange::AgentError;
use crate::artifact::facts::{LinkedPull, RepositoryFacts, Swept};
use crate::artifact::swarm::{Alternative, CurrentIssue, Difficulty, Kind, SearchStats};
use crate::artifact::{Content, Document};
use crate::domain::Untrusted;
use crate::stdx::text::count;

/// The limits of the requirements (2b): characters of a body, comments, age in days, score.
const SHORTEST_BODY: usize = 100;
const LONGEST_BODY: usize = 5_000;
const MOST_COMMENTS: u64 = 5;
const YOUNGEST: i64 = 1;
const OLDEST: i64 = 60;
const LOWEST_SCORE: u32 = 60;

const MAX_TITLE: usize = 300;
const MAX_URL: usize = 2_000;
/// Other issues that a document names; its numbers count all of them.
pub const MOST_ALTERNATIVES: usize = 50;

/// An open issue as a listing shows it. What the listing does not tell is `None`, and held against nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub number: u64,
    pub url: String,
    pub title: Untrusted,
    pub body: Untrusted,
    pub labels: Vec<String>,
    /// ISO 8601.
    pub created_at: String,
    pub comments: u64,
    /// Logins.
    pub assignees: Vec<String>,
    pub open: bool,
    pub is_pull: bool,
    pub locked: Option<bool>,
    /// Open pull requests that address it.
    pub linked: Option<Vec<LinkedPull>>,
}

/// Why an issue is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// A word for programs, such as `assigned`.
    pub code: &'static str,
    /// A sentence about the issue, without its subject and full stop.
    pub why: String,
}

/// How likely a mechanic carries out what the text asks for, without a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chance {
    /// It holds no form that a mechanic knows.
    None,
    /// It holds one, and something beside it that is not clear.
    Some,
    /// All that it asks for has such a form.
    Good,
}

/// An issue with its place's reasons.
#[derive(Debug, Clone)]
pub struct Ranked {
    pub issue: Listed,
    /// One line, without secrets.
    pub title: String,
    /// 0 to 100; every issue begins with 60.
    pub score: u32,
    pub points: Vec<Point>,
    /// None of them: it may be taken up.
    pub obstacles: Vec<Obstacle>,
    pub chance: Chance,
    /// What a mechanic would do, as a sentence without a full stop.
    pub plan: Option<String>,
    pub kind: Kind,
    pub difficulty: Difficulty,
}

impl Ranked {
    pub fn is_eligible(&self) -> bool {
        self.obstacles.is_empty()
    }
}

/// The best first: who may be taken up before who may not, then by what a mechanic can do, by score, and by how long they wait.
/// `labels`: an issue has to carry one of them; none asks for none. `now` is in milliseconds since the epoch.
pub fn rank(engine: &Engine, issues: Vec<Listed>, labels: &[String], now: i64) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = issues.into_iter().map(|issue| judge(engine, issue, labels, now)).collect();
    sort(&mut ranked);
    // A listing that grows while it is read shows an issue twice.
    let mut seen = std::collections::BTreeSet::new();
    ranked.retain(|one| seen.insert(one.issue.number));
    ranked
}

/// Notes what was learned about the pull requests of one of them since.
pub fn learned(ranked: &mut [Ranked], number: u64, linked: Vec<LinkedPull>) {
    if let Some(one) = ranked.iter_mut().find(|one| one.issue.number == number) {
        one.obstacles.extend(addressed(&linked));
        one.issue.linked = Some(linked);
    }
    sort(ranked);
}

/// Notes another reason to leave one of them out.
pub fn left_out(ranked: &mut [Ranked], number: u64, code: &'static str, why: String) {
    if let Some(one) = ranked.iter_mut().find(|one| one.issue.number == number) {
        one.obstacles.push(Obstacle { code, why });
    }
    sort(ranked);
}

fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| {
        let key = |one: &Ranked| (Reverse(one.is_eligible()), Reverse(one.chance), Reverse(one.score));
        key(a)
            .cmp(&key(b))
            .then_with(|| a.issue.created_at.cmp(&b.issue.created_at))
            .then_with(|| a.issue.number.cmp(&b.issue.number))
    });
}

fn judge(engine: &Engine, issue: Listed, labels: &[String], now: i64) -> Ranked {
    let brief = Brief::read(issue.title.open(), issue.body.open());
    let glance =
        Glance { title: &brief.title, labels: &issue.labels, comments: issue.comments, created_at: &issue.created_at };
    let mut points = triage::score(&glance, now).parts;
    let kind = triage::kind(&issue.labels, &brief);
    let difficulty = triage::difficulty(&issue.labels, kind, &brief, None);
    let (chance, plan) = chance(engine, &issue);
    let mut count = |by: i32, why: &str| points.push(Point { by, why: why.to_owned() });
    match chance {
        Chance::Good => count(25, "a mechanic can carry it out"),
        Chance::Some => count(10, "a mechanic can carry out a part of it"),
        Chance::None => {}
    }
    match difficulty {
        Difficulty::Trivial => count(5, "looks trivial"),
        Difficulty::Easy => {}
        Difficulty::Medium => count(-5, "looks larger"),
    }
    let length = issue.body.open().trim().chars().count();
    if (SHORTEST_BODY..=LONGEST_BODY).contains(&length) {
        count(5, "a text of a fitting length");
    }
    if brief.title.trim_end().ends_with('?') {
        count(-10, "its title asks a question");
    }
    let score = triage::sum(&points);
    let mut ranked = Ranked {
        title: words::line(&brief.title, MAX_TITLE),
        score,
        points,
        obstacles: Vec::new(),
        chance,
        plan,
        kind,
        difficulty,
        issue,
    };
    ranked.obstacles = obstacles(&ranked, length, labels, now);
    ranked
}

/// Every reason, so that who mends one does not meet the next.
fn obstacles(ranked: &Ranked, length: usize, wanted: &[String], now: i64) -> Vec<Obstacle> {
    let issue = &ranked.issue;
    let mut obstacles = Vec::new();
    let mut not = |code: &'static str, why: String| obstacles.push(Obstacle { code, why });
    if issue.is_pull {
        not("pull-request", "it is a pull request".to_owned());
    }
    if !issue.open {
        not("closed", "it is closed".to_owned());
    }
    if issue.locked == Some(true) {
        not("locked", "its conversation is locked".to_owned());
    }
    let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
    if !wanted.is_empty() && !issue.labels.iter().any(|label| wanted.iter().any(|want| same(label, want))) {
        not("label", "it carries none of the labels that were asked for".to_owned());
    }
    if let Some(label) = triage::excluding(&issue.labels) {
        not("excluded-label", format!("it is labelled \"{}\"", words::line(label, 50)));
    }
    if let Some(what) = triage::risky(&ranked.title) {
        not("avoided", format!("it is about {what}, which a person should weigh first"));
    }
    if let Some(login) = issue.assignees.first() {
        not("assigned", format!("{} works on it", words::line(login, 60)));
    }
    if issue.comments > MOST_COMMENTS {
        not("discussed", format!("it has {} comments, more than {MOST_COMMENTS}", issue.comments));
    }
    match triage::age_in_days(&issue.created_at, now) {
        Some(days) if days < YOUNGEST => not("young", "it is younger than a day".to_owned()),
        Some(days) if days > OLDEST => not("old", format!("it is {days} days old, more than {OLDEST}")),
        Some(_) => {}
        None => not("undated", "when it was written cannot be read".to_owned()),
    }
    // A short text is one that says too little: a mechanic has understood all of this one.
    if length < SHORTEST_BODY && ranked.chance != Chance::Good {
        not("short", format!("its text has {length} characters, fewer than {SHORTEST_BODY}"));
    }
    if length > LONGEST_BODY {
        not("long", format!("its text has {length} characters, more than {LONGEST_BODY}"));
    }
    if ranked.score < LOWEST_SCORE {
        not("score", format!("its score is {}, below {LOWEST_SCORE}", ranked.score));
    }
    obstacles.extend(issue.linked.as_deref().and_then(addressed));
    obstacles
}

fn addressed(linked: &[LinkedPull]) -> Option<Obstacle> {
    let first = linked.iter().min_by_key(|pull| pull.number)?;
    let why = format!("pull request #{} by {} addresses it", first.number, words::line(&first.author, 60));
    Some(Obstacle { code: "already-addressed", why })
}

fn chance(engine: &Engine, issue: &Listed) -> (Chance, Option<String>) {
    let understood = mechanic::understand(issue.title.open(), issue.body.open());
    if !understood.is_actionable() {
        return (Chance::None, None);
    }
    let plan = |ask: &Ask| match ask {
        Ask::Patch(_) | Ask::Replace(_) | Ask::Add(_) => Some(ask.describe()),
        Ask::Repair(defect) => {
            mechanic::rule_of(engine, defect).map(|rule| format!("Repair what the rule `{}` finds", rule.0))
        }
    };
    let mut plans = understood.asks.iter().filter_map(plan);
    let Some(first) = plans.next() else { return (Chance::None, None) };
    let all = 1 + plans.count() == understood.asks.len() && understood.unclear.is_empty();
    let (plan, _) = brief::redacted(&words::line(&first, 200));
    (if all { Chance::Good } else { Chance::Some }, Some(plan))
}

/// What the search came to, in true numbers.
pub fn stats(ranked: &[Ranked]) -> SearchStats {
    let (total, eligible) = (ranked.len() as u64, ranked.iter().filter(|one| one.is_eligible()).count() as u64);
    SearchStats { total_searched: total, filtered_out: total - eligible, candidates_found: eligible }
}

/// The scout's document (S2.11): the best issue, why the next ones are not it, and what was searched. Failed, with every
/// reason and how often it was met, when none may be taken up.
pub fn document(
    ranked: &[Ranked],
    repository: &RepositoryFacts,
    timestamp: String,
    most: usize,
) -> Document<CurrentIssue> {
    let Some(best) = ranked.first().filter(|best| best.is_eligible()) else {
        return Document { timestamp, outcome: Err(faults(ranked)) };
    };
    let issue = &best.issue;
    let brief = Brief::read(issue.title.open(), issue.body.open());
    let selected_issue = scout::selected(
        &brief,
        &issue.url,
        &issue.labels,
        issue.comments,
        &issue.created_at,
        scout::repository(repository),
    );
    let alternatives = alternatives(ranked, best, most);
    Document::completed(timestamp, CurrentIssue { selected_issue, alternatives, search_stats: stats(ranked) })
}

/// What the scout tells of the search that chose this issue.
pub fn swept(ranked: &[Ranked], number: u64) -> Swept {
    let chosen = ranked.iter().find(|one| one.issue.number == number);
    Swept {
        search: stats(ranked),
        others: chosen.map(|chosen| alternatives(ranked, chosen, MOST_ALTERNATIVES)).unwrap_or_default(),
        obstacles: match chosen {
            Some(chosen) => chosen.obstacles.iter().map(|obstacle| obstacle.why.clone()).collect(),
            None => vec!["it is not among the open issues any more".to_owned()],
        },
    }
}

fn alternatives(ranked: &[Ranked], chosen: &Ranked, most: usize) -> Vec<Alternative> {
    let others = ranked.iter().filter(|one| one.issue.number != chosen.issue.number).take(most);
    others
        .map(|one| Alternative {
            url: words::line(&one.issue.url, MAX_URL),
            title: one.title.clone(),
            reason_not_selected: words::line(&behind(one, chosen), 300),
        })
        .collect()
}

fn behind(one: &Ranked, chosen: &Ranked) -> String {
    if !one.is_eligible() {
        let why: Vec<&str> = one.obstacles.iter().map(|obstacle| obstacle.why.as_str()).collect();
        return format!("not eligible: {}", why.join("; "));
    }
    let against = format!("score {} against {}", one.score, chosen.score);
    let why: Vec<&str> = one.points.iter().map(|point| point.why.as_str()).collect();
    let what = match one.chance.cmp(&chosen.chance) {
        std::cmp::Ordering::Less => "a mechanic can do less about it",
        std::cmp::Ordering::Greater => "its turn comes later",
        std::cmp::Ordering::Equal if one.score < chosen.score => "ranked lower",
        std::cmp::Ordering::Equal => "its turn comes later",
    };
    format!("{what}; {against}: {}", why.join(", "))
}

/// Each reason once, with how many issues it holds back, the most frequent first.
pub fn tally(ranked: &[Ranked]) -> Vec<(&'static str, u64)> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for obstacle in ranked.iter().flat_map(|one| &one.obstacles) {
        *counts.entry(obstacle.code).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

fn faults(ranked: &[Ranked]) -> Vec<AgentError> {
    let fault = |code: &str, message: String| AgentError {
        code: code.to_owned(),
        message,
        agent_name: CurrentIssue::AGENT.to_owned(),
        recoverable: false,
    };
    let whole = match ranked.len() {
        0 => fault("no-issues", "there is no open issue to choose from".to_owned()),
        n => fault("nothing-eligible", format!("of {} none may be taken up", count(n, "issue"))),
    };
    let each = tally(ranked).into_iter().map(|(code, issues)| {
        let example = ranked.iter().find_map(|one| {
            let obstacle = one.obstacles.iter().find(|obstacle| obstacle.code == code)?;
            Some(format!("#{}: {}", one.issue.number, obstacle.why))
        });
        let issues = count(usize::try_from(issues).unwrap_or(usize::MAX), "issue");
        fault(code, format!("{issues}, for instance {}", example.unwrap_or_default()))
    });
    std::iter::once(whole).chain(each).collect()
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
