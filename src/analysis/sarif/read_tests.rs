use serde_json::json;

use super::*;
use crate::analysis::told::{Ground, rule_id};
use crate::domain::{Coverage, Finding, Fingerprint, Fix, Outcome, RuleId, Span};

fn results(run: &Value) -> Results {
    let log = json!({ "version": "2.1.0", "runs": [run], "properties": { "unknown": true } });
    read(&log.to_string(), &["/work".to_owned()]).unwrap()
}

/// A run of one result on line 1 of `a.py`, with what is given in it.
fn run(rules: Value, result: Value) -> Results {
    let mut whole = json!({
        "message": { "text": "m" },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": "a.py" }, "region": { "startLine": 1 },
        }}],
    });
    for (key, value) in result.as_object().unwrap() {
        whole[key] = value.clone();
    }
    results(&json!({ "tool": { "driver": { "name": "Tool", "rules": rules } }, "results": [whole] }))
}

fn one(rules: Value, result: Value) -> Told {
    let mut results = run(rules, result);
    assert_eq!(results.told.len(), 1);
    results.told.remove(0)
}

#[test]
fn a_rule_is_found_by_every_way_to_name_it() {
    let rules = json!([{ "id": "A", "helpUri": "https://e.example/a" }, { "id": "B/c", "helpUri": "https://e.example/bc", "guid": "g" }]);
    for (result, rule, help) in [
        (json!({ "ruleId": "A" }), "A", Some("https://e.example/a")),
        (json!({ "ruleIndex": 0 }), "A", Some("https://e.example/a")),
        (json!({ "ruleId": "A/special", "ruleIndex": 0 }), "A/special", Some("https://e.example/a")),
        (json!({ "ruleId": "A/special/deep" }), "A/special/deep", Some("https://e.example/a")),
        (json!({ "rule": { "id": "B/c" } }), "B/c", Some("https://e.example/bc")),
        (json!({ "rule": { "index": 1 } }), "B/c", Some("https://e.example/bc")),
        (json!({ "rule": { "guid": "g" } }), "B/c", Some("https://e.example/bc")),
        (json!({ "ruleId": "unknown", "ruleIndex": -1 }), "unknown", None),
        (json!({ "ruleIndex": 7 }), "", None),
        (json!({}), "", None),
    ] {
        let told = one(rules.clone(), result.clone());
        assert_eq!((told.rule.as_str(), told.help.as_deref()), (rule, help), "{result}");
        assert_eq!(told.tool, "tool");
    }
}

#[test]
fn a_rule_of_an_extension_is_the_tools_own() {
    let results = results(&json!({
        "tool": {
            "driver": { "name": "CodeQL", "rules": [{ "id": "py/wrong" }] },
            "extensions": [
                { "name": "codeql/python-queries", "rules": [
                    { "id": "py/eval", "shortDescription": { "text": "Code injection" },
                      "properties": { "tags": ["security", "external/cwe/cwe-094"], "security-severity": "9.3" } },
                ]},
            ],
        },
        "results": [{
            "ruleId": "py/eval", "rule": { "id": "py/eval", "index": 0, "toolComponent": { "index": 0 } },
            "message": { "text": "This [user input](1) runs.\nSee [2](2)." },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": "a.py", "uriBaseId": "%SRCROOT%", "index": 0 },
                "region": { "startLine": 4, "startColumn": 3, "endColumn": 9 } } }],
        }],
    }));
    let told = &results.told[0];
    assert_eq!((told.tool.as_str(), told.rule.as_str(), told.severity), ("codeql", "py/eval", Severity::High));
    assert_eq!((told.category, &told.cwes[..]), (Category::Critical, &[94][..]));
    assert_eq!(told.message, "This user input runs.\nSee 2.");
    assert_eq!(told.about, "Code injection");
}

#[test]
fn the_severity_comes_from_the_nearest_that_says_one() {
    let rule = |extra: Value| {
        let mut rule = json!({ "id": "A" });
        for (key, value) in extra.as_object().unwrap() {
            rule[key] = value.clone();
        }
        json!([rule])
    };
    let level = |level: &str| json!({ "ruleId": "A", "level": level });
    for (rules, result, want) in [
        (rule(json!({})), json!({ "ruleId": "A" }), Severity::Medium),
        (rule(json!({})), level("error"), Severity::High),
        (rule(json!({})), level("note"), Severity::Low),
        (rule(json!({ "defaultConfiguration": { "level": "error" } })), json!({ "ruleId": "A" }), Severity::High),
        (rule(json!({ "defaultConfiguration": { "level": "error" } })), level("note"), Severity::Low),
        (rule(json!({ "defaultConfiguration": {} })), json!({ "ruleId": "A" }), Severity::Medium),
        (
            rule(json!({ "properties": { "problem.severity": "recommendation" } })),
            json!({ "ruleId": "A" }),
            Severity::Low,
        ),
        (rule(json!({ "properties": { "security-severity": "7.5" } })), level("note"), Severity::High),
        (rule(json!({ "properties": { "security-severity": 4 } })), level("error"), Severity::Medium),
        (rule(json!({ "properties": { "security-severity": "high" } })), level("error"), Severity::High),
    ] {
        assert_eq!(one(rules.clone(), result.clone()).severity, want, "{rules} {result}");
    }
}

#[test]
fn what_is_no_defect_of_now_is_no_finding() {
    for result in [
        json!({ "kind": "pass" }),
        json!({ "kind": "review" }),
        json!({ "level": "none" }),
        json!({ "baselineState": "unchanged" }),
        json!({ "baselineState": "absent" }),
        json!({ "suppressions": [{ "kind": "inSource" }] }),
        json!({ "suppressions": [{ "kind": "external", "status": "accepted" }] }),
    ] {
        assert!(run(json!([]), result.clone()).told.is_empty(), "{result}");
    }
    for result in [
        json!({ "kind": "fail", "baselineState": "new" }),
        json!({ "baselineState": "updated" }),
        json!({ "suppressions": [] }),
        json!({ "suppressions": [{ "kind": "external", "status": "rejected" }] }),
        json!({ "suppressions": [{ "kind": "external", "status": "underReview" }] }),
        json!({ "suppressions": null, "fixes": null, "taxa": null }),
    ] {
        assert_eq!(run(json!([]), result.clone()).told.len(), 1, "{result}");
    }
}

#[test]
fn words_are_put_together_from_the_rules_strings() {
    let rules = json!([{ "id": "A", "messageStrings": { "default": { "text": "{0} is {{not}} {1}; {9}" } } }]);
    let told = one(rules, json!({ "ruleId": "A", "message": { "id": "default", "arguments": ["x", "y{0}"] } }));
    assert_eq!(told.message, "x is {not} y{0}; {9}");
    let markdown = json!({ "message": { "text": "plain", "markdown": "**@ada**" } });
    assert_eq!(one(json!([]), markdown).message, "plain");
    let short = json!([{ "id": "A", "shortDescription": { "text": "Short." } }]);
    assert_eq!(one(short, json!({ "ruleId": "A", "message": {} })).message, "Short.");
}

#[test]
fn weaknesses_are_read_wherever_tools_write_them() {
    let tagged =
        json!([{ "id": "A", "properties": { "tags": ["CWE-79: Cross-site", "external/cwe/cwe-116", "owasp"] } }]);
    assert_eq!(one(tagged, json!({ "ruleId": "A" })).cwes, [79, 116]);
    let related = json!([{ "id": "A", "relationships": [
        { "target": { "id": "327", "toolComponent": { "name": "CWE" } } },
        { "target": { "id": "7", "toolComponent": { "name": "OWASP" } } },
    ]}]);
    assert_eq!(one(related, json!({ "ruleId": "A", "taxa": [{ "id": "CWE-20" }] })).cwes, [20, 327]);
    assert_eq!(one(json!([]), json!({ "properties": { "cwe": ["CWE-611: XXE"] } })).cwes, [611]);
}

#[test]
fn results_without_a_file_of_ours_are_counted_and_said() {
    let at = |uri: Value| json!([{ "physicalLocation": { "artifactLocation": uri } }]);
    for locations in [
        json!([]),
        json!(null),
        json!([{ "logicalLocations": [{ "name": "f" }] }]),
        at(json!({ "uri": "../a.py" })),
        at(json!({ "uri": "https://e.example/a.py" })),
        at(json!({ "index": 9 })),
    ] {
        let results = run(json!([]), json!({ "locations": locations }));
        assert_eq!((results.told.len(), results.elsewhere), (0, 1), "{locations}");
        assert_eq!(results.left_out(), ["1 result about no file of the repository"]);
    }
    let whole = run(json!([]), json!({ "locations": at(json!({ "uri": "a.py" })) }));
    assert_eq!(whole.told[0].region, None, "the whole file");
}

#[test]
fn files_are_named_by_their_number_too() {
    let results = results(&json!({
        "tool": { "driver": { "name": "x" } },
        "artifacts": [{ "location": { "uri": "file:///work/b.py" } }],
        "results": [{ "message": { "text": "m" },
            "locations": [{ "physicalLocation": { "artifactLocation": { "index": 0 }, "region": { "startLine": 2 } } }] }],
    }));
    assert_eq!(results.told[0].path, "b.py");
}

#[test]
fn a_change_counts_only_when_it_is_all_in_the_file() {
    let change = |file: &str, region: Value, text: Value| {
        json!([{ "artifactChanges": [{ "artifactLocation": { "uri": file },
            "replacements": [{ "deletedRegion": region, "insertedContent": text }] }] }])
    };
    let region = json!({ "startLine": 1, "startColumn": 1, "endColumn": 4 });
    let told = one(json!([]), json!({ "fixes": change("a.py", region.clone(), json!({ "text": "xyz" })) }));
    let fix = Ground::new("abc d\n").set(&told).finding.fix.unwrap();
    assert_eq!((fix.start_line, fix.end_line, fix.replacement.as_str()), (1, 1, "xyz d"));
    assert!(one(json!([]), json!({ "fixes": change("b.py", region, json!(null)) })).edits.is_empty());
    let bytes = json!({ "byteOffset": 3, "byteLength": 2 });
    assert!(one(json!([]), json!({ "fixes": change("a.py", bytes, json!({ "text": "x" })) })).edits.is_empty());
}

#[test]
fn several_runs_are_read_and_one_that_failed_says_so() {
    let result = json!({ "message": { "text": "m" }, "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": "a.py" }, "region": { "startLine": 1 } } }] });
    let log = json!({ "version": "2.1.0", "runs": [
        { "tool": { "driver": { "name": "One" } }, "results": [result] },
        { "tool": { "driver": { "name": "Two" } }, "results": null, "invocations": [{ "executionSuccessful": false,
            "toolExecutionNotifications": [{ "level": "error", "message": { "text": "no\u{1b}[31m parser." } }] }] },
        {},
    ]});
    let results = read(&format!("\u{feff}{log}"), &[]).unwrap();
    assert_eq!(results.tools, ["one", "two", "unnamed"]);
    assert_eq!(results.told.len(), 1);
    assert_eq!(results.failed, [("two".to_owned(), "no⟨U+001B⟩[31m parser".to_owned())]);
}

#[test]
fn more_results_than_anybody_reads_are_cut_and_said() {
    let result = json!({ "message": { "text": "m" }, "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": "a.py" }, "region": { "startLine": 1 } } }] });
    let results = results(&json!({ "tool": { "driver": { "name": "x" } }, "results": vec![result; MAX_RESULTS + 3] }));
    assert_eq!((results.told.len(), results.over), (MAX_RESULTS, 3));
    assert_eq!(results.left_out(), ["3 results beyond the 25000 that are read"]);
}

#[test]
fn what_is_no_log_is_refused_with_the_reason() {
    for (text, why) in [
        ("", "it is no SARIF log"),
        ("{}", "it has no `version`"),
        ("[]", "it is no SARIF log"),
        (r#"{"version":"2.0.0","runs":[]}"#, "it is SARIF 2.0.0"),
        (r#"{"version":"2.1.0"}"#, "it has no `runs`"),
        (r#"{"version":"2.1.0","runs":[{"results":[{"locations":3}]}]}"#, "it is no SARIF log"),
    ] {
        let error = read(text, &[]).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(matches!(read(&" ".repeat(MAX_BYTES + 1), &[]), Err(Error::TooLarge(_))));
    let deep = format!(r#"{{"version":"2.1.0","runs":[{}"#, "[".repeat(100_000));
    assert!(matches!(read(&deep, &[]), Err(Error::Json(_))), "no depth is beyond it");
}

#[test]
fn what_we_write_reads_as_what_it_was() {
    let text = "a = 'ä𝒳'; eval(b)\nimport os\n";
    let finding = |rule: &str, span: (u32, u32, u32, u32), fix: Option<Fix>, reference: &str| {
        let rule = RuleId(rule.into());
        Finding {
            category: Category::Critical,
            severity: Severity::High,
            path: "src/ä b.py".into(),
            span: Span { start_line: span.0, start_column: span.1, end_line: span.2, end_column: span.3 },
            message: "m".into(),
            why: "w".into(),
            fix,
            reference: Some(reference.into()),
            fingerprint: Fingerprint::new(&rule, "src/ä b.py", "x", 0),
            rule,
        }
    };
    let deleted = Fix { start_line: 2, end_line: 2, replacement: String::new() };
    let replaced = Fix { start_line: 1, end_line: 1, replacement: "a = 1".into() };
    let before = [
        finding("eval-of-data", (1, 11, 1, 18), Some(replaced), "CWE-95"),
        finding("ruff/F401", (2, 8, 2, 10), Some(deleted), "https://docs.astral.sh/ruff/rules/unused-import"),
    ];
    let engine = crate::analysis::Engine::embedded().unwrap();
    let outcome = Outcome::Findings { count: 2 };
    let log = crate::analysis::sarif::log(&before, &Coverage::default(), &outcome, engine.rules(), "0.1.0");
    let results = read(&log.to_string(), &[]).unwrap();
    assert_eq!(results.told[0].cwes, [95]);
    for (told, before) in results.told.iter().zip(&before) {
        let after = Ground::new(text).set(told).finding;
        assert_eq!((&after.rule, after.span, &after.fix), (&before.rule, before.span, &before.fix));
        assert_eq!((after.severity, after.category, &after.path), (before.severity, before.category, &before.path));
        assert_eq!(after.reference, before.reference);
    }
    assert_eq!(rule_id("", "eval-of-data").0, "eval-of-data");
}
