//! Who is calling, and whether that one may.

use base64::Engine;
use http::HeaderMap;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::Value;

use super::Ctx;
use super::routes::{Door, Route};
use crate::demo::Shared;
use crate::demo::refusal::Refusal;
use crate::demo::state::{Level, Permissions, Token, World};

#[derive(Debug, Clone)]
pub enum Actor {
    None,
    /// The App itself, by its JWT.
    App,
    Installation(Token),
}

impl Actor {
    pub fn word(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::App => "app",
            Self::Installation(_) => "installation",
        }
    }
}

pub fn actor(shared: &Shared, world: &World, headers: &HeaderMap) -> Result<Actor, Refusal> {
    let Some(header) = headers.get("authorization") else { return Ok(Actor::None) };
    let header = header.to_str().map_err(|_| Refusal::unauthorized("Bad credentials"))?;
    let (scheme, secret) = header.split_once(' ').ok_or_else(|| Refusal::unauthorized("Bad credentials"))?;
    if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
        return Err(Refusal::unauthorized("Bad credentials"));
    }
    if secret.starts_with("ghs_") {
        return verify_token(world, secret).map(Actor::Installation);
    }
    if secret.split('.').count() == 3 {
        if !world.registered {
            return Err(Refusal::new(404, "Integration not found"));
        }
        return verify_jwt(shared, world, secret).map(|()| Actor::App);
    }
    Err(Refusal::unauthorized("Bad credentials"))
}

pub fn verify_token(world: &World, secret: &str) -> Result<Token, Refusal> {
    let bad = || Refusal::unauthorized("Bad credentials");
    let token = world.tokens.get(secret).ok_or_else(bad)?;
    if token.expires_at <= world.now() || world.uninstalled {
        return Err(bad());
    }
    if world.suspended_at.is_some() {
        return Err(Refusal::new(403, "This installation has been suspended"));
    }
    Ok(token.clone())
}

/// RS256 with the App's key; `iss` is the App, `iat` not in the future, `exp` at most ten minutes ahead.
fn verify_jwt(shared: &Shared, world: &World, jwt: &str) -> Result<(), Refusal> {
    let mut rules = Validation::new(Algorithm::RS256);
    rules.validate_exp = false;
    rules.validate_aud = false;
    rules.required_spec_claims.clear();
    let claims = jsonwebtoken::decode::<Value>(jwt, &shared.decoding_key, &rules)
        .map_err(|_| Refusal::unauthorized("A JSON web token could not be decoded"))?
        .claims;
    let now = world.now() / 1000;
    let issuer = claims["iss"].as_str().map(str::to_owned).or_else(|| claims["iss"].as_u64().map(|n| n.to_string()));
    let client_id = format!("Iv23li{:014}", world.app_id);
    if !issuer.is_some_and(|iss| iss == world.app_id.to_string() || iss == client_id) {
        return Err(Refusal::unauthorized("'Issuer' claim ('iss') must be the App's id or client id"));
    }
    let iat = claims["iat"].as_i64().filter(|iat| *iat <= now).ok_or_else(|| {
        Refusal::unauthorized(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        )
    })?;
    let exp = claims["exp"].as_i64().filter(|exp| *exp > now).ok_or_else(|| {
        Refusal::unauthorized(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        )
    })?;
    if exp > now + 600 || exp - iat > 660 {
        return Err(Refusal::unauthorized("'Expiration time' claim ('exp') is too far in the future"));
    }
    Ok(())
}

/// Lets a call through to its handler, or says which way it is wrong.
pub fn admit(world: &World, ctx: &Ctx, route: &Route) -> Result<(), Refusal> {
    match (&route.door, &ctx.actor) {
        (Door::Anyone, _) | (Door::App, Actor::App) => {}
        (Door::App, Actor::Installation(_)) => {
            return Err(Refusal::unauthorized("A JSON web token could not be decoded"));
        }
        (Door::App | Door::Installation(_), Actor::None) => {
            return Err(Refusal::unauthorized("Requires authentication"));
        }
        (Door::Public(_), Actor::None) => {
            let repo = ctx.repo(world)?;
            if world.repo(repo)?.private {
                return Err(Refusal::not_found());
            }
        }
        (Door::Installation(_) | Door::Public(_), Actor::App) => return Err(Refusal::unauthorized("Bad credentials")),
        (Door::Installation(needs) | Door::Public(needs), Actor::Installation(token)) => {
            if ctx.params.contains_key("owner") {
                let repo = ctx.repo(world)?;
                if !reaches(world, token, repo) {
                    return Err(Refusal::not_found());
                }
            }
            if !needs.is_empty() && !needs.iter().any(|(name, level)| allows(&token.permissions, name, *level)) {
                return Err(Refusal::forbidden());
            }
        }
    }
    Ok(())
}

pub fn allows(permissions: &Permissions, name: &str, level: Level) -> bool {
    permissions.get(name).is_some_and(|held| *held >= level)
}

pub fn reaches(world: &World, token: &Token, repo: u64) -> bool {
    world.covers(repo) && token.repositories.as_ref().is_none_or(|ids| ids.contains(&repo))
}

/// `user:password` of Basic authentication, as git sends it.
pub fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let header = headers.get("authorization")?.to_str().ok()?;
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}
