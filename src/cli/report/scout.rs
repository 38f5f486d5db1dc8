//! What a search for issues looks like on a terminal.

use owo_colors::OwoColorize;

use super::line;
use crate::app::scout::{Chance, Ranked, Scouted};
use crate::stdx::text::{count, truncate_chars, visible_line};

/// A title is cut here: the address tells the rest.
const TITLE: usize = 60;
/// Reasons that a line has room for.
const REASONS: usize = 3;

/// A row for each issue that may be taken up, the best first; then what left the others out.
pub fn scouted(scouted: &Scouted, most: usize) {
    let eligible: Vec<&Ranked> = scouted.ranked.iter().filter(|one| one.is_eligible()).collect();
    let shown = &eligible[..eligible.len().min(most)];
    let titles: Vec<String> = shown.iter().map(|one| truncate_chars(&visible_line(&one.title), TITLE)).collect();
    let wide = titles.iter().map(|title| title.chars().count()).max().unwrap_or_default();
    let numbers: Vec<String> = shown.iter().map(|one| format!("#{}", one.issue.number)).collect();
    let numbered = numbers.iter().map(String::len).max().unwrap_or_default();
    if !shown.is_empty() {
        let head = format!("rank  score  {:numbered$}  {:wide$}  why", "", "title");
        line(&head.bold().to_string());
    }
    for (rank, (one, (number, title))) in (1..).zip(shown.iter().zip(numbers.iter().zip(&titles))) {
        line(&format!("{rank:>4}  {:>5}  {number:>numbered$}  {title:wide$}  {}", one.score, why(one)));
    }
    let (found, total) = (eligible.len(), scouted.ranked.len());
    let more = found - shown.len();
    let more = if more > 0 { format!(" ({more} more than shown; `--limit` shows up to 50)") } else { String::new() };
    let repository = visible_line(&scouted.repository);
    line(&format!("{repository}: {found} of {} may be taken up{more}", count(total, "issue")));
    if found < total {
        let reasons: Vec<String> =
            scouted.left_out().iter().map(|(code, issues)| format!("{issues} {}", code.replace('-', " "))).collect();
        line(&format!("left out: {}; one issue may have several reasons: {}", total - found, reasons.join(", ")));
    }
}

/// What a mechanic would do, else what weighs most.
fn why(one: &Ranked) -> String {
    let (kind, plan) = (one.chance, one.plan.as_deref());
    if let Some(plan) = plan.filter(|_| kind != Chance::None) {
        return visible_line(&truncate_chars(plan, 80));
    }
    let mut points: Vec<_> = one.points.iter().collect();
    points.sort_by_key(|point| std::cmp::Reverse(point.by.abs()));
    let points = points.iter().take(REASONS).map(|point| format!("{:+} {}", point.by, visible_line(&point.why)));
    points.collect::<Vec<_>>().join(", ")
}
