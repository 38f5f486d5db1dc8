//! `GET /reviews/{id}/events`: a review as it goes on, as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::{Value, json};

use super::Door;
use super::refusal::Refusal;
use super::reviews::review_id;
use crate::app::desk::{Review, Said, Watch};
use crate::stdx::text::iso8601;

/// A proxy gives up a silent connection later than that.
const ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn follow(
    State(door): State<Door>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let review = review_id(&id)?;
    let after = match headers.get("last-event-id") {
        None => 0,
        Some(last) => {
            last.to_str().ok().and_then(|last| last.parse().ok()).filter(|last| *last >= 0).ok_or_else(|| {
                Refusal::bad("`Last-Event-ID` is not the number of an event: send the last `id` that was received")
            })?
        }
    };
    let place = door.watchers.clone().try_acquire_owned();
    let place =
        place.map_err(|_| Refusal::later("too many reviews are being followed: try again, or ask `/get_results`"))?;
    let watch = door.desk.watch(&review, after).await?;
    let shutdown = door.shutdown.clone();
    let events = stream::unfold((watch, place, shutdown, review.to_string()), |(mut watch, place, shutdown, id)| {
        async move {
            let said = tokio::select! {
                said = said(&mut watch) => said?,
                // Whoever follows comes back with the last number.
                () = shutdown.cancelled() => return None,
            };
            Some((Ok::<_, Infallible>(event(&said, &id)), (watch, place, shutdown, id)))
        }
    });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response();
    // Proxies would collect what should be seen at once.
    response.headers_mut().insert("x-accel-buffering", axum::http::HeaderValue::from_static("no"));
    Ok(response)
}

async fn said(watch: &mut Watch) -> Option<Said> {
    watch.next().await.unwrap_or_else(|problem| {
        tracing::error!(error = %problem, "a review cannot be followed any more");
        None
    })
}

fn event(said: &Said, id: &str) -> Event {
    let (name, seq, data): (_, _, Value) = match said {
        Said::Progress { seq, at, text } => {
            ("progress", Some(*seq), json!({ "seq": seq, "at": iso8601(*at), "text": text }))
        }
        Said::Ended(Review::Done(_)) => ("done", None, json!({ "status": "done", "id": id })),
        Said::Ended(Review::Failed(error)) => {
            ("failed", None, json!({ "status": "failed", "id": id, "error": error.message }))
        }
        Said::Ended(Review::Cancelled | Review::Running) => {
            ("cancelled", None, json!({ "status": "cancelled", "id": id }))
        }
    };
    let event = Event::default().event(name).data(data.to_string());
    match seq {
        Some(seq) => event.id(seq.to_string()),
        None => event,
    }
}
