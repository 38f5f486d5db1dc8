//! git's smart HTTP over rustls: the only way a byte of this room reaches the network.
//!
//! libgit2 sees a made-up address (`octoswarm://remote`), so neither the real one nor the token is in its hands, its configuration or its messages.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport};
use http::{HeaderValue, StatusCode, header};
use reqwest::{Client, Response, Url};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::limits::Limits;
use crate::domain::Credential;
use crate::stdx::text::binary_size;

/// What libgit2 believes it fetches from.
pub(super) const ADDRESS: &str = "octoswarm://remote";

thread_local! {
    /// libgit2 makes the transport on the thread that asked for the fetch, and has no other way to hand over what belongs to it.
    static CURRENT: RefCell<Option<Arc<Session>>> = const { RefCell::new(None) };
}

/// One fetch or push: where to, with what token, how much, until when.
pub(super) struct Session {
    base: Url,
    origin: String,
    authorization: Option<HeaderValue>,
    client: Client,
    runtime: Handle,
    limits: Limits,
    deadline: Instant,
    cancel: CancellationToken,
    /// The first thing that went wrong here; libgit2 carries only its text.
    failure: Mutex<Option<Error>>,
}

/// As long as it lives, libgit2's fetches on this thread use its session.
pub(super) struct Entered(());

/// Tells libgit2 about the scheme; once a process.
#[expect(unsafe_code, reason = "libgit2 keeps its transports in a global list; `git::tame` calls this once")]
pub(super) fn register() -> Result<(), git2::Error> {
    // SAFETY: called within `git::tame`'s `OnceLock`, before any other use of libgit2's transports.
    unsafe {
        git2::transport::register("octoswarm", |remote| {
            let session = CURRENT
                .with_borrow(Clone::clone)
                .ok_or_else(|| git2::Error::from_str("a fetch was started outside a session"))?;
            Transport::smart(remote, true, Http(session))
        })
    }
}

/// The client all sessions share: no redirects, no proxies from the environment, our own timeouts.
pub(super) fn client(limits: &Limits) -> Result<Client, Error> {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(limits.connect)
        .user_agent(concat!("git/2.0 (octoswarm ", env!("CARGO_PKG_VERSION"), ")"))
        .build()
        .map_err(|source| Error::Network { origin: "the HTTP client".to_owned(), source })
}

impl Session {
    pub(super) fn new(
        url: &str,
        credential: Option<&Credential>,
        client: Client,
        limits: Limits,
        cancel: CancellationToken,
    ) -> Result<Arc<Self>, Error> {
        let base = address(url)?;
        let origin = base.origin().ascii_serialization();
        let authorization = credential.filter(|c| belongs(&c.origin, &base)).map(basic).transpose()?;
        let deadline = Instant::now() + limits.total;
        let runtime = Handle::current();
        Ok(Arc::new(Self {
            base,
            origin,
            authorization,
            client,
            runtime,
            limits,
            deadline,
            cancel,
            failure: Mutex::new(None),
        }))
    }

    pub(super) fn enter(self: &Arc<Self>) -> Entered {
        CURRENT.set(Some(Arc::clone(self)));
        Entered(())
    }

    /// What this side of libgit2 knows about a failed call; else libgit2's own word, which is about the protocol or about the disk.
    pub(super) fn explain(&self, doing: &'static str, source: git2::Error) -> Error {
        if let Some(known) = self.failure() {
            return known;
        }
        if source.class() == git2::ErrorClass::Net {
            return Error::Protocol { origin: self.origin.clone(), why: source.message().to_owned() };
        }
        Error::Git { doing, source }
    }

    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The server did not keep to the protocol.
    pub(super) fn broken(&self, why: &str) -> Error {
        Error::Protocol { origin: self.origin.clone(), why: why.to_owned() }
    }

    /// A request with its body so far; it is sent at the first read.
    pub(super) fn exchange(self: &Arc<Self>, service: Service, request: Vec<u8>) -> Exchange {
        let cap = match service {
            Service::UploadPackLs | Service::ReceivePackLs | Service::ReceivePack => self.limits.advertisement,
            Service::UploadPack => self.limits.pack_bytes,
        };
        let session = Arc::clone(self);
        Exchange { session, service, request, response: None, chunk: Bytes::new(), left: cap, cap }
    }

    /// Asked by libgit2's progress callback: may it go on?
    pub(super) fn may_go_on(&self, objects: usize) -> bool {
        let stop = if self.cancel.is_cancelled() {
            Error::Cancelled
        } else if Instant::now() >= self.deadline {
            self.late()
        } else if objects > self.limits.pack_objects {
            let limit = format!("{} objects", self.limits.pack_objects);
            Error::TooLarge { what: "the repository's history", limit }
        } else {
            return true;
        };
        self.note(stop);
        false
    }

    fn late(&self) -> Error {
        Error::Timeout { origin: self.origin.clone(), after: self.limits.total }
    }

    fn note(&self, error: Error) -> io::Error {
        // libgit2 copies the text into a C string.
        let text = error.to_string().replace('\0', " ");
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        io::Error::other(text)
    }

    /// Waits for the network as long as the session allows, and no longer.
    fn wait<T>(&self, idle: Duration, work: impl Future<Output = reqwest::Result<T>>) -> io::Result<T> {
        let result = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Error::Cancelled),
                () = tokio::time::sleep_until(self.deadline) => Err(self.late()),
                () = tokio::time::sleep(idle) => Err(Error::Stalled { origin: self.origin.clone(), after: idle }),
                done = work => done.map_err(|source| {
                    Error::Network { origin: self.origin.clone(), source: source.without_url() }
                }),
            }
        });
        result.map_err(|error| self.note(error))
    }

    fn send(&self, service: Service, body: Vec<u8>) -> io::Result<Response> {
        /// A connection slower than this is as good as silent.
        const SLOWEST_BYTES_A_SECOND: u64 = 32 << 10;
        // A pack takes its time on the way, before the server can say anything.
        let patience = self.limits.idle + Duration::from_secs(body.len() as u64 / SLOWEST_BYTES_A_SECOND);
        let (request, expected) = match service {
            Service::UploadPackLs => (
                self.client.get(self.at("info/refs", Some("service=git-upload-pack"))),
                "application/x-git-upload-pack-advertisement",
            ),
            Service::UploadPack => (
                self.client
                    .post(self.at("git-upload-pack", None))
                    .header(header::CONTENT_TYPE, "application/x-git-upload-pack-request")
                    .body(body),
                "application/x-git-upload-pack-result",
            ),
            Service::ReceivePackLs => (
                self.client.get(self.at("info/refs", Some("service=git-receive-pack"))),
                "application/x-git-receive-pack-advertisement",
            ),
            Service::ReceivePack => (
                self.client
                    .post(self.at("git-receive-pack", None))
                    .header(header::CONTENT_TYPE, "application/x-git-receive-pack-request")
                    .body(body),
                "application/x-git-receive-pack-result",
            ),
        };
        let request = request.header(header::ACCEPT, expected);
        let request = match &self.authorization {
            Some(value) => request.header(header::AUTHORIZATION, value.clone()),
            None => request,
        };
        let response = self.wait(patience, request.send())?;
        self.check(&response, expected).map_err(|error| self.note(error))?;
        Ok(response)
    }

    fn at(&self, leaf: &str, query: Option<&str>) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{leaf}", self.base.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }

    fn check(&self, response: &Response, expected: &str) -> Result<(), Error> {
        let origin = self.origin.clone();
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            // Its origin alone: a path or query may hold a signature.
            let to = to.and_then(|to| self.base.join(to).ok()).map(|to| to.origin().ascii_serialization());
            return Err(Error::Redirected { origin, to: to.unwrap_or_else(|| "nowhere".to_owned()) });
        }
        match status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(Error::Unauthorized { origin }),
            StatusCode::NOT_FOUND | StatusCode::GONE => return Err(Error::RepositoryGone { origin }),
            other => return Err(Error::Status { origin, status: other.as_u16() }),
        }
        let found = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if found.is_none_or(|found| found.split(';').next().unwrap_or_default().trim() != expected) {
            return Err(Error::Protocol { origin, why: format!("the answer is not of the type {expected}") });
        }
        Ok(())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

struct Http(Arc<Session>);

impl SmartSubtransport for Http {
    fn action(&self, _address: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        Ok(Box::new(self.0.exchange(service, Vec::new())))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// One request and its answer: all of the first is written, then the second is read as it comes.
pub(super) struct Exchange {
    session: Arc<Session>,
    service: Service,
    request: Vec<u8>,
    response: Option<Response>,
    chunk: Bytes,
    left: u64,
    cap: u64,
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.request.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Exchange {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let response = match &mut self.response {
            Some(response) => response,
            None => {
                let request = std::mem::take(&mut self.request);
                self.response.insert(self.session.send(self.service, request)?)
            }
        };
        while self.chunk.is_empty() {
            let Some(chunk) = self.session.wait(self.session.limits.idle, response.chunk())? else { return Ok(0) };
            self.left = self.left.checked_sub(chunk.len() as u64).ok_or_else(|| {
                self.session.note(Error::TooLarge { what: "the git server's answer", limit: binary_size(self.cap) })
            })?;
            self.chunk = chunk;
        }
        let taken = self.chunk.split_to(self.chunk.len().min(into.len()));
        into[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}

/// Only https, or http that does not leave the machine; nothing secret in it.
fn address(text: &str) -> Result<Url, Error> {
    let refuse = |why| Error::Address { url: text.split(['?', '#']).next().unwrap_or_default().to_owned(), why };
    let url = Url::parse(text).map_err(|_| Error::Address { url: String::new(), why: "it cannot be parsed" })?;
    if !url.username().is_empty() || url.password().is_some() {
        // Not shown: it may be the token itself.
        return Err(Error::Address { url: String::new(), why: "it holds a user or a password" });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has a query or a fragment"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        "http" => Err(refuse("http is for loopback addresses only")),
        _ => Err(refuse("only https is known")),
    }
}

fn is_loopback(url: &Url) -> bool {
    crate::stdx::net::is_loopback(url.host_str().unwrap_or_default())
}

/// Scheme, host and port, each the same.
fn belongs(origin: &str, url: &Url) -> bool {
    Url::parse(origin).is_ok_and(|origin| {
        origin.scheme() == url.scheme()
            && origin.host_str() == url.host_str()
            && origin.port_or_known_default() == url.port_or_known_default()
    })
}

fn basic(credential: &Credential) -> Result<HeaderValue, Error> {
    let pair = format!("{}:{}", credential.user, credential.token.expose());
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
    let mut value = HeaderValue::from_str(&format!("Basic {encoded}"))
        .map_err(|_| Error::Unsupported("the credential cannot be put into a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_or_stays_on_the_machine() {
        for good in
            ["https://github.com/o/r.git", "http://127.0.0.1:8080/o/r", "http://[::1]:1/r", "http://localhost/r"]
        {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://github.com/o/r",
            "http://127.0.0.1.example.com/r",
            "http://localhost.example.com/r",
            "file:///etc",
            "ssh://git@github.com/o/r",
            "https://token@github.com/o/r",
            "https://github.com/o/r?x=1",
            "/tmp/repository",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_in_an_address_is_not_repeated_in_the_error() {
        let error = address("https://x:ghs_secret@github.com/o/r").unwrap_err().to_string();
        assert!(!error.contains("ghs_secret"), "{error}");
    }

    #[test]
    fn a_credential_belongs_to_one_scheme_host_and_port() {
        let url = Url::parse("https://github.com/o/r").unwrap();
        assert!(belongs("https://github.com", &url));
        assert!(belongs("https://github.com:443", &url));
        for other in [
            "http://github.com",
            "https://github.com:444",
            "https://github.com.evil.test",
            "https://api.github.com",
            "",
        ] {
            assert!(!belongs(other, &url), "{other}");
        }
    }
}
