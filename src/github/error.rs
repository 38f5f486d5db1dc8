//! What can go wrong between us and GitHub, and what the queue and the reader should do about it.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::Class;

/// Texts inside are already redacted: every constructor in `client` passes them through `redact`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the App's private key cannot be read")]
    PrivateKey(#[source] jsonwebtoken::errors::Error),
    #[error("the App's JWT cannot be signed")]
    Sign(#[source] jsonwebtoken::errors::Error),
    #[error("`{value}` cannot be used as a base address: {reason}")]
    Base { value: String, reason: &'static str },
    #[error("the HTTP client cannot be built")]
    Client(#[source] reqwest::Error),

    /// 401, also with a freshly minted token.
    #[error("GitHub did not accept our credentials for {call}: {message}")]
    Unauthorized { call: String, message: String },
    /// 403 or GraphQL's FORBIDDEN. `needs` is what the endpoint table says the call takes.
    #[error("GitHub refused {call}: {message}")]
    Forbidden { call: String, message: String, needs: String },
    /// 404 or 410: gone, renamed away, or hidden from this installation.
    #[error("GitHub does not know {call}")]
    NotFound { call: String },
    /// 409: the repository has no commit yet.
    #[error("the repository behind {call} is empty")]
    EmptyRepository { call: String },
    /// Any other 409: somebody changed the same thing at the same time.
    #[error("GitHub refused {call} because of its present state: {message}")]
    Conflict { call: String, message: String },
    /// 422: the request was understood and refused.
    #[error("GitHub refused the content of {call}: {message}{}", list(.errors))]
    Validation { call: String, message: String, errors: Vec<String> },
    /// A primary or secondary limit; also raised without asking while a known block lasts.
    #[error("GitHub limits our requests; next try in {} s", .retry_after.as_secs())]
    RateLimited { retry_after: Duration },
    /// 5xx, or any status that we do not know.
    #[error("GitHub answered {status} to {call}")]
    Server { call: String, status: u16 },
    /// The request may or may not have arrived: whoever writes must look before sending again.
    #[error("no answer from GitHub to {call}")]
    Network {
        call: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("no answer from GitHub to {call} within {} s", .after.as_secs())]
    Timeout { call: String, after: Duration },
    #[error("{what} is larger than the limit of {limit}")]
    TooLarge { what: String, limit: String },
    /// A redirect or a next page that leads to another origin: not followed, the token stays here.
    #[error("GitHub's answer to {call} leads to {to}, which was not followed")]
    Redirected { call: String, to: String },
    #[error("GitHub's answer to {call} cannot be read")]
    Decode {
        call: String,
        #[source]
        source: serde_json::Error,
    },
    /// GraphQL `errors` of a type that we do not know.
    #[error("GitHub's GraphQL refused {call}: {message}")]
    Graphql { call: String, message: String },
    /// A directory, a symbolic link or a submodule where a file was asked for.
    #[error("`{path}` is a {kind}, not a file")]
    NotAFile { path: String, kind: String },
    /// One mint failed for all who waited for it.
    #[error(transparent)]
    Shared(Arc<Error>),
}

/// Why a server could not be reached at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreached {
    /// Its name is unknown.
    Dns,
    /// Nothing listens there, or no way leads there.
    Connect,
    /// Somebody answers who cannot prove to be that server, or does not speak TLS as we do.
    Tls(String),
    /// The connection broke.
    Broken,
}

impl Unreached {
    /// Wrapped errors do not all name their cause as their source: `io::Error` hides its own.
    fn find(error: &(dyn std::error::Error + 'static)) -> Self {
        let (mut next, mut found) = (Some(error), Self::Broken);
        while let Some(error) = next {
            if let Some(tls) = error.downcast_ref::<rustls::Error>() {
                return Self::Tls(tls.to_string());
            }
            if error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect) {
                found = Self::Connect;
            }
            if error.to_string().starts_with("dns error") {
                return Self::Dns;
            }
            let hidden = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            next = match hidden {
                Some(hidden) => Some(hidden),
                None => error.source(),
            };
        }
        found
    }
}

/// What mends a 403: GitHub's message tells the cases apart, the status does not.
fn forbidden_hint(message: &str, needs: &str) -> String {
    if message.contains("suspended") {
        return "unsuspend the App under Settings > Applications of the account that has it installed".to_owned();
    }
    if message.contains("archived") || message.contains("read-only") {
        return "unarchive the repository; until then nothing can be written to it".to_owned();
    }
    if message.contains("locked") {
        return "unlock the conversation; until then nobody can write in it".to_owned();
    }
    let grant = match needs {
        "" => String::new(),
        needs => format!(
            "the call needs {needs}: grant it in the App's settings, accept it in the installation's settings, and "
        ),
    };
    format!("{grant}check that the installation is not suspended and the repository not archived")
}

fn list(errors: &[String]) -> String {
    if errors.is_empty() { String::new() } else { format!(" ({})", errors.join("; ")) }
}

impl Error {
    /// The only question the queue ever asks of an error.
    pub fn class(&self) -> Class {
        match self {
            Self::PrivateKey(_)
            | Self::Sign(_)
            | Self::Base { .. }
            | Self::Client(_)
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::EmptyRepository { .. }
            | Self::Validation { .. }
            | Self::TooLarge { .. }
            | Self::Redirected { .. }
            | Self::NotAFile { .. } => Class::Discard,
            // The limit is the account's, not the job's. "Retry-After: 0" must not become a storm.
            Self::RateLimited { retry_after } => Class::Snooze((*retry_after).max(Duration::from_secs(1))),
            // A revoked key or a wrong clock is mended by a person, and minutes matter little until then.
            Self::Unauthorized { .. } => Class::RetryAfter(Duration::from_secs(60)),
            Self::Conflict { .. }
            | Self::Server { .. }
            | Self::Network { .. }
            | Self::Timeout { .. }
            | Self::Decode { .. }
            | Self::Graphql { .. } => Class::Retry,
            Self::Shared(inner) => inner.class(),
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::PrivateKey(_) | Self::Sign(_) => {
                "give the PEM file that GitHub made under Settings > Developer settings > GitHub Apps > Private keys".into()
            }
            Self::Base { .. } => "use https, for instance https://api.github.com or https://ghe.example.com/api/v3".into(),
            Self::Client(_) => "check the system's certificate store and proxy settings".into(),
            Self::Unauthorized { .. } => {
                "check that the App id belongs to the private key, that the key was not deleted, and that this machine's clock is right".into()
            }
            Self::Forbidden { message, needs, .. } => forbidden_hint(&message.to_ascii_lowercase(), needs),
            Self::NotFound { .. } => {
                "check that the App is installed on the repository, that the object was not deleted, and that the repository's issues are switched on".into()
            }
            Self::EmptyRepository { .. } => "push a first commit".into(),
            Self::Conflict { .. } => "the job tries again by itself, after a fresh look".into(),
            Self::Validation { .. } => "the request is not repeated as it is; the message says what GitHub objects to".into(),
            Self::RateLimited { retry_after } => format!("the job waits {} s by itself", retry_after.as_secs()),
            Self::Server { .. } | Self::Network { .. } | Self::Timeout { .. } | Self::Decode { .. } | Self::Graphql { .. } => {
                "the job tries again by itself; if it lasts, see https://www.githubstatus.com and the proxy between here and GitHub".into()
            }
            Self::TooLarge { .. } => "make it smaller; it is not read in part".into(),
            Self::Redirected { .. } => "set the API's base address to where GitHub really answers".into(),
            Self::NotAFile { .. } => "put a regular file there".into(),
            Self::Shared(inner) => return inner.hint(),
        })
    }

    /// Set when no server answered.
    pub fn unreached(&self) -> Option<Unreached> {
        match self.root() {
            Self::Network { source, .. } => Some(Unreached::find(source.as_ref())),
            Self::Timeout { .. } => Some(Unreached::Connect),
            _ => None,
        }
    }

    /// The error itself, also when it was shared among several waiters.
    pub fn root(&self) -> &Self {
        match self {
            Self::Shared(inner) => inner.root(),
            other => other,
        }
    }
}
