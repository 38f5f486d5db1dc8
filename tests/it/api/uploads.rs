//! What is taken in, and what is refused without a trace.

use std::sync::Arc;
use std::time::Duration;

use octoswarm::app::desk::{self, Desk};
use octoswarm::config::Api;
use octoswarm::domain::Secret;
use octoswarm::{api, webhook};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::{BOUNDARY, Server, TOKEN, multipart, packed, refused, tar_of, tar_with_link};
use crate::support::world::CLEAN;

#[tokio::test(flavor = "multi_thread")]
async fn s0_3_what_is_no_archive_or_a_hostile_one_is_refused_and_leaves_nothing() {
    let server = Server::with(&[("OCTOSWARM_API_MAX_UPLOAD_MIB", "1")]).await;
    let zip = |name: &str, content: &[u8]| {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, content).unwrap();
        writer.finish().unwrap().into_inner()
    };
    for (archive, status, want) in [
        (b"hello".to_vec(), 400, "neither zip nor tar nor tar.gz"),
        (Vec::new(), 400, "it is empty"),
        (zip("../../evil", b"x"), 400, "`../../evil`: it leads elsewhere"),
        (zip("a\u{1b}[31mb", b"x"), 400, "`a\\u{1b}[31mb`"),
        (zip("zeros", &vec![0; 4 << 20]), 400, "more than 200 bytes come out"),
        (tar_with_link(), 400, "`link`: it is a symbolic link"),
        (packed(&[("a", "x")])[..600].to_vec(), 400, ""),
        (tar_of(&[("random", &noise(2 << 20))]), 413, "larger than the limit of 1048576 bytes"),
    ] {
        let said = refused(server.upload(&archive).await, status).await;
        assert!(said.contains(want), "{want}: {said}");
        assert_eq!(server.kept(), [""; 0], "{want}");
    }
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let good = packed(&[("a.py", CLEAN)]);
    for (body, kind, want) in [
        (good.clone(), "application/x-tar", "not multipart"),
        (good.clone(), "multipart/form-data", "not multipart"),
        (multipart(&[]), kind.as_str(), "no field `codebase`"),
        (multipart(&[("other", &good)]), &kind, "the field is called `other`"),
        (multipart(&[("codebase", &good), ("codebase", &good)]), &kind, "more than one part"),
        (multipart(&[("codebase", &good), ("more", b"x")]), &kind, "more than one part"),
        (multipart(&[("codebase", &good)])[..300].to_vec(), &kind, "not whole multipart"),
        (Vec::new(), &kind, "multipart"),
    ] {
        let asked = server.post("/upload_codebase").header("content-type", kind).body(body).send().await.unwrap();
        let said = refused(asked, 400).await;
        assert!(said.contains(want), "{want}: {said}");
        assert_eq!(server.kept(), [""; 0], "{want}");
    }
    let endless = [format!("--{BOUNDARY}\r\nx: ").as_bytes(), &vec![b'a'; 900 << 10]].concat();
    let asked = server.post("/upload_codebase").header("content-type", &kind).body(endless).send().await.unwrap();
    refused(asked, 400).await;
    // Announced as too large: nothing of it is waited for.
    let request = format!(
        "POST /upload_codebase HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: {kind}\r\n\
         content-length: 3000000\r\nconnection: close\r\n\r\n",
        server.address
    );
    assert!(server.raw(request.as_bytes()).await.starts_with("HTTP/1.1 413 "));
    assert_eq!(server.kept(), [""; 0]);
    // After all that a good one is taken, and lies there alone.
    let id = server.uploaded(&good).await;
    assert_eq!(server.kept(), [id]);
}

/// Bytes that no compression makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length.div_ceil(8)).flat_map(|_| next()).take(length).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn a_large_upload_goes_to_the_disk_and_not_into_memory() {
    let server = Server::start().await;
    let archive = tar_of(&[("a.py", CLEAN.as_bytes()), ("large.bin", &noise(64 << 20))]);
    let before = server.most_memory();
    for _ in 0..2 {
        server.uploaded(&archive).await;
    }
    let (most, more) = (server.most_memory() >> 10, (server.most_memory() - before) >> 10);
    assert!(most < 200 && more < 48, "{most} MiB, {more} more than before, for uploads of 64 MiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_may_be_slow_but_not_silent_and_leaves_nothing_when_it_ends() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let state = tempfile::tempdir().unwrap();
    let desk = Desk::open(state.path(), 2, Duration::from_secs(60), desk::Limits::default()).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let token = Secret::new(TOKEN);
    let (allowed_hosts, allowed_origins, roots) = (Vec::new(), Vec::new(), Vec::new());
    let settings = Api { token, allowed_hosts, allowed_origins, max_upload: 1 << 20, roots, public_url: None };
    let stop = CancellationToken::new();
    let router = api::router(desk, &api::Guard::new(&settings, address), stop.clone());
    let silent = Duration::from_millis(400);
    let limits = webhook::Limits {
        body: Duration::from_millis(300),
        patient: vec![("/upload_codebase", silent)],
        ..webhook::Limits::default()
    };
    let serving = tokio::spawn(webhook::serve_http(listener, router, stop.clone(), limits));
    let body = multipart(&[("codebase", &packed(&[("a.py", CLEAN)]))]);
    let head = |length: usize| {
        format!(
            "POST /upload_codebase HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\
             content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    // Slower in all than any other body may be, and never silent for long.
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(head(body.len()).as_bytes()).await.unwrap();
    for piece in body.chunks(body.len() / 6) {
        tokio::time::sleep(silent / 4).await;
        slow.write_all(piece).await.unwrap();
    }
    let mut answer = String::new();
    slow.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // As many as may be at once fall silent; one more is told to come back.
    let mut silent_ones = Vec::new();
    for _ in 0..desk::UPLOADS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head(body.len()).as_bytes()).await.unwrap();
        stream.write_all(&body[..body.len() / 2]).await.unwrap();
        silent_ones.push(stream);
    }
    let uploads = state.path().join("uploads");
    let count = || std::fs::read_dir(&uploads).unwrap().count();
    while count() < 1 + desk::UPLOADS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let full = super::raw(address, &[head(body.len()).as_bytes(), &body].concat()).await;
    assert!(full.starts_with("HTTP/1.1 503 ") && full.contains("retry-after: "), "{full}");
    for mut stream in silent_ones {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("stopped arriving"), "{answer}");
    }
    assert_eq!(count(), 1, "only the one that arrived whole is there");
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_this_machine_is_taken_like_an_upload() {
    let state = tempfile::tempdir().unwrap();
    let desk = Desk::open(state.path(), 1, Duration::from_secs(60), desk::Limits::default()).await.unwrap();
    let stop = CancellationToken::new();
    let work = tokio::spawn({
        let (desk, stop) = (desk.clone(), stop.clone());
        async move { desk.work(stop).await }
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), crate::support::world::DEFECTS).unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("etc")).unwrap();
    let taken = desk.take(folder.path()).await.unwrap();
    assert_eq!((taken.unpacked.files, taken.unpacked.left_out), (1, 1));
    let review = desk.trigger(&taken.id).await.unwrap();
    let mut watch = desk.watch(&review, 0).await.unwrap();
    let mut last = None;
    while let Some(said) = watch.next().await.unwrap() {
        last = Some(said);
    }
    let Some(desk::Said::Ended(desk::Review::Done(aggregate))) = last else { panic!("{last:?}") };
    assert_eq!(aggregate.critical[0].file, "a.py");
    assert!(!desk.cancel(&review).await.unwrap(), "it is over");
    // An archive of this machine, and what is neither.
    let archive = folder.path().join("a.tar");
    std::fs::write(&archive, packed(&[("b.py", CLEAN)])).unwrap();
    assert_eq!(desk.take(&archive).await.unwrap().unpacked.files, 1);
    for odd in ["etc", "missing"] {
        let said = desk.take(&folder.path().join(odd)).await.unwrap_err().to_string();
        assert!(said.contains(odd), "{said}");
    }
    stop.cancel();
    work.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_13_an_agent_that_takes_too_long_leaves_an_error_and_the_others_go_on() {
    let state = tempfile::tempdir().unwrap();
    let limits = desk::Limits { agent: Duration::ZERO, ..desk::Limits::default() };
    let desk = Desk::open(state.path(), 1, Duration::from_secs(60), limits).await.unwrap();
    let stop = CancellationToken::new();
    let work = tokio::spawn({
        let (desk, stop) = (desk.clone(), stop.clone());
        async move { desk.work(stop).await }
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), crate::support::world::DEFECTS).unwrap();
    let review = desk.trigger(&desk.take(folder.path()).await.unwrap().id).await.unwrap();
    let mut watch = desk.watch(&review, 0).await.unwrap();
    while watch.next().await.unwrap().is_some() {}
    let Some(desk::Review::Done(aggregate)) = desk.result(&review).await.unwrap() else { panic!("it is done") };
    // The two that have something to read cannot be done before anybody looks.
    for agent in ["documentation", "debt"] {
        assert_eq!(aggregate.errors.get(agent).map(|error| error.code.as_str()), Some("API_001"), "{agent}");
    }
    assert!(aggregate.errors.values().all(|error| error.code == "API_001"), "{:?}", aggregate.errors);
    assert!(aggregate.debt.is_empty() && aggregate.documentation.is_empty());
    stop.cancel();
    work.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_with_an_app_serves_the_same_api_and_none_without_a_token() {
    let with = crate::metrics::Server::with(&[("OCTOSWARM_API_TOKEN", TOKEN)]).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let upload = |address| {
        let body = multipart(&[("codebase", &packed(&[("a.py", crate::support::world::DEFECTS)]))]);
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let asked = http.post(format!("http://{address}/upload_codebase")).bearer_auth(TOKEN);
        asked.header("content-type", kind).body(body).send()
    };
    let id = upload(with.address()).await.unwrap().json::<serde_json::Value>().await.unwrap()["id"].clone();
    let asked = http.post(format!("http://{}/trigger_review", with.address())).bearer_auth(TOKEN);
    let review = asked.json(&json!({ "id": id })).send().await.unwrap().json::<serde_json::Value>().await.unwrap();
    let results = format!("http://{}/get_results?id={}", with.address(), review["id"].as_str().unwrap());
    let waiting = async {
        while http.get(&results).bearer_auth(TOKEN).send().await.unwrap().status() != reqwest::StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the review ends");
    let without = crate::metrics::Server::with(&[]).await;
    assert_eq!(upload(without.address()).await.unwrap().status(), reqwest::StatusCode::NOT_FOUND);
    assert!(without.log().iter().any(|line| line.contains("no token is set in [api]")));
    drop(Arc::new(with));
}
