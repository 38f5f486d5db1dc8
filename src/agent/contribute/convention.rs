//! Names and messages of a contribution: branch, title, commit. Built of a stranger's words, and safe whatever those are.

use std::sync::LazyLock;

use regex::Regex;

use super::words;
use crate::artifact::swarm::Kind;

const MAX_SLUG: usize = 40;
/// GitHub cuts a longer first line.
const MAX_SUBJECT: usize = 72;

/// The word for a kind of change, in branches and in conventional commits.
pub(super) fn commit_type(kind: Kind) -> &'static str {
    match kind {
        Kind::BugFix => "fix",
        Kind::Feature => "feat",
        Kind::Documentation => "docs",
        Kind::Test => "test",
        Kind::Refactor => "refactor",
    }
}

/// `fix/issue-7-unsafe-yaml` (A2.8); without a number `fix/unsafe-yaml`. Always a valid name of a branch.
///
/// `word` is a type of conventional commits, the one that the title of the pull request begins with. `naming` is what the analyst learned of the repository's own way, for instance "`bugfix/…` (CONTRIBUTING.md)": of that the
/// prefix is taken.
pub(super) fn branch(word: &str, number: u64, title: &str, naming: &str) -> String {
    let prefix = prefix(word, naming);
    let slug = slug(title);
    if number == 0 { format!("{prefix}/{slug}") } else { format!("{prefix}/issue-{number}-{slug}") }
}

/// `fix: description` of at most 72 characters, in which nothing is mentioned, closed or skipped.
pub(super) fn subject(kind: Kind, text: &str) -> String {
    let text = tame(text);
    let (own, rest) = conventional(&text).unwrap_or((None, &text));
    let head = own.unwrap_or_else(|| commit_type(kind).to_owned());
    let mut description = words::line(rest, 200).trim_end_matches(['.', ' ', '!', '?', ':', '-']).to_owned();
    let mut chars = description.chars();
    if let Some(first) = chars.next().filter(|first| first.is_uppercase())
        && chars.next().is_some_and(|second| second.is_lowercase() || second == ' ')
        && !description.split(' ').next().is_some_and(words::looks_like_code)
    {
        description.replace_range(..first.len_utf8(), &first.to_lowercase().to_string());
    }
    if description.is_empty() {
        description = "change what the issue asks for".to_owned();
    }
    words::line(&format!("{head}: {description}"), MAX_SUBJECT)
}

/// A line of a commit message or a pull request that pings nobody, closes no issue and skips no checks.
pub(super) fn tame(text: &str) -> String {
    static LINK: LazyLock<Regex> = LazyLock::new(|| words::regex(r"(?i)\bhttps?://\S+"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| words::regex(r"(?i)#(\d)|\b(gh)-(\d)"));
    static MENTION: LazyLock<Regex> = LazyLock::new(|| words::regex(r"(^|[^A-Za-z0-9_`])@([A-Za-z0-9])"));
    static SKIP: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\[\s*(?:skip[ -]?(?:ci|actions|checks)|(?:ci|actions)[ -]?skip|no[ -]?ci)\s*\]|\*\*\*no_ci\*\*\*|skip-checks\s*:",
        )
    });
    let text = words::line(text, 1_000);
    let text = LINK.replace_all(&text, "(link)");
    // Twice: what is taken out may have kept the halves of another apart.
    let text = SKIP.replace_all(&text, "").into_owned();
    let text = SKIP.replace_all(&text, "");
    let text = NUMBER.replace_all(&text, "$2 $1$3");
    words::line(&MENTION.replace_all(&text, "$1$2"), 1_000)
}

/// The type and scope of a conventional title, if it has one, and the rest; tags in brackets before it are left out.
pub(super) fn conventional(title: &str) -> Option<(Option<String>, &str)> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"^(?i:(fix|feat|docs|doc|test|tests|refactor|perf|chore|style|build|ci|bug|bugfix|feature))(\([a-zA-Z0-9_./ -]{1,30}\))?!?:\s*",
        )
    });
    static TAG: LazyLock<Regex> = LazyLock::new(|| words::regex(r"^\s*(?:\[[^\]]{1,40}\]\s*:?\s*)+"));
    let untagged = TAG.find(title).map_or(title, |tag| &title[tag.end()..]);
    let Some(head) = HEAD.captures(untagged) else {
        return (untagged.len() < title.len()).then_some((None, untagged));
    };
    let word = match head[1].to_ascii_lowercase().as_str() {
        "doc" => "docs".to_owned(),
        "tests" => "test".to_owned(),
        "bug" | "bugfix" => "fix".to_owned(),
        "feature" => "feat".to_owned(),
        other => other.to_owned(),
    };
    let scope = head.get(2).map_or("", |scope| scope.as_str());
    Some((Some(format!("{word}{scope}")), &untagged[head[0].len()..]))
}

/// Small ASCII letters, digits and single dashes; at most 40; never empty.
fn slug(title: &str) -> String {
    let title = conventional(title).map_or(title, |(_, rest)| rest);
    let mut slug = String::new();
    for c in title.chars().take(400) {
        let folded = fold(c);
        if folded.is_empty() {
            // An apostrophe stands within a word.
            if !matches!(c, '\'' | '’' | '`') && !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        } else {
            slug.push_str(&folded);
        }
    }
    if slug.len() > MAX_SLUG {
        slug.truncate(MAX_SLUG + 1);
        // Not in the middle of a word, unless it is all one.
        let end = slug.rfind('-').filter(|end| *end >= MAX_SLUG / 2).unwrap_or(MAX_SLUG);
        slug.truncate(end);
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "change".to_owned() } else { slug.to_owned() }
}

/// The ASCII letters for a character; none for what is no letter or digit, or of another script.
fn fold(c: char) -> String {
    if c.is_ascii_alphanumeric() {
        return c.to_ascii_lowercase().to_string();
    }
    let lower = c.to_lowercase().next().unwrap_or(c);
    match lower {
        'à' | 'á' | 'â' | 'ã' | 'å' | 'ā' | 'ă' | 'ą' => "a",
        'ä' | 'æ' => "ae",
        'ç' | 'ć' | 'č' => "c",
        'ď' | 'đ' => "d",
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => "e",
        'ğ' => "g",
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ø' | 'ō' | 'ő' => "o",
        'ö' | 'œ' => "oe",
        'ř' => "r",
        'ś' | 'š' | 'ş' => "s",
        'ß' => "ss",
        'ť' => "t",
        'ù' | 'ú' | 'û' | 'ū' | 'ů' | 'ű' => "u",
        'ü' => "ue",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        _ => "",
    }
    .to_owned()
}

fn prefix<'w>(word: &'w str, naming: &str) -> &'w str {
    let other: &[&'static str] = match word {
        "fix" => &["bugfix", "bug-fix", "hotfix", "bug"],
        "feat" => &["feature", "enhancement"],
        "docs" => &["doc", "documentation"],
        "test" => &["tests"],
        "refactor" => &["refactoring", "chore"],
        "chore" => &["maintenance", "task"],
        _ => &[],
    };
    let named = |prefix: &str| naming.contains(&format!("`{prefix}/"));
    if named(word) {
        return word;
    }
    other.iter().copied().find(|prefix| named(prefix)).unwrap_or(word)
}

/// The same branch, with the prefix for what a commit message says was done.
pub(super) fn agreeing(branch: &str, message: &str, naming: &str) -> String {
    match (branch.split_once('/'), word_of(message)) {
        (Some((_, rest)), Some(word)) => format!("{}/{rest}", prefix(word, naming)),
        _ => branch.to_owned(),
    }
}

/// The type of a conventional subject line, without its scope.
pub(super) fn word_of(subject: &str) -> Option<&str> {
    let word = subject.split_once(':')?.0.split('(').next()?.trim_end_matches('!');
    (!word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_after_kind_number_and_title() {
        for (number, title, want) in [
            (7, "Unsafe `yaml.load` in config", "fix/issue-7-unsafe-yaml-load-in-config"),
            (0, "Größe wird nicht geprüft", "fix/groesse-wird-nicht-geprueft"),
            (3, "日本語のタイトル", "fix/issue-3-change"),
            (9, "don't crash.lock", "fix/issue-9-dont-crash-lock"),
            (1, "[Bug]: fix(core): it's --- broken!", "fix/issue-1-its-broken"),
            (
                2,
                "a very long title that goes on and on about everything",
                "fix/issue-2-a-very-long-title-that-goes-on-and-on",
            ),
        ] {
            assert_eq!(branch("fix", number, title, ""), want);
        }
        assert_eq!(branch("feat", 4, "x", "`feature/…`, `bugfix/…` (CONTRIBUTING.md)"), "feature/issue-4-x");
        assert_eq!(branch("test", 4, "x", "`feature/…` (CONTRIBUTING.md)"), "test/issue-4-x");
    }

    #[test]
    fn a_subject_mentions_closes_and_skips_nothing() {
        for (text, want) in [
            ("Replace yaml.load.", "fix: replace yaml.load"),
            ("docs: Fix typo in README", "docs: fix typo in README"),
            ("HTTP 500 on login", "fix: HTTP 500 on login"),
            ("[skip [skip ci]ci] @octocat fixes #12, GH-3 https://e.vil/x", "fix: octocat fixes 12, GH 3 (link)"),
            ("a\nSigned-off-by: x <y@z>", "fix: a Signed-off-by: x <y@z>"),
            ("", "fix: change what the issue asks for"),
        ] {
            assert_eq!(subject(Kind::BugFix, text), want);
        }
    }
}
