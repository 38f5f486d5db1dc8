//! The App's own endpoints: itself, its installation, tokens and the delivery log.

use base64::Engine;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ctx, Reply};
use crate::demo::refusal::Refusal;
use crate::demo::shape;
use crate::demo::state::{Delivery, Permissions, Token, World};
use crate::demo::webhook::Outgoing;
use crate::domain::clock::Millis;

pub fn app(world: &mut World, _: &Ctx) -> Result<Reply, Refusal> {
    Reply::ok(shape::app(world, world.app_id))
}

pub fn installations(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let all = if world.uninstalled { Vec::new() } else { vec![shape::installation(world)] };
    ctx.page(world, all)
}

fn known(world: &World, ctx: &Ctx) -> Result<(), Refusal> {
    if world.uninstalled || ctx.number("id")? != world.installation_id {
        return Err(Refusal::not_found());
    }
    Ok(())
}

pub fn installation(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    known(world, ctx)?;
    Reply::ok(shape::installation(world))
}

pub fn repo_installation(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let repo = world.find_repo(ctx.param("app_owner"), ctx.param("app_repo")).ok_or_else(Refusal::not_found)?;
    if !world.covers(repo) {
        return Err(Refusal::not_found());
    }
    Reply::ok(shape::installation(world))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    repositories: Option<Vec<String>>,
    repository_ids: Option<Vec<u64>>,
    permissions: Option<Permissions>,
}

pub fn access_token(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    known(world, ctx)?;
    if world.suspended_at.is_some() {
        return Err(Refusal::new(403, "This installation has been suspended"));
    }
    let wish: TokenRequest = if ctx.body.is_null() { TokenRequest::default() } else { ctx.body()? };
    let missing = || {
        Refusal::new(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
        )
    };
    let mut ids: Option<Vec<u64>> = None;
    for id in wish.repository_ids.into_iter().flatten() {
        ids.get_or_insert_default().push(Some(id).filter(|id| world.covers(*id)).ok_or_else(missing)?);
    }
    for name in wish.repositories.into_iter().flatten() {
        let id = world.find_repo(&world.account, &name).filter(|id| world.covers(*id)).ok_or_else(missing)?;
        ids.get_or_insert_default().push(id);
    }
    let granted = world.granted_permissions();
    let mut permissions = wish.permissions.unwrap_or_else(|| granted.clone());
    if permissions.iter().any(|(name, level)| granted.get(name).is_none_or(|held| held < level)) {
        return Err(Refusal::new(422, "The permissions requested are not granted to this installation."));
    }
    permissions.entry("metadata".to_owned()).or_insert(crate::demo::state::Level::Read);
    let expires_at = world.now() + 3_600_000;
    let token = Token { secret: mint(world.app_id), expires_at, repositories: ids.clone(), permissions };
    let repositories: Vec<Value> =
        ids.iter().flatten().filter_map(|id| world.repos.get(id)).map(|repo| shape::repository(world, repo)).collect();
    let mut body = json!({
        "token": token.secret,
        "expires_at": shape::time(expires_at),
        "permissions": token.permissions,
        "repository_selection": "selected",
    });
    if ids.is_some() {
        body["repositories"] = Value::Array(repositories);
    }
    world.tokens.insert(token.secret.clone(), token);
    Reply::created(body)
}

/// The shape of today's tokens: `ghs_<app id>_<JWT>`, some 520 characters, with nothing in it that another token shares.
fn mint(app_id: u64) -> String {
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let header = engine.encode(r#"{"alg":"RS256","typ":"JWT"}"#);
    let claims = json!({"iss": "https://github.example", "sub": app_id, "jti": uuid::Uuid::new_v4().to_string()});
    let signature: Vec<u8> = (0..16).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
    format!("ghs_{app_id}_{header}.{}.{}", engine.encode(claims.to_string()), engine.encode(signature))
}

pub fn hook_config(world: &mut World, _: &Ctx) -> Result<Reply, Refusal> {
    let hook = &world.hook;
    let mut body = json!({
        "content_type": if hook.json { "json" } else { "form" },
        "insecure_ssl": if hook.checks_certificates { "0" } else { "1" },
        "url": world.webhook_url,
    });
    if hook.signed {
        body["secret"] = json!("********");
    }
    Reply::ok(body)
}

/// GitHub forgets a delivery after three days.
fn oldest(world: &World) -> Millis {
    world.now() - 3 * 24 * 3_600_000
}

/// Newest first; the cursor is the id of the next delivery to show.
pub fn deliveries(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let from = match ctx.query.get("cursor") {
        None => u64::MAX,
        Some(text) => text
            .strip_prefix("v1_")
            .and_then(|id| id.parse().ok())
            .ok_or_else(|| Refusal::invalid("Delivery", "cursor", "invalid", "cursor is not one the box gave out"))?,
    };
    let status = ctx.query.get("status").map(String::as_str);
    if status.is_some_and(|status| !["success", "failure"].contains(&status)) {
        return Err(Refusal::invalid("Delivery", "status", "invalid", "status is success or failure"));
    }
    let since = oldest(world);
    let fits = |d: &&Delivery| {
        d.id <= from
            && d.delivered_at >= since
            && status.is_none_or(|status| (status == "success") == (200..400).contains(&d.status_code))
    };
    let size = ctx.per_page()?;
    let mut found: Vec<_> = world.deliveries.iter().rev().filter(fits).take(size + 1).collect();
    let next = if found.len() > size { found.pop().map(|d| d.id) } else { None };
    let body: Vec<Value> = found.into_iter().map(|d| shape::delivery(world, d, false)).collect();
    let headers = next
        .map(|id| ("link".to_owned(), ctx.link(world, &[("cursor", format!("v1_{id}"))], "next")))
        .into_iter()
        .collect();
    Ok(Reply { status: 200, body: Some(Value::Array(body)), headers })
}

pub fn delivery(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.number("id")?;
    let since = oldest(world);
    let kept = |d: &&Delivery| d.id == id && d.delivered_at >= since;
    let found = world.deliveries.iter().find(kept).ok_or_else(Refusal::not_found)?;
    Reply::ok(shape::delivery(world, found, true))
}

pub fn redeliver(world: &mut World, ctx: &Ctx) -> Result<Reply, Refusal> {
    let id = ctx.number("id")?;
    let since = oldest(world);
    let kept = |d: &&Delivery| d.id == id && d.delivered_at >= since;
    let found = world.deliveries.iter().find(kept).ok_or_else(Refusal::not_found)?;
    let again = Outgoing {
        guid: found.guid.clone(),
        event: found.event.clone(),
        action: found.action.clone(),
        redelivery: true,
        installation_id: found.installation_id,
        repository_id: found.repository_id,
        body: found.payload.clone(),
    };
    world.post(again);
    Ok(Reply { status: 202, body: Some(json!({})), headers: Vec::new() })
}

pub fn rate_limit(world: &mut World, _: &Ctx) -> Result<Reply, Refusal> {
    let left = world.requests_left;
    let reset = world.resets_at() / 1000;
    let rate = json!({"limit": world.hourly, "used": world.hourly - left, "remaining": left, "reset": reset});
    Reply::ok(json!({
        "resources": {"core": rate, "search": {"limit": 30, "used": 0, "remaining": 30, "reset": reset}, "graphql": rate},
        "rate": rate,
    }))
}

pub fn meta(world: &mut World, _: &Ctx) -> Result<Reply, Refusal> {
    Reply::ok(json!({"verifiable_password_authentication": false, "installed_version": world.version}))
}
