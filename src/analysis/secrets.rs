//! Credentials and merge leftovers, in any text file.

use std::sync::LazyLock;

use regex::Regex;

use super::RuleInfo;
use super::engine::{Hit, finish};
use super::language;
use super::lines::Lines;
use crate::domain::{Category, Finding, Fingerprint, RuleId, Severity};

/// What gives a credential away.
struct Shape {
    rule: &'static str,
    what: &'static str,
    pattern: &'static str,
    /// A second look at the captured token.
    accept: fn(&str) -> bool,
    /// Test files hold made-up ones of this shape.
    in_tests: bool,
}

const SHAPES: &[Shape] = &[
    Shape {
        rule: "aws-access-key",
        what: "an AWS access key id",
        pattern: r"\b((?:AKIA|ASIA)[A-Z2-7]{16})\b",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "github-token",
        what: "a GitHub token",
        pattern: r"\b((?:gh[pousr]_[A-Za-z0-9]{36})|(?:github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}))\b",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "slack-token",
        what: "a Slack token",
        pattern: r"\b(xox[abposr]-[0-9]{9,14}-[0-9A-Za-z-]{18,})",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "slack-webhook",
        what: "the address of a Slack webhook, which is its password",
        pattern: r"https://hooks\.slack\.com/services/(T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,})",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "google-api-key",
        what: "a Google API key",
        pattern: r"\b(AIza[0-9A-Za-z_-]{35})(?:[^0-9A-Za-z_-]|$)",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "stripe-key",
        what: "a live Stripe key",
        pattern: r"\b((?:sk|rk)_live_[0-9A-Za-z]{20,})\b",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "npm-token",
        what: "an npm token",
        pattern: r"\b(npm_[A-Za-z0-9]{36})\b",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "model-api-key",
        what: "the key of a model provider",
        pattern: r"\b(sk-(?:ant-[a-z]+\d+-|proj-|svcacct-)[A-Za-z0-9_-]{40,})",
        accept: varied,
        in_tests: true,
    },
    Shape {
        rule: "private-key",
        what: "a private key",
        pattern: r"-----BEGIN (?:RSA |EC |DSA |OPENSSH |ENCRYPTED |PGP )?PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|\s)+([A-Za-z0-9+/=]{40,})",
        accept: varied,
        in_tests: false,
    },
    Shape {
        rule: "password-in-url",
        what: "an address with a password in it",
        pattern: r#"\b[a-z][a-z0-9+.-]{2,12}://[A-Za-z0-9_.-]+:([^\s:/@'"`$<>{}\[\]%*()|,\\]{6,})@[A-Za-z0-9]"#,
        accept: like_a_password,
        in_tests: false,
    },
    Shape {
        rule: "hard-coded-secret",
        what: "a secret in the source",
        pattern: r#"(?i)(?:^|[\s"'{(,.\[;-])(?:[a-z0-9_-]*(?:passwd|password|secret|token|api_?key|apikey|access_?key|private_?key|client_?secret|auth_?key|encryption_?key))["']?\s*(?::\s*(?:str|string|&(?:'static )?str)\s*)?(?:=|:|=>|:=)\s*[rb]?["']([^\s"'`]{12,200})["']"#,
        accept: high_entropy,
        in_tests: false,
    },
];

const CONFLICT: &str = "conflict-marker";

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| SHAPES.iter().map(|shape| regex(shape.pattern)).collect());

/// The findings of this kind alone.
pub fn scan(path: &str, text: &str) -> Vec<Finding> {
    let lines = Lines::new(text);
    finish(path, text, &lines, hits(path, text, &lines))
}

/// What these rules say about themselves.
pub(super) fn rules() -> Vec<RuleInfo> {
    let mut rules: Vec<RuleInfo> = SHAPES.iter().map(Shape::info).collect();
    rules.push(conflict_info());
    rules
}

pub(super) fn hits(path: &str, text: &str, lines: &Lines<'_>) -> Vec<Hit> {
    let in_tests = language::is_test(path);
    let mut hits = Vec::new();
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    for (shape, regex) in SHAPES.iter().zip(COMPILED.iter()) {
        if in_tests && !shape.in_tests {
            continue;
        }
        for found in regex.captures_iter(text) {
            let Some(token) = found.get(1) else { continue };
            let range =
                if shape.rule == "private-key" { found.get(0).map_or(0..0, |m| m.range()) } else { token.range() };
            let again = taken.iter().any(|t| t.start < range.end && range.start < t.end);
            let line = lines.line(lines.line_at(token.start()));
            if again || placeholder(token.as_str()) || !(shape.accept)(token.as_str()) || line.contains("EXAMPLE") {
                continue;
            }
            taken.push(range.clone());
            // The fingerprint goes out into comments: it is made of the line around the secret, never of the secret.
            let matched = line.replace(token.as_str(), "…");
            let end =
                if shape.rule == "private-key" { lines.bounds(lines.line_at(range.start)).end } else { range.end };
            hits.push(hit(&shape.info(), path, lines, range.start..end, matched));
        }
    }
    hits.extend(conflicts(path, text, lines));
    hits
}

fn conflicts(path: &str, text: &str, lines: &Lines<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    if !text.contains("<<<<<<< ") {
        return hits;
    }
    let info = conflict_info();
    // Opened at a line; then the middle must come, then the end.
    let mut open: Option<(u32, bool)> = None;
    let count = u32::try_from(lines.count()).unwrap_or(u32::MAX);
    for number in 1..=count {
        let line = lines.line(number);
        if line.starts_with("<<<<<<< ") {
            open = Some((number, false));
        } else if line == "=======" {
            open = open.map(|(at, _)| (at, true));
        } else if line.starts_with(">>>>>>> ")
            && let Some((at, true)) = open.take()
        {
            let start = lines.bounds(at).start;
            hits.push(hit(&info, path, lines, start..lines.bounds(at).end, lines.line(at).to_owned()));
        }
    }
    hits
}

fn hit(info: &RuleInfo, path: &str, lines: &Lines<'_>, range: std::ops::Range<usize>, matched: String) -> Hit {
    let finding = Finding {
        category: info.category,
        severity: info.severity,
        rule: info.id.clone(),
        path: path.to_owned(),
        span: lines.span(range.clone()),
        message: info.message.clone(),
        why: info.why.clone(),
        fix: None,
        reference: info.reference.clone(),
        fingerprint: Fingerprint::new(&info.id, path, "", 0),
    };
    Hit { start: range.start, end: range.end, matched, finding }
}

impl Shape {
    fn info(&self) -> RuleInfo {
        let sure = !matches!(self.rule, "hard-coded-secret");
        RuleInfo {
            id: RuleId(self.rule.to_owned()),
            category: Category::Critical,
            severity: if sure { Severity::High } else { Severity::Medium },
            languages: Vec::new(),
            message: format!("This looks like {}.", self.what),
            why: "Whoever can read the repository, now or later, can use it: history keeps it even after the line is gone. \
                  Revoke it, issue a new one, and read that from the environment or a secret store."
                .to_owned(),
            reference: Some("CWE-798".to_owned()),
            has_fix: false,
        }
    }
}

fn conflict_info() -> RuleInfo {
    RuleInfo {
        id: RuleId(CONFLICT.to_owned()),
        category: Category::Critical,
        severity: Severity::High,
        languages: Vec::new(),
        message: "A merge conflict was committed unresolved.".to_owned(),
        why: "Both sides are still in the file, between the markers that git left; the file is not what either side meant. \
              Choose one side or combine them, and delete the three marker lines."
            .to_owned(),
        reference: Some("https://git-scm.com/docs/git-merge#_how_conflicts_are_presented".to_owned()),
        has_fix: false,
    }
}

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this file compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

/// Made-up values: example, dummy, repeated characters, templates.
fn placeholder(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    const WORDS: &[&str] = &[
        "example",
        "dummy",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "your-",
        "your_",
        "yourpassword",
        "xxxx",
        "test",
        "fake",
        "sample",
        "redacted",
        "insert",
        "replace",
        "todo",
        "not-a-",
        "notasecret",
        "foobar",
        "1234567",
        "abcdef",
        "password",
        "secret",
        "<",
        "${",
        "{{",
        "...",
        "****",
        "hunter2",
        "lorem",
        "mock",
    ];
    WORDS.iter().any(|word| lower.contains(word))
}

/// Real tokens use many characters.
fn varied(token: &str) -> bool {
    let mut seen: Vec<char> = token.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= 8
}

fn like_a_password(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    varied_enough(token, 5)
        && !matches!(
            lower.as_str(),
            "postgres" | "guest" | "admin" | "passwd" | "mysql" | "root" | "user" | "pass" | "rabbitmq"
        )
}

fn varied_enough(token: &str, least: usize) -> bool {
    let mut seen: Vec<char> = token.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len() >= least
}

/// Random enough that no person made it up as a name, a path or a sentence.
fn high_entropy(token: &str) -> bool {
    let digits = token.chars().filter(char::is_ascii_digit).count();
    let letters = token.chars().filter(char::is_ascii_alphabetic).count();
    let upper = token.chars().any(|c| c.is_ascii_uppercase());
    let odd = token.chars().filter(|c| "!@#$%^&*".contains(*c)).count();
    let looks_like_code = token.contains("://")
        || token.starts_with(['/', '.', '$', '{', '%', '#'])
        || token.contains(['(', ')', ' ', '{', '}', '<', '>']);
    let kinds = usize::from(digits >= 2) + usize::from(upper) + usize::from(letters > 2) + usize::from(odd > 0);
    !looks_like_code && digits + odd >= 2 && kinds >= 2 && entropy(token) >= 3.4
}

/// Shannon's, in bits a character.
fn entropy(token: &str) -> f64 {
    let mut counts = std::collections::HashMap::new();
    for c in token.chars() {
        *counts.entry(c).or_insert(0_u32) += 1;
    }
    let total = f64::from(u32::try_from(token.chars().count()).unwrap_or(u32::MAX));
    counts.values().map(|n| f64::from(*n) / total).map(|p| -p * p.log2()).sum()
}
