//! A load generator: keep-alive connections over plain sockets, each sending its next delivery when the last was answered.
//! One thread of its own, so that it takes at most one processor from the server.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::payload::Template;
use super::process::own_usage;

pub struct Plan<'a> {
    pub address: SocketAddr,
    pub path: &'a str,
    pub event: &'a str,
    pub action: &'a str,
    pub connections: usize,
    pub warm_up: Duration,
    pub measured: Duration,
}

/// What one run saw, warm-up left out.
pub struct Seen {
    pub answered: usize,
    pub refused: usize,
    pub elapsed: Duration,
    /// Of answers that were 2xx, sorted.
    pub latencies: Vec<Duration>,
    /// The generator's own share.
    pub cpu: Duration,
}

impl Seen {
    pub fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    pub fn quantile(&self, q: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last as f64 * q).round() as usize).copied().unwrap_or_default()
    }
}

impl Plan<'_> {
    /// Runs to the end of the measured time; `at_start` is called when it begins.
    pub fn run(&self, at_start: impl FnOnce()) -> Seen {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, self.drive(at_start))
    }

    async fn drive(&self, at_start: impl FnOnce()) -> Seen {
        let template = Rc::new(Template::new(self.action));
        let begin = Instant::now() + self.warm_up;
        let end = begin + self.measured;
        let connections: Vec<_> = (0..self.connections)
            .map(|n| {
                let connection = Connection {
                    template: template.clone(),
                    request: template.request(self.path, self.event, n as u64),
                    next: n as u64,
                    step: self.connections as u64,
                };
                tokio::task::spawn_local(connection.run(self.address, begin, end))
            })
            .collect();
        tokio::time::sleep_until(begin.into()).await;
        at_start();
        let cpu = own_usage().cpu;
        let mut seen =
            Seen { answered: 0, refused: 0, elapsed: self.measured, latencies: Vec::new(), cpu: Duration::ZERO };
        tokio::time::sleep_until(end.into()).await;
        seen.cpu = own_usage().cpu.saturating_sub(cpu);
        for connection in connections {
            let (latencies, refused) = connection.await.expect("a connection's task");
            seen.answered += latencies.len() + refused;
            seen.refused += refused;
            seen.latencies.extend(latencies);
        }
        seen.latencies.sort_unstable();
        seen
    }
}

struct Connection {
    template: Rc<Template>,
    request: super::payload::Request,
    next: u64,
    step: u64,
}

impl Connection {
    async fn run(mut self, address: SocketAddr, begin: Instant, end: Instant) -> (Vec<Duration>, usize) {
        let mut stream = TcpStream::connect(address).await.expect("the server takes connections");
        stream.set_nodelay(true).expect("no delay");
        let (mut latencies, mut refused) = (Vec::new(), 0);
        let mut answer = vec![0; 4096];
        loop {
            self.template.renew(&mut self.request, self.next);
            self.next += self.step;
            let sent = Instant::now();
            if sent >= end {
                return (latencies, refused);
            }
            stream.write_all(self.request.bytes()).await.expect("the server reads");
            let status = read_answer(&mut stream, &mut answer).await;
            let now = Instant::now();
            if sent < begin || now > end {
                continue;
            }
            match status {
                200..=299 => latencies.push(now - sent),
                _ => refused += 1,
            }
        }
    }
}

/// Reads one answer to its end and tells its status.
async fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> u16 {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..]).await.expect("the server answers");
        assert!(read > 0, "the server closed the connection or its answer is too long");
        filled += read;
        let Ok(text) = std::str::from_utf8(&buffer[..filled]) else { continue };
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim())
            })
        };
        let complete = match header("content-length").and_then(|length| length.parse::<usize>().ok()) {
            Some(length) => body.len() >= length,
            None if header("transfer-encoding").is_some() => body.ends_with("0\r\n\r\n"),
            None => true,
        };
        if complete {
            return status;
        }
    }
}
