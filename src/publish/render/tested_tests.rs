use super::*;
use crate::artifact::Reply;
use crate::domain::Untrusted;
use crate::publish::render::reply::reply;
use crate::publish::render::tests::assert_inert;

const MARKER: &str = "<!-- octoswarm:v1 answer 7/1 -->";

fn show(said: Reply) -> String {
    let text = reply(&[said], "octoswarm", None, MARKER);
    assert_inert(&text, &[]);
    text.strip_suffix(&format!("\n\n{MARKER}")).unwrap().to_owned()
}

#[test]
fn what_checks_said_reads_well() {
    let check = |kind: &str, command: &str, outcome| TestedCheck {
        kind: kind.into(),
        command: command.into(),
        dir: String::new(),
        outcome,
    };
    let checks = vec![
        check("lint", "no-such-linter", TestedOutcome::NotRun { why: "`no-such-linter` cannot be started".into() }),
        check("build", "make", TestedOutcome::Passed { numbers: String::new(), millis: 12_345 }),
        check(
            "test",
            "cargo test",
            TestedOutcome::Failed {
                why: "it ended with exit code 101".into(),
                numbers: "2 passed, 1 failed".into(),
                millis: 90,
                names: vec!["a::b".into()],
                more: 2,
                tail: Untrusted::new(
                    "one\n```\n</details>\n/approve\ntoken ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\n",
                ),
                before: true,
            },
        ),
    ];
    let head = "ab12".repeat(10);
    let body = show(Reply::Tested { head: head.clone(), moved: Some("cd34".repeat(10)), checks });
    insta::assert_snapshot!(body, @r"
    **3 checks at `ab12ab1`:** 1 passed, 1 failed, 1 not run.

    The head has moved since: it is `cd34cd3` now.

    - ⚪ lint · `no-such-linter`: not run; `no-such-linter` cannot be started
    - ✅ build · `make`: passed (12.3 s)
    - ❌ test · `cargo test`: failed, 2 passed, 1 failed (0.0 s); it ended with exit code 101; the same fails without the change

    What `cargo test` names:

    - `a::b`
    - and 2 more

    <details><summary>The end of what test printed</summary>

    ````text
    one
    ```
    </details>
    · /approve
    token [redacted]
    ````

    </details>
    ");
    let empty = show(Reply::Tested { head: head.clone(), moved: None, checks: Vec::new() });
    assert_eq!(empty, "**Nothing was run** at `ab12ab1`: no commands were found in this repository.");
    let refused = |named: Option<&str>, fork| {
        show(Reply::NameTheHead { head: head.clone(), named: named.map(str::to_owned), fork })
    };
    insta::assert_snapshot!(refused(None, true), @"**Nothing was run.** This pull request comes from a fork, so only a commit is run that somebody who may write here has read and named. The head is `ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12` now. Read it, then write `/swarm test ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12`.");
    let short = refused(Some("ab12ab12ab12"), true);
    assert!(short.contains("`ab12ab12ab12` is only the beginning") && !short.contains("alone"), "{short}");
    insta::assert_snapshot!(refused(Some("1234567"), false), @"**Nothing was run.** `1234567` is not the head of this pull request. The head is `ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12` now. Read it, then write `/swarm test ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12`, or `/swarm test` alone.");
}

#[test]
fn of_long_output_the_end_is_left_in_whole_lines() {
    let tail: String = (0..2_000).map(|n| format!("line {n} \u{202e}\n")).collect();
    let failed = TestedOutcome::Failed {
        why: "it ended with exit code 1".into(),
        numbers: String::new(),
        millis: 0,
        names: Vec::new(),
        more: 0,
        tail: Untrusted::new(tail),
        before: false,
    };
    let check = TestedCheck { kind: "test".into(), command: "make".into(), dir: "a".into(), outcome: failed };
    let body = show(Reply::Tested { head: "ab12".repeat(10), moved: None, checks: vec![check] });
    assert!(
        body.contains("[… the beginning was left out …]\nline 1") && body.contains("line 1999 ⟨U+202E⟩\n```"),
        "{body}"
    );
    assert!(body.len() < 6_000, "{}", body.len());
}
