//! Ids of messages. They become names of files, so nothing else is an id (S3.2, S3.16, A3.1).

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::AgentName;
use crate::domain::Millis;

/// `<code>_<YYYYMMDD>_<HHMMSS>_<sequence>`: digits from 001 on, or six hexadecimal digits as other writers draw them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct MessageId(String);

/// Characters that an id may have: with the longest ending that we give it, it is still the name of a file.
const MAX: usize = 200;

impl MessageId {
    /// `None` unless it is `^[a-z0-9_]{1,40}_[0-9]{8}_[0-9]{6}_([0-9]{3,}|[0-9a-f]{6})$` of at most 200 characters.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let mut parts = text.rsplitn(4, '_');
        let (sequence, time, date, sender) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let counted = sequence.len() >= 3 && digits(sequence);
        let drawn = sequence.len() == 6 && sequence.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let named =
            (1..=40).contains(&sender.len()) && sender.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        let at = time.len() == 6 && digits(time) && date.len() == 8 && digits(date);
        (text.len() <= MAX && named && at && (counted || drawn)).then(|| Self(text.to_owned()))
    }

    /// The counting form.
    pub(super) fn counted(from: AgentName, at: Millis, sequence: u64) -> Self {
        let time = chrono::DateTime::from_timestamp_millis(at).unwrap_or_default();
        Self(format!("{}_{}_{sequence:03}", from.code(), time.format("%Y%m%d_%H%M%S")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What comes before the sequence, and the sequence.
    fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('_').unwrap_or(("", &self.0))
    }
}

/// By sender and second, then as the sender counted: 999 comes before 1000.
impl Ord for MessageId {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((head, sequence), (other_head, other_sequence)) = (self.split(), other.split());
        (head, sequence.len(), sequence).cmp(&(other_head, other_sequence.len(), other_sequence))
    }
}

impl PartialOrd for MessageId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let shown = crate::stdx::text::truncate_chars(&text, 80);
            serde::de::Error::custom(format!("{shown:?} is no id of a message, such as pm_20241220_150000_001"))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_forms_are_read_and_nothing_else_is() {
        for id in [
            "pm_20241220_150000_001",
            "ra1_20241220_170000_001",
            "val_20241220_180000_1000",
            "product_manager_20241220_150000_0a1b2c",
            "a_00000000_000000_000",
        ] {
            assert_eq!(MessageId::parse(id).map(|id| id.to_string()).as_deref(), Some(id));
        }
        for text in [
            "",
            "pm",
            "_20241220_150000_001",
            "pm_20241220_150000_01",
            "pm_20241220_150000_0a1b2",
            "pm_20241220_150000_0A1B2C",
            "pm_20241220_150000_abcdefa",
            "pm_2024122_150000_001",
            "pm_20241220_15000_001",
            "PM_20241220_150000_001",
            "../pm_20241220_150000_001",
            "a/b_20241220_150000_001",
            "pm_20241220_150000_001\n",
            "pm_20241220_150000_001.json",
            "pm_٢٠٢٤١٢٢٠_150000_001",
            "pm\0_20241220_150000_001",
        ] {
            assert_eq!(MessageId::parse(text), None, "{text:?}");
        }
        assert!(MessageId::parse(&format!("{}_20241220_150000_001", "a".repeat(40))).is_some());
        assert!(MessageId::parse(&format!("{}_20241220_150000_001", "a".repeat(41))).is_none());
        assert!(MessageId::parse(&format!("pm_20241220_150000_{}", "1".repeat(190))).is_none());
    }

    #[test]
    fn ids_sort_as_their_sender_counted() {
        let id = |n| MessageId::counted(AgentName::ProductManager, 1_734_706_800_000, n);
        assert_eq!(id(1).as_str(), "pm_20241220_150000_001");
        assert!(id(999) < id(1000) && id(1) < id(2));
    }

    proptest! {
        #[test]
        fn what_is_counted_is_an_id(agent in 0..20_usize, at in 0_i64..253_402_300_000_000, sequence: u64) {
            let id = MessageId::counted(AgentName::ALL[agent], at, sequence);
            prop_assert_eq!(MessageId::parse(id.as_str()), Some(id));
        }

        #[test]
        fn exactly_the_published_pattern_is_an_id(text in "[a-c_0-9]{0,12}_?[0-9]{7,9}_[0-9]{5,7}_[0-9a-g]{2,7}|.{0,40}") {
            let pattern = regex::Regex::new("^[a-z0-9_]{1,40}_[0-9]{8}_[0-9]{6}_([0-9]{3,}|[0-9a-f]{6})$").unwrap();
            prop_assert_eq!(MessageId::parse(&text).is_some(), pattern.is_match(&text));
        }
    }
}
