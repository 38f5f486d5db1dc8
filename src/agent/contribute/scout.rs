//! Decides whether an issue may be worked on. Whoever set the label has chosen it: everything but a plain obstacle only
//! scores and explains.

use serde::Deserialize;

use super::brief::{self, Brief};
use super::triage::{self, Glance, Score};
use super::words;
use crate::agent::{Agent, Context, Error, Role};
use crate::artifact::facts::RepositoryFacts;
use crate::artifact::swarm::{Alternative, CurrentIssue, IssueRepository, SearchStats, SelectedIssue};
use crate::artifact::{ContributeFacts, Document};

/// GitHub's own limit of a body.
const MAX_BODY: usize = 65_536;
const MAX_TITLE: usize = 300;
const MAX_LABELS: usize = 100;
const MAX_ALTERNATIVES: usize = 50;
const MAX_URL: usize = 2_000;

pub struct Scout;

#[derive(Debug, Deserialize)]
pub struct ScoutInput {
    facts: ContributeFacts,
}

impl Agent for Scout {
    const VERSION: &'static str = "2";
    type Input = ScoutInput;
    type Output = Document<CurrentIssue>;

    fn role(&self) -> Role {
        Role::Scout
    }

    async fn run(&self, cx: &Context, ScoutInput { facts }: ScoutInput) -> Result<Document<CurrentIssue>, Error> {
        Ok(match obstacle(&facts) {
            Some((code, message)) => Document::failed(cx.timestamp(), code, message),
            None => Document::completed(cx.timestamp(), select(&facts, cx.clock.now())),
        })
    }

    fn faults(&self, cx: &Context, document: &Document<CurrentIssue>) -> Vec<String> {
        let Ok(issue) = &document.outcome else { return Vec::new() };
        let mut faults = Vec::new();
        if cx.contributing().is_ok_and(|scene| issue.selected_issue.url != words::line(&scene.facts.issue.url, MAX_URL))
        {
            faults.push("selected_issue: not the issue that was asked for".to_owned());
        }
        let stats = issue.search_stats;
        if stats.filtered_out.checked_add(stats.candidates_found) != Some(stats.total_searched) {
            faults.push("search_stats: the numbers do not add up".to_owned());
        }
        faults
    }

    fn line(&self, document: &Document<CurrentIssue>) -> Option<String> {
        Some(match &document.outcome {
            Ok(issue) => format!("{}: taken", words::line(&issue.selected_issue.title, 80)),
            Err(faults) => faults.first().map_or_else(|| "not taken".to_owned(), |fault| fault.message.clone()),
        })
    }
}

/// Why the issue cannot be worked on at all.
fn obstacle(facts: &ContributeFacts) -> Option<(&'static str, String)> {
    let issue = &facts.issue;
    if issue.is_pull {
        return Some(("pull-request", format!("#{} is a pull request, not an issue", issue.number)));
    }
    if issue.locked {
        return Some((
            "locked",
            format!("the conversation of issue #{} is locked; unlock it and set the label again", issue.number),
        ));
    }
    if let Some(why) = facts.swept.as_ref().filter(|swept| !swept.obstacles.is_empty()) {
        return Some((
            "not-eligible",
            format!("issue #{} is not taken up: {}", issue.number, why.obstacles.join("; ")),
        ));
    }
    // The one that we opened ourselves is revised, not repeated.
    let mut others: Vec<_> = facts.linked.iter().filter(|pull| !pull.ours).collect();
    others.sort_by_key(|pull| pull.number);
    let first = others.first()?;
    let author = words::line(&first.author, 60);
    let more = match others.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Some((
        "already-addressed",
        format!(
            "pull request #{} by {author} already addresses this issue{more}; close it to have the work done anew",
            first.number
        ),
    ))
}

fn select(facts: &ContributeFacts, now: i64) -> CurrentIssue {
    let issue = &facts.issue;
    let brief = Brief::read(issue.title.open(), issue.body.open());
    let selected_issue =
        selected(&brief, &issue.url, &issue.labels, issue.comments, &issue.created_at, repository(&facts.repository));
    if let Some(swept) = &facts.swept {
        return CurrentIssue { selected_issue, alternatives: swept.others.clone(), search_stats: swept.search };
    }
    let own = triage::score(
        &Glance { title: &brief.title, labels: &issue.labels, comments: issue.comments, created_at: &issue.created_at },
        now,
    );
    let mut others: Vec<(u64, Alternative, bool)> = facts
        .candidates
        .iter()
        .filter(|candidate| candidate.number != issue.number)
        .map(|candidate| {
            let (title, _) = brief::redacted(&words::line(candidate.title.open(), MAX_TITLE));
            let score = triage::score(
                &Glance {
                    title: &title,
                    labels: &candidate.labels,
                    comments: candidate.comments,
                    created_at: &candidate.created_at,
                },
                now,
            );
            let reason = reason(&score, &own);
            let url = words::line(&candidate.url, MAX_URL);
            (candidate.number, Alternative { url, title, reason_not_selected: reason }, score.unsuitable)
        })
        .collect();
    others.sort_by_key(|(number, ..)| *number);
    others.dedup_by_key(|(number, ..)| *number);
    let total = others.len() as u64 + 1;
    let filtered_out = others.iter().filter(|(.., unsuitable)| *unsuitable).count() as u64;
    CurrentIssue {
        selected_issue,
        alternatives: others.into_iter().take(MAX_ALTERNATIVES).map(|(_, alternative, _)| alternative).collect(),
        search_stats: SearchStats { total_searched: total, filtered_out, candidates_found: total - filtered_out },
    }
}

/// An issue as the document shows it.
pub(super) fn selected(
    brief: &Brief,
    url: &str,
    labels: &[String],
    comments: u64,
    created_at: &str,
    repository: IssueRepository,
) -> SelectedIssue {
    let kind = triage::kind(labels, brief);
    SelectedIssue {
        url: words::line(url, MAX_URL),
        title: brief.title.clone(),
        body: words::block(&brief.body, MAX_BODY),
        labels: labels.iter().take(MAX_LABELS).map(|label| words::line(label, 100)).collect(),
        repository,
        comments_count: comments,
        created_at: words::line(created_at, 40),
        difficulty_estimate: triage::difficulty(labels, kind, brief, None),
        kind,
    }
}

/// Why another issue waits, in plain words.
fn reason(score: &Score, own: &Score) -> String {
    let against = format!("score {} against {}", score.points, own.points);
    let why = if score.unsuitable {
        "would not be taken unasked"
    } else if score.points > own.points {
        "suits better, but the other one was asked for"
    } else {
        "the other one was asked for"
    };
    words::line(
        &format!(
            "{why}; {against}: {}",
            score.parts.iter().map(|part| part.why.as_str()).collect::<Vec<_>>().join(", ")
        ),
        300,
    )
}

pub(super) fn repository(of: &RepositoryFacts) -> IssueRepository {
    IssueRepository {
        owner: words::line(&of.owner, 100),
        name: words::line(&of.name, 200),
        url: words::line(&of.url, MAX_URL),
        language: of.language.as_deref().map_or_else(|| "unknown".to_owned(), |language| words::line(language, 60)),
        stars: of.stars,
        license: of.license.as_deref().map_or_else(|| "unknown".to_owned(), |license| words::line(license, 60)),
    }
}
