//! Which names mean something to us: variables, and keys of files.

use serde::de::DeserializeOwned;

use super::Warning;
use crate::stdx::text::{did_you_mean, nearest};

/// Every variable that means something to us.
const VARIABLES: [&str; 31] = [
    "OCTOSWARM_ACCOUNTS",
    "OCTOSWARM_API_ALLOWED_HOSTS",
    "OCTOSWARM_API_ALLOWED_ORIGINS",
    "OCTOSWARM_API_MAX_UPLOAD_MIB",
    "OCTOSWARM_API_ROOTS",
    "OCTOSWARM_API_TOKEN",
    "OCTOSWARM_API_TOKEN_FILE",
    "OCTOSWARM_API_URL",
    "OCTOSWARM_APP_ID",
    "OCTOSWARM_CONFIG",
    "OCTOSWARM_LISTEN",
    "OCTOSWARM_LOG",
    "OCTOSWARM_LOG_FORMAT",
    "OCTOSWARM_METRICS_LISTEN",
    "OCTOSWARM_METRICS_TOKEN",
    "OCTOSWARM_METRICS_TOKEN_FILE",
    "OCTOSWARM_POLL",
    "OCTOSWARM_PRIVATE_KEY",
    "OCTOSWARM_PRIVATE_KEY_FILE",
    "OCTOSWARM_PUBLIC_URL",
    "OCTOSWARM_RECONCILE_SECONDS",
    "OCTOSWARM_RETENTION_DAYS",
    "OCTOSWARM_SCOUT_SWEEP",
    "OCTOSWARM_SETTLE_MS",
    "OCTOSWARM_STATE",
    "OCTOSWARM_WEBHOOK_SECRET",
    "OCTOSWARM_WEBHOOK_SECRET_FILE",
    "OCTOSWARM_WEBHOOK_SECRET_PREVIOUS",
    "OCTOSWARM_WEB_URL",
    "OCTOSWARM_WORKERS",
    "OCTOSWARM_WRITE_PACE_MS",
];

/// Sentences about variables that begin as ours do and are not.
pub(super) fn unknown_variables(names: Vec<String>) -> Vec<Warning> {
    let ours = names.into_iter().filter(|name| name.starts_with("OCTOSWARM_"));
    let unknown = ours.filter(|name| !VARIABLES.contains(&name.as_str()));
    unknown
        .map(|name| {
            let near = did_you_mean(nearest(&name, VARIABLES.iter().copied()));
            Warning { setting: None, text: format!("the variable {name} has no effect{near}") }
        })
        .collect()
}

/// The keys that a type takes, as serde knows them.
pub(super) fn known_keys<W: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    let _never_a_value = <W as serde::Deserialize>::deserialize(Fields(&mut found));
    found
}

/// Asks a type for its fields and gives it nothing.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> serde::Deserializer<'de> for Fields<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("only structs are asked for their fields"))
    }

    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(serde::de::Error::custom("the fields are all that is asked for"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
