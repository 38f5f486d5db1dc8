use super::*;

type Files = [(&'static str, &'static str)];

/// What a repository of these files is checked with.
fn found(files: &Files, settings: &Commands) -> Vec<Check> {
    let survey = Survey::new(files.iter().map(|(path, _)| (*path).to_owned()).collect());
    let text = |path: &str| files.iter().find(|(known, _)| *known == path).map(|(_, text)| *text);
    of(&Manifests::wide(&survey, text), &survey, settings)
}

#[track_caller]
fn check(files: &Files, want: &[(&str, &str, &str)]) {
    let found = found(files, &Commands::default());
    let shown: Vec<(&str, &str, &str)> =
        found.iter().map(|check| (check.kind.name(), check.dir.as_str(), check.line.as_str())).collect();
    assert_eq!(shown, want);
    assert!(found.iter().all(|check| !check.configured && check.env["CI"] == "true"));
}

#[test]
fn only_what_the_repository_shows_is_checked() {
    check(
        &[("Cargo.toml", "[package]\nname = 'a'\n"), ("src/lib.rs", "")],
        &[
            ("install", "", "cargo fetch"),
            ("build", "", "cargo build --offline"),
            ("test", "", "cargo test --offline --no-fail-fast"),
        ],
    );
    check(
        &[
            ("Cargo.toml", "[package]\nname = 'a'\n"),
            ("Cargo.lock", ""),
            (".github/workflows/ci.yml", "- run: cargo fmt --check\n- run: cargo clippy -- -D warnings\n"),
        ],
        &[
            ("install", "", "cargo fetch --locked"),
            ("format", "", "cargo fmt --all --check"),
            ("reformat", "", "cargo fmt --all"),
            ("lint", "", "cargo clippy --offline --locked --all-targets -- -D warnings"),
            ("build", "", "cargo build --offline --locked"),
            ("test", "", "cargo test --offline --locked --no-fail-fast"),
        ],
    );
    // A script that changes files, one that says there are no tests, and a tool that is not installed are no checks.
    check(
        &[
            (
                "package.json",
                r#"{"scripts": {"lint": "eslint --fix .", "test": "echo \"Error: no test specified\" && exit 1"}}"#,
            ),
            ("eslint.config.js", ""),
            (".prettierrc", ""),
        ],
        &[("install", "", "npm install --ignore-scripts --no-package-lock")],
    );
    check(&[("README.md", "# a"), ("src/a.xyz", "")], &[]);
}

#[test]
fn a_workspace_speaks_for_its_members_and_other_projects_for_themselves() {
    check(
        &[
            ("Cargo.toml", "[workspace]\nmembers = ['crates/*']\n"),
            ("crates/a/Cargo.toml", "[package]\nname = 'a'\n"),
            ("crates/a/src/lib.rs", ""),
            ("examples/b/Cargo.toml", "[package]\nname = 'b'\n"),
            ("web/package.json", r#"{"scripts": {"test": "jest"}}"#),
            ("web/package-lock.json", "{}"),
            ("web/a.ts", ""),
            ("a tool/go.mod", "module a\n"),
        ],
        &[
            ("install", "", "cargo fetch"),
            ("install", "web", "npm ci --ignore-scripts"),
            ("install", "a tool", "go mod download"),
            ("build", "", "cargo build --offline --workspace"),
            ("build", "a tool", "go build ./..."),
            ("test", "", "cargo test --offline --workspace --no-fail-fast"),
            ("test", "web", "npm test"),
            ("test", "a tool", "go test -v ./..."),
        ],
    );
    check(
        &[
            ("package.json", r#"{"workspaces": ["packages/*"], "scripts": {"test": "jest"}}"#),
            ("yarn.lock", ""),
            ("packages/a/package.json", r#"{"scripts": {"build": "tsc", "test": "jest"}}"#),
        ],
        &[
            ("install", "", "yarn install --frozen-lockfile --ignore-scripts --non-interactive"),
            ("build", "packages/a", "yarn run build"),
            ("test", "", "yarn test"),
        ],
    );
}

#[test]
fn of_many_projects_those_with_the_most_sources_are_checked() {
    let names: Vec<String> = (0..12).map(|at| format!("svc{at:02}")).collect();
    let mut paths: Vec<String> = names.iter().map(|name| format!("{name}/go.mod")).collect();
    for (at, name) in names.iter().enumerate() {
        paths.extend((0..at).map(|file| format!("{name}/f{file}.go")));
    }
    let survey = Survey::new(paths);
    let all = of(&Manifests::wide(&survey, |_| Some("module a\n")), &survey, &Commands::default());
    let tests: Vec<&str> = all.iter().filter(|c| c.kind == Kind::Test).map(|c| c.dir.as_str()).collect();
    assert_eq!(tests, ["svc11", "svc10", "svc09", "svc08", "svc07", "svc06", "svc05", "svc04"]);
}

#[test]
fn what_is_configured_stands_instead_of_what_is_found() {
    let files: &Files = &[("go.mod", "module a\n"), ("go.sum", "")];
    let own = |lines: &[&str]| Some(lines.iter().map(|line| (*line).to_owned()).collect());
    let settings = Commands { test: own(&["make unit", "make it"]), build: own(&[]), ..Commands::default() };
    let all = found(files, &settings);
    let shown: Vec<(Kind, &str, bool)> = all.iter().map(|c| (c.kind, c.line.as_str(), c.configured)).collect();
    assert_eq!(
        shown,
        [(Kind::Install, "go mod download", false), (Kind::Test, "make unit", true), (Kind::Test, "make it", true)]
    );
    // It finds the same surroundings; only an installation finds the network.
    assert_eq!(all[1].env["GOPROXY"], "off");
    assert_eq!((all[1].ecosystem.as_str(), all[1].dir.as_str()), ("repository", ""));
    assert!(!all[0].env.contains_key("GOPROXY") && all[0].env["GOFLAGS"] == "-mod=readonly");
    assert_eq!(found(&[], &settings).len(), 2);
}

#[test]
fn what_formats_files_goes_with_the_check_that_it_makes_right() {
    let own = |lines: &[&str]| Some(lines.iter().map(|line| (*line).to_owned()).collect());
    let package = r#"{"scripts": {"format:check": "prettier -c .", "format": "prettier --write ."}}"#;
    let files: &Files = &[("package.json", package)];
    let of = |settings: &Commands| -> Vec<String> {
        let all = found(files, settings).into_iter();
        all.filter(|check| matches!(check.kind, Kind::Format | Kind::Reformat)).map(|check| check.line).collect()
    };
    assert_eq!(of(&Commands::default()), ["npm run format:check", "npm run format"]);
    // Another check, and nobody says what makes it right.
    let check = Commands { format: own(&["make check"]), ..Commands::default() };
    assert_eq!(of(&check), ["make check"]);
    let both = Commands { reformat: own(&["make format"]), ..check };
    assert_eq!(of(&both), ["make check", "make format"]);
    assert_eq!(of(&Commands { reformat: own(&[]), ..Commands::default() }), ["npm run format:check"]);
    // A script that only looks, whatever it is called.
    let looks: &Files =
        &[("package.json", r#"{"scripts": {"format:check": "x", "format": "prettier --list-different ."}}"#)];
    assert!(found(looks, &Commands::default()).iter().all(|check| check.kind != Kind::Reformat));
    assert!(!Kind::Reformat.is_check() && !Kind::Reformat.needs_network());
}

#[test]
fn recipes_fill_what_no_manifest_says() {
    check(
        &[("Gemfile", ""), ("Rakefile", ""), ("Makefile", "deps:\n\tx\nlint:\n\tx\ntest:\n\tx\n")],
        &[("install", "", "bundle install"), ("lint", "", "make lint"), ("test", "", "bundle exec rake test")],
    );
}

#[test]
fn no_text_of_a_manifest_becomes_a_part_of_a_command() {
    let evil = "$(touch x)`id`; rm -rf /";
    let package = format!(
        r#"{{"packageManager": "{evil}@1", "scripts": {{"test": "{evil}", "{evil}": "x", "lint": "x"}}, "prettier": "{evil}"}}"#
    );
    let pyproject =
        format!("[project]\nname = \"{evil}\"\n[project.optional-dependencies]\n\"{evil}\" = []\n[tool.pytest]\n");
    let files = [
        ("package.json", package.as_str()),
        ("pyproject.toml", pyproject.as_str()),
        ("Makefile", "test; rm -rf /:\n\tx\n"),
        ("$(touch x)/go.mod", "module a\n"),
    ];
    let survey = Survey::new(files.iter().map(|(path, _)| (*path).to_owned()).collect());
    let text = |path: &str| files.iter().find(|(known, _)| *known == path).map(|(_, text)| *text);
    let all = of(&Manifests::wide(&survey, text), &survey, &Commands::default());
    assert!(all.len() >= 6);
    for check in all {
        assert!(!["touch", "rm -rf", "`"].iter().any(|bad| check.line.contains(bad)), "{}", check.line);
        assert!(check.dir.is_empty() || check.dir == "$(touch x)", "a folder is a path, and stands in no line");
    }
}
