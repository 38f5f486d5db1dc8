//! The story as one JSON document.

use std::time::Duration;

use serde_json::{Value, json};

use super::show::{about, suggestion};
use super::story::{REPO, Story, findings};
use crate::app::runs::Timeline;
use crate::demo::{Call, Pull, ReviewComment};
use crate::domain::Finding;

pub async fn document(story: &Story, took: Duration) -> anyhow::Result<Value> {
    let timelines = story.timelines().await?;
    let findings = findings(&timelines);
    let pulls = story.github().pulls(REPO);
    let comments: Vec<ReviewComment> = pulls.iter().flat_map(|pull| story.comments(pull.number)).collect();
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "ok": story.came_out_right(),
        "scenarios": story.scenarios,
        "pull_requests": pulls.iter().map(|p| pull(story, p)).collect::<Vec<_>>(),
        "review_comments": comments.iter().map(|c| comment(story, c, &findings)).collect::<Vec<_>>(),
        "replies": replies(story),
        "deliveries": timelines.iter().map(delivery).collect::<Vec<_>>(),
        "refused_calls": refused_calls(story),
        "duration_ms": took.as_millis(),
    }))
}

/// What the App said in conversations, as it stands now.
fn replies(story: &Story) -> Vec<Value> {
    let posted = story.github().posted().into_iter().filter(|posted| posted.kind == "comment");
    posted.map(|posted| json!({"number": posted.number, "body": posted.body})).collect()
}

/// Calls that a correct client would not make. Asking whether a configuration file or a branch is there is none of them.
fn refused_calls(story: &Story) -> Vec<Call> {
    let asked =
        |call: &Call| call.method == "GET" && (call.path.contains("/contents/") || call.path.contains("/git/ref/"));
    story.github().refusals().into_iter().filter(|call| !(call.status == 404 && asked(call))).collect()
}

fn pull(story: &Story, pull: &Pull) -> Value {
    let reviews = story.github().reviews(REPO, pull.number);
    json!({
        "number": pull.number,
        "title": pull.title,
        "author": pull.author,
        "state": pull.state,
        "draft": pull.draft,
        "branch": pull.head_ref,
        "head": pull.head_sha,
        "from_fork": pull.head_owner != REPO.split('/').next().unwrap_or_default(),
        "reviews": reviews.iter().map(|review| json!({"id": review.id, "body": review.body})).collect::<Vec<_>>(),
        "body": pull.body,
        "check": story.check_conclusions(pull.number),
    })
}

fn comment(story: &Story, comment: &ReviewComment, findings: &[Finding]) -> Value {
    let finding = about(comment, findings);
    json!({
        "pull_request": comment.pull,
        "path": comment.path,
        "line": comment.original_line,
        "start_line": comment.original_start_line,
        "side": comment.side,
        "category": finding.map(|finding| finding.category),
        "severity": finding.map(|finding| finding.severity),
        "rule": finding.map(|finding| &finding.rule),
        "message": finding.map(|finding| &finding.message),
        "suggestion": suggestion(&comment.body),
        "resolved": story.is_resolved(comment),
        "body": comment.body,
    })
}

fn delivery(timeline: &Timeline) -> Value {
    let row = &timeline.delivery;
    json!({
        "guid": row.guid,
        "event": row.event,
        "state": row.state,
        "reason": row.reason,
        "replay_of": row.replay_of,
        "redeliveries": row.redeliveries,
        "duration_ms": row.settled_at.map(|at| at - row.received_at),
        "jobs": timeline.jobs.iter().map(|job| json!({
            "kind": job.job.kind,
            "key": job.job.unique_key,
            "state": job.job.state,
            "attempts": job.job.attempt,
            "duration_ms": job.job.finished_at.map(|at| at - job.job.created_at),
            "runs": job.runs.iter().map(|run| json!({
                "id": run.run.id,
                "state": run.run.state,
                "outcome": run.run.outcome,
                "steps": run.steps.iter().map(|step| json!({
                    "name": step.name,
                    "state": step.state,
                    "duration_ms": step.finished_at.map(|at| at - step.started_at),
                })).collect::<Vec<_>>(),
                "effects": run.effects.iter().map(|effect| json!({
                    "key": effect.key,
                    "kind": effect.kind,
                    "state": effect.state,
                    "proof": effect.proof,
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
