//! What the packaging names exists: files, verbs, flags, variables; and the list of third-party software is the one of `Cargo.lock`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::docs::{files_under, plain};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn help(verb: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_octoswarm")).args([verb, "--help"]).output().unwrap();
    assert!(output.status.success(), "{verb}");
    String::from_utf8(output.stdout).unwrap()
}

/// The Dockerfile's instructions, continued lines joined.
fn instructions() -> Vec<(String, String)> {
    let joined = text("Dockerfile").replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(word, rest)| (word.to_owned(), rest.trim().to_owned()))
        .collect()
}

/// `serve`'s variables, as the page of settings names them.
fn is_a_setting(name: &str) -> bool {
    text("docs/configuration.md").contains(&format!("`{name}`"))
}

#[test]
fn the_image_is_made_of_what_is_there() {
    let steps = instructions();
    let ignored = text(".dockerignore");
    for (_, copied) in steps.iter().filter(|(word, rest)| word == "COPY" && !rest.starts_with("--from")) {
        let words: Vec<&str> = copied.split_whitespace().collect();
        for file in words[..words.len() - 1].iter().filter(|file| **file != ".") {
            assert!(root().join(file).exists(), "{file}");
            assert!(ignored.lines().any(|line| line == format!("!{file}")), "{file} does not reach the engine");
        }
    }
    for kept in ignored.lines().filter_map(|line| line.strip_prefix('!')) {
        assert!(root().join(kept).exists(), ".dockerignore keeps {kept}");
    }
    assert!(steps.contains(&("ENTRYPOINT".into(), r#"["octoswarm"]"#.into())));
    assert!(steps.contains(&("CMD".into(), r#"["serve"]"#.into())));
    let check = steps.iter().find(|(word, _)| word == "HEALTHCHECK").unwrap();
    assert!(check.1.ends_with(r#"CMD ["octoswarm", "health"]"#), "{}", check.1);
    help("serve");
    help("health");
    let user = steps.iter().rfind(|(word, _)| word == "USER").unwrap();
    assert!(
        user.1.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)),
        "not root, and by number: {}",
        user.1
    );
    let variables = steps.iter().filter(|(word, _)| word == "ENV").flat_map(|(_, rest)| rest.split_whitespace());
    for variable in variables.map(|pair| pair.split('=').next().unwrap()).filter(|name| name.starts_with("OCTOSWARM")) {
        assert!(is_a_setting(variable), "{variable}");
    }
}

/// Every path that the compiler reads beside Rust files, as the source names them, from the project's folder.
fn what_the_build_reads() -> BTreeSet<String> {
    let mut read: BTreeSet<String> = ["Cargo.toml", "Cargo.lock", "src", "askama.toml"].map(String::from).into();
    let beside = Regex::new(r#"include_(?:str|bytes)!\("([^"]+)"\)"#).unwrap();
    let from_the_root = Regex::new(r#"(?:#\[folder = |migrate!\()"([^"]+)"[\])]"#).unwrap();
    for file in files_under(&root().join("src"), "rs") {
        let source = std::fs::read_to_string(&file).unwrap();
        let folder = file.parent().unwrap().strip_prefix(root()).unwrap();
        for found in beside.captures_iter(&source) {
            read.insert(plain(&folder.join(&found[1])).to_str().unwrap().to_owned());
        }
        read.extend(from_the_root.captures_iter(&source).map(|found| found[1].to_owned()));
    }
    let templates: toml::Table = toml::from_str(&text("askama.toml")).unwrap();
    let folders = templates["general"]["dirs"].as_array().unwrap();
    read.extend(folders.iter().map(|folder| folder.as_str().unwrap().to_owned()));
    read
}

#[test]
fn the_image_is_built_with_all_that_the_build_reads() {
    let ignored = text(".dockerignore");
    assert!(ignored.lines().any(|line| line == "*"), "what is not named does not go to the engine");
    let kept: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let reaches = |path: &str| kept.iter().any(|kept| Path::new(path).starts_with(kept));
    let read = what_the_build_reads();
    for known in ["app-manifest.yml", "fixtures/repos/shop", "src/analysis/rules", "src/store/migrations/sqlite"] {
        assert!(read.contains(known), "{known} is not seen by this test: {read:?}");
    }
    for path in &read {
        assert!(root().join(path).exists(), "{path}");
        assert!(reaches(path), "{path} does not reach the engine");
    }
    // Cargo builds nothing where it cannot find a target's file by its name; a path that is named is believed.
    let manifest: toml::Table = toml::from_str(&text("Cargo.toml")).unwrap();
    for kind in ["bin", "test", "bench", "example"] {
        for target in manifest.get(kind).and_then(toml::Value::as_array).into_iter().flatten() {
            let path = target.get("path").and_then(toml::Value::as_str);
            let path = path.unwrap_or_else(|| panic!("{kind} {}: no path in Cargo.toml", target["name"]));
            assert!(root().join(path).exists(), "{path}");
        }
    }
    for found in ["autotests", "autobenches"] {
        assert_eq!(
            manifest["package"][found].as_bool(),
            Some(false),
            "{found}: what is found by its place may be absent"
        );
    }
}

#[test]
fn the_first_stage_is_as_new_as_the_project_asks() {
    let from = instructions().into_iter().find(|(word, _)| word == "FROM").unwrap().1;
    let image = from.strip_prefix("rust:1.").unwrap().split('-').next().unwrap().parse::<u32>().unwrap();
    let oldest =
        text("Cargo.toml").split("rust-version = \"1.").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert!(image >= oldest, "{image} < {oldest}");
}

#[test]
fn the_unit_starts_what_is_there() {
    let unit = text("packaging/octoswarm.service");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<&str> = start.split_whitespace().collect();
    assert!(words[0].ends_with("/octoswarm") && words[1] == "serve", "{start}");
    let help = help("serve");
    for flag in words.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(*flag), "{flag}");
    }
    for line in unit.lines().filter_map(|line| line.strip_prefix("Environment=")) {
        let (name, value) = line.split_once('=').unwrap();
        assert!(is_a_setting(name), "{name}");
        let credential = value.strip_prefix("%d/").unwrap();
        assert!(unit.contains(&format!("LoadCredential={credential}:")), "{credential}");
    }
}

/// What stands in an installed unit's place has to be the packaged one.
#[test]
fn the_page_on_installing_uses_the_packaged_unit() {
    let (page, unit) = (text("docs/install.md"), text("packaging/octoswarm.service"));
    assert!(page.contains("install -m 644 packaging/octoswarm.service /etc/systemd/system/octoswarm.service"));
    assert!(!page.contains("ExecStart="), "a second unit");
    for credential in unit.lines().filter_map(|line| line.strip_prefix("LoadCredential=")) {
        let file = credential.split_once(':').unwrap().1;
        assert!(page.contains(file), "{file}");
    }
    for limit in ["MemoryMax=", "TasksMax="] {
        assert!(unit.contains(limit), "{limit}");
    }
    for limit in ["mem_limit:", "pids_limit:"] {
        assert!(text("compose.yml").contains(limit), "{limit}");
    }
}

#[test]
fn the_samples_name_settings_that_exist() {
    for file in ["compose.yml", ".github/workflows/release.yml"] {
        for word in text(file).split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            assert!(!word.starts_with("OCTOSWARM_") || is_a_setting(word), "{file}: {word}");
        }
    }
    for file in ["LICENSE", "LICENSE-APACHE", "THIRD-PARTY.md", "packaging/octoswarm.service"] {
        assert!(root().join(file).exists() && text(".github/workflows/release.yml").contains(file), "{file}");
    }
}

#[test]
fn who_may_attest_or_publish_compiles_nothing() {
    let workflow = text(".github/workflows/release.yml");
    let parsed: serde_json::Value = serde_saphyr::from_str(&workflow).unwrap();
    assert_eq!(parsed["permissions"], serde_json::json!({}), "what a job may do stands at the job");
    let mut compile = Vec::new();
    for (name, job) in parsed["jobs"].as_object().unwrap() {
        let steps = serde_json::to_string(&job["steps"]).unwrap();
        let compiles = steps.contains("cargo ") || steps.contains("docker/build-push-action");
        let may: Vec<&String> = job["permissions"].as_object().unwrap().keys().collect();
        if compiles {
            compile.push(name.as_str());
            assert!(!may.iter().any(|may| *may == "id-token" || *may == "attestations"), "{name}: {may:?}");
            assert_eq!(job["permissions"]["contents"], "read", "{name}");
        }
        assert!(!steps.contains("download-artifact") || steps.contains(r#""pattern":"octoswarm-*""#), "{name}");
    }
    assert_eq!(compile, ["binaries", "image"]);
}

#[test]
fn actions_are_named_by_their_commit() {
    let pinned = Regex::new(r"uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$").unwrap();
    for file in ["ci.yml", "release.yml"] {
        let workflow = text(&format!(".github/workflows/{file}"));
        let used: Vec<&str> = workflow.lines().filter(|line| line.contains("uses:")).collect();
        assert!(!used.is_empty(), "{file}");
        for line in used {
            assert!(pinned.is_match(line), "{file}: {line}");
        }
        assert_eq!(
            workflow.matches("actions/checkout@").count(),
            workflow.matches("persist-credentials: false").count(),
            "{file}: a token stays behind"
        );
    }
}

/// `name version` of each crate that the list names.
fn listed() -> BTreeSet<String> {
    let page = text("THIRD-PARTY.md");
    let table = page.split("## Crates").nth(1).unwrap().split("## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" ").trim_start_matches("| ").to_owned()).collect()
}

#[test]
fn third_party_software_is_listed_as_it_is_locked() {
    let listed = listed();
    let locked: BTreeSet<String> = text("Cargo.lock")
        .split("[[package]]")
        .filter_map(|package| {
            let field =
                |name: &str| Some(package.split(&format!("\n{name} = \"")).nth(1)?.split('"').next()?.to_owned());
            Some(format!("{} {}", field("name")?, field("version")?))
        })
        .collect();
    let gone: Vec<_> = listed.difference(&locked).collect();
    assert!(gone.is_empty(), "not in Cargo.lock: {gone:?}; run packaging/third-party.py");
    // What this machine links; the list has more, for the other machines.
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let linked = tree.lines().filter(|line| !line.is_empty() && !line.starts_with("octoswarm "));
    for krate in linked.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ").replacen(" v", " ", 1))
    {
        assert!(listed.contains(&krate), "{krate} is linked and not listed; run packaging/third-party.py");
    }
    let page = text("THIRD-PARTY.md");
    assert!(
        page.contains("LINKING EXCEPTION") && page.len() < 600 * 1024,
        "libgit2's terms, and a file that can be read"
    );
}
