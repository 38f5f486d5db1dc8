//! The wire: one door for REST, GraphQL, git and the control endpoints, strict about everything.

mod apps;
mod auth;
mod checks;
mod issues;
mod objects;
mod pulls;
mod refs;
mod repos;
mod reviews;
mod routes;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use auth::{Actor, allows, basic, reaches, verify_token};

use super::fault::FaultKind;
use super::refusal::Refusal;
use super::shape;
use super::state::{Call, World};
use super::{Shared, control, git, graphql};

/// GitHub's cap on a webhook is the largest body anyone sends here; packs may be larger.
const LARGEST_BODY: usize = 256 * 1024 * 1024;

/// A request as handlers see it: authenticated, matched, its query known.
pub struct Ctx {
    pub actor: Actor,
    pub params: BTreeMap<&'static str, String>,
    pub query: BTreeMap<String, String>,
    pub body: Value,
    pub path: String,
}

pub struct Reply {
    pub status: u16,
    pub body: Option<Value>,
    pub headers: Headers,
}

type Headers = Vec<(String, String)>;

impl Reply {
    pub fn ok(body: Value) -> Result<Self, Refusal> {
        Ok(Self { status: 200, body: Some(body), headers: Vec::new() })
    }

    pub fn created(body: Value) -> Result<Self, Refusal> {
        Ok(Self { status: 201, body: Some(body), headers: Vec::new() })
    }

    pub fn empty(status: u16) -> Result<Self, Refusal> {
        Ok(Self { status, body: None, headers: Vec::new() })
    }
}

impl Ctx {
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    pub fn number(&self, name: &str) -> Result<u64, Refusal> {
        self.param(name).parse().map_err(|_| Refusal::not_found())
    }

    /// The repository of the path.
    pub fn repo(&self, world: &World) -> Result<u64, Refusal> {
        world.find_repo(self.param("owner"), self.param("repo")).ok_or_else(Refusal::not_found)
    }

    /// The body as a type that names every key it knows.
    pub fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_value(self.body.clone())
            .map_err(|e| Refusal::invalid("Request", "body", "invalid", format!("Invalid request: {e}")))
    }

    fn count(&self, name: &str, default: usize) -> Result<usize, Refusal> {
        match self.query.get(name) {
            None => Ok(default),
            Some(text) => text.parse::<usize>().ok().filter(|n| *n > 0).ok_or_else(|| {
                Refusal::invalid("Request", name, "invalid", format!("{name} is not a positive number"))
            }),
        }
    }

    /// One of a few words, the first of them when nothing is said.
    pub fn choice(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Refusal> {
        let said = self.query.get(name).map(String::as_str);
        let found = words.iter().find(|word| said.is_none_or(|said| said == **word));
        found.copied().ok_or_else(|| {
            Refusal::invalid("Request", name, "invalid", format!("{name} is one of {}", words.join(", ")))
        })
    }

    /// `since` in seconds.
    pub fn since(&self) -> Result<i64, Refusal> {
        let Some(text) = self.query.get("since") else { return Ok(i64::MIN) };
        let time = chrono::DateTime::parse_from_rfc3339(text);
        let wrong = |_| Refusal::invalid("Request", "since", "invalid", "since is not a time in ISO 8601");
        Ok(time.map_err(wrong)?.timestamp())
    }

    pub fn per_page(&self) -> Result<usize, Refusal> {
        Ok(self.count("per_page", 30)?.min(100))
    }

    /// One page of a list, with GitHub's `Link` header.
    pub fn page(&self, world: &World, items: Vec<Value>) -> Result<Reply, Refusal> {
        let (items, headers) = self.slice(world, items)?;
        Ok(Reply { status: 200, body: Some(Value::Array(items)), headers })
    }

    /// The same inside an object that also says how many there are.
    pub fn page_in(&self, world: &World, key: &str, items: Vec<Value>, extra: Value) -> Result<Reply, Refusal> {
        let mut body = extra;
        body["total_count"] = json!(items.len());
        let (items, headers) = self.slice(world, items)?;
        body[key] = Value::Array(items);
        Ok(Reply { status: 200, body: Some(body), headers })
    }

    fn slice(&self, world: &World, items: Vec<Value>) -> Result<(Vec<Value>, Headers), Refusal> {
        let (size, page) = (self.per_page()?, self.count("page", 1)?);
        let last = items.len().div_ceil(size).max(1);
        let mut links = Vec::new();
        let mut link = |to: usize, rel: &str| links.push(self.link(world, &[("page", to.to_string())], rel));
        if page > 1 {
            link(page - 1, "prev");
            link(1, "first");
        }
        if page < last {
            link(page + 1, "next");
            link(last, "last");
        }
        let headers = if links.is_empty() { Vec::new() } else { vec![("link".to_owned(), links.join(", "))] };
        Ok((items.into_iter().skip((page - 1) * size).take(size).collect(), headers))
    }

    /// An absolute URL, as GitHub sends it, with some query keys replaced.
    pub fn link(&self, world: &World, replaced: &[(&str, String)], rel: &str) -> String {
        let mut query = self.query.clone();
        for (key, value) in replaced {
            query.insert((*key).to_owned(), value.clone());
        }
        let query: Vec<String> = query.iter().map(|(k, v)| format!("{k}={}", encode(v))).collect();
        format!("<{}{}?{}>; rel=\"{rel}\"", world.api(), self.path, query.join("&"))
    }
}

fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

pub fn parse_query(query: &str) -> BTreeMap<String, String> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(&value.replace('+', " ")))
        })
        .collect()
}

/// Everything that reaches the box.
pub async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_BODY).await else {
        return plain(413, "the body is too large");
    };
    let path = parts.uri.path().to_owned();
    let query = parts.uri.query().unwrap_or("").to_owned();
    if let Some(rest) = path.strip_prefix("/_box/") {
        return control::serve(&shared, parts.method.as_str(), rest, &parts.headers, &body).await;
    }
    if path.contains(".git/") && !path.starts_with("/api/") {
        return git::serve(&shared, parts.method.as_str(), &path, &query, &parts.headers, body).await;
    }
    if path == "/api/graphql" {
        return api(shared, parts.method.as_str(), "/graphql".to_owned(), query, parts.headers, body).await;
    }
    match path.strip_prefix("/api/v3") {
        Some(rest) => api(shared.clone(), parts.method.as_str(), rest.to_owned(), query, parts.headers, body).await,
        None => plain(404, "Not Found: the box has no pages; its API is under /api/v3 and /api/graphql"),
    }
}

pub fn plain(status: u16, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Git shows the text of a refusal to people only when it is plain.
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn api(
    shared: Arc<Shared>,
    method: &str,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let fault = shared.take_fault(method, &path);
    let method = method.to_owned();
    let early = matches!(
        fault,
        Some(FaultKind::Status { .. } | FaultKind::Html | FaultKind::RateLimit { .. } | FaultKind::Redirect(_))
    );
    let worker = shared.clone();
    let (log_path, name) = (path.clone(), fault.as_ref().map(|f| format!("{f:?}")));
    let work = move || worker.answer(&method, &log_path, &query, &headers, &body, early, name);
    // Git work blocks; the lock is held on a thread that may block.
    let Ok(mut reply) = tokio::task::spawn_blocking(work).await else {
        return plain(500, "the box broke down over this request");
    };
    match fault {
        None => {}
        Some(FaultKind::Status { status, message, retry_after }) => {
            reply.status = status;
            reply.body = Some(json!({"message": message, "documentation_url": "https://docs.github.com/rest"}));
            if let Some(seconds) = retry_after {
                reply.headers.push(("retry-after".to_owned(), seconds.to_string()));
            }
        }
        Some(FaultKind::Html) => {
            let mut response = plain(502, "<!DOCTYPE html><html><body><h1>Unicorn!</h1></body></html>");
            response.headers_mut().insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
            return response;
        }
        Some(FaultKind::RateLimit { reset_in }) => {
            reply.status = 403;
            reply.body = Some(json!({"message": "API rate limit exceeded for installation."}));
            let reset = shared.world().now() / 1000 + i64::try_from(reset_in).unwrap_or(i64::MAX);
            reply.headers.retain(|(name, _)| !name.starts_with("x-ratelimit-re"));
            reply.headers.push(("x-ratelimit-remaining".to_owned(), "0".to_owned()));
            reply.headers.push(("x-ratelimit-reset".to_owned(), reset.to_string()));
        }
        Some(FaultKind::Redirect(to)) => {
            reply.status = 307;
            reply.body = Some(json!({"message": "Moved Temporarily", "url": to}));
            reply.headers.push(("location".to_owned(), to));
        }
        Some(FaultKind::RejectAfterEffect { status }) => {
            reply.status = status;
            reply.body = Some(json!({"message": "Server Error"}));
        }
        Some(FaultKind::Slow(time)) => tokio::time::sleep(time).await,
        Some(FaultKind::Withhold) => shared.hold().await,
        Some(FaultKind::Truncate) => {
            let text = reply.body.as_ref().map(Value::to_string).unwrap_or_default();
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            return respond(&reply, half);
        }
    }
    let text = reply.body.as_ref().map(Value::to_string).unwrap_or_default();
    respond(&reply, text)
}

fn respond(reply: &Reply, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

impl Shared {
    /// Works out the answer and writes the call down. `unheard` calls are recorded without taking effect.
    #[expect(clippy::too_many_arguments, reason = "one request, taken apart")]
    fn answer(
        &self,
        method: &str,
        path: &str,
        query: &str,
        headers: &HeaderMap,
        bytes: &[u8],
        unheard: bool,
        fault: Option<String>,
    ) -> Reply {
        let mut world = self.world();
        let actor = auth::actor(self, &world, headers);
        let query = parse_query(query);
        let (body, broken) = match bytes {
            [] => (Value::Null, false),
            bytes => serde_json::from_slice(bytes).map_or((Value::Null, true), |value| (value, false)),
        };
        let result = if unheard {
            Err(Refusal::new(0, "a scripted fault came first"))
        } else {
            self.decide(&mut world, method, path, &query, headers, &actor, body.clone(), broken)
        };
        let refused = result.as_ref().err().map(Refusal::text);
        let mut reply = match result {
            Ok(reply) => reply,
            Err(refusal) => Reply { status: refusal.status, body: Some(refusal.body()), headers: refusal.headers },
        };
        let auth = actor.as_ref().map_or("none", Actor::word).to_owned();
        let (method, path) = (method.to_owned(), path.to_owned());
        let (status, at) = (reply.status, world.now());
        world.calls.push(Call { method, path, query, body, status, refused, auth, at, fault });
        let used = world.hourly - world.requests_left;
        let reset = world.resets_at() / 1000;
        for (name, value) in [
            ("content-type", "application/json; charset=utf-8".to_owned()),
            // By the box's own clock, which can be moved.
            ("date", shape::http_date(world.now())),
            ("x-github-request-id", format!("B0X0:{:08X}", world.calls.len())),
            ("x-github-media-type", "github.v3; format=json".to_owned()),
            ("x-ratelimit-limit", world.hourly.to_string()),
            ("x-ratelimit-remaining", world.requests_left.to_string()),
            ("x-ratelimit-used", used.to_string()),
            ("x-ratelimit-reset", reset.to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ] {
            if !reply.headers.iter().any(|(known, _)| known == name) {
                reply.headers.push((name.to_owned(), value));
            }
        }
        reply
    }

    #[expect(clippy::too_many_arguments, reason = "one request, taken apart")]
    fn decide(
        &self,
        world: &mut World,
        method: &str,
        path: &str,
        query: &BTreeMap<String, String>,
        headers: &HeaderMap,
        actor: &Result<Actor, Refusal>,
        body: Value,
        broken: bool,
    ) -> Result<Reply, Refusal> {
        if headers.get("user-agent").is_none_or(HeaderValue::is_empty) {
            return Err(Refusal::new(
                403,
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.",
            ));
        }
        let actor = actor.clone()?;
        if path != "/rate_limit" {
            world.spend()?;
        }
        if let Some(version) = headers.get("x-github-api-version")
            && !["2022-11-28", "2026-03-10"].iter().any(|known| version == known)
        {
            return Err(Refusal::new(400, "The API version is not supported"));
        }
        if broken {
            return Err(Refusal::new(400, "Problems parsing JSON"));
        }
        if path == "/graphql" {
            return graphql::answer(self, world, method, &actor, &body);
        }
        if let Some(reply) = moved(world, &actor, method, path, query) {
            return Ok(reply);
        }
        let named = by_id(world, path)?;
        let path = named.as_deref().unwrap_or(path);
        let (route, params) = routes::find(method, path).ok_or_else(Refusal::not_found)?;
        if let Some(key) = query.keys().find(|key| !route.query.contains(&key.as_str())) {
            return Err(Refusal::invalid("Request", key, "unknown", format!("unknown query key `{key}`")));
        }
        let ctx = Ctx { actor, params, query: query.clone(), body, path: path.to_owned() };
        auth::admit(world, &ctx, route)?;
        if method != "GET" && !path.ends_with("/access_tokens") {
            self.pace(world)?;
        }
        if method != "GET"
            && let Ok(repo) = ctx.repo(world)
            && world.repo(repo)?.archived
        {
            return Err(Refusal::new(403, "Repository was archived so is read-only."));
        }
        (route.handler)(world, &ctx)
    }

    /// Refuses writes that follow each other too closely.
    pub fn pace(&self, world: &mut World) -> Result<(), Refusal> {
        let Some(pace) = self.min_write_pace else { return Ok(()) };
        let now = tokio::time::Instant::now();
        if let Some(wait) = world.last_write.and_then(|last| pace.checked_sub(now.duration_since(last)))
            && !wait.is_zero()
        {
            let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            return Err(Refusal::new(403, message).with_header("retry-after", seconds.to_string()));
        }
        world.last_write = Some(now);
        Ok(())
    }
}

/// Sends whoever asks by a former name on to `/repositories/{id}/…`, as GitHub does after a rename.
fn moved(world: &World, actor: &Actor, method: &str, path: &str, query: &BTreeMap<String, String>) -> Option<Reply> {
    let mut parts = path.strip_prefix("/repos/")?.splitn(3, '/');
    let (owner, name, rest) = (decode(parts.next()?), decode(parts.next()?), parts.next());
    if world.find_repo(&owner, &name).is_some() {
        return None;
    }
    let id = world.moved_to(&owner, &name)?;
    if !matches!(actor, Actor::Installation(token) if reaches(world, token, id)) {
        return None;
    }
    let rest = rest.map(|rest| format!("/{rest}")).unwrap_or_default();
    let query: Vec<String> = query.iter().map(|(k, v)| format!("{k}={}", encode(v))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let url = format!("{}/repositories/{id}{rest}{query}", world.api());
    let (status, message) = if method == "GET" { (301, "Moved Permanently") } else { (307, "Temporary Redirect") };
    let body = json!({"message": message, "url": url, "documentation_url": "https://docs.github.com/rest"});
    Some(Reply { status, body: Some(body), headers: vec![("location".to_owned(), url)] })
}

/// `/repositories/{id}/…` as `/repos/{owner}/{name}/…`.
fn by_id(world: &World, path: &str) -> Result<Option<String>, Refusal> {
    let Some(rest) = path.strip_prefix("/repositories/") else { return Ok(None) };
    let (id, rest) = rest.split_once('/').map_or((rest, String::new()), |(id, rest)| (id, format!("/{rest}")));
    let repo = world.repo(id.parse().map_err(|_| Refusal::not_found())?)?;
    Ok(Some(format!("/repos/{}{rest}", repo.full_name())))
}

/// The acting user of a call, as an answer and a webhook show it.
pub fn who(world: &World, ctx: &Ctx) -> String {
    match &ctx.actor {
        Actor::App | Actor::Installation(_) => world.bot(),
        Actor::None => String::new(),
    }
}
