//! The house rules as tests: who imports whom, how long a file may be, who owns which power.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every room may import `domain` and `stdx`; beyond that, this. The same table stands in `src/ARCHITECTURE.md`.
const ARROWS: [(&str, &[&str]); 25] = [
    ("stdx", &[]),
    ("domain", &[]),
    ("meter", &[]),
    ("config", &[]),
    ("store", &["meter"]),
    ("github", &["meter"]),
    ("workspace", &[]),
    ("analysis", &[]),
    ("artifact", &[]),
    ("change", &["artifact"]),
    ("mailbox", &[]),
    ("sandbox", &[]),
    ("demo", &[]),
    ("queue", &["store"]),
    ("webhook", &["store"]),
    ("command", &[]),
    ("router", &["command", "config"]),
    ("agent", &["artifact", "mailbox", "workspace", "analysis", "sandbox"]),
    ("pipeline", &["artifact", "mailbox", "store", "agent"]),
    ("publish", &["artifact", "store", "github", "workspace"]),
    (
        "app",
        &[
            "config",
            "meter",
            "router",
            "store",
            "queue",
            "github",
            "workspace",
            "analysis",
            "artifact",
            "change",
            "mailbox",
            "sandbox",
            "agent",
            "pipeline",
            "publish",
        ],
    ),
    ("dashboard", &["app"]),
    ("api", &["config", "artifact", "app"]),
    ("mcp", &["app", "artifact", "change"]),
    ("cli", &["config", "app", "artifact", "change", "webhook", "dashboard", "api", "mcp", "demo"]),
];

/// Lines a file may have before its tests.
const MAX_LINES: usize = 500;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_under(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("node_modules") {
            continue;
        }
        if path.is_dir() {
            found.extend(files_under(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A room's sources without their test modules, by path relative to the project.
fn sources() -> Vec<(String, String)> {
    files_under(&root().join("src"), "rs")
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            (name, text)
        })
        .collect()
}

fn before_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap()
}

fn room_of(path: &str) -> Option<&str> {
    let (room, _) = path.strip_prefix("src/")?.split_once('/')?;
    Some(room)
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Rooms named by `crate::room` or inside `crate::{…}`.
fn imports(text: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => rooms.extend(top_level_names(group)),
            None => rooms.extend(name(rest)),
        }
    }
    rooms
}

fn name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

fn top_level_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut item) = (0, Vec::new(), String::new());
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.extend(name(std::mem::take(&mut item).trim())),
            _ => {}
        }
        if depth == 0 && c != ',' {
            item.push(c);
        }
    }
    names.extend(name(item.trim()));
    names
}

#[test]
fn every_import_follows_an_arrow() {
    let arrows: BTreeMap<_, _> = ARROWS.into_iter().collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let Some(room) = room_of(&path) else { continue };
        let allowed = arrows.get(room).unwrap_or_else(|| panic!("the room `{room}` has no row in the table"));
        for imported in imports(&without_comments(before_tests(&text))) {
            let ground = imported == "stdx" || imported == "domain" && room != "stdx";
            if imported != room && !ground && !allowed.contains(&imported.as_str()) {
                wrong.push(format!("{path} imports {imported}"));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows that the house does not have:\n{}", wrong.join("\n"));
}

#[test]
fn the_arrows_have_no_cycle() {
    let arrows: BTreeMap<_, _> = ARROWS.into_iter().collect();
    let mut open = BTreeSet::new();
    fn visit<'a>(room: &'a str, arrows: &BTreeMap<&'a str, &'a [&'a str]>, open: &mut BTreeSet<&'a str>) {
        assert!(open.insert(room), "a cycle through `{room}`");
        arrows[room].iter().for_each(|next| visit(next, arrows, open));
        open.remove(room);
    }
    for room in arrows.keys() {
        visit(room, &arrows, &mut open);
    }
}

#[test]
fn the_import_finder_sees_every_form() {
    let text = "use crate::{config, app::{self, runs}};\nuse crate::demo::GitHubBox;\nfn f() { crate::store::open() }";
    let want = ["app", "config", "demo", "store"].map(str::to_owned);
    assert_eq!(imports(text).into_iter().collect::<Vec<_>>(), want);
}

#[test]
fn every_room_opens_with_its_promise_and_its_absence() {
    for (room, _) in ARROWS {
        let text = fs::read_to_string(root().join("src").join(room).join("mod.rs")).unwrap();
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n");
        assert!(head.contains("Promise:") && head.contains("Never:"), "src/{room}/mod.rs");
    }
}

#[test]
fn the_architecture_page_names_every_room_and_arrow() {
    let page = fs::read_to_string(root().join("src/ARCHITECTURE.md")).unwrap();
    let page = page.split("## Who may import whom").nth(1).unwrap();
    for (room, arrows) in ARROWS {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| `{room}` |")))
            .unwrap_or_else(|| panic!("no row for `{room}` in the table of arrows"));
        let named: BTreeSet<&str> = row.split('|').nth(2).unwrap().split('`').skip(1).step_by(2).collect();
        assert_eq!(named, arrows.iter().copied().collect(), "the row of `{room}`");
    }
}

#[test]
fn files_stay_short() {
    let long: Vec<String> = sources()
        .into_iter()
        .map(|(path, text)| (path, before_tests(&text).lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "over {MAX_LINES} lines before tests:\n{}", long.join("\n"));
}

/// The lint in `clippy.toml` does the work; this test keeps its exceptions few and in their rooms.
#[test]
fn bans_are_lifted_only_by_their_owners() {
    let owners = [
        "src/config/",
        "src/sandbox/",
        "src/domain/clock.rs",
        "src/stdx/",
        "src/workspace/",
        "src/demo/",
        "src/cli/demo/",
    ];
    for (path, text) in sources() {
        if before_tests(&text).contains("clippy::disallowed") {
            assert!(owners.iter().any(|owner| path.starts_with(owner)), "{path} lifts a ban that it does not own");
        }
    }
}

/// Clippy's list cannot name this one: its type goes by an alias.
#[test]
fn syntax_trees_are_made_in_one_file_only() {
    let made = ["AstGrep", ".ast_grep(", "tree_sitter::Parser"];
    let makers: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| made.iter().any(|word| without_comments(before_tests(text)).contains(word)))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(makers, ["src/analysis/tree.rs"]);
}

#[test]
fn only_publish_writes_to_github() {
    for (path, text) in sources() {
        let writes = [
            ".create_review(",
            ".update_review(",
            ".resolve_thread(",
            ".create_check_run(",
            ".update_check_run(",
            ".create_comment(",
            ".update_comment(",
            ".react_to_issue(",
            ".react_to_comment(",
            ".create_pull(",
            ".update_pull(",
            ".create_tree(",
            ".create_commit(",
            ".create_branch(",
            ".move_branch(",
            ".create_label(",
        ];
        let owner =
            path.starts_with("src/publish/") || path.starts_with("src/github/") || path.starts_with("src/demo/");
        let found = writes.iter().find(|call| before_tests(&text).contains(**call));
        assert!(owner || found.is_none(), "{path} calls {}", found.unwrap());
    }
}

#[test]
fn only_store_speaks_sql() {
    for (path, text) in sources() {
        assert!(path.starts_with("src/store/") || !before_tests(&text).contains("sqlx::"), "{path} uses sqlx");
    }
}

#[test]
fn every_fixture_is_used() {
    let mut users: String = sources().into_iter().map(|(_, text)| text).collect();
    for path in files_under(&root().join("tests"), "rs") {
        users.push_str(&fs::read_to_string(path).unwrap());
    }
    for kind in fs::read_dir(root().join("fixtures")).unwrap() {
        for fixture in fs::read_dir(kind.unwrap().path()).unwrap() {
            let name = fixture.unwrap().file_name().into_string().unwrap();
            assert!(users.contains(&name), "nothing uses the fixture `{name}`");
        }
    }
}

#[test]
fn the_readme_shows_commands_that_exist() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let args = fs::read_to_string(root().join("src/cli/args.rs")).unwrap().to_lowercase();
    let mut seen = 0;
    for (at, _) in readme.match_indices("octoswarm ") {
        let rest = &readme[at + "octoswarm ".len()..];
        let verb: String = rest.chars().take_while(|c| c.is_ascii_lowercase()).collect();
        let before = readme[..at].chars().last();
        if matches!(before, Some('`' | '\n' | ' ' | '/'))
            && readme[..at].ends_with(['`', '$', '\n', '/'])
            && !verb.is_empty()
        {
            assert!(args.contains(&format!("{verb}(")), "README names `octoswarm {verb}`");
            seen += 1;
        }
    }
    assert!(seen > 0 && readme.contains("cargo run -- demo") && readme.contains("cargo test"));
}

/// Registries have one home, from which these names are read.
#[test]
fn package_registries_are_named_in_one_file_only() {
    let home = "src/sandbox/registries.rs";
    let table = fs::read_to_string(root().join(home)).unwrap();
    let table = before_tests(&table).split("fn registries(self)").nth(1).unwrap().split("\n}\n").next().unwrap();
    let hosts: BTreeSet<&str> = table.split('"').skip(1).step_by(2).collect();
    assert!(hosts.len() > 15, "{hosts:?}");
    for path in ["src", "docs", "tests"].iter().flat_map(|dir| {
        ["rs", "md", "yml"].iter().flat_map(|extension| files_under(&root().join(dir), extension)).collect::<Vec<_>>()
    }) {
        let text = fs::read_to_string(&path).unwrap();
        let found = hosts.iter().find(|host| {
            // In prose one of them is the name of the place too.
            let needle = if **host == "crates.io" { format!("{host}/") } else { (**host).to_owned() };
            text.contains(&needle)
        });
        assert!(found.is_none() || path.ends_with(home), "{} names {}", path.display(), found.unwrap());
    }
}
