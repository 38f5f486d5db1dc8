//! Columns to domain types. A value that does not fit is `Damaged`, never a panic and never a default.

use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::Error;
use crate::domain::{DeliveryId, RunId};

/// A stored enum: kebab-case text, and the only place that spells it.
macro_rules! stored_enum {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|state| state.as_str() == text)
            }

            pub(super) fn load(row: &sqlx::sqlite::SqliteRow) -> Result<Self, super::Error> {
                let text: String = sqlx::Row::try_get(row, "state")?;
                Self::parse(&text)
                    .ok_or_else(|| super::Error::Damaged { what: $what, detail: format!("unknown state `{text}`") })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use stored_enum;

pub(super) fn delivery_id(row: &SqliteRow, column: &'static str) -> Result<Option<DeliveryId>, Error> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| DeliveryId::parse(&text).ok_or_else(|| damaged("delivery id", &text))).transpose()
}

pub(super) fn run_id(row: &SqliteRow, column: &'static str) -> Result<Option<RunId>, Error> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| RunId::parse(&text).ok_or_else(|| damaged("run id", &text))).transpose()
}

pub(super) fn json(row: &SqliteRow, column: &'static str, what: &'static str) -> Result<Option<Value>, Error> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|e| Error::Damaged { what, detail: e.to_string() })).transpose()
}

pub(super) fn required<T>(value: Option<T>, what: &'static str) -> Result<T, Error> {
    value.ok_or_else(|| Error::Damaged { what, detail: "a column is empty".to_owned() })
}

pub(super) fn damaged(what: &'static str, value: &str) -> Error {
    Error::Damaged { what, detail: format!("`{value}`") }
}

/// Sizes of answers: SQLite counts in `i64`.
pub(super) fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
