//! Times on the wire: read as people and programs write ISO 8601, written as RFC 3339 in UTC (A3.4).

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::Millis;

/// A moment. It keeps the fractions of a second that it was read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// `2024-12-20T15:00:00Z`, with or without fractions, seconds and an offset; without an offset it is UTC. `None` for
    /// anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let dated = bytes.len() <= 40 && bytes.get(..4)?.iter().all(u8::is_ascii_digit) && bytes.get(4) == Some(&b'-');
        let (date, time) = text.split_once(['T', 't', ' ']).filter(|_| dated && text.is_ascii())?;
        let text = format!("{date}T{time}");
        let offset = |form| DateTime::parse_from_str(&text, form).ok().map(|time| time.to_utc());
        let naive = |form| NaiveDateTime::parse_from_str(&text, form).ok().map(|time| time.and_utc());
        let time = offset("%Y-%m-%dT%H:%M:%S%.f%#z")
            .or_else(|| offset("%Y-%m-%dT%H:%M%#z"))
            .or_else(|| naive("%Y-%m-%dT%H:%M:%S%.f"))
            .or_else(|| naive("%Y-%m-%dT%H:%M"))?;
        // An offset can lead out of the years that four digits can write.
        (0..=9999).contains(&time.year()).then_some(Self(time))
    }

    /// A clock's time; one beyond the year 9999 becomes the epoch.
    pub fn from_millis(millis: Millis) -> Self {
        let time = DateTime::from_timestamp_millis(millis).filter(|time| (0..=9999).contains(&time.year()));
        Self(time.unwrap_or_default())
    }

    pub fn millis(self) -> Millis {
        self.0.timestamp_millis()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let shown = crate::stdx::text::truncate_chars(&text, 80);
            serde::de::Error::custom(format!("{shown:?} is no time, such as 2024-12-20T15:00:00Z"))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&str>) {
        assert_eq!(Timestamp::parse(text).map(|time| time.to_string()).as_deref(), want, "{text:?}");
    }

    #[test]
    fn a_time_without_an_offset_is_utc() {
        check("2024-12-20T15:00:00Z", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20T15:00:00", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20T15:00:00.123456", Some("2024-12-20T15:00:00.123456Z"));
        check("2024-12-20 15:00:00.5", Some("2024-12-20T15:00:00.500Z"));
        check("2024-12-20T15:00", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20T15:00Z", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20T17:00:00+02:00", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20T10:00:00-0500", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20T15:00:00+00", Some("2024-12-20T15:00:00Z"));
        check("2024-12-20t15:00:00z", Some("2024-12-20T15:00:00Z"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "now",
            "2024-12-20",
            "15:00:00",
            "1734706800",
            "2024-13-20T15:00:00Z",
            "2024-02-30T15:00:00Z",
            "2024-12-20T25:00:00Z",
            "2024-12-20T15:00:00Zx",
            "+12024-12-20T15:00:00Z",
            "-024-12-20T15:00:00Z",
            "9999-12-31T23:59:59-23:00",
            "2024-12-20T15:00:00 Europe/Berlin",
        ] {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(millis in 0_i64..253_402_300_000_000) {
            let time = Timestamp::from_millis(millis);
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
            prop_assert_eq!(time.millis(), millis);
        }

        #[test]
        fn no_text_is_read_as_a_time_that_cannot_be_written(text in "[0-9]{4}-[0-9]{2}-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,9})?)?(Z|[+-][0-2][0-9]:?[0-5][0-9])?|.{0,30}") {
            if let Some(time) = Timestamp::parse(&text) {
                prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
            }
        }
    }
}
