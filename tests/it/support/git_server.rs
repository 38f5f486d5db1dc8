//! Real git over HTTP: `git http-backend` behind a small bridge, which can also misbehave.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use futures::StreamExt;
use tokio::io::AsyncWriteExt;

/// Runs git in a folder, free of the machine's configuration, and gives what it printed.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = command(dir, args).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The command that `git` runs.
pub fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args);
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.test"),
        ("GIT_COMMITTER_NAME", "Ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.test"),
    ] {
        command.env(name, value);
    }
    command
}

/// How the server answers from now on.
#[derive(Debug, Clone)]
pub enum Manner {
    /// As git does.
    Honest,
    /// Everything with a redirect to another server.
    Redirect(String),
    /// The list of refs honestly, the pack with this body.
    Pack(Vec<u8>),
    /// The list of refs with this body.
    Refs(Vec<u8>),
    /// Says it will answer, then sends nothing.
    Stall,
    /// The pack as git makes it, then zeros without end.
    Endless,
    /// This status to everything.
    Status(u16),
    /// Does what a push asks, then cuts the connection instead of answering.
    AnswerLost,
    /// As git does, after this git command was run in the repository of a push that comes in.
    Meanwhile(Vec<String>),
}

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub authorization: Option<String>,
    pub status: u16,
}

#[derive(Clone)]
struct Shared {
    root: PathBuf,
    user_and_token: Option<(String, String)>,
    manner: Arc<Mutex<Manner>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

pub struct GitServer {
    pub origin: String,
    shared: Shared,
    task: tokio::task::JoinHandle<()>,
}

impl GitServer {
    /// Serves the bare repositories below `root`, to this user and token only if one is given.
    pub async fn start(root: &Path, user_and_token: Option<(&str, &str)>) -> Self {
        let shared = Shared {
            root: root.to_owned(),
            user_and_token: user_and_token.map(|(user, token)| (user.to_owned(), token.to_owned())),
            manner: Arc::new(Mutex::new(Manner::Honest)),
            seen: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { origin, shared, task }
    }

    pub fn behave(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    /// The requests since the last call.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.shared.seen.lock().unwrap())
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let authorization = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let response = respond(&shared, request, authorization.as_deref()).await;
    let status = response.status().as_u16();
    shared.seen.lock().unwrap().push(Seen { method, path, authorization, status });
    response
}

async fn respond(shared: &Shared, request: Request, authorization: Option<&str>) -> Response {
    if let Some((user, token)) = &shared.user_and_token {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{token}"));
        if authorization != Some(&format!("Basic {pair}")) {
            let builder = Response::builder().status(401).header("www-authenticate", "Basic realm=\"git\"");
            return builder.body(Body::empty()).unwrap();
        }
    }
    let asks_refs = request.uri().path().ends_with("/info/refs");
    let pushes = request.uri().to_string().ends_with("git-receive-pack");
    let typed = |body: Body| {
        let service = if pushes { "receive" } else { "upload" };
        let kind = if asks_refs { "advertisement" } else { "result" };
        let kind = format!("application/x-git-{service}-pack-{kind}");
        Response::builder().header("content-type", kind).body(body).unwrap()
    };
    let manner = shared.manner.lock().unwrap().clone();
    match manner {
        Manner::Redirect(to) => {
            let to = format!("{to}{}", request.uri());
            Response::builder().status(302).header("location", to).body(Body::empty()).unwrap()
        }
        Manner::Status(status) => Response::builder().status(status).body(Body::empty()).unwrap(),
        Manner::Refs(body) if asks_refs => typed(Body::from(body)),
        Manner::Pack(body) if !asks_refs => typed(Body::from(body)),
        Manner::Stall => {
            let never = futures::stream::pending::<Result<Bytes, std::io::Error>>();
            typed(Body::from_stream(never))
        }
        Manner::Endless if !asks_refs => {
            let packet = [b"ffff\x02".as_slice(), &[0; 0xffff - 5]].concat();
            let zeros = futures::stream::repeat_with(move || Ok::<_, std::io::Error>(Bytes::from(packet.clone())));
            let begin = b"0008NAK\n0011\x02PACK\0\0\0\x02\0\0\0\x01";
            // In answer to a push these are remarks for people, one packet after the other.
            let begin = if pushes { Vec::new() } else { begin.to_vec() };
            let begin = futures::stream::once(async { Ok(Bytes::from(begin)) });
            typed(Body::from_stream(begin.chain(zeros)))
        }
        Manner::AnswerLost if pushes && !asks_refs => {
            backend(shared, request).await;
            let cut = futures::stream::once(async { Err::<Bytes, _>(std::io::Error::other("cut")) });
            typed(Body::from_stream(cut))
        }
        Manner::Meanwhile(args) if pushes && !asks_refs => {
            let path = request.uri().path().trim_end_matches("/git-receive-pack").trim_start_matches('/').to_owned();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            git(&shared.root.join(path), &args);
            backend(shared, request).await
        }
        Manner::AnswerLost
        | Manner::Meanwhile(_)
        | Manner::Honest
        | Manner::Refs(_)
        | Manner::Pack(_)
        | Manner::Endless => backend(shared, request).await,
    }
}

/// The CGI protocol, as far as `git http-backend` speaks it.
async fn backend(shared: &Shared, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    let mut cgi = tokio::process::Command::from(command(&shared.root, &["http-backend"]));
    cgi.env("GIT_PROJECT_ROOT", &shared.root)
        // Who has a name may push.
        .env("REMOTE_USER", "x-access-token")
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(kind) = parts.headers.get("content-type") {
        cgi.env("CONTENT_TYPE", kind.to_str().unwrap());
    }
    let mut child = cgi.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feed = tokio::spawn(async move {
        // The backend may answer without reading all of it.
        let _ = stdin.write_all(&body).await;
    });
    let output = child.wait_with_output().await.unwrap();
    feed.await.unwrap();
    let end = output.stdout.windows(4).position(|w| w == b"\r\n\r\n").expect("a CGI header");
    let mut response = Response::builder();
    for line in std::str::from_utf8(&output.stdout[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(value.split(' ').next().unwrap()),
            name => response.header(name, value),
        };
    }
    response.body(Body::from(output.stdout[end + 4..].to_vec())).unwrap()
}
