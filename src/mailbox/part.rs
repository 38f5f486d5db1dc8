//! Parts of a message that can tell all that is wrong with them, each fault with its JSON path.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{AgentName, MessageId, Timestamp};
use crate::stdx::text;

/// So many faults are told one by one; a list of a million wrong entries is one mistake.
const MOST: usize = 50;

/// What is wrong with a value, in the order of its fields.
#[derive(Debug, Default)]
pub(super) struct Faults {
    told: Vec<String>,
    more: usize,
}

impl Faults {
    pub(super) fn push(&mut self, at: &str, what: &str) {
        if self.told.len() < MOST {
            // Values are quoted in what serde says, and may be as long as a message.
            self.told.push(format!("{at}: {}", text::truncate_chars(what, 240)));
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    pub(super) fn into_vec(mut self) -> Vec<String> {
        if self.more > 0 {
            self.told.push(format!("$: {} are not listed", text::count(self.more, "more fault")));
        }
        self.told
    }
}

/// A type that stands in a message. A value without faults can be deserialized.
pub(super) trait Part: DeserializeOwned {
    /// Whether the field may be absent.
    const OPTIONAL: bool = false;

    /// Adds what is wrong with `value`, which stands at the path `at`.
    fn check(value: &Value, at: &str, faults: &mut Faults) {
        if let Err(error) = Self::deserialize(value) {
            faults.push(at, &in_json(&error.to_string()));
        }
    }
}

/// What serde says of a value, in the words of JSON instead of Rust's.
fn in_json(said: &str) -> String {
    let words = [
        ("invalid type: sequence", "is a list"),
        ("invalid type: map", "is an object"),
        ("invalid type: string", "is the text"),
        ("invalid type: boolean", "is"),
        ("invalid type: integer", "is the number"),
        ("invalid type: floating point", "is the number"),
        ("invalid type: null", "is null"),
        ("expected a map", "expected an object"),
        ("expected f64", "expected a number"),
        ("expected a string", "expected a text"),
    ];
    words.iter().fold(said.to_owned(), |said, (theirs, ours)| said.replacen(theirs, ours, 1))
}

impl Part for String {}
impl Part for f64 {}

impl Part for u64 {
    fn check(value: &Value, at: &str, faults: &mut Faults) {
        if whole_of(value).is_none() {
            faults.push(at, &format!("{value} is no whole number from 0 on"));
        }
    }
}

/// Reads a whole number, also one that a language without whole numbers wrote as `3.0`.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    whole_of(&value).ok_or_else(|| serde::de::Error::custom(format!("{value} is no whole number from 0 on")))
}

fn whole_of(value: &Value) -> Option<u64> {
    /// Beyond it not every whole number is one of those.
    const MOST: f64 = 9_007_199_254_740_992.0;
    let float = || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=MOST).contains(number));
    value.as_u64().or_else(|| float().map(|number| number as u64))
}

impl Part for Map<String, Value> {}
impl Part for AgentName {}
impl Part for MessageId {}
impl Part for Timestamp {}

impl<T: Part> Part for Option<T> {
    const OPTIONAL: bool = true;

    fn check(value: &Value, at: &str, faults: &mut Faults) {
        if !value.is_null() {
            T::check(value, at, faults);
        }
    }
}

impl<T: Part> Part for Vec<T> {
    fn check(value: &Value, at: &str, faults: &mut Faults) {
        let Some(items) = value.as_array() else {
            return faults.push(at, "not a list");
        };
        for (n, item) in items.iter().enumerate() {
            T::check(item, &format!("{at}[{n}]"), faults);
        }
    }
}

impl<T: Part> Part for BTreeMap<String, T> {
    fn check(value: &Value, at: &str, faults: &mut Faults) {
        let Some(map) = value.as_object() else {
            return faults.push(at, "not an object");
        };
        for (key, item) in map {
            T::check(item, &format!("{at}[{:?}]", text::truncate_chars(key, 80)), faults);
        }
    }
}

/// Checks one field of an object; `other` is a second name that is read where the first is absent.
pub(super) fn field<T: Part>(map: &Map<String, Value>, name: &str, other: Option<&str>, at: &str, faults: &mut Faults) {
    let named = |name: &str| map.get(name).map(|value| (format!("{at}.{name}"), value));
    match named(name).or_else(|| other.and_then(named)) {
        Some((at, value)) => T::check(value, &at, faults),
        None if T::OPTIONAL => {}
        None => faults.push(&format!("{at}.{name}"), "missing"),
    }
}

/// Gives a field its first name; where both are there, the second is one of the fields that nobody knows.
pub(super) fn rename(map: &mut Map<String, Value>, other: &str, name: &str) {
    if let Some(value) = map.remove(other) {
        map.entry(name).or_insert(value);
    }
}

/// Numbers that have bounds.
macro_rules! bounded {
    ($($(#[$doc:meta])* $name:ident: $range:expr, $said:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            pub const ZERO: Self = Self(0.0);

            /// `None` beyond its bounds.
            pub fn new(value: f64) -> Option<Self> {
                ($range.contains(&value) && value.is_finite()).then_some(Self(value))
            }

            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = String;

            fn try_from(value: f64) -> Result<Self, String> {
                Self::new(value).ok_or_else(|| format!("{value} is {}", $said))
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }

        impl Part for $name {}
    )*};
}

bounded! {
    /// From 0.0 to 1.0: a confidence, a load, a health.
    Fraction: (0.0..=1.0), "not between 0.0 and 1.0";
    /// From 0 to 100.
    Percent: (0.0..=100.0), "not between 0 and 100";
    /// Not below nothing: minutes, hours, seconds, megabytes.
    Amount: (0.0..), "below 0";
}
