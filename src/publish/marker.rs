//! Hidden names in what we write, by which we find it again. They count only in bodies that our App wrote.

use std::collections::BTreeSet;

use crate::domain::{Category, Fingerprint, ReviewTarget, RuleId};
use crate::github::{AppInfo, Review, Thread, ThreadComment, User};
use crate::stdx::hash;

const OPEN: &str = "<!-- octoswarm:v1 ";
const CLOSE: &str = " -->";

/// `<repo id>/<n>@<sha>`, and `#2`, `#3` for further reviews of the same head.
pub(super) fn review_id(target: &ReviewTarget, ordinal: u32) -> String {
    let id = target.key();
    let id = id.strip_prefix("review/").unwrap_or(&id);
    if ordinal <= 1 { id.to_owned() } else { format!("{id}#{ordinal}") }
}

pub(super) fn review(id: &str) -> String {
    format!("{OPEN}review {id}{CLOSE}")
}

pub(super) fn finding(fingerprint: &Fingerprint) -> String {
    format!("{OPEN}finding {}{CLOSE}", fingerprint.as_str())
}

/// Which reviewer's a finding is: its thread is not settled by a review that lacks that reviewer's part.
pub(super) fn category(category: Category) -> String {
    format!("{OPEN}category {}{CLOSE}", category.name())
}

/// Which linter's a finding is, if it is one's: its thread is not settled by a review that this linter was silent in.
pub(super) fn linter(rule: &RuleId) -> Option<String> {
    let (tool, _) = rule.0.split_once('/')?;
    Some(format!("{OPEN}linter {}{CLOSE}", part(tool)))
}

/// Findings that the body names without a comment of their own.
pub(super) fn listed<'a>(fingerprints: impl Iterator<Item = &'a Fingerprint>) -> Option<String> {
    let all: Vec<_> = fingerprints.map(Fingerprint::as_str).collect();
    (!all.is_empty()).then(|| format!("{OPEN}listed {}{CLOSE}", all.join(" ")))
}

/// Of an effect's key: `answer/7/12` is marked as `answer 7/12`.
pub(super) fn of_key(key: &str) -> String {
    let (kind, id) = key.split_once('/').unwrap_or((key, ""));
    format!("{OPEN}{kind} {id}{CLOSE}")
}

/// Whether the body carries that marker, which [`of_key`] made.
pub(super) fn carries(body: &str, key: &str) -> bool {
    let (kind, id) = key.split_once('/').unwrap_or((key, ""));
    parse(body, kind) == Some(id)
}

/// A part of a key that others chose, within an alphabet that neither ends a marker nor begins another part.
pub(super) fn part(text: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if !text.is_empty() && text.len() <= 40 && text.chars().all(fits) && !text.contains("--") {
        text.to_owned()
    } else {
        format!("x{}", &hash::sha256(text.as_bytes())[..16])
    }
}

/// What our body says at its very end. A marker anywhere else is somebody's text that we quoted.
fn parse<'a>(body: &'a str, kind: &str) -> Option<&'a str> {
    body.trim_end()
        .rsplit('\n')
        .map(|line| line.trim_end_matches('\r'))
        .map_while(|line| line.strip_prefix(OPEN)?.strip_suffix(CLOSE))
        .find_map(|marker| marker.strip_prefix(kind)?.strip_prefix(' '))
}

pub(super) fn parse_review(body: &str) -> Option<&str> {
    parse(body, "review")
}

/// The key of the contribution that a pull request's body names.
pub(super) fn parse_pull(body: &str) -> Option<&str> {
    parse(body, "pull")
}

pub(super) fn parse_finding(body: &str) -> Option<Fingerprint> {
    Fingerprint::parse(parse(body, "finding")?)
}

pub(super) fn parse_listed(body: &str) -> BTreeSet<Fingerprint> {
    parse(body, "listed").unwrap_or_default().split(' ').filter_map(Fingerprint::parse).collect()
}

fn parse_category(body: &str) -> Option<Category> {
    let name = parse(body, "category")?;
    Category::ALL.into_iter().find(|category| category.name() == name)
}

/// The account type is what counts: anybody may have a login that looks like ours.
pub(super) fn is_own(app: &AppInfo, author: &User) -> bool {
    author.bot && author.login == app.bot_login
}

pub(super) fn is_own_review(app: &AppInfo, review: &Review) -> bool {
    is_own(app, &review.author)
}

/// GraphQL gives an App's login without `[bot]`, REST with it.
pub(super) fn is_own_comment(app: &AppInfo, comment: &ThreadComment) -> bool {
    comment.bot && (comment.login == app.slug || comment.login == app.bot_login)
}

/// The finding that this thread is about, if our App opened it.
pub(super) fn thread_finding(app: &AppInfo, thread: &Thread) -> Option<Fingerprint> {
    let first = thread.comments.first()?;
    if is_own_comment(app, first) { parse_finding(&first.body) } else { None }
}

/// Whose finding this thread is about, if our App opened it and says so: it did not always.
pub(super) fn thread_category(app: &AppInfo, thread: &Thread) -> Option<Category> {
    let first = thread.comments.first()?;
    if is_own_comment(app, first) { parse_category(&first.body) } else { None }
}

/// Whether this thread is about a finding of one of these linters.
pub(super) fn is_of_linter<'a>(app: &AppInfo, thread: &Thread, mut linters: impl Iterator<Item = &'a String>) -> bool {
    let first = thread.comments.first().filter(|first| is_own_comment(app, first));
    first.and_then(|first| parse(&first.body, "linter")).is_some_and(|of| linters.any(|linter| part(linter) == of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RuleId;

    fn print() -> Fingerprint {
        Fingerprint::new(&RuleId("r".into()), "a", "b", 0)
    }

    fn app() -> AppInfo {
        AppInfo {
            id: 1,
            slug: "octoswarm".into(),
            name: "Octoswarm".into(),
            html_url: String::new(),
            bot_login: "octoswarm[bot]".into(),
            bot_id: None,
            permissions: Default::default(),
            events: Vec::new(),
        }
    }

    #[test]
    fn a_marker_counts_only_at_the_end() {
        let mine = finding(&print());
        assert_eq!(parse_finding(&format!("text\n\n{mine}\n")), Some(print()));
        assert_eq!(parse_finding(&format!("{mine}\nmore text")), None);
        assert_eq!(parse_finding(&format!("```suggestion\n{mine}\n```")), None);
        assert_eq!(parse_finding("<!-- octoswarm:v1 finding xyz -->"), None);
        let body = format!("t\n{}\r\n{}", listed([print()].iter()).unwrap(), review("7/3@abc#2"));
        assert_eq!((parse_review(&body), parse_listed(&body).len()), (Some("7/3@abc#2"), 1));
    }

    #[test]
    fn a_key_is_found_again_by_its_marker_and_never_by_another() {
        for (key, marker) in [
            ("answer/7/12", "<!-- octoswarm:v1 answer 7/12 -->"),
            ("pull/contribute/7/3", "<!-- octoswarm:v1 pull contribute/7/3 -->"),
        ] {
            assert_eq!(of_key(key), marker);
            assert!(carries(&format!("text\n\n{marker}"), key));
            assert!(!carries(&format!("text\n\n{marker}"), &format!("{key}1")));
            assert!(!carries(&format!("{marker}\ntext"), key));
        }
        assert!(!carries(&of_key("answer/7/12"), "contribution/7/12"));
    }

    #[test]
    fn what_others_chose_cannot_leave_its_part_of_a_key() {
        assert_eq!(part("review"), "review");
        for text in ["", "a/b", "-->", "a --> b", "Review", "\n", &"a".repeat(41), "a--b"] {
            let safe = part(text);
            assert!(safe.len() == 17 && safe.bytes().all(|b| b.is_ascii_alphanumeric()), "{safe}");
        }
        assert_ne!(part("a/b"), part("a/c"));
    }

    #[test]
    fn a_marker_counts_only_from_our_app() {
        let comment = |login: &str, bot| ThreadComment {
            database_id: None,
            login: login.into(),
            bot,
            body: finding(&print()),
            created_at: 0,
        };
        assert!(is_own_comment(&app(), &comment("octoswarm", true)));
        assert!(!is_own_comment(&app(), &comment("octoswarm", false)), "a person may take the slug as a login");
        assert!(!is_own_comment(&app(), &comment("other", true)));
        let by = |login: &str, bot| Review {
            id: 1,
            author: User { id: 1, login: login.into(), bot },
            body: String::new(),
            state: "COMMENTED".into(),
            commit_id: None,
            submitted_at: None,
            url: String::new(),
        };
        assert!(is_own_review(&app(), &by("octoswarm[bot]", true)));
        assert!(!is_own_review(&app(), &by("octoswarm[bot]", false)));
    }
}
