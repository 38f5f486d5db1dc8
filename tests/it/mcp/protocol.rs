//! The protocol itself: handshake, errors, pages, progress, cancellation, the end of the input.

use std::path::Path;

use serde_json::{Value, json};

use super::{Client, repository};

fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
}

#[test]
fn the_older_revisions_are_negotiated_and_an_unknown_one_is_answered_with_one_that_is_spoken() {
    let dir = repository();
    for (asked, spoken) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::silent(dir.path(), &[]);
        let answer = client.request("initialize", hello(asked)).unwrap();
        assert_eq!(answer["protocolVersion"], spoken, "{asked}");
        assert_eq!(answer["serverInfo"]["name"], "octoswarm");
        for capability in ["tools", "resources", "prompts", "completions"] {
            assert!(answer["capabilities"][capability].is_object(), "{capability}: {answer}");
        }
        client.notify("notifications/initialized", json!({}));
        assert_eq!(client.request("ping", json!({})).unwrap(), json!({}));
        assert!(client.end().is_empty());
    }
}

#[test]
fn the_newest_revision_needs_no_handshake_and_carries_its_version_in_each_request() {
    let dir = repository();
    let mut client = Client::silent(dir.path(), &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({ "_meta": meta })).unwrap();
    let versions: Vec<&str> = found["supportedVersions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(versions, ["2025-06-18", "2025-11-25", "2026-07-28"]);
    let called = client.request("tools/call", json!({ "name": "scan", "arguments": {}, "_meta": meta })).unwrap();
    assert_eq!(called["resultType"], "complete");
    assert_eq!(called["structuredContent"]["total"], 3, "{called}");
    let mut other = meta.clone();
    other["io.modelcontextprotocol/protocolVersion"] = "2031-01-01".into();
    let refused = client.request("tools/list", json!({ "_meta": other })).unwrap_err();
    assert_eq!(refused["code"], -32022, "{refused}");
}

#[test]
fn what_is_no_message_is_answered_as_json_rpc_says_and_the_next_one_is_understood() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(10 << 20));
    for (line, code, id) in [
        ("not json", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        (deep.as_str(), -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        ("7", -32600, Value::Null),
        (r#"{"id":"a","method":"ping"}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#, -32601, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}"#, -32602, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":7}}"#, -32602, json!("a")),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"scan","arguments":[]}}"#,
            -32602,
            json!("a"),
        ),
        (r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"no_such"}}"#, -32602, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"x"}}"#, -32602, json!("a")),
        (r#"{"jsonrpc":"2.0","id":"a","method":"prompts/get","params":{"name":"no_such"}}"#, -32602, json!("a")),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
            -32002,
            json!("a"),
        ),
        (long.as_str(), -32600, Value::Null),
    ] {
        client.write(line);
        let answer = client.message().unwrap();
        let shown = &line[..line.len().min(100)];
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert_eq!(answer["id"], id, "{shown}: {answer}");
        assert_eq!(client.request("ping", json!({})).unwrap(), json!({}), "after {shown}");
    }
    // Nobody answers a notification, whatever it looks like, or an empty line.
    client.write(r#"{"jsonrpc":"2.0","method":"no/such"}"#);
    client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#);
    client.write("");
    assert!(client.end().is_empty());
}

#[test]
fn requests_that_are_under_way_when_the_input_ends_are_answered() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let ids: Vec<u64> =
        (0..5).map(|_| client.send("tools/call", json!({ "name": "review_diff", "arguments": {} }))).collect();
    let mut answered: Vec<u64> = client.end().iter().filter_map(|message| message["id"].as_u64()).collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
}

#[test]
fn a_hundred_calls_at_once_are_all_answered() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let ids: Vec<u64> = (0..100)
        .map(|_| client.send("tools/call", json!({ "name": "scan", "arguments": { "paths": ["src"] } })))
        .collect();
    for id in ids {
        assert_eq!(client.answer(id).unwrap()["structuredContent"]["total"], 3);
    }
}

/// So many files that a scan of them takes a while.
pub(super) fn large(dir: &Path) {
    let text = "def f(x):\n    if x == None:\n        return eval(x)\n".repeat(20);
    for nth in 0..1_500 {
        let folder = dir.join(format!("large/{}", nth / 100));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("f{nth}.py")), &text).unwrap();
    }
}

#[test]
fn long_work_tells_how_far_it_is_and_stops_when_it_is_cancelled() {
    let dir = repository();
    large(dir.path());
    let mut client = Client::over(dir.path());
    let params = json!({ "name": "scan", "arguments": {}, "_meta": { "progressToken": "mine" } });
    let id = client.send("tools/call", params);
    let first = client.message().unwrap();
    assert_eq!(first["method"], "notifications/progress", "{first}");
    assert_eq!(first["params"]["progressToken"], "mine");
    assert!(first["params"]["message"].as_str().unwrap().ends_with("files scanned"), "{first}");
    client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "no longer wanted" }));
    // The server has its hands free again, and never answers what was cancelled.
    assert_eq!(client.done("scan", json!({ "paths": ["src"] }))["total"], 3);
    let rest = client.end();
    assert!(rest.iter().all(|message| message["id"] != id), "{rest:?}");
}

#[test]
fn progress_counts_up_and_ends_with_the_answer() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let params = json!({ "name": "review_diff", "arguments": {}, "_meta": { "progressToken": 7 } });
    let id = client.send("tools/call", params);
    let mut counted = Vec::new();
    loop {
        let message = client.message().unwrap();
        if message["id"] == id {
            break;
        }
        assert_eq!(message["params"]["progressToken"], 7, "{message}");
        counted.push(message["params"]["progress"].as_f64().unwrap());
    }
    assert!(!counted.is_empty() && counted.is_sorted_by(|a, b| a < b), "{counted:?}");
    assert!(client.end().is_empty(), "something came after the answer");
}

#[test]
fn resources_are_listed_read_and_completed() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let listed = client.request("resources/list", json!({})).unwrap();
    let uris: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().filter_map(|one| one["uri"].as_str()).collect();
    assert!(uris.contains(&"octoswarm://rules") && uris.contains(&"octoswarm://schemas/plan"), "{uris:?}");
    for uri in uris.iter().filter(|uri| !uri.starts_with("octoswarm://runs")) {
        let read = client.request("resources/read", json!({ "uri": uri })).unwrap();
        let content = &read["contents"][0];
        assert_eq!(content["uri"], **uri);
        serde_json::from_str::<Value>(content["text"].as_str().unwrap()).unwrap();
    }
    let templates = client.request("resources/templates/list", json!({})).unwrap();
    assert!(templates["resourceTemplates"].as_array().unwrap().len() >= 4);
    let read = client.request("resources/read", json!({ "uri": "octoswarm://rules/eval-of-data" })).unwrap();
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("# eval-of-data\n"));
    let missing = client.request("resources/read", json!({ "uri": "octoswarm://rules/eval-of-dta" })).unwrap_err();
    assert!(missing["message"].as_str().unwrap().contains("did you mean `eval-of-data`?"), "{missing}");
    let complete = |kind: &str, name: &str, typed: &str| json!({ "ref": { "type": "ref/resource", "uri": kind }, "argument": { "name": name, "value": typed } });
    let rules = client.request("completion/complete", complete("octoswarm://rules/{id}", "id", "eval-of")).unwrap();
    assert_eq!(rules["completion"]["values"][0], "eval-of-data", "{rules}");
    let forms = client.request("completion/complete", complete("octoswarm://schemas/{name}", "name", "plan")).unwrap();
    assert_eq!(forms["completion"]["values"][0], "plan");
    let none = client.request("completion/complete", complete("octoswarm://nothing/{id}", "id", "")).unwrap();
    assert_eq!(none["completion"]["values"], json!([]));
}

#[test]
fn prompts_take_their_arguments_and_say_what_is_wrong_with_them() {
    let dir = repository();
    let mut client = Client::over(dir.path());
    let listed = client.request("prompts/list", json!({})).unwrap();
    let names: Vec<&str> =
        listed["prompts"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["review", "plan", "audit"]);
    let got = client.request("prompts/get", json!({ "name": "review", "arguments": { "base": "v1.2" } })).unwrap();
    assert!(got["messages"][0]["content"]["text"].as_str().unwrap().contains("base `v1.2`"), "{got}");
    for (arguments, says) in [
        (json!({}), "`title` is missing"),
        (json!({ "title": " " }), "`title` is missing"),
        (json!({ "title": "x", "colour": "red" }), "`colour` is no argument"),
        (json!({ "title": "x".repeat(2_000) }), "at most 1024 characters"),
    ] {
        let refused = client.request("prompts/get", json!({ "name": "plan", "arguments": arguments })).unwrap_err();
        assert_eq!(refused["code"], -32602);
        assert!(refused["message"].as_str().unwrap().contains(says), "{refused}");
    }
}
