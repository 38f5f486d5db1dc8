//! Git over smart HTTP: the machine's own `git http-backend`, behind the box's door.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::io::AsyncWriteExt;

use super::fault::FaultKind;
use super::http::{allows, basic, parse_query, plain, reaches, verify_token};
use super::push::{Declined, Request};
use super::state::{Level, Permissions, Push, Repo, World};
use super::{Error, PASSWORD, Shared, repo};

/// Where this machine keeps git's own programs.
#[expect(clippy::disallowed_methods, reason = "the box runs the machine's git http-backend")]
pub async fn exec_path() -> Result<String, Error> {
    let output = tokio::process::Command::new("git").arg("--exec-path").output().await.map_err(Error::NoGit)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

struct Wish {
    repo: u64,
    /// `/owner/name.git/info/refs` with the names as the disk has them.
    path_info: String,
    writes: bool,
}

/// Who pushes or fetches.
struct Visitor {
    login: String,
    /// What the App's token may do; people have none.
    token: Option<Permissions>,
}

/// A refusal in git's own way: a status and a line of text.
type No = (u16, String);

fn wish(world: &World, path: &str, query: &str) -> Option<Wish> {
    let (name, rest) = path.strip_prefix('/')?.split_once(".git/")?;
    let (owner, name) = name.split_once('/')?;
    let repo = world.find_repo(owner, name)?;
    let service = match rest {
        "info/refs" => parse_query(query).get("service").cloned()?,
        "git-upload-pack" | "git-receive-pack" => rest.to_owned(),
        _ => return None,
    };
    let writes = match service.as_str() {
        "git-upload-pack" => false,
        "git-receive-pack" => true,
        _ => return None,
    };
    let known = world.repos.get(&repo)?;
    Some(Wish { repo, path_info: format!("/{}/{}.git/{rest}", known.owner, known.name), writes })
}

/// The new address of a repository that was renamed.
fn moved(world: &World, path: &str, query: &str) -> Option<String> {
    let (name, rest) = path.strip_prefix('/')?.split_once(".git/")?;
    let (owner, name) = name.split_once('/')?;
    if world.find_repo(owner, name).is_some() {
        return None;
    }
    let known = world.repos.get(&world.moved_to(owner, name)?)?;
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    Some(format!("{}/{}.git/{rest}{query}", world.web, known.full_name()))
}

/// Everybody has to say who they are, public repository or not.
fn admit(world: &World, wish: &Wish, headers: &HeaderMap) -> Result<Visitor, No> {
    let no = |status: u16, text: &str| Err((status, text.to_owned()));
    let Some((user, password)) = basic(headers) else { return no(401, "Authentication required") };
    let archived = || {
        let refused = wish.writes && world.repos.get(&wish.repo).is_some_and(|r| r.archived);
        let text = "This repository was archived so it is read-only.";
        if refused { Err((403, text.to_owned())) } else { Ok(()) }
    };
    if user == "x-access-token" {
        let token = verify_token(world, &password).map_err(|refusal| match refusal.status {
            403 => (403, refusal.message),
            _ => (401, "Invalid credentials".to_owned()),
        })?;
        if !reaches(world, &token, wish.repo) {
            return no(404, "Repository not found");
        }
        let level = if wish.writes { Level::Write } else { Level::Read };
        if !allows(&token.permissions, "contents", level) {
            let name = world.repos.get(&wish.repo).map(Repo::full_name).unwrap_or_default();
            return Err((403, format!("Permission to {name}.git denied to {}.", world.bot())));
        }
        archived()?;
        return Ok(Visitor { login: world.bot(), token: Some(token.permissions) });
    }
    if password == PASSWORD && !user.is_empty() {
        archived()?;
        return Ok(Visitor { login: user, token: None });
    }
    no(401, "Invalid credentials")
}

/// Serves git; scripted faults hit it by its path, as in `/octo/calc.git/git-receive-pack`.
pub async fn serve(
    shared: &Arc<Shared>,
    method: &str,
    path: &str,
    query: &str,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let fault = shared.take_fault(method, path);
    match &fault {
        Some(FaultKind::Status { status, message, retry_after }) => {
            let mut response = plain(*status, message);
            if let Some(seconds) = retry_after {
                response.headers_mut().insert("retry-after", HeaderValue::from(*seconds));
            }
            return response;
        }
        Some(FaultKind::Html) => return plain(502, "<!DOCTYPE html><html><body><h1>Unicorn!</h1></body></html>"),
        Some(FaultKind::RateLimit { .. }) => return plain(403, "API rate limit exceeded for installation."),
        Some(FaultKind::Redirect(to)) => return redirect(307, to),
        Some(
            FaultKind::Truncate
            | FaultKind::Withhold
            | FaultKind::WithholdHalf
            | FaultKind::RejectAfterEffect { .. }
            | FaultKind::Slow(_),
        )
        | None => {}
    }
    // A push that has begun comes to its end, whether or not its client stays to hear of it.
    let task = tokio::spawn({
        let (shared, headers) = (shared.clone(), headers.clone());
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        async move { act(&shared, &method, &path, &query, &headers, body).await }
    });
    let Ok(answer) = task.await else { return plain(500, "the box broke down over this") };
    match fault {
        Some(FaultKind::Withhold) => shared.hold().await,
        Some(FaultKind::WithholdHalf) => return shared.hold_midway(answer).await,
        Some(FaultKind::Slow(time)) => tokio::time::sleep(time).await,
        Some(FaultKind::RejectAfterEffect { status }) => return plain(status, "Server Error"),
        Some(FaultKind::Truncate) => {
            let (parts, body) = answer.into_parts();
            let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            // The connection breaks in the middle: git would wait for ever for the rest of an answer that merely ends.
            let broken = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
            let half = futures::stream::iter([Ok(whole.slice(..whole.len() / 2)), broken]);
            return Response::from_parts(parts, Body::from_stream(half));
        }
        Some(FaultKind::Status { .. } | FaultKind::Html | FaultKind::RateLimit { .. } | FaultKind::Redirect(_))
        | None => {}
    }
    answer
}

async fn act(
    shared: &Arc<Shared>,
    method: &str,
    path: &str,
    query: &str,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let admitted = {
        let mut world = shared.world();
        if let Some(to) = moved(&world, path, query) {
            return redirect(301, &to);
        }
        match wish(&world, path, query) {
            None => Err((404, "Repository not found".to_owned())),
            Some(wish) => admit(&world, &wish, headers).map(|who| {
                world.add_user(&who.login, "User");
                (wish, who)
            }),
        }
    };
    let (wish, who) = match admitted {
        Ok(admitted) => admitted,
        Err((status, text)) => {
            let mut response = plain(status, &text);
            if status == 401 {
                let realm = HeaderValue::from_static("Basic realm=\"GitHub\"");
                response.headers_mut().insert("www-authenticate", realm);
            }
            return response;
        }
    };
    let pushes = wish.writes && path.ends_with("/git-receive-pack");
    let request = if pushes { Request::parse(&body).map(Arc::new) } else { None };
    if pushes && request.is_none() {
        // What the box cannot read it cannot judge; a compressed push is such a thing, and no git sends one.
        return plain(400, "The push cannot be read.");
    }
    if let Some(request) = &request
        && let Some(refused) = examine(shared, &wish, &who, request).await
    {
        return refused;
    }
    let before = shared.branches(wish.repo);
    let answer = match backend(shared, method, &wish, query, headers, &who.login, &body).await {
        Ok(answer) => answer,
        Err(error) => return plain(500, &format!("git http-backend failed: {error}")),
    };
    if pushes {
        shared.after_push(wish.repo, &before, &who.login);
        if let Some(request) = request {
            shared.note_push(&wish, &who, &request, None);
        }
    }
    answer
}

/// The answer to a push that breaks a rule of the repository.
async fn examine(shared: &Arc<Shared>, wish: &Wish, who: &Visitor, request: &Arc<Request>) -> Option<Response> {
    let (worker, looked_at, repo, token) = (shared.clone(), request.clone(), wish.repo, who.token.clone());
    let work = move || looked_at.examine(&worker.world(), repo, token.as_ref());
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(declined))) => {
            shared.note_push(wish, who, request, Some(&declined));
            let url = {
                let world = shared.world();
                let name = world.repos.get(&wish.repo).map(Repo::full_name).unwrap_or_default();
                format!("{}/{name}", world.web)
            };
            let mut response = Response::new(Body::from(request.answer(&declined, &url)));
            let kind = HeaderValue::from_static("application/x-git-receive-pack-result");
            response.headers_mut().insert("content-type", kind);
            Some(response)
        }
        Ok(Err(refusal)) => Some(plain(500, &refusal.text())),
        Err(_) => Some(plain(500, "the box broke down over this push")),
    }
}

fn redirect(status: u16, to: &str) -> Response {
    let mut response = plain(status, "");
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert("location", to);
    }
    response
}

#[expect(clippy::disallowed_methods, reason = "the box runs the machine's git http-backend")]
async fn backend(
    shared: &Shared,
    method: &str,
    wish: &Wish,
    query: &str,
    headers: &HeaderMap,
    who: &str,
    body: &Bytes,
) -> std::io::Result<Response> {
    let mut command = tokio::process::Command::new(format!("{}/git-http-backend", shared.exec_path));
    let root = shared.world().root.clone();
    command
        .env_clear()
        .env("PATH", &shared.exec_path)
        .env("HOME", &root)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_PROJECT_ROOT", &root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", &wish.path_info)
        .env("REQUEST_METHOD", method)
        .env("QUERY_STRING", query)
        .env("REMOTE_USER", who)
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    for (header, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = headers.get(header).and_then(|v| v.to_str().ok()) {
            command.env(variable, value);
        }
    }
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let feed = async {
        if let Some(mut stdin) = stdin {
            // The backend may stop reading early, as when it refuses: its answer tells more than the broken pipe.
            let _ = stdin.write_all(body).await;
        }
    };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    Ok(parse_cgi(&output?.stdout))
}

fn parse_cgi(output: &[u8]) -> Response {
    let split = output.windows(4).position(|w| w == b"\r\n\r\n").map(|at| (at, at + 4));
    let Some((head, body)) = split else { return plain(500, "git http-backend answered nothing") };
    let mut response = Response::new(Body::from(output[body..].to_vec()));
    for line in String::from_utf8_lossy(&output[..head]).lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().and_then(|c| c.parse().ok()).unwrap_or(500);
            *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        } else if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

impl Shared {
    fn branches(&self, id: u64) -> BTreeMap<String, String> {
        let world = self.world();
        world.git(id).ok().and_then(|git| repo::branches(&git).ok()).unwrap_or_default()
    }

    /// Writes down what a push asked for and whether it was let in.
    fn note_push(&self, wish: &Wish, who: &Visitor, request: &Request, declined: Option<&Declined>) {
        let mut world = self.world();
        let tip = |world: &World, name: &str| {
            let git = world.git(wish.repo).ok()?;
            git.find_reference(name).ok()?.target().map(|oid| oid.to_string())
        };
        for change in &request.changes {
            let refused = match declined {
                Some(declined) => Some(request.reason(declined, &change.name)),
                // Git itself refused: the ref is not what was asked for.
                None if tip(&world, &change.name) != change.after => Some("refused by git".to_owned()),
                None => None,
            };
            let repo = world.repos.get(&wish.repo).map(Repo::full_name).unwrap_or_default();
            let (reference, by, after) = (change.name.clone(), who.login.clone(), change.after.clone());
            world.pushes.push(Push { repo, reference, by, after, refused });
        }
    }

    /// Tells the world about every branch that a push moved.
    fn after_push(&self, id: u64, before: &BTreeMap<String, String>, who: &str) {
        let after = self.branches(id);
        let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let mut world = self.world();
        for name in names {
            if before.get(name) != after.get(name)
                && let Err(refusal) = world.pushed(id, name, before.get(name).map(String::as_str), who)
            {
                tracing::warn!(error = refusal.text(), "a push could not be followed");
            }
        }
    }
}
