//! Which commands a repository is checked with, read from a real one.

use std::path::Path;

use octoswarm::agent::checks::{Kind, checks, counts};
use octoswarm::config::RepoConfig;
use octoswarm::workspace::local;

use crate::support::git;

type Files = [(&'static str, &'static str)];

/// The samples of docs/checks.md: the files of a repository, by what it is built with.
const SAMPLES: &[(&str, &Files)] = &[
    (
        "Cargo",
        &[
            ("Cargo.toml", "[workspace]\nmembers = ['a']\n[workspace.lints.clippy]\ntodo = 'deny'\n"),
            ("Cargo.lock", ""),
            ("rustfmt.toml", ""),
        ],
    ),
    (
        "npm",
        &[
            (
                "package.json",
                r#"{"scripts": {"lint": "eslint .", "build": "tsc", "test": "jest"}, "devDependencies": {"prettier": "3"}}"#,
            ),
            ("package-lock.json", "{}"),
            (".prettierrc", ""),
        ],
    ),
    ("pnpm", &[("package.json", r#"{"scripts": {"test": "vitest"}}"#), ("pnpm-lock.yaml", "")]),
    ("Yarn 1", &[("package.json", r#"{"scripts": {"test": "mocha"}}"#), ("yarn.lock", "")]),
    ("Yarn", &[("package.json", r#"{"scripts": {"test": "jest"}}"#), ("yarn.lock", ""), (".yarnrc.yml", "")]),
    ("Bun", &[("package.json", r#"{"scripts": {"test": "bun test"}}"#), ("bun.lock", "")]),
    ("Deno", &[("deno.json", r#"{"fmt": {}, "lint": {}}"#)]),
    (
        "pip",
        &[(
            "pyproject.toml",
            "[project]\nname = 'a'\n[project.optional-dependencies]\ntest = ['pytest']\n[tool.pytest]\n[tool.ruff.format]\n",
        )],
    ),
    ("uv", &[("pyproject.toml", "[project]\nname = 'a'\n[tool.pytest]\n[tool.black]\n"), ("uv.lock", "")]),
    ("Poetry", &[("pyproject.toml", "[tool.poetry]\n[tool.pytest]\n"), (".flake8", "")]),
    ("PDM", &[("pyproject.toml", "[project]\nname = 'a'\n[tool.pytest]\n"), ("pdm.lock", "")]),
    ("Hatch", &[("pyproject.toml", "[project]\nname = 'a'\n[tool.hatch.envs.default.scripts]\ntest = 'pytest'\n")]),
    ("tox", &[("setup.py", ""), ("tox.ini", "[testenv]\n")]),
    ("Go", &[("go.mod", "module a\n"), (".golangci.yml", "formatters: {enable: [gofmt]}\n")]),
    ("Maven", &[("pom.xml", "<artifactId>spotless-maven-plugin</artifactId>"), ("mvnw", "")]),
    ("Gradle", &[("build.gradle.kts", "plugins { checkstyle; id(\"com.diffplug.spotless\") }"), ("gradlew", "")]),
    ("Bundler", &[("Gemfile", "gem 'rspec'\n"), ("Gemfile.lock", ""), (".rspec", ""), (".rubocop.yml", "")]),
    ("Composer", &[("composer.json", "{}"), ("phpunit.xml", ""), ("phpstan.neon", ""), (".php-cs-fixer.php", "")]),
    (".NET", &[("App.sln", ""), (".editorconfig", "")]),
    ("Mix", &[("mix.exs", "{:credo, \"1\"}"), ("mix.lock", ""), (".formatter.exs", "")]),
    ("Swift", &[("Package.swift", ".testTarget(name: \"T\")"), (".swiftlint.yml", "")]),
    ("Dart", &[("pubspec.yaml", "dev_dependencies:\n  test: any\n"), ("analysis_options.yaml", "")]),
    ("Flutter", &[("pubspec.yaml", "dependencies:\n  flutter:\n    sdk: flutter\n  flutter_test:\n")]),
    ("Stack", &[("stack.yaml", "")]),
    ("Cabal", &[("a.cabal", "")]),
    ("CMake", &[("CMakeLists.txt", "enable_testing()"), (".clang-tidy", "")]),
    ("Meson", &[("meson.build", "test('a', b)")]),
    ("autotools", &[("configure.ac", "")]),
    ("make", &[("Makefile", "lint:\n\tx\nbuild:\n\tx\ntest:\n\tx\n")]),
    ("just", &[("justfile", "lint:\n  x\ntest:\n  x\n")]),
];

fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    dir
}

/// Kind, folder and line of each.
async fn found(dir: &Path, config: &str) -> Vec<(Kind, String, String)> {
    let tree = local::head_tree(dir).await.unwrap();
    let commands = RepoConfig::parse(config).unwrap().commands;
    let found = checks(&tree, &commands).await.unwrap();
    found.into_iter().map(|check| (check.kind, check.dir, check.line)).collect()
}

#[tokio::test]
async fn the_commands_of_a_repository_are_read_from_its_tree() {
    let dir = repository(&[
        ("Cargo.toml", "[package]\nname = 'a'\n"),
        ("Cargo.lock", ""),
        ("src/lib.rs", ""),
        (".github/workflows/ci.yml", "jobs: {a: {steps: [{run: cargo fmt --check}]}}\n"),
        ("web/package.json", r#"{"scripts": {"test": "jest"}}"#),
        ("web/package-lock.json", "{}"),
    ]);
    // What is not committed is not of the tree.
    std::fs::write(dir.path().join("go.mod"), "module a\n").unwrap();
    let line = |kind, dir: &str, line: &str| (kind, dir.to_owned(), line.to_owned());
    let want = [
        line(Kind::Install, "", "cargo fetch --locked"),
        line(Kind::Install, "web", "npm ci --ignore-scripts"),
        line(Kind::Format, "", "cargo fmt --all --check"),
        line(Kind::Reformat, "", "cargo fmt --all"),
        line(Kind::Build, "", "cargo build --offline --locked"),
        line(Kind::Test, "", "cargo test --offline --locked --no-fail-fast"),
        line(Kind::Test, "web", "npm test"),
    ];
    assert_eq!(found(dir.path(), "").await, want);
    let own = found(dir.path(), "commands: {install: [], format: '', build: [], test: make test}\n").await;
    assert_eq!(own, [line(Kind::Test, "", "make test")]);
}

#[tokio::test]
async fn the_page_says_which_files_lead_to_which_commands() {
    const START: &str = "<!-- commands: generated, UPDATE=1 cargo test --test it checks -->\n";
    const END: &str = "<!-- end of commands -->";
    let mut table = String::from("| built with | files | | command |\n| --- | --- | --- | --- |\n");
    for (name, files) in SAMPLES {
        let all = found(repository(files).path(), "").await;
        assert!(!all.is_empty(), "{name}");
        let files = files.iter().map(|(path, _)| format!("`{path}`")).collect::<Vec<_>>().join(", ");
        for (at, (kind, _, line)) in all.iter().enumerate() {
            assert!(!line.contains(['|', '\n']), "{name}: {line}");
            let (name, files) = if at == 0 { (*name, files.as_str()) } else { ("", "") };
            table.push_str(&format!("| {name} | {files} | {} | `{line}` |\n", kind.name()));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/checks.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let fresh = format!("{before}{START}{table}{END}{after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/checks.md is stale: run UPDATE=1 cargo test --test it checks");
    }
}

#[tokio::test]
async fn a_repository_that_shows_nothing_has_no_checks() {
    let dir = repository(&[("README.md", "# a\n")]);
    assert_eq!(found(dir.path(), "").await, []);
}

/// This suite's own harness tells a result that is understood.
#[test]
fn the_output_of_a_real_test_run_is_counted() {
    let this = std::env::current_exe().unwrap();
    let run = std::process::Command::new(this).args(["--exact", "checks::no_such_test"]).output().unwrap();
    let found = counts(&String::from_utf8_lossy(&run.stdout)).unwrap();
    assert_eq!((found.total(), found.is_passed()), (0, false));
    let this = std::env::current_exe().unwrap();
    let name = "checks::a_repository_that_shows_nothing_has_no_checks";
    let run = std::process::Command::new(this).args(["--exact", name]).output().unwrap();
    let found = counts(&String::from_utf8_lossy(&run.stdout)).unwrap();
    assert_eq!((found.passed, found.failed, found.skipped), (1, 0, 0));
}
