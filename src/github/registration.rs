//! The last step of the manifest flow: a code becomes an App.

use serde::Deserialize;

use super::error::Error;
use super::{Options, client, endpoint};
use crate::domain::{Clock, Secret};

/// An App that GitHub has just made. It shows the secrets once, here.
#[derive(Debug)]
pub struct NewApp {
    pub id: u64,
    pub slug: String,
    pub html_url: String,
    /// Login of the account that owns it, or slug of the enterprise.
    pub owner: Option<String>,
    pub private_key: Secret,
    /// GitHub makes one for every App with a webhook; its description allows for none.
    pub webhook_secret: Option<Secret>,
}

/// Only what is needed: the rest of the answer differs among versions of the Enterprise Server.
#[derive(Deserialize)]
struct NewAppWire {
    id: u64,
    slug: Option<String>,
    html_url: String,
    pem: String,
    webhook_secret: Option<String>,
    owner: Option<OwnerWire>,
}

#[derive(Deserialize)]
struct OwnerWire {
    login: Option<String>,
    slug: Option<String>,
}

/// Exchanges the code that GitHub gave to the browser. It works once, and within an hour; nothing is sent a second time.
///
/// # Errors
/// `NotFound` when the code was used, is too old, or was never given out; else as [`Error`] says.
pub async fn create_app(api_base: &str, code: &str, clock: &Clock) -> Result<NewApp, Error> {
    let nobody = || Secret::new(String::new());
    let options = Options { api_base: api_base.to_owned(), clock: clock.clone(), ..Options::new(0, nobody()) };
    let client = client::Client::new(&options)?;
    let call = client.call(&endpoint::CREATE_APP, &[code]);
    let wire: NewAppWire = client::decode(&call, &client.send(0, &nobody(), &call).await?.body)?;
    // The slug is the last part of the address where it is not said.
    let slug = wire.slug.or_else(|| wire.html_url.rsplit('/').next().map(str::to_owned)).unwrap_or_default();
    Ok(NewApp {
        id: wire.id,
        slug,
        html_url: wire.html_url,
        owner: wire.owner.and_then(|owner| owner.login.or(owner.slug)),
        private_key: Secret::new(wire.pem),
        webhook_secret: wire.webhook_secret.map(Secret::new).filter(|secret| !secret.is_empty()),
    })
}
