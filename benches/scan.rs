//! `octoswarm scan` over large trees of real code, beside the ast-grep command line with the same rules.
//!
//! Both read the same bytes: files that octoswarm leaves out (generated, minified, tests) are not in the trees. Our rules
//! are written out as an ast-grep rule folder, as far as ast-grep has the words; what we look at beyond that (where a value
//! comes from, secrets, comments that allow a place) is our extra work, not theirs. Nothing here fails for being slow; it
//! does fail when the two do not match the same places.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, starts processes, writes files and stops where it cannot go on"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use octoswarm::analysis::Engine;
use serde_json::{Map, Value, json};
use support::{self as kit, Page, Usage, median};

/// Keys of a rule body that ast-grep has no word for: each only takes matches away, or moves where they point.
const NARROWING: &[&str] = &[
    "dynamic",
    "built",
    "from_request",
    "directly",
    "built_text",
    "safe_calls",
    "safe_names",
    "not_in_paths",
    "not_in_files_with",
    "only_in_files_with",
    "not_in_functions_with",
    "at",
];
const SHARED: &[&str] = &["rule", "constraints", "utils", "transform", "fix"];

const RUNS: usize = 3;

fn main() {
    let rules = kit::folder().join("rules");
    let exported = export(&rules);
    let mut page = Page::new("scan");
    page.line(&format!(
        "\nRules: {} of ours as {} ast-grep rules (one a language). Of these {} are narrowed further by us and by nobody there.",
        exported.files,
        exported.rules.len(),
        exported.rules.values().filter(|narrowed| **narrowed).count(),
    ));
    agree_on_snippets(&rules, &exported, &mut page);
    page.head(&[
        "tree",
        "files",
        "MB",
        "processors",
        "octoswarm",
        "files/s",
        "peak",
        "ast-grep",
        "files/s",
        "peak",
        "ours : theirs",
        "findings : matches",
    ]);
    for tree in trees() {
        compare(&tree, &rules, &mut page);
    }
    page.line(
        "\nours : theirs is the throughput ratio of neighbouring runs, the median of them; above 1 we are faster.",
    );
    ruff(&mut page);
    page.keep();
}

/// Our rules as ast-grep's; by the name of each exported rule whether we narrow it.
struct Exported {
    files: usize,
    rules: BTreeMap<String, bool>,
}

fn export(to: &Path) -> Exported {
    fs::remove_dir_all(to).ok();
    fs::create_dir_all(to.join("rules")).unwrap();
    fs::write(to.join("sgconfig.yml"), "ruleDirs: [rules]\n").unwrap();
    let mut exported = Exported { files: 0, rules: BTreeMap::new() };
    for path in kit::files(&kit::project().join("src/analysis/rules")) {
        let text = fs::read_to_string(&path).unwrap();
        let file: Map<String, Value> = serde_saphyr::from_str(&text).unwrap();
        let id = file["id"].as_str().unwrap();
        exported.files += 1;
        for (nth, body) in file["languages"].as_array().unwrap().iter().enumerate() {
            let body = body.as_object().unwrap();
            let known = |key: &String| key == "language" || NARROWING.contains(&&**key) || SHARED.contains(&&**key);
            assert!(body.keys().all(known), "{id} has a key that this benchmark does not know");
            let narrowed = body.keys().any(|key| NARROWING.contains(&&**key));
            for language in languages(&body["language"]) {
                let name = format!("{id}--{nth}-{}", language.to_lowercase());
                let mut rule =
                    json!({ "id": name, "language": language, "severity": "warning", "message": file["message"] });
                for key in SHARED {
                    if let Some(value) = body.get(*key) {
                        rule[*key] = value.clone();
                    }
                }
                // JSON is YAML.
                fs::write(to.join("rules").join(format!("{name}.yml")), rule.to_string()).unwrap();
                exported.rules.insert(name, narrowed);
            }
        }
    }
    exported
}

fn languages(value: &Value) -> Vec<&str> {
    let names = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let expand = |name: &Value| match name.as_str().unwrap() {
        "ecmascript" => vec!["JavaScript", "TypeScript", "Tsx"],
        "javascript" => vec!["JavaScript"],
        "typescript" => vec!["TypeScript"],
        "tsx" => vec!["Tsx"],
        "python" => vec!["Python"],
        "rust" => vec!["Rust"],
        "go" => vec!["Go"],
        "java" => vec!["Java"],
        other => panic!("an unknown language: {other}"),
    };
    names.iter().flat_map(expand).collect()
}

/// A rule at a line of a file.
type Place = (String, PathBuf, u64);

/// On the snippets that prove our rules both find the same, but for what we narrow.
fn agree_on_snippets(rules: &Path, exported: &Exported, page: &mut Page) {
    let folder = kit::folder().join("snippets");
    fs::remove_dir_all(&folder).ok();
    let engine = Engine::embedded().unwrap();
    let mut snippets = 0;
    for rule in engine.rule_files() {
        for snippet in rule.flag.iter().chain(&rule.pass).filter(|snippet| snippet.path.is_none()) {
            for language in &snippet.languages {
                snippets += 1;
                let path = folder.join(format!("s{snippets}")).join(language.sample_path());
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &snippet.code).unwrap();
            }
        }
    }
    let (ours, theirs) = (our_places(&folder), their_places(&folder, rules, |_| true));
    let missing: Vec<_> = ours.iter().filter(|place| !theirs.iter().any(|range| range.holds(place))).collect();
    assert!(missing.is_empty(), "ast-grep does not match what octoswarm finds: {missing:#?}");
    let plain = |name: &str| !exported.rules[name];
    let unnarrowed: BTreeSet<Place> = their_places(&folder, rules, plain).iter().map(Range::place).collect();
    let extra: Vec<_> = unnarrowed.difference(&ours).collect();
    page.line(&format!(
        "On {snippets} snippets of the rules' own tests ast-grep matches all {} places that octoswarm finds; of the {} places \
         that rules without narrowing match there, octoswarm leaves out {} (said by a longer match, or allowed by a comment).",
        ours.len(),
        unnarrowed.len(),
        extra.len(),
    ));
    assert!(extra.len() * 50 <= unnarrowed.len(), "octoswarm does not find what ast-grep matches: {extra:#?}");
}

/// One match of ast-grep.
struct Range {
    rule: String,
    path: PathBuf,
    start: u64,
    end: u64,
}

impl Range {
    fn holds(&self, (rule, path, line): &Place) -> bool {
        self.rule == *rule && self.path == *path && (self.start..=self.end).contains(line)
    }

    fn place(&self) -> Place {
        (self.rule.clone(), self.path.clone(), self.start)
    }
}

fn our_places(folder: &Path) -> BTreeSet<Place> {
    let syntax: BTreeSet<String> =
        Engine::embedded().unwrap().rule_files().iter().map(|rule| rule.id.0.clone()).collect();
    let report = our_report(folder);
    let place = |finding: &Value| {
        let rule = finding["rule"].as_str().unwrap().to_owned();
        (rule, PathBuf::from(finding["path"].as_str().unwrap()), finding["span"]["start_line"].as_u64().unwrap())
    };
    report["findings"].as_array().unwrap().iter().map(place).filter(|(rule, ..)| syntax.contains(rule)).collect()
}

fn our_report(folder: &Path) -> Value {
    let told =
        kit::run(Command::new(kit::octoswarm()).args(["scan", "--fail-on", "never", "--format", "json"]).arg(folder));
    serde_json::from_str(&told).unwrap()
}

fn their_places(folder: &Path, rules: &Path, wanted: impl Fn(&str) -> bool) -> Vec<Range> {
    let told = kit::run(Command::new(kit::peers().join("ast-grep")).args(their_arguments(rules)).arg(folder));
    let line = |line: &str| {
        let found: Value = serde_json::from_str(line).unwrap();
        let name = found["ruleId"].as_str().unwrap().to_owned();
        wanted(&name).then(|| Range {
            rule: name.rsplit_once("--").unwrap().0.to_owned(),
            path: PathBuf::from(found["file"].as_str().unwrap()),
            start: found["range"]["start"]["line"].as_u64().unwrap() + 1,
            end: found["range"]["end"]["line"].as_u64().unwrap() + 1,
        })
    };
    told.lines().filter_map(line).collect()
}

fn their_arguments(rules: &Path) -> Vec<String> {
    let config = rules.join("sgconfig.yml").display().to_string();
    ["scan", "--json=stream", "--no-ignore", "hidden", "--no-ignore", "vcs", "--config", &config]
        .map(str::to_owned)
        .into()
}

struct Tree {
    name: &'static str,
    folder: PathBuf,
}

fn trees() -> Vec<Tree> {
    let python = vec![kit::from_pypi(&["Django==5.2.8", "SQLAlchemy==2.0.44"])];
    let npm = ["three@0.170.0", "effect@3.17.0", "rxjs@7.8.2", "lodash@4.17.21"];
    let web: Vec<PathBuf> = npm.into_iter().map(kit::from_npm).collect();
    let native = kit::from_npm("react-native@0.72.17");
    let crates = kit::from_cargo(&[
        "tokio",
        "octocrab",
        "serde-saphyr",
        "regex-automata",
        "syn",
        "rustix",
        "time",
        "rustls",
        "zerocopy",
        "moka",
        "chrono",
        "winnow",
        "git2",
        "hyper",
        "clap_builder",
        "axum",
        "sqlx-core",
        "reqwest",
        "hashbrown",
        "tower-http",
    ]);
    vec![
        tree("python", &python, &["py"]),
        tree("javascript, typescript", &web, &["js", "mjs", "cjs", "jsx", "ts", "tsx"]),
        tree("rust", &crates, &["rs"]),
        tree("java", &[native], &["java"]),
    ]
}

/// The files of one language that octoswarm reads, without tests and examples: many of our rules are silent there.
fn tree(name: &'static str, from: &[PathBuf], extensions: &[&str]) -> Tree {
    let folder = kit::folder().join("trees").join(extensions[0]);
    kit::once(&folder, &format!("{from:?}"), || {
        for (nth, source) in from.iter().enumerate() {
            for path in kit::files(source) {
                let inner = path.strip_prefix(source).unwrap();
                let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
                if extensions.contains(&extension) && !like_a_test(&inner.to_string_lossy()) {
                    let to = folder.join(format!("p{nth}")).join(inner);
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::copy(&path, to).unwrap();
                }
            }
        }
        for left_out in our_report(&folder)["coverage"]["not_read"].as_array().unwrap() {
            fs::remove_file(left_out["path"].as_str().unwrap()).unwrap();
        }
    });
    Tree { name, folder }
}

fn like_a_test(path: &str) -> bool {
    let path = path.to_lowercase();
    ["test", "spec", "fixture", "mock", "bench", "example", "playground", "e2e", "stories"]
        .iter()
        .any(|word| path.contains(word))
        || path.ends_with("it.java")
}

fn compare(tree: &Tree, rules: &Path, page: &mut Page) {
    let files = kit::files(&tree.folder);
    let bytes: u64 = files.iter().map(|path| path.metadata().unwrap().len()).sum();
    let megabytes = bytes as f64 / 1e6;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let (ours, theirs) = (our_places(&tree.folder).len(), their_places(&tree.folder, rules, |_| true).len());
    let mut counts = vec![1, all];
    counts.dedup();
    for processors in counts {
        let our_command =
            pinned(processors, vec![kit::octoswarm(), "scan".into(), "--format".into(), "json".into()], tree);
        let mut peer = vec![kit::peers().join("ast-grep").display().to_string()];
        peer.extend(their_arguments(rules));
        peer.extend(["--threads".to_owned(), processors.to_string()]);
        let their_command = pinned(processors, peer, tree);
        let pairs: Vec<(Usage, Usage)> =
            (0..RUNS).map(|_| (kit::measure(&our_command), kit::measure(&their_command))).collect();
        let failed = pairs.iter().any(|(a, b)| a.code > 1 || b.code > 1);
        assert!(!failed, "a run failed: {pairs:?}");
        let our_wall = median(pairs.iter().map(|(ours, _)| ours.wall));
        let their_wall = median(pairs.iter().map(|(_, theirs)| theirs.wall));
        let ratio = median(pairs.iter().map(|(ours, theirs)| theirs.wall / ours.wall));
        let peak = |peak: f64| format!("{:.0} MB", peak / 1e6);
        page.row(&[
            tree.name.to_owned(),
            files.len().to_string(),
            format!("{megabytes:.1}"),
            processors.to_string(),
            format!("{:.1} MB/s", megabytes / our_wall),
            format!("{:.0}", files.len() as f64 / our_wall),
            peak(median(pairs.iter().map(|(ours, _)| ours.peak as f64))),
            format!("{:.1} MB/s", megabytes / their_wall),
            format!("{:.0}", files.len() as f64 / their_wall),
            peak(median(pairs.iter().map(|(_, theirs)| theirs.peak as f64))),
            format!("{ratio:.2}"),
            format!("{ours} : {theirs}"),
        ]);
    }
}

/// octoswarm takes as many threads as it may use processors: where one is asked for, both are given one.
fn pinned(processors: usize, command: Vec<String>, tree: &Tree) -> Vec<String> {
    let mut pinned = Vec::new();
    if processors == 1 {
        pinned.extend(["taskset", "--cpu-list", "0"].map(str::to_owned));
    }
    pinned.extend(command);
    pinned.push(tree.folder.display().to_string());
    pinned
}

/// For information: another engine with rules of its own.
fn ruff(page: &mut Page) {
    let folder = kit::folder().join("trees").join("py");
    let ruff = kit::peers().join("ruff").display().to_string();
    let folder = folder.display().to_string();
    let command = [
        &*ruff,
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "S,B,E711,E712",
        "--exit-zero",
        "--output-format",
        "json",
        &folder,
    ];
    let wall = median((0..RUNS).map(|_| kit::measure(&command).wall));
    let megabytes =
        kit::files(Path::new(&folder)).iter().map(|path| path.metadata().unwrap().len()).sum::<u64>() as f64 / 1e6;
    page.line(&format!(
        "For information: ruff 0.17.5 reads the Python tree at {:.1} MB/s on all processors, with a parser and rules of its \
         own for one language.",
        megabytes / wall
    ));
}
