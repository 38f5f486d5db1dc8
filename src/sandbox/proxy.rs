//! The one way out, for one command: to registries by their names, inside of TLS that ends at them and not here.
//!
//! It listens on a socket in a folder of ours that only this command is shown, and takes nothing but `CONNECT`. It finds addresses
//! itself and connects to the one it has judged. Nothing of ours is added to what passes.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::greeting;
use super::registries::{Ecosystem, HostPort, PORT, Upstream};
use super::workplace::PREFIX;
use crate::stdx::net;
use crate::stdx::scratch::Scratch;
use crate::stdx::text::visible_source;

/// Where the command sees the socket's folder.
pub(super) const SEEN: &str = "/.registries";
pub(super) const SOCKET: &str = "proxy";
/// Of these the result tells; more helps nobody.
const MOST_TOLD: usize = 50;
/// Bytes of a request, which is a line and a few headers.
const MOST_REQUEST: usize = 8 * 1024;

/// Where a step may go.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// At the port of HTTPS, and at addresses of the Internet.
    public: BTreeSet<&'static str>,
    /// The operator's own, wherever they are.
    own: HashSet<HostPort>,
    upstream: Option<Upstream>,
}

impl Rules {
    pub(super) fn new(ecosystems: &[Ecosystem], own: &[HostPort], upstream: Option<&Upstream>) -> Self {
        Self {
            public: ecosystems.iter().flat_map(|ecosystem| ecosystem.registries()).copied().collect(),
            own: own.iter().cloned().collect(),
            upstream: upstream.cloned(),
        }
    }
}

/// How much of it.
#[derive(Debug, Clone)]
pub(super) struct Caps {
    /// Both ways, all connections together.
    pub(super) bytes: u64,
    /// From a request to its answer.
    pub(super) connecting: Duration,
    /// Without a byte in either direction.
    pub(super) idle: Duration,
    /// At once; who comes later waits.
    pub(super) connections: usize,
}

impl Caps {
    pub(super) fn bytes(bytes: u64) -> Self {
        Self { bytes, connecting: Duration::from_secs(20), idle: Duration::from_secs(120), connections: 64 }
    }
}

/// Bytes that went through.
#[derive(Debug)]
pub(super) struct Meter {
    bytes: AtomicU64,
    most: u64,
    over: CancellationToken,
}

impl Meter {
    /// Whether they may go on.
    fn add(&self, bytes: usize) -> bool {
        let total = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if total > self.most {
            self.over.cancel();
        }
        total <= self.most
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }
}

/// Listens as long as it lives; then the socket is gone and every connection cut.
#[derive(Debug)]
pub(super) struct Proxy {
    folder: PathBuf,
    task: JoinHandle<()>,
    shared: Arc<Shared>,
    _scratch: Scratch,
}

#[derive(Debug)]
struct Shared {
    rules: Rules,
    caps: Caps,
    meter: Arc<Meter>,
    refused: Mutex<BTreeSet<String>>,
    unreachable: Mutex<BTreeSet<String>>,
}

/// What a proxy has to tell in the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) refused: Vec<String>,
    pub(super) unreachable: Vec<String>,
    pub(super) bytes: u64,
}

impl Proxy {
    /// In a folder below `scratch`, for whoever has this user number. Tasks of the current runtime do the work.
    ///
    /// # Errors
    /// The disk's or the system's.
    pub(super) fn open(scratch: &Path, owner: Option<u32>, rules: Rules, caps: Caps) -> io::Result<Self> {
        let scratch = Scratch::new_in(scratch, PREFIX)?;
        let folder = scratch.path().join("way");
        std::fs::create_dir(&folder)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, &folder, flags, Mode::empty())?;
        // A socket's path has room for a hundred bytes, ours may be longer.
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET}", opened.as_raw_fd()))?;
        rustix::fs::chmodat(&opened, SOCKET, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        if let Some(owner) = owner {
            let (uid, gid) = (Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)));
            rustix::fs::chownat(&opened, SOCKET, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
            rustix::fs::fchown(&opened, uid, gid)?;
        }
        let meter = Meter { bytes: AtomicU64::new(0), most: caps.bytes, over: CancellationToken::new() };
        let shared = Arc::new(Shared {
            rules,
            caps,
            meter: Arc::new(meter),
            refused: Mutex::default(),
            unreachable: Mutex::default(),
        });
        let task = tokio::spawn(listen(listener, shared.clone()));
        Ok(Self { folder, task, shared, _scratch: scratch })
    }

    /// What the sandbox shows the command.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn meter(&self) -> Arc<Meter> {
        self.shared.meter.clone()
    }

    /// What happened until now; with it the way is closed.
    pub(super) fn close(self) -> Told {
        let all = |hosts: &Mutex<BTreeSet<String>>| {
            hosts.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
        };
        Told {
            refused: all(&self.shared.refused),
            unreachable: all(&self.shared.unreachable),
            bytes: self.shared.meter.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // With it goes the set of its connections.
        self.task.abort();
    }
}

async fn listen(listener: UnixListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(shared.caps.connections));
    let mut connections = JoinSet::new();
    while let Ok(seat) = room.clone().acquire_owned().await {
        let stream = tokio::select! {
            () = shared.meter.over.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match stream {
            Ok((stream, _)) => {
                let shared = shared.clone();
                connections.spawn(async move {
                    shared.serve(stream).await;
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the proxy of a command cannot take a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Why a request comes to nothing.
enum Fault {
    Refused(String),
    Unreachable(String),
}

/// An answer that is followed by a stranger's bytes.
struct Tunnel {
    upgrade: OnUpgrade,
    outside: TcpStream,
    /// Of a public registry: what TLS has to be for.
    public: Option<HostPort>,
}

impl Shared {
    async fn serve(&self, stream: UnixStream) {
        let tunnel: Mutex<Option<Tunnel>> = Mutex::default();
        let service = hyper::service::service_fn(|request| self.answer(request, &tunnel));
        let mut server = hyper::server::conn::http1::Builder::new();
        server
            .timer(TokioTimer::new())
            .header_read_timeout(self.caps.connecting)
            .max_buf_size(MOST_REQUEST)
            .keep_alive(false);
        // A request that breaks off or is none: the command's own affair.
        let _broken = server.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
        let tunnel = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tunnel) = tunnel
            && let Ok(inside) = tunnel.upgrade.await
        {
            self.pass(TokioIo::new(inside), tunnel.outside, tunnel.public).await;
        }
    }

    async fn answer(
        &self,
        mut request: Request<Incoming>,
        tunnel: &Mutex<Option<Tunnel>>,
    ) -> Result<Response<String>, Infallible> {
        let asked = request.uri().authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        if request.method() != Method::CONNECT {
            if !asked.is_empty() {
                self.note(format!("{} (plain HTTP)", shown(&asked)));
            }
            let say =
                "octoswarm: this proxy takes CONNECT to package registries and nothing else; use https".to_owned();
            return Ok(text(StatusCode::METHOD_NOT_ALLOWED, say));
        }
        let reached = match asked.parse::<HostPort>() {
            Ok(to) => timeout(self.caps.connecting, self.reach(&to))
                .await
                .unwrap_or_else(|_| Err(Fault::Unreachable(format!("{to} did not answer in time")))),
            Err(_) => {
                self.note(format!("{} (no host name with a port)", shown(&asked)));
                Err(Fault::Refused("only hosts with a name and a port are connected to".to_owned()))
            }
        };
        Ok(match reached {
            Ok(outside) => {
                let upgrade = hyper::upgrade::on(&mut request);
                let public = asked.parse().ok().filter(|to| !self.rules.own.contains(to));
                *tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(Tunnel { upgrade, outside, public });
                Response::new(String::new())
            }
            Err(Fault::Refused(why)) => text(StatusCode::FORBIDDEN, format!("octoswarm: {why}")),
            Err(Fault::Unreachable(why)) => {
                tracing::warn!(%why, "a command did not get to a registry");
                add(&self.unreachable, why.clone());
                text(StatusCode::BAD_GATEWAY, format!("octoswarm: {why}"))
            }
        })
    }

    /// Judges, and connects to what was judged.
    async fn reach(&self, to: &HostPort) -> Result<TcpStream, Fault> {
        let own = self.rules.own.contains(to);
        let listed = own || to.port() == PORT && self.rules.public.contains(to.host());
        if !listed {
            self.note(to.to_string());
            return Err(Fault::Refused(format!("{to} is no registry that this step may reach")));
        }
        let unreachable = |error: io::Error| Fault::Unreachable(format!("{to} cannot be reached: {error}"));
        if let Some(upstream) =
            self.rules.upstream.as_ref().filter(|it| it.not_for.iter().all(|host| host != to.host()))
        {
            return through(upstream, to).await.map_err(unreachable);
        }
        let found: Vec<_> = tokio::net::lookup_host((to.host(), to.port())).await.map_err(unreachable)?.collect();
        let good: Vec<_> = found.iter().filter(|address| own || net::is_on_the_internet(address.ip())).collect();
        if good.is_empty() {
            let why = found.first().map_or("no address".to_owned(), |address| {
                format!("its address {} is not of the Internet", address.ip())
            });
            self.note(format!("{to} ({why})"));
            return Err(Fault::Refused(format!("{to} is refused: {why}")));
        }
        let mut last = io::Error::other("no address");
        for address in good {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
    }

    fn note(&self, refused: String) {
        tracing::info!(%refused, "a command asked for a host that it may not reach");
        add(&self.refused, refused);
    }

    async fn pass(
        &self,
        mut inside: impl AsyncRead + AsyncWrite + Unpin,
        mut outside: TcpStream,
        public: Option<HostPort>,
    ) {
        if let Some(to) = public {
            match timeout(self.caps.connecting, greeting::read(&mut inside, to.host())).await {
                Ok(Ok(bytes)) if self.meter.add(bytes.len()) && outside.write_all(&bytes).await.is_ok() => {}
                Ok(Err(why)) => return self.note(format!("{to} ({})", shown(&why))),
                _ => return,
            }
        }
        self.carry(inside, outside).await;
    }

    /// Until both sides have ended, nothing moves any more, or too much has.
    async fn carry(&self, inside: impl AsyncRead + AsyncWrite, mut outside: TcpStream) {
        let (mut from_inside, mut to_inside) = tokio::io::split(inside);
        let (mut from_outside, mut to_outside) = outside.split();
        let moved = Mutex::new(Instant::now());
        let both = async {
            tokio::try_join!(
                self.copy(&mut from_inside, &mut to_outside, &moved),
                self.copy(&mut from_outside, &mut to_inside, &moved)
            )
        };
        let idle = async {
            loop {
                let due = *moved.lock().unwrap_or_else(PoisonError::into_inner) + self.caps.idle;
                if due <= Instant::now() {
                    return;
                }
                sleep_until(due).await;
            }
        };
        // However it ends, both streams close.
        tokio::select! {
            _ended = both => {}
            () = idle => {}
            () = self.meter.over.cancelled() => {}
        }
    }

    async fn copy(
        &self,
        from: &mut (impl AsyncRead + Unpin),
        to: &mut (impl AsyncWrite + Unpin),
        moved: &Mutex<Instant>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 {
                return to.shutdown().await;
            }
            if !self.meter.add(read) {
                return Err(io::Error::other("more bytes than this step may move"));
            }
            to.write_all(&buffer[..read]).await?;
            *moved.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        }
    }
}

/// The upstream's own `CONNECT`; it has its own rules and finds the address.
async fn through(upstream: &Upstream, to: &HostPort) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(&upstream.at).await?;
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).await?;
    let mut head = Vec::new();
    // Byte by byte: what comes after the head is for the command.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MOST_REQUEST {
            return Err(io::Error::other("the upstream proxy answers without end"));
        }
        head.push(stream.read_u8().await?);
    }
    let line = String::from_utf8_lossy(&head);
    let line = line.lines().next().unwrap_or_default();
    let code = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    if code.is_some_and(|code| code.len() == 3 && code.starts_with('2')) {
        Ok(stream)
    } else {
        Err(io::Error::other(format!("the upstream proxy answers {:?}", shown(line))))
    }
}

fn add(to: &Mutex<BTreeSet<String>>, line: String) {
    let mut all = to.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() < MOST_TOLD {
        all.insert(line);
    }
}

fn shown(text: &str) -> String {
    visible_source(text).chars().take(100).collect()
}

fn text(status: StatusCode, line: String) -> Response<String> {
    let mut response = Response::new(format!("{line}\n"));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Asked {
        _scratch: tempfile::TempDir,
        proxy: Proxy,
    }

    fn open(rules: Rules, caps: Caps) -> Asked {
        let scratch = tempfile::tempdir().unwrap();
        let proxy = Proxy::open(scratch.path(), None, rules, caps).unwrap();
        Asked { _scratch: scratch, proxy }
    }

    impl Asked {
        async fn connect(&self) -> UnixStream {
            UnixStream::connect(self.proxy.folder().join(SOCKET)).await.unwrap()
        }

        async fn ask(&self, request: &str) -> String {
            let mut stream = self.connect().await;
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        }
    }

    fn public(host: &'static str) -> Rules {
        Rules { public: BTreeSet::from([host]), ..Rules::default() }
    }

    /// Answers every line with itself.
    async fn echo() -> HostPort {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        HostPort::new("localhost", port).unwrap()
    }

    #[tokio::test]
    async fn a_listed_name_that_leads_to_this_machine_is_refused() {
        let asked = open(public("localhost"), Caps::bytes(1000));
        let answer = asked.ask("CONNECT localhost:443 HTTP/1.1\r\nhost: localhost:443\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("is not of the Internet"), "{answer}");
        let told = asked.proxy.close();
        assert!(told.refused[0].starts_with("localhost:443 (its address "), "{told:?}");
        assert_eq!((told.bytes, told.unreachable.len()), (0, 0));
    }

    #[tokio::test]
    async fn only_the_names_of_the_list_at_the_port_of_https_are_asked_for() {
        let asked = open(public("packages.example"), Caps::bytes(1000));
        for host in [
            "packages.example:80",
            "packages.example:8443",
            "a.packages.example:443",
            "packages.example.evil.example:443",
            "xpackages.example:443",
            "127.0.0.1:443",
            "[::1]:443",
            "169.254.169.254:443",
            "user@packages.example:443",
        ] {
            let answer = asked.ask(&format!("CONNECT {host} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        }
        for request in ["GET http://packages.example/", "POST http://packages.example:443/", "GET /", "OPTIONS *"] {
            let answer = asked.ask(&format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("CONNECT"), "{request}: {answer}");
        }
        let answer = asked.ask("CONNECT packages.example HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
        let refused = asked.proxy.close().refused;
        assert!(refused.contains(&"a.packages.example:443".to_owned()), "{refused:?}");
        assert!(refused.contains(&"packages.example (plain HTTP)".to_owned()), "{refused:?}");
    }

    #[tokio::test]
    async fn a_silent_connection_and_a_silent_request_end() {
        let own = echo().await;
        let rules = Rules { own: HashSet::from([own.clone()]), ..Rules::default() };
        let short = Duration::from_millis(200);
        let asked = open(rules, Caps { bytes: 1000, connecting: short, idle: short, connections: 8 });
        // Half a request: the answer is its end.
        assert!(!asked.ask("CONNECT localhost").await.contains(" 200 "));
        let mut stream = asked.connect().await;
        stream.write_all(format!("CONNECT {own} HTTP/1.1\r\nhost: x\r\n\r\nhello").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhello"), "{answer}");
        assert_eq!(asked.proxy.close(), Told { refused: Vec::new(), unreachable: Vec::new(), bytes: 10 });
    }

    #[tokio::test]
    async fn more_connections_than_allowed_wait_for_room() {
        let own = echo().await;
        let rules = Rules { own: HashSet::from([own.clone()]), ..Rules::default() };
        let asked = open(rules, Caps { connections: 1, ..Caps::bytes(1000) });
        let request = format!("CONNECT {own} HTTP/1.1\r\nhost: x\r\n\r\n");
        let mut buffer = [0; 12];
        let mut first = asked.connect().await;
        first.write_all(request.as_bytes()).await.unwrap();
        first.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"HTTP/1.1 200");
        let mut second = asked.connect().await;
        second.write_all(request.as_bytes()).await.unwrap();
        assert!(timeout(Duration::from_millis(100), second.read_exact(&mut buffer)).await.is_err());
        drop(first);
        second.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"HTTP/1.1 200");
    }
}
