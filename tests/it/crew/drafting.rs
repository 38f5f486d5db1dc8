//! The pull request that is proposed.

use octoswarm::artifact::PullDraft;
use octoswarm::artifact::draft::CheckOutcome;
use proptest::prelude::*;

use super::*;

fn changes(ready: bool) -> Value {
    json!({
        "agent": "agent-4-coder", "timestamp": "2026-11-21T10:00:00Z", "status": "completed",
        "branch": "fix/issue-7-x",
        "changes": [{
            "file": "shop/cart.py", "action": "modified", "diff": "--- a\n+++ b\n", "lines_changed": { "added": 2, "removed": 1 },
            "description": "Refuse nothing @octocat, closes #12 [skip ci]"
        }],
        "validation": {
            "lint_passed": false, "typecheck_passed": false, "build_passed": false, "tests_passed": false,
            "errors": ["not run: tests", "the second place in shop/mail.py was left alone"]
        },
        "summary": { "total_files_changed": 1, "total_additions": 2, "total_deletions": 1 },
        "commit_ready": ready, "suggested_commit_message": "fix: refuse an empty item, fixes #99\n\nSigned-off-by: Eve <e@v>"
    })
}

async fn draft(bench: &Bench, changes: Value) -> PullDraft {
    let mut known = bench.documents().await;
    known.insert("coder", changes);
    serde_json::from_value(bench.ask(Role::Pr, &known).await.unwrap()).unwrap()
}

async fn bench() -> Bench {
    let files = [
        ("shop/cart.py", "class Cart:\n    def add_item(self, item):\n        pass\n"),
        ("pytest.ini", ""),
        ("setup.py", ""),
    ];
    Bench::new(&files).await.issue("Cart.add_item accepts None", "It should refuse it.")
}

#[tokio::test]
async fn a_change_becomes_a_draft_that_says_how_it_was_checked() {
    let draft = draft(&bench().await, changes(true)).await;
    assert_eq!(draft.branch, "fix/issue-7-cart-add-item-accepts-none");
    assert_eq!(draft.title, "fix: refuse an empty item, fixes 99");
    assert_eq!(
        draft.commit_message,
        "fix: refuse an empty item, fixes 99\n\n- shop/cart.py: Refuse nothing octocat, closes 12"
    );
    assert!(draft.draft);
    assert_eq!((draft.changes.len(), draft.changes[0].added, draft.changes[0].removed), (1, 2, 1));
    let (last, passed) = draft.checks.split_last().unwrap();
    assert!(passed.len() == 4 && passed.iter().all(|check| check.outcome == CheckOutcome::Passed), "{passed:?}");
    let CheckOutcome::NotRun { why } = &last.outcome else { panic!("{last:?}") };
    assert!(last.what == "tests, linters and builds" && why.contains("pytest"), "{why}");
    assert_eq!(draft.notes, ["the second place in shop/mail.py was left alone", "no test was added"]);
}

#[tokio::test]
async fn beyond_the_limits_a_check_has_failed() {
    let mut bench = bench().await;
    bench.facts["settings"]["max_lines"] = 2.into();
    let draft = draft(&bench, changes(true)).await;
    assert!(draft.checks.iter().any(|check| matches!(check.outcome, CheckOutcome::Failed { .. })));
}

#[tokio::test]
async fn nothing_to_commit_is_a_draft_without_changes() {
    let bench = bench().await;
    let failed = json!({ "agent": "agent-4-coder", "timestamp": "t", "status": "failed", "errors": [] });
    for document in [changes(false), failed] {
        let draft = draft(&bench, document).await;
        assert!(draft.changes.is_empty() && draft.draft && draft.summary.contains("Nothing was changed."), "{draft:?}");
    }
}

#[tokio::test]
async fn the_repository_s_own_branch_names_are_kept_to() {
    let files =
        [("CONTRIBUTING.md", "Branches are called `bugfix/<name>` or `feature/<name>`.\n"), ("a.py", "x = 1\n")];
    let mut bench = Bench::new(&files).await.issue("Crash", "It fails.");
    assert_eq!(draft(&bench, changes(true)).await.branch, "bugfix/issue-7-crash");
    bench.facts["issue"]["number"] = 0.into();
    assert_eq!(draft(&bench, changes(true)).await.branch, "bugfix/crash");
}

#[tokio::test]
async fn a_path_outside_the_tree_is_no_change() {
    let bench = bench().await;
    let mut known = bench.documents().await;
    let mut bad = changes(true);
    bad["changes"][0]["file"] = "../x".into();
    known.insert("coder", bad);
    let error = bench.ask(Role::Pr, &known).await.unwrap_err().to_string();
    assert!(error.contains("../x"), "{error}");
}

#[test]
fn whatever_the_title_a_branch_and_a_message_are_valid() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bench = runtime.block_on(bench());
    let titles =
        prop_oneof![any::<String>(), "[-./@{~^:?*\\[\\\\ #a-zÄé日]{0,80}", "(fix|feat)?!?: ?\\PC{0,60}(\\.lock)?"];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let known = runtime.block_on(bench.documents());
    runner
        .run(&(titles, 0_u64..3), |(title, number)| {
            let mut known = known.clone();
            known.get_mut("scout").unwrap()["selected_issue"]["title"] = title.clone().into();
            let mut coder = changes(true);
            coder["suggested_commit_message"] = "".into();
            coder["changes"][0]["description"] = title.into();
            known.insert("coder", coder);
            let mut facts = bench.facts.clone();
            facts["issue"]["number"] = number.into();
            let mut input = json!({ "facts": facts });
            for (name, document) in &known {
                input[*name] = document.clone();
            }
            let draft = runtime.block_on(play(Role::Pr, &bench.context(), input)).unwrap();
            let draft: PullDraft = serde_json::from_value(draft).unwrap();
            git(bench.tree_dir(), &["check-ref-format", "--branch", &draft.branch]);
            let start = if number == 0 { "fix/".to_owned() } else { format!("fix/issue-{number}-") };
            let slug = draft.branch.strip_prefix(&start).unwrap();
            prop_assert!(!slug.is_empty() && slug.len() <= 40 && !slug.ends_with('-') && !slug.starts_with('-'));
            prop_assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
            prop_assert!(
                draft.title.starts_with("fix") || draft.title.starts_with("feat") || draft.title.contains(": ")
            );
            prop_assert!(draft.title.chars().count() <= 72);
            let body = draft.commit_message.split_once("\n\n").unwrap().1;
            prop_assert!(body.lines().all(|line| line.starts_with("- ") || line.starts_with("  ")), "{}", body);
            let closes = draft.commit_message.as_bytes().windows(2).any(|w| w[0] == b'#' && w[1].is_ascii_digit());
            prop_assert!(!closes, "{}", draft.commit_message);
            Ok(())
        })
        .unwrap();
}

/// Files below a folder, by their path in it.
pub(super) fn files_below(root: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut files, mut todo) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                files.push((path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    files
}

#[tokio::test]
async fn from_an_issue_to_a_draft_nobody_stands_in_another_s_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/issues");
    let mut bench = Bench::new(&files_below(&root.join("depot"))).await;
    let mut proposed = 0;
    for entry in fs::read_dir(&root).unwrap() {
        let dir = entry.unwrap().path();
        let Ok(issue) = fs::read_to_string(dir.join("issue.md")) else { continue };
        let expected = fs::read_to_string(dir.join("expected.yml")).unwrap_or_default();
        let wanted = expected.contains("changes:\n") || expected.contains("created:\n");
        let (title, body) = issue.split_once('\n').unwrap();
        bench = bench.issue(title.trim_start_matches("# "), body);
        let mut known = bench.documents().await;
        let coder = bench.ask(Role::Coder, &known).await.unwrap();
        let ready = coder["commit_ready"].as_bool().unwrap();
        assert_eq!(ready, wanted, "{}: {:#} {:#}", dir.display(), known["analyst"]["blockers"], coder["validation"]);
        let changed: Vec<String> =
            coder["changes"].as_array().unwrap().iter().map(|c| c["file"].as_str().unwrap().to_owned()).collect();
        let map = &known["explorer"];
        // The explorer knew only the issue; the coder knows what came of it.
        let slug = |branch: &Value| branch.as_str().unwrap().split_once('/').unwrap().1.to_owned();
        assert_eq!(slug(&coder["branch"]), slug(&map["repository"]["branch"]));
        assert!(ready || coder["branch"] == map["repository"]["branch"]);
        known.insert("coder", coder.clone());
        let draft: PullDraft = serde_json::from_value(bench.ask(Role::Pr, &known).await.unwrap()).unwrap();
        assert_eq!(draft.branch, coder["branch"].as_str().unwrap());
        let head = draft.title.split(['(', ':']).next().unwrap();
        assert!(!ready || draft.branch.starts_with(&format!("{head}/")), "{} {}", draft.branch, draft.title);
        assert_eq!(draft.changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>(), changed);
        proposed += usize::from(ready);
    }
    assert!(proposed >= 8, "{proposed}");
}
