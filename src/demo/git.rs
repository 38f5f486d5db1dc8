//! Git over smart HTTP: the machine's own `git http-backend`, behind the box's door.

use std::collections::BTreeMap;
use std::process::Stdio;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::io::AsyncWriteExt;

use super::http::{allows, basic, parse_query, plain, reaches, verify_token};
use super::state::{Level, World};
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

/// Who pushes or fetches; everybody has to say so, public repository or not.
fn admit(world: &World, wish: &Wish, headers: &HeaderMap) -> Result<String, (u16, &'static str)> {
    let Some((user, password)) = basic(headers) else { return Err((401, "Authentication required")) };
    if user == "x-access-token" {
        let token = verify_token(world, &password).map_err(|_| (401, "Invalid credentials"))?;
        if !reaches(world, &token, wish.repo) {
            return Err((404, "Repository not found"));
        }
        let level = if wish.writes { Level::Write } else { Level::Read };
        if !allows(&token.permissions, "contents", level) {
            return Err((403, "The requested URL returned error: write access to repository not granted"));
        }
        return Ok(world.bot());
    }
    if password == PASSWORD && !user.is_empty() {
        return Ok(user);
    }
    Err((401, "Invalid credentials"))
}

pub async fn serve(
    shared: &Shared,
    method: &str,
    path: &str,
    query: &str,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let admitted = {
        let mut world = shared.world();
        match wish(&world, path, query) {
            None => Err((404, "Repository not found")),
            Some(wish) => admit(&world, &wish, headers).map(|who| {
                world.add_user(&who, "User");
                (wish, who)
            }),
        }
    };
    let (wish, who) = match admitted {
        Ok(admitted) => admitted,
        Err((status, text)) => {
            let mut response = plain(status, text);
            if status == 401 {
                let realm = HeaderValue::from_static("Basic realm=\"GitHub\"");
                response.headers_mut().insert("www-authenticate", realm);
            }
            return response;
        }
    };
    let before = shared.branches(wish.repo);
    let answer = match backend(shared, method, &wish, query, headers, &who, &body).await {
        Ok(answer) => answer,
        Err(error) => return plain(500, &format!("git http-backend failed: {error}")),
    };
    if wish.writes && path.ends_with("/git-receive-pack") {
        shared.after_push(wish.repo, &before, &who);
    }
    answer
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
