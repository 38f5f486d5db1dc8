use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::domain::Conversation;

const R: &[Verb] = &[Verb::Review];
const HELP: &[Verb] = &[Verb::Help];
const NONE: &[Verb] = &[];

fn names() -> Names {
    Names::new("octo-swarm")
}

fn read(body: &str) -> Commands {
    parse(&Untrusted::new(body), &names())
}

#[track_caller]
fn check(body: &str, verbs: &[Verb], unknown: &[&str]) {
    let got = read(body);
    assert_eq!(
        (got.verbs.as_slice(), got.unknown),
        (verbs, unknown.iter().map(|w| (*w).to_owned()).collect()),
        "{body:?}"
    );
}

#[track_caller]
fn nothing(bodies: &[&str]) {
    for body in bodies {
        check(body, NONE, &[]);
    }
}

#[track_caller]
fn review(bodies: &[&str]) {
    for body in bodies {
        check(body, R, &[]);
    }
}

#[test]
fn a_verb_alone_on_its_line_is_a_command() {
    review(&[
        "/swarm review",
        "/SWARM Review",
        "/swarm review\n",
        "/swarm review\r\n",
        "  /swarm   review  ",
        "/swarm\treview\t",
        "/swarm review.",
        "/swarm review!",
        "Thanks!\n/swarm review\nSee you.",
        "Thanks!\n\n/swarm review\n\nSee you.",
        "Thanks!\r\n/swarm review\r\nSee you.",
        "a line of text\n        /swarm review",
        "/swarm review  \nwith a hard break",
        "> quoted\n\n/swarm review",
        "- item\n\n/swarm review",
        "```\ncode\n```\n/swarm review",
        "# Heading\n/swarm review",
        "---\n/swarm review",
        "<!-- a comment -->\n/swarm review",
        "<details>\n\nlog\n\n</details>\n\n/swarm review",
        "`Vec<T>` and Vec<T> and `<details>`\n\n/swarm review",
        "fine <br> so\n/swarm review",
        "a & b, 1 < 2, it's 5$\n/swarm review",
        "one ` tick, one * star, one [ bracket\n/swarm review",
        "On Mon, Ada wrote:\r\n> /swarm fix\r\n\r\n/swarm review\r\n",
    ]);
}

#[test]
fn a_mention_is_a_prefix() {
    review(&["@octo-swarm review", "@Octo-Swarm REVIEW!", "@octo-swarm[bot] review", " @octo-swarm[BOT]\treview "]);
    check("@octo-swarm", HELP, &[]);
    check("@octo-swarm[bot]", HELP, &[]);
    check("@octo-swarm dance", NONE, &["dance"]);
    nothing(&[
        "@octo-swarm-2 review",
        "@octo-swarmy review",
        "@octo-swarm: review",
        "@octo-swarm, review",
        "@octo review",
        "@ octo-swarm review",
        "cc @octo-swarm review",
        "octo-swarm review",
        "@octo-swarm/core review",
        "@octo-swarm[bot]review",
    ]);
    let unnamed = parse(&Untrusted::new("@ review\n@[bot] review\n@"), &Names::new(""));
    assert!(unnamed.is_empty());
}

#[test]
fn a_bare_call_asks_for_help() {
    for body in ["/swarm", " /Swarm ", "Hello\n/swarm\n", "/swarm help"] {
        check(body, HELP, &[]);
    }
}

#[test]
fn several_commands_keep_their_order_and_repeats_count_once() {
    check("/swarm fix\n/swarm review\n@octo-swarm FIX\n/swarm status", &[Verb::Fix, Verb::Review, Verb::Status], &[]);
    check("/swarm foo\n/swarm review\n/swarm bar\n/swarm foo\n/swarm baz\n/swarm qux", R, &["foo", "bar", "baz"]);
    for verb in Verb::ALL {
        check(&format!("/swarm {verb}"), &[verb], &[]);
    }
}

#[test]
fn what_says_more_than_a_verb_is_not_obeyed() {
    check("/swarm review please", NONE, &["review …"]);
    check("/swarm review --base-url=https://example.org", NONE, &["review …"]);
    check("/swarm --api-key=hunter2", NONE, &["--api-key=…"]);
    check("/swarm key=hunter2 review", NONE, &["key=… …"]);
    check("/swarm review=now", NONE, &["review=…"]);
    check("/swarm review, then fix", NONE, &["review, …"]);
    check("/swarm review /swarm fix", NONE, &["review …"]);
    check("/swarm review!!", NONE, &["review!!"]);
    check("/swarm review?", NONE, &["review?"]);
    check("/swarm ?", NONE, &["?"]);
    check("/swarm .", NONE, &["."]);
    check("/swarm reviews", NONE, &["reviews"]);
    check("/swarm r\u{435}view", NONE, &["r\u{435}view"]);
    check("/swarm \u{ff52}eview", NONE, &["\u{ff52}eview"]);
    check("/swarm review\\", NONE, &["review\\"]);
    check(&format!("/swarm {}", "x".repeat(200)), NONE, &[&format!("{}…", "x".repeat(37))]);
}

#[test]
fn sentences_about_the_app_are_answered_only_if_they_name_a_verb() {
    check("@octo-swarm review please", NONE, &["review …"]);
    check("@octo-swarm can you review this?", NONE, &["can …"]);
    check("@octo-swarm plase reviw", NONE, &["plase …"]);
    nothing(&["@octo-swarm opened this, and it looks good to me", "@octo-swarm is great"]);
}

#[test]
fn other_prefixes_are_not_ours() {
    nothing(&[
        "/swarmify review",
        "/swarm-review",
        "/Swarm:review",
        "/swarm/review",
        "/swarm, review",
        "/swarm.",
        "/swarms",
        "/review",
        "swarm review",
        "// swarm review",
        "//swarm review",
        "/ swarm review",
        "./swarm review",
        "!swarm review",
        "\\/swarm review",
        "&#47;swarm review",
        "/swarm&nbsp;review",
        "please /swarm review",
        "(/swarm review)",
        "\"/swarm review\"",
        "Use /swarm review to ask again.",
    ]);
}

#[test]
fn what_hides_or_looks_alike_is_no_command() {
    nothing(&[
        "\u{ff0f}swarm review",
        "\u{2044}swarm review",
        "\u{2215}swarm review",
        "/\u{455}warm review",
        "\u{ff20}octo-swarm review",
        "@oct\u{43e}-swarm review",
        "@octo\u{2010}swarm review",
        "/swarm\u{a0}review",
        "\u{a0}/swarm review",
        "/swarm review\u{a0}",
        "/swarm\u{2003}review",
        "/swarm\u{3000}review",
        "\u{feff}/swarm review",
        "/swarm rev\u{200b}iew",
        "/swarm review\u{200d}",
        "/swarm \u{202e}weiver",
        "/swarm review\u{2066}",
        "/swarm review\u{e0041}\u{e007f}",
        "/swarm review\u{fe0f}",
        "/swarm re\u{ad}view",
        "/swarm review\0",
        "/swarm review\u{1b}[0m",
        "/swarm review\u{85}",
        "text\u{2028}/swarm review",
        "text\r/swarm review",
        "/swarm review\rtext",
        "/swarm\u{b}review",
        "/swarm review \u{2800}",
        "/swarm \u{200b}",
        "/swarm what\u{200b}ever",
    ]);
}

#[test]
fn quotes_code_and_markup_are_no_commands() {
    nothing(&[
        "> /swarm review",
        ">/swarm review",
        "> > /swarm review",
        "> quoted\n/swarm review",
        "> [!NOTE]\n> /swarm review",
        "On Mon, Ada wrote:\r\n> Hello\r\n> /swarm review\r\n",
        "```\n/swarm review\n```",
        "```sh\n/swarm review",
        "~~~\n/swarm review\n~~~",
        "````\n```\n/swarm review\n```\n````",
        "    /swarm review",
        "\t/swarm review",
        "`/swarm review`",
        "`\n/swarm review\n`",
        "/swarm `review`",
        "**/swarm review**",
        "**a\n/swarm review\nb**",
        "~~a\n/swarm review\nb~~",
        "_/swarm review_",
        "# /swarm review",
        "/swarm review\n---",
        "/swarm review\n-- \nAda",
        "/swarm review\n===",
        "- /swarm review",
        "* /swarm review",
        "1. /swarm review",
        "- [ ] /swarm review",
        "- item\n/swarm review",
        "- item\n\n  /swarm review",
        "| a |\n| - |\n| /swarm review |",
        "| a |\n| - |\n/swarm review",
        "text\na | b\n- | -\n/swarm review",
        "/swarm review\n|-|",
        "/swarm review\n:-:\nb",
        "a\n|:-|\n/swarm review",
        "[/swarm review](https://example.org)",
        "[a\n/swarm review\nb](https://example.org)",
        "![a\n/swarm review\nb](https://example.org/i.png)",
        "[a]: https://example.org \"\n/swarm review\n\"",
        "[a]:\n/swarm",
        "text[^1]\n[^1]: note\n/swarm review",
        "[//]: # (\n/swarm review\n)",
        "text[^1]\n\n[^1]: note\n/swarm review",
        "$$\n/swarm review\n$$",
        "[bot]: https://example.org\n\n@octo-swarm[bot] review",
    ]);
}

#[test]
fn what_stands_in_html_is_no_command() {
    nothing(&[
        "<!-- /swarm review -->",
        "<!--\n/swarm review\n-->",
        "<!--\n\n/swarm review\n\n-->",
        "<!-- never closed\n\n/swarm review",
        "text <!--\n/swarm review\n-->",
        "/swarm review <!-- x -->",
        "<div><!--\n\n/swarm review\n\n--></div>",
        "<div title=\"\n\n/swarm review\n\n\">",
        "<div\n\n/swarm review\n\n>",
        "<details>\n/swarm review\n</details>",
        "<details>\n\n/swarm review\n\n</details>",
        "<details>\n<summary>log</summary>\n\n<b>x</b>\n\n/swarm review\n\n</details>",
        "<DETAILS open>\n\n/swarm review\n\n</Details >",
        "<details><details>\n\n</details>\n\n/swarm review\n\n</details>",
        "<details>\n\n/swarm review",
        "text <details>\n\n/swarm review",
        "**a <details>b**\n\n/swarm review",
        "<details><!-- </details> -->\n\n/swarm review\n\n</details>",
        "<details title=\"</details>\">\n\n/swarm review\n\n</details>",
        "<pre>\n/swarm review\n</pre>",
        "<pre>\n\n/swarm review\n\n</pre>",
        "x <pre>\n\n/swarm review\n\n</pre>",
        "<code>\n/swarm review\n</code>",
        "<sub>a\n/swarm review\nb</sub>",
        "<p align=\"center\">\n\n/swarm review\n\n</p>",
        "<x-y>\n\n/swarm review\n\n</x-y>",
        "<blockquote>\n\n/swarm review\n\n</blockquote>",
        "<table><tr><td>\n\n/swarm review\n\n</td></tr></table>",
        "<script>\n/swarm review\n</script>",
        "<b title='\n/swarm review\n'>",
        "a <b title='\n/swarm review\n'>c",
        "<img src=\"i.png\">\n/swarm review",
        "<?php\n/swarm review\n?>",
        "<![CDATA[\n/swarm review\n]]>",
        "<!DOCTYPE\n/swarm review\n>",
    ]);
    review(&[
        "> <details>\n\n/swarm review",
        "<details>\n\na\n\n</details>\n\n<br>\n\n/swarm review",
        "</details>\n\n/swarm review",
        "<p>\n\n/swarm review",
        "I like Vec<String>.\n\n/swarm review\n\nI like Vec<u8>.",
    ]);
}

#[test]
fn an_edit_asks_for_what_it_added() {
    #[track_caller]
    fn check(before: &str, after: &str, verbs: &[Verb], unknown: &[&str]) {
        let got = new_in(&Untrusted::new(before), &Untrusted::new(after), &names());
        assert_eq!((got.verbs.as_slice(), got.unknown), (verbs, unknown.iter().map(|w| (*w).to_owned()).collect()));
    }
    check("", "/swarm review", R, &[]);
    check("/swarm review", "/swarm review", NONE, &[]);
    check("/swarm review", "Please.\n\n@octo-swarm review", NONE, &[]);
    check("/swarm review", "/swarm review\n/swarm review", R, &[]);
    check("/swarm review\n/swarm review", "/swarm review", NONE, &[]);
    check("/swarm review\n/swarm fix", "/swarm fix\n/swarm cancel\n/swarm review", &[Verb::Cancel], &[]);
    check("`/swarm review`", "/swarm review", R, &[]);
    check("/swarm review", "", NONE, &[]);
    check("/swarm reviw", "/swarm review", R, &[]);
    check("/swarm foo\n/swarm bar", "/swarm bar\n/swarm foo\n/swarm baz", NONE, &["baz"]);
    check("/swarm a\n/swarm b\n/swarm c\n/swarm d", "/swarm a\n/swarm b\n/swarm c\n/swarm d\n/swarm e", NONE, &["e"]);
}

#[test]
fn a_comment_longer_than_github_takes_holds_no_commands() {
    let fill = |chars: usize| format!("/swarm review\n\n{}", "\u{e9}".repeat(chars - 15));
    check(&fill(MAX_CHARS), R, &[]);
    check(&fill(MAX_CHARS + 1), NONE, &[]);
}

/// None of these may be slow. What each line is held against is bounded, so the test ends at once or, if that were lost,
/// visibly late.
#[test]
fn large_and_deeply_nested_comments_are_read() {
    let lines = |mark: &str| (0..500).fold(String::new(), |text, at| text + mark + &format!("/swarm word{at}\n"));
    check(&"/swarm review\n".repeat(500), R, &[]);
    check(&lines(""), NONE, &["word0", "word1", "word2"]);
    check(&lines("> "), NONE, &[]);
    nothing(&[&format!("/swarm review\n\n{}", "- ".repeat(300)), &format!("/swarm review\n\n> {}", "1) ".repeat(300))]);
    review(&[&format!("/swarm review\n\n{}", ">".repeat(300)), &format!("/swarm review\n\n{}", "-".repeat(300))]);

    let units = [
        ">",
        "- ",
        "1. ",
        "> - ",
        "[",
        "![",
        "[a](",
        "[a](<",
        "*a ",
        "*",
        "_a __b ",
        "~a ",
        "`a``",
        "<!--\n\n",
        "a <!-- ",
        "<a>",
        "x <a ",
        "<details>\n\n",
        "</b>",
        "$a",
        "$${",
        "{$",
        "|",
        "|-",
        "[^a]: ",
        "[^1]",
        "[a]: b\n",
        "[a]: x \"\n",
        "<![CDATA[",
        "a <?",
        "a <!A ",
        "&",
        "\\",
        "a\n",
        "\n",
        "    ",
        "<http://a",
        "\u{202e}",
    ];
    for unit in units {
        for tail in ["", "a\n", "\n"] {
            let half = MAX_CHARS / if tail.is_empty() { 1 } else { 2 } - 20;
            let mut body = String::from("/swarm review\n\n");
            body.push_str(&unit.repeat(half / unit.chars().count()));
            let _ = write!(body, "\n{}", tail.repeat(if tail.is_empty() { 0 } else { half / tail.len() }));
            assert!(body.chars().count() <= MAX_CHARS);
            let got = read(&body);
            assert!(
                got == Commands { verbs: R.to_vec(), ..Commands::default() } || got.is_empty(),
                "{unit:?} {tail:?}"
            );
        }
    }
}

#[test]
fn the_page_for_users_names_every_verb() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md")).unwrap();
    let mut table = String::from("| write | on a pull request it will | on an issue it will |\n| --- | --- | --- |\n");
    for verb in Verb::ALL {
        let about = |on| verb.about(on).unwrap_or("do nothing");
        let (pull, issue) = (about(Conversation::Pull), about(Conversation::Issue));
        let _ = writeln!(table, "| `{PREFIX} {verb}` | {pull} | {issue} |");
    }
    assert!(
        page.contains(&format!("{table}\n")),
        "docs/commands.md should hold this table and no more verbs:\n{table}"
    );
}

/// Lines that a person could write, ours among them.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("/swarm review".to_owned()),
        Just("@octo-swarm fix".to_owned()),
        Just("/swarm".to_owned()),
        Just("/swarm word --x=y".to_owned()),
        Just(String::new()),
        "[a-z .,!?*_<>&/@#`$|~()\\[\\]-]{0,20}",
        "\\PC{0,12}",
    ];
    proptest::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

/// Lines that stay lines of a quote, of code, of a comment, whatever they hold.
fn without(text: &str, ends: &[&str]) -> String {
    text.lines()
        .filter(|line| !ends.iter().any(|end| line.contains(end)))
        .fold(String::new(), |all, line| all + line + "\n")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn quoted_text_never_commands(text in text()) {
        let quote: String = text.lines().map(|line| format!("> {line}\n")).collect();
        nothing(&[&quote]);
        nothing(&[&format!("Look:\n{quote}\nDone.")]);
    }

    #[test]
    fn code_never_commands(text in text()) {
        let inside = without(&text, &["```"]);
        nothing(&[&format!("```\n{inside}```\n")]);
        nothing(&[&format!("before\n~~~~ sh\n{}~~~~", without(&text, &["~~~~"]))]);
        let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
        nothing(&[&indented]);
        let one_span = without(&text, &["`"]).lines().filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ");
        nothing(&[&format!("`{one_span} `")]);
    }

    #[test]
    fn comments_and_elements_never_command(text in text(), name in "details|pre|div|b|p|x-unknown|TABLE") {
        nothing(&[&format!("<!--\n{}-->", without(&text, &["-->"]))]);
        // What would swallow the end tag, or take it for itself, is left out.
        let inside = without(&text, &["</", "-->", "```", "~~~", "<!", "<?", &format!("<{name}")]);
        nothing(&[&format!("<{name}>\n{inside}\n</{name}>\n")]);
        nothing(&[&format!("<{name}>\n\n{inside}\n\n</{name}>\n")]);
    }

    #[test]
    fn a_hidden_character_on_its_line_ends_a_command(at in 0..14_usize, hidden in "[\u{a0}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{feff}\u{e0020}-\u{e007f}]") {
        let mut line = "/swarm review".to_owned();
        line.insert_str(at.min(line.len()), &hidden);
        nothing(&[&line]);
    }

    #[test]
    fn line_ends_do_not_matter_and_nothing_panics(
        text in text(),
        other in any::<String>(),
        marks in "[-a1 \t\n\r>*+_~`|:$^.()!&;<='\"/?\\[\\]\\\\#]{0,60}",
    ) {
        prop_assert_eq!(read(&text), read(&text.replace('\n', "\r\n")));
        let _ = read(&format!("/swarm\n{other}\n{marks}"));
        let _ = nearest(&other);
        prop_assert!(new_in(&Untrusted::new(text.as_str()), &Untrusted::new(text.as_str()), &names()).is_empty());
    }

    #[test]
    fn unknown_words_are_short_and_single(text in text(), word in "\\PC{1,80}") {
        let got = read(&format!("{text}\n\n/swarm {word}"));
        prop_assert!(got.unknown.len() <= MAX_UNKNOWN);
        for word in got.unknown {
            prop_assert!(word.chars().count() <= 40 && !word.contains('\n'), "{}", word);
            prop_assert!(word.split_once('=').is_none_or(|(_, rest)| rest.is_empty() || rest.starts_with(['…', ' '])), "{}", word);
        }
    }
}
