use super::*;
use crate::artifact::PullDraft;
use crate::domain::{IssueNumber, RunId, Sha};
use crate::publish::render::tests::{HOSTILE, assert_inert};

const MARKER: &str = "<!-- octoswarm:v1 pull contribute/7/3 -->";

fn intent(text: impl Fn(&str) -> String) -> PullIntent {
    let check = |what: &str, outcome| CheckNote { what: text(what), outcome };
    PullIntent {
        key: "contribute/7/3".into(),
        run: RunId(uuid::Uuid::nil()),
        issue: IssueNumber(3),
        issue_url: text("https://github.com/octo/calc/issues/3"),
        asked_by: Some(text("mona")),
        base_branch: "main".into(),
        closes_issue: true,
        head: Sha::parse(&"ab12".repeat(10)).unwrap(),
        draft: PullDraft {
            branch: "fix/issue-3-unsafe-yaml".into(),
            title: text("Load YAML safely"),
            commit_message: text("Load YAML safely"),
            summary: text(
                "The issue asks to load settings without running code.\n\n`yaml.load` became `yaml.safe_load`.",
            ),
            changes: vec![ChangeNote {
                path: text("src/settings.py"),
                added: 1,
                removed: 1,
                description: text("`yaml.load` to `yaml.safe_load`"),
            }],
            checks: vec![
                check("Every changed file was parsed again", CheckOutcome::Passed),
                check("The rule finds nothing any more", CheckOutcome::Failed { why: text("one place is left") }),
                check("The tests", CheckOutcome::NotRun { why: text("nothing of this repository is run") }),
            ],
            notes: vec![text("The issue's text was taken from when it was labelled.")],
            draft: true,
        },
    }
}

#[test]
fn a_pull_request_says_what_why_and_how_sure() {
    insta::assert_snapshot!(body(&intent(str::to_owned), MARKER), @r"
    The issue asks to load settings without running code.

    `yaml.load` became `yaml.safe_load`.

    ### What changed

    - `src/settings.py` (+1 −1): `yaml.load` to `yaml.safe_load`

    ### How it was checked

    - ✅ Every changed file was parsed again
    - ❌ The rule finds nothing any more: one place is left

    ### What was not checked

    - ⚪ The tests: nothing of this repository is run

    ### Before you merge

    - The issue's text was taken from when it was labelled.

    Fixes #3

    <sub>Made by octoswarm, asked for by `mona` · run 00000000-0000-0000-0000-000000000000</sub>

    <!-- octoswarm:v1 pull contribute/7/3 -->
    ");
    let elsewhere = PullIntent { closes_issue: false, ..intent(str::to_owned) };
    let text = body(&elsewhere, MARKER);
    assert!(text.contains("\nRefs #3\n") && !text.contains("Fixes"), "{text}");
}

#[test]
fn a_body_that_becomes_the_message_of_a_commit_switches_nothing_off() {
    for text in ["Mend `[skip ci]` it", "Mend [ci skip] it", "skip-checks: true", "`***NO_CI***`"] {
        let body = body(&intent(|_| text.to_owned()), MARKER).to_lowercase();
        for word in ["[skip ci]", "[ci skip]", "skip-checks:", "***no_ci***"] {
            assert!(!body.contains(word), "{body}");
        }
    }
}

#[test]
fn nothing_that_others_wrote_acts_in_a_pull_request() {
    for text in [HOSTILE.to_owned(), String::new(), "\u{202e}".repeat(50_000), "`a".repeat(50_000)] {
        let nasty = intent(|_| text.clone());
        assert_inert(&body(&nasty, MARKER), &[3]);
        let title = title(&nasty);
        assert!(!title.is_empty() && title.chars().count() <= TITLE && !title.contains('\n'), "{title:?}");
        for bad in ["@mona", "#1", "calc#2", "GH-3", "https://e"] {
            assert!(!title.contains(bad), "{bad} in {title}");
        }
    }
}

#[test]
fn a_title_is_one_plain_line() {
    #[track_caller]
    fn check(text: &str, want: &str) {
        let mut intent = intent(str::to_owned);
        intent.draft.title = text.to_owned();
        assert_eq!(title(&intent), want);
    }
    check("Load YAML safely", "Load YAML safely");
    check("  Sort\n the  list (#3) ", "Sort the list (#3)");
    check("fixes #9 [skip ci] for @mona", "fixes # 9 (skip ci) for @ mona");
    check("\n", "Change for issue #3");
}

#[test]
fn what_a_sweep_opened_says_that_nobody_asked_for_it_and_how_to_end_it() {
    let swept = PullIntent { asked_by: None, ..intent(str::to_owned) };
    let text = body(&swept, "<!-- marker -->");
    assert!(text.contains("Nobody asked for this pull request") && text.contains("`.github/octoswarm.yml`"), "{text}");
    assert!(!text.contains("asked for by"), "{text}");
    assert!(!body(&intent(str::to_owned), "<!-- marker -->").contains("Nobody asked"));
}
