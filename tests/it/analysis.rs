//! The static engine through its door: every rule's own snippets, and what holds for all of them.

use std::time::{Duration, Instant};

use octoswarm::analysis::rule::Snippet;
use octoswarm::analysis::{Engine, Language, Scan, fix};
use octoswarm::domain::Finding;

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
        assert_eq!(scan.not_read.as_deref(), Some("nested too deeply"), "{path}");
        let scan = engine.scan(path, &format!("x = {}1;\n", "-\n".repeat(20_000)));
        assert!(scan.findings.is_empty());
        let scan = engine.scan(path, &format!("x = {}1;\n", "1 +\n".repeat(20_000)));
        assert!(scan.findings.is_empty());
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_hundred_files_take_well_under_a_second() {
    let engine = Engine::embedded().unwrap();
    let file = "def f(cursor, name):\n    total = [x for x in name if x]\n    return g(total)\n\n".repeat(60);
    let started = Instant::now();
    for _ in 0..100 {
        assert!(engine.scan("app.py", &file).findings.is_empty());
    }
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}
