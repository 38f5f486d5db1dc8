//! How often the scout sweeps.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// Each sweep reads the configuration of every repository: more often costs requests and finds nothing new.
const SHORTEST: u64 = 10 * MINUTE;
const LONGEST: u64 = 7 * DAY;
/// As a person is told that a text is no such interval.
pub(super) const FORM: &str = "`off`, or a time from 10m to 7d, like 6h";

/// `off`, or a whole number of minutes, hours or days: `30m`, `6h`, `1d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Sweep(pub(super) Option<Duration>);

impl Default for Sweep {
    fn default() -> Self {
        Self(Some(Duration::from_secs(6 * HOUR)))
    }
}

impl FromStr for Sweep {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "off" {
            return Ok(Self(None));
        }
        let unit = match text.chars().last() {
            Some('m') => MINUTE,
            Some('h') => HOUR,
            Some('d') => DAY,
            _ => return Err(()),
        };
        let digits = &text[..text.len() - 1];
        // A sign or a blank is a slip.
        let number: u64 =
            if digits.chars().all(|c| c.is_ascii_digit()) { digits.parse().map_err(drop)? } else { return Err(()) };
        let seconds = number.checked_mul(unit).filter(|seconds| (SHORTEST..=LONGEST).contains(seconds)).ok_or(())?;
        Ok(Self(Some(Duration::from_secs(seconds))))
    }
}

impl TryFrom<String> for Sweep {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|()| format!("`{text}` is not {FORM}"))
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(every) = self.0 else { return f.write_str("off") };
        let seconds = every.as_secs();
        let (unit, word) = [(DAY, 'd'), (HOUR, 'h')]
            .into_iter()
            .find(|(unit, _)| seconds.is_multiple_of(*unit))
            .unwrap_or((MINUTE, 'm'));
        write!(f, "{}{word}", seconds / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_written_as_it_is_read() {
        for text in ["off", "10m", "90m", "6h", "1d", "7d"] {
            assert_eq!(text.parse::<Sweep>().unwrap().to_string(), text);
        }
        assert_eq!(Sweep::default().to_string(), "6h");
        assert_eq!("120m".parse::<Sweep>().unwrap().to_string(), "2h");
    }

    #[test]
    fn what_is_no_interval_is_none() {
        for text in ["", "h", "6", "6 h", "+6h", "-6h", "9m", "8d", "0h", "6H", "OFF", "18446744073709551615d", "ä"] {
            assert!(text.parse::<Sweep>().is_err(), "{text}");
        }
    }
}
