//! A review intent becomes at most one new review, or a new body for the last one.

use std::collections::{BTreeSet, HashMap};

use serde_json::json;

use super::anchor::{self, Anchor};
use super::guard::Guard;
use super::render::{self, Place, Summary};
use super::{Error, INLINE_PER_REVIEW, Published, Publisher, marker};
use crate::artifact::ReviewIntent;
use crate::domain::{Finding, Fingerprint, Outcome, ReviewTarget};
use crate::github::{self, AppInfo, NewComment, NewReview, PullFile, Repo, Review, Side};
use crate::stdx::hash;
use crate::store::EffectState;

/// So many findings without a comment of their own are remembered in the body.
const LISTED: usize = 1000;

/// What GitHub holds of us before we write.
struct Before {
    /// Our reviews with a marker, oldest first.
    reviews: Vec<Review>,
    /// Findings that need no new comment.
    told: BTreeSet<Fingerprint>,
    /// Findings that a review of this very head names in its body.
    listed: BTreeSet<Fingerprint>,
    /// The number of the next review of this head.
    ordinal: u32,
}

/// The findings as they will stand: with a comment from before, with a new one, or in the body.
struct Layout<'a> {
    told: Vec<&'a Finding>,
    fresh: Vec<(&'a Finding, Anchor)>,
    outside: Vec<&'a Finding>,
}

impl Publisher {
    /// Says what the intent asks for, as far as it has not been said.
    ///
    /// # Errors
    /// `Superseded` when the pull request moved on: nothing was written then, or nothing more. Else GitHub's or the ledger's.
    pub async fn review(&self, repo: &Repo, app: &AppInfo, intent: &ReviewIntent) -> Result<Published, Error> {
        let guard = Guard::new(repo, &intent.target);
        guard.look().await?;
        let (before, threads) = self.before(repo, app, intent).await?;
        let resolved = self.settle_threads(repo, app, intent, &threads, &guard).await?;

        let notices: Vec<String> = intent.notices.iter().cloned().chain(resolved.note.clone()).collect();
        let layout = layout(intent, &before);
        let mut published = Published {
            resolved: resolved.count,
            notes: resolved.note.into_iter().collect(),
            commented: layout.told.iter().map(|finding| finding.fingerprint.clone()).collect(),
            ..Published::default()
        };
        let has_findings = matches!(intent.report.outcome, Outcome::Findings { .. });
        match before.reviews.last() {
            _ if !layout.fresh.is_empty() => {
                self.create(repo, intent, &guard, &before, layout, &notices, &mut published).await?;
            }
            None if has_findings => {
                self.create(repo, intent, &guard, &before, layout, &notices, &mut published).await?;
            }
            Some(last) => self.update(repo, intent, &guard, last, &layout, &notices, &mut published).await?,
            // The first look and nothing to say: silence; the check run tells.
            None => {}
        }
        self.bodies_arrived(&intent.target).await?;
        Ok(published)
    }

    /// The last review says what it should, or a newer one does: the bodies that an earlier life sent for reviews of this pull
    /// request, of whatever head, have arrived or are of no consequence any more.
    async fn bodies_arrived(&self, target: &ReviewTarget) -> Result<(), Error> {
        let all = format!("review-body/{}/{}@", target.repository, target.number);
        self.ledger.arrived(&all, &json!({ "found": true })).await
    }

    /// Looks whether the reviews are there that an earlier life may have sent for a head about which nobody speaks again.
    pub(super) async fn settle_reviews(&self, repo: &Repo, app: &AppInfo, target: &ReviewTarget) -> Result<(), Error> {
        for ordinal in 1.. {
            let id = marker::review_id(target, ordinal);
            let Some(row) = self.ledger.get(&effect_key(&id)).await? else { break };
            if row.state != EffectState::Sent {
                continue;
            }
            self.ledger.settled(&row).await;
            let reviews = repo.reviews(target.number).await?;
            let ours = |review: &&Review| {
                marker::is_own_review(app, review) && marker::parse_review(&review.body) == Some(id.as_str())
            };
            match reviews.iter().find(ours) {
                Some(found) => self.ledger.proved(&row.key, &json!({ "review": found.id })).await?,
                None => self.ledger.given_up(&row.key, "it is not there, and the head was overtaken").await?,
            }
        }
        self.bodies_arrived(target).await
    }

    /// Reads what is there, no sooner than GitHub must show what we may have sent in an earlier life.
    async fn before(
        &self,
        repo: &Repo,
        app: &AppInfo,
        intent: &ReviewIntent,
    ) -> Result<(Before, Vec<github::Thread>), Error> {
        let target = &intent.target;
        let mut ordinal = 1;
        while let Some(row) = self.ledger.get(&effect_key(&marker::review_id(target, ordinal))).await? {
            self.ledger.settled(&row).await;
            if row.state != EffectState::Proved {
                break;
            }
            ordinal += 1;
        }
        let mut reviews = repo.reviews(target.number).await?;
        let threads = repo.threads(target.number).await?;
        reviews.retain(|review| marker::is_own_review(app, review) && marker::parse_review(&review.body).is_some());
        // What is on GitHub without a proof in the ledger was sent by a process that died, or under another ledger.
        while let Some(found) = {
            let id = marker::review_id(target, ordinal);
            reviews.iter().find(|review| marker::parse_review(&review.body) == Some(id.as_str()))
        } {
            let key = effect_key(&marker::review_id(target, ordinal));
            self.ledger.intend(&key, intent.run, "review", &json!({ "found": true })).await?;
            self.ledger.proved(&key, &json!({ "review": found.id })).await?;
            ordinal += 1;
        }
        let first = marker::review_id(target, 1);
        let of_this_head = |review: &&Review| {
            marker::parse_review(&review.body).is_some_and(|id| id.split('#').next() == Some(first.as_str()))
        };
        let listed =
            reviews.iter().filter(of_this_head).flat_map(|review| marker::parse_listed(&review.body)).collect();
        let told = self.told(app, intent, &threads).await?;
        Ok((Before { reviews, told, listed, ordinal }, threads))
    }

    #[expect(clippy::too_many_arguments, reason = "one step of `review`, split off for reading")]
    async fn create(
        &self,
        repo: &Repo,
        intent: &ReviewIntent,
        guard: &Guard<'_>,
        before: &Before,
        mut layout: Layout<'_>,
        notices: &[String],
        published: &mut Published,
    ) -> Result<(), Error> {
        let target = &intent.target;
        let id = marker::review_id(target, before.ordinal);
        let key = effect_key(&id);
        let wanted: Vec<_> = layout.fresh.iter().map(|(finding, _)| finding.fingerprint.as_str()).collect();
        self.ledger.intend(&key, intent.run, "review", &json!({ "marker": id, "inline": wanted })).await?;
        guard.check().await?;
        self.ledger.sent(&key).await?;
        let sent = repo.create_review(target.number, &new_review(repo, intent, &layout, notices, &id)).await;
        let review = match sent {
            Err(github::Error::Validation { .. }) => {
                // One bad anchor sinks a whole review: prove all of them again, on GitHub's own view of the change.
                guard.look().await?;
                let files = repo.pull_files(target.number).await?;
                layout.keep(|anchor, path| stands(&files, anchor, path));
                self.ledger.sent(&key).await?;
                let again = repo.create_review(target.number, &new_review(repo, intent, &layout, notices, &id)).await;
                if let Err(error @ github::Error::Validation { .. }) = &again {
                    self.ledger.failed(&key, &error.to_string()).await?;
                }
                again?
            }
            other => other?,
        };
        self.ledger.proved(&key, &json!({ "review": review.id, "inline": layout.fresh.len() })).await?;
        published.review_id = Some(review.id);
        published.inline = layout.fresh.len();
        published.commented.extend(layout.fresh.iter().map(|(finding, _)| finding.fingerprint.clone()));
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one step of `review`, split off for reading")]
    async fn update(
        &self,
        repo: &Repo,
        intent: &ReviewIntent,
        guard: &Guard<'_>,
        last: &Review,
        layout: &Layout<'_>,
        notices: &[String],
        published: &mut Published,
    ) -> Result<(), Error> {
        published.review_id = Some(last.id);
        let first = marker::review_id(&intent.target, 1);
        let id = marker::parse_review(&last.body)
            .filter(|id| id.split('#').next() == Some(first.as_str()))
            .unwrap_or(&first);
        let body = body(repo, intent, layout, notices, id);
        if render::same(&body, &last.body) {
            return Ok(());
        }
        let digest = hash::sha256(body.as_bytes());
        let key = format!("review-body/{id}/{}/{}", last.id, &digest[..16]);
        let row = self.ledger.intend(&key, intent.run, "review-body", &json!({ "review": last.id })).await?;
        guard.check().await?;
        self.ledger.sent_again(&row).await?;
        repo.update_review(intent.target.number, last.id, &body).await?;
        self.ledger.proved(&key, &json!({ "review": last.id })).await?;
        published.updated = true;
        Ok(())
    }
}

impl<'a> Layout<'a> {
    /// Moves the new comments whose place does not hold to the body; all of them when every place seems to hold,
    /// for then GitHub sees something that we do not.
    fn keep(&mut self, holds: impl Fn(&Anchor, &str) -> bool) {
        let (kept, moved): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.fresh).into_iter().partition(|(finding, anchor)| holds(anchor, &finding.path));
        let nothing_failed = moved.is_empty();
        self.outside.extend(moved.into_iter().map(|(finding, _)| finding));
        if nothing_failed {
            self.outside.extend(kept.into_iter().map(|(finding, _)| finding));
        } else {
            self.fresh = kept;
        }
    }
}

fn effect_key(id: &str) -> String {
    format!("review/{id}")
}

fn layout<'a>(intent: &'a ReviewIntent, before: &Before) -> Layout<'a> {
    let findings = &intent.report.findings;
    let mut anchors: HashMap<_, _> = anchor::prove(&intent.files, findings, |print| before.told.contains(print));
    let mut layout = Layout { told: Vec::new(), fresh: Vec::new(), outside: Vec::new() };
    let mut ranked: Vec<&Finding> = findings.iter().collect();
    ranked.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in ranked {
        if before.told.contains(&finding.fingerprint) {
            layout.told.push(finding);
            continue;
        }
        match anchors.remove(&finding.fingerprint) {
            Some(anchor) if layout.fresh.len() < INLINE_PER_REVIEW && !before.listed.contains(&finding.fingerprint) => {
                layout.fresh.push((finding, anchor));
            }
            _ => layout.outside.push(finding),
        }
    }
    layout
}

fn new_review(repo: &Repo, intent: &ReviewIntent, layout: &Layout<'_>, notices: &[String], id: &str) -> NewReview {
    let comment = |(finding, anchor): &(&Finding, Anchor)| NewComment {
        path: finding.path.clone(),
        line: anchor.line,
        side: Side::Right,
        start_line: anchor.start_line,
        start_side: anchor.start_line.map(|_| Side::Right),
        body: render::comment(finding, anchor.suggestion, &markers(finding)),
    };
    NewReview {
        commit_id: intent.target.head.clone(),
        body: body(repo, intent, layout, notices, id),
        comments: layout.fresh.iter().map(comment).collect(),
    }
}

fn body(repo: &Repo, intent: &ReviewIntent, layout: &Layout<'_>, notices: &[String], id: &str) -> String {
    let report = &intent.report;
    let listed = marker::listed(layout.outside.iter().take(LISTED).map(|finding| &finding.fingerprint));
    render::summary(&Summary {
        place: Place { web_url: &repo.web_url(), head: &intent.target.head },
        outcome: &report.outcome,
        coverage: &report.coverage,
        findings: &report.findings,
        outside: &layout.outside,
        inline: layout.told.len() + layout.fresh.len(),
        notices,
        run: intent.run.to_string(),
        markers: listed.into_iter().chain([marker::review(id)]).collect(),
    })
}

/// Whether GitHub itself shows all lines of the anchor in one hunk.
fn stands(files: &[PullFile], anchor: &Anchor, path: &str) -> bool {
    let start = anchor.start_line.unwrap_or(anchor.line);
    files
        .iter()
        .filter(|file| file.path == path)
        .flat_map(|file| &file.hunks)
        .any(|(first, last)| *first <= start && anchor.line <= *last)
}

/// The hidden lines that end an inline comment.
fn markers(finding: &Finding) -> String {
    let linter = marker::linter(&finding.rule);
    let all = linter.into_iter().chain([marker::category(finding.category), marker::finding(&finding.fingerprint)]);
    all.collect::<Vec<_>>().join("\n")
}
