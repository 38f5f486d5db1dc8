//! Accounts, as GitHub shows whoever wrote something.

use serde::{Deserialize, Serialize};

/// Who wrote something. A deleted account reads as `ghost`, id 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    pub id: u64,
    pub login: String,
    /// The account's type is `Bot`. A login that ends in `[bot]` proves nothing.
    pub bot: bool,
}

#[derive(Deserialize)]
pub(super) struct UserWire {
    pub(super) id: u64,
    pub(super) login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl User {
    pub(super) fn of(wire: Option<UserWire>) -> Self {
        match wire {
            Some(wire) => Self { id: wire.id, login: wire.login, bot: wire.kind.as_deref() == Some("Bot") },
            None => Self { id: 0, login: "ghost".to_owned(), bot: false },
        }
    }
}
