//! HTTP/1.1 over TCP with deadlines: a slow, silent or greedy peer costs one connection for a few seconds.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// How long and how much a peer may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Until when a request's head must be there, counted from the connection's start or the previous answer.
    pub header: Duration,
    /// Until when a request's body must be there.
    pub body: Duration,
    /// Paths whose bodies may be as long in coming as they like, and how long each may be silent.
    pub patient: Vec<(&'static str, Duration)>,
    /// How many connections are open at once. One more closes one that has been idle for half a second, or waits.
    pub connections: usize,
    /// How long open requests may go on after shutdown was asked for.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(5),
            body: Duration::from_secs(10),
            patient: Vec::new(),
            connections: 512,
            grace: Duration::from_secs(10),
        }
    }
}

/// More than any head that GitHub or a browser sends.
const MAX_HEAD: usize = 64 * 1024;
/// A peer that has something to ask does so at once.
const IDLE: Duration = Duration::from_millis(500);

/// Serves all doors until `shutdown` fires; then takes no new connection and lets open requests finish.
pub async fn serve_http(listener: TcpListener, router: Router, shutdown: CancellationToken, limits: Limits) {
    let peers = Arc::new(Peers::default());
    let mut tasks = JoinSet::new();
    for id in 0_u64.. {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &peers, limits.connections.max(1)) => accepted,
        };
        while tasks.try_join_next().is_some() {}
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) => {
                // Out of file descriptors, mostly: others will close theirs. A peer that already left is no reason to wait long.
                tracing::warn!(error = %error, "cannot accept a connection");
                sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let peer = peers.enter(id);
        let connection = connection(stream, router.clone(), peer, shutdown.clone(), limits.clone());
        let peers = peers.clone();
        tasks.spawn(async move {
            let _leave = Leave { peers, id };
            connection.await;
        });
    }
    drop(listener);
    if timeout(limits.grace, async { while tasks.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(connections = tasks.len(), "closing connections that did not finish in time");
        tasks.shutdown().await;
    }
}

/// The next connection, once there is room for it.
async fn accept(listener: &TcpListener, peers: &Peers, cap: usize) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    loop {
        let left = peers.left.notified();
        if peers.make_room(cap) {
            return Ok(stream);
        }
        // A connection that answered and stays open does not ring: look again soon.
        let _ = timeout(Duration::from_millis(100), left).await;
    }
}

async fn connection(stream: TcpStream, router: Router, peer: Arc<Peer>, shutdown: CancellationToken, limits: Limits) {
    let _ = stream.set_nodelay(true);
    let address = stream.peer_addr().ok();
    let evicted = peer.evict.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        let busy = Busy::new(peer.clone());
        let patience = limits.patient.iter().find(|(path, _)| *path == request.uri().path()).map(|(_, silent)| *silent);
        let mut request = request.map(|body| Body::new(Timed::new(body, limits.body, patience)));
        if let Some(address) = address {
            request.extensions_mut().insert(ConnectInfo(address));
        }
        async move {
            let response = router.oneshot(request).await;
            // Until its last byte has been handed over, the answer counts as a request in the works.
            response.map(|response| {
                response.map(|body| {
                    body.map_frame(move |frame| {
                        let _ = &busy;
                        frame
                    })
                })
            })
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.header).max_buf_size(MAX_HEAD);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut closing = false;
    loop {
        tokio::select! {
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(error = %error, "a connection ended early");
                }
                return;
            }
            () = evicted.cancelled() => return,
            () = shutdown.cancelled(), if !closing => {
                closing = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Who is connected, oldest first.
#[derive(Debug, Default)]
struct Peers {
    open: Mutex<BTreeMap<u64, Arc<Peer>>>,
    left: Notify,
}

#[derive(Debug)]
struct Peer {
    work: Mutex<Work>,
    evict: CancellationToken,
}

#[derive(Debug)]
struct Work {
    /// Requests that have not been answered in full.
    open: usize,
    /// Since when there are none.
    idle_since: Instant,
}

impl Peer {
    fn idle_since(&self) -> Option<Instant> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        (work.open == 0).then_some(work.idle_since)
    }
}

impl Peers {
    fn enter(&self, id: u64) -> Arc<Peer> {
        let work = Mutex::new(Work { open: 0, idle_since: Instant::now() });
        let peer = Arc::new(Peer { work, evict: CancellationToken::new() });
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, peer.clone());
        peer
    }

    /// Whether one more may enter. At the cap the connection that has been idle longest has to go, so that idlers cannot
    /// keep others out; one that has only just come has not had its chance yet.
    fn make_room(&self, cap: usize) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() < cap {
            return true;
        }
        let idlest = open.iter().filter_map(|(id, peer)| Some((peer.idle_since()?, *id))).min();
        let victim = idlest.filter(|(since, _)| since.elapsed() >= IDLE).and_then(|(_, id)| open.remove(&id));
        match victim {
            Some(peer) => {
                peer.evict.cancel();
                true
            }
            None => false,
        }
    }
}

/// Takes a connection off the list however its task ends.
struct Leave {
    peers: Arc<Peers>,
    id: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.peers.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.peers.left.notify_waiters();
    }
}

struct Busy(Arc<Peer>);

impl Busy {
    fn new(peer: Arc<Peer>) -> Self {
        peer.work.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
        Self(peer)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut work = self.0.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.open -= 1;
        work.idle_since = Instant::now();
    }
}

/// A request's body that fails once its time is up. Boxed, so that it can be polled without pinning by hand.
struct Timed {
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
    /// The deadline moves with every piece: this long a body may be silent.
    patience: Option<Duration>,
}

impl Timed {
    fn new(body: Incoming, within: Duration, patience: Option<Duration>) -> Self {
        Self { body, deadline: Box::pin(sleep(patience.unwrap_or(within))), patience }
    }
}

impl hyper::body::Body for Timed {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            if let Some(patience) = self.patience {
                self.deadline.as_mut().reset(Instant::now() + patience);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        ready!(self.deadline.as_mut().poll(cx));
        let late = std::io::Error::new(std::io::ErrorKind::TimedOut, "the body did not arrive in time");
        Poll::Ready(Some(Err(late.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
