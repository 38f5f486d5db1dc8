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
pub async fn create_app(api_base: &str, web_base: &str, code: &str, clock: &Clock) -> Result<NewApp, Error> {
    let nobody = || Secret::new(String::new());
    let options = Options { api_base: api_base.to_owned(), clock: clock.clone(), ..Options::new(0, nobody()) };
    let client = client::Client::new(&options)?;
    let call = client.call(&endpoint::CREATE_APP, &[code]);
    let wire: NewAppWire = client::decode(&call, &client.send(0, &nobody(), &call).await?.body)?;
    // The slug is the last part of the address where it is not said.
    let slug = wire.slug.or_else(|| wire.html_url.rsplit('/').next().map(str::to_owned)).unwrap_or_default();
    let (slug, html_url) = usual(&slug, wire.html_url, web_base);
    Ok(NewApp {
        id: wire.id,
        slug,
        html_url,
        owner: wire.owner.and_then(|owner| owner.login.or(owner.slug)),
        private_key: Secret::new(wire.pem),
        webhook_secret: wire.webhook_secret.map(Secret::new).filter(|secret| !secret.is_empty()),
    })
}

/// Both become parts of links and of lines on a terminal: the slug keeps what GitHub makes slugs of, and the page is on the
/// GitHub that was asked.
fn usual(slug: &str, html_url: String, web_base: &str) -> (String, String) {
    let slug: String =
        slug.chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').take(100).collect();
    let there = html_url.strip_prefix(web_base).is_some_and(|path| {
        path.starts_with('/') && path.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.".contains(c))
    });
    let html_url = if there { html_url } else { format!("{web_base}/apps/{slug}") };
    (slug, html_url)
}

#[cfg(test)]
mod tests {
    use super::usual;

    #[test]
    fn an_app_has_its_page_on_the_github_that_made_it() {
        let usual = |slug: &str, url: &str| usual(slug, url.to_owned(), "https://ghe.example");
        let page = |slug: &str, url: &str| (slug.to_owned(), url.to_owned());
        let kept = "https://ghe.example/github-apps/swarm-7";
        assert_eq!(usual("swarm-7", kept), page("swarm-7", kept));
        for odd in [
            "https://evil.example/x",
            "https://ghe.example.evil.example/",
            "javascript:alert(1)",
            "https://ghe.example/\"",
        ] {
            assert_eq!(usual("swarm-7", odd), page("swarm-7", "https://ghe.example/apps/swarm-7"), "{odd}");
        }
        assert_eq!(usual("swarm/../7\u{1b}[", "").0, "swarm7");
    }
}
