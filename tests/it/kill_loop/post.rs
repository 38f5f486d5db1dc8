//! Brings the box's deliveries to the server, many at once and in any order, and knows which were acknowledged.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use octoswarm::demo::GitHubBox;
use rand::Rng;
use rand::distr::Alphanumeric;
use sha2::Sha256;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

#[derive(Clone)]
pub struct Letter {
    pub guid: String,
    pub event: String,
    headers: Vec<(String, String)>,
    body: Arc<str>,
    acked: bool,
    in_flight: bool,
}

impl Letter {
    /// The request as it goes over the wire.
    fn request(&self, to: SocketAddr) -> Vec<u8> {
        let mut head = format!("POST /webhook HTTP/1.1\r\nhost: {to}\r\ncontent-length: {}\r\n", self.body.len());
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut request = head.into_bytes();
        request.extend_from_slice(self.body.as_bytes());
        request
    }

    /// Sends so much of the request, and reads no answer. The connection lives as long as what is returned.
    pub async fn send_raw(&self, to: SocketAddr, whole: bool) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(to).await.ok()?;
        let request = self.request(to);
        let end = if whole { request.len() } else { request.len() - self.body.len() / 2 };
        stream.write_all(&request[..end]).await.ok()?;
        stream.flush().await.ok()?;
        Some(stream)
    }
}

#[derive(Default)]
struct Bag {
    letters: Vec<Letter>,
    seen: usize,
    holding: bool,
    to: Option<SocketAddr>,
    /// Answers that no correct server gives.
    odd: Vec<String>,
}

#[derive(Clone)]
pub struct Post {
    github: Arc<GitHubBox>,
    bag: Arc<Mutex<Bag>>,
    client: reqwest::Client,
}

impl Post {
    /// From here on the box itself reaches nobody.
    pub fn new(github: Arc<GitHubBox>) -> Self {
        github.set_webhook_url("http://127.0.0.1:1/webhook");
        let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).no_proxy().build().unwrap();
        Self { github, bag: Arc::default(), client }
    }

    /// Where the server listens; nowhere while it is dead.
    pub fn address(&self, to: Option<SocketAddr>) {
        self.bag.lock().unwrap().to = to;
    }

    /// Keeps what comes.
    pub fn hold(&self) {
        self.bag.lock().unwrap().holding = true;
    }

    /// Sends what was kept, all at once.
    pub async fn release(&self) {
        self.bag.lock().unwrap().holding = false;
        self.carry().await;
    }

    /// Takes what the box has for us and sends what was not acknowledged yet. Says how many those are.
    pub async fn carry(&self) -> usize {
        self.collect().await;
        let due: Vec<(usize, SocketAddr, Letter)> = {
            let mut bag = self.bag.lock().unwrap();
            let Some(to) = bag.to.filter(|_| !bag.holding) else {
                return bag.letters.iter().filter(|letter| !letter.acked).count();
            };
            let due = |letter: &Letter| !letter.acked && !letter.in_flight;
            let all = bag.letters.iter_mut().enumerate().filter(|(_, letter)| due(letter));
            all.map(|(at, letter)| {
                letter.in_flight = true;
                (at, to, letter.clone())
            })
            .collect()
        };
        for (at, to, letter) in due {
            let post = self.clone();
            tokio::spawn(async move { post.send(at, to, &letter).await });
        }
        self.bag.lock().unwrap().letters.iter().filter(|letter| !letter.acked).count()
    }

    pub async fn collect(&self) {
        self.github.deliveries_settled().await;
        let mut bag = self.bag.lock().unwrap();
        for delivery in self.github.deliveries_after(bag.seen) {
            bag.seen += 1;
            let headers = delivery.request_headers.into_iter().collect();
            bag.letters.push(Letter {
                guid: delivery.guid,
                event: delivery.event,
                headers,
                body: delivery.payload.into(),
                acked: false,
                in_flight: false,
            });
        }
    }

    async fn send(&self, at: usize, to: SocketAddr, letter: &Letter) {
        let mut request = self.client.post(format!("http://{to}/webhook")).body(letter.body.to_string());
        for (name, value) in &letter.headers {
            request = request.header(name, value);
        }
        let answer = request.send().await;
        let mut bag = self.bag.lock().unwrap();
        bag.letters[at].in_flight = false;
        match answer {
            Ok(answer) if answer.status().is_success() => bag.letters[at].acked = true,
            Ok(answer) if answer.status() == 503 => {}
            Ok(answer) => bag.odd.push(format!("{} {} was answered {}", letter.event, letter.guid, answer.status())),
            Err(_) => {}
        }
    }

    /// The newest letter of that event which nobody has brought yet.
    pub fn waiting(&self, event: &str) -> Option<Letter> {
        let bag = self.bag.lock().unwrap();
        let known = |guid: &str| bag.letters.iter().any(|letter| letter.guid == guid && letter.acked);
        bag.letters.iter().rfind(|letter| letter.event == event && !letter.acked && !known(&letter.guid)).cloned()
    }

    /// Brings a letter again that was acknowledged before, under its own GUID.
    /// Says whether there was one.
    pub fn again(&self, nth: usize) -> bool {
        let mut bag = self.bag.lock().unwrap();
        let known: Vec<usize> = (0..bag.letters.len()).filter(|at| bag.letters[*at].acked).collect();
        if known.is_empty() {
            return false;
        }
        let copy = Letter { acked: false, in_flight: false, ..bag.letters[known[nth % known.len()]].clone() };
        bag.letters.push(copy);
        true
    }

    /// The same under another GUID: what somebody with one captured delivery can do.
    pub fn replay(&self, nth: usize, guid: &str) -> bool {
        if !self.again(nth) {
            // The last letter is a real one that nobody has brought yet.
            return false;
        }
        let mut bag = self.bag.lock().unwrap();
        let Some(copy) = bag.letters.last_mut() else { return false };
        guid.clone_into(&mut copy.guid);
        for (name, value) in &mut copy.headers {
            if name.eq_ignore_ascii_case("x-github-delivery") {
                guid.clone_into(value);
            }
        }
        true
    }

    /// A delivery of an event that nobody acts on, with so many bytes.
    pub fn ballast(&self, guid: &str, bytes: usize) {
        // It repeats itself only beyond the window in which the store's packing looks for what it knows.
        let random: String = rand::rng().sample_iter(Alphanumeric).take(70_000).map(char::from).collect();
        let ballast: String = random.chars().cycle().take(bytes).collect();
        let body = format!("{{\"action\":\"created\",\"ballast\":\"{ballast}\"}}");
        let mut mac = Hmac::<Sha256>::new_from_slice(self.github.webhook_secret().as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let headers = BTreeMap::from([
            ("content-type", "application/json"),
            ("x-github-delivery", guid),
            ("x-github-event", "star"),
            ("x-hub-signature-256", &signature),
        ]);
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.bag.lock().unwrap().letters.push(Letter {
            guid: guid.to_owned(),
            event: "star".to_owned(),
            headers,
            body: body.into(),
            acked: false,
            in_flight: false,
        });
    }

    /// GUIDs that were answered with 2xx.
    pub fn acked(&self) -> Vec<String> {
        let bag = self.bag.lock().unwrap();
        bag.letters.iter().filter(|letter| letter.acked).map(|letter| letter.guid.clone()).collect()
    }

    pub fn odd(&self) -> Vec<String> {
        self.bag.lock().unwrap().odd.clone()
    }
}
