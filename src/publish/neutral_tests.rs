use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;

/// What GitHub would act upon: markup, and plain text that it turns into links or notifications.
#[track_caller]
fn assert_inert(markdown: &str) {
    let mut text = String::new();
    // What GitHub's Markdown has beyond CommonMark.
    let known = Options::ENABLE_GFM
        | Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(markdown, known) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => panic!("HTML {html:?} in {markdown:?}"),
            Event::Start(Tag::Paragraph) | Event::End(_) | Event::SoftBreak => text.push('\n'),
            Event::Start(tag) => panic!("{tag:?} in {markdown:?}"),
            Event::Text(part) => text.push_str(&part),
            // A code span parts what stands around it.
            Event::Code(_) => text.push('\u{0}'),
            other => panic!("{other:?} in {markdown:?}"),
        }
    }
    let lower = text.to_ascii_lowercase();
    for bad in ["@", "#", "://", "www.", "<!--", "mailto:"] {
        assert!(!lower.contains(bad), "{bad:?} in text {text:?} of {markdown:?}");
    }
    let gh = lower.match_indices("gh-").any(|(at, _)| lower[at + 3..].starts_with(|c: char| c.is_ascii_digit()));
    assert!(!gh, "a reference in {text:?}");
    assert!(!markdown.lines().any(|line| line.trim_start().starts_with('/')), "a command in {markdown:?}");
    assert!(!markdown.chars().any(is_hidden), "a hidden character in {markdown:?}");
}

#[track_caller]
fn check(text: &str, want: &str) {
    let got = prose(text);
    assert_eq!(got, want);
    assert_inert(&got);
}

#[test]
fn plain_prose_stays_readable() {
    check("The value is compared with itself.", "The value is compared with itself.");
    check("`eval` runs what the caller sends.", "`eval` runs what the caller sends.");
    check("Use `a ``b`` c` here", "Use ```a ``b`` c``` here");
    check("two * stars and snake_case", "two \\* stars and snake\\_case");
}

#[test]
fn active_words_become_code() {
    check("ask @octo/team-a now", "ask `@octo/team-a` now");
    check("fixes #12 and GH-12, octo/calc#3", "fixes `#12` and `GH-12,` `octo/calc#3`");
    check("see https://evil.invalid/x?y", "see `https://evil.invalid/x?y`");
    check("www.evil.invalid", "`www.evil.invalid`");
    check("![x](http://evil.invalid/p.png)", "`![x](http://evil.invalid/p.png)`");
    check("[text](javascript:1)", "`[text](javascript:1)`");
    check("<img src=x onerror=alert(1)>", "`<img` src=x `onerror=alert(1)>`");
    check("<!-- octoswarm:v1 finding abc -->", "`<!--` octoswarm:v1 finding abc `-->`");
    check("/approve", "`/approve`");
    check("see 1a2b3c4d", "see `1a2b3c4d`");
    check("JIRA-77", "`JIRA-77`");
    check("a &#64;b", "a `&#64;b`");
}

#[test]
fn a_mention_beside_a_code_span_is_still_code() {
    check("`a`@mona", "`a` `@mona`");
    check("@`mona`", "`@` `mona`");
}

#[test]
fn block_markup_is_only_text() {
    for text in [
        "# title",
        "- item",
        "+ item",
        "1. item",
        "> quote",
        "***",
        "---",
        "===",
        "~~~",
        "```",
        "| a | b |",
        "    x",
        "\tcode",
        "[^1]: note",
        ":smile:",
    ] {
        assert_inert(&prose(text));
        assert_inert(&paragraphs(&format!("before\n\n{text}\n\nafter")));
    }
    assert_inert(&prose("line\n/close\n@mona\n<b>"));
}

#[test]
fn hidden_characters_are_shown_and_secrets_masked() {
    check("a\u{202e}b\u{200b}c", "a⟨U+202E⟩b⟨U+200B⟩c");
    check("\u{e0041}", "⟨U+E0041⟩");
    let token = format!("ghp_{}", "a1".repeat(18));
    check(&format!("token {token} here"), "token \\[redacted\\] here");
    assert!(!code(&token).contains(&token) && !plain(&token).contains(&token));
}

#[test]
fn a_fence_is_longer_than_what_it_holds() {
    assert_eq!(fenced("suggestion", "a"), "```suggestion\na\n```");
    assert_eq!(fenced("suggestion", "````\nx"), "`````suggestion\n````\nx\n`````");
    assert_eq!(fenced("suggestion", ""), "```suggestion\n```");
}

#[test]
fn a_suggestion_is_honest_or_not_made() {
    assert!(is_honest("let a = b / c; // note\n/usr/bin/env\n/* x */"));
    assert!(!is_honest("fine\n/approve"));
    assert!(!is_honest("  /lgtm cancel"));
    assert!(!is_honest("a\u{2066}b"));
    assert!(!is_honest(&format!("x = '{}'", format_args!("ghs_{}", "a".repeat(36)))));
}

#[test]
fn a_commit_message_mentions_refers_and_switches_nothing() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(history(text, Some(7)), want);
    }
    check("Load YAML safely (#7)", "Load YAML safely (#7)");
    check("Refs #7\n\nfixes #8, #77", "Refs #7\n\nfixes # 8, # 77");
    check("closes octo/calc#7 and GH-7", "closes octo/calc# 7 and GH- 7");
    check("fix https://github.com/o/r/issues/9", "fix https:// github.com/o/r/issues/9");
    check("ping @mona, (@octo/team), mail a@b.c", "ping @ mona, (@ octo/team), mail a@b.c");
    check("x [skip ci] [CI Skip] [no ci] [ci-skip]", "x (skip ci) (CI Skip) (no ci) (ci-skip)");
    check("a[i] = [b] [", "a[i] = [b] [");
    check("***NO_CI*** skip-checks: true", "*** NO_CI*** skip-checks : true");
    check("a\u{202e}b\r\nc", "a⟨U+202E⟩b\nc");
    let token = format!("ghp_{}", "a1".repeat(18));
    check(&token, "[redacted]");
    assert_eq!(history("fixes #7", None), "fixes # 7");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn nothing_survives(text in proptest::collection::vec(prop_oneof![
        Just("@mona".to_owned()), Just("@octo/team".to_owned()), Just("#12".to_owned()), Just("GH-3".to_owned()),
        Just("<b>".to_owned()), Just("<!-- x -->".to_owned()), Just("![i](http://x.y/z)".to_owned()), Just("[a](b)".to_owned()),
        Just("https://x.y".to_owned()), Just("www.x.y".to_owned()), Just("`".to_owned()), Just("``".to_owned()), Just("```".to_owned()),
        Just("\n".to_owned()), Just("\n\n".to_owned()), Just(" ".to_owned()), Just("    ".to_owned()), Just("\t".to_owned()),
        Just("/close".to_owned()), Just("\\".to_owned()), Just("*".to_owned()), Just("_".to_owned()), Just("~~".to_owned()),
        Just("|".to_owned()), Just("- ".to_owned()), Just("1. ".to_owned()), Just("2) ".to_owned()), Just("> ".to_owned()), Just("# ".to_owned()),
        Just("&lt;".to_owned()), Just("&#64;".to_owned()), Just("\u{202e}".to_owned()), Just("\u{200b}".to_owned()), Just("[^1]".to_owned()),
        Just("$x$".to_owned()), Just("[x] ".to_owned()), Just("---".to_owned()), Just("===".to_owned()), Just("user@host.com".to_owned()), "[a-z]{1,4}", "\\PC{0,4}",
    ], 0..14)) {
        let text = text.concat();
        assert_inert(&prose(&text));
        assert_inert(&paragraphs(&text));
        assert_inert(&code(&text));
    }

    #[test]
    fn any_text_is_inert(text in "\\PC{0,60}") {
        assert_inert(&prose(&text));
        assert_inert(&code(&text));
    }

    #[test]
    fn no_message_acts(text in proptest::collection::vec(prop_oneof![
        Just("@mona".to_owned()), Just("@".to_owned()), Just("#7".to_owned()), Just("#8".to_owned()), Just("#".to_owned()),
        Just("GH-3".to_owned()), Just("gh-".to_owned()), Just("octo/calc".to_owned()), Just("fixes ".to_owned()),
        Just("https://x.y/issues/3".to_owned()), Just("://".to_owned()), Just("[skip ci]".to_owned()), Just("[ci skip]".to_owned()),
        Just("[".to_owned()), Just("]".to_owned()), Just("skip ".to_owned()), Just("no ci".to_owned()), Just("***NO_CI***".to_owned()),
        Just("*".to_owned()), Just("skip-checks:true".to_owned()), Just(" ".to_owned()), Just("\n".to_owned()), Just("(".to_owned()),
        Just("\u{200b}".to_owned()), "[a-z0-9]{1,3}", "\\PC{0,3}",
    ], 0..14)) {
        let said = history(&text.concat(), Some(7));
        let acts = [
            r"(?:^|[^A-Za-z0-9])@[A-Za-z0-9]",
            r"[^\s(]#[0-9]|#(?:[0-689]|7[A-Za-z0-9])",
            r"(?i)(?:^|[^a-z0-9])gh-[0-9]",
            r"://\S",
            r"(?i)\[(?:skip ci|ci skip|no ci)\]|\*\*\*NO_CI\*\*\*|skip-checks:",
        ];
        for pattern in acts {
            prop_assert!(!regex::Regex::new(pattern).unwrap().is_match(&said), "{pattern} in {said:?}");
        }
    }
}
