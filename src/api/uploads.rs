//! `POST /upload_codebase`: one archive as multipart, received piece by piece.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::header;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

use super::refusal::Refusal;
use super::reviews::announced;
use super::{Door, Uploaded};
use crate::app::desk::{Arrival, Problem};
use crate::stdx::text::{truncate_chars, visible_line};

pub(super) const PATH: &str = "/upload_codebase";
const FIELD: &str = "codebase";
/// Bytes of a multipart body beside the archive: boundaries and a few headers.
const AROUND: u64 = 64 << 10;
/// Bytes that the reader of multipart is given before it has to show something for them.
const AHEAD: usize = 256 << 10;
/// And that it may hold without anything to show: headers of a part are a few lines.
const HELD: usize = 2 << 20;
/// So long a sender that was refused is listened to, so that it reads the refusal.
const LINGER: Duration = Duration::from_secs(2);

pub(super) async fn upload(State(door): State<Door>, request: Request) -> Result<Json<Uploaded>, Refusal> {
    let announced = announced(request.headers());
    let limit = door.desk.limits().upload;
    if announced.is_some_and(|length| length > limit.saturating_add(AROUND)) {
        linger(request.into_body()).await;
        return Err(Problem::TooLarge(limit).into());
    }
    let arrival = match door.desk.receive(announced.map(|length| length.saturating_sub(AROUND))).await {
        Ok(arrival) => arrival,
        Err(problem) => {
            linger(request.into_body()).await;
            return Err(problem.into());
        }
    };
    let held = Arc::new(AtomicUsize::new(0));
    let given = Arc::clone(&held);
    let request = request.map(|body| Body::new(Paced { body, given, paused: false }));
    let not_one = "the body is not multipart: send the archive as the file of the field `codebase`, as `curl -F codebase=@a.zip` does";
    let mut multipart = Multipart::from_request(request, &()).await.map_err(|_| Refusal::bad(not_one))?;
    let taken = match receive(&mut multipart, arrival, &held).await {
        Ok(arrival) => arrival.unpack().await?,
        Err(refusal) => {
            let _heard = timeout(LINGER, rest(&mut multipart, &held)).await;
            return Err(refusal);
        }
    };
    let left_out = taken.unpacked.of_git;
    Ok(Json(Uploaded { status: "uploaded", id: taken.id.to_string(), files: taken.unpacked.files, left_out }))
}

/// The only part of the body, written down.
async fn receive(multipart: &mut Multipart, mut arrival: Arrival, held: &AtomicUsize) -> Result<Arrival, Refusal> {
    let Some(mut field) = multipart.next_field().await.map_err(|error| broken(&error))? else {
        return Err(Refusal::bad("there is no field `codebase` in the body: send the archive as its file"));
    };
    check(&field)?;
    while let Some(piece) = field.chunk().await.map_err(|error| broken(&error))? {
        held.store(0, Ordering::Relaxed);
        arrival.write(&piece).await?;
    }
    drop(field);
    match multipart.next_field().await.map_err(|error| broken(&error))? {
        None => Ok(arrival),
        Some(_) => {
            Err(Refusal::bad("there is more than one part in the body: send one archive, as the field `codebase`"))
        }
    }
}

fn check(field: &Field<'_>) -> Result<(), Refusal> {
    let name = field.name().unwrap_or_default();
    if name != FIELD {
        let name = visible_line(&truncate_chars(name, 100));
        return Err(Refusal::bad(format!("the field is called `{name}`: send the archive as `codebase`")));
    }
    let encoded = field.headers().get(header::CONTENT_ENCODING).is_some()
        || field.headers().get("content-transfer-encoding").is_some_and(|encoding| {
            !encoding.as_bytes().eq_ignore_ascii_case(b"binary") && !encoding.as_bytes().eq_ignore_ascii_case(b"8bit")
        });
    if encoded {
        return Err(Refusal::bad("the part is encoded: send the archive's bytes as they are"));
    }
    Ok(())
}

fn broken(error: &MultipartError) -> Refusal {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = source {
        match cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
            Some(std::io::ErrorKind::TimedOut) => {
                return Refusal::bad("the body stopped arriving: send it again");
            }
            Some(std::io::ErrorKind::InvalidData) => {
                return Refusal::bad("the headers of a part of the body are too long");
            }
            _ => source = cause.source(),
        }
    }
    Refusal::bad("the body is not whole multipart: it broke off, or its boundary is wrong; send it again")
}

/// Listens to a sender that was refused, so that the answer is not lost with what it still sends.
async fn linger(mut body: Body) {
    let _heard = timeout(LINGER, async { while let Some(Ok(_)) = body.frame().await {} }).await;
}

async fn rest(multipart: &mut Multipart, held: &AtomicUsize) {
    while let Ok(Some(mut field)) = multipart.next_field().await {
        while let Ok(Some(_)) = field.chunk().await {
            held.store(0, Ordering::Relaxed);
        }
    }
}

/// A body for a reader that takes all there is into memory before it looks at it: it is given some, then has to look.
struct Paced {
    body: Body,
    /// Bytes since something came out.
    given: Arc<AtomicUsize>,
    paused: bool,
}

impl hyper::body::Body for Paced {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let given = self.given.load(Ordering::Relaxed);
        if given > HELD {
            let error = std::io::Error::new(std::io::ErrorKind::InvalidData, "the headers of a part are too long");
            return Poll::Ready(Some(Err(error.into())));
        }
        if given > AHEAD && !self.paused {
            self.paused = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.paused = false;
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.given.fetch_add(data.len(), Ordering::Relaxed);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
