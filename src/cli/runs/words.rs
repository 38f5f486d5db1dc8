//! Runs in words: ages, durations, outcomes.

use serde_json::Value;

use crate::app::runs::{Run, RunState, Step, StepState};
use crate::domain::Millis;
use crate::stdx::text::{count, truncate_chars, visible_line};

/// Characters of an id that tell it from others: a run's id begins with its time in milliseconds.
const ID: usize = 13;
/// Characters of an outcome in a list.
const OUTCOME: usize = 80;

/// The beginning of a run's id that finds it, unless two began in the same millisecond.
pub fn short(run: &Run) -> String {
    run.id.to_string().chars().take(ID).collect()
}

/// `octo/calc#7`.
pub fn about(run: &Run) -> String {
    let number = run.number.map_or_else(String::new, |number| format!("#{number}"));
    visible_line(&format!("{}{number}", run.repo))
}

/// How long ago, in the largest unit that fits.
pub fn ago(from: Millis, now: Millis) -> String {
    let seconds = (now - from).max(0) / 1000;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3_599 => format!("{} min", seconds / 60),
        3_600..=86_399 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How long it took, exactly enough.
pub fn took(from: Millis, to: Millis) -> String {
    let millis = (to - from).max(0);
    match millis {
        0..=999 => format!("{millis} ms"),
        1_000..=59_999 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        60_000..=3_599_999 => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1000),
        _ => format!("{} h {} min", millis / 3_600_000, millis % 3_600_000 / 60_000),
    }
}

/// What a run came to, in one line; empty while it goes on.
pub fn outcome(run: &Run) -> String {
    if let Some(detail) = run.detail.as_deref().filter(|_| run.state != RunState::Running) {
        return visible_line(detail);
    }
    let Some(outcome) = &run.outcome else { return String::new() };
    let word = outcome.get("outcome").and_then(Value::as_str).unwrap_or_default();
    let found = outcome.get("count").and_then(Value::as_u64).and_then(|found| usize::try_from(found).ok());
    let reason = outcome.get("reason").and_then(Value::as_str);
    visible_line(&match (word, found, reason) {
        ("findings", Some(found), _) => count(found, "finding"),
        (word, _, Some(reason)) => format!("{word}: {reason}"),
        (word, _, None) => word.to_owned(),
    })
}

/// The same, short enough for a list.
pub fn outcome_cell(run: &Run) -> String {
    truncate_chars(&outcome(run), OUTCOME)
}

/// `done`, `known` for a result that was there already, `failed`; and whether its agent did only a part of it.
pub fn step_state(step: &Step) -> &'static str {
    let status = step.told.as_ref().and_then(|told| told.get("status")?.as_str());
    match (step.state, status) {
        (StepState::Done, Some("partial")) => "done in part",
        (StepState::Skipped, Some("partial")) => "known in part",
        (StepState::Skipped, _) => "known",
        (state, _) => state.as_str(),
    }
}

/// How long a step took; nothing for one that did not work.
pub fn step_took(step: &Step) -> String {
    match (step.state, step.finished_at) {
        (StepState::Skipped, _) | (_, None) => String::new(),
        (_, Some(at)) => took(step.started_at, at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_durations_are_told_in_units_that_people_read() {
        let ages = [0, 59_999, 60_000, 3_599_999, 3_600_000, 86_400_000 * 3].map(|millis| ago(0, millis));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "3 d"]);
        let durations = [0, 999, 1_250, 59_999, 61_000, 3_660_000].map(|millis| took(0, millis));
        assert_eq!(durations, ["0 ms", "999 ms", "1.2 s", "59.9 s", "1 min 1 s", "1 h 1 min"]);
        assert_eq!((ago(5, 0), took(5, 0)), ("0 s".to_owned(), "0 ms".to_owned()), "a clock that was set back");
    }
}
