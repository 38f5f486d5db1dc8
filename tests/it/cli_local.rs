//! `review` and `scan` as a user calls them: what was read and how far, what the repository's own file says, what is told
//! when something cannot be read or written.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use octoswarm::analysis::{Engine, RuleInfo};
use serde_json::{Value, json};

use crate::cli::{CLEAN, DEFECTS, exits, octoswarm, program, repository, stderr, stdout};
use crate::support::git;

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), files);
    dir
}

fn write(dir: &Path, files: &[(&str, &[u8])]) {
    for (path, bytes) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// A change of these files on top of a clean commit, not committed itself.
fn changed(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = folder(&[("clean.py", CLEAN.as_bytes())]);
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    write(dir.path(), files);
    dir
}

fn json_of(dir: &Path, args: &[&str]) -> Value {
    let output = octoswarm(dir, &[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
}

const WORKFLOW: &[u8] = b"on: push\njobs: {}\n";
const NOTHING: &str = "nothing here that octoswarm has language rules for (2 files)";

#[test]
fn a_change_without_a_file_of_a_known_language_is_no_failure_and_not_called_clean() {
    let dir = changed(&[(".github/workflows/ci.yml", WORKFLOW), ("Dockerfile", b"FROM scratch\n")]);
    let output = octoswarm(dir.path(), &["review"]);
    exits(&output, 0);
    let text = stdout(&output);
    assert!(text.contains(NOTHING) && !text.contains("clean"), "{text}");
    assert!(text.contains("read for secrets and merge markers only: 1 (.yml), 1 (Dockerfile)"), "{text}");
    let json = json_of(dir.path(), &["review"]);
    assert_eq!(json["outcome"]["outcome"], "nothing-to-review");
    assert_eq!(json["coverage"]["text_only"], json!([".github/workflows/ci.yml", "Dockerfile"]));
    assert_eq!(json["coverage"]["not_read"], json!([]));
    let markdown = stdout(&octoswarm(dir.path(), &["review", "--format", "markdown"]));
    assert!(markdown.contains(NOTHING) && markdown.contains("1 (`.yml`), 1 (`Dockerfile`)"), "{markdown}");
}

#[test]
fn files_that_nobody_expects_to_be_read_are_no_failure() {
    for files in [
        &[("Cargo.lock", &b"x = 1\n"[..])][..],
        &[("logo.png", b"\x89PNG\0")],
        &[("vendor/a.go", b"package a\n")],
        &[("a.txt", b"hello\n")],
    ] {
        let dir = folder(files);
        exits(&octoswarm(dir.path(), &["scan", files[0].0]), 0);
        exits(&octoswarm(changed(files).path(), &["review"]), 0);
    }
}

#[test]
fn a_file_that_should_have_been_read_says_why_it_was_not() {
    let large = "x = 1\n".repeat(200_000);
    for (bytes, reason) in
        [(&b"x = '\xff\xfe'\n"[..], "not UTF-8"), (b"x = 1\n\0\0", "binary"), (large.as_bytes(), "larger than 1 MiB")]
    {
        let dir = folder(&[("a.py", bytes)]);
        let output = octoswarm(dir.path(), &["scan", "a.py"]);
        exits(&output, 3);
        let wanted = format!("could not scan: none of 1 file could be read: a.py ({reason})");
        assert!(stdout(&output).contains(&wanted), "{}", stdout(&output));
        let markdown = stdout(&octoswarm(dir.path(), &["scan", "a.py", "--format", "markdown"]));
        assert!(markdown.starts_with("**Nothing could be scanned:** none of 1 file could be read"), "{markdown}");
        assert!(!markdown.contains("change"), "{markdown}");
        let commands = stdout(&octoswarm(dir.path(), &["scan", "a.py", "--format", "github"]));
        assert!(commands.starts_with("::warning title=octoswarm::could not scan: none of 1 file"), "{commands}");
        let review = octoswarm(changed(&[("b.py", bytes)]).path(), &["review"]);
        exits(&review, 3);
        assert!(
            stdout(&review).contains("could not review: none of 1 file could be read: b.py"),
            "{}",
            stdout(&review)
        );
    }
    let beside = folder(&[("a.py", b"\0"), ("b.txt", b"x\n")]);
    let output = octoswarm(beside.path(), &["scan", "."]);
    exits(&output, 3);
    assert!(stdout(&output).contains("none of 1 file that octoswarm has language rules for"), "{}", stdout(&output));
    exits(&octoswarm(folder(&[("a.py", b"\0"), ("b.py", b"x = 1\n")]).path(), &["scan", "."]), 0);
}

#[test]
fn a_finding_never_stands_in_a_file_that_was_not_read() {
    let conflict = b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n";
    let dir = folder(&[("notes.txt", conflict), ("a.py", CLEAN.as_bytes())]);
    let json = json_of(dir.path(), &["scan", "."]);
    assert_eq!(json["findings"][0]["path"], "notes.txt");
    assert_eq!(json["coverage"]["text_only"], json!(["notes.txt"]));
    assert_eq!(json["coverage"]["read"], 1);
    let text = stdout(&octoswarm(dir.path(), &["scan", "."]));
    assert!(text.contains("read for secrets and merge markers only: 1 (.txt)") && !text.contains("not read"), "{text}");
}

#[test]
fn a_file_that_two_paths_lead_to_counts_once() {
    let dir = folder(&[("c.py", DEFECTS.as_bytes()), ("d/e.py", CLEAN.as_bytes())]);
    let absolute = dir.path().join("d").display().to_string();
    let json = json_of(dir.path(), &["scan", "c.py", "./c.py", ".", "d", "d/../c.py", &absolute]);
    assert_eq!(json["coverage"]["total"], 2);
    let once = json_of(dir.path(), &["scan", "."]);
    assert_eq!(json["findings"].as_array().unwrap().len(), once["findings"].as_array().unwrap().len());
}

#[test]
fn what_is_no_file_is_wrong_usage_with_a_way_out() {
    let dir = folder(&[("a.py", CLEAN.as_bytes())]);
    let way_out = "`octoswarm scan - --stdin-filename NAME`";
    for (args, part) in [
        (["scan", "-"].as_slice(), "no name that would tell its language"),
        (&["scan", "/dev/null"], "`/dev/null` is a device"),
        (&["scan", "/dev/stdin"], "`/dev/stdin` is what this process has open"),
        (&["scan", "a.py", "/dev/fd/0"], "`/dev/fd/0` is what this process has open"),
    ] {
        // A regular file behind standard input makes no difference.
        let stdin = std::fs::File::open(dir.path().join("a.py")).unwrap();
        let output = program(dir.path(), args).stdin(stdin).output().unwrap();
        exits(&output, 2);
        assert!(stderr(&output).contains(part) && stderr(&output).contains(way_out), "{}", stderr(&output));
    }
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let output = octoswarm(dir.path(), &["scan", "pipe"]);
    exits(&output, 2);
    assert!(stderr(&output).contains("`pipe` is a pipe"), "{}", stderr(&output));
    for args in [
        ["scan", "-", "a.py", "--stdin-filename", "b.py"].as_slice(),
        &["scan", "a.py", "--stdin-filename", "b.py"],
        &["scan", "-", "--stdin-filename", "/"],
    ] {
        exits(&octoswarm(dir.path(), args), 2);
    }
}

#[test]
fn standard_input_is_scanned_as_the_file_that_it_is_said_to_be() {
    let config = b"disable: [debugger-left]\n";
    let dir = changed(&[(".github/octoswarm.yml", config)]);
    let scan = |name: &str, text: &[u8], more: &[&str]| {
        let args = [&["scan", "-", "--stdin-filename", name, "--format", "json"], more].concat();
        let mut child = program(dir.path(), &args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // What is too long is not read to its end.
        let _refused = child.stdin.take().unwrap().write_all(text);
        let output = child.wait_with_output().unwrap();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), output.status.code())
    };
    let rules = |json: &Value| -> Vec<String> {
        let findings = json["findings"].as_array().unwrap();
        findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
    };
    // A folder that is not there yet still lies in the work tree whose configuration holds.
    let (json, code) = scan("new/folder/c.py", DEFECTS.as_bytes(), &[]);
    assert_eq!((rules(&json), code), (vec!["eval-of-data".to_owned()], Some(1)), "{json}");
    assert_eq!(json["findings"][0]["path"], "new/folder/c.py");
    let (json, _) = scan("c.py", DEFECTS.as_bytes(), &["--no-config"]);
    assert_eq!(rules(&json).len(), 2, "{json}");
    let (json, code) = scan("c.md", DEFECTS.as_bytes(), &[]);
    assert_eq!((rules(&json).len(), code), (0, Some(0)), "another language: {json}");
    let (json, code) = scan("c.py", &[b'#'; (1 << 20) + 1], &[]);
    assert_eq!(
        (json["coverage"]["not_read"][0]["reason"].as_str(), code),
        (Some("larger than 1 MiB"), Some(3)),
        "{json}"
    );
    let (json, _) = scan("c.py", b"\0\0", &[]);
    assert_eq!(json["coverage"]["not_read"][0]["reason"], "binary");
}

#[test]
fn the_scan_obeys_the_file_of_the_work_tree() {
    let config = b"ignore: ['legacy/**']\ndisable: [breakpoint-left, eval-of-data]\n";
    let dir = changed(&[(".github/octoswarm.yml", config), ("legacy/b.py", DEFECTS.as_bytes())]);
    write(dir.path(), &[("src/c.py", DEFECTS.as_bytes())]);
    let rules = |json: &Value| -> Vec<String> {
        let findings = json["findings"].as_array().unwrap();
        findings.iter().map(|f| format!("{} {}", f["path"].as_str().unwrap(), f["rule"].as_str().unwrap())).collect()
    };
    let all = rules(&json_of(dir.path(), &["scan", ".", "--no-config"]));
    assert!(
        all.iter().any(|f| f.starts_with("legacy/")) && all.contains(&"src/c.py eval-of-data".to_owned()),
        "{all:?}"
    );
    let some = json_of(dir.path(), &["scan", "."]);
    assert!(!rules(&some).iter().any(|f| f.starts_with("legacy/") || f.ends_with("eval-of-data")), "{some}");
    let ignored = &some["coverage"]["not_read"][0];
    assert_eq!(ignored["path"], "legacy/b.py");
    assert_eq!(ignored["left_out"], true);
    // Globs count from the repository's root, wherever the scan begins.
    assert_eq!(json_of(&dir.path().join("legacy"), &["scan", "b.py"])["findings"], json!([]));
    let bar = b"fail_on: never\nmin_severity: high\n";
    write(dir.path(), &[(".github/octoswarm.yml", bar)]);
    exits(&octoswarm(dir.path(), &["scan", "."]), 0);
    exits(&octoswarm(dir.path(), &["scan", ".", "--fail-on", "high"]), 1);
    let high = json_of(dir.path(), &["scan", "."]);
    assert!(high["findings"].as_array().unwrap().iter().all(|f| f["severity"] == "high"), "{high}");
}

#[test]
fn a_change_cannot_switch_off_its_own_review() {
    let dir = changed(&[(".github/octoswarm.yml", b"disable: [eval-of-data]\n"), ("b.py", DEFECTS.as_bytes())]);
    let brings_it = octoswarm(dir.path(), &["review"]);
    exits(&brings_it, 1);
    git(dir.path(), &["add", ".github"]);
    git(dir.path(), &["commit", "-qm", "Configure"]);
    let json = json_of(dir.path(), &["review"]);
    let found = |json: &Value| json["findings"].as_array().unwrap().iter().any(|f| f["rule"] == "eval-of-data");
    assert!(!found(&json), "{json}");
    assert!(found(&json_of(dir.path(), &["review", "--no-config"])));
}

#[test]
fn an_invalid_file_is_a_warning_with_its_place_and_the_defaults_hold() {
    let dir = changed(&[(".github/octoswarm.yml", b"disable: [eval-of-data]\nfail_on: sometimes\n")]);
    write(dir.path(), &[("b.py", DEFECTS.as_bytes())]);
    git(dir.path(), &["add", ".github"]);
    git(dir.path(), &["commit", "-qm", "Configure"]);
    for (args, place) in
        [(&["review"][..], ":2:10: `fail_on`"), (&["scan", "."], ".github/octoswarm.yml:2:10: `fail_on`")]
    {
        let output = octoswarm(dir.path(), args);
        exits(&output, 1);
        let told = stderr(&output);
        assert!(told.starts_with("warning: .github/octoswarm.yml") && told.contains(place), "{told}");
        assert!(stdout(&output).contains("eval-of-data"), "{}", stdout(&output));
        let without = octoswarm(dir.path(), &[args, &["--no-config"]].concat());
        assert_eq!(stderr(&without), "");
    }
}

#[test]
fn a_full_disk_is_no_success() {
    let dir = repository(DEFECTS);
    let formats = ["text", "json", "sarif", "markdown", "github"];
    let scans = formats.map(|format| vec!["scan", "a.py", "--fail-on", "never", "--format", format]);
    let config = dir.path().join("octoswarm.yml");
    std::fs::write(&config, "review: true\n").unwrap();
    let others = [vec!["rules"], vec!["rules", "eval-of-data"], vec!["config", "check"], vec!["calls"], vec!["--help"]];
    for args in scans.into_iter().chain(others) {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        command.args(&args).current_dir(dir.path()).env_clear().env("HOME", dir.path()).env("NO_COLOR", "1");
        let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
        exits(&output, 3);
        let told = stderr(&output);
        assert!(told.contains("error: cannot write to standard output: No space left on device\n"), "{args:?}: {told}");
    }
}

#[test]
fn sarif_tells_clean_from_unread() {
    let log = |files: &[(&str, &[u8])]| -> Value {
        let dir = folder(files);
        let output = octoswarm(dir.path(), &["scan", ".", "--format", "sarif"]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let clean = log(&[("a.py", CLEAN.as_bytes())]);
    let invocation = &clean["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], true);
    assert_eq!(invocation["toolExecutionNotifications"], json!([]));
    let unread = log(&[("a b.py", b"x = '\xff'\n"), ("logo.png", b"\0")]);
    let invocation = &unread["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let told = invocation["toolExecutionNotifications"].as_array().unwrap();
    let about = |uri: &str| {
        let place = |n: &&Value| n["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri;
        told.iter().find(place).unwrap_or_else(|| panic!("{uri} in {told:?}"))
    };
    assert_eq!(told[0]["level"], "error");
    assert_eq!(about("a%20b.py")["level"], "warning");
    assert_eq!(about("a%20b.py")["message"]["text"], "a b.py was not read: not UTF-8");
    assert_eq!(about("logo.png")["level"], "note");
}

#[test]
fn a_review_says_what_it_compared() {
    let dir = repository(DEFECTS);
    let text = stdout(&octoswarm(dir.path(), &["review"]));
    let short = |rev: &str| git(dir.path(), &["rev-parse", "--short=7", rev]).trim().to_owned();
    let wanted = format!("compared {} (merge base with `main`) with the work tree on {}", short("main"), short("HEAD"));
    assert!(text.contains(&wanted), "{text}");
    let text = stdout(&octoswarm(dir.path(), &["review", "--base", "main", "--head", "change"]));
    assert!(text.contains(&format!("(merge base with `main`) with {}", short("change"))), "{text}");
    git(dir.path(), &["checkout", "-q", "main"]);
    git(dir.path(), &["checkout", "-qb", "other"]);
    let empty = octoswarm(dir.path(), &["review"]);
    exits(&empty, 0);
    assert!(stdout(&empty).contains("nothing has changed since `main`"), "{}", stdout(&empty));
}

#[test]
fn a_rule_names_each_of_its_languages_once() {
    let dir = folder(&[]);
    let engine = Engine::embedded().unwrap();
    let several = |rule: &&RuleInfo| rule.languages.iter().collect::<BTreeSet<_>>().len() < rule.languages.len();
    let rules: Vec<&RuleInfo> = engine.rules().iter().filter(several).take(5).collect();
    assert!(!rules.is_empty(), "no rule has two bodies for one language");
    for rule in rules {
        let text = stdout(&octoswarm(dir.path(), &["rules", &rule.id.0]));
        let languages = text.lines().find_map(|line| line.strip_prefix("Languages: ")).unwrap();
        let mut seen = BTreeSet::new();
        assert!(languages.split(", ").all(|language| seen.insert(language)), "{}: {languages}", rule.id);
    }
}

#[test]
fn what_the_parser_did_not_understand_is_told_and_changes_no_exit_code() {
    let broken = b"function f(x) {\n  return x;\n}\nfunction g( {{{\n";
    let dir = folder(&[("a.js", broken), ("b.js", b"const a = 1;\n")]);
    let output = octoswarm(dir.path(), &["scan", "."]);
    exits(&output, 0);
    let text = stdout(&output);
    assert!(text.contains("1 file has syntax errors; findings may be missing there: a.js"), "{text}");
    assert!(text.contains("read 2 of 2 files"), "{text}");
    assert_eq!(json_of(dir.path(), &["scan", "."])["coverage"]["syntax_errors"], json!(["a.js"]));
    for format in ["markdown", "github", "sarif"] {
        let text = stdout(&octoswarm(dir.path(), &["scan", ".", "--format", format]));
        assert!(text.contains("syntax errors; findings may be missing there"), "{format}: {text}");
    }
    let change = changed(&[("a.js", broken)]);
    assert!(stdout(&octoswarm(change.path(), &["review"])).contains("1 file has syntax errors"));
}

#[test]
fn what_a_grammar_does_not_know_of_types_alarms_nobody() {
    let dir = folder(&[
        ("a.ts", b"export interface Box<in out A> {\n  readonly get: () => A;\n}\n"),
        ("b.rs", b"fn f() -> Ranged<-1, 1> {\n    Ranged::new()\n}\n"),
    ]);
    let json = json_of(dir.path(), &["scan", "."]);
    assert_eq!(json["coverage"]["syntax_errors"], json!([]));
    assert_eq!(json["coverage"]["read"], 2);
}

#[test]
fn a_fix_that_deletes_a_statement_leaves_one_blank() {
    let dir = folder(&[("a.js", b"export function f(x) {\n  if (x) { debugger; return x; }\n}\n")]);
    let json = json_of(dir.path(), &["scan", "a.js"]);
    let fixes: Vec<&str> =
        json["findings"].as_array().unwrap().iter().filter_map(|f| f["fix"]["replacement"].as_str()).collect();
    assert_eq!(fixes, ["  if (x) { return x; }"]);
}

#[test]
fn the_kind_critical_is_told_from_a_severity() {
    let dir = repository(DEFECTS);
    assert!(stdout(&octoswarm(dir.path(), &["review"])).contains("critical is a kind of finding"));
    let clean = repository("def add(a, b):\n    return b + a\n");
    assert!(!stdout(&octoswarm(clean.path(), &["review"])).contains("critical"));
}

#[test]
fn the_help_tells_what_each_way_works_on() {
    let dir = folder(&[]);
    let fix = stdout(&octoswarm(dir.path(), &["fix", "--help"]));
    assert!(fix.contains("Make the change on HEAD, without what is not committed") && fix.contains("to the work tree"));
    assert!(stdout(&octoswarm(dir.path(), &["review", "--help"])).contains("merge base"));
    assert!(stdout(&octoswarm(dir.path(), &["scan", "--help"])).contains("1 MiB"));
}
