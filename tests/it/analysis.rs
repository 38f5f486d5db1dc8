//! The static engine through its door: every rule's own snippets, and what holds for all of them.

use std::time::{Duration, Instant};

use octoswarm::analysis::rule::Snippet;
use octoswarm::analysis::{Engine, Error, Language, Scan, fix, sarif};
use octoswarm::domain::{AbsentReviewer, Category, Coverage, Finding, Fix, Outcome, Reading};

#[track_caller]
fn paths(snippet: &Snippet) -> Vec<(Language, String)> {
    let with_extension = |path: &str, language: Language| {
        let (stem, _) = path.rsplit_once('.').expect("a snippet's path has an extension");
        let extension = language.sample_path().rsplit_once('.').unwrap().1;
        format!("{stem}.{extension}")
    };
    let path = |language: Language| match &snippet.path {
        None => language.sample_path().to_owned(),
        Some(path) if Language::of_path(path) == Some(language) => path.clone(),
        Some(path) => with_extension(path, language),
    };
    snippet.languages.iter().map(|language| (*language, path(*language))).collect()
}

fn lines_of(scan: &Scan, rule: &str) -> Vec<u32> {
    scan.findings.iter().filter(|f| f.rule.0 == rule).map(|f| f.span.start_line).collect()
}

/// One line for each snippet that does not do what its rule says.
fn wrong_snippets(engine: &Engine) -> Vec<String> {
    let mut wrong = Vec::new();
    for rule in engine.rule_files() {
        let id = rule.id.0.as_str();
        let mut say = |text: String| wrong.push(format!("{id}: {text}"));
        if rule.flag.len() < 3 || rule.pass.len() < 3 {
            say(format!("{} flag and {} pass snippets, three of each are needed", rule.flag.len(), rule.pass.len()));
        }
        for language in &rule.languages {
            for (name, snippets) in [("flag", &rule.flag), ("pass", &rule.pass)] {
                if !snippets.iter().any(|s| s.languages.contains(language)) {
                    say(format!("no {name} snippet for {}", language.name()));
                }
            }
        }
        if rule.has_fix && rule.flag.iter().all(|s| s.fixed.is_none()) {
            say("it has a fix and no snippet that shows the result".into());
        }
        for snippet in &rule.flag {
            for (language, path) in paths(snippet) {
                let scan = engine.scan(&path, &snippet.code);
                if scan.syntax_errors {
                    say(format!("the parser does not understand {}:\n{}", language.name(), snippet.code));
                }
                if lines_of(&scan, id).is_empty() {
                    say(format!("not found in {}:\n{}", language.name(), snippet.code));
                }
                let Some(want) = &snippet.fixed else { continue };
                let mut findings: Vec<Finding> = scan.findings.into_iter().filter(|f| f.rule.0 == id).collect();
                let offered = findings.iter().filter(|f| f.fix.is_some()).count();
                fix::prove(engine, &path, &snippet.code, &mut findings);
                let fixes: Vec<_> = findings.iter().filter_map(|f| f.fix.as_ref()).collect();
                let got = fix::apply(&snippet.code, &fixes).unwrap();
                if got != *want {
                    say(format!(
                        "{offered} fixes offered, {} proved, in {} they give:\n{got}",
                        fixes.len(),
                        language.name()
                    ));
                }
            }
        }
        for snippet in &rule.pass {
            for (language, path) in paths(snippet) {
                let scan = engine.scan(&path, &snippet.code);
                if scan.syntax_errors {
                    say(format!("the parser does not understand {}:\n{}", language.name(), snippet.code));
                }
                for line in lines_of(&scan, id) {
                    say(format!("wrongly found on line {line} in {}:\n{}", language.name(), snippet.code));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_rule_finds_its_flag_snippets_and_leaves_its_pass_snippets_alone() {
    let engine = Engine::embedded().unwrap();
    let wrong = wrong_snippets(&engine);
    assert!(wrong.is_empty(), "{} complaints\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn rule_ids_are_unique_and_kebab_case() {
    let engine = Engine::embedded().unwrap();
    let mut ids: Vec<_> = engine.rules().iter().map(|rule| rule.id.0.clone()).collect();
    assert!(ids.iter().all(|id| id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn a_fingerprint_survives_moved_lines() {
    let engine = Engine::embedded().unwrap();
    let text = "def f(x):\n    return eval(x)\n";
    let before = engine.scan("app.py", text).findings;
    let after = engine.scan("app.py", &format!("import os\n\n\n{text}")).findings;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].fingerprint, after[0].fingerprint);
    assert_ne!(before[0].span, after[0].span);
    let twice = engine.scan("app.py", &format!("{text}{text}")).findings;
    assert_eq!(twice.len(), 2);
    assert_ne!(twice[0].fingerprint, twice[1].fingerprint);
    assert_eq!(twice[0].fingerprint, before[0].fingerprint);
}

#[test]
fn a_reason_that_the_author_gave_is_respected_and_an_admission_is_not() {
    let engine = Engine::embedded().unwrap();
    let found = |text: &str| engine.scan("app.py", text).findings.len();
    assert_eq!(found("def f(x):\n    eval(x)\n"), 1);
    assert_eq!(found("def f(x):\n    eval(x)  # the plugin text is trusted\n"), 0);
    assert_eq!(found("def f(x):\n    # runs at import only, eval here is fine\n    eval(x)\n"), 0);
    assert_eq!(found("def f(x):\n    eval(x)  # nosec\n"), 0);
    assert_eq!(found("def f(x):\n    eval(x)  # intentionally vulnerable\n"), 1);
    assert_eq!(found("def f(x):\n    eval(x)  # noqa: E501\n"), 1);
    assert_eq!(found("try:\n    run()\nexcept:  # noqa: E722\n    stop()\n"), 0);
}

#[test]
fn a_minified_line_is_left_alone() {
    let engine = Engine::embedded().unwrap();
    let found = |text: &str| engine.scan("src/app.js", text).findings.len();
    assert_eq!(found("export const f = (x) => eval(x);\n"), 1);
    assert_eq!(found(&format!("export const a = 1;{}eval(a + b);\n", "let x=1;".repeat(80))), 0);
}

#[test]
fn a_comment_allows_one_rule_on_its_line_or_the_next() {
    let engine = Engine::embedded().unwrap();
    let found = |text: &str| engine.scan("app.py", text).findings.len();
    assert_eq!(found("def f(x):\n    eval(x)\n"), 1);
    assert_eq!(found("def f(x):\n    eval(x)  # octoswarm-ignore: eval-of-data\n"), 0);
    assert_eq!(found("def f(x):\n    # octoswarm-ignore: other, eval-of-data\n    eval(x)\n"), 0);
    assert_eq!(found("def f(x):\n    # octoswarm-ignore: other\n    eval(x)\n"), 1);
    assert_eq!(found("# octoswarm-ignore: eval-of-data\n\ndef f(x):\n    eval(x)\n"), 1);
}

#[test]
fn columns_count_characters() {
    let engine = Engine::embedded().unwrap();
    let scan = engine.scan("app.py", "def f(x):\n    größe = 'ß'; eval(x)\n");
    let span = scan.findings[0].span;
    assert_eq!((span.start_line, span.start_column, span.end_line, span.end_column), (2, 18, 2, 25));
}

#[test]
fn a_bomb_of_brackets_neither_hangs_nor_overflows() {
    let engine = Engine::embedded().unwrap();
    let started = Instant::now();
    for path in ["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java"] {
        let scan = engine.scan(path, &format!("x = {}1{}", "(\n".repeat(10_000), ")\n".repeat(10_000)));
        assert_eq!(scan.reading, Reading::Failed("nested too deeply".into()), "{path}");
        let scan = engine.scan(path, &format!("x = {}1;\n", "-\n".repeat(20_000)));
        assert!(scan.findings.is_empty());
        let scan = engine.scan(path, &format!("x = {}1;\n", "1 +\n".repeat(20_000)));
        assert!(scan.findings.is_empty());
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_fix_is_applied_as_whole_lines_and_keeps_the_line_endings() {
    let fix = |start_line, end_line, replacement: &str| Fix { start_line, end_line, replacement: replacement.into() };
    let apply = |text: &str, fixes: &[&Fix]| fix::apply(text, fixes).unwrap();
    assert_eq!(apply("a\r\nb\r\nc", &[&fix(2, 2, "x\ny")]), "a\r\nx\r\ny\r\nc");
    assert_eq!(apply("a\nb\nc", &[&fix(3, 3, "x")]), "a\nb\nx");
    assert_eq!(apply("a\nb\nc", &[&fix(3, 3, "")]), "a\nb");
    assert_eq!(apply("a\nb\nc\n", &[&fix(3, 3, ""), &fix(1, 1, "")]), "b\n");
    assert!(matches!(fix::apply("a\nb\n", &[&fix(1, 2, "x"), &fix(2, 2, "y")]), Err(Error::Overlap { line: 2 })));
    assert!(matches!(fix::apply("a\n", &[&fix(2, 2, "x")]), Err(Error::OutOfRange { .. })));
}

#[test]
fn fixes_that_are_proved_hold_together_in_a_file_with_windows_line_endings() {
    let engine = Engine::embedded().unwrap();
    let text = "def f(x, y):\r\n    breakpoint()\r\n    if x == None:\r\n        return f\"none\"\r\n    return y";
    let mut findings = engine.scan("app.py", text).findings;
    fix::prove(&engine, "app.py", text, &mut findings);
    let fixes: Vec<_> = findings.iter().filter_map(|f| f.fix.as_ref()).collect();
    assert_eq!(fixes.len(), 3);
    let fixed = fix::apply(text, &fixes).unwrap();
    assert_eq!(fixed, "def f(x, y):\r\n    if x is None:\r\n        return \"none\"\r\n    return y");
    assert!(engine.scan("app.py", &fixed).findings.is_empty());
}

#[test]
fn of_two_fixes_for_one_line_the_more_severe_one_stays() {
    let engine = Engine::embedded().unwrap();
    let text = "ok = mode is \"fast\" or name == None\n";
    let mut findings = engine.scan("app.py", text).findings;
    assert_eq!(findings.iter().filter(|f| f.fix.is_some()).count(), 2);
    fix::prove(&engine, "app.py", text, &mut findings);
    let kept: Vec<_> = findings.iter().filter(|f| f.fix.is_some()).map(|f| f.rule.0.as_str()).collect();
    assert_eq!(kept, ["compare-literal-by-identity"]);
}

#[test]
fn a_fix_that_breaks_the_file_or_cures_nothing_is_dropped() {
    let engine = Engine::embedded().unwrap();
    let text = "if x == None:\n    run()\n";
    let proved = |replacement: &str| {
        let mut findings = engine.scan("app.py", text).findings;
        findings[0].fix = Some(Fix { start_line: 1, end_line: 1, replacement: replacement.into() });
        fix::prove(&engine, "app.py", text, &mut findings);
        findings[0].fix.is_some()
    };
    assert!(proved("if x is None:"));
    assert!(!proved("if (x is None:"), "does not parse");
    assert!(!proved("if  x == None:"), "the finding stays");
    assert!(!proved("if eval(x):"), "a new finding comes");
}

#[test]
fn what_is_not_read_says_why_and_is_still_searched_for_secrets() {
    let engine = Engine::embedded().unwrap();
    let reading = |path: &str, text: &str| engine.scan(path, text).reading;
    let large = "x = 1\n".repeat(200_000);
    assert_eq!(reading("a.py", &large), Reading::Failed("larger than 1 MiB".into()));
    assert_eq!(reading("a.txt", &large), Reading::LeftOut("larger than 1 MiB".into()), "no rule would have read it");
    assert_eq!(reading("vendor/a.go", "package a\n"), Reading::LeftOut("vendored".into()));
    assert_eq!(reading("a.py", "x = 1\n"), Reading::Whole);
    let scan = engine.scan("conf/app.yml", "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> topic\n");
    assert_eq!(scan.reading, Reading::TextOnly);
    assert_eq!(scan.language, None);
    assert_eq!(scan.findings[0].rule.0, "conflict-marker");
    assert_eq!(reading("Makefile", "all:\n"), Reading::TextOnly);
}

#[test]
fn a_broken_file_is_read_as_far_as_it_can_be_understood() {
    let engine = Engine::embedded().unwrap();
    let scan = engine.scan("a.js", "function f(x) { return eval(x); }\nfunction g( {{{ \n");
    assert!(scan.syntax_errors);
    assert_eq!(lines_of(&scan, "eval-of-data"), [1]);
}

#[test]
fn a_sarif_log_tells_of_reviewers_whose_part_is_missing() {
    let absent = |reviewer: &str, left_out| AbsentReviewer {
        reviewer: reviewer.to_owned(),
        code: "API_001".to_owned(),
        reason: "no answer".to_owned(),
        left_out,
    };
    let log = |absent: Vec<AbsentReviewer>| {
        let coverage = Coverage { read: 1, total: 1, absent, ..Coverage::default() };
        sarif::log(&[], &coverage, &coverage.outcome(0), &[], "1.2.3")["runs"][0]["invocations"][0].clone()
    };
    let told = log(vec![absent("debt", false), absent("improvement", true)]);
    assert_eq!(told["executionSuccessful"], false, "{told:#}");
    let notes: Vec<(&str, &str)> = told["toolExecutionNotifications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| (note["level"].as_str().unwrap(), note["message"]["text"].as_str().unwrap()))
        .collect();
    assert!(notes.contains(&("error", "the debt reviewer failed: no answer (API_001)")), "{notes:?}");
    assert!(notes.contains(&("note", "the improvement reviewer was not asked: no answer")), "{notes:?}");
    let told = log(vec![absent("improvement", true)]);
    assert_eq!(told["executionSuccessful"], true, "whoever switched it off knows: {told:#}");
}

#[test]
fn a_sarif_log_names_rules_places_fingerprints_and_fixes() {
    let engine = Engine::embedded().unwrap();
    let text = "def f(x):\n    ä = eval(x)\n    return ä == None\n";
    let findings = engine.scan("app/f.py", text).findings;
    let log = sarif::log(&findings, &Coverage::default(), &Outcome::Findings { count: 2 }, engine.rules(), "1.2.3");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    assert_eq!(run["tool"]["driver"]["semanticVersion"], "1.2.3");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for (result, finding) in results.iter().zip(&findings) {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], finding.rule.0.as_str());
        assert!(rule["help"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        assert_eq!(result["partialFingerprints"]["octoswarm/v1"], finding.fingerprint.as_str());
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "app/f.py");
    }
    assert_eq!(results[0]["level"], "error");
    assert_eq!(results[1]["level"], "note");
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startColumn"], 9);
    let fix = &results[1]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(fix["insertedContent"]["text"], "    return ä is None");
}

#[test]
fn an_engine_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let engine = Engine::embedded().unwrap();
    shared(&engine);
    let text = "def f(x):\n    return eval(x)\n";
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let engine = std::sync::Arc::clone(&engine);
            std::thread::spawn(move || engine.scan("a.py", text).findings.len())
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap() == 1));
}

/// The page lists what the program knows; `UPDATE=1` writes it anew.
#[test]
fn the_table_of_rules_in_the_documentation_is_fresh() {
    const START: &str = "<!-- rules: generated, UPDATE=1 cargo test --test it analysis -->\n";
    let engine = Engine::embedded().unwrap();
    let mut table = String::new();
    for category in Category::ALL {
        let rules: Vec<_> = engine.rules().iter().filter(|rule| rule.category == category).collect();
        table.push_str(&format!("\n### {category} ({})\n\n| rule | severity | languages | what it says | fix |\n| --- | --- | --- | --- | --- |\n", rules.len()));
        for rule in rules {
            let mut names: Vec<_> = rule.languages.iter().map(|l| l.name()).collect();
            names.dedup();
            names.sort_unstable();
            names.dedup();
            let names = if names.is_empty() { "any text".to_owned() } else { names.join(", ") };
            let fix = if rule.has_fix { "yes" } else { "" };
            let message = rule.message.replace('|', "\\|");
            table.push_str(&format!("| `{}` | {} | {names} | {message} | {fix} |\n", rule.id, rule.severity));
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    let page = std::fs::read_to_string(&path).expect("docs/rules.md is there");
    let (head, _) = page.split_once(START).expect("the page has a generated part");
    let fresh = format!("{head}{START}{table}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/rules.md is stale: run UPDATE=1 cargo test --test it analysis");
    }
}

#[test]
fn code_that_is_cut_off_anywhere_is_read_without_a_panic_and_its_fixes_still_hold() {
    let engine = Engine::embedded().unwrap();
    for rule in engine.rule_files() {
        for snippet in rule.flag.iter().take(3) {
            for (_, path) in paths(snippet).into_iter().take(1) {
                let ends: Vec<usize> = snippet.code.char_indices().map(|(at, _)| at).step_by(17).collect();
                for end in ends {
                    let text = &snippet.code[..end];
                    let mut findings = engine.scan(&path, text).findings;
                    fix::prove(&engine, &path, text, &mut findings);
                    let fixes: Vec<_> = findings.iter().filter_map(|f| f.fix.as_ref()).collect();
                    fix::apply(text, &fixes).unwrap();
                }
            }
        }
    }
}

#[test]
fn one_rule_alone_finds_what_the_scan_says_of_it() {
    let engine = Engine::embedded().unwrap();
    for rule in engine.rule_files() {
        for snippet in rule.flag.iter().chain(&rule.pass) {
            for language in &snippet.languages {
                let path = snippet.path.as_deref().unwrap_or(language.sample_path());
                let mut all = engine.scan(path, &snippet.code).findings;
                all.retain(|finding| finding.rule == rule.id);
                assert_eq!(engine.findings_of(&rule.id, path, &snippet.code), all, "{} in {}", rule.id, snippet.code);
            }
        }
    }
}
