//! The review server's crew over whole codebases: through the library as its other doors will call it, and through the binary.

mod routes;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use octoswarm::agent::audit;
use octoswarm::analysis::Engine;
use octoswarm::artifact::server::{
    Aggregate, ChecklistInput, ChecklistItem, CodeFile, Codebase, DocumentationInput, DocumentationMap, ItemSeverity,
    ReviewRequest,
};
use octoswarm::domain::Category;
use serde_json::Value;

const DEFECTS: &str = "import os\n\n\ndef run(text):\n    return eval(text)\n\n\ndef show(x):\n    breakpoint()\n    if x == None:\n        return 1\n    return x\n";

pub fn codebase(files: &[(&str, &str)]) -> Codebase {
    let files = files.iter().map(|(path, content)| CodeFile { path: (*path).into(), content: (*content).into() });
    Codebase { files: files.collect(), metadata: BTreeMap::new(), repo_url: None }
}

#[track_caller]
pub fn document(files: &[(&str, &str)]) -> DocumentationMap {
    audit::document(&DocumentationInput { codebase: codebase(files) }).unwrap()
}

fn asked(category: Category, files: &[(&str, &str)]) -> ChecklistInput {
    ChecklistInput { files: codebase(files).files, checklist: audit::checklist(category) }
}

fn request() -> ReviewRequest {
    ReviewRequest { id: "cb_1".into(), params: BTreeMap::new() }
}

fn review(codebase: Codebase) -> Aggregate {
    audit::review(&Engine::embedded().unwrap(), &request(), codebase).unwrap()
}

fn octoswarm(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
    command.args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.output().unwrap()
}

#[track_caller]
fn exits(output: &Output, code: i32) {
    let (told, said) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{said}\nstderr:\n{told}");
}

/// A small service with a manifest, a test and a page of its own.
const SERVICE: [(&str, &str); 8] = [
    ("README.md", "# Service\n\nTakes orders and keeps them until somebody asks.\n"),
    ("LICENSE", "MIT\n"),
    (
        "package.json",
        r#"{"name": "orders", "version": "2.1.0", "license": "MIT", "scripts": {"test": "jest", "lint": "eslint ."},
            "dependencies": {"express": "^5.0.0"}, "devDependencies": {"jest": "^30.0.0"}}"#,
    ),
    ("package-lock.json", r#"{"packages": {"node_modules/express": {"version": "5.0.1", "license": "MIT"}}}"#),
    (
        "src/app.js",
        "const express = require('express');\nconst orders = require('./orders');\nconst app = express();\n\
         app.use('/api', orders);\napp.get('/health', (req, res) => res.send('ok'));\nmodule.exports = app;\n",
    ),
    (
        "src/orders.js",
        "const { Router } = require('express');\nconst store = require('./store');\nconst router = Router();\n\
         // Lists every order.\nrouter.get('/orders', (req, res) => res.json(store.all()));\n\
         router.get('/orders/:id', (req, res) => res.json(store.one(req.params.id)));\nmodule.exports = router;\n",
    ),
    (
        "src/store.js",
        "/** Every order. */\nfunction all() { return []; }\nfunction one(id) { return id; }\nmodule.exports = { all, one };\n",
    ),
    ("test/orders.test.js", "test('x', () => {});\n"),
];

#[test]
fn s0_6_the_documents_are_made_of_what_the_codebase_says() {
    let map = document(&SERVICE);
    let names: Vec<&str> = map.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "API.md",
            "ARCHITECTURE.md",
            "CODE_OF_CONDUCT.md",
            "CONTRIBUTING.md",
            "DEPENDENCIES.md",
            "README.md",
            "diagram.png",
            "diagram.svg",
            "swagger.yaml"
        ]
    );
    for (name, parts) in [
        (
            "README.md",
            &[
                "# orders",
                "Takes orders and keeps them",
                "| JavaScript | 4 |",
                "npm ci",
                "npm test",
                "`/api/orders/{id}`",
                "MIT, see [`LICENSE`]",
            ][..],
        ),
        ("CONTRIBUTING.md", &["npm ci", "`test`: 1", "npm test", "npm run lint", "no guide of its own"]),
        ("API.md", &["`all`", "Every order.", "`function one(id)`"]),
        ("ARCHITECTURE.md", &["| `src/orders.js` | 1 |", "`src/store.js`", "diagram.svg"]),
        (
            "DEPENDENCIES.md",
            &["| `express` | `^5.0.0` | running | MIT |", "| `jest` | `^30.0.0` | development | not stated |"],
        ),
        ("swagger.yaml", &["title: orders", "/api/orders/{id}", "/health", "Lists every order."]),
    ] {
        for part in parts {
            assert!(map[name].contains(part), "{name} lacks {part}:\n{}", map[name]);
        }
    }
    // Nobody's address is made up.
    assert!(map["CODE_OF_CONDUCT.md"].contains("could not be generated") && !map["CODE_OF_CONDUCT.md"].contains('@'));
    let own = document(&[("docs/CODE_OF_CONDUCT.md", "Be kind.\n"), ("a.py", "x = 1\n")]);
    assert!(own["CODE_OF_CONDUCT.md"].contains("(./docs/CODE_OF_CONDUCT.md)"));
}

#[test]
fn s0_6_the_diagram_is_one_drawing_in_two_forms() {
    let map = document(&SERVICE);
    let svg = &map["diagram.svg"];
    let elements = well_formed(svg);
    assert!(elements.contains(&("text".to_owned(), "src/orders.js".to_owned())), "{elements:?}");
    // app needs orders, orders needs store: each arrow is a curve and a head.
    assert_eq!(elements.iter().filter(|(name, _)| name == "path").count(), 4, "{svg}");
    let png = STANDARD.decode(&map["diagram.png"]).unwrap();
    let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()).to_string();
    assert!(svg.contains(&format!("width=\"{}\" height=\"{}\"", size(16), size(20))), "{svg}");
}

/// The elements of an XML text with their text; panics where it is not well-formed.
#[track_caller]
fn well_formed(xml: &str) -> Vec<(String, String)> {
    let (mut open, mut found, mut rest) = (Vec::<String>::new(), Vec::new(), xml);
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>'), "{text}");
        for (at, _) in text.match_indices('&') {
            let entity = text[at..].split(';').next().unwrap();
            assert!(["&amp", "&lt", "&gt", "&quot", "&#39"].contains(&entity), "{entity}");
        }
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            found.push((name.to_owned(), text.to_owned()));
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        if tag.ends_with('/') { found.push((name, String::new())) } else { open.push(name) }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    found
}

#[test]
fn s0_6_names_and_comments_of_strangers_stay_text() {
    let evil = "src/\"<script>alert(1)</script>&amp;'.py";
    let text = "from flask import Flask\napp = Flask(__name__)\n\n\
                @app.route('/a\"b: <script>\\n- x/<int:id>', methods=['GET'])\n\
                def show(id):\n    '''<img src=x onerror=alert(1)> [x](javascript:1) `a` | b\n    # head\n    '''\n    return id\n";
    let other = "import show\n";
    let manifest = "[project]\nname = \"a: b\\n<b>#x\"\ndescription = \"![x](http://e.example/y) @everyone <i>\"\nversion = \"1: {}\"\n";
    let map = document(&[(evil, text), ("src/```\".py", other), ("pyproject.toml", manifest)]);
    for (name, content) in map.iter().filter(|(name, _)| name.ends_with(".md")) {
        for event in pulldown_cmark::Parser::new_ext(content, pulldown_cmark::Options::all()) {
            use pulldown_cmark::{Event, Tag};
            match event {
                Event::Html(html) | Event::InlineHtml(html) => panic!("{name}: {html}"),
                Event::Start(Tag::Link { dest_url, .. }) => assert!(dest_url.starts_with("./"), "{name}: {dest_url}"),
                Event::Start(Tag::Image { dest_url, .. }) => assert_eq!(&*dest_url, "./diagram.svg", "{name}"),
                _ => {}
            }
        }
    }
    let elements = well_formed(&map["diagram.svg"]);
    assert!(!elements.iter().any(|(name, _)| name == "script"));
    assert!(elements.iter().any(|(_, text)| text.contains("&lt;/script&gt;")), "{elements:?}");
    let api: Value = serde_saphyr::from_str(&map["swagger.yaml"]).unwrap();
    assert_eq!(api["info"]["version"], "1: {}");
    assert_eq!(api["info"]["title"], "a: b\n<b>#x");
    routes::valid(&api);
    let (path, item) = api["paths"].as_object().unwrap().iter().next().unwrap();
    assert!(path.starts_with("/a\"b: ") && path.ends_with("/{id}"), "{path}");
    assert!(item["get"]["summary"].as_str().unwrap().starts_with("<img src=x"));
}

#[test]
fn s0_6_the_same_codebase_gives_the_same_documents_in_any_order() {
    let mut turned = SERVICE.to_vec();
    turned.reverse();
    assert_eq!(document(&SERVICE), document(&turned));
}

#[test]
fn s0_6_two_thousand_files_are_documented_in_reasonable_time_and_drawn_readably() {
    let files: Vec<(String, String)> = (0..2_000)
        .map(|n| {
            let (own, next) = (format!("pkg/part{}/m{n}.py", n % 60), (n * 7 + 1) % 2_000);
            (
                own,
                format!(
                    "from pkg.part{}.m{next} import f{next}\n\n\ndef f{n}(x):\n    '''Does {n}.'''\n    return x\n",
                    next % 60
                ),
            )
        })
        .collect();
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let begun = std::time::Instant::now();
    let aggregate = review(codebase(&borrowed));
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
    assert!(aggregate.errors.is_empty());
    let boxes = well_formed(&aggregate.documentation["diagram.svg"]).iter().filter(|(name, _)| name == "rect").count();
    assert!((2..=25).contains(&boxes), "{boxes} boxes with the background");
    assert!(aggregate.documentation["API.md"].contains("Does 1999."));
}

#[test]
fn s0_7_what_cannot_be_generated_is_said_in_markdown() {
    for files in [&[][..], &[("a.py", "\n")]] {
        let map = document(files);
        assert_eq!(map.keys().collect::<Vec<_>>(), ["README.md"]);
        assert!(map["README.md"].starts_with("# Documentation could not be generated\n\n**Why:** "), "{map:?}");
        assert!(map["README.md"].contains("**What helps:**"));
    }
    let map = document(&[("notes.txt", "words\n")]);
    for name in ["API.md", "ARCHITECTURE.md", "DEPENDENCIES.md"] {
        assert!(map[name].contains("could not be generated\n\n**Why:** "), "{name}: {}", map[name]);
    }
    assert!(!map.contains_key("swagger.yaml") && !map.contains_key("diagram.svg"), "no routes, no modules");
}

#[test]
fn s0_9_only_what_the_checklist_asks_is_answered() {
    let engine = Engine::embedded().unwrap();
    let files = [("app/a.py", DEFECTS)];
    let all = audit::debt(&engine, &asked(Category::Debt, &files)).unwrap();
    assert_eq!(all.iter().map(|item| item.line).collect::<Vec<_>>(), [9]);
    let mut input = asked(Category::Debt, &files);
    input.checklist.retain(|item| item.id != "DEBT-12");
    assert!(audit::debt(&engine, &input).unwrap().is_empty());
    // A question of somebody's own is no fault; nothing here can answer it.
    input.checklist = vec![ChecklistItem { id: "ACME-7".into(), title: "Our own".into() }];
    assert!(audit::debt(&engine, &input).unwrap().is_empty());
}

#[test]
fn s0_10_to_s0_12_items_have_the_fields_of_their_kind() {
    let engine = Engine::embedded().unwrap();
    let key = "AKIAQ7ZT3MXW5KRN2BVD";
    let files = [("app/a.py", DEFECTS), ("app/b.py", &*format!("KEY = '{key}'\n"))];
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let debt = serde_json::to_value(audit::debt(&engine, &asked(Category::Debt, &files)).unwrap()).unwrap();
    assert_eq!((&debt[0]["type"], &debt[0]["file"], &debt[0]["line"]), (&"debt".into(), &"app/a.py".into(), &9.into()));
    assert!(
        fields(&debt[0]).starts_with("description file line")
            && debt[0]["suggestion"].as_str().is_some_and(|s| s.len() > 10)
    );
    let better = audit::improvement(&engine, &asked(Category::Improvement, &files)).unwrap();
    let none = better.iter().find(|item| item.line == 10).unwrap();
    assert!(none.suggestion.contains("Replace line 10 by:\n    if x is None:"), "{}", none.suggestion);
    assert!(better.iter().all(|item| item.severity <= ItemSeverity::High));
    let critical = serde_json::to_value(audit::critical(&engine, &asked(Category::Critical, &files)).unwrap()).unwrap();
    assert_eq!(critical.as_array().unwrap().len(), 2, "{critical}");
    for item in critical.as_array().unwrap() {
        assert_eq!((&item["type"], &item["severity"]), (&"critical".into(), &"high".into()));
        assert!(item["remediation"].as_str().is_some_and(|text| !text.is_empty()) && item.get("suggestion").is_none());
        assert!(item["reference"].as_str().is_some_and(|text| text.starts_with("CWE-")), "{item}");
        assert!(!item.to_string().contains(key), "a credential is never repeated");
    }
}

#[test]
fn s0_10_what_no_rule_sees_is_measured() {
    let engine = Engine::embedded().unwrap();
    let long = format!("def long(x):\n{}    return x\n", "    x += 1\n".repeat(120));
    let deep = "def deep(x):\n  if x:\n    if x:\n      for a in x:\n        if a:\n          while a:\n            if x:\n              return 1\n";
    let found =
        audit::debt(&engine, &asked(Category::Debt, &[("a.py", &long), ("b.py", deep), ("test_a.py", &long)])).unwrap();
    let told: Vec<_> = found.iter().map(|item| (item.file.as_str(), item.line, item.description.as_str())).collect();
    assert_eq!(
        told,
        [("a.py", 1, "`long` has 122 lines."), ("b.py", 1, "`deep` nests branches and loops 6 levels deep.")]
    );
}

#[test]
fn s0_13_an_invalid_input_is_a_400_that_names_every_fault() {
    let engine = Engine::embedded().unwrap();
    let mut input =
        asked(Category::Critical, &[("../a.py", ""), ("/etc/passwd", ""), ("b.py", ""), ("b.py", ""), ("", "")]);
    input.checklist.push(input.checklist[0].clone());
    input.checklist.push(ChecklistItem { id: "DEBT-01".into(), title: "x".into() });
    let error = audit::critical(&engine, &input).unwrap_err();
    assert_eq!((error.code.as_str(), audit::status(&error), error.recoverable), ("ERR_001", 400, false));
    for fault in [
        "files[0].path: `../a.py`",
        "files[1].path: `/etc/passwd`",
        "files[3].path: `b.py` is files[2] as well",
        "files[4].path: empty",
        "`CRIT-01` is asked twice",
        "`DEBT-01` is a question of the debt agent",
    ] {
        assert!(error.message.contains(fault), "{fault} in {}", error.message);
    }
    input = asked(Category::Debt, &[("a.py", "")]);
    input.checklist.clear();
    assert!(audit::debt(&engine, &input).unwrap_err().message.contains("checklist: empty"));
    let bad = DocumentationInput { codebase: codebase(&[("a\nb.py", "x")]) };
    assert_eq!(audit::status(&audit::document(&bad).unwrap_err()), 400);
}

#[test]
fn s0_2_who_fails_leaves_its_part_empty_and_an_error() {
    let aggregate = review(codebase(&[("../a.py", DEFECTS)]));
    assert_eq!(aggregate.errors.keys().collect::<Vec<_>>(), ["critical", "debt", "documentation", "improvement"]);
    let json = serde_json::to_value(&aggregate).unwrap();
    assert_eq!(json["documentation"], serde_json::json!({}));
    assert_eq!(json["errors"]["debt"]["code"], "ERR_001");
    let empty = ReviewRequest { id: " ".into(), params: BTreeMap::new() };
    let error = audit::review(&Engine::embedded().unwrap(), &empty, codebase(&[])).unwrap_err();
    assert_eq!((audit::status(&error), error.agent_name.as_str()), (400, "master"));
}

#[test]
fn s0_2_the_door_prints_exactly_the_aggregate_and_says_what_was_not_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.py"), DEFECTS).unwrap();
    std::fs::write(dir.path().join("b.bin"), [0, 1, 2]).unwrap();
    std::fs::write(dir.path().join("secret.txt"), "x").unwrap();
    std::fs::write(dir.path().join(".gitignore"), "secret.txt\n").unwrap();
    let output = octoswarm(dir.path(), &["audit", ".", "--format", "json"]);
    exits(&output, 0);
    let aggregate: Aggregate = serde_json::from_slice(&output.stdout).unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        json.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["critical", "debt", "documentation", "improvement"]
    );
    assert_eq!((aggregate.critical.len(), aggregate.debt[0].file.as_str()), (1, "a.py"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("read 2 of 3 files; not read: 1 (binary)"), "{told}");
    // From elsewhere, and as text, the names are the same.
    let text = octoswarm(Path::new("/"), &["audit", dir.path().to_str().unwrap()]);
    exits(&text, 0);
    let said = String::from_utf8_lossy(&text.stdout);
    assert!(said.contains("critical: 1 item\n  high   a.py:5 ") && said.contains("CRIT-10"), "{said}");
}

#[test]
fn s0_6_the_door_writes_the_documents_and_overwrites_only_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out) = (dir.path().join("code"), dir.path().join("code/out"));
    std::fs::create_dir(&code).unwrap();
    std::fs::write(
        code.join("a.py"),
        "from flask import Flask\napp = Flask('x')\n\n@app.get('/x')\ndef x():\n    return 1\n",
    )
    .unwrap();
    let write = |more: &[&str]| octoswarm(dir.path(), &[&["audit", "code", "--output", "code/out"], more].concat());
    exits(&write(&[]), 0);
    let png = std::fs::read(out.join("diagram.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let first = std::fs::read(out.join("review.json")).unwrap();
    let aggregate: Aggregate = serde_json::from_slice(&first).unwrap();
    assert_eq!(STANDARD.decode(&aggregate.documentation["diagram.png"]).unwrap(), png);
    // Again: its own pages are not read as the codebase's.
    exits(&write(&[]), 0);
    assert_eq!(std::fs::read(out.join("review.json")).unwrap(), first);
    // Without routes, the old document of them would be wrong.
    std::fs::write(code.join("a.py"), "x = 1\n").unwrap();
    exits(&write(&[]), 0);
    assert!(!out.join("swagger.yaml").exists());
    // What a person changed stays, and nothing else is written either.
    std::fs::write(out.join("README.md"), "mine\n").unwrap();
    std::fs::write(code.join("a.py"), "y = 2\nz = 3\n").unwrap();
    let before = std::fs::read(out.join("review.json")).unwrap();
    let refused = write(&[]);
    exits(&refused, 2);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("`README.md`") && told.contains("--force"), "{told}");
    assert_eq!(std::fs::read_to_string(out.join("README.md")).unwrap(), "mine\n");
    assert_eq!(std::fs::read(out.join("review.json")).unwrap(), before);
    exits(&write(&["--force"]), 0);
    assert_ne!(std::fs::read_to_string(out.join("README.md")).unwrap(), "mine\n");
    exits(&octoswarm(dir.path(), &["audit", "code", "--force"]), 2);
}

#[cfg(unix)]
#[test]
fn s0_6_the_door_never_writes_outside_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, victim) = (dir.path().join("code"), dir.path().join("out"), dir.path().join("victim.md"));
    std::fs::create_dir(&code).unwrap();
    std::fs::create_dir(&out).unwrap();
    std::fs::write(code.join("a.py"), "x = 1\n").unwrap();
    std::fs::write(&victim, "safe\n").unwrap();
    std::os::unix::fs::symlink(&victim, out.join("README.md")).unwrap();
    let args = ["audit", "code", "--output", "out"];
    exits(&octoswarm(dir.path(), &args), 2);
    // Told to, it takes the link's place and leaves alone what the link led to.
    exits(&octoswarm(dir.path(), &[&args[..], &["--force"]].concat()), 0);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "safe\n");
    // A record that names other files removes none of them.
    std::fs::write(out.join(".octoswarm-audit.json"), r#"{"files": {"../victim.md": "x", "/etc/passwd": "x"}}"#)
        .unwrap();
    exits(&octoswarm(dir.path(), &[&args[..], &["--force"]].concat()), 0);
    assert!(victim.exists());
}

#[test]
fn s0_3_a_folder_that_is_not_there_is_wrong_usage_and_an_empty_one_could_not_be_audited() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.py"), "x = 1\n").unwrap();
    exits(&octoswarm(dir.path(), &["audit", "nowhere"]), 2);
    exits(&octoswarm(dir.path(), &["audit", "a.py"]), 2);
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    let empty = octoswarm(dir.path(), &["audit", "empty", "--format", "json"]);
    exits(&empty, 3);
    let aggregate: Aggregate = serde_json::from_slice(&empty.stdout).unwrap();
    assert!(aggregate.documentation["README.md"].contains("could not be generated"));
}
