//! What kind of work an issue asks for and how hard it looks, from its labels, its words and its age.

use super::brief::{Brief, Section};
use super::convention;
use super::words;
use crate::artifact::swarm::{Difficulty, Kind};

/// Labels that say an issue is not meant to be worked on by whoever comes along.
const EXCLUDED: &[&str] = &[
    "wontfix",
    "won't fix",
    "duplicate",
    "invalid",
    "question",
    "discussion",
    "stale",
    "blocked",
    "needs design",
    "needs triage",
];
const WELCOME: &[&str] =
    &["good first issue", "help wanted", "easy", "beginner", "starter", "low hanging fruit", "up for grabs"];
const HARD: &[&str] = &["hard", "complex", "epic", "difficult", "major", "rfc"];
/// Words of work that a person should weigh first.
const RISKY: &[(&str, &str)] = &[
    ("breaking change", "a breaking change"),
    ("major refactor", "a major refactoring"),
    ("rewrite", "a rewrite"),
    ("authentication", "authentication"),
    ("payment", "payments"),
    ("database migration", "a database migration"),
    ("schema migration", "a database migration"),
    ("deprecat", "a deprecation"),
    ("api change", "a change of the API"),
    ("vulnerability", "security"),
    ("security", "security"),
    ("cve-", "security"),
];
const DAY: i64 = 86_400_000;

/// What is known of any open issue, the chosen one or another.
pub(super) struct Glance<'a> {
    pub(super) title: &'a str,
    pub(super) labels: &'a [String],
    pub(super) comments: u64,
    /// ISO 8601.
    pub(super) created_at: &'a str,
}

/// Why a score is what it is: so many points won or lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub by: i32,
    /// Part of a sentence, for people.
    pub why: String,
}

/// What an issue has of which nothing is known.
pub(super) const BASE: i32 = 60;

/// From 0 to 100, with what it came from in plain words.
pub(super) struct Score {
    pub(super) points: u32,
    pub(super) parts: Vec<Point>,
    /// It would not be taken if nobody had asked for it by name.
    pub(super) unsuitable: bool,
}

/// How well an issue suits being worked on unattended.
pub(super) fn score(glance: &Glance<'_>, now: i64) -> Score {
    let (mut parts, mut unsuitable) = (Vec::new(), false);
    let mut count = |by: i32, why: String| parts.push(Point { by, why });
    if let Some(label) = labelled(glance.labels, EXCLUDED) {
        unsuitable = true;
        count(-40, format!("labelled \"{}\"", words::line(label, 50)));
    }
    if let Some(label) = labelled(glance.labels, WELCOME) {
        count(15, format!("labelled \"{}\"", words::line(label, 50)));
    }
    if let Some(label) = labelled(glance.labels, HARD) {
        count(-15, format!("labelled \"{}\"", words::line(label, 50)));
    }
    if kind_by_labels(glance.labels).is_some() {
        count(5, "its labels say what kind of work it is".to_owned());
    }
    if let Some(what) = risky(glance.title) {
        unsuitable = true;
        count(-20, format!("about {what}"));
    }
    match glance.comments {
        0..=5 => count(
            5,
            format!("{} so far", crate::stdx::text::count(usize::try_from(glance.comments).unwrap_or(0), "comment")),
        ),
        6..=15 => count(-5, format!("{} comments: there is something to discuss", glance.comments)),
        _ => count(-20, format!("{} comments: there is much to discuss", glance.comments)),
    }
    match age_in_days(glance.created_at, now) {
        Some(0..=60) => count(5, "not older than 60 days".to_owned()),
        Some(days @ 61..=365) => count(-5, format!("{days} days old")),
        Some(days) => count(-10, format!("{days} days old")),
        None => {}
    }
    Score { points: sum(&parts), parts, unsuitable }
}

/// From 0 to 100.
pub(super) fn sum(parts: &[Point]) -> u32 {
    let points = parts.iter().fold(BASE, |points, part| points.saturating_add(part.by));
    u32::try_from(points.clamp(0, 100)).unwrap_or(0)
}

/// A label that says an issue is not meant to be worked on by whoever comes along.
pub(super) fn excluding(labels: &[String]) -> Option<&str> {
    labelled(labels, EXCLUDED)
}

/// By labels first, then by the title's own prefix, then by words.
pub(super) fn kind(labels: &[String], brief: &Brief) -> Kind {
    if let Some(kind) = kind_by_labels(labels) {
        return kind;
    }
    let head = convention::conventional(&brief.title).and_then(|(head, _)| head);
    match head.as_deref().map(|head| head.split('(').next().unwrap_or(head)) {
        Some("fix") => return Kind::BugFix,
        Some("feat") => return Kind::Feature,
        Some("docs") => return Kind::Documentation,
        Some("test") => return Kind::Test,
        Some("refactor" | "style" | "chore" | "perf") => return Kind::Refactor,
        Some(_) | None => {}
    }
    const WORDS: &[(Kind, &[&str])] = &[
        (
            Kind::BugFix,
            &[
                "bug",
                "crash",
                "error",
                "exception",
                "fail",
                "fails",
                "failing",
                "failure",
                "broken",
                "wrong",
                "incorrect",
                "incorrectly",
                "regression",
                "panic",
                "traceback",
                "throws",
                "raises",
                "cannot",
                "can't",
                "doesn't",
                "does not",
                "isn't",
                "not working",
                "unexpected",
                "leak",
                "hang",
                "hangs",
                "fix",
                "vulnerable",
                "unsafe",
                "insecure",
                "deadlock",
                "overflow",
                "undefined",
                "null pointer",
                "missing check",
                "ignored",
                "lost",
                "injection",
            ],
        ),
        (
            Kind::Documentation,
            &[
                "documentation",
                "docs",
                "readme",
                "typo",
                "docstring",
                "docstrings",
                "spelling",
                "changelog",
                "broken link",
                "dead link",
                "document",
                "comment",
                "misspelled",
                "misspelt",
                "guide",
                "tutorial",
            ],
        ),
        (
            Kind::Test,
            &[
                "add tests",
                "add a test",
                "unit test",
                "unit tests",
                "test coverage",
                "coverage",
                "flaky",
                "regression test",
                "test case",
                "test cases",
                "tests for",
                "test for",
                "untested",
            ],
        ),
        (
            Kind::Refactor,
            &[
                "refactor",
                "rename",
                "clean up",
                "cleanup",
                "simplify",
                "remove unused",
                "unused",
                "dead code",
                "duplicate code",
                "duplicated",
                "extract",
                "replace",
                "migrate",
                "modernize",
                "modernise",
                "deprecated",
                "reformat",
                "move",
                "split",
                "tidy",
            ],
        ),
        (
            Kind::Feature,
            &[
                "add",
                "support",
                "feature",
                "allow",
                "implement",
                "introduce",
                "option",
                "ability",
                "enable",
                "provide",
                "would be nice",
                "would be great",
                "proposal",
                "new",
                "flag",
                "configurable",
                "could we",
                "extend",
                "raise",
                "reject",
                "validate",
            ],
        ),
    ];
    let title = padded(&brief.title);
    let body: String = brief.prose().map(|sentence| padded(&sentence.text)).collect();
    let score = |words: &[&str]| -> u32 {
        let in_title: u32 = words.iter().map(|word| u32::from(title.contains(&format!(" {word} "))) * 4).sum();
        let in_body: u32 = words.iter().map(|word| u32::from(body.contains(&format!(" {word} ")))).sum();
        in_title + in_body.min(4)
    };
    let mut best = (0, Kind::BugFix);
    for (kind, words) in WORDS {
        let mut points = score(words);
        let observed = brief.sentences.iter().any(|sentence| sentence.section == Section::Observed);
        if *kind == Kind::BugFix && (!brief.frames.is_empty() || observed) {
            points += 4;
        }
        if points > best.0 {
            best = (points, *kind);
        }
    }
    best.1
}

/// How hard it looks from the outside; `files` is how many files are named, where that is known.
pub(super) fn difficulty(labels: &[String], kind: Kind, brief: &Brief, files: Option<usize>) -> Difficulty {
    if labelled(labels, HARD).is_some() {
        return Difficulty::Medium;
    }
    let wanted = brief.sentences.iter().filter(|s| s.section == Section::Wanted && s.ticked != Some(true)).count();
    let length: usize = brief.prose().map(|sentence| sentence.text.len()).sum();
    let lower = brief.title.to_lowercase();
    let tiny = ["typo", "spelling", "misspel", "rename", "broken link", "dead link", "unused import", "whitespace"];
    let mut points = match kind {
        Kind::Documentation => 0,
        Kind::BugFix | Kind::Test | Kind::Refactor => 2,
        Kind::Feature => 3,
    };
    points += match (length, wanted) {
        (0..300, 0..=2) => 0,
        (0..1_500, 0..=5) => 1,
        _ => 3,
    };
    points += files.map_or(0, |files| files.saturating_sub(1).min(4));
    if tiny.iter().any(|word| lower.contains(word)) {
        points = points.saturating_sub(3);
    }
    if risky(&brief.title).is_some() {
        points += 2;
    }
    if labelled(labels, WELCOME).is_some() {
        points = points.min(3);
    }
    match points {
        0 | 1 => Difficulty::Trivial,
        2 | 3 => Difficulty::Easy,
        _ => Difficulty::Medium,
    }
}

/// What a person should weigh before such work is merged.
pub(super) fn risky(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    RISKY.iter().find(|(word, _)| lower.contains(word)).map(|(_, what)| *what)
}

fn kind_by_labels(labels: &[String]) -> Option<Kind> {
    labels.iter().find_map(|label| {
        label.to_lowercase().split(|c: char| !c.is_alphanumeric()).find_map(|word| match word {
            "bug" | "bugs" | "defect" | "regression" | "crash" | "bugfix" | "fix" => Some(Kind::BugFix),
            "enhancement" | "feature" | "features" | "feat" | "improvement" => Some(Kind::Feature),
            "documentation" | "docs" | "doc" | "typo" => Some(Kind::Documentation),
            "test" | "tests" | "testing" | "coverage" => Some(Kind::Test),
            "refactor" | "refactoring" | "cleanup" | "debt" | "chore" | "maintenance" => Some(Kind::Refactor),
            _ => None,
        })
    })
}

fn labelled<'l>(labels: &'l [String], among: &[&str]) -> Option<&'l str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ':', '/'], " ");
    labels.iter().map(String::as_str).find(|label| {
        let label = format!(" {} ", plain(label));
        among.iter().any(|word| label.contains(&format!(" {} ", plain(word))))
    })
}

/// Words between single spaces, so that whole words can be looked for.
fn padded(text: &str) -> String {
    let words: String = text
        .chars()
        .map(
            |c| if c.is_alphanumeric() || matches!(c, '\'' | '_') { c.to_lowercase().next().unwrap_or(c) } else { ' ' },
        )
        .collect();
    format!(" {} ", words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whole days since then; `None` for what is no time.
pub(super) fn age_in_days(created_at: &str, now: i64) -> Option<i64> {
    let created = chrono::DateTime::parse_from_rfc3339(created_at).ok()?.timestamp_millis();
    Some((now.saturating_sub(created) / DAY).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(labels: &[&str], title: &str, body: &str, want: Kind) {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(kind(&labels, &Brief::read(title, body)), want, "{title}");
    }

    #[test]
    fn the_kind_comes_from_labels_prefix_and_words() {
        check(&["kind/bug"], "Add support for x", "", Kind::BugFix);
        check(&["area: docs", "swarm"], "Crash", "", Kind::Documentation);
        check(&["swarm"], "feat(api): broken pipes", "", Kind::Feature);
        check(&[], "Typo in README", "", Kind::Documentation);
        check(&[], "Add tests for the parser", "", Kind::Test);
        check(&[], "Rename `foo` to `bar` everywhere", "", Kind::Refactor);
        check(&[], "Support TOML settings", "It would be nice to read TOML.", Kind::Feature);
        check(&[], "Login crashes", "```\nFile \"a.py\", line 3, in x\n```", Kind::BugFix);
        check(&[], "", "", Kind::BugFix);
    }

    #[test]
    fn difficulty_follows_size_and_labels() {
        let of = |labels: &[String], title: &str, body: &str| {
            let brief = Brief::read(title, body);
            difficulty(labels, kind(labels, &brief), &brief, None)
        };
        assert_eq!(of(&[], "Typo in README", "teh"), Difficulty::Trivial);
        assert_eq!(of(&[], "Login crashes", "On an empty name."), Difficulty::Easy);
        assert_eq!(of(&[], "Support plugins", &"It should do this. ".repeat(200)), Difficulty::Medium);
        assert_eq!(of(&["epic".to_owned()], "Typo", ""), Difficulty::Medium);
    }
}
