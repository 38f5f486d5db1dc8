//! Who we are: the App's JWT, and installation tokens narrowed to one purpose and, but for listing, one repository.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use moka::future::Cache;
use moka::ops::compute::Op;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{self, Client};
use super::endpoint::{self, Access};
use super::error::Error;
use crate::domain::{Clock, InstallationId, Millis, RepositoryId, Secret};

/// Clocks differ; GitHub asks for a minute of allowance and refuses more than ten minutes ahead.
const ISSUED_BACK: Millis = 60_000;
const VALID_FOR: Millis = 9 * 60_000;
/// A token is renewed this long before GitHub stops accepting it, so that none dies on the way.
const RENEW_BEFORE: Millis = 6 * 60_000;

pub(super) struct Auth {
    app_id: u64,
    key: EncodingKey,
    clock: Clock,
    tokens: Cache<Key, Arc<Token>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) installation: InstallationId,
    /// `None` reaches every repository of the installation, so only [`Access::Survey`] goes without.
    pub(super) repository: Option<RepositoryId>,
    pub(super) access: Access,
}

#[derive(Debug)]
pub(super) struct Token {
    pub(super) secret: Secret,
    expires_at: Millis,
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

#[derive(Deserialize)]
struct MintedWire {
    token: String,
    expires_at: chrono::DateTime<chrono::Utc>,
}

impl Auth {
    /// `pem` may be PKCS#1 (what GitHub hands out) or PKCS#8.
    pub(super) fn new(app_id: u64, pem: &Secret, clock: Clock) -> Result<Self, Error> {
        let key = EncodingKey::from_rsa_pem(pem.expose().as_bytes()).map_err(Error::PrivateKey)?;
        Ok(Self { app_id, key, clock, tokens: Cache::new(10_000) })
    }

    /// A fresh JWT; signing costs less than keeping one.
    pub(super) fn jwt(&self) -> Result<Secret, Error> {
        let issued = self.clock.now() - ISSUED_BACK;
        let claims =
            Claims { iat: issued / 1000, exp: (issued + ISSUED_BACK + VALID_FOR) / 1000, iss: self.app_id.to_string() };
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key).map(Secret::new).map_err(Error::Sign)
    }

    /// The cached token, or a new one. However many ask at once, one request goes out and all share its answer.
    pub(super) async fn token(&self, client: &Client, key: Key) -> Result<Arc<Token>, Error> {
        if let Some(token) = self.tokens.get(&key).await
            && token.expires_at - self.clock.now() <= RENEW_BEFORE
        {
            self.forget(key, &token).await;
        }
        self.tokens.try_get_with(key, self.mint(client, key)).await.map_err(Error::Shared)
    }

    /// Drops this very token: a newer one that somebody else has fetched meanwhile stays.
    pub(super) async fn forget(&self, key: Key, stale: &Arc<Token>) {
        let decide = |entry: Option<moka::Entry<Key, Arc<Token>>>| {
            let same = entry.is_some_and(|entry| Arc::ptr_eq(entry.value(), stale));
            std::future::ready(if same { Op::Remove } else { Op::Nop })
        };
        self.tokens.entry(key).and_compute_with(decide).await;
    }

    async fn mint(&self, client: &Client, key: Key) -> Result<Arc<Token>, Error> {
        let permissions = key.access.permissions();
        let body = match key.repository {
            Some(repository) => json!({ "repository_ids": [repository], "permissions": permissions }),
            None => json!({ "permissions": permissions }),
        };
        let call = client.call(&endpoint::MINT_TOKEN, &[&key.installation.to_string()]).body(body);
        let answer = client.send(key.installation.0, &self.jwt()?, &call).await.map_err(|error| match error {
            // Asking for a permission that the installation's owner has not accepted.
            Error::Validation { call, message, .. } => {
                let needs: Vec<_> = permissions.iter().map(|(name, level)| format!("`{name}: {level}`")).collect();
                Error::Forbidden { call, message, needs: needs.join(" and ") }
            }
            other => other,
        })?;
        let minted: MintedWire = client::decode(&call, &answer.body)?;
        Ok(Arc::new(Token { secret: Secret::new(minted.token), expires_at: minted.expires_at.timestamp_millis() }))
    }
}
