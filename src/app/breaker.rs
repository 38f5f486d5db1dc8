//! How many commands one conversation may have answered in an hour: a flood costs us little and its readers less.

use std::sync::Mutex;

use crate::domain::{IssueNumber, Millis, RepositoryId};

/// Commands that are looked at in one conversation and hour.
const PER_HOUR: u32 = 30;
const HOUR: Millis = 3_600_000;
/// Conversations that are counted at once; beyond that all begin anew.
const CONVERSATIONS: usize = 10_000;

/// Counts by the clock's hour. Forgotten at a restart, which a flood cannot cause.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<Hour>);

#[derive(Debug, Default)]
struct Hour {
    hour: Millis,
    counts: std::collections::HashMap<(RepositoryId, IssueNumber), u32>,
}

impl Breaker {
    /// Counts one command. Beyond the limit: in how many minutes commands are answered again.
    pub(super) fn trips(&self, repository: RepositoryId, number: IssueNumber, now: Millis) -> Option<u64> {
        let mut hour = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if hour.hour != now / HOUR {
            *hour = Hour { hour: now / HOUR, ..Hour::default() };
        }
        if hour.counts.len() >= CONVERSATIONS {
            hour.counts.clear();
        }
        let count = hour.counts.entry((repository, number)).or_default();
        *count = count.saturating_add(1);
        let minutes = (HOUR - now.rem_euclid(HOUR)) / 60_000 + 1;
        (*count > PER_HOUR).then(|| u64::try_from(minutes).unwrap_or(60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_commands_an_hour_are_answered_in_each_conversation() {
        let breaker = Breaker::default();
        let ask = |number, now| breaker.trips(RepositoryId(1), IssueNumber(number), now);
        assert!((0..30).all(|_| ask(7, HOUR).is_none()));
        assert_eq!(ask(7, HOUR + 59 * 60_000), Some(2));
        assert_eq!(ask(8, HOUR), None, "another conversation");
        assert_eq!(ask(7, 2 * HOUR), None, "another hour");
    }
}
