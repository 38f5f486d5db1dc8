//! The story in a terminal: what happens as it happens, timelines, and comments under their code lines.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use owo_colors::OwoColorize;

use super::story::Scenario;
use crate::app::runs::{DeliveryState, Observer, StepState, Timeline, TimelineRun};
use crate::cli::report::line;
use crate::demo::{Posted, Pull, ReviewComment};
use crate::domain::{Finding, Millis};
use crate::stdx::text::{visible, visible_line, visible_source};

pub struct Show {
    silent: bool,
    began: Instant,
    /// Last progress line shown, by run.
    seen: Mutex<BTreeMap<String, i64>>,
}

impl Show {
    pub fn new(silent: bool) -> Self {
        Self { silent, began: Instant::now(), seen: Mutex::default() }
    }

    pub fn elapsed(&self) -> u128 {
        self.began.elapsed().as_millis()
    }

    pub fn say(&self, text: &str) {
        if !self.silent {
            line(text);
        }
    }

    pub fn title(&self, number: usize, title: &str) {
        self.say(&format!("\n{}", format!("{number}. {title}").bold()));
    }

    pub fn verdict(&self, scenario: &Scenario) {
        let took = format!("{:.1} s", scenario.duration_ms as f64 / 1000.0);
        if scenario.ok {
            self.say(&format!("  {} {}", "✓ as it should be".green(), took.dimmed()));
        } else {
            self.say(&format!("  {} {}", "✗ not as it should be:".red().bold(), took.dimmed()));
            scenario.problems.iter().for_each(|problem| self.say(&format!("    - {problem}")));
        }
    }

    pub fn conclusion(&self, scenarios: &[Scenario], took: Duration) {
        let right = scenarios.iter().filter(|scenario| scenario.ok).count();
        let text = format!("{right} of {} scenarios came out right, in {:.1} s", scenarios.len(), took.as_secs_f64());
        self.say("");
        if right == scenarios.len() {
            self.say(&text.green().bold().to_string());
        } else {
            self.say(&text.red().bold().to_string());
        }
    }

    /// New progress lines of all runs.
    pub async fn progress(&self, observer: &Observer) -> anyhow::Result<()> {
        if self.silent {
            return Ok(());
        }
        for run in observer.runs(10).await?.into_iter().rev() {
            let id = run.id.to_string();
            let after = self.seen.lock().map(|seen| seen.get(&id).copied().unwrap_or(0)).unwrap_or(0);
            for row in observer.progress(run.id, after).await? {
                self.say(&format!("  {} {}", "…".dimmed(), visible_line(&row.text).dimmed()));
                if let Ok(mut seen) = self.seen.lock() {
                    seen.insert(id.clone(), row.seq);
                }
            }
        }
        Ok(())
    }

    /// delivery → job → steps → effects, with durations. Deliveries that asked for nothing share one line.
    pub fn timelines(&self, timelines: &[&Timeline]) {
        let mut ignored: BTreeMap<&str, usize> = BTreeMap::new();
        for timeline in timelines {
            let delivery = &timeline.delivery;
            if delivery.state == DeliveryState::Ignored && delivery.replay_of.is_none() {
                *ignored.entry(&delivery.event).or_default() += 1;
            } else {
                self.timeline(timeline);
            }
        }
        let ignored: Vec<String> = ignored.into_iter().map(|(event, count)| format!("{count} × {event}")).collect();
        if !ignored.is_empty() {
            self.say(&format!("  {}", format!("and nothing to do for {}", ignored.join(", ")).dimmed()));
        }
    }

    fn timeline(&self, timeline: &Timeline) {
        let delivery = &timeline.delivery;
        let guid = delivery.guid.as_str().get(..8).unwrap_or_default();
        let took = took(delivery.received_at, delivery.settled_at);
        let replay = if delivery.replay_of.is_some() { ", a replay" } else { "" };
        let reason = visible_line(&short(delivery.reason.as_deref().unwrap_or("waiting")));
        self.say(&format!(
            "  {} {} {guid}{replay} {} {}",
            "delivery".cyan(),
            delivery.event,
            format!("{}: {reason}", delivery.state.as_str()).dimmed(),
            took.dimmed()
        ));
        for job in timeline.jobs.iter().filter(|job| job.job.kind != "delivery") {
            let row = &job.job;
            let took = self::took(row.created_at, row.finished_at);
            self.say(&format!(
                "    {} {} {} {}",
                "job".cyan(),
                short(&row.unique_key),
                format!("{}, attempt {}", row.state.as_str(), row.attempt).dimmed(),
                took.dimmed()
            ));
            job.runs.iter().for_each(|run| self.run(run));
        }
    }

    fn run(&self, run: &TimelineRun) {
        let steps: Vec<String> = run
            .steps
            .iter()
            .map(|step| match step.state {
                StepState::Skipped => format!("{} known", step.name),
                _ => format!("{} {}", step.name, took(step.started_at, step.finished_at)),
            })
            .collect();
        if !steps.is_empty() {
            self.say(&format!("      {} {}", "steps".cyan(), steps.join(" · ").dimmed()));
        }
        let effects: Vec<String> = run
            .effects
            .iter()
            .map(|effect| {
                let proved = effect.proof.is_some().then_some(effect.updated_at);
                let took = took(effect.sent_at.unwrap_or(effect.created_at), proved);
                format!("{} {} {took}", effect.kind, effect.state.as_str())
            })
            .collect();
        if !effects.is_empty() {
            self.say(&format!("      {} {}", "effects".cyan(), effects.join(" · ").dimmed()));
        }
    }

    /// What the App said in a conversation.
    pub fn reply(&self, comment: &Posted) {
        self.say(&format!("  {}", format!("#{} the App says", comment.number).bold()));
        self.text(&comment.body);
    }

    /// A pull request that the App opened.
    pub fn pull(&self, pull: &Pull) {
        let draft = if pull.draft { ", a draft" } else { "" };
        let head = format!("#{} {} ({}{draft})", pull.number, visible_line(&pull.title), visible_line(&pull.head_ref));
        self.say(&format!("  {}", head.bold()));
        self.text(pull.body.as_deref().unwrap_or_default());
    }

    /// Markdown as it was posted, without its hidden part.
    fn text(&self, body: &str) {
        let shown = body.lines().filter(|line| !line.starts_with("<!--"));
        visible(&shown.collect::<Vec<_>>().join("\n"))
            .trim_end()
            .lines()
            .for_each(|line| self.say(&format!("        {} {line}", "│".dimmed())));
    }

    /// A comment under the line it stands on, with its suggestion.
    pub fn comment(&self, comment: &ReviewComment, findings: &[Finding]) {
        let code = comment.diff_hunk.lines().last().unwrap_or_default();
        let code = code.strip_prefix(['+', ' ', '-']).unwrap_or(code);
        let code = visible_source(code);
        let place = format!("#{} {}:{}", comment.pull, visible_line(&comment.path), comment.original_line);
        self.say(&format!("  {}", place.bold()));
        self.say(&format!("  {:>5} │ {code}", comment.original_line));
        match about(comment, findings) {
            Some(finding) => {
                let head = format!("{} {} {}", finding.severity, finding.category, finding.rule);
                self.say(&format!("        ╰ {}: {}", head.yellow(), visible_line(&finding.message)));
            }
            None => self.say(&format!("        ╰ {}", visible(comment.body.lines().next().unwrap_or_default()))),
        }
        if let Some(suggestion) = suggestion(&comment.body) {
            let text = if suggestion.is_empty() { "(delete)".to_owned() } else { suggestion };
            visible(&text)
                .lines()
                .for_each(|line| self.say(&format!("        {} {}", "suggestion".green(), line.green())));
        }
    }
}

/// The finding that a comment was made for, by the fingerprint in its marker.
pub fn about<'a>(comment: &ReviewComment, findings: &'a [Finding]) -> Option<&'a Finding> {
    findings.iter().find(|finding| comment.body.contains(finding.fingerprint.as_str()))
}

/// What a suggestion block puts in the place of the commented lines.
pub fn suggestion(body: &str) -> Option<String> {
    let mut lines = body.lines().skip_while(|line| !line.trim_start_matches('`').starts_with("suggestion"));
    let fence = lines.next()?.strip_suffix("suggestion")?;
    let inside: Vec<&str> = lines.take_while(|line| *line != fence).collect();
    Some(inside.join("\n"))
}

/// Full commit ids as people read them.
fn short(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
        let kept = if digits.len() >= 40 { &digits[..7] } else { digits };
        short.push_str(kept);
        short.push_str(&word[digits.len()..]);
    }
    short
}

fn took(from: Millis, to: Option<Millis>) -> String {
    to.map_or_else(|| "…".into(), |to| format!("{} ms", (to - from).max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_ids_are_shortened_and_nothing_else_is() {
        let long = "a".repeat(40);
        assert_eq!(short(&format!("review/1000005/2@{long} was reviewed")), "review/1000005/2@aaaaaaa was reviewed");
    }

    #[test]
    fn a_suggestion_is_what_stands_between_its_fences() {
        assert_eq!(suggestion("text\n```suggestion\na\n  b\n```\nmore").as_deref(), Some("a\n  b"));
        assert_eq!(suggestion("````suggestion\n```\n````\n").as_deref(), Some("```"));
        assert_eq!(suggestion("```suggestion\n```").as_deref(), Some(""));
        assert_eq!(suggestion("```rust\na\n```"), None);
    }
}
