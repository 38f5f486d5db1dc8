use serde_json::json;

use super::*;
use crate::domain::{Category, ChangeKind, DiffLine, Fingerprint, Hunk, LineKind, Severity, Sha, Span};

/// A change of `a.py` whose listed lines are added.
fn facts(lines: u32, added: &[u32]) -> ReviewFacts {
    let line = |n: u32| DiffLine {
        kind: if added.contains(&n) { LineKind::Added } else { LineKind::Context },
        old: None,
        new: Some(n),
        text: String::new(),
    };
    let hunk =
        Hunk { old_start: 1, old_lines: 0, new_start: 1, new_lines: lines, lines: (1..=lines).map(line).collect() };
    ReviewFacts {
        repo: "a/b".into(),
        base: Sha::parse(&"1".repeat(40)).unwrap(),
        head: Sha::parse(&"2".repeat(40)).unwrap(),
        files: vec![FileDiff {
            path: "a.py".into(),
            old_path: None,
            kind: ChangeKind::Modified,
            binary: false,
            hunks: vec![hunk],
        }],
        not_read: Vec::new(),
        watched: Vec::new(),
        settings: ReviewSettings::default(),
        linted: Linted::default(),
    }
}

fn told(tool: &str, rule: &str, line: u32, cwes: &[u32]) -> Told {
    Told {
        tool: tool.into(),
        rule: rule.into(),
        severity: Severity::Medium,
        category: Category::Improvement,
        message: "m".into(),
        about: String::new(),
        help: None,
        cwes: cwes.to_vec(),
        path: "a.py".into(),
        region: Some(crate::analysis::told::Region {
            start_line: line,
            start_column: None,
            end_line: None,
            end_column: None,
            unit: Unit::Character,
        }),
        edits: Vec::new(),
    }
}

fn texts(text: &str) -> Texts {
    Texts::from([("a.py".to_owned(), text.into())])
}

fn answered(name: &str, new: &str, all: Vec<Told>, old: Option<(&str, Vec<Told>)>) -> Set {
    let before = old.map(|(text, all)| looks(&set(None, all, &texts(text)))).unwrap_or_default();
    let run = LinterRun { name: name.into(), not_run: None, left_out: Vec::new() };
    Set { run, spoken: true, silent: false, all: set(None, all, &texts(new)), before }
}

fn ids(linted: &Linted) -> Vec<String> {
    linted.fresh.iter().map(|one| format!("{}:{}", one.finding.rule, one.finding.span.start_line)).collect()
}

#[test]
fn only_what_the_change_wrote_and_brought_is_news() {
    let new = "new()\nmoved()\nold()\n";
    let all = vec![told("t", "R", 1, &[]), told("t", "R", 2, &[]), told("t", "R", 3, &[])];
    let old = ("old()\nmoved()\n", vec![told("t", "R", 1, &[]), told("t", "R", 2, &[])]);
    let linted = gather(vec![answered("t", new, all, Some(old))], &facts(3, &[1, 2]));
    assert_eq!(ids(&linted), ["t/R:1"]);
    assert_eq!(linted.present.len(), 3, "whatever is there keeps its thread");
}

#[test]
fn two_linters_that_say_the_same_at_one_place_are_told_once() {
    let text = "eval(x)\neval(y)\n";
    let ruff = answered("ruff", text, vec![told("ruff", "S307", 1, &[])], None);
    let other = vec![told("semgrep", "no-eval", 1, &[95]), told("semgrep", "no-eval", 2, &[95])];
    let semgrep = answered("semgrep", text, other, None);
    let codeql = vec![told("codeql", "py/eval", 2, &[94, 95]), told("codeql", "py/other", 2, &[1])];
    let codeql = answered("codeql", text, codeql, None);
    let linted = gather(vec![ruff, semgrep, codeql], &facts(2, &[1, 2]));
    assert_eq!(ids(&linted), ["ruff/S307:1", "semgrep/no-eval:1", "semgrep/no-eval:2", "codeql/py/other:2"]);
}

#[test]
fn ours_wins_by_weakness_or_by_the_table() {
    let rule = RuleId("eval-of-data".into());
    let ours = Finding {
        category: Category::Critical,
        severity: Severity::High,
        path: "a.py".into(),
        span: Span { start_line: 2, start_column: 1, end_line: 3, end_column: 2 },
        message: String::new(),
        why: String::new(),
        fix: None,
        reference: Some("CWE-95".into()),
        fingerprint: Fingerprint::new(&rule, "a.py", "x", 0),
        rule,
    };
    let theirs = |rule: &str, line: u32, cwes: &[u32]| {
        let grounded = set(None, vec![told("ruff", rule, line, cwes)], &texts("a\nb\nc\nd\n")).remove(0);
        Foreign { finding: grounded.finding, cwes: grounded.cwes }
    };
    assert!(is_same(&ours, &theirs("S307", 2, &[])));
    assert!(is_same(&ours, &theirs("X1", 3, &[95])));
    assert!(!is_same(&ours, &theirs("S307", 4, &[95])));
    assert!(!is_same(&ours, &theirs("X1", 2, &[79])));
}

#[test]
fn ten_thousand_results_do_not_drown_a_review() {
    let text = "x\n".repeat(10_000);
    let mut all: Vec<Told> = (1..=10_000).map(|line| told("t", "R", line, &[])).collect();
    all[9_000].severity = Severity::High;
    let lines: Vec<u32> = (1..=10_000).collect();
    let began = std::time::Instant::now();
    let linted = gather(vec![answered("t", &text, all, None)], &facts(10_000, &lines));
    assert_eq!(linted.fresh.len(), MAX_FRESH);
    assert_eq!(linted.fresh[0].finding.severity, Severity::High, "the worst comes first");
    assert_eq!(linted.runs[0].left_out, ["9900 more on changed lines, beyond the 100 that are told"]);
    assert!(linted.silent.contains("t"), "not all of them can be remembered");
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

#[test]
fn a_log_that_says_it_failed_is_told_of_as_such() {
    let log = json!({ "version": "2.1.0", "runs": [{ "tool": { "driver": { "name": "T" } }, "results": [],
        "invocations": [{ "executionSuccessful": false }] }] });
    let log = [Given { name: "x.sarif", text: &log.to_string() }];
    let linted = given(&log, "/r", &texts("x\n"), &facts(1, &[1])).unwrap();
    assert_eq!(linted.runs[0].not_run.as_deref(), Some("it did not finish: it says so without a reason"));
    let none = given(&[Given { name: "x.sarif", text: "{}" }], "/r", &texts("x\n"), &facts(1, &[1])).unwrap_err();
    assert!(none.starts_with("`x.sarif` cannot be used: it is no SARIF log"), "{none}");
}
