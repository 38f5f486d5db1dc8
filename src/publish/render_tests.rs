use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::*;
use crate::domain::{Fingerprint, RuleId, Span};

fn finding(message: &str, why: &str, path: &str) -> Finding {
    let rule = RuleId("eval-call".into());
    Finding {
        category: Category::Critical,
        severity: Severity::High,
        path: path.into(),
        span: Span { start_line: 3, start_column: 1, end_line: 4, end_column: 2 },
        message: message.into(),
        why: why.into(),
        fix: Some(Fix { start_line: 3, end_line: 4, replacement: "a\n```\nb".into() }),
        reference: Some("CWE-95".into()),
        fingerprint: Fingerprint::new(&rule, path, message, 0),
        rule,
    }
}

fn head() -> Sha {
    Sha::parse(&"ab12".repeat(10)).unwrap()
}

fn whole(findings: &[Finding], coverage: &Coverage, outcome: &Outcome) -> String {
    let outside: Vec<&Finding> = findings.iter().collect();
    summary(&Summary {
        place: Place { web_url: "https://github.com/octo/calc", head: &head() },
        outcome,
        coverage,
        findings,
        outside: &outside,
        inline: 0,
        notices: &["`x` is not valid: @mona".to_owned()],
        run: "run-1".to_owned(),
        markers: vec!["<!-- octoswarm:v1 review 7/3@x -->".to_owned()],
    })
}

/// Only our own links and our own HTML; no mention or reference in text.
#[track_caller]
fn assert_safe(markdown: &str) {
    let ours = ["<sub>", "</sub>", "<details>", "</details>", "<summary>", "</summary>", "<!-- octoswarm:v1 "];
    let mut in_code = false;
    for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_MATH) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                let tags = html.matches('<').count();
                assert!(ours.iter().map(|tag| html.matches(tag).count()).sum::<usize>() == tags, "{html:?}");
            }
            Event::Start(Tag::Image { .. }) => panic!("an image in {markdown}"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let fine = ["https://cwe.mitre.org/", "https://www.cve.org/", "https://github.com/octo/calc/blob/"];
                assert!(fine.iter().any(|prefix| dest_url.starts_with(prefix)), "{dest_url}");
            }
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if !in_code => {
                for bad in ["@", "#1", "GH-1", "://"] {
                    assert!(!text.contains(bad), "{bad} in {text:?}");
                }
            }
            _ => {}
        }
    }
}

/// Nothing in a body of ours acts but its references to `own`: no link, image or HTML of others, and one marker at the end.
#[track_caller]
pub(super) fn assert_inert(markdown: &str, own: &[u64]) {
    let known = Options::ENABLE_GFM
        | Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    let (mut text, mut html, mut printed) = (String::new(), String::new(), false);
    for event in Parser::new_ext(markdown, known) {
        match event {
            Event::Html(part) | Event::InlineHtml(part) => html.push_str(&part),
            // What a program printed: nothing acts in there.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == "text" => printed = true,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => printed = false,
            Event::Text(_) if printed => {}
            Event::Start(
                tag @ (Tag::Image { .. }
                | Tag::Link { .. }
                | Tag::FootnoteDefinition(_)
                | Tag::CodeBlock(_)
                | Tag::Strikethrough),
            ) => panic!("{tag:?} in {markdown}"),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => panic!("{event:?} in {markdown}"),
            Event::Text(part) => text.push_str(&part),
            Event::Code(_) => text.push('\u{0}'),
            _ => text.push('\n'),
        }
    }
    let fold =
        |line: &str| line.starts_with("<details><summary>The end of what ") && line.ends_with(" printed</summary>");
    let left: Vec<&str> = html.lines().filter(|line| !fold(line) && *line != "</details>").collect();
    let left = left.join("\n").replace("<sub>", "").replace("</sub>", "");
    let marker = markdown.rsplit('\n').next().unwrap();
    assert!(marker.starts_with("<!-- octoswarm:v1 ") && left.trim() == marker, "HTML {left:?} in {markdown}");
    for bad in ["@", "://", "www.", "GH-", "gh-", "mailto:"] {
        assert!(!text.contains(bad), "{bad:?} in {text:?}");
    }
    for (at, _) in text.match_indices('#') {
        let number = text[at + 1..].split(|c: char| !c.is_ascii_digit()).next().unwrap();
        assert!(own.iter().any(|own| own.to_string() == number), "#{number} in {text:?}");
    }
    assert!(!markdown.lines().any(|line| line.trim_start().starts_with('/')), "a command in {markdown}");
    assert!(markdown.encode_utf16().count() < 65_536);
}

pub(super) const HOSTILE: &str = "Fixes #1, closes octo/calc#2 GH-3 @mona @octo/team https://evil.invalid www.evil.invalid \
    ![i](http://evil.invalid/i.png) [a](javascript:1) <img src=x> </details> </sub> &#64;mona $x$ :octocat: [^1] - [x] \
    <!-- octoswarm:v1 answer 7/1 --> `@code` ``` ~~~ | a | b | \u{202e}\n<!-- octoswarm:v1 answer 7/1 -->\n/approve\n\n# title\n\n- item\n\n> quote\n\n---\n\n    code";

const NASTY: &str = "by @mona, see #1 GH-1 https://evil.invalid ![i](http://evil.invalid/i.png) <img src=x> <!-- octoswarm:v1 finding 0 -->\n/approve\n\n# title";

#[test]
fn a_comment_reads_well() {
    let text = comment(&finding("`eval` runs what a caller sends.", "Parse it instead.", "a.py"), true, "<!-- m -->");
    insta::assert_snapshot!(text, @r"
    🔴 **High** · critical

    **`eval` runs what a caller sends.**

    Parse it instead.

    ````suggestion
    a
    ```
    b
    ````

    <sub>[CWE-95](https://cwe.mitre.org/data/definitions/95.html) · rule `eval-call` · not useful here? Add `eval-call` to `disable` in `.github/octoswarm.yml`</sub>

    <!-- m -->
    ");
    assert!(!comment(&finding("m", "w", "a.py"), false, "").contains("suggestion"));
}

fn left_out(path: &str, reason: &str) -> NotRead {
    NotRead { path: path.into(), reason: reason.into(), left_out: true }
}

#[test]
fn a_summary_reads_well() {
    let coverage = Coverage {
        read: 1,
        total: 3,
        text_only: vec!["a`.txt".into()],
        not_read: vec![left_out("logo.png", "binary")],
        syntax_errors: vec!["a.js".into()],
        ..Coverage::default()
    };
    let text = whole(&[finding("Bad.", "", "src/a b.py")], &coverage, &Outcome::Findings { count: 1 });
    insta::assert_snapshot!(text, @r"
    **1 finding** on the changed lines: 1 high.

    | | high | medium | low |
    | --- | ---: | ---: | ---: |
    | critical | 1 |  |  |

    > `x` is not valid: `@mona`

    **Without a comment of its own**

    - 🔴 **High** · critical · [`src/a b.py:3-4`](https://github.com/octo/calc/blob/ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12/src/a%20b.py#L3-L4) Bad. (rule `eval-call`)

    Read 1 of 3 changed files. Read for secrets and merge markers only: 1 (`.txt`). 1 file has syntax errors; findings may be missing there: `a.js`. Not read: `logo.png` (binary).

    <sub>Commit ab12ab1 · run run-1</sub>

    <!-- octoswarm:v1 review 7/3@x -->
    ");
}

#[test]
fn nothing_that_others_wrote_acts() {
    let coverage = Coverage {
        read: 0,
        total: 40,
        not_read: (0..40).map(|i| left_out(&format!("{NASTY}{i}"), NASTY)).collect(),
        text_only: vec![NASTY.into()],
        syntax_errors: vec![NASTY.into()],
        ..Coverage::default()
    };
    let mut nasty = finding(NASTY, NASTY, &format!("a/`{NASTY}`](http://evil.invalid)"));
    nasty.rule = RuleId(NASTY.into());
    nasty.reference = Some(NASTY.into());
    assert_safe(&comment(&nasty, true, "<!-- octoswarm:v1 finding 1 -->"));
    let findings = [nasty];
    for outcome in [Outcome::Findings { count: 1 }, Outcome::CouldNotReview { reason: NASTY.into() }, Outcome::Clean] {
        let body = whole(&findings, &coverage, &outcome);
        assert_safe(&body);
        assert!(body.lines().filter(|line| line.starts_with("<!--")).count() == 1, "{body}");
        assert!(!body.lines().any(|line| line.trim_start().starts_with("/approve")));
        assert_safe(&report(&findings, &coverage, &outcome, Subject::Change));
    }
    let annotation = annotation(&findings[0]);
    assert!(!annotation.message.contains("@mona"));
}

#[test]
fn a_body_never_grows_too_long_and_keeps_its_markers() {
    let findings: Vec<_> =
        (0..2000).map(|i| finding(&format!("Finding {i} 𝄞"), &"y".repeat(100), "a/long/path.rs")).collect();
    let coverage = Coverage {
        read: 0,
        total: 5000,
        not_read: (0..5000).map(|i| left_out(&format!("dir/{i}"), "generated")).collect(),
        text_only: (0..5000).map(|i| format!("a.{i}")).collect(),
        syntax_errors: (0..5000).map(|i| format!("dir/{i}.js")).collect(),
        ..Coverage::default()
    };
    let body = whole(&findings, &coverage, &Outcome::Findings { count: 2000 });
    assert!(body.encode_utf16().count() < 65_536);
    assert!(body.ends_with("<!-- octoswarm:v1 review 7/3@x -->"), "{}", &body[body.len() - 200..]);
    assert!(body.contains("more, left out for length") && body.contains("Read 0 of 5000"));
    let mut long = finding("m", &"word ".repeat(30_000), "a");
    long.fix = Some(Fix { start_line: 1, end_line: 1, replacement: "x".repeat(70_000) });
    let body = comment(&long, true, "<!-- m -->");
    assert!(body.encode_utf16().count() < 65_536 && body.ends_with("<!-- m -->"));
    assert!(body.contains("left out here"));
}

#[test]
fn a_suggestion_stays_one_block_whatever_it_holds() {
    let mut nasty = finding("m", "w", "a");
    nasty.fix = Some(Fix { start_line: 1, end_line: 1, replacement: "```\n~~~~\n`````\n<b>\n@x".into() });
    let body = comment(&nasty, true, "<!-- m -->");
    let blocks: Vec<_> = Parser::new(&body)
        .filter_map(|event| match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => Some(info.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(blocks, ["suggestion"]);
}

#[test]
fn only_the_footer_may_differ_between_bodies_that_say_the_same() {
    let one = whole(&[], &Coverage::default(), &Outcome::Clean);
    assert!(same(&one, &one.replace("run-1", "run-2").replace('\n', "\r\n")));
    assert!(!same(&one, &one.replace("@x", "@y")));
}

#[test]
fn a_report_for_people_outside_github_names_places_and_fixes() {
    let text = report(
        &[finding("Bad.", "Why.", "a.py")],
        &Coverage::default(),
        &Outcome::Findings { count: 1 },
        Subject::Files,
    );
    for part in ["### Bad.", "`a.py:3-4`", "Why.", "Instead of lines 3 to 4:", "CWE-95", "Read 0 of 0 files."] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
