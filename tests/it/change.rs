//! The documents of a change: the four tools on a real disk, their order, what they refuse, and what comes back.

mod order;
mod round_trip;
mod strange;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use octoswarm::change::{Changes, Error, Kind, Made};
use octoswarm::domain::Millis;
use serde_json::{Value, json};

/// 2026-11-21T10:15:35Z.
const NOW: Millis = 1_795_256_135_000;

/// An empty root, and the changes below it.
struct Bench {
    dir: tempfile::TempDir,
    changes: Changes,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let changes = Changes::new(dir.path().to_owned());
        Self { dir, changes }
    }

    fn create(&self, kind: Kind, input: &Value) -> Result<Made, Error> {
        self.changes.create(kind, input, NOW)
    }

    #[track_caller]
    fn made(&self, kind: Kind, input: &Value) -> Made {
        self.create(kind, input).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What is told of a call that is refused; nothing on the disk is another thing than before.
    #[track_caller]
    fn refused(&self, kind: Kind, input: &Value) -> Error {
        let before = self.files();
        let error = self.create(kind, input).unwrap_err();
        assert_eq!(self.files(), before, "{error}");
        error
    }

    /// Every file and folder below the root.
    fn files(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        fn walk(at: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
            for entry in std::fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                if path.symlink_metadata().unwrap().is_dir() {
                    found.insert(path.clone(), None);
                    walk(&path, found);
                } else {
                    found.insert(path.clone(), std::fs::read(&path).ok());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(self.dir.path(), &mut found);
        found
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("agentd/changes").join(name)
    }

    #[track_caller]
    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn rewrite(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }
}

const LONG: &str = "The steps hand their documents on unchecked, and what is wrong shows three steps later.";

fn proposal(id: &str, specs: &[(&str, &[&str])]) -> Value {
    let specs: Vec<Value> = specs.iter().map(|(id, depends)| json!({ "id": id, "depends": depends })).collect();
    json!({
        "change_id": id,
        "summary": "Check what each step hands on.",
        "why": LONG,
        "what_changes": ["Every document is checked before the next step begins"],
        "impact": { "scope": "minor", "affected_files": 2, "affected_specs": specs },
    })
}

fn spec(change: &str, id: &str) -> Value {
    json!({
        "change_id": change,
        "spec_id": id,
        "title": "Checked documents",
        "overview": LONG,
        "requirements": [{ "id": "R1", "title": "Checked first", "description": "It MUST be checked.", "priority": "high" }],
        "scenarios": [{ "name": "Too short", "when": "a text is too short", "then": "it is refused" }],
    })
}

fn tasks(change: &str) -> Value {
    json!({
        "change_id": change,
        "tasks": [
            { "layer": "testing", "number": 1, "title": "Test it", "description": "A test of each refusal.",
              "file": { "path": "tests/check.rs", "action": "CREATE" }, "depends": ["2.1"] },
            { "layer": "logic", "number": 1, "title": "Check it", "description": "A check of each field.",
              "file": { "path": "src/check.rs", "action": "MODIFY" } },
        ],
    })
}

fn review(change: &str, verdict: &str, severities: &[&str]) -> Value {
    let issue = |severity: &&str| json!({ "title": format!("A {severity} one"), "severity": severity, "description": "It does not hold." });
    let issues: Vec<Value> = severities.iter().map(issue).collect();
    json!({ "change_id": change, "verdict": verdict, "summary": "What was seen.", "issues": issues })
}

#[test]
fn s4_8_structured_review_submission() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("fix-workflow-bugs", &[]));
    bench.made(Kind::Tasks, &tasks("fix-workflow-bugs"));
    let made = bench.made(Kind::Review, &review("fix-workflow-bugs", "NEEDS_FIX", &["Low", "High", "High"]));
    assert_eq!(made.path, "agentd/changes/fix-workflow-bugs/REVIEW.md");
    assert_eq!(made.message, "Written: agentd/changes/fix-workflow-bugs/REVIEW.md.");
    let text = bench.text("fix-workflow-bugs/REVIEW.md");
    assert!(text.contains("\n## Verdict\n\nNEEDS_FIX\n") && text.contains("\nverdict: NEEDS_FIX\n"), "{text}");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("##")).collect();
    let want = [
        "## Verdict",
        "## Summary",
        "## Issues",
        "### High",
        "#### A High one",
        "#### A High one",
        "### Low",
        "#### A Low one",
    ];
    assert_eq!(headings, want);
    bench.made(Kind::Review, &review("fix-workflow-bugs", "APPROVED", &[]));
    assert!(bench.text("fix-workflow-bugs/REVIEW.md").ends_with("\n## Issues\n\nNo issues found.\n"));
}

#[test]
fn s4_9_tasks_metadata_consistency() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("fix-workflow-bugs", &[]));
    let made = bench.made(Kind::Tasks, &tasks("fix-workflow-bugs"));
    assert_eq!(made.path, "agentd/changes/fix-workflow-bugs/tasks.md");
    let text = bench.text("fix-workflow-bugs/tasks.md");
    let front = text.split("---\n").nth(1).unwrap();
    for line in [
        "id: fix-workflow-bugs",
        "change_id: fix-workflow-bugs",
        "type: tasks",
        "version: 1",
        "proposal_ref: fix-workflow-bugs",
    ] {
        assert!(front.lines().any(|said| said == line), "{line}: {front}");
    }
    let fields: Value = serde_saphyr::from_str(front).unwrap();
    assert_eq!(fields["summary"], json!({ "total": 2, "completed": 0, "in_progress": 0, "blocked": 0, "pending": 2 }));
    let one = json!({ "task_count": 1, "estimated_files": 1 });
    assert_eq!(fields["layers"], json!({ "logic": one, "testing": one }));
    assert!(text.find("## 2. Logic").unwrap() < text.find("## 4. Testing").unwrap());
}

#[test]
fn s4_10_invalid_tool_input() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("fix-workflow-bugs", &[]));
    let mut input = spec("fix-workflow-bugs", "mcp-tools");
    for (overview, fine) in
        [("ä".repeat(49), false), (format!("  {}\n", "ä".repeat(49)), false), ("🙂".repeat(50), true)]
    {
        input["overview"] = json!(overview);
        if fine {
            bench.made(Kind::Spec, &input);
            continue;
        }
        let told = bench.refused(Kind::Spec, &input);
        assert!(matches!(&told, Error::Invalid { .. }) && told.to_string().contains("overview: is `"), "{told}");
        assert!(told.to_string().contains("expected at least 50 characters"), "{told}");
        assert!(!bench.path("fix-workflow-bugs/specs/mcp-tools.md").exists());
    }
    assert!(bench.path("fix-workflow-bugs/specs/mcp-tools.md").exists());
}

#[test]
fn s4_4_nothing_is_touched_before_an_input_is_valid_and_every_fault_is_named() {
    let bench = Bench::new();
    let valid = [
        (Kind::Proposal, proposal("a", &[])),
        (Kind::Spec, spec("a", "b")),
        (Kind::Tasks, tasks("a")),
        (Kind::Review, review("a", "APPROVED", &["Low"])),
    ];
    // Not even the folder is made for what is refused.
    for (kind, input) in &valid {
        let required = kind.form().schema()["required"].as_array().unwrap().clone();
        for field in required {
            let mut input = input.clone();
            input.as_object_mut().unwrap().remove(field.as_str().unwrap());
            let told = bench.refused(*kind, &input);
            assert!(told.to_string().contains(&format!("{}: is missing", field.as_str().unwrap())), "{told}");
        }
        let mut more = input.clone();
        more["project_path"] = json!("/etc");
        assert!(bench.refused(*kind, &more).to_string().contains("project_path: is no field that is known"));
        for id in ["", "A", "a--b", "-a", "a-", "../a", "a/b", "a b", "a\n", &"a".repeat(65)] {
            let mut input = input.clone();
            input["change_id"] = json!(id);
            assert!(bench.refused(*kind, &input).to_string().contains("change_id: is "), "{id}");
        }
    }
    assert!(bench.files().is_empty());
    let mut input = tasks("a");
    input["tasks"][0]["file"]["path"] = json!("../outside");
    input["tasks"][0]["depends"] = json!(["2.7"]);
    input["tasks"][1]["number"] = json!(0);
    input["tasks"][1]["layer"] = json!("Logic");
    let told = bench.refused(Kind::Tasks, &input).to_string();
    for fault in ["tasks[0].file.path: ", "tasks[0].depends[0]: ", "tasks[1].number: ", "tasks[1].layer: is `Logic`"] {
        assert!(told.contains(fault), "{fault}: {told}");
    }
    for (verdict, severity) in
        [("approved", "High"), ("NEEDS_CHANGES", "High"), ("APPROVED", "HIGH"), ("APPROVED", "high")]
    {
        bench.refused(Kind::Review, &review("a", verdict, &[severity]));
    }
    let mut huge = spec("a", "b");
    huge["overview"] = json!("x".repeat(2 << 20));
    assert!(bench.refused(Kind::Spec, &huge).to_string().contains("more than 1 MiB"));
}

#[test]
fn s4_5_a_review_approves_with_a_warning_where_an_issue_is_high() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[]));
    bench.made(Kind::Tasks, &tasks("a"));
    let made = bench.made(Kind::Review, &review("a", "APPROVED", &["High"]));
    assert_eq!(made.warnings, ["verdict: is `APPROVED`, and issues of severity `High` are 1"]);
    assert_eq!(made.phase.word(), "implemented");
    let mut results = review("a", "NEEDS_FIX", &["Medium"]);
    results["test_results"] = json!({ "passed": 3, "failed": 1, "total": 5 });
    results["issues"][0]["category"] = json!("correctness");
    results["issues"][0]["file"] = json!("src/check.rs");
    results["issues"][0]["line"] = json!(7);
    results["issues"][0]["recommendation"] = json!("Look twice.");
    bench.made(Kind::Review, &results);
    let read = bench.changes.read("a").unwrap().review.unwrap();
    assert_eq!(serde_json::to_value(&read.content.review).unwrap(), results);
    results["test_results"]["total"] = json!(3);
    assert!(bench.refused(Kind::Review, &results).to_string().contains("test_results.total: is 3, fewer than"));
}
