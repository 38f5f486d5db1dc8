//! How many commands of one person a conversation may have answered in an hour: a flood costs us little and its readers
//! less, and nobody can use up what others may ask.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::domain::{IssueNumber, Millis, RepositoryId};

/// Commands of one person that are looked at in one conversation and hour.
const PER_HOUR: usize = 30;
const HOUR: Millis = 3_600_000;
/// Conversations and people that are counted at once; beyond that all begin anew.
const CONVERSATIONS: usize = 10_000;

/// Counts by the clock's hour. Forgotten at a restart, which a flood cannot cause.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<Hour>);

#[derive(Debug, Default)]
struct Hour {
    hour: Millis,
    /// Which commands were looked at, by conversation and account.
    seen: HashMap<(RepositoryId, IssueNumber, u64), HashSet<String>>,
}

impl Breaker {
    /// Counts one command, known by its key: looked at again, it counts no second time. Beyond the limit: in how many
    /// minutes commands are answered again.
    pub(super) fn trips(
        &self,
        repository: RepositoryId,
        number: IssueNumber,
        by: u64,
        key: &str,
        now: Millis,
    ) -> Option<u64> {
        let mut hour = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if hour.hour != now / HOUR {
            *hour = Hour { hour: now / HOUR, ..Hour::default() };
        }
        if hour.seen.len() >= CONVERSATIONS {
            hour.seen.clear();
        }
        let seen = hour.seen.entry((repository, number, by)).or_default();
        if seen.contains(key) {
            return None;
        }
        if seen.len() < PER_HOUR {
            seen.insert(key.to_owned());
            return None;
        }
        let minutes = (HOUR - now.rem_euclid(HOUR)) / 60_000 + 1;
        Some(u64::try_from(minutes).unwrap_or(60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_commands_an_hour_are_answered_in_each_conversation() {
        let breaker = Breaker::default();
        let ask =
            |number, by, key: u32, now| breaker.trips(RepositoryId(1), IssueNumber(number), by, &key.to_string(), now);
        for _ in 0..2 {
            assert!((0..30).all(|key| ask(7, 1, key, HOUR).is_none()), "the same commands count once");
        }
        assert_eq!(ask(7, 1, 30, HOUR + 59 * 60_000), Some(2));
        assert_eq!(ask(7, 2, 31, HOUR), None, "another person");
        assert_eq!(ask(8, 1, 32, HOUR), None, "another conversation");
        assert_eq!(ask(7, 1, 33, 2 * HOUR), None, "another hour");
    }
}
