//! What GitHub, or somebody in its place, may answer, and what our client then does and does not do.

mod boxed;
mod issues;
mod log;
mod pulls;
mod writing;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use octoswarm::domain::{Class, Clock, InstallationId, PullNumber, RepositoryId, Secret, Sha};
use octoswarm::github::{
    CheckStatus, Error, Github, NewCheckRun, NewComment, NewReview, Options, Repo, Side, manifest,
};
use serde_json::{Value, json};

const HEAD: &str = "1111111111111111111111111111111111111111";
const NOW: i64 = 1_800_000_000_000;

/// One request as it arrived.
#[derive(Debug, Clone)]
struct Seen {
    method: Method,
    path: String,
    query: String,
    token: String,
    body: Value,
    at: Instant,
}

type Script = dyn Fn(&Seen, usize) -> Response + Send + Sync;

/// A server that answers by script and remembers every request.
#[derive(Clone)]
struct Stub {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    minted: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct Inner {
    stub: Stub,
    clock: Clock,
    script: Arc<Script>,
}

impl Stub {
    /// `script` gets the request and how many there were before it, token mints not counted.
    async fn start(clock: &Clock, script: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stub = Self { url, seen: Arc::default(), minted: Arc::default() };
        let inner = Inner { stub: stub.clone(), clock: clock.clone(), script: Arc::new(script) };
        let app = Router::new().fallback(answer).with_state(inner);
        tokio::spawn(async move { axum::serve(listener, app).await });
        stub
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn mints(&self) -> usize {
        self.minted.lock().unwrap().len()
    }
}

async fn answer(State(inner): State<Inner>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 24).await.unwrap();
    let header = |name: &str| parts.headers.get(name).map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default();
    let seen = Seen {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        token: header("authorization").trim_start_matches("Bearer ").to_owned(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        at: Instant::now(),
    };
    assert_eq!(parts.headers.get_all("user-agent").iter().count(), 1);
    if seen.path.ends_with("/access_tokens") {
        // Long enough for fifty callers to meet here.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let nth = {
            let mut minted = inner.stub.minted.lock().unwrap();
            minted.push(seen.body);
            minted.len()
        };
        let expires = chrono::DateTime::from_timestamp_millis(inner.clock.now() + 3_600_000).unwrap();
        let reply = json!({ "token": format!("{}{nth}", token_shape()), "expires_at": expires.to_rfc3339() });
        return (StatusCode::CREATED, axum::Json(reply)).into_response();
    }
    let before = {
        let mut all = inner.stub.seen.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    (inner.script)(&seen, before)
}

/// What GitHub hands out today, up to a trailing serial number.
fn token_shape() -> String {
    format!("ghs_42_eyJ{}.eyJ{}.{}", "a".repeat(40), "b".repeat(300), "c".repeat(150))
}

fn der() -> Vec<u8> {
    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
    let key = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
    der.as_ref().to_vec()
}

fn pem(label: &str, der: &[u8]) -> Secret {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    Secret::new(format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")))
}

fn key() -> Secret {
    static KEY: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(der);
    pem("PRIVATE KEY", &KEY)
}

fn options(stub: &Stub, clock: &Clock) -> Options {
    Options {
        api_base: format!("{}/api/v3", stub.url),
        web_base: stub.url.clone(),
        write_pace: Duration::ZERO,
        clock: clock.clone(),
        timeout: Duration::from_secs(5),
        ..Options::new(42, key())
    }
}

fn repo_of(github: &Github, installation: u64) -> Repo {
    github.repo(InstallationId(installation), RepositoryId(7), "octo/calc".parse().unwrap())
}

struct World {
    stub: Stub,
    github: Github,
    repo: Repo,
    clock: Clock,
}

async fn world(script: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static) -> World {
    world_with(script, |options| options).await
}

async fn world_with(
    script: impl Fn(&Seen, usize) -> Response + Send + Sync + 'static,
    change: impl FnOnce(Options) -> Options,
) -> World {
    let clock = Clock::manual(NOW);
    let stub = Stub::start(&clock, script).await;
    let github = Github::new(change(options(&stub, &clock))).unwrap();
    World { repo: repo_of(&github, 1), stub, github, clock }
}

fn ok(value: Value) -> Response {
    axum::Json(value).into_response()
}

fn refuse(status: u16, headers: &[(&str, &str)], value: Value) -> Response {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.header("content-type", "application/json").body(Body::from(value.to_string())).unwrap()
}

fn pull() -> Value {
    json!({
        "number": 3, "state": "open", "merged": false, "draft": false,
        "head": { "ref": "add", "sha": HEAD, "repo": null },
        "base": { "ref": "main", "sha": "2".repeat(40), "repo": { "id": 7 } },
        "user": { "id": 5, "login": "mona", "type": "User" },
        "title": "Add", "body": null, "html_url": "https://github.com/octo/calc/pull/3",
        "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T08:00:01Z",
    })
}

fn review() -> Value {
    json!({ "id": 77, "user": { "id": 9, "login": "octoswarm[bot]", "type": "Bot" }, "body": "b", "state": "COMMENTED", "commit_id": HEAD })
}

fn new_review() -> NewReview {
    NewReview { commit_id: Sha::parse(HEAD).unwrap(), body: "b".into(), comments: Vec::new() }
}

const THREE: PullNumber = PullNumber(3);

// -- identity ---------------------------------------------------------------

#[tokio::test]
async fn the_app_proves_itself_with_a_short_lived_jwt() {
    let world = world(|_, _| {
        ok(json!({ "id": 42, "slug": "octoswarm", "name": "Octoswarm", "permissions": { "checks": "write" }, "events": ["check_run"] }))
    })
    .await;
    let app = world.github.app().await.unwrap();
    assert_eq!((app.id, app.bot_login.as_str()), (42, "octoswarm[bot]"));
    let seen = world.stub.seen();
    let claims = seen[0].token.split('.').nth(1).unwrap();
    let claims: Value =
        serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    let now = NOW / 1000;
    assert_eq!((claims["iat"].as_i64(), claims["iss"].as_str()), (Some(now - 60), Some("42")));
    assert!(claims["exp"].as_i64().unwrap() > now && claims["exp"].as_i64().unwrap() - now <= 600);
}

#[tokio::test]
async fn both_forms_of_a_private_key_are_read_and_others_refused() {
    let pkcs8 = der();
    // Version, algorithm and the header of the octet string: what follows is the PKCS#1 form.
    let pkcs1 = pkcs8[26..].to_vec();
    for key in [pem("PRIVATE KEY", &pkcs8), pem("RSA PRIVATE KEY", &pkcs1)] {
        assert!(Github::new(Options::new(1, key)).is_ok());
    }
    let error = Github::new(Options::new(1, Secret::new("no key"))).err().unwrap();
    assert!(matches!(error, Error::PrivateKey(_)) && error.hint().unwrap().contains("PEM"));
}

#[tokio::test]
async fn fifty_first_calls_mint_one_token() {
    let world = world(|_, _| ok(pull())).await;
    let calls = (0..50).map(|_| {
        let repo = world.repo.clone();
        tokio::spawn(async move { repo.pull(THREE).await })
    });
    for call in futures::future::join_all(calls).await {
        call.unwrap().unwrap();
    }
    assert_eq!((world.stub.mints(), world.stub.seen().len()), (1, 50));
}

#[tokio::test]
async fn a_token_is_narrowed_to_its_repository_and_purpose_and_renewed_before_it_dies() {
    let world = world(|_, _| ok(pull())).await;
    world.repo.pull(THREE).await.unwrap();
    world.clock.advance(50 * 60_000);
    world.repo.pull(THREE).await.unwrap();
    assert_eq!(world.stub.mints(), 1);
    world.clock.advance(5 * 60_000);
    world.repo.pull(THREE).await.unwrap();
    assert_eq!(world.stub.mints(), 2);
    let read = json!({ "checks": "read", "contents": "read", "metadata": "read", "pull_requests": "read" });
    assert_eq!(world.stub.minted.lock().unwrap()[0], json!({ "repository_ids": [7], "permissions": read }));
    let tokens: Vec<_> = world.stub.seen().iter().map(|seen| seen.token.clone()).collect();
    assert_eq!(tokens[0], tokens[1]);
    assert_ne!(tokens[1], tokens[2]);
}

#[tokio::test]
async fn git_gets_a_credential_of_its_own_for_the_web_origin() {
    let world = world(|_, _| ok(pull())).await;
    let credential = world.repo.credential().await.unwrap();
    assert_eq!((credential.origin.as_str(), credential.user.as_str()), (world.stub.url.as_str(), "x-access-token"));
    assert_eq!(world.repo.clone_url(), format!("{}/octo/calc.git", world.stub.url));
    world.repo.pull(THREE).await.unwrap();
    assert_ne!(world.stub.seen()[0].token, credential.token.expose());
}

#[tokio::test]
async fn after_a_401_the_token_is_renewed_exactly_once() {
    let bad = || refuse(401, &[], json!({ "message": "Bad credentials" }));
    let once = world(move |_, nth| if nth == 0 { bad() } else { ok(pull()) }).await;
    once.repo.pull(THREE).await.unwrap();
    assert_eq!((once.stub.mints(), once.stub.seen().len()), (2, 2));

    let always = world(move |_, _| bad()).await;
    let error = always.repo.pull(THREE).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert_eq!((always.stub.mints(), always.stub.seen().len()), (2, 2));
}

// -- limits -----------------------------------------------------------------

#[tokio::test]
async fn retry_after_is_obeyed_by_that_installation_alone() {
    let world = world(|seen, nth| {
        assert!(seen.method == Method::GET);
        if nth == 0 { refuse(429, &[("retry-after", "30")], json!({ "message": "slow down" })) } else { ok(pull()) }
    })
    .await;
    let wait = |error: Error| match error.class() {
        Class::Snooze(wait) => wait,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(world.repo.pull(THREE).await.unwrap_err()), Duration::from_secs(30));
    let again = wait(world.repo.pull(THREE).await.unwrap_err());
    assert!(again <= Duration::from_secs(30) && again > Duration::from_secs(25), "{again:?}");
    assert_eq!(world.stub.seen().len(), 1, "a known block sends nothing");
    repo_of(&world.github, 2).pull(THREE).await.unwrap();
}

#[tokio::test]
async fn an_empty_account_waits_until_its_reset() {
    let reset = (NOW / 1000 + 120).to_string();
    let world = world(move |_, _| {
        refuse(
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset)],
            json!({ "message": "API rate limit exceeded for installation ID 1." }),
        )
    })
    .await;
    let error = world.repo.pull(THREE).await.unwrap_err();
    assert!(
        matches!(error, Error::RateLimited { retry_after } if retry_after == Duration::from_secs(120)),
        "{error:?}"
    );
}

#[tokio::test]
async fn the_last_call_of_the_hour_succeeds_and_the_next_does_not_go_out() {
    let reset = (NOW / 1000 + 120).to_string();
    let world =
        world(move |_, _| refuse(200, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset)], pull())).await;
    world.repo.pull(THREE).await.unwrap();
    assert!(matches!(world.repo.pull(THREE).await, Err(Error::RateLimited { .. })));
    assert_eq!(world.stub.seen().len(), 1);
}

#[tokio::test]
async fn a_secondary_limit_without_a_header_waits_at_least_a_minute() {
    let world = world(|_, _| refuse(403, &[], json!({ "message": "You have exceeded a secondary rate limit." }))).await;
    let error = world.repo.create_review(THREE, &new_review()).await.unwrap_err();
    assert!(matches!(error, Error::RateLimited { retry_after } if retry_after >= Duration::from_secs(60)), "{error:?}");
    assert!(world.repo.create_review(THREE, &new_review()).await.is_err());
    assert_eq!(world.stub.seen().len(), 1);
}

#[tokio::test]
async fn writes_are_serial_and_paced_while_reads_are_not() {
    let pace = Duration::from_millis(200);
    let script = |seen: &Seen, _| ok(if seen.method == Method::GET { pull() } else { review() });
    let world = world_with(script, |options| Options { write_pace: pace, ..options }).await;
    let writes = (0..3).map(|_| {
        let repo = world.repo.clone();
        tokio::spawn(async move { repo.create_review(THREE, &new_review()).await })
    });
    for write in futures::future::join_all(writes).await {
        write.unwrap().unwrap();
    }
    let times: Vec<_> = world.stub.seen().iter().map(|seen| seen.at).collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= pace, "{:?}", pair[1] - pair[0]);
    }
    let started = Instant::now();
    for _ in 0..10 {
        world.repo.pull(THREE).await.unwrap();
    }
    assert!(started.elapsed() < pace * 10);
}

// -- tokens stay at home ----------------------------------------------------

#[tokio::test]
async fn nothing_leads_a_token_to_another_host() {
    let foreign = Stub::start(&Clock::manual(NOW), |_, _| ok(pull())).await;
    let elsewhere = foreign.url.clone();
    let world = world(move |seen, _| {
        let to = format!("{elsewhere}/api/v3/x");
        if seen.path.ends_with("/reviews") && seen.method == Method::GET {
            refuse(200, &[("link", &format!("<{to}>; rel=\"next\""))], json!([review()]))
        } else {
            refuse(if seen.method == Method::GET { 301 } else { 307 }, &[("location", &to)], json!({}))
        }
    })
    .await;
    for error in [
        world.repo.pull(THREE).await.unwrap_err(),
        world.repo.reviews(THREE).await.unwrap_err(),
        world.repo.create_review(THREE, &new_review()).await.unwrap_err(),
    ] {
        assert!(matches!(&error, Error::Redirected { to, .. } if *to == foreign.url), "{error:?}");
        assert_eq!(error.class(), Class::Discard);
    }
    assert!(foreign.seen().is_empty());
}

#[tokio::test]
async fn a_renamed_repository_is_followed_on_its_own_origin_a_few_times() {
    let moved = world(|seen, _| {
        let target = "/api/v3/repositories/7/pulls/3";
        if seen.path == target { ok(pull()) } else { refuse(301, &[("location", target)], json!({})) }
    })
    .await;
    assert_eq!(moved.repo.pull(THREE).await.unwrap().number, THREE);
    let written = world(|seen, _| {
        let target = "/api/v3/repositories/7/pulls/3/reviews";
        if seen.path == target { ok(review()) } else { refuse(307, &[("location", target)], json!({})) }
    })
    .await;
    written.repo.create_review(THREE, &new_review()).await.unwrap();
    assert_eq!(written.stub.seen()[1].body["event"], "COMMENT");
    let circle = world(|seen, _| refuse(301, &[("location", &seen.path)], json!({}))).await;
    assert!(matches!(circle.repo.pull(THREE).await, Err(Error::Redirected { .. })));
    assert_eq!(circle.stub.seen().len(), 4);
    let written = world(|_, _| refuse(301, &[("location", "/api/v3/x")], json!({}))).await;
    assert!(matches!(written.repo.create_review(THREE, &new_review()).await, Err(Error::Redirected { .. })));
    assert_eq!(written.stub.seen().len(), 1);
}

#[tokio::test]
async fn a_token_never_stands_in_an_error() {
    let world = world(|seen, _| {
        refuse(
            422,
            &[],
            json!({ "message": format!("no: {}", seen.token), "errors": [{ "message": seen.token }, "x"] }),
        )
    })
    .await;
    let error = world.repo.create_review(THREE, &new_review()).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(!text.contains("ghs_") && !text.contains("eyJ") && text.contains("[redacted]"), "{text}");
}

// -- lists and odd answers --------------------------------------------------

#[tokio::test]
async fn all_pages_are_read_behind_an_enterprise_prefix_with_the_token_on_each() {
    let world = world(|seen, nth| {
        assert!(seen.path.starts_with("/api/v3/"), "{}", seen.path);
        let next = format!("<{}?per_page=100&page={}>; rel=\"next\"", seen.path, nth + 2);
        if nth < 2 { refuse(200, &[("link", &next)], json!([review(), review()])) } else { ok(json!([review()])) }
    })
    .await;
    assert_eq!(world.repo.reviews(THREE).await.unwrap().len(), 5);
    let seen = world.stub.seen();
    assert!(seen.iter().all(|seen| seen.token.starts_with("ghs_")));
    assert_eq!((seen[0].query.as_str(), seen[2].query.as_str()), ("per_page=100", "per_page=100&page=3"));
}

#[tokio::test]
async fn a_list_without_end_is_stopped() {
    let world =
        world(|seen, _| refuse(200, &[("link", &format!("<{}?page=1>; rel=\"next\"", seen.path))], json!([]))).await;
    assert!(matches!(world.repo.reviews(THREE).await, Err(Error::TooLarge { .. })));
    assert_eq!(world.stub.seen().len(), 100);
}

#[tokio::test]
async fn broken_answers_are_errors_that_the_queue_may_retry() {
    let page = || ([("content-type", "text/html")], "<html>Unicorn!</html>").into_response();
    let cut = || Bytes::from_static(b"{\"number\": 3, \"state\": \"op").into_response();
    for answer in [page, cut] {
        let world = world(move |_, _| answer()).await;
        let error = world.repo.pull(THREE).await.unwrap_err();
        assert!(matches!(error, Error::Decode { .. }) && error.class() == Class::Retry, "{error:?}");
    }
    let unicorn = world(move |_, _| (StatusCode::BAD_GATEWAY, page()).into_response()).await;
    let error = unicorn.repo.pull(THREE).await.unwrap_err();
    assert!(matches!(error, Error::Server { status: 502, .. }) && error.class() == Class::Retry, "{error:?}");
    assert_eq!(unicorn.stub.seen().len(), 3, "a read is tried again a little");
}

#[tokio::test]
async fn a_write_is_never_sent_twice_from_here() {
    let world = world(|_, _| StatusCode::BAD_GATEWAY.into_response()).await;
    assert!(matches!(world.repo.create_review(THREE, &new_review()).await, Err(Error::Server { status: 502, .. })));
    assert_eq!(world.stub.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_has_a_size_and_a_deadline() {
    let flood = |_: &Seen, _| Bytes::from(vec![b' '; 100_000]).into_response();
    let flooded = world_with(flood, |options| Options { answer_cap: 65_536, ..options }).await;
    assert!(matches!(flooded.repo.pull(THREE).await, Err(Error::TooLarge { .. })));

    let endless =
        |_: &Seen, _| Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>()).into_response();
    let stalled = world_with(endless, |options| Options { timeout: Duration::from_millis(200), ..options }).await;
    let error = stalled.repo.create_review(THREE, &new_review()).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }) && error.class() == Class::Retry, "{error:?}");
}

#[tokio::test]
async fn a_missing_permission_is_named() {
    let world = world(|_, _| refuse(403, &[], json!({ "message": "Resource not accessible by integration" }))).await;
    let error = world.repo.create_review(THREE, &new_review()).await.unwrap_err();
    assert!(matches!(&error, Error::Forbidden { needs, .. } if needs == "`pull_requests: write`"), "{error:?}");
    assert!(error.hint().unwrap().contains("`pull_requests: write`"));
    assert_eq!(error.class(), Class::Discard);
}

#[tokio::test]
async fn graphql_errors_keep_their_kind() {
    let world = world(|seen, _| {
        assert_eq!(seen.path, "/api/graphql");
        let kind = seen.body["variables"]["id"].as_str().unwrap_or("NOT_FOUND");
        ok(json!({ "data": null, "errors": [{ "type": kind, "message": "no", "path": ["x"] }] }))
    })
    .await;
    assert!(matches!(world.repo.threads(THREE).await, Err(Error::NotFound { .. })));
    let error = world.repo.resolve_thread("FORBIDDEN").await.unwrap_err();
    assert!(error.hint().unwrap().contains("`contents: write`"), "{error:?}");
    assert!(matches!(world.repo.resolve_thread("STRANGE").await, Err(Error::Graphql { .. })));
    assert!(matches!(world.repo.resolve_thread("RATE_LIMITED").await, Err(Error::RateLimited { .. })));
    let before = world.stub.seen().len();
    assert!(matches!(world.repo.threads(THREE).await, Err(Error::RateLimited { .. })));
    assert_eq!(world.stub.seen().len(), before);
}

#[tokio::test]
async fn threads_come_with_all_pages_of_threads_and_comments() {
    let comment = |id: u64, login: &str, kind: &str| json!({ "databaseId": id, "body": "b", "createdAt": "2027-01-15T08:00:00Z", "author": { "__typename": kind, "login": login } });
    let world = world(move |seen, _| {
        let after = seen.body["variables"]["after"].as_str();
        let page = |more: bool, cursor: &str, nodes: Value| json!({ "pageInfo": { "hasNextPage": more, "endCursor": cursor }, "nodes": nodes });
        if seen.body["variables"].get("number").is_none() {
            let comments = page(false, "z", json!([comment(3, "mona", "User")]));
            return ok(json!({ "data": { "node": { "comments": comments } } }));
        }
        let thread = |id: &str, comments: Value| json!({ "id": id, "isResolved": false, "isOutdated": true, "path": "a.rs", "line": null, "comments": comments });
        let threads = match after {
            None => page(true, "c1", json!([thread("T1", page(true, "k", json!([comment(1, "octoswarm", "Bot"), comment(2, "x", "User")])))])),
            Some(_) => page(false, "c2", json!([thread("T2", page(false, "k", json!([]))), null])),
        };
        ok(json!({ "data": { "repository": { "pullRequest": { "reviewThreads": threads } } } }))
    })
    .await;
    let threads = world.repo.threads(THREE).await.unwrap();
    assert_eq!(threads.iter().map(|t| (t.id.as_str(), t.comments.len())).collect::<Vec<_>>(), [("T1", 3), ("T2", 0)]);
    assert!(threads[0].comments[0].bot && !threads[0].comments[2].bot);
}

#[tokio::test]
async fn a_file_is_read_and_what_is_no_file_is_refused() {
    let world = world(|seen, _| match seen.path.rsplit('/').next().unwrap() {
        "a%20b.yml" => ok(json!({ "type": "file", "encoding": "base64", "content": "aGFs\nbG8=\n", "size": 5, "download_url": "http://evil.invalid/x" })),
        "dir" => ok(json!([])),
        "link" => ok(json!({ "type": "symlink", "target": "/etc/passwd", "size": 11 })),
        "big" => ok(json!({ "type": "file", "encoding": "none", "content": "", "size": 2_000_000 })),
        _ => refuse(404, &[], json!({ "message": "Not Found" })),
    })
    .await;
    assert_eq!(world.repo.file(".github/a b.yml", Some("main")).await.unwrap().as_deref(), Some("hallo"));
    assert_eq!(world.stub.seen()[0].query, "ref=main");
    assert_eq!(world.repo.file("gone", None).await.unwrap(), None);
    for (path, part) in [("dir", "directory"), ("link", "symlink"), ("big", "larger"), ("../../x", "leaves")] {
        let error = world.repo.file(path, None).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(world.stub.seen().len(), 5);
}

// -- shapes we send ---------------------------------------------------------

#[tokio::test]
async fn a_review_is_sent_as_a_comment_with_line_and_side() {
    let world = world(|_, _| ok(review())).await;
    let one = |line, start_line: Option<u32>| NewComment {
        path: "a.rs".into(),
        line,
        side: Side::Right,
        start_line,
        start_side: start_line.map(|_| Side::Right),
        body: "x".into(),
    };
    let sent = NewReview { comments: vec![one(4, None), one(9, Some(7))], ..new_review() };
    let got = world.repo.create_review(THREE, &sent).await.unwrap();
    assert!(got.author.bot && got.id == 77);
    assert_eq!(
        world.stub.seen()[0].body,
        json!({
            "commit_id": HEAD, "event": "COMMENT", "body": "b",
            "comments": [
                { "path": "a.rs", "line": 4, "side": "RIGHT", "body": "x" },
                { "path": "a.rs", "line": 9, "side": "RIGHT", "start_line": 7, "start_side": "RIGHT", "body": "x" },
            ],
        })
    );
}

#[tokio::test]
async fn only_our_own_check_runs_are_listed() {
    let run = |id: u64, app: u64| json!({ "id": id, "name": "octoswarm", "external_id": "e", "status": "in_progress", "conclusion": null, "app": { "id": app }, "output": { "title": null, "summary": null, "text": null, "annotations_count": 0 } });
    let world = world(move |seen, _| match seen.method {
        Method::GET => ok(json!({ "total_count": 2, "check_runs": [run(1, 42), run(2, 43)] })),
        _ => ok(run(3, 42)),
    })
    .await;
    let head = Sha::parse(HEAD).unwrap();
    let runs = world.repo.check_runs(&head, 42, "octoswarm").await.unwrap();
    assert_eq!(runs.iter().map(|run| run.id.0).collect::<Vec<_>>(), [1]);
    let new = NewCheckRun {
        name: "octoswarm".into(),
        head_sha: head,
        external_id: "e".into(),
        status: CheckStatus::InProgress,
        output: None,
    };
    world.repo.create_check_run(&new).await.unwrap();
    assert_eq!(
        world.stub.seen()[1].body,
        json!({ "name": "octoswarm", "head_sha": HEAD, "external_id": "e", "status": "in_progress" })
    );
}

#[test]
fn the_manifest_asks_for_exactly_what_the_code_uses() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/app-manifest.yml")).unwrap();
    let manifest = manifest::parse(&text).unwrap();
    assert_eq!(manifest::differences(&manifest), Vec::<String>::new());
}
