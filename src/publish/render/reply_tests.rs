use super::*;
use crate::artifact::reply::{TestedCheck, TestedOutcome};
use crate::domain::{PullNumber, Untrusted};
use crate::publish::render::tests::{HOSTILE, assert_inert};

const MARKER: &str = "<!-- octoswarm:v1 answer 7/1 -->";

fn show(reply: Reply) -> String {
    let text = super::reply(&[reply], "octoswarm", None, MARKER);
    assert_inert(&text, &[12]);
    text.strip_suffix(&format!("\n\n{MARKER}")).unwrap().to_owned()
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

/// Every reply there is, with this text wherever somebody else's may stand. A new variant stops this from compiling.
fn every(text: &str) -> Vec<Reply> {
    let (one, many) = (text.to_owned(), vec![text.to_owned(); 40]);
    let line = StatusLine {
        what: one.clone(),
        head: Some(one.clone()),
        state: one.clone(),
        detail: one.clone(),
        at: one.clone(),
    };
    let number = PullNumber(12);
    let all = vec![
        Reply::Help { on: Conversation::Pull },
        Reply::Help { on: Conversation::Issue },
        Reply::Unknown { word: one.clone(), nearest: Some(Verb::Fix) },
        Reply::Refused { login: one.clone(), what: one.clone(), has: one.clone() },
        Reply::TooMany { minutes: 12 },
        Reply::NotHere { verb: Verb::Review, why: one.clone() },
        Reply::Status(Status { running: vec![line.clone(); 40], recent: vec![line; 40] }),
        Reply::Cancelled { jobs: 2 },
        Reply::Retried { what: one.clone() },
        Reply::NothingToRetry,
        Reply::ReviewAsked { head: one.clone(), already: false },
        Reply::Working { what: one.clone() },
        Reply::Fixed {
            commit: one.clone(),
            files: 3,
            fixes: vec![FixNote { rule: one.clone(), path: one.clone(), line: 3 }; 80],
            left: 3,
        },
        Reply::NothingToFix { why: one.clone() },
        Reply::NameTheHead { head: one.clone(), named: Some(one.clone()), fork: true },
        Reply::Tested { head: one.clone(), moved: Some(one.clone()), checks: tested(text) },
        Reply::PullOpened { number, adopted: true, draft: true },
        Reply::AlreadyAddressed { number, author: one.clone() },
        Reply::CannotSolve { understood: many.clone(), plan: many.clone(), files: many.clone(), why: many },
        Reply::Declined { why: one.clone() },
        Reply::Escalated {
            stalled: vec![
                Stalled::ChangesRequested { by: one.clone(), since: one.clone() },
                Stalled::ChecksFailed { checks: vec![one.clone(); 40], since: one.clone() },
            ],
            days: 7,
        },
        Reply::Failed { what: one.clone(), why: one.clone(), hint: Some(one) },
    ];
    for reply in &all {
        match reply {
            Reply::Help { .. }
            | Reply::Unknown { .. }
            | Reply::Refused { .. }
            | Reply::TooMany { .. }
            | Reply::NotHere { .. }
            | Reply::Status(_)
            | Reply::Cancelled { .. }
            | Reply::Retried { .. }
            | Reply::NothingToRetry
            | Reply::ReviewAsked { .. }
            | Reply::Working { .. }
            | Reply::Fixed { .. }
            | Reply::NothingToFix { .. }
            | Reply::NameTheHead { .. }
            | Reply::Tested { .. }
            | Reply::PullOpened { .. }
            | Reply::AlreadyAddressed { .. }
            | Reply::CannotSolve { .. }
            | Reply::Declined { .. }
            | Reply::Escalated { .. }
            | Reply::Failed { .. } => {}
        }
    }
    all
}

/// A check of each outcome, and many that failed.
fn tested(text: &str) -> Vec<TestedCheck> {
    let check =
        |outcome| TestedCheck { kind: text.to_owned(), command: text.to_owned(), dir: text.to_owned(), outcome };
    let failed = TestedOutcome::Failed {
        why: text.to_owned(),
        numbers: text.to_owned(),
        millis: 1_234,
        names: vec![text.to_owned(); 40],
        more: 3,
        tail: Untrusted::new(text),
        before: true,
    };
    let mut all = vec![check(failed); 30];
    all.push(check(TestedOutcome::Passed { numbers: text.to_owned(), millis: 50 }));
    all.push(check(TestedOutcome::NotRun { why: text.to_owned() }));
    all
}

/// Without what stands between fences.
fn unfenced(body: &str) -> String {
    let mut fence: Option<String> = None;
    let mut out = String::new();
    for line in body.lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if ticks.len() > 2 && line.ends_with("text") => fence = Some(ticks),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    assert_eq!(fence, None, "a fence is open at the end: {body}");
    out
}

#[test]
fn the_help_on_a_pull_request_lists_what_does_something_there_and_who_may_ask() {
    let help = show(Reply::Help { on: Conversation::Pull });
    insta::assert_snapshot!(help, @r"
    **What octoswarm does when asked here.** Write one of these in a comment, alone on its line:

    | Comment | What happens |
    | --- | --- |
    | `/swarm review` | review the latest commit, also if it was reviewed before |
    | `/swarm fix` | commit the mechanical fixes that remain |
    | `/swarm test` | run the repository's own checks over the latest commit; for a fork write `/swarm test COMMIT` |
    | `/swarm status` | say what was done here and what is running |
    | `/swarm cancel` | end what is running here |
    | `/swarm retry` | try again what failed here last |
    | `/swarm help` | show what can be asked for here |

    A mention does the same as the prefix: `@octoswarm review`.

    Issues have another `/swarm fix`, which makes the change that the issue asks for.

    Only people who may write to this repository can ask. Anything else in a comment is ignored, and so are commands in quotes and in code, and whatever bots say.
    ");
}

#[test]
fn the_help_on_an_issue_lists_what_does_something_there_and_who_may_ask() {
    let help = show(Reply::Help { on: Conversation::Issue });
    insta::assert_snapshot!(help, @r"
    **What octoswarm does when asked here.** Write one of these in a comment, alone on its line:

    | Comment | What happens |
    | --- | --- |
    | `/swarm fix` | make the change that the issue asks for, as a pull request |
    | `/swarm status` | say what was done here and what is running |
    | `/swarm cancel` | end what is running here |
    | `/swarm retry` | try again what failed here last |
    | `/swarm help` | show what can be asked for here |

    A mention does the same as the prefix: `@octoswarm fix`.

    Setting the label on this issue asks for the same as `/swarm fix`. The label is `swarm`, unless `.github/octoswarm.yml` on the default branch names another.

    Pull requests have `/swarm review` and `/swarm test`, too, and another `/swarm fix`, which commits mechanical fixes.

    Only people who may write to this repository can ask. Anything else in a comment is ignored, and so are commands in quotes and in code, and whatever bots say.
    ");
}

#[test]
fn the_help_lists_every_verb_that_does_something_there_and_no_other() {
    for on in [Conversation::Pull, Conversation::Issue] {
        let help = show(Reply::Help { on });
        for verb in Verb::ALL {
            let row = format!("| `/swarm {verb}` | {} |\n", verb.about(on).unwrap_or_default());
            assert_eq!(help.contains(&row), verb.about(on).is_some(), "{verb} on {on:?}: {help}");
            assert!(help.contains(&format!("`/swarm {verb}`")), "every form is named somewhere: {verb} on {on:?}");
        }
    }
}

#[test]
fn short_answers_read_well() {
    let word = |word: &str, nearest| Reply::Unknown { word: word.into(), nearest };
    let refused = |has: &str| Reply::Refused { login: "mona".into(), what: "/swarm fix".into(), has: has.into() };
    let all = [
        word("revew", Some(Verb::Review)),
        word("dance", None),
        refused("read"),
        refused(""),
        Reply::TooMany { minutes: 1 },
        Reply::NotHere { verb: Verb::Review, why: "This is an issue; only pull requests are reviewed.".into() },
        Reply::Cancelled { jobs: 0 },
        Reply::Cancelled { jobs: 1 },
        Reply::Retried { what: "the review of `ab12ab1`.".into() },
        Reply::NothingToRetry,
        Reply::ReviewAsked { head: "ab12".repeat(10), already: false },
        Reply::ReviewAsked { head: "ab12ab1".into(), already: true },
        Reply::Working { what: "the mechanical fixes of this pull request.".into() },
        Reply::NothingToFix { why: "No finding here has a mechanical fix.".into() },
        Reply::PullOpened { number: PullNumber(12), adopted: false, draft: false },
        Reply::PullOpened { number: PullNumber(12), adopted: true, draft: true },
        Reply::AlreadyAddressed { number: PullNumber(12), author: "hubot".into() },
        Reply::Declined { why: "The conversation is locked.".into() },
        Reply::Failed {
            what: "pushing the fixes.".into(),
            why: "GitHub refused the push: protected branch.".into(),
            hint: Some("Allow the App to push to `main`.".into()),
        },
    ];
    insta::assert_snapshot!(all.map(show).join("\n\n===\n\n"), @r"
    `revew` is not a command. Did you mean `/swarm review`? `/swarm help` shows what can be asked for.

    ===

    `dance` is not a command. `/swarm help` shows what can be asked for.

    ===

    **Not done.** `/swarm fix` takes write access to this repository; GitHub says that `mona` has `read` access. Somebody who may write here can ask instead.

    ===

    **Not done.** `/swarm fix` takes write access to this repository; GitHub says that `mona` has none. Somebody who may write here can ask instead.

    ===

    **That was a lot of commands.** For the next 1 minute no command in this conversation is obeyed. Ask again after that.

    ===

    **`/swarm review` does nothing here.** This is an issue; only pull requests are reviewed.

    ===

    Nothing was running here, so nothing was cancelled.

    ===

    **Cancelled:** 1 job.

    ===

    **Trying again:** the review of `ab12ab1`.

    ===

    Nothing has failed here, so there is nothing to try again.

    ===

    **A review of `ab12ab1` is on its way.** Its outcome will stand in the check run and, if there is something to say, in a review.

    ===

    A review of `ab12ab1` is under way already.

    ===

    **Working on it:** the mechanical fixes of this pull request.

    The outcome will stand here.

    ===

    **Nothing was changed.** No finding here has a mechanical fix.

    ===

    **Pull request #12 makes the change.** Please review it as you would anybody's.

    ===

    **Pull request #12 makes the change.** It was open already. It is a draft, because not everything could be checked: it says what was and what was not. Please look at it before you mark it as ready.

    ===

    **Nothing was changed:** #12 by `hubot` addresses this already. If it should not, close it and ask again.

    ===

    **This is not worked on.** The conversation is locked.

    ===

    **This did not work out:** pushing the fixes.

    GitHub refused the push: protected branch.

    **What to do:** Allow the App to push to `main`.
    ");
}

#[test]
fn the_status_tells_what_runs_and_what_was_done() {
    let line = |what: &str, head: Option<&str>, state: &str, detail: &str| StatusLine {
        what: what.into(),
        head: head.map(str::to_owned),
        state: state.into(),
        detail: detail.into(),
        at: "2026-11-21 10:15 UTC".into(),
    };
    let status = Status {
        running: vec![line("review", Some("ab12ab1"), "running", "reading 3 of 4 changed files")],
        recent: vec![
            line("fix", None, "failed", "the branch moved on"),
            line("review", Some("cd34cd3"), "finished", ""),
        ],
    };
    insta::assert_snapshot!(show(Reply::Status(status)), @r"
    Running:

    - **review** of `ab12ab1` · running · 2026-11-21 10:15 UTC: reading 3 of 4 changed files

    Before:

    - **fix** · failed · 2026-11-21 10:15 UTC: the branch moved on
    - **review** of `cd34cd3` · finished · 2026-11-21 10:15 UTC
    ");
    insta::assert_snapshot!(show(Reply::Status(Status::default())), @r"
    Nothing is running here.

    Nothing was finished here yet.
    ");
}

#[test]
fn a_fix_names_its_commit_and_every_place() {
    let fixes = [("self-compare", "src/a.rs", 3), ("dbg-macro", "src/b c.rs", 40)].map(|(rule, path, line)| FixNote {
        rule: rule.into(),
        path: path.into(),
        line,
    });
    let head = "ab12".repeat(10);
    insta::assert_snapshot!(show(Reply::Fixed { commit: head.clone(), files: 2, fixes: fixes.to_vec(), left: 0 }), @r"
    **2 fixes in 2 files**, pushed as `ab12ab1`.

    - `src/a.rs:3` · rule `self-compare`
    - `src/b c.rs:40` · rule `dbg-macro`

    No finding with a mechanical fix is left.
    ");
    let one = Reply::Fixed { commit: head, files: 1, fixes: fixes[..1].to_vec(), left: 1 };
    assert!(show(one).starts_with("**1 fix in 1 file**, pushed as `ab12ab1`."));
}

#[test]
fn an_issue_that_no_mechanic_solves_gets_one_helpful_answer() {
    let reply = Reply::CannotSolve {
        understood: texts(&["The list should be sorted by date.", "Nothing else should change."]),
        plan: texts(&["Find where the list is made.", "Sort it by `created_at`."]),
        files: texts(&["src/list.rs"]),
        why: texts(&["No rule describes this change, and the issue holds no patch."]),
    };
    insta::assert_snapshot!(show(reply), @r#"
    **Nothing was changed: this server has no mechanic that solves this issue.** What it made of the issue may help whoever does.

    **What was understood**

    - The list should be sorted by date.
    - Nothing else should change.

    **How it could be done**

    1. Find where the list is made.
    2. Sort it by `created_at`.

    **Files it would touch**

    - `src/list.rs`

    **Why nothing was changed**

    - No rule describes this change, and the issue holds no patch.

    **What would help**

    - Paste a patch into the issue's text, as `git diff` writes it, in a fenced block.
    - Or say there what to replace: "replace `old text` by `new text` in `path/of/the/file`".
    - Or name a rule whose fix is wanted, and the file. `octoswarm rules` lists the rules.
    - Then ask again with `/swarm fix`. The issue's title and text are read for that, not the comments.
    - For whoever runs this server: no language model is set up, so only such mechanical changes are made.
    "#);
    let bare = show(Reply::CannotSolve { understood: vec![], plan: vec![], files: vec![], why: vec![] });
    assert!(!bare.contains("Files it would touch") && bare.contains("What would help"), "{bare}");
}

#[test]
fn nothing_that_others_wrote_acts_in_any_reply() {
    for text in [HOSTILE, "", "`", "@", "#1", "-->", "x\n\ny", "\u{200b}", "***", "1. a", "a|b"] {
        for one in every(text) {
            assert_inert(&super::reply(std::slice::from_ref(&one), "octoswarm", None, MARKER), &[12]);
        }
        for all in every(text).chunks(SECTIONS) {
            let run = RunId(uuid::Uuid::nil());
            let body = super::reply(all, "octoswarm", Some(run), MARKER);
            assert_inert(&body, &[12]);
            assert_eq!(unfenced(&body).matches("\n\n---\n\n").count(), all.len() - 1, "{body}");
        }
    }
}

#[test]
fn a_reply_never_grows_too_long_and_keeps_its_end() {
    for text in ["𝄞".repeat(3_000), "\u{202e}".repeat(3_000), "`".repeat(3_000), "word ".repeat(900)] {
        for one in every(&text) {
            assert_inert(&super::reply(&[one], "octoswarm", None, MARKER), &[12]);
        }
        assert_inert(&super::reply(&every(&text), "octoswarm", None, MARKER), &[12]);
    }
    let many: Vec<_> = (0..500).map(|n| Reply::Unknown { word: format!("w{n}"), nearest: None }).collect();
    let body = super::reply(&many, "octoswarm", None, MARKER);
    assert_inert(&body, &[]);
    assert!(body.contains("480 more") && !body.contains("`w20`"), "{body}");
    let long =
        Reply::CannotSolve { understood: vec!["\u{202e}".repeat(9_000); 90], plan: vec![], files: vec![], why: vec![] };
    let body = show(long);
    assert!(body.contains("left out here") && body.contains("What would help"), "{body}");
}
