use super::*;
use crate::analysis::told::{Ground, rule_id};

const FROM: From<'static> = From { root: "/work", dir: "" };

/// Rule, severity, place, and the fix as it would look.
type Read = (String, Severity, (u32, u32, u32, u32), Option<String>);

fn read(format: Format, answer: &str, file: &str) -> Vec<Read> {
    let mut ground = Ground::new(file);
    let answer = format.read(answer, FROM).unwrap();
    let all = answer.told.iter().map(|told| {
        let finding = ground.set(told).finding;
        let span = finding.span;
        let place = (span.start_line, span.start_column, span.end_line, span.end_column);
        (finding.rule.0, finding.severity, place, finding.fix.map(|fix| fix.replacement))
    });
    all.collect()
}

#[test]
fn ruff_names_places_in_characters_and_safe_changes_are_taken() {
    let file = "import os\n\né = \"𝒳\"; eval(x)\nif x == None: pass\n";
    let answer = r#"[
      {"cell":null,"code":"F401","end_location":{"column":10,"row":1},"filename":"/work/src/a.py",
       "fix":{"applicability":"safe","edits":[{"content":"","end_location":{"column":1,"row":2},"location":{"column":1,"row":1}}],"message":"Remove"},
       "location":{"column":8,"row":1},"message":"`os` imported but unused","noqa_row":1,"url":"https://docs.astral.sh/ruff/rules/unused-import"},
      {"cell":null,"code":"S307","end_location":{"column":17,"row":3},"filename":"/work/src/a.py","fix":null,
       "location":{"column":10,"row":3},"message":"Use of possibly insecure function","noqa_row":3,"url":null},
      {"cell":null,"code":"E711","end_location":{"column":13,"row":4},"filename":"/work/src/a.py",
       "fix":{"applicability":"unsafe","edits":[{"content":"x is None","end_location":{"column":13,"row":4},"location":{"column":4,"row":4}}],"message":"Replace"},
       "location":{"column":9,"row":4},"message":"Comparison to `None`","noqa_row":4,"url":null},
      {"cell":null,"code":null,"end_location":{"column":1,"row":4},"filename":"/work/src/a.py","fix":null,
       "location":{"column":1,"row":4},"message":"SyntaxError: x","noqa_row":null,"url":null},
      {"cell":1,"code":"F401","end_location":{"column":1,"row":1},"filename":"/work/n.ipynb","fix":null,
       "location":{"column":1,"row":1},"message":"m","noqa_row":null,"url":null},
      {"cell":null,"code":"F401","end_location":{"column":1,"row":1},"filename":"/etc/a.py","fix":null,
       "location":{"column":1,"row":1},"message":"m","noqa_row":null,"url":null}]"#;
    let told = read(Format::Ruff, answer, file);
    assert_eq!(told[0], ("ruff/F401".into(), Severity::Medium, (1, 8, 1, 10), Some(String::new())));
    assert_eq!(told[1], ("ruff/S307".into(), Severity::Medium, (3, 10, 3, 17), None));
    assert_eq!(told[2], ("ruff/E711".into(), Severity::Medium, (4, 9, 4, 13), None), "not a safe one");
    assert_eq!(told[3].0, "ruff/invalid-syntax");
    assert_eq!(told.len(), 4, "neither a notebook's nor a file elsewhere");
}

#[test]
fn eslint_names_places_in_utf_16_and_files_that_it_leaves_alone_are_no_defect() {
    let file = "var s = '𝒳';\nif (!!s) { bar() }\n";
    let answer = r#"[{"filePath":"/work/s/a.js","messages":[
      {"ruleId":"no-extra-boolean-cast","severity":2,"message":"Redundant double negation.","line":2,"column":5,"nodeType":"UnaryExpression","messageId":"unexpectedNegation","endLine":2,"endColumn":8,"fix":{"range":[18,21],"text":"s"}},
      {"ruleId":"no-undef","severity":1,"message":"'bar' is not defined.","line":2,"column":12,"endLine":2,"endColumn":15},
      {"ruleId":null,"nodeType":null,"fatal":true,"severity":2,"message":"Parsing error: Unexpected token ;","line":1,"column":9},
      {"ruleId":null,"fatal":false,"severity":1,"message":"File ignored because of a matching ignore pattern."}],
      "suppressedMessages":[],"errorCount":2,"fatalErrorCount":1,"warningCount":2,"usedDeprecatedRules":[]}]"#;
    let told = read(Format::Eslint, answer, file);
    assert_eq!(
        told[0],
        ("eslint/no-extra-boolean-cast".into(), Severity::High, (2, 5, 2, 8), Some("if (s) { bar() }".into()))
    );
    assert_eq!(told[1], ("eslint/no-undef".into(), Severity::Medium, (2, 12, 2, 15), None));
    assert_eq!((told[2].0.as_str(), told.len()), ("eslint/parsing-error", 3));
}

#[test]
fn shellcheck_adds_quotes_on_both_sides() {
    let answer = r#"{"comments":[
      {"file":"b.sh","line":2,"endLine":2,"column":6,"endColumn":8,"level":"info","code":2086,"message":"Double quote to prevent globbing and word splitting.","fix":{"replacements":[{"column":6,"endColumn":6,"endLine":2,"insertionPoint":"afterEnd","line":2,"precedence":7,"replacement":"\""},{"column":8,"endColumn":8,"endLine":2,"insertionPoint":"beforeStart","line":2,"precedence":7,"replacement":"\""}]}},
      {"file":"b.sh","line":3,"endLine":3,"column":1,"endColumn":7,"level":"warning","code":2034,"message":"unused appears unused.","fix":null}]}"#;
    let told = read(Format::Shellcheck, answer, "#!/bin/bash\necho $1\nunused=1\n");
    assert_eq!(told[0], ("shellcheck/SC2086".into(), Severity::Low, (2, 6, 2, 8), Some("echo \"$1\"".into())));
    assert_eq!(told[1], ("shellcheck/SC2034".into(), Severity::Medium, (3, 1, 3, 7), None));
    let twice = read(Format::Shellcheck, &format!("{answer}\n{answer}\n"), "#!/bin/bash\necho $1\nunused=1\n");
    assert_eq!(twice.len(), 4, "of two calls");
}

#[test]
fn clippy_speaks_once_of_what_it_builds_twice() {
    let message = r#"{"reason":"compiler-message","package_id":"path+file:///work#a@0.1.0","target":{"name":"a"},"message":{"rendered":"…","$message_type":"diagnostic","children":[{"children":[],"code":null,"level":"help","message":"for further information visit https://rust-lang.github.io/rust-clippy/master/index.html#len_zero","rendered":null,"spans":[]},{"children":[],"code":null,"level":"help","message":"using `is_empty` is clearer","rendered":null,"spans":[{"byte_end":40,"byte_start":28,"column_end":20,"column_start":8,"file_name":"src/lib.rs","is_primary":true,"line_end":2,"line_start":2,"suggested_replacement":"v.is_empty()","suggestion_applicability":"MachineApplicable","text":[]}]}],"level":"warning","message":"length comparison to zero","spans":[{"byte_end":40,"byte_start":28,"column_end":20,"column_start":8,"file_name":"src/lib.rs","is_primary":true,"line_end":2,"line_start":2,"suggested_replacement":null,"suggestion_applicability":null,"text":[]}],"code":{"code":"clippy::len_zero","explanation":null}}}"#;
    let noise = r#"{"reason":"compiler-message","message":{"message":"1 warning emitted","code":null,"level":"warning","spans":[],"children":[]}}"#;
    let answer = format!(
        "{message}\n{noise}\n{message}\nnot a line of it\n{{\"reason\":\"build-finished\",\"success\":false}}\n"
    );
    let file = "fn f(v: &[u8]) {\n    if v.len() == 0 { }\n}\n";
    let told = read(Format::Cargo, &answer, file);
    assert_eq!((told.len(), told[0].0.as_str(), told[0].1), (1, "clippy/len_zero", Severity::Medium));
    assert_eq!(told[0].3.as_deref(), Some("    if v.is_empty() { }"));
    assert_eq!(Format::Cargo.read(&answer, FROM).unwrap().failed.as_deref(), Some("not everything could be built"));
    let inner = From { root: "/work", dir: "crates/a" };
    assert_eq!(Format::Cargo.read(&answer, inner).unwrap().told[0].path, "crates/a/src/lib.rs");
}

#[test]
fn golangci_names_the_linter_within_and_its_code() {
    let answer = r#"{"Issues":[
      {"FromLinter":"gosec","Text":"G401: Use of weak cryptographic primitive","Severity":"","SourceLines":["\th := md5.New()"],"Pos":{"Filename":"main.go","Offset":52,"Line":3,"Column":7},"ExpectNoLint":false,"ExpectedNoLintLinter":""},
      {"FromLinter":"errcheck","Text":"Error return value of `f.Close` is not checked","Severity":"error","Pos":{"Filename":"main.go","Line":4,"Column":0},"LineRange":{"From":4,"To":5}}],
      "Report":{"Linters":[{"Name":"gosec","Enabled":true}]}}
3 issues:
* gosec: 1"#;
    let told = read(Format::Golangci, answer, "package main\n\n\th := md5.New()\n\tf.Close(\n\t)\n");
    assert_eq!(told[0], ("golangci-lint/gosec/G401".into(), Severity::Medium, (3, 7, 3, 16), None));
    assert_eq!(told[1], ("golangci-lint/errcheck".into(), Severity::High, (4, 1, 5, 3), None));
    let broke = r#"{"Issues":null,"Report":{"Error":"typechecking error"}}"#;
    assert_eq!(Format::Golangci.read(broke, FROM).unwrap().failed.as_deref(), Some("typechecking error"));
}

#[test]
fn what_is_no_answer_is_an_error_and_never_nothing_found() {
    for format in [Format::Sarif, Format::Ruff, Format::Eslint, Format::Shellcheck, Format::Golangci] {
        for text in ["Traceback (most recent call last):", "{\"comments\": 3}", "[{\"x\": 1}]"] {
            assert!(format.read(text, FROM).is_err(), "{format:?}: {text}");
        }
    }
    for text in ["", "error: no such command: `clippy`\n", "{\"reason\": 1}\n"] {
        assert!(Format::Cargo.read(text, FROM).is_err(), "{text}");
    }
    assert_eq!(rule_id("ruff", "").0, "ruff");
}
