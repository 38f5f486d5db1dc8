//! See the room of the same name. The box is asked over HTTP only, by a client that shares no code with it.

mod faults;
mod gitdata;
mod gitwire;
mod issues;
mod links;
mod owners;
mod pushes;
mod refusals;
mod registration;
mod story;
mod threads;
mod webhooks;

use octoswarm::demo::{AppManifest, Change, GitHubBox, Level, OpenPull, Options, People};
use reqwest::Method;
use serde_json::{Value, json};

pub const MANIFEST: &str = "
name: swarm
url: https://example.com
description: reviews
default_permissions:
  checks: write
  contents: write
  metadata: read
  pull_requests: write
default_events:
  - check_run
  - check_suite
  - pull_request
  - pull_request_review
  - issue_comment
  - pull_request_review_comment
";

pub const REPO: &str = "octo/calc";

/// Lines 1 to 30: pull requests change the middle, so that hunks end before the file does.
pub fn long_file() -> String {
    (1..=30).map(|n| format!("line {n}\n")).collect()
}

pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn refused(&self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(part), "`{part}` is not in {}", self.text);
    }

    #[track_caller]
    pub fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text);
        self.body
    }
}

pub struct Client {
    pub http: reqwest::Client,
    pub github: GitHubBox,
    pub people: People,
}

impl Client {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new(AppManifest::parse(MANIFEST).unwrap(), "s3cret");
        change(&mut options);
        let github = GitHubBox::start(options).await.unwrap();
        let people = github.people();
        let files = Change::new().write("src/lib.rs", long_file()).write("README.md", "calc\n");
        people.create_repo(REPO, files).await.unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .user_agent("box-test")
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { http, github, people }
    }

    /// An App that may write to issues and hears of everything.
    pub async fn full() -> Self {
        Self::with(|options| {
            options.manifest.default_permissions.insert("issues".to_owned(), Level::Write);
            options.manifest.default_events.extend(["issues".to_owned(), "repository".to_owned()]);
        })
        .await
    }

    /// Opens the pull request most tests speak about: `src/lib.rs` 10 is replaced, 11 is new, 25 is deleted.
    pub async fn pull(&self) -> u64 {
        let text = long_file().replace("line 10\n", "changed 10\nnew 11\n").replace("line 25\n", "");
        let change = Change::new().write("src/lib.rs", text).write("new.rs", "one\ntwo\nthree\n");
        self.people.open_pull(REPO, OpenPull::new("mona", "work", "Some work", change)).await.unwrap()
    }

    pub fn head(&self, number: u64) -> String {
        self.github.pull(REPO, number).unwrap().head_sha
    }

    pub fn jwt(&self, change: impl FnOnce(&mut Value)) -> String {
        let now = octoswarm::domain::clock::Clock::system().now() / 1000;
        let mut claims = json!({"iss": self.github.app_id().to_string(), "iat": now - 60, "exp": now + 540});
        change(&mut claims);
        sign(&claims, &self.github.private_key_pem())
    }

    pub async fn send(&self, method: &str, path: &str, secret: Option<&str>, body: Option<Value>) -> Answer {
        let url = if path == "/graphql" {
            self.github.graphql_url()
        } else if path.starts_with("http") {
            path.to_owned()
        } else {
            format!("{}{path}", self.github.api_url())
        };
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        if let Some(secret) = secret {
            request = request.bearer_auth(secret);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        Answer { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }

    pub async fn as_app(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.send(method, path, Some(&self.jwt(|_| {})), body).await
    }

    pub async fn mint(&self, body: Value) -> Answer {
        let path = format!("/app/installations/{}/access_tokens", self.github.installation_id());
        self.as_app("POST", &path, Some(body)).await
    }

    pub async fn token(&self, body: Value) -> String {
        self.mint(body).await.ok()["token"].as_str().unwrap().to_owned()
    }

    /// As the installation with all its permissions; paths are below the repository.
    pub async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let token = self.token(json!({})).await;
        self.send(method, &format!("/repos/{REPO}{path}"), Some(&token), body).await
    }

    pub async fn review(&self, number: u64, body: Value) -> Answer {
        self.call("POST", &format!("/pulls/{number}/reviews"), Some(body)).await
    }

    /// A review with one inline comment.
    pub async fn inline(&self, number: u64, comment: Value) -> Answer {
        self.review(number, json!({"event": "COMMENT", "body": "see", "comments": [comment]})).await
    }

    pub async fn graphql(&self, token: &str, query: &str, variables: Value) -> Value {
        self.send("POST", "/graphql", Some(token), Some(json!({"query": query, "variables": variables}))).await.ok()
    }
}

pub fn sign(claims: &Value, pem: &str) -> String {
    let key = jsonwebtoken::EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap();
    jsonwebtoken::encode(&jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS256), claims, &key).unwrap()
}
