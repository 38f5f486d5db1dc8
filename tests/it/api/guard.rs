//! Who is let in: by name, by origin, by token, in this order and before a body is read.

use std::process::Command;

use serde_json::Value;

use super::{Server, TOKEN, packed, refused};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_without_the_token_under_a_strange_name_or_from_a_strange_page_gets_an_answer() {
    let server = Server::with(&[("OCTOSWARM_API_ALLOWED_ORIGINS", "https://page.example")]).await;
    let address = server.address;
    let ask = async |path: &str, headers: &str| {
        let request = format!("GET {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        let answer = server.raw(request.as_bytes()).await;
        let status: u16 = answer.split(' ').nth(1).unwrap_or("0").parse().unwrap();
        (status, answer)
    };
    let token = format!("authorization: Bearer {TOKEN}\r\n");
    let host = format!("host: {address}\r\n");
    for (headers, status, want) in [
        (format!("{host}{token}"), 200, "\"openapi\""),
        (format!("host: localhost:{}\r\n{token}", address.port()), 200, "\"openapi\""),
        (format!("{host}authorization: bearer {TOKEN}\r\n"), 200, "\"openapi\""),
        (
            format!("{host}{token}origin: https://page.example\r\n"),
            200,
            "access-control-allow-origin: https://page.example",
        ),
        (format!("host: evil.example\r\n{token}"), 403, "does not answer under that name"),
        (format!("host: {}:1\r\n{token}", address.ip()), 403, "does not answer under that name"),
        (format!("{host}host: evil.example\r\n{token}"), 403, "does not answer under that name"),
        (format!("{host}{token}origin: https://evil.example\r\n"), 403, "of that origin"),
        (format!("{host}{token}origin: null\r\n"), 403, "of that origin"),
        (
            format!("{host}{token}origin: https://page.example\r\norigin: https://evil.example\r\n"),
            403,
            "of that origin",
        ),
        (host.clone(), 401, "www-authenticate: Bearer"),
        (format!("{host}authorization: Bearer {}\r\n", &TOKEN[1..]), 401, "www-authenticate: Bearer"),
        (format!("{host}authorization: Bearer \r\n"), 401, "www-authenticate: Bearer"),
        (format!("{host}authorization: Basic {TOKEN}\r\n"), 401, "www-authenticate: Bearer"),
        (format!("{host}authorization: {TOKEN}\r\n"), 401, "www-authenticate: Bearer"),
        (format!("{host}{token}authorization: Bearer x\r\n"), 401, "www-authenticate: Bearer"),
        ("host: evil.example\r\norigin: https://evil.example\r\n".to_owned(), 403, "under that name"),
    ] {
        for path in ["/openapi.json", "/get_results", "/anything"] {
            let (found, answer) = ask(path, &headers).await;
            let passed = status == 200;
            assert!(found == status || passed && [400, 404].contains(&found), "{path} {headers}: {answer}");
            assert!(path != "/openapi.json" || answer.contains(want), "{path} {headers}: {answer}");
            assert!(passed || answer.contains("{\"error\":\""), "{answer}");
            assert!(answer.contains("cache-control: no-store") && answer.contains("x-content-type-options: nosniff"));
        }
    }
    // A page that is allowed may ask what it may send, without the token; others may not.
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /trigger_review HTTP/1.1\r\n{host}origin: {origin}\r\naccess-control-request-method: POST\r\nconnection: close\r\n\r\n"
        )
    };
    let allowed = server.raw(preflight("https://page.example").as_bytes()).await;
    assert!(
        allowed.starts_with("HTTP/1.1 204 ") && allowed.contains("access-control-allow-headers: authorization"),
        "{allowed}"
    );
    assert!(server.raw(preflight("https://evil.example").as_bytes()).await.starts_with("HTTP/1.1 403 "));
    // Health is for everybody, as in every server.
    assert!(ask("/healthz", &host).await.1.ends_with("ok\n"));
    assert!(ask("/readyz", &host).await.1.contains("\"ready\":true"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_refused_before_the_body() {
    let server = Server::start().await;
    // Nothing of the body is ever sent, and the answer comes all the same.
    let request = format!(
        "POST /upload_codebase HTTP/1.1\r\nhost: {}\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 1000000\r\n\r\n",
        server.address
    );
    assert!(server.raw(request.as_bytes()).await.starts_with("HTTP/1.1 401 "));
    assert_eq!(server.kept(), [""; 0]);
    let log = server.log();
    let refusals: Vec<&Value> =
        log.iter().map(|record| &record["fields"]).filter(|fields| fields["message"] == "a call was refused").collect();
    assert_eq!(refusals.len(), 1);
    assert_eq!((&refusals[0]["status"], &refusals[0]["route"]), (&401.into(), &"/upload_codebase".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_names_that_are_configured_count_then() {
    let server = Server::with(&[("OCTOSWARM_API_ALLOWED_HOSTS", "swarm.example")]).await;
    let named = server.get("/openapi.json").header("host", "swarm.example:8443").send().await.unwrap();
    assert_eq!(named.status(), 200);
    let own = refused(server.get("/openapi.json").send().await.unwrap(), 403).await;
    assert!(own.contains("`allowed_hosts`"), "{own}");
}

#[test]
fn without_a_token_an_api_alone_does_not_start_and_says_how_to_make_one() {
    let state = tempfile::tempdir().unwrap();
    let serve = |env: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command.args(["serve", "--api-only", "--state", "state", "--listen", "127.0.0.1:0"]).current_dir(state.path());
        let output = command.env_clear().envs(env.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "wrong usage");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(serve(&[]).contains("openssl rand -hex 32"));
    let short = serve(&[("OCTOSWARM_API_TOKEN", "hunter2")]);
    assert!(short.contains("less than 32 characters") && !short.contains("hunter2"), "{short}");
    assert!(serve(&[("OCTOSWARM_API_TOKEN", TOKEN), ("OCTOSWARM_WORKERS", "0")]).contains("OCTOSWARM_WORKERS"));
    assert!(super::is_empty(&state.path().join("state/uploads")));
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_14_the_description_is_the_one_that_is_printed_and_names_every_status() {
    let server = Server::start().await;
    let served: Value = server.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    let printed =
        Command::new(env!("CARGO_BIN_EXE_octoswarm")).args(["schema", "openapi"]).env_clear().output().unwrap();
    assert!(printed.status.success());
    assert_eq!(serde_json::from_slice::<Value>(&printed.stdout).unwrap(), served);
    assert_eq!(served["openapi"], "3.1.0");
    let statuses = |path: &str, method: &str| -> Vec<String> {
        served["paths"][path][method]["responses"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(statuses("/upload_codebase", "post"), ["200", "400", "401", "403", "413", "500", "503"]);
    assert_eq!(statuses("/trigger_review", "post"), ["202", "400", "401", "403", "404", "413", "500"]);
    assert_eq!(statuses("/get_results", "get"), ["200", "202", "400", "401", "403", "404", "500"]);
    // What is answered has the form that is told.
    let id = server.uploaded(&packed(&[("a.py", "x = 1\n")])).await;
    let pattern = served["components"]["schemas"]["Uploaded"]["properties"]["id"]["pattern"].as_str().unwrap();
    assert!(regex::Regex::new(pattern).unwrap().is_match(&id));
}
