//! Reading bodies within bounds: each has a cap and a deadline, and large ones wait for one of few buffers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::Caps;
use super::refusal::Refusal;

#[derive(Debug)]
pub(super) struct Buffers {
    caps: Caps,
    large: Arc<Semaphore>,
    gauge: Arc<Gauge>,
}

#[derive(Debug, Default)]
struct Gauge {
    now: AtomicUsize,
    peak: AtomicUsize,
}

/// A whole body, counted as long as it is held.
#[derive(Debug)]
pub(super) struct Buffered {
    bytes: Bytes,
    #[expect(dead_code, reason = "held until the body goes")]
    held: Held,
}

#[derive(Debug)]
struct Held {
    gauge: Arc<Gauge>,
    bytes: usize,
    buffer: Option<OwnedSemaphorePermit>,
}

impl Buffered {
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl Held {
    fn grow(&mut self, by: usize) {
        self.bytes += by;
        let now = self.gauge.now.fetch_add(by, Ordering::SeqCst) + by;
        self.gauge.peak.fetch_max(now, Ordering::SeqCst);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.gauge.now.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

impl Buffers {
    pub(super) fn new(caps: Caps) -> Self {
        let large = Arc::new(Semaphore::new(caps.large.max(1)));
        Self { caps, large, gauge: Arc::default() }
    }

    pub(super) fn peak(&self) -> usize {
        self.gauge.peak.load(Ordering::SeqCst)
    }

    /// Refuses by what the sender announces, before anything is read.
    pub(super) fn check_length(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match announced(headers) {
            Some(length) if length > self.caps.body as u64 => Err(self.too_large()),
            Some(_) | None => Ok(()),
        }
    }

    /// Reads to the end, counting: what was announced is not believed.
    pub(super) async fn read(&self, mut body: Body, headers: &HeaderMap) -> Result<Buffered, Refusal> {
        let deadline = Instant::now() + self.caps.deadline;
        let mut held = Held { gauge: self.gauge.clone(), bytes: 0, buffer: None };
        let announced = announced(headers).map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let mut bytes = Vec::with_capacity(announced.min(self.caps.free));
        loop {
            let frame = timeout_at(deadline, body.frame()).await.map_err(|_| too_slow())?;
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| broken_off(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            let size = bytes.len() + data.len();
            if size > self.caps.body {
                return Err(self.too_large());
            }
            if size > self.caps.free && held.buffer.is_none() {
                let buffer = timeout_at(deadline, self.large.clone().acquire_owned()).await;
                held.buffer = Some(buffer.ok().and_then(Result::ok).ok_or_else(crowded)?);
                // The whole buffer at once: growing by doubling would hold more than the cap says. Untouched pages cost nothing.
                bytes.reserve_exact(self.caps.body - bytes.len());
            }
            held.grow(data.len());
            bytes.extend_from_slice(&data);
        }
        Ok(Buffered { bytes: Bytes::from(bytes), held })
    }

    fn too_large(&self) -> Refusal {
        let error = format!("the body is larger than {} bytes", self.caps.body);
        Refusal::new(
            "too-large",
            StatusCode::PAYLOAD_TOO_LARGE,
            &error,
            "GitHub sends at most 25 MB; nothing of this was kept",
        )
        .with(header::CONNECTION, "close")
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_slow() -> Refusal {
    Refusal::new(
        "too-slow",
        StatusCode::REQUEST_TIMEOUT,
        "the body did not arrive in time",
        "send it again; nothing of this was kept",
    )
    .with(header::CONNECTION, "close")
}

fn crowded() -> Refusal {
    Refusal::new(
        "crowded",
        StatusCode::SERVICE_UNAVAILABLE,
        "too many large bodies arrive at once",
        "send it again in a few seconds; nothing of this was kept",
    )
    .with(header::RETRY_AFTER, "10")
    .with(header::CONNECTION, "close")
}

fn broken_off(error: &axum::Error) -> Refusal {
    // The connection's own deadline for bodies shows as an error of the body.
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = source {
        if cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::TimedOut) {
            return too_slow();
        }
        source = cause.source();
    }
    tracing::debug!(error = %error, "a body broke off");
    Refusal::new("broken-off", StatusCode::BAD_REQUEST, "the body broke off", "send it again; nothing of this was kept")
        .with(header::CONNECTION, "close")
}
