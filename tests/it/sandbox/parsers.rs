//! Strangers' bytes are read in C by workers: what they can reach, and what a text costs that ends one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use octoswarm::analysis::{Declared, Engine, Language, Names, Outline, declarations};
use octoswarm::app::parsers as app;
use octoswarm::demo::{Change, OpenPull};
use octoswarm::domain::Reading;
use octoswarm::sandbox::{ParserSettings, Parsers};
use octoswarm::stdx::workers::{self, Failure, Workers as _};
use serde_json::{Value, json};

use crate::support::world::{DEFECTS, REPO, World};

fn settings() -> ParserSettings {
    ParserSettings { helper: PathBuf::from(env!("CARGO_BIN_EXE_octoswarm")), ..app::settings() }
}

fn parsers(change: impl FnOnce(&mut ParserSettings)) -> Parsers {
    let mut settings = settings();
    change(&mut settings);
    Parsers::new(settings).unwrap()
}

fn names(path: &str, text: &str) -> Vec<u8> {
    question("analysis.names", path, text)
}

fn question(name: &str, path: &str, text: &str) -> Vec<u8> {
    let language = Language::of_path(path).unwrap();
    workers::written(name, &json!({ "language": language, "path": path, "text": text })).unwrap()
}

fn ask(parsers: &Parsers, question: &[u8]) -> Result<Value, Failure> {
    let mut answer = Value::Null;
    parsers.ask(question, &mut |said| serde_json::from_slice(said).map(|said| answer = said).is_ok())?;
    Ok(answer)
}

/// Whether a small file is read.
#[track_caller]
fn works(parsers: &Parsers) {
    let answer = ask(parsers, &names("a.py", "def greet(name): pass\n")).unwrap();
    assert_eq!(answer["defined"], json!(["greet"]));
}

#[track_caller]
fn the_one_that_waits(parsers: &Parsers) -> u32 {
    let idle = parsers.idle();
    assert_eq!(idle.len(), 1, "{idle:?}");
    idle[0]
}

fn is_alive(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(30), "in half a minute not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Keeps the parser busy for minutes: each part may be a comparison or a call with types, and so may all before it.
fn endless() -> String {
    format!("{}\n", "a<b>(c)<".repeat(20)).repeat(5_000)
}

/// Another one, of a single line, that takes hundreds of mebibytes.
fn greedy() -> String {
    "(a)".repeat(300_000)
}

/// A program that is no parser: it greets like one and then does what its second line says.
fn pretender(folder: &Path, then: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;

    let greeting = r#"{"landlock":"full","calls":true,"user":null}"#;
    let path = folder.join("pretender");
    std::fs::write(&path, format!("#!/bin/sh\n{}\n{then}\n", frame(greeting))).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn frame(text: &str) -> String {
    let length: String =
        u32::try_from(text.len()).unwrap().to_le_bytes().iter().map(|byte| format!("\\{byte:03o}")).collect();
    format!("printf '{length}'; printf '%s' '{text}'")
}

#[cfg(target_os = "linux")]
#[test]
fn a_parser_has_nothing_and_reaches_nothing() {
    let parsers = parsers(|_| {});
    let (held, tried) = parsers.try_out().unwrap();
    assert!(held.calls, "{held:?}");
    assert_eq!(tried.could, Vec::<String>::new());
    assert!(tried.parsed && tried.variables == 0, "{tried:?}");

    works(&parsers);
    let id = the_one_that_waits(&parsers);
    let proc = |name: &str| format!("/proc/{id}/{name}");
    let status = std::fs::read_to_string(proc("status")).unwrap();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!((field("Seccomp:"), field("NoNewPrivs:")), ("2".to_owned(), "1".to_owned()));
    assert_eq!(field("Threads:"), "1");
    assert_eq!(field("CapEff:"), field("CapPrm:"));
    assert_eq!(u64::from_str_radix(&field("CapEff:"), 16).unwrap(), 0);
    if held.user.is_none() {
        // As an ordinary user we may not look further into a process that forbids dumps, and neither may its neighbours.
        assert!(std::fs::read_dir(proc("fd")).is_err());
        return;
    }
    assert_eq!(field("Uid:").split_whitespace().collect::<BTreeSet<_>>(), BTreeSet::from(["1899999999"]));
    assert_eq!(field("Gid:").split_whitespace().collect::<BTreeSet<_>>(), BTreeSet::from(["1899999999"]));
    assert_eq!(field("Groups:"), "");
    assert_eq!(std::fs::read(proc("environ")).unwrap(), b"");
    let open: BTreeSet<String> =
        std::fs::read_dir(proc("fd")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(open, ["0", "1", "2"].map(str::to_owned).into());
}

#[test]
fn a_text_that_hangs_its_parser_costs_one_answer_and_the_process() {
    let parsers = parsers(|settings| settings.time = Duration::from_secs(3));
    works(&parsers);
    let hung = the_one_that_waits(&parsers);
    let began = Instant::now();
    assert_eq!(ask(&parsers, &names("a.ts", &endless())), Err(Failure::Time));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!is_alive(hung), "a parser that hangs is ended");
    works(&parsers);
    assert_ne!(the_one_that_waits(&parsers), hung);
}

#[cfg(target_os = "linux")]
#[test]
fn a_text_that_wants_too_much_memory_costs_one_answer() {
    let parsers = parsers(|settings| settings.memory = 128 << 20);
    works(&parsers);
    let (path, text) = ("A.java", greedy());
    assert_eq!(ask(&parsers, &names(path, &text)), Err(Failure::Memory(128 << 20)));
    works(&parsers);
    // It is the limit that this was about.
    assert_ne!(ask(&self::parsers(|_| {}), &names(path, &text)), Err(Failure::Memory(1 << 30)));
}

#[test]
fn a_parser_that_was_killed_is_replaced_and_nothing_is_lost() {
    let parsers = parsers(|settings| settings.most = 1);
    works(&parsers);
    let killed = the_one_that_waits(&parsers);
    let sent = std::process::Command::new("sh").args(["-c", &format!("kill -KILL {killed}")]).status().unwrap();
    assert!(sent.success());
    until("the killed one is gone", || !is_alive(killed));
    works(&parsers);
    assert_ne!(the_one_that_waits(&parsers), killed);
}

/// Processes that this one has started.
fn children(parent: u32) -> Vec<u32> {
    let processes =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        rest.split(' ').nth(1) == Some(&parent.to_string())
    };
    processes.filter(is_child).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn parsers_die_with_whoever_asked_them_also_in_the_middle_of_a_text() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("endless.ts"), endless()).unwrap();
    let mut scan = std::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"))
        .args(["scan", "endless.ts"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let busy = |id: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let ticks = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(11)?.parse::<u64>().ok());
        ticks.is_some_and(|ticks| ticks > 100)
    };
    let mut parser = None;
    until("a parser is busy for a second", || {
        parser = children(scan.id()).into_iter().find(|id| busy(*id));
        parser.is_some()
    });
    scan.kill().unwrap();
    scan.wait().unwrap();
    until("the parser is gone", || !is_alive(parser.unwrap()));
}

#[test]
fn a_local_scan_names_the_file_that_hangs_its_parser_and_reads_the_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("endless.ts"), endless()).unwrap();
    std::fs::write(folder.path().join("run.py"), DEFECTS).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_octoswarm"))
        .args(["scan", "--format", "json", "."])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = said.to_string();
    assert!(text.contains("the parser took too long") && text.contains("endless.ts"), "{text}");
    assert!(text.contains("eval-of-data"), "{text}");
}

#[test]
fn a_parser_is_replaced_when_it_has_answered_enough() {
    let parsers = parsers(|settings| settings.questions = 2);
    works(&parsers);
    let first = the_one_that_waits(&parsers);
    works(&parsers);
    assert_eq!(parsers.idle(), Vec::<u32>::new());
    works(&parsers);
    assert_ne!(the_one_that_waits(&parsers), first);
}

#[test]
fn many_who_ask_at_once_share_a_few_parsers() {
    let parsers = parsers(|settings| settings.most = 2);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| works(&parsers)));
        }
    });
    assert!((1..=2).contains(&parsers.idle().len()), "{:?}", parsers.idle());
}

#[test]
fn a_parser_that_lies_dies_or_floods_is_found_out_and_ended() {
    let endless_answer = r"printf '\377\377\377\177'; cat /dev/zero";
    let cases: [(&str, String, Failure); 6] = [
        ("what is no answer", format!("{}; exec cat", frame("true and false")), Failure::Nonsense),
        ("an answer without end", endless_answer.to_owned(), Failure::Nonsense),
        ("half an answer", r"printf '\020\000\000\000half'".to_owned(), Failure::Crashed),
        ("its death", "kill -SEGV $$".to_owned(), Failure::Crashed),
        ("complaints instead", "while :; do echo complaint >&2; done".to_owned(), Failure::Time),
        ("a word about memory", "echo memory allocation of 9 bytes failed >&2; kill -ABRT $$".to_owned(), {
            Failure::Memory(1 << 30)
        }),
    ];
    for (what, then, want) in cases {
        let folder = tempfile::tempdir().unwrap();
        let parsers = parsers(|settings| {
            settings.helper = pretender(folder.path(), &then);
            settings.time = Duration::from_secs(2);
        });
        assert_eq!(ask(&parsers, &names("a.py", "x = 1\n")), Err(want), "{what}");
        assert_eq!(parsers.idle(), Vec::<u32>::new(), "{what}: nobody asks it again");
    }
}

#[test]
fn where_no_parser_can_be_started_it_says_why() {
    let parsers = parsers(|settings| settings.helper = PathBuf::from("/nonexistent/octoswarm"));
    let Err(Failure::Unavailable(why)) = ask(&parsers, &names("a.py", "")) else { panic!("somebody answered") };
    assert!(why.contains("/nonexistent/octoswarm"), "{why}");
}

/// Each file of code that lies below, with its path from here.
fn code_below(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") {
            code_below(&path, found);
        } else if let Some(name) = path.to_str().filter(|name| Language::of_path(name).is_some()) {
            found.push((name.to_owned(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Our own sources, the fixtures, and every snippet of every rule in each of its languages.
fn corpus(engine: &Engine) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    ["src", "fixtures"].iter().for_each(|folder| code_below(&root.join(folder), &mut all));
    for rule in engine.rule_files() {
        for snippet in rule.flag.iter().chain(&rule.pass) {
            let paths = snippet.languages.iter().map(|language| language.sample_path().to_owned());
            all.extend(paths.map(|path| (path, snippet.code.clone())));
        }
    }
    assert!(all.len() > 1_000, "{}", all.len());
    all
}

/// What this process answers by itself, as a worker would.
fn here<A: serde::de::DeserializeOwned>(name: &str, path: &str, text: &str, is_test: bool) -> A {
    let language = Language::of_path(path).unwrap();
    let question = json!({ "language": language, "path": path, "text": text, "is_test": is_test, "only": null });
    let answer = app::answer(&workers::written(name, &question).unwrap()).unwrap();
    serde_json::from_slice(&answer).unwrap()
}

#[test]
fn workers_say_the_same_as_one_would_in_place_and_are_believed() {
    app::install().unwrap();
    let engine = Engine::embedded().unwrap();
    let corpus = Arc::new(corpus(&engine));
    let check = |path: &str, text: &str| {
        let outline = Outline::read(path, text).map(|outline| serde_json::to_value(outline).unwrap());
        let is_test = outline.as_ref().is_some_and(|outline| {
            let empty = |key: &str| outline[key].as_array().is_none_or(Vec::is_empty);
            empty("items") && empty("routes") && empty("mounts") && empty("extents")
        });
        assert_eq!(outline, here("analysis.outline", path, text, is_test), "outline of {path}\n{text}");
        let said = Names::read(path, text).map(|names| serde_json::to_value(names).unwrap());
        assert_eq!(said, here("analysis.names", path, text, false), "names of {path}\n{text}");
        let declared: Option<Vec<Declared>> = here("analysis.declarations", path, text, false);
        assert_eq!(declarations(path, text), declared, "declarations of {path}\n{text}");
        let scan = engine.scan(path, text);
        let Value::Array(places) = here::<Value>("analysis.matches", path, text, false)["places"].take() else {
            panic!("no places")
        };
        if let Reading::Failed(why) = &scan.reading {
            panic!("{path} was not read: {why}\n{text}");
        }
        let rules: BTreeSet<&str> = places.iter().filter_map(|place| place["rule"].as_str()).collect();
        for finding in scan.findings.iter().filter(|finding| engine.rule_files().iter().any(|r| r.id == finding.rule)) {
            assert!(rules.contains(finding.rule.0.as_str()), "{finding:?} in {path}\n{text}");
        }
        places.len()
    };
    let found: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|half| {
                let corpus = &corpus;
                scope.spawn(move || {
                    corpus.iter().skip(half).step_by(2).map(|(path, text)| check(path, text)).sum::<usize>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(found > 500, "{found} places of rules");
}

#[tokio::test]
async fn a_file_that_hangs_the_parser_costs_itself_alone_and_the_review_names_it() {
    let world = World::start().await;
    let change = Change::new().write("src/run.py", DEFECTS).write("web/endless.ts", endless());
    let pull = OpenPull::new("ada", "endless", "Something endless", change);
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    let began = Instant::now();
    while world.reviews(number).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(180), "there is no review");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.settle().await;
    let places = world.comment_places(number);
    assert!(places.contains(&"src/run.py:5".to_owned()), "{places:?}");
    let check = world.check(number);
    let said = format!("{check:?}");
    assert!(said.contains("web/endless.ts") && said.contains("the parser took too long"), "{said}");
    world.end().await;
}
