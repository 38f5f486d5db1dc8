//! The part of GraphQL that REST lacks: review threads, resolving them, hiding comments.

use serde_json::Value;

use super::Shared;
use super::http::{Actor, Reply};
use super::refusal::Refusal;
use super::state::World;

pub fn answer(_: &Shared, _: &mut World, _: &str, _: &Actor, _: &Value) -> Result<Reply, Refusal> {
    Err(Refusal::new(501, "the box does not speak GraphQL yet"))
}
