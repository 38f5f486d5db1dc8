//! Whatever a valid input says, its document says the same when it is read.

use octoswarm::change::Kind;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Bench, LONG};

/// Lines that look like something else than what they are.
const LINES: [&str; 44] = [
    "---",
    "## Verdict",
    "APPROVED",
    "### High",
    "#### Title",
    "##### Recommendation",
    "# x",
    "   ## Issues",
    "    # code",
    "```",
    "```sh",
    "````",
    "~~~",
    "~~~~ x",
    "  ```",
    " ~~~",
    "\\# x",
    "\\\\---",
    "\\```",
    "===",
    "-",
    "- **WHEN** x",
    "- **GIVEN**: y",
    "- Status: completed",
    "- File: `x` (DELETE)",
    "- Severity: High",
    "* a",
    "+ b",
    "1. c",
    "> # d",
    "<!-- e",
    "<script>f",
    "key: value",
    "'",
    "\"%YAML 1.2",
    "&a *b !c",
    "null",
    "",
    "   ",
    "\t# g",
    "\u{202e}h",
    "🙂 ü",
    "### Scenario: i",
    "## 2. Logic",
];

fn text(least: usize) -> impl Strategy<Value = String> {
    let line = prop_oneof![4 => prop::sample::select(&LINES[..]).prop_map(str::to_owned), 1 => "\\PC{0,24}"];
    prop::collection::vec(line, 1..7).prop_map(move |lines| {
        let text = lines.join("\n").trim().to_owned();
        if text.chars().count() < least.max(1) { format!("{text}\n{LONG}").trim().to_owned() } else { text }
    })
}

fn line() -> impl Strategy<Value = String> {
    text(1).prop_map(|text| {
        let line: String = text.replace(['\n', '\t'], " ").chars().take(200).collect();
        let line = line.trim().to_owned();
        if line.is_empty() { "x".to_owned() } else { line }
    })
}

fn path() -> impl Strategy<Value = String> {
    let names =
        ["a`b.rs", "`", "__init__.py", "a b/c.rs", "ünï/🙂.py", "x (CREATE)", "#/y", "- z", "``q`", "src/a:b", "%20"];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn id() -> impl Strategy<Value = String> {
    let ids =
        ["true", "null", "1e3", "0", "no", "0x1f", "2026-11-21", "12345678901234567890", "a", "1-2", "y", "0o7", "nan"];
    prop::sample::select(ids.to_vec()).prop_map(str::to_owned)
}

prop_compose! {
    fn inputs()(
        change in id(), spec in id(), texts in prop::collection::vec(text(50), 16), lines in prop::collection::vec(line(), 8),
        paths in prop::collection::vec(path(), 4), numbers in prop::collection::vec(0..9_999_u32, 4), rich in any::<bool>(),
    ) -> [Value; 4] {
        let (mut texts, mut lines, mut paths) = (texts.into_iter().map(Value::from), lines.into_iter().map(Value::from), paths.into_iter().map(Value::from));
        let (mut text, mut line, mut path) = (|| texts.next().unwrap(), || lines.next().unwrap(), || paths.next().unwrap());
        let mut proposal = json!({
            "change_id": change, "summary": text(), "why": text(), "what_changes": [text(), text()],
            "impact": {
                "scope": "major", "affected_files": numbers[0] + 1, "new_files": 0,
                "affected_specs": [{ "id": spec, "depends": [] }], "affected_code": [path(), path()],
            },
        });
        let mut of_spec = json!({
            "change_id": change, "spec_id": spec, "title": line(), "overview": text(),
            "requirements": [
                { "id": "R1", "title": line(), "description": text(), "priority": "low" },
                { "id": "ABCDEFGH-R02", "title": line(), "description": text(), "priority": "high" },
            ],
            "scenarios": [{ "name": line(), "when": text(), "then": text() }],
        });
        let mut tasks = json!({
            "change_id": change,
            "tasks": [
                { "layer": "data", "number": numbers[1].max(1), "title": line(), "file": { "path": path(), "action": "DELETE" },
                  "description": text(), "depends": [] },
                { "layer": "testing", "number": numbers[2].max(1), "title": line(), "file": { "path": "b", "action": "CREATE" },
                  "description": text(), "depends": [format!("1.{}", numbers[1].max(1))] },
            ],
        });
        let mut review = json!({
            "change_id": change, "verdict": "NEEDS_FIX", "summary": text(),
            "issues": [
                { "title": line(), "severity": "High", "description": text() },
                { "title": line(), "severity": "Low", "description": "as above" },
            ],
        });
        if rich {
            proposal["impact"]["breaking_changes"] = text();
            of_spec["flow_diagram"] = review["summary"].clone();
            of_spec["data_model"] = text();
            of_spec["scenarios"][0]["given"] = of_spec["overview"].clone();
            tasks["tasks"][0]["spec_ref"] = json!(format!("{spec}:R1"));
            for (field, value) in [
                ("category", tasks["tasks"][0]["title"].clone()), ("file", path()), ("line", json!(numbers[3].max(1))),
                ("recommendation", of_spec["overview"].clone()),
            ] {
                review["issues"][0][field] = value;
            }
            review["test_results"] = json!({ "passed": 1, "failed": 0, "total": numbers[3].max(1) });
        }
        [proposal, of_spec, tasks, review]
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_document_says_what_its_input_said(inputs in inputs()) {
        let bench = Bench::new();
        for (kind, input) in Kind::ALL.into_iter().zip(&inputs) {
            let made = bench.create(kind, input);
            prop_assert!(made.is_ok(), "{}\n{input:#}", made.unwrap_err());
            prop_assert!(!bench.create(kind, input).unwrap().changed, "{}", input);
        }
        let id = inputs[0]["change_id"].as_str().unwrap();
        let read = bench.changes.read(id).unwrap();
        let (tasks, review) = (read.tasks.unwrap(), read.review.unwrap());
        prop_assert_eq!(serde_json::to_value(&read.proposal.unwrap().content).unwrap(), inputs[0].clone());
        prop_assert_eq!(serde_json::to_value(&read.specs[0].content).unwrap(), inputs[1].clone(), "{}", read.specs[0].markdown);
        prop_assert_eq!(serde_json::to_value(&tasks.content.list).unwrap(), inputs[2].clone(), "{}", tasks.markdown);
        prop_assert_eq!(serde_json::to_value(&review.content.review).unwrap(), inputs[3].clone(), "{}", review.markdown);
    }
}

#[test]
fn whitespace_around_a_text_and_line_ends_of_windows_are_not_kept() {
    let bench = Bench::new();
    let mut input = super::proposal("a", &[]);
    input["summary"] = json!("  One line.\r\n\r\n## Two\rlines.\n ");
    bench.made(Kind::Proposal, &input);
    assert_eq!(bench.changes.read("a").unwrap().proposal.unwrap().content.summary, "One line.\n\n## Two\nlines.");
    input["summary"] = json!("One line.\n\n## Two\nlines.");
    assert!(!bench.made(Kind::Proposal, &input).changed);
}
