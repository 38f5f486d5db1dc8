//! Who may use the doors for programs: under a name that is ours, from a page that is allowed, with the token. Asked in this order,
//! before a body is read.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::refusal::{Refusal, Why};
use crate::config::Api;
use crate::domain::Secret;
use crate::stdx::net;
use crate::stdx::text::{truncate_chars, visible_line};

/// Characters of an error that the log tells.
const TOLD: usize = 300;
/// Methods and headers that a page of an allowed origin may use.
const METHODS: &str = "GET, POST, DELETE";
const HEADERS: &str =
    "authorization, content-type, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";
/// Seconds that a browser remembers that.
const REMEMBERED: &str = "600";

/// One guard for the API and the MCP server. Clones are the same.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    token: Secret,
    hosts: Vec<Host>,
    origins: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    /// Whatever port, where there is none.
    port: Option<u16>,
}

impl Guard {
    /// `listen` is where the server really listens.
    pub fn new(api: &Api, listen: SocketAddr) -> Self {
        let hosts = if api.allowed_hosts.is_empty() {
            let own = ["localhost", "127.0.0.1", "[::1]"];
            let mut hosts: Vec<Host> =
                own.iter().filter_map(|name| Host::parse(&format!("{name}:{}", listen.port()))).collect();
            // Listening on one address of this machine's own network, say.
            if listen.ip().is_loopback() {
                hosts.extend(Host::parse(&listen.to_string()));
            }
            let public = api.public_url.as_deref().and_then(|url| url.parse::<axum::http::Uri>().ok());
            hosts.extend(public.and_then(|url| Host::parse(url.authority()?.as_str())));
            hosts
        } else {
            api.allowed_hosts.iter().filter_map(|host| Host::parse(host)).collect()
        };
        Self(Arc::new(Inner { token: api.token.clone(), hosts, origins: api.allowed_origins.clone() }))
    }

    /// Stands before every route of the router, and its fallback.
    pub fn protect(&self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self.clone(), watch))
    }

    fn check(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
        let refuse = |why: &str| Refusal::new(StatusCode::FORBIDDEN, why);
        let host = one(headers, &header::HOST).and_then(Host::parse);
        if !host.is_some_and(|host| self.0.hosts.iter().any(|known| known.covers(&host))) {
            return Err(refuse(
                "this server does not answer under that name: use the address it listens on, or add the name to \
                 `allowed_hosts` in [api] of its configuration",
            ));
        }
        let origin = headers.get(header::ORIGIN);
        let allowed = |origin: &str| self.0.origins.iter().any(|known| known.eq_ignore_ascii_case(origin));
        if origin.is_some() && !one(headers, &header::ORIGIN).is_some_and(allowed) {
            return Err(refuse(
                "pages of that origin may not call this server: add it to `allowed_origins` in [api] of its configuration",
            ));
        }
        Ok(origin.cloned())
    }

    fn knows_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = one(headers, &header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let given = given.filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        if given.is_some_and(|given| self.0.token.equals(given)) {
            return Ok(());
        }
        let why =
            "the bearer token is missing or wrong: send `Authorization: Bearer` with the token of this server's [api]";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, why).with(header::WWW_AUTHENTICATE, "Bearer"))
    }
}

impl Host {
    /// Of a `Host` header, or of a setting.
    fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port.parse().ok()?)),
            _ => (text, None),
        };
        net::is_host(name).then(|| Self { name: name.trim_matches(['[', ']']).to_ascii_lowercase(), port })
    }

    fn covers(&self, given: &Self) -> bool {
        // Who leaves out the port means that of the scheme, which a proxy in front may have.
        self.name == given.name && self.port.is_none_or(|port| given.port.unwrap_or(80) == port)
    }
}

/// A header that stands there exactly once, as text.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then_some(value)?.to_str().ok()
}

async fn watch(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    // What strangers ask for is not written into the log.
    let route = request.extensions().get::<MatchedPath>().map_or("other", |path| path.as_str()).to_owned();
    let has_body = !hyper::body::Body::is_end_stream(request.body());
    let checked = guard.check(request.headers());
    let mut response = match &checked {
        Err(_) => None,
        // A browser asks so before it sends the token.
        Ok(Some(_)) if method == Method::OPTIONS => Some(preflight()),
        Ok(_) => match guard.knows_token(request.headers()) {
            Ok(()) => Some(next.run(request).await),
            Err(refusal) => Some(refusal.into_response()),
        },
    };
    let (mut answer, origin) = match (checked, response.take()) {
        (Err(refusal), _) => (refusal.into_response(), None),
        (Ok(origin), response) => (response.unwrap_or_default(), origin),
    };
    let headers = answer.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id"));
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    let status = answer.status().as_u16();
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let method = method.as_str();
    if has_body && answer.extensions().get::<Why>().is_some() {
        // Not all of it may have been read: the connection is of no use for another call, and the sender has to know.
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    match answer.extensions().get::<Why>() {
        None => tracing::info!(method, route, status, duration_ms, "a call was answered"),
        Some(Why(error)) => {
            let error = visible_line(&truncate_chars(error, TOLD));
            tracing::info!(method, route, status, duration_ms, error, "a call was refused");
        }
    }
    answer
}

fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(REMEMBERED));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(hosts: &[&str], public_url: Option<&str>) -> Guard {
        let api = Api {
            token: Secret::new("0123456789abcdef0123456789abcdef"),
            allowed_hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            allowed_origins: vec!["https://page.example".to_owned()],
            max_upload: 1,
            roots: Vec::new(),
            public_url: public_url.map(str::to_owned),
        };
        Guard::new(&api, SocketAddr::from(([0, 0, 0, 0], 3000)))
    }

    #[track_caller]
    fn check(guard: &Guard, host: &str, fits: bool) {
        let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
        assert_eq!(guard.check(&headers).is_ok(), fits, "{host}");
    }

    #[test]
    fn only_names_of_ours_are_answered() {
        let own = guard(&[], Some("https://swarm.example"));
        for host in
            ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "LOCALHOST:3000", "swarm.example", "Swarm.Example:443"]
        {
            check(&own, host, true);
        }
        for host in [
            "localhost",
            "localhost:3001",
            "127.0.0.1",
            "evil.example:3000",
            "localhost.evil.example:3000",
            "127.0.0.1.evil.example:3000",
            "swarm.example.evil.example",
            "user@localhost:3000",
            "localhost:3000/x",
            "localhost:3000:3000",
            "",
        ] {
            check(&own, host, false);
        }
        let named = guard(&["swarm.example:8080", "[fd00::1]"], None);
        for (host, fits) in [
            ("swarm.example:8080", true),
            ("swarm.example", false),
            ("[fd00::1]:9", true),
            ("[fd00::1]", true),
            ("localhost:3000", false),
        ] {
            check(&named, host, fits);
        }
        assert!(own.check(&HeaderMap::new()).is_err(), "no name at all");
        let twice = ["localhost:3000", "evil.example"].map(|host| (header::HOST, host.parse().unwrap()));
        let mut headers = HeaderMap::new();
        twice.into_iter().for_each(|(name, value)| {
            headers.append(name, value);
        });
        assert!(own.check(&headers).is_err(), "two names");
    }
}
