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
    accept: fn(token: &str, name: &str) -> bool,
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
        pattern: r#"\b[a-z][a-z0-9+.-]{2,12}://[A-Za-z0-9_.-]+:([^\s:/@'"`$<>{}\[\]%*()|,\\]{6,})@(?P<host>[A-Za-z0-9.-]+)"#,
        accept: like_a_password,
        in_tests: false,
    },
    Shape {
        rule: "hard-coded-secret",
        what: "a secret in the source",
        pattern: r#"(?i)(?:^|[\s"'{(,.\[;-])(?P<name>[a-z0-9_-]*(?:passwd|password|passphrase|pwd|secret|token|api_?key|apikey|access_?key|private_?key|client_?secret|auth_?key|encryption_?key))["']?\s*(?::\s*(?:str|string|&(?:'static )?str)\s*)?(?:=|:|=>|:=)\s*[rb]?["'](?P<token>[^\s"'`]{8,200})["']"#,
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

/// The rules that find something in a text, each once, whatever a comment beside it says.
pub fn names(path: &str, text: &str) -> Vec<&'static str> {
    let found = hits(path, text, &Lines::new(text));
    let known = SHAPES.iter().map(|shape| shape.rule).chain([CONFLICT]);
    known.filter(|rule| found.iter().any(|hit| hit.finding.rule.0 == *rule)).collect()
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
        // Prose and tests show made-up passwords; a whole token of a known shape is no example anywhere.
        if (in_tests || is_prose(path)) && !shape.in_tests {
            continue;
        }
        for found in regex.captures_iter(text) {
            let Some(token) = found.name("token").or_else(|| found.get(1)) else { continue };
            let range =
                if shape.rule == "private-key" { found.get(0).map_or(0..0, |m| m.range()) } else { token.range() };
            let again = taken.iter().any(|t| t.start < range.end && range.start < t.end);
            let line = lines.line(lines.line_at(token.start()));
            let name = found.name("name").map(|m| m.as_str()).unwrap_or_default();
            let host = found.name("host").is_some_and(|host| nobodys_host(host.as_str()) || is_comment(line));
            let public = token.as_str().starts_with("AIza") && is_firebase(lines, token.start());
            let packed = shape.rule == "hard-coded-secret" && line.len() > 500;
            if host || public || packed {
                continue;
            }
            if again || placeholder(token.as_str()) || !(shape.accept)(token.as_str(), name) || line.contains("EXAMPLE")
            {
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

/// Reserved for documentation, this machine, or a name that means nothing outside one network.
fn nobodys_host(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let reserved = ["example", "test", "invalid", "localhost", "local"];
    let mut labels = host.rsplit('.');
    let last = labels.next().unwrap_or_default();
    let second = labels.next();
    reserved.contains(&last)
        || second.is_none()
        || second.is_some_and(|name| matches!(name, "example" | "domain" | "mydomain" | "yourdomain" | "host"))
        || host == "127.0.0.1"
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["#", "//", "*", "/*", "--", ">>>", ";"].iter().any(|mark| line.starts_with(mark))
}

/// The key of a Firebase web app is no secret: it is sent to every visitor.
fn is_firebase(lines: &Lines<'_>, offset: usize) -> bool {
    let at = lines.line_at(offset);
    (at.saturating_sub(3)..=at + 3).any(|number| {
        let line = lines.line(number).to_ascii_lowercase();
        line.contains("authdomain") || line.contains("firebase")
    })
}

fn is_prose(path: &str) -> bool {
    [".md", ".mdx", ".rst", ".adoc", ".ipynb"].iter().any(|end| path.to_ascii_lowercase().ends_with(end))
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

/// Made-up values that say so.
fn placeholder(token: &str) -> bool {
    const WORDS: &[&str] = &[
        "example",
        "dummy",
        "placeholder",
        "changeme",
        "change-me",
        "change_me",
        "your-",
        "your_",
        "yourpass",
        "xxxx",
        "fake",
        "sample",
        "redacted",
        "replace",
        "todo",
        "notasecret",
        "not-a-",
        "<",
        "${",
        "{{",
        "...",
        "****",
        "lorem",
        "mock",
    ];
    let lower = token.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Real tokens use many characters, and not in the order of the alphabet.
fn varied(token: &str, _name: &str) -> bool {
    let characters: Vec<u32> = token.chars().map(u32::from).collect();
    let steps = characters.windows(2).filter(|pair| matches!(pair, [a, b] if *b == a + 1)).count();
    distinct(token) >= 8 && steps * 2 < characters.len()
}

fn like_a_password(token: &str, _name: &str) -> bool {
    let odd = token.chars().any(|c| c.is_ascii_digit() || "!#$^&*+=?".contains(c));
    let lower = token.to_ascii_lowercase();
    let plain = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let made_up = ["pass", "password", "passwd", "secret", "user", "foobar", "qwerty", "abc"].contains(&plain);
    odd && distinct(token) >= 5 && !made_up
}

/// Not a name, a path or a sentence. A password may be short; a token or key is long.
fn high_entropy(token: &str, name: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    let digits = token.chars().filter(char::is_ascii_digit).count();
    let letters = token.chars().filter(char::is_ascii_alphabetic).count();
    let odd = token.chars().filter(|c| "!@#$%^&*".contains(*c)).count();
    let code = token.contains("://")
        || token.starts_with(['/', '.', '$', '{', '%', '#', '@', ':', '-'])
        || token.contains(['(', ')', '{', '}', '[', ']', '<', '>', '|', '\\', ';', ',']);
    if code || lower.contains("test") || letters < 3 {
        return false;
    }
    let password = ["pass", "pwd"].iter().any(|word| name.to_ascii_lowercase().contains(word));
    if password {
        digits + odd >= 2 && entropy(token) >= 2.75
    } else {
        token.len() >= 16 && digits >= 2 && entropy(token) >= 3.2
    }
}

fn distinct(token: &str) -> usize {
    let mut seen: Vec<char> = token.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A token-like text that is made here, so that none is written down.
    fn random(length: usize, alphabet: &str) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|i| letters[(i * 7 + i * i * 3 + 5) % letters.len()]).collect()
    }

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        let found = scan(path, text);
        let got: Vec<_> = found.iter().map(|f| f.rule.0.as_str()).collect();
        assert_eq!(got, want, "{text}");
    }

    const MIXED: &str = "aZ3bY8cX1dW6eV9fU4gT7hS2iR5jQ0k";

    #[test]
    fn tokens_of_known_shapes_are_found_in_any_text() {
        let aws = format!("AKIA{}", random(16, "QWERTZUIOPASDFGH2345"));
        check("notes.txt", &format!("key {aws}\n"), &["aws-access-key"]);
        check("a.py", &format!("T = 'ghp_{}'\n", random(36, MIXED)), &["github-token"]);
        check(
            "deploy.yml",
            &format!("url: postgres://app:{}!7@db.internal/x\n", random(10, MIXED)),
            &["password-in-url"],
        );
        for host in ["example.com", "www.example.org:80", "localhost", "db"] {
            check("deploy.yml", &format!("url: postgres://app:{}!7@{host}/x\n", random(10, MIXED)), &[]);
        }
        check("deploy.yml", "url: http://user123:pass567@intranet.acme.io/\n", &[]);
        let key = format!("-----BEGIN RSA {}-----\n{}\n", "PRIVATE KEY", random(64, MIXED));
        check("id_rsa", &key, &["private-key"]);
        check("tests/id_rsa", &key, &[]);
    }

    #[test]
    fn a_secret_in_an_assignment_is_told_from_a_name() {
        check("a.py", &format!("DB_PASSWORD = \"{}1!\"\n", "Tr0ub4dor"), &["hard-coded-secret"]);
        check("a.js", &format!("const config = {{ apiKey: '{}' }};\n", random(24, MIXED)), &["hard-coded-secret"]);
        for text in [
            "password = os.environ['DB_PASSWORD']\n",
            "password = \"changeme\"\n",
            "PASSWORD_FIELD = \"user_password\"\n",
            "token = \"access_token\"\n",
            "secret = \"${SECRET_VALUE_1234}\"\n",
            "apiKey: 'your-api-key-1234567890'\n",
            "token_url = \"https://example.org/oauth2/token\"\n",
        ] {
            check("a.py", text, &[]);
        }
    }

    #[test]
    fn neither_message_nor_fingerprint_is_made_of_the_secret() {
        let one = format!("T = 'ghp_{}'\n", random(36, MIXED));
        let other = format!("T = 'ghp_{}'\n", random(36, "zQ9xW8cE7vR6bT5nY4mU3kI2lO1pA0s"));
        let (a, b) = (scan("a.py", &one), scan("a.py", &other));
        assert_ne!(one, other);
        assert_eq!(a[0].fingerprint, b[0].fingerprint);
        assert!(!format!("{:?}", a[0]).contains("ghp_"));
    }

    #[test]
    fn a_conflict_needs_all_three_markers() {
        check("a.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic\n", &["conflict-marker"]);
        check("a.md", "<<<<<<< HEAD\r\na\r\n=======\r\nb\r\n>>>>>>> topic\r\n", &["conflict-marker"]);
        check("a.md", "Title\n=======\ntext\n", &[]);
        check("a.md", "    <<<<<<< HEAD\n=======\n>>>>>>> x\n", &[]);
    }
}
