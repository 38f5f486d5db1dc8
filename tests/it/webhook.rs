//! The door that GitHub knocks on, over a real socket: what is acknowledged is stored, what is refused leaves no trace.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::join_all;
use hmac::{Hmac, KeyInit, Mac};
use octoswarm::domain::{Clock, DeliveryId, Secret};
use octoswarm::store::{self, DeliveryState, Store};
use octoswarm::webhook::{self, Caps, Limits, MAX_BODY, State};
use serde_json::{Value, json};
use sha2::Sha256;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const START: i64 = 1_800_000_000_000;
const SECRET: &str = "new secret";
const OLD: &str = "old secret";
const KNOWN: &[&str] = &["ping", "pull_request"];
const SOON: Duration = Duration::from_secs(20);

struct Door {
    address: SocketAddr,
    store: Store,
    state: State,
    dir: TempDir,
    shutdown: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Door {
    async fn open() -> Self {
        Self::with(&[SECRET, OLD], Caps::default(), Limits::default(), store::Options::default()).await
    }

    async fn with(secrets: &[&str], caps: Caps, limits: Limits, options: store::Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_with(dir.path(), Clock::manual(START), options).await.unwrap();
        let secrets = secrets.iter().map(|secret| Secret::new(*secret)).collect();
        let state = State::with_caps(store.clone(), secrets, KNOWN, caps).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let serving = webhook::serve_http(listener, webhook::router(state.clone()), shutdown.clone(), limits);
        let task = tokio::spawn(serving);
        Self { address, store, state, dir, shutdown, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends these bytes on a connection of their own and reads what comes until it closes.
    async fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect().await;
        // The door may close before it has read everything.
        let _ = stream.write_all(bytes).await;
        Answer::read(&mut stream).await
    }

    async fn post(&self, delivery: &Delivery) -> Answer {
        self.raw(&delivery.bytes()).await
    }

    async fn stored(&self) -> usize {
        self.store.deliveries(10_000, None).await.unwrap().len()
    }

    async fn jobs(&self) -> usize {
        self.store.unfinished_jobs().await.unwrap().len()
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    json: Value,
}

impl Answer {
    async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        timeout(SOON, async {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut chunk).await {
                bytes.extend_from_slice(&chunk[..n]);
            }
        })
        .await
        .expect("the door answers and closes");
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_lowercase(), json: serde_json::from_str(body).unwrap_or(Value::Null) }
    }

    /// A refusal says what happened and what to do.
    #[track_caller]
    fn refuses(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        for field in ["error", "hint"] {
            assert!(self.json[field].as_str().is_some_and(|text| text.len() > 10), "{self:?}");
        }
    }
}

/// A request that GitHub could send; each test bends what it is about.
#[derive(Clone)]
struct Delivery {
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

impl Delivery {
    fn new(guid: &str, event: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref().to_vec();
        let this = Self { headers: Vec::new(), body, chunked: false };
        let signature = sign(SECRET, &this.body);
        this.set("X-GitHub-Delivery", guid)
            .set("X-GitHub-Event", event)
            .set("Content-Type", "application/json")
            .set("X-GitHub-Hook-ID", "42")
            .set("X-Hub-Signature-256", &signature)
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    fn set(self, name: &str, value: &str) -> Self {
        self.without(name).add(name, value)
    }

    fn add(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head = "POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n".to_owned();
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes;
        if self.chunked {
            head.push_str("Transfer-Encoding: chunked\r\n\r\n");
            bytes = head.into_bytes();
            for chunk in self.body.chunks(64 * 1024) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
                head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
            }
            head.push_str("\r\n");
            bytes = head.into_bytes();
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn sign(secret: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body).finalize().into_bytes();
    format!("sha256={}", hex::encode(mac))
}

fn ordinary(guid: &str) -> Delivery {
    Delivery::new(guid, "pull_request", format!("{{\"guid\": \"{guid}\"}}"))
}

// Signatures and secrets.

#[tokio::test]
async fn a_signed_delivery_is_stored_and_acknowledged() {
    let door = Door::open().await;
    let answer = door.post(&ordinary("a-1")).await;
    assert_eq!((answer.status, &answer.json), (202, &json!({"status": "accepted", "delivery": "a-1"})));
    let row = door.store.delivery(&DeliveryId::parse("a-1").unwrap()).await.unwrap().unwrap();
    assert_eq!((&row.body[..], row.event.as_str()), (&b"{\"guid\": \"a-1\"}"[..], "pull_request"));
    assert_eq!((row.target.hook.as_deref(), row.received_at), (Some("42"), START));
    assert_eq!(door.jobs().await, 1);
}

#[tokio::test]
async fn githubs_published_example_passes_the_door() {
    let door =
        Door::with(&["It's a Secret to Everybody"], Caps::default(), Limits::default(), store::Options::default())
            .await;
    let example = Delivery::new("vector", "ping", "Hello, World!")
        .set("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
    assert_eq!(door.post(&example).await.status, 202);
}

#[tokio::test]
async fn without_a_proper_signature_nothing_is_stored() {
    let door = Door::open().await;
    let good = ordinary("b");
    let signature = sign(SECRET, &good.body);
    let hex = signature.strip_prefix("sha256=").unwrap();
    let reserialised = sign(SECRET, &serde_json::to_vec(&json!({"guid": "b"})).unwrap());
    let bent = [
        ("no signature", good.clone().without("X-Hub-Signature-256")),
        (
            "SHA-1 only",
            good.clone()
                .without("X-Hub-Signature-256")
                .set("X-Hub-Signature", "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6"),
        ),
        (
            "SHA-1 in the new header",
            good.clone().set("X-Hub-Signature-256", "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6"),
        ),
        ("wrong", good.clone().set("X-Hub-Signature-256", &format!("sha256={}", "0".repeat(64)))),
        ("short", good.clone().set("X-Hub-Signature-256", &signature[..signature.len() - 1])),
        ("long", good.clone().set("X-Hub-Signature-256", &format!("{signature}0"))),
        ("not hex", good.clone().set("X-Hub-Signature-256", &format!("sha256=g{}", &hex[1..]))),
        ("space inside", good.clone().set("X-Hub-Signature-256", &format!("sha256= {hex}"))),
        ("no scheme", good.clone().set("X-Hub-Signature-256", hex)),
        ("empty", good.clone().set("X-Hub-Signature-256", "")),
        ("twice", good.clone().add("X-Hub-Signature-256", &signature)),
        ("a good and a bad one", good.clone().add("X-Hub-Signature-256", &format!("sha256={}", "0".repeat(64)))),
        ("over other JSON text", good.clone().set("X-Hub-Signature-256", &reserialised)),
        ("another secret", good.clone().set("X-Hub-Signature-256", &sign("guess", &good.body))),
        // Even what would be refused for other reasons learns nothing without a signature.
        ("wrong type as well", good.clone().without("X-Hub-Signature-256").set("Content-Type", "text/plain")),
        ("no GUID as well", good.clone().without("X-Hub-Signature-256").without("X-GitHub-Delivery")),
    ];
    for (what, delivery) in bent {
        let answer = door.post(&delivery).await;
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        answer.refuses(401);
    }
    assert_eq!((door.stored().await, door.jobs().await, door.store.inbox_commits().unwrap()), (0, 0, 0));
    assert_eq!(door.post(&good).await.status, 202, "the one they were bent from is good");
}

#[tokio::test]
async fn an_empty_secret_opens_no_door() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Clock::manual(START)).await.unwrap();
    let open = |secrets: &[&str]| {
        State::new(store.clone(), secrets.iter().map(|secret| Secret::new(*secret)).collect(), KNOWN).map(|_| ())
    };
    assert!(matches!(open(&[]), Err(webhook::Error::NoSecret)));
    assert!(matches!(open(&[""]), Err(webhook::Error::EmptySecret(1))));
    assert!(matches!(open(&["good", " \n"]), Err(webhook::Error::EmptySecret(2))));
    assert!(open(&["good"]).is_ok());
}

#[tokio::test]
async fn an_old_secret_counts_while_it_is_configured() {
    let signed_with_old = |guid: &str| {
        let delivery = ordinary(guid);
        let signature = sign(OLD, &delivery.body);
        delivery.set("X-Hub-Signature-256", &signature)
    };
    let rotating = Door::open().await;
    assert_eq!(rotating.post(&signed_with_old("a")).await.status, 202);
    let after = Door::with(&[SECRET], Caps::default(), Limits::default(), store::Options::default()).await;
    after.post(&signed_with_old("a")).await.refuses(401);
}

// Shapes of requests.

#[tokio::test]
async fn only_plain_json_is_taken_and_the_signature_is_checked_first() {
    let door = Door::open().await;
    let good = ordinary("c");
    for (name, value) in [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Type", "text/plain"),
        ("Content-Type", "application/jsonp"),
        ("Content-Type", "application/json; charset=latin1"),
        ("Content-Type", "\u{fffd}"),
        ("Content-Type", ""),
        ("Content-Encoding", "gzip"),
    ] {
        let answer = door.post(&good.clone().set(name, value)).await;
        assert_eq!(answer.status, 415, "{name}: {value}: {answer:?}");
        answer.refuses(415);
    }
    door.post(&good.clone().without("Content-Type")).await.refuses(415);
    door.post(&good.clone().add("Content-Type", "application/json")).await.refuses(415);
    door.post(&good.clone().set("Content-Type", "text/plain").set("X-Hub-Signature-256", "no")).await.refuses(401);
    assert_eq!(door.stored().await, 0);
    assert_eq!(door.post(&good.set("Content-Type", "Application/JSON; charset=UTF-8")).await.status, 202);
}

#[tokio::test]
async fn a_delivery_needs_its_guid_and_its_event() {
    let door = Door::open().await;
    let good = ordinary("d");
    let long = "x".repeat(65);
    for (name, value) in [
        ("X-GitHub-Delivery", ""),
        ("X-GitHub-Delivery", "../../etc"),
        ("X-GitHub-Delivery", long.as_str()),
        ("X-GitHub-Event", ""),
        ("X-GitHub-Event", "Pull Request"),
        ("X-GitHub-Event", "a/../b"),
        ("X-GitHub-Event", long.as_str()),
    ] {
        let answer = door.post(&good.clone().set(name, value)).await;
        assert_eq!(answer.status, 400, "{name}: {value}: {answer:?}");
        answer.refuses(400);
    }
    for name in ["X-GitHub-Delivery", "X-GitHub-Event"] {
        door.post(&good.clone().without(name)).await.refuses(400);
        door.post(&good.clone().add(name, "another")).await.refuses(400);
    }
    assert_eq!(door.stored().await, 0);
}

#[tokio::test]
async fn the_largest_body_passes_and_one_byte_more_does_not() {
    let door = Door::open().await;
    let mut body = vec![b' '; MAX_BODY];
    let largest = Delivery::new("largest", "pull_request", &body);
    assert_eq!(door.post(&largest).await.status, 202);
    let row = door.store.delivery(&DeliveryId::parse("largest").unwrap()).await.unwrap().unwrap();
    assert_eq!(row.body.len(), MAX_BODY);

    body.push(b' ');
    let over = Delivery { chunked: true, ..Delivery::new("over", "pull_request", &body) };
    // Chunked: the length shows only on the way. The peer may be cut off while it still sends.
    let answer = door.post(&over).await;
    assert!(matches!(answer.status, 413 | 0), "{answer:?}");
    // Announced: refused before a byte of it is read, so none is sent here.
    let announced = Delivery { body: Vec::new(), ..over }.set("Content-Length", &(MAX_BODY + 1).to_string());
    door.post(&Delivery { chunked: false, ..announced }).await.refuses(413);
    assert_eq!(door.stored().await, 1);
    assert_eq!(door.state.peak_buffered(), MAX_BODY, "never more than the cap of one body");
}

#[tokio::test]
async fn a_chunked_body_over_the_cap_is_refused_in_words() {
    let caps = Caps { body: 1000, ..Caps::default() };
    let door = Door::with(&[SECRET], caps, Limits::default(), store::Options::default()).await;
    let fits = Delivery { chunked: true, ..Delivery::new("fits", "ping", vec![b' '; 1000]) };
    assert_eq!(door.post(&fits).await.status, 202);
    let over = Delivery { chunked: true, ..Delivery::new("over", "ping", vec![b' '; 1001]) };
    door.post(&over).await.refuses(413);
}

#[tokio::test]
async fn a_length_that_lies_stores_nothing() {
    let limits = Limits { header: Duration::from_millis(300), body: Duration::from_millis(300), ..Limits::default() };
    let caps = Caps { deadline: Duration::from_millis(300), ..Caps::default() };
    let door = Door::with(&[SECRET], caps, limits, store::Options::default()).await;
    // More announced than sent: the deadline ends it.
    door.post(&ordinary("long").set("Content-Length", "5000")).await.refuses(408);
    // Less announced than sent: the signature is over what was read.
    door.post(&ordinary("short").set("Content-Length", "3")).await.refuses(401);
    for nonsense in ["-1", "abc", "99999999999999999999999"] {
        assert_eq!(door.post(&ordinary("odd").set("Content-Length", nonsense)).await.status, 400, "{nonsense}");
    }
    assert_eq!(door.stored().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_large_bodies_at_once_stay_within_the_memory_bound() {
    let (body, free, large) = (200_000, 10_000, 3);
    let caps = Caps { body, free, large, ..Caps::default() };
    let door = Door::with(&[SECRET], caps, Limits::default(), store::Options::default()).await;
    let answers = join_all((0..100).map(|n| {
        let delivery = Delivery::new(&format!("big-{n}"), "pull_request", vec![b' '; body]);
        let door = &door;
        async move { door.post(&delivery).await.status }
    }))
    .await;
    assert!(answers.iter().all(|status| *status == 202), "{answers:?}");
    let bound = large * body + 100 * free;
    assert!(door.state.peak_buffered() <= bound, "{} > {bound}", door.state.peak_buffered());
    assert_eq!(door.stored().await, 100);
}

#[tokio::test]
async fn requests_of_odd_shape_are_refused_and_the_door_stays_open() {
    let door = Door::open().await;
    let get = door.raw(b"GET /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    get.refuses(405);
    assert!(get.head.contains("allow: post"), "{}", get.head);
    assert_eq!(
        door.raw(b"POST /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await.status,
        404
    );
    assert_eq!(door.raw(b"nonsense\r\n\r\n").await.status, 400);
    let preface = door.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(matches!(preface.status, 0 | 400), "{preface:?}");
    let huge = format!("POST /webhook HTTP/1.1\r\nHost: x\r\nX-Big: {}\r\n\r\n", "x".repeat(200_000));
    assert!(matches!(door.raw(huge.as_bytes()).await.status, 431 | 0));
    let many = format!("POST /webhook HTTP/1.1\r\nHost: x\r\n{}\r\n", "X-A: b\r\n".repeat(1_000));
    assert!(matches!(door.raw(many.as_bytes()).await.status, 431 | 0));

    // Two lengths, or a length beside chunks: no second request may hide in the body.
    let hidden = ordinary("hidden").bytes();
    let signature = sign(SECRET, b"");
    for framing in [
        "Content-Length: 0\r\nContent-Length: 500\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
    ] {
        let mut bytes = format!(
            "POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature}\r\nX-GitHub-Event: ping\r\nX-GitHub-Delivery: outer\r\n\
             Content-Type: application/json\r\n{framing}\r\n"
        )
        .into_bytes();
        if framing.contains(" chunked") {
            bytes.extend(b"0\r\n\r\n");
        }
        bytes.extend(&hidden);
        door.raw(&bytes).await;
    }
    assert!(door.store.delivery(&DeliveryId::parse("hidden").unwrap()).await.unwrap().is_none(), "smuggled");
    assert_eq!(door.post(&ordinary("after")).await.status, 202);
}

// Slow and silent peers.

#[tokio::test(flavor = "multi_thread")]
async fn slow_peers_are_cut_off_while_others_pass_within_a_second() {
    let limits = Limits { header: Duration::from_millis(500), body: Duration::from_millis(800), ..Limits::default() };
    let caps = Caps { deadline: Duration::from_millis(700), ..Caps::default() };
    let door = Door::with(&[SECRET], caps, limits, store::Options::default()).await;
    let began = Instant::now();

    // Heads that never end, bodies that drip, connections that say nothing.
    let mut slow = Vec::new();
    let bytes = ordinary("slow").bytes();
    let split = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    for n in 0..30 {
        let mut stream = door.connect().await;
        let (sent, rest) = match n % 3 {
            0 => bytes.split_at(20),
            1 => bytes.split_at(split + 1),
            _ => bytes.split_at(0),
        };
        stream.write_all(sent).await.unwrap();
        let drip = rest.to_vec();
        slow.push(tokio::spawn(async move {
            let (mut reading, mut writing) = stream.into_split();
            let dripping = tokio::spawn(async move {
                if n % 3 != 2 {
                    for byte in drip {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                        if writing.write_all(&[byte]).await.is_err() {
                            return;
                        }
                    }
                }
                // Half-open: neither more bytes nor an end.
                std::future::pending::<()>().await;
            });
            let mut answer = Vec::new();
            let _ = reading.read_to_end(&mut answer).await;
            dripping.abort();
            String::from_utf8_lossy(&answer).into_owned()
        }));
    }
    for n in 0..10 {
        let sent = Instant::now();
        assert_eq!(door.post(&ordinary(&format!("quick-{n}"))).await.status, 202);
        assert!(sent.elapsed() < Duration::from_secs(5), "{:?}", sent.elapsed());
    }
    for (n, task) in slow.into_iter().enumerate() {
        let answer = timeout(Duration::from_secs(10), task).await.expect("cut off").unwrap();
        assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
        if n % 3 == 1 {
            assert!(answer.starts_with("HTTP/1.1 408"), "a slow body is told so: {answer}");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(door.stored().await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_at_the_cap_give_way_to_a_delivery() {
    let limits = Limits { connections: 60, header: SOON, ..Limits::default() };
    let door = Door::with(&[SECRET], Caps::default(), limits, store::Options::default()).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(door.connect().await);
    }
    let sent = Instant::now();
    assert_eq!(door.post(&ordinary("through")).await.status, 202);
    assert!(sent.elapsed() < Duration::from_secs(5), "{:?}", sent.elapsed());
    // The oldest had to go.
    let mut byte = [0; 1];
    assert!(matches!(timeout(SOON, idle[0].read(&mut byte)).await.expect("closed"), Ok(0) | Err(_)));
}

#[tokio::test]
async fn shutdown_lets_an_open_delivery_finish_and_closes_the_rest() {
    let door = Door::open().await;
    let bytes = ordinary("last").bytes();
    let (start, rest) = bytes.split_at(bytes.len() - 3);
    let mut stream = door.connect().await;
    stream.write_all(start).await.unwrap();
    // Another request on a later connection is answered: so the first has been taken in.
    assert_eq!(door.post(&ordinary("before")).await.status, 202);
    door.shutdown.cancel();
    while TcpStream::connect(door.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    stream.write_all(rest).await.unwrap();
    assert_eq!(Answer::read(&mut stream).await.status, 202);
    timeout(SOON, door.task).await.expect("it ends").unwrap();
}

// Repeats, strangers and trouble.

#[tokio::test]
async fn a_known_guid_is_acknowledged_without_a_second_job() {
    let door = Door::open().await;
    assert_eq!(door.post(&ordinary("same")).await.status, 202);
    let again = door.post(&ordinary("same")).await;
    assert_eq!((again.status, &again.json["status"]), (200, &json!("known")));
    assert_eq!((door.stored().await, door.jobs().await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_guid_fifty_times_at_once_makes_one_job() {
    let door = Door::open().await;
    let same = ordinary("same");
    let answers = join_all((0..50).map(|_| door.post(&same))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 202).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 49);
    assert_eq!((door.stored().await, door.jobs().await), (1, 1));
}

#[tokio::test]
async fn a_replay_under_a_new_guid_is_marked() {
    let door = Door::open().await;
    door.post(&Delivery::new("one", "pull_request", "{}")).await;
    let replay = door.post(&Delivery::new("two", "pull_request", "{}")).await;
    assert_eq!((replay.status, &replay.json["status"]), (202, &json!("replay")));
    let row = door.store.delivery(&DeliveryId::parse("two").unwrap()).await.unwrap().unwrap();
    assert_eq!(row.replay_of, DeliveryId::parse("one"));
}

#[tokio::test]
async fn an_event_that_nobody_knows_is_stored_and_ignored_with_a_reason() {
    let door = Door::open().await;
    let answer = door.post(&Delivery::new("odd", "meteor_strike", "{\"head\": {\"repo\": null}}")).await;
    assert_eq!((answer.status, &answer.json["status"]), (202, &json!("ignored")));
    let row = door.store.delivery(&DeliveryId::parse("odd").unwrap()).await.unwrap().unwrap();
    assert_eq!(row.state, DeliveryState::Ignored);
    assert!(row.reason.unwrap().contains("meteor_strike"));
    assert_eq!(door.jobs().await, 0);
}

#[tokio::test]
async fn a_signed_body_is_stored_as_it_is_however_odd() {
    let door = Door::open().await;
    let deep = "[".repeat(100_000);
    let bodies: [&[u8]; 11] = [
        b"",
        b"{\"a\": 1, \"a\": 2}",
        b"\xff\xfe",
        br#""\ud800""#,
        b"1e400",
        b"92233720368547758080",
        b"{\"a\": \"\0\"}",
        b"{} trailing",
        b"\xef\xbb\xbf{}",
        b"{",
        deep.as_bytes(),
    ];
    for (n, body) in bodies.iter().enumerate() {
        let guid = format!("odd-{n}");
        assert_eq!(door.post(&Delivery::new(&guid, "pull_request", body)).await.status, 202, "{n}");
        let row = door.store.delivery(&DeliveryId::parse(&guid).unwrap()).await.unwrap().unwrap();
        assert_eq!(&row.body[..], *body, "{n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_a_thousand_is_acknowledged_only_as_far_as_it_is_stored() {
    let options = store::Options { inbox: 64, ..store::Options::default() };
    let door = Door::with(&[SECRET], Caps::default(), Limits::default(), options).await;
    let began = Instant::now();
    let answers: Vec<Answer> = futures::stream::iter(0..1_000)
        .map(|n| {
            let door = &door;
            async move { door.post(&ordinary(&format!("burst-{n}"))).await }
        })
        .buffer_unordered(150)
        .collect()
        .await;
    let took = began.elapsed();
    let accepted = answers.iter().filter(|answer| answer.status == 202).count();
    for answer in answers.iter().filter(|answer| answer.status != 202) {
        answer.refuses(503);
        assert!(answer.head.contains("retry-after: "), "{answer:?}");
    }
    assert_eq!((door.stored().await, door.jobs().await), (accepted, accepted));
    assert!(accepted >= 64 && took < Duration::from_secs(10), "{accepted} in {took:?}");
}

#[tokio::test]
async fn when_nothing_can_be_stored_nothing_is_acknowledged() {
    let options = store::Options { busy_timeout: Duration::from_millis(50), ..store::Options::default() };
    let door = Door::with(&[SECRET], Caps::default(), Limits::default(), options).await;
    let mut stranger =
        SqliteConnectOptions::new().filename(door.dir.path().join("octoswarm.db")).connect().await.unwrap();
    let hold = stranger.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let answer = door.post(&ordinary("a")).await;
    answer.refuses(503);
    assert!(answer.head.contains("retry-after: 10"), "{answer:?}");
    hold.rollback().await.unwrap();
    assert_eq!(door.stored().await, 0);
    assert_eq!(door.post(&ordinary("a")).await.status, 202, "a redelivery finds the door open");
}
