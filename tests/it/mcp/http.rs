//! Streamable HTTP at `/mcp` of the real server.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::repository;
use crate::api::{Server, TOKEN, packed};

const NEWEST: &str = "2026-07-28";

async fn over(root: &std::path::Path) -> Server {
    Server::with(&[("OCTOSWARM_API_ROOTS", root.to_str().unwrap())]).await
}

fn post(server: &Server) -> RequestBuilder {
    server.post("/mcp").header("accept", "application/json, text/event-stream")
}

fn own(method: reqwest::Method, server: &Server) -> RequestBuilder {
    reqwest::Client::builder().no_proxy().build().unwrap().request(method, server.url("/mcp")).bearer_auth(TOKEN)
}

/// A request of the newest revision: it needs no session.
fn modern(server: &Server, method: &str, params: Value) -> RequestBuilder {
    told(server, [NEWEST, method], method, params)
}

/// The same with headers that say something else.
fn told(server: &Server, [version, named]: [&str; 2], method: &str, mut params: Value) -> RequestBuilder {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = NEWEST.into();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut request = post(server).header("mcp-protocol-version", version).header("mcp-method", named);
    if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
        request = request.header("mcp-name", name);
    }
    request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

/// The messages of an answer, whether it is JSON or a stream.
async fn messages(answer: Response) -> Vec<Value> {
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    let text = answer.text().await.unwrap();
    if kind.starts_with("application/json") {
        return vec![serde_json::from_str(&text).unwrap()];
    }
    let data =
        text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty());
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// What a tool answers over HTTP.
async fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    let answer = modern(server, "tools/call", json!({ "name": tool, "arguments": arguments })).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    messages(answer).await.pop().unwrap()["result"].clone()
}

/// A session of an older revision: its id.
async fn session(server: &Server, version: &str) -> String {
    let hello =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
    let answer = post(server).json(&begin).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let id = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let said = messages(answer).await;
    assert_eq!(said.last().unwrap()["result"]["protocolVersion"], version);
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let answer = post(server).header("mcp-session-id", &id).header("mcp-protocol-version", version).json(&ready).send();
    assert_eq!(answer.await.unwrap().status(), StatusCode::ACCEPTED);
    id
}

#[tokio::test]
async fn all_three_revisions_are_served() {
    let dir = repository();
    let server = over(dir.path()).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let id = session(&server, version).await;
        let scan =
            json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "scan", "arguments": {} } });
        let asked = post(&server).header("mcp-session-id", &id).header("mcp-protocol-version", version).json(&scan);
        let said = messages(asked.send().await.unwrap()).await;
        assert_eq!(said.last().unwrap()["result"]["structuredContent"]["total"], 3, "{version}: {said:?}");
        let ended = own(reqwest::Method::DELETE, &server).header("mcp-session-id", &id).send().await.unwrap();
        assert!(ended.status().is_success(), "{}", ended.status());
        let gone = post(&server).header("mcp-session-id", &id).header("mcp-protocol-version", version).json(&scan);
        assert_eq!(gone.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    }
    let found = modern(&server, "server/discover", json!({})).send().await.unwrap();
    assert_eq!(messages(found).await[0]["result"]["supportedVersions"], json!(["2025-06-18", "2025-11-25", NEWEST]));
    assert_eq!(call(&server, "scan", json!({})).await["structuredContent"]["total"], 3);
}

#[tokio::test]
async fn nobody_comes_in_without_token_name_and_origin() {
    let dir = repository();
    let server = over(dir.path()).await;
    let bare = || reqwest::Client::builder().no_proxy().build().unwrap().post(server.url("/mcp")).json(&json!({}));
    for (request, status) in [
        (bare(), StatusCode::UNAUTHORIZED),
        (bare().bearer_auth("wrong"), StatusCode::UNAUTHORIZED),
        (bare().bearer_auth(TOKEN).header("host", "evil.example"), StatusCode::FORBIDDEN),
        (bare().bearer_auth(TOKEN).header("origin", "https://evil.example"), StatusCode::FORBIDDEN),
        (bare().bearer_auth(TOKEN).header("origin", "null"), StatusCode::FORBIDDEN),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert!(answer.json::<Value>().await.unwrap()["error"].is_string());
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_the_next_request_is_answered() {
    let dir = repository();
    let server = over(dir.path()).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let large = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "y".repeat(10 << 20) } });
    let raw = |body: &str| post(&server).header("content-type", "application/json").body(body.to_owned());
    for (what, request, statuses) in [
        ("no JSON", raw("not json"), &[400, 415][..]),
        ("nested too deep", raw(&deep), &[400, 415]),
        ("a batch", raw(&json!([list]).to_string()), &[400, 415]),
        ("no session", post(&server).json(&list), &[400, 404, 422]),
        ("a session of nobody", post(&server).header("mcp-session-id", "nobody").json(&list), &[404]),
        ("too large", post(&server).json(&large), &[413]),
        ("another type", post(&server).header("content-type", "text/plain").body(list.to_string()), &[415]),
        ("nothing accepted", server.post("/mcp").header("accept", "text/plain").json(&list), &[406]),
        ("an unknown revision", told(&server, ["2031-01-01", "tools/list"], "tools/list", json!({})), &[400]),
        ("another method in the header", told(&server, [NEWEST, "tools/call"], "tools/list", json!({})), &[400]),
        ("an unknown method", modern(&server, "no/such", json!({})), &[404]),
        ("GET", server.get("/mcp").header("accept", "text/event-stream"), &[400, 404, 405]),
        ("PUT", own(reqwest::Method::PUT, &server).json(&list), &[405]),
    ] {
        let status = request.send().await.unwrap().status().as_u16();
        assert!(statuses.contains(&status), "{what}: {status}");
        assert_eq!(
            call(&server, "explain_rule", json!({ "rule": "eval-of-data" })).await["isError"],
            false,
            "after {what}"
        );
    }
    let options = own(reqwest::Method::OPTIONS, &server).send().await.unwrap();
    assert!(options.status().is_client_error(), "{}", options.status());
}

#[tokio::test]
async fn a_hundred_clients_at_once_are_all_answered() {
    let dir = repository();
    let server = over(dir.path()).await;
    let calls = (0..100).map(|_| call(&server, "scan", json!({ "paths": ["src"] })));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer["structuredContent"]["total"], 3, "{answer}");
    }
}

#[tokio::test]
async fn progress_comes_as_a_stream_and_a_caller_that_goes_away_stops_the_work() {
    let dir = repository();
    let server = over(dir.path()).await;
    let params = json!({ "name": "review_diff", "arguments": {}, "_meta": { "progressToken": "p" } });
    let said = messages(modern(&server, "tools/call", params).send().await.unwrap()).await;
    let progress = said.iter().filter(|message| message["method"] == "notifications/progress").count();
    assert!(progress > 0 && said.last().unwrap().get("result").is_some(), "{said:?}");
    super::protocol::large(dir.path());
    // Five that hang up, for four that may work at once: the sixth is not kept waiting.
    for _ in 0..5 {
        let params = json!({ "name": "scan", "arguments": {}, "_meta": { "progressToken": "p" } });
        let mut answer = modern(&server, "tools/call", params).send().await.unwrap();
        let _first = answer.chunk().await.unwrap();
        drop(answer);
    }
    let next = tokio::time::timeout(Duration::from_secs(30), call(&server, "scan", json!({ "paths": ["src"] }))).await;
    assert_eq!(next.unwrap()["structuredContent"]["total"], 3);
}

#[tokio::test]
async fn a_request_that_breaks_off_harms_nobody() {
    let dir = repository();
    let server = over(dir.path()).await;
    for part in ["POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(part.as_bytes()).await.unwrap();
        drop(stream);
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"\x16\x03\x01\x00\x00 what is this\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _cut_off = stream.read_to_end(&mut answer).await;
    assert_eq!(call(&server, "scan", json!({})).await["structuredContent"]["total"], 3);
}

#[tokio::test]
async fn a_server_without_roots_reads_no_folder_and_says_how_to_name_one() {
    let server = Server::start().await;
    for (tool, arguments) in [
        ("scan", json!({})),
        ("scan", json!({ "paths": ["/etc"] })),
        ("review_diff", json!({})),
        ("apply_fix", json!({ "rules": ["compare-to-none"] })),
        ("upload_codebase", json!({ "path": "/etc" })),
    ] {
        let answer = call(&server, tool, arguments).await;
        let said = super::text(&answer);
        assert!(
            answer["isError"] == true && said.contains("may not read any folder") && said.contains("roots"),
            "{said}"
        );
    }
    assert_eq!(call(&server, "run_status", json!({})).await["isError"], false);
}

#[tokio::test]
async fn s0_1_a_codebase_that_was_uploaded_over_http_is_reviewed_by_the_tools() {
    let server = Server::start().await;
    let archive = packed(&[("src/a.py", "def f(x):\n    return eval(x)\n"), ("README.md", "# It\n")]);
    let id = server.uploaded(&archive).await;
    let known = call(&server, "upload_codebase", json!({ "id": id })).await;
    assert_eq!(known["structuredContent"], json!({ "status": "uploaded", "id": id }));
    let review = call(&server, "trigger_review", json!({ "id": id })).await["structuredContent"].clone();
    assert_eq!(review["status"], "review_started");
    let done = call(&server, "get_results", json!({ "id": review["id"], "wait_seconds": 60 })).await;
    let told = &done["structuredContent"];
    assert_eq!(told["status"], "review_done", "{done}");
    assert_eq!(told["results"]["critical"][0]["file"], "src/a.py");
    // What one door begins, the other one shows.
    assert_eq!(server.reviewed(review["id"].as_str().unwrap()).await, told["results"]);
    for (tool, arguments) in [
        ("trigger_review", json!({ "id": "cb_1" })),
        ("trigger_review", json!({ "id": format!("cb_{}", "0".repeat(32)) })),
        ("trigger_review", json!({ "id": "../../etc" })),
        ("get_results", json!({ "id": format!("rv_{}", "0".repeat(32)) })),
        ("get_results", json!({ "id": id })),
        ("upload_codebase", json!({})),
        ("upload_codebase", json!({ "id": id, "path": "x" })),
    ] {
        assert_eq!(call(&server, tool, arguments.clone()).await["isError"], true, "{tool} {arguments}");
    }
}
