//! Servers as processes of their own, and what the system's books say of them.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::payload::SECRET;

/// A server that listens on loopback; it dies with this value.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    /// From the start of the process to the line that says where it listens.
    pub listening_after: Duration,
}

/// What a process has used so far.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub cpu: Duration,
    pub resident: u64,
    /// The part of it that is not a file's: what the system could not take away.
    pub anonymous: u64,
    pub peak: u64,
    pub threads: u64,
}

/// How the server is run.
pub struct Serve<'a> {
    pub state: &'a Path,
    pub key: &'a Path,
    pub api: String,
    pub variables: Vec<(&'static str, String)>,
}

impl Serve<'_> {
    /// Nothing answers where GitHub should be.
    pub fn nobody() -> String {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        format!("http://{}", listener.local_addr().expect("its address"))
    }

    pub fn start(&self) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--state"])
            .arg(self.state)
            .env("OCTOSWARM_APP_ID", "987654")
            .env("OCTOSWARM_PRIVATE_KEY_FILE", self.key)
            .env("OCTOSWARM_WEBHOOK_SECRET", SECRET)
            .env("OCTOSWARM_API_URL", &self.api)
            .env("OCTOSWARM_WEB_URL", &self.api)
            .env("OCTOSWARM_RECONCILE_SECONDS", "0")
            .envs(self.variables.iter().cloned())
            .current_dir(self.state);
        Server::start(command)
    }
}

/// An App's key, as GitHub hands them out.
pub fn write_key(path: &Path) {
    use aws_lc_rs::encoding::AsDer;
    use base64::Engine;
    let key = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).expect("an RSA key");
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&key).expect("the key as DER");
    let text = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    std::fs::write(path, format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n")))
        .expect("the key is written");
}

impl Server {
    /// Starts a program that prints `… http://127.0.0.1:<port>` once it listens.
    pub fn start(mut command: Command) -> Self {
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = child.stdout.take().expect("its output is piped");
        let (say, hear) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let address = line.split("http://").nth(1).and_then(|rest| rest.trim().parse::<SocketAddr>().ok());
                let _ = address.map(|address| say.send((address, began.elapsed())));
            }
        });
        let heard = hear.recv_timeout(Duration::from_secs(60));
        let Ok((address, listening_after)) = heard else {
            let _ = child.kill();
            panic!("{command:?} does not say where it listens");
        };
        Self { child, address, listening_after }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn usage(&self) -> Usage {
        usage(&self.pid().to_string())
    }

    /// As an operator stops it: what it has begun comes to its end.
    pub fn stop(mut self) {
        let _ = Command::new("kill").arg("-TERM").arg(self.pid().to_string()).status();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What this process has used: the load generator's own share.
pub fn own_usage() -> Usage {
    usage("self")
}

fn usage(pid: &str) -> Usage {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let status = read("status");
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    let stat = read("stat");
    // After the name, which may hold anything, in parentheses: user and system time are the 12th and 13th, in 1/100 s.
    let ticks: u64 = stat
        .rsplit(')')
        .next()
        .into_iter()
        .flat_map(|rest| rest.split_whitespace().skip(11).take(2))
        .filter_map(|number| number.parse::<u64>().ok())
        .sum();
    Usage {
        cpu: Duration::from_millis(ticks * 10),
        resident: field("VmRSS:") * 1024,
        anonymous: field("RssAnon:") * 1024,
        peak: field("VmHWM:") * 1024,
        threads: field("Threads:"),
    }
}
