//! The HTTP API of the real program, over real TCP: uploads, reviews, events, and who is let in.

mod guard;
mod reviews;
mod uploads;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::process;

pub const TOKEN: &str = "a token of 32 characters or more, for tests";
const BOUNDARY: &str = "a-boundary-of-these-tests";

/// `serve --api-only` on a state folder that outlives it.
pub struct Server {
    pub address: SocketAddr,
    pub state: Arc<tempfile::TempDir>,
    pub child: tokio::process::Child,
    http: reqwest::Client,
}

impl Server {
    pub async fn start() -> Self {
        Self::on(Arc::new(tempfile::tempdir().unwrap()), &[]).await
    }

    pub async fn with(env: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(tempfile::tempdir().unwrap()), env).await
    }

    pub async fn on(state: Arc<tempfile::TempDir>, env: &[(&str, &str)]) -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let log = std::fs::File::options().create(true).append(true).open(state.path().join("server.log")).unwrap();
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"))
            .args(["serve", "--api-only", "--listen", "127.0.0.1:0", "--state", "state"])
            .current_dir(state.path())
            .env_clear()
            .env("OCTOSWARM_API_TOKEN", TOKEN)
            .env("OCTOSWARM_LOG_FORMAT", "json")
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let address = process::listens(&mut child).await.expect("it says where it listens");
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, state, child, http }
    }

    /// Dies as by a cut of power; another life begins on the same state.
    pub async fn killed(mut self) -> Self {
        process::signal(&self.child, "KILL");
        self.child.wait().await.unwrap();
        Self::on(Arc::clone(&self.state), &[]).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(self.url(path)).bearer_auth(TOKEN)
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(self.url(path)).bearer_auth(TOKEN)
    }

    pub async fn upload(&self, archive: &[u8]) -> Response {
        let body = multipart(&[("codebase", archive)]);
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        self.post("/upload_codebase").header("content-type", kind).body(body).send().await.unwrap()
    }

    /// Uploads what has to be taken; its id.
    #[track_caller]
    pub fn uploaded(&self, archive: &[u8]) -> impl Future<Output = String> {
        let answer = self.upload(archive);
        async move {
            let answer = answer.await;
            let status = answer.status();
            let body: Value = answer.json().await.unwrap();
            assert_eq!((status, &body["status"]), (StatusCode::OK, &json!("uploaded")), "{body}");
            body["id"].as_str().unwrap().to_owned()
        }
    }

    /// Asks for a review; its id.
    pub async fn triggered(&self, codebase: &str) -> String {
        let answer = self.post("/trigger_review").json(&json!({ "id": codebase })).send().await.unwrap();
        let (status, body) = (answer.status(), answer.json::<Value>().await.unwrap());
        assert_eq!((status, &body["status"]), (StatusCode::ACCEPTED, &json!("review_started")), "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    pub async fn results(&self, review: &str) -> (StatusCode, Value) {
        let answer = self.get(&format!("/get_results?id={review}")).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// What came of it, once it is there.
    pub async fn reviewed(&self, review: &str) -> Value {
        let waiting = async {
            loop {
                let (status, body) = self.results(review).await;
                match status {
                    StatusCode::ACCEPTED => {
                        assert_eq!(body, json!({ "status": "review_running", "id": review }));
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    StatusCode::OK => return body,
                    other => panic!("{other}: {body}"),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("the review ends")
    }

    /// All events of a review until its stream ends: `(id, name, data)`.
    pub async fn events(&self, review: &str, after: Option<&str>) -> Vec<Told> {
        let mut asked = self.get(&format!("/reviews/{review}/events"));
        if let Some(after) = after {
            asked = asked.header("last-event-id", after);
        }
        let answer = asked.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let text = tokio::time::timeout(Duration::from_secs(120), answer.text()).await.expect("it ends").unwrap();
        events(&text)
    }

    /// `octoswarm` beside the server, on the same state.
    pub fn beside(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_octoswarm"))
            .args(args)
            .args(["--state", "state"])
            .current_dir(self.state.path())
            .env_clear()
            .output()
            .unwrap()
    }

    /// What lies below the folder of uploads, by name.
    pub fn kept(&self) -> Vec<String> {
        let uploads = self.state.path().join("state/uploads");
        let Ok(entries) = std::fs::read_dir(uploads) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn log(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.state.path().join("server.log")).unwrap();
        let (whole, _) = log.rsplit_once('\n').unwrap_or_default();
        whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The most memory that the server itself has had, in KiB.
    #[cfg(target_os = "linux")]
    pub fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Sends these bytes as they are; all that comes back.
    pub async fn raw(&self, request: &[u8]) -> String {
        raw(self.address, request).await
    }
}

pub struct Told {
    pub id: Option<String>,
    pub name: String,
    pub data: Value,
}

pub fn events(text: &str) -> Vec<Told> {
    let blocks = text.split("\n\n").filter(|block| block.lines().any(|line| line.starts_with("data:")));
    let field = |block: &str, name: &str| {
        let value = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value.map(|value| value.trim_start().to_owned())
    };
    blocks
        .map(|block| Told {
            id: field(block, "id"),
            name: field(block, "event").unwrap(),
            data: serde_json::from_str(&field(block, "data").unwrap()).unwrap(),
        })
        .collect()
}

pub async fn raw(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that has refused need not read to the end.
    let _sent = stream.write_all(request).await;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ended = tokio::time::timeout(Duration::from_secs(20), read).await.expect("an answer, and an end");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A body of these parts, each as a file.
pub fn multipart(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let head =
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"a.zip\"\r\n\r\n");
        body.extend(head.as_bytes());
        body.extend(*content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").as_bytes());
    body
}

pub fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// A link, as no upload may hold one.
pub fn tar_with_link() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "link", "/etc/passwd").unwrap();
    builder.into_inner().unwrap()
}

/// `error` of an answer that has to be a refusal of this status, as JSON.
pub async fn refused(answer: Response, status: u16) -> String {
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    let (found, body) = (answer.status().as_u16(), answer.text().await.unwrap());
    assert_eq!(found, status, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["error"]);
    let error = body["error"].as_str().unwrap().to_owned();
    assert!(!error.contains(TOKEN) && !error.contains("/tmp/"), "{error}");
    error
}

pub fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    tar_of(&files)
}

pub fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}
