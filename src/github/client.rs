//! The one outbound layer: every request to GitHub goes through `send`, and every answer's headers are seen here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, LINK, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_body_util::BodyExt;
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::Options;
use super::endpoint::{Access, Effect, Endpoint, encode};
use super::error::Error;
use super::limits::{Lane, Limits, Resource, is_limit};
use crate::domain::{Clock, RepositoryId, Secret, redact};
use crate::meter::Meter;
use crate::stdx::text;

pub(super) const JSON: &str = "application/vnd.github+json";
pub(super) const RAW: &str = "application/vnd.github.raw+json";
/// Reads are asked again so often after a network error, 502, 503 or 504.
const READ_RETRIES: u32 = 2;
/// No list of ours has more pages; a server that links on without end is stopped here.
pub(super) const PAGE_CAP: usize = 100;
/// A renamed repository takes one redirect; a second rename meanwhile one more.
const HOPS: u32 = 3;

type Response = http::Response<http_body_util::combinators::BoxBody<Bytes, octocrab::Error>>;
type Failure = Box<dyn std::error::Error + Send + Sync>;
type Carried = Pin<Box<dyn Future<Output = Result<http::Response<reqwest::Body>, Failure>> + Send>>;

pub(super) struct Client {
    http: Octocrab,
    /// `scheme://host[:port]`.
    origin: String,
    /// Path of the base address without its final slash: empty, or `/api/v3`.
    prefix: String,
    pub(super) timeout: Duration,
    answer_cap: usize,
    write_pace: Duration,
    limits: Limits,
    pub(super) meter: Arc<Meter>,
    pub(super) clock: Clock,
}

/// One call, before it knows its token.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) endpoint: &'static Endpoint,
    /// On our own origin.
    path_and_query: String,
    body: Option<Value>,
    accept: &'static str,
    cap: Option<usize>,
    /// The repository that the call is about: no redirect leads it to another one.
    repository: Option<RepositoryId>,
}

pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Value,
}

impl Client {
    /// Octocrab builds the requests and carries them; beneath it stands our own transport, because octocrab's
    /// default one appends a second `user-agent` and cannot tell a timeout from a refused connection.
    pub(super) fn new(options: &Options) -> Result<Self, Error> {
        let (origin, prefix) = split_base(&options.api_base)?;
        let mut transport = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(&options.user_agent)
            .connect_timeout(Duration::from_secs(10).min(options.timeout));
        if origin.starts_with("http://") {
            transport = transport.no_proxy();
        }
        let transport = transport.build().map_err(Error::Client)?;
        let service = tower::service_fn(move |request: http::Request<octocrab::OctoBody>| -> Carried {
            let transport = transport.clone();
            Box::pin(async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await?.to_bytes();
                let request = reqwest::Request::try_from(http::Request::from_parts(parts, body))?;
                // The address is told by the call's own text, which knows what may be shown.
                Ok(transport.execute(request).await.map_err(reqwest::Error::without_url)?.into())
            })
        });
        let built = OctocrabBuilder::new_empty().with_service(service).with_auth(AuthState::None).build();
        let http = match built {
            Ok(http) => http,
            Err(never) => match never {},
        };
        Ok(Self {
            http,
            origin,
            prefix,
            timeout: options.timeout,
            answer_cap: options.answer_cap,
            write_pace: options.write_pace,
            limits: Limits::default(),
            meter: options.meter.clone(),
            clock: options.clock.clone(),
        })
    }

    pub(super) fn call(&self, endpoint: &'static Endpoint, parts: &[&str]) -> Call {
        let path_and_query = if endpoint.template == "graphql" {
            // GitHub Enterprise Server has REST under /api/v3 and GraphQL beside it, not beneath it.
            match self.prefix.strip_suffix("/v3") {
                Some(api) => format!("{api}/graphql"),
                None => format!("{}/graphql", self.prefix),
            }
        } else {
            format!("{}{}", self.prefix, endpoint.path(parts))
        };
        Call { endpoint, path_and_query, body: None, accept: JSON, cap: None, repository: None }
    }

    /// Sends one call and returns its answer, or the error that the answer means.
    ///
    /// # Errors
    /// As the variants of [`Error`] say; `RateLimited` also without sending, while a block is known.
    pub(super) async fn send(&self, installation: u64, token: &Secret, call: &Call) -> Result<Answer, Error> {
        let lane = self.limits.lane(installation);
        match call.endpoint.effect {
            Effect::Reads => {
                let mut tries = 0;
                loop {
                    match self.once(&lane, token, call).await {
                        Err(error) if tries < READ_RETRIES && is_passing(&error) => {
                            tries += 1;
                            tokio::time::sleep(Duration::from_millis(100) * 4u32.pow(tries - 1)).await;
                        }
                        result => return result,
                    }
                }
            }
            Effect::Writes => {
                let asked = Instant::now();
                let mut last = lane.writing.lock().await;
                if let Some(last) = *last {
                    tokio::time::sleep_until(last + self.write_pace).await;
                }
                self.meter.paced(asked.elapsed());
                let result = self.once(&lane, token, call).await;
                *last = Some(Instant::now());
                result
            }
        }
    }

    /// All items of a paged list, at most [`PAGE_CAP`] pages. `send_page` chooses the token and sends.
    pub(super) async fn pages<P, T, F>(
        &self,
        first: Call,
        take: fn(P) -> Vec<T>,
        send_page: impl Fn(Call) -> F,
    ) -> Result<Vec<T>, Error>
    where
        P: DeserializeOwned,
        F: Future<Output = Result<Answer, Error>>,
    {
        let mut all = Vec::new();
        let mut call = first.query("per_page", "100");
        for _ in 0..PAGE_CAP {
            let answer = send_page(call.clone()).await?;
            all.extend(take(decode(&call, &answer.body)?));
            let Some(next) = next_link(&answer.headers) else { return Ok(all) };
            call.path_and_query = self.on_our_origin(&call, &next)?;
        }
        Err(Error::TooLarge { what: format!("the list behind {}", call.text()), limit: format!("{PAGE_CAP} pages") })
    }

    /// The first pages of a list, and whether there are more.
    pub(super) async fn first_pages<T, F>(
        &self,
        first: Call,
        most: usize,
        send_page: impl Fn(Call) -> F,
    ) -> Result<(Vec<T>, bool), Error>
    where
        T: DeserializeOwned,
        F: Future<Output = Result<Answer, Error>>,
    {
        let mut all = Vec::new();
        let mut call = first.query("per_page", "100");
        for _ in 0..most {
            let answer = send_page(call.clone()).await?;
            all.extend(decode::<Vec<T>>(&call, &answer.body)?);
            let Some(next) = next_link(&answer.headers) else { return Ok((all, false)) };
            call.path_and_query = self.on_our_origin(&call, &next)?;
        }
        Ok((all, true))
    }

    /// One request, and a few more if GitHub moved the object within its own origin.
    async fn once(&self, lane: &Lane, token: &Secret, call: &Call) -> Result<Answer, Error> {
        let mut call = call.clone();
        let mut hops = 0;
        loop {
            let resource = call.resource();
            if let Some(retry_after) = lane.blocked(resource) {
                return Err(Error::RateLimited { retry_after });
            }
            let (status, answer) = self.measured(lane, &call, self.exchange(token, &call)).await?;
            match status {
                200..300 => {
                    lane.passed(resource, &answer.headers, self.clock.now());
                    return Ok(answer);
                }
                300..400 => {
                    let to = header(&answer.headers, LOCATION.as_str()).unwrap_or_default().to_owned();
                    // 307 and 308 repeat the request as it is; the other two would turn a write into a read.
                    let may_follow = matches!((&call.endpoint.method, status), (&Method::GET, _) | (_, 307 | 308));
                    if hops == HOPS || !may_follow || to.is_empty() {
                        return Err(Error::Redirected { call: call.text(), to: place(&to) });
                    }
                    let next = self.on_our_origin(&call, &to)?;
                    // An issue that was transferred answers from its new home, which is none of this call's business.
                    if call.repository.is_some()
                        && self.repository_in(&next).is_some_and(|id| call.repository != Some(id))
                    {
                        return Err(Error::NotFound { call: call.text() });
                    }
                    call.path_and_query = next;
                    hops += 1;
                }
                _ => return Err(self.refusal(lane, token, &call, status, &answer)),
            }
        }
    }

    /// Sends one call without a token; also when the answer began, and whatever its status.
    ///
    /// # Errors
    /// `Network`, `Timeout` or `TooLarge`.
    pub(super) async fn ask_openly(&self, call: &Call) -> Result<(Instant, u16, Answer), Error> {
        let exchange = async {
            let response = self.open(None, call).await?;
            let began = Instant::now();
            let (status, answer) = self.read(call, response).await?;
            Ok((began, status, answer))
        };
        let late = |_| Error::Timeout { call: call.text(), after: self.timeout };
        tokio::time::timeout(self.timeout, exchange).await.map_err(late)?
    }

    async fn exchange(&self, token: &Secret, call: &Call) -> Result<(u16, Answer), Error> {
        let token = Some(token).filter(|_| !matches!(call.endpoint.access, Access::Nobody | Access::Anybody));
        let response = self.open(token, call).await?;
        self.read(call, response).await
    }

    async fn open(&self, token: Option<&Secret>, call: &Call) -> Result<Response, Error> {
        let network = |source: Failure| Error::Network { call: call.text(), source };
        let mut builder = http::Request::builder()
            .method(call.endpoint.method.clone())
            .uri(format!("{}{}", self.origin, call.path_and_query))
            .header(ACCEPT, call.accept);
        if let Some(token) = token {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
            let mut bearer = bearer.map_err(|e| network(e.into()))?;
            bearer.set_sensitive(true);
            builder = builder.header(AUTHORIZATION, bearer);
        }
        let request = self.http.build_request(builder, call.body.as_ref()).map_err(|e| network(e.into()))?;
        self.http.execute(request).await.map_err(|e| network(e.into()))
    }

    async fn read(&self, call: &Call, response: Response) -> Result<(u16, Answer), Error> {
        let network = |source: Failure| Error::Network { call: call.text(), source };
        let (parts, mut body) = response.into_parts();
        let cap = call.cap.unwrap_or(self.answer_cap);
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| network(e.into()))?;
            if let Some(data) = frame.data_ref() {
                if bytes.len() + data.len() > cap {
                    let what = format!("the answer to {}", call.text());
                    return Err(Error::TooLarge { what, limit: format!("{cap} bytes") });
                }
                bytes.extend_from_slice(data);
            }
        }
        Ok((parts.status.as_u16(), Answer { headers: parts.headers, body: bytes.freeze() }))
    }

    fn refusal(&self, lane: &Lane, token: &Secret, call: &Call, status: u16, answer: &Answer) -> Error {
        let refusal: Refusal = serde_json::from_slice(&answer.body)
            .unwrap_or_else(|_| Refusal { message: format!("status {status}"), errors: Value::Null });
        let clean = |text: &str| text::truncate_chars(&redact(text, &[token]), 500);
        let message = clean(&refusal.message);
        if is_limit(status, &answer.headers, &message) {
            let retry_after = lane.refused(call.resource(), &answer.headers, self.clock.now());
            self.meter.limited(call.resource().name(), retry_after);
            return Error::RateLimited { retry_after };
        }
        let name = call.text();
        match status {
            401 => Error::Unauthorized { call: name, message },
            403 | 451 => Error::Forbidden { call: name, message, needs: call.endpoint.needs_text() },
            404 | 410 => Error::NotFound { call: name },
            409 if message.to_ascii_lowercase().contains("repository is empty") => {
                Error::EmptyRepository { call: name }
            }
            409 => Error::Conflict { call: name, message },
            422 | 400 => {
                let errors = match refusal.errors {
                    Value::Array(errors) => errors.iter().take(20).map(|error| clean(&error_text(error))).collect(),
                    Value::Null => Vec::new(),
                    other => vec![clean(&error_text(&other))],
                };
                Error::Validation { call: name, message, errors }
            }
            _ => Error::Server { call: name, status },
        }
    }

    /// Path and query of an address that GitHub gave us, if it is on our own origin.
    fn on_our_origin(&self, call: &Call, address: &str) -> Result<String, Error> {
        if address.starts_with('/') && !address.starts_with("//") {
            return Ok(address.to_owned());
        }
        let uri: Option<Uri> = address.parse().ok();
        uri.as_ref()
            .filter(|uri| origin_of(uri).as_deref() == Some(self.origin.as_str()))
            .and_then(|uri| uri.path_and_query())
            .map(|path| path.as_str().to_owned())
            .ok_or_else(|| Error::Redirected { call: call.text(), to: place(address) })
    }

    /// The cursor of the next page, if there is one and it is on our own origin.
    pub(super) fn next_cursor(&self, call: &Call, headers: &HeaderMap) -> Result<Option<String>, Error> {
        let Some(next) = next_link(headers) else { return Ok(None) };
        let next = self.on_our_origin(call, &next)?;
        let query = next.split_once('?').map(|(_, query)| query).unwrap_or_default();
        Ok(query.split('&').find_map(|pair| pair.strip_prefix("cursor=")).map(decode_query).filter(|c| !c.is_empty()))
    }

    /// The id in `/repositories/{id}/…`, which is how GitHub names a repository in a redirect.
    fn repository_in(&self, path: &str) -> Option<RepositoryId> {
        let rest = path.strip_prefix(&self.prefix)?.strip_prefix("/repositories/")?;
        rest.split(['/', '?']).next()?.parse().ok().map(RepositoryId)
    }

    /// Remembers a limit that GraphQL reported inside a 200.
    pub(super) fn graphql_limited(&self, installation: u64, headers: &HeaderMap) -> Error {
        let retry_after = self.limits.lane(installation).refused(Resource::Graphql, headers, self.clock.now());
        self.meter.limited(Resource::Graphql.name(), retry_after);
        Error::RateLimited { retry_after }
    }
}

impl Call {
    pub(super) fn query(mut self, name: &str, value: &str) -> Self {
        let separator = if self.path_and_query.contains('?') { '&' } else { '?' };
        self.path_and_query.push_str(&format!("{separator}{name}={}", encode(value, false)));
        self
    }

    pub(super) fn about(mut self, repository: RepositoryId) -> Self {
        self.repository = Some(repository);
        self
    }

    pub(super) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Asks for a file's bytes instead of JSON, at most `cap` of them.
    pub(super) fn raw(mut self, cap: usize) -> Self {
        self.accept = RAW;
        self.cap = Some(cap);
        self
    }

    /// "`GET /repos/o/r/pulls/7`", for messages; a query is left out.
    pub(super) fn text(&self) -> String {
        // Its path holds a code that is as good as a key.
        if self.endpoint.access == Access::Nobody {
            return format!("{} {}", self.endpoint.method, self.endpoint.template.replace("{}", "…"));
        }
        let path = self.path_and_query.split('?').next().unwrap_or_default();
        match self.endpoint.template {
            "graphql" => format!("{} {path} ({})", self.endpoint.method, self.endpoint.name),
            _ => format!("{} {path}", self.endpoint.method),
        }
    }

    pub(super) fn resource(&self) -> Resource {
        if self.endpoint.template == "graphql" { Resource::Graphql } else { Resource::Rest }
    }
}

pub(super) fn decode<T: DeserializeOwned>(call: &Call, body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|source| Error::Decode { call: call.text(), source })
}

/// Splits a base address into origin and path prefix. Plain http is for this machine only: a token would travel readable.
pub(super) fn split_base(base: &str) -> Result<(String, String), Error> {
    let refuse = |reason| Error::Base { value: base.to_owned(), reason };
    let uri: Uri = base.trim().parse().map_err(|_| refuse("it is not an address"))?;
    let origin = origin_of(&uri).ok_or_else(|| refuse("it needs a scheme and a host"))?;
    let loopback = crate::stdx::net::is_loopback(uri.host().unwrap_or_default());
    if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(refuse("it must hold neither a user nor a query"));
    }
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if loopback => {}
        _ => return Err(refuse("it must be https, or http on this machine")),
    }
    Ok((origin, uri.path().trim_end_matches('/').to_owned()))
}

/// `scheme://host[:port]` in lower case, a default port left out.
fn origin_of(uri: &Uri) -> Option<String> {
    let scheme = uri.scheme_str()?;
    let host = uri.host()?.to_ascii_lowercase();
    match (scheme, uri.port_u16()) {
        (_, None) | ("https", Some(443)) | ("http", Some(80)) => Some(format!("{scheme}://{host}")),
        (_, Some(port)) => Some(format!("{scheme}://{host}:{port}")),
    }
}

/// The origin alone: the rest of a foreign address may carry anything.
fn place(address: &str) -> String {
    address
        .parse::<Uri>()
        .ok()
        .and_then(|uri| origin_of(&uri))
        .unwrap_or_else(|| "an address that cannot be read".to_owned())
}

fn next_link(headers: &HeaderMap) -> Option<String> {
    let links = header(headers, LINK.as_str())?;
    links.split(',').find_map(|link| {
        let (address, params) = link.split_once(';')?;
        let next = params.split(';').any(|param| matches!(param.trim(), "rel=\"next\"" | "rel=next"));
        next.then(|| address.trim().trim_start_matches('<').trim_end_matches('>').to_owned())
    })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Percent-decodes a value of a query; what is no valid escape stays as it is.
fn decode_query(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).filter(|hex| *first == b'%' && hex.iter().all(u8::is_ascii_hexdigit));
        match hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// GitHub's error entries are strings, or objects with `message`, or with `resource`, `field` and `code`.
fn error_text(error: &Value) -> String {
    let part = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(text) = error.as_str().or_else(|| part("message")) {
        return text.to_owned();
    }
    let parts: Vec<_> = ["resource", "field", "code"].into_iter().filter_map(part).collect();
    if parts.is_empty() { error.to_string() } else { parts.join(" ") }
}

fn is_passing(error: &Error) -> bool {
    matches!(error, Error::Network { .. } | Error::Server { status: 502..=504, .. })
}

/// Shares one client among tasks.
pub(super) type Shared = Arc<Client>;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, want: Option<(&str, &str)>) {
        let got = split_base(base).ok();
        assert_eq!(got, want.map(|(origin, prefix)| (origin.to_owned(), prefix.to_owned())), "{base}");
    }

    #[test]
    fn a_base_address_is_https_or_on_this_machine() {
        check("https://api.github.com", Some(("https://api.github.com", "")));
        check("https://GHE.example.com:443/api/v3/", Some(("https://ghe.example.com", "/api/v3")));
        check("http://127.0.0.1:8080/api/v3", Some(("http://127.0.0.1:8080", "/api/v3")));
        check("http://[::1]:8080", Some(("http://[::1]:8080", "")));
        check("http://example.com", None);
        check("http://127.0.0.1.example.com", None);
        check("https://user:pass@example.com", None);
        check("ftp://example.com", None);
        check("example.com", None);
    }

    #[test]
    fn the_next_page_is_found_among_other_links() {
        let mut headers = HeaderMap::new();
        let links =
            r#"<https://x/a?page=1>; rel="prev", <https://x/a?page=3>; rel="next", <https://x/a?page=9>; rel="last""#;
        headers.insert(LINK, links.parse().unwrap());
        assert_eq!(next_link(&headers).as_deref(), Some("https://x/a?page=3"));
        assert_eq!(next_link(&HeaderMap::new()), None);
    }

    #[test]
    fn a_cursor_survives_its_way_through_an_address() {
        for (encoded, plain) in
            [("v1_7", "v1_7"), ("a%2Bb%3D", "a+b="), ("50%", "50%"), ("%+1%zz", "%+1%zz"), ("%C3%A9", "é")]
        {
            assert_eq!(decode_query(encoded), plain);
        }
    }

    #[tokio::test]
    async fn graphql_stands_beside_v3_on_a_server_of_ones_own() {
        for (base, want) in [
            ("https://ghe.example.com/api/v3", "/api/graphql"),
            ("https://api.github.com", "/graphql"),
            ("https://proxy.example.com/github", "/github/graphql"),
        ] {
            let options = Options { api_base: base.to_owned(), ..Options::new(1, Secret::new("unused")) };
            let client = Client::new(&options).unwrap();
            assert_eq!(client.call(&crate::github::endpoint::RESOLVE_THREAD, &[]).path_and_query, want);
        }
    }
}
