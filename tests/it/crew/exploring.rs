//! What the explorer learns of a repository, and which files it points at.

use super::*;

/// Files of a repository, and what is to be said of it: language, package manager, framework, and the four commands.
type Project<'a> = (&'a [(&'a str, &'a str)], [&'a str; 3], [&'a str; 4]);

const PROJECTS: &[Project<'static>] = &[
    (
        &[
            (
                "package.json",
                r#"{"dependencies":{"react":"1","next":"2"},"scripts":{"build":"next build","test":"jest","lint":"eslint"}}"#,
            ),
            ("pnpm-lock.yaml", ""),
            ("src/a.ts", "export const a = 1;\n"),
        ],
        ["TypeScript", "pnpm", "Next.js"],
        ["pnpm install --frozen-lockfile", "pnpm run build", "pnpm test", "pnpm run lint"],
    ),
    (
        &[
            (
                "package.json",
                r#"{"packageManager":"yarn@4.1.0","scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            ),
            ("package-lock.json", "{}"),
            ("lib/a.js", "module.exports = 1;\n"),
        ],
        ["JavaScript", "yarn", ""],
        ["yarn install", "", "", ""],
    ),
    (
        &[("Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\naxum = \"1\"\n"), ("src/lib.rs", "pub fn a() {}\n")],
        ["Rust", "cargo", "axum"],
        ["cargo fetch", "cargo build", "cargo test", "cargo clippy --all-targets"],
    ),
    (
        &[
            (
                "pyproject.toml",
                "[tool.poetry]\nname = \"a\"\n[tool.poetry.dependencies]\nfastapi = \"1\"\n[tool.pytest.ini_options]\n[tool.ruff]\n",
            ),
            ("a/b.py", "x = 1\n"),
        ],
        ["Python", "poetry", "FastAPI"],
        ["poetry install", "poetry build", "pytest", "ruff check ."],
    ),
    (
        &[("requirements.txt", "Django>=4\n"), ("manage.py", "x = 1\n"), ("shop/views.py", "x = 1\n"), (".flake8", "")],
        ["Python", "pip", "Django"],
        ["pip install -r requirements.txt", "", "python manage.py test", "flake8"],
    ),
    (
        &[("setup.py", "setup(install_requires=['click>=8'])\n"), ("tox.ini", "[flake8]\n"), ("src/a/b.py", "x = 1\n")],
        ["Python", "pip", "Click"],
        ["pip install -e .", "python -m build", "tox", "flake8"],
    ),
    (
        &[
            ("go.mod", "module x\nrequire github.com/gin-gonic/gin v1\n"),
            ("a.go", "package a\n"),
            (".golangci.yml", ""),
        ],
        ["Go", "go modules", "Gin"],
        ["go mod download", "go build ./...", "go test ./...", "golangci-lint run"],
    ),
    (
        &[("pom.xml", "<project>spring-boot</project>"), ("mvnw", ""), ("src/main/java/A.java", "class A {}\n")],
        ["Java", "maven", "Spring Boot"],
        ["./mvnw -B install -DskipTests", "./mvnw -B package -DskipTests", "./mvnw -B test", ""],
    ),
    (
        &[("build.gradle.kts", "plugins {}\n"), ("gradlew", ""), ("src/main/kotlin/A.kt", "class A\n")],
        ["Kotlin", "gradle", ""],
        ["./gradlew dependencies", "./gradlew assemble", "./gradlew test", "./gradlew check -x test"],
    ),
    (
        &[
            ("Gemfile", "gem 'rails'\n"),
            ("app/a.rb", "class A\nend\n"),
            ("spec/a_spec.rb", "x\n"),
            (".rubocop.yml", ""),
        ],
        ["Ruby", "bundler", "Rails"],
        ["bundle install", "", "bundle exec rspec", "bundle exec rubocop"],
    ),
    (
        &[
            ("composer.json", r#"{"require":{"laravel/framework":"1"}}"#),
            ("artisan", ""),
            ("app/A.php", "<?php\n"),
            ("phpstan.neon", ""),
        ],
        ["PHP", "composer", "Laravel"],
        ["composer install", "", "php artisan test", "vendor/bin/phpstan analyse"],
    ),
    (
        &[("Shop.sln", ""), ("Shop.csproj", "<Project Sdk=\"Microsoft.NET.Sdk.Web\" />"), ("A.cs", "class A {}\n")],
        ["C#", "nuget", "ASP.NET Core"],
        ["dotnet restore", "dotnet build", "dotnet test", "dotnet format --verify-no-changes"],
    ),
    (
        &[("mix.exs", "{:phoenix, \"1\"}, {:credo, \"1\"}\n"), ("lib/a.ex", "defmodule A do\nend\n")],
        ["Elixir", "mix", "Phoenix"],
        ["mix deps.get", "mix compile", "mix test", "mix credo"],
    ),
    (
        &[("CMakeLists.txt", "project(a)\n"), ("src/a.cpp", "int main() {}\n")],
        ["C++", "cmake", ""],
        ["cmake -B build", "cmake --build build", "ctest --test-dir build", ""],
    ),
    (
        &[("Makefile", "CC := cc\n.PHONY: all\nall: a\nlint:\n\tx\ntest: all\n\t./t\n"), ("a.c", "int a;\n")],
        ["C", "make", ""],
        ["", "make all", "make test", "make lint"],
    ),
    (
        &[("web/package.json", r#"{"scripts":{"test":"vitest"}}"#), ("web/src/a.ts", "export const a = 1\n")],
        ["TypeScript", "npm", ""],
        ["cd web && npm install", "", "cd web && npm test", ""],
    ),
    (&[("notes.txt", "x\n")], ["", "", ""], ["", "", "", ""]),
];

#[tokio::test]
async fn many_kinds_of_projects_are_known_by_their_manifests() {
    for (files, [language, manager, framework], commands) in PROJECTS {
        let map = Bench::new(files).await.document(Role::Explorer).await;
        let (structure, build) = (&map["structure"], &map["build_commands"]);
        let name = files[0].0;
        assert_eq!(
            [&structure["language"], &structure["package_manager"], &structure["framework"]],
            [language, manager, framework],
            "{name}"
        );
        assert_eq!([&build["install"], &build["build"], &build["test"], &build["lint"]], commands.each_ref(), "{name}");
    }
}

#[tokio::test]
async fn the_main_language_decides_between_manifests() {
    let files = [
        ("package.json", r#"{"workspaces":["a"],"scripts":{"lint":"prettier"}}"#),
        ("Cargo.toml", "[workspace]\nmembers = [\"core\"]\n"),
        ("core/src/lib.rs", &"pub fn a() {}\n".repeat(50)),
        ("core/tests/it.rs", "#[test]\nfn a() {}\n"),
        ("web/a.js", "const a = 1;\n"),
        ("docs/guide.md", "# Guide\n"),
    ];
    let map = Bench::new(&files).await.document(Role::Explorer).await;
    let structure = &map["structure"];
    assert_eq!((&structure["language"], &structure["package_manager"]), (&json!("Rust"), &json!("cargo")));
    assert_eq!((&structure["monorepo"], &structure["docs_dir"]), (&json!(true), &json!("docs")));
}

#[tokio::test]
async fn a_folder_that_a_shell_would_obey_is_not_put_into_a_command() {
    let files = [("$(reboot)/package.json", r#"{"scripts":{"test":"x"}}"#), ("$(reboot)/a.js", "const a = 1;\n")];
    let map = Bench::new(&files).await.document(Role::Explorer).await;
    assert_eq!(map["build_commands"], json!({ "install": "", "build": "", "test": "", "lint": "" }));
}

#[tokio::test]
async fn style_is_what_the_settings_say_or_what_the_sources_show() {
    let js = "const a = {\n  b: 'c',\n  d: 'e'\n}\n\nfunction f() {\n  return 'x'\n}\n";
    let measured =
        Bench::new(&[("a.js", js), ("package.json", "{}")]).await.document(Role::Explorer).await["code_style"].clone();
    assert_eq!(
        (&measured["indent"], &measured["quotes"], &measured["semicolons"]),
        (&json!("2 spaces"), &json!("single"), &json!(false))
    );
    assert_eq!((&measured["trailing_comma"], &measured["formatter"]), (&json!("none"), &json!("none found")));
    let files = [
        ("a.js", js),
        (".prettierrc", r#"{"semi":true,"singleQuote":false,"tabWidth":4,"printWidth":110,"trailingComma":"all"}"#),
        ("eslint.config.mjs", ""),
    ];
    let said = Bench::new(&files).await.document(Role::Explorer).await["code_style"].clone();
    let want = json!({ "indent": "4 spaces", "quotes": "double", "semicolons": true, "trailing_comma": "all", "line_length": 110,
        "formatter": "prettier", "linter": "eslint" });
    assert_eq!(said, want);
}

async fn shop() -> Bench {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/repos/shop/main");
    let files = super::drafting::files_below(&root);
    Bench::new(&files).await
}

#[tokio::test]
async fn an_issue_in_plain_words_leads_to_its_file() {
    for (title, body, want) in [
        ("Orders are loaded slowly", "Looking up an order by its number takes very long.", "api/orders.py"),
        ("The proxy hangs", "When a backend does not answer, our gateway's proxy waits forever.", "gateway/proxy.go"),
        ("Wrong total", "The cart adds up to a wrong sum when something is taken out.", "web/cart.ts"),
        ("Rounding of prices", "A price with three decimals should be rounded half up.", "core/src/price.rs"),
        (
            "Invoice numbers repeat",
            "Two invoices got the same number yesterday.",
            "service/src/main/java/shop/Invoice.java",
        ),
        ("Typo in the docs about orders", "`docs/orders.md` says \"recieve\".", "docs/orders.md"),
        (
            "NullPointerException",
            "```\njava.lang.NullPointerException\n\tat shop.Invoice.total(Invoice.java:12)\n```",
            "service/src/main/java/shop/Invoice.java",
        ),
    ] {
        let map = shop().await.issue(title, body).document(Role::Explorer).await;
        assert_eq!(strings(&map, "/relevant_files/to_modify").first().map(String::as_str), Some(want), "{title}");
    }
}

#[tokio::test]
async fn tests_docs_generated_and_vendored_files_are_told_apart() {
    let parser = "def parse_header(text):\n    \"\"\"Parses a header.\"\"\"\n    return text\n";
    let files = [
        ("src/parser.py", parser),
        ("src/parser_tables.py", "# parse_header header parser\nheader = 1\n"),
        ("src/gen.py", "# Code generated by x. DO NOT EDIT.\nparse_header = header = 1\n"),
        ("vendor/parser.py", parser),
        ("tests/test_parser.py", "def test_parse_header():\n    assert parse_header('')\n"),
        ("docs/parser.md", "The header parser.\n"),
        (".gitattributes", "src/parser_tables.py linguist-generated\n"),
    ];
    let map =
        Bench::new(&files).await.issue("parse_header fails on an empty header", "").document(Role::Explorer).await;
    assert_eq!(strings(&map, "/relevant_files/to_modify"), ["src/parser.py"]);
    assert_eq!(strings(&map, "/relevant_files/to_reference"), [""; 0]);
    assert_eq!(strings(&map, "/relevant_files/tests"), ["tests/test_parser.py"]);
    assert_eq!(strings(&map, "/relevant_files/docs"), ["docs/parser.md"]);
    let file = &map["relevant_files"]["to_modify"][0];
    assert_eq!(file["line_numbers"][0], 1);
    assert!(file["content_preview"].as_str().unwrap().starts_with("def parse_header"));
    assert!(file["purpose"].as_str().unwrap().contains("defines `parse_header`"), "{file}");
    assert_eq!(map["repository"]["branch"], "fix/issue-7-parse-header-fails-on-an-empty-header");
}

#[tokio::test]
async fn what_no_change_may_touch_is_worth_a_look_and_no_more() {
    let files = [
        ("src/deploy.py", "def deploy_site():\n    pass\n"),
        ("legacy/deploy.py", "def deploy_site():\n    pass\n"),
        (".github/workflows/deploy.yml", "on: push # deploy_site\n"),
    ];
    let mut bench = Bench::new(&files).await.issue("deploy_site fails", "See `.github/workflows/deploy.yml`.");
    bench.facts["settings"]["ignore"] = json!(["legacy/**"]);
    let documents = bench.documents().await;
    assert_eq!(strings(&documents["explorer"], "/relevant_files/to_modify"), ["src/deploy.py"]);
    let reference = strings(&documents["explorer"], "/relevant_files/to_reference");
    assert!(reference.contains(&".github/workflows/deploy.yml".to_owned()), "{reference:?}");
    bench.facts["settings"]["protected"] = json!(["src/**"]);
    let documents = bench.issue("deploy_site fails", "In `src/deploy.py`.").documents().await;
    assert_eq!(strings(&documents["explorer"], "/relevant_files/to_modify"), [""; 0]);
    assert_eq!(strings(&documents["analyst"], "/warnings"), ["src/deploy.py is protected and will not be changed"]);
}

#[tokio::test]
async fn an_excerpt_with_a_secret_is_not_shown() {
    let text = format!("def connect():\n    token = '{}'\n", ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat());
    let map = Bench::new(&[("db.py", text.as_str())])
        .await
        .issue("connect fails", "`connect()`")
        .document(Role::Explorer)
        .await;
    assert_eq!(strings(&map, "/relevant_files/to_modify"), ["db.py"]);
    assert_eq!(map["relevant_files"]["to_modify"][0].get("content_preview"), None);
}

#[tokio::test]
async fn a_large_repository_is_explored_alike_each_time_and_can_be_left() {
    let body: String = (0..40).map(|n| format!("def helper_{n}(value):\n    return value + {n}\n\n")).collect();
    let mut files: Vec<(String, String)> =
        (0..5_200).map(|n| (format!("pkg{}/mod_{n}.py", n % 80), body.clone())).collect();
    files.push((
        "pkg3/ledger.py".into(),
        "def close_ledger(year):\n    raise ValueError('the ledger is closed')\n".into(),
    ));
    let bench = Bench::new(&files)
        .await
        .issue("Closing a ledger twice", "We get \"the ledger is closed\" from `close_ledger`.");
    let map = bench.document(Role::Explorer).await;
    assert_eq!(strings(&map, "/relevant_files/to_modify"), ["pkg3/ledger.py"]);
    assert_eq!(map, bench.document(Role::Explorer).await);
    let cx = bench.context();
    cx.cancel.cancel();
    let stopped = play(Role::Explorer, &cx, json!({ "facts": bench.facts, "scout": {}, "analyst": {} })).await;
    assert!(stopped.is_err());
}

#[tokio::test]
async fn nothing_in_a_tree_stops_the_search() {
    let deep = format!("{}x.py", "d/".repeat(60));
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("bin.py", vec![0, 159, 146, 150]),
        ("latin.py", b"x = '\xe9'\n".to_vec()),
        ("big.py", b"x = 1\n".repeat(300_000)),
        ("line.js", "a.b();".repeat(100_000).into_bytes()),
        ("nest.py", "(".repeat(100_000).into_bytes()),
        ("empty.rs", Vec::new()),
        ("ünï code/日本 語.py", "def größe(): pass\n".into()),
        ("package.json", b"[[[[".to_vec()),
        ("pyproject.toml", b"= = =".to_vec()),
        ("Cargo.toml", b"workspace = 3".to_vec()),
        (&deep, b"x = 1\n".to_vec()),
    ];
    let map = Bench::new(&files).await.issue("größe is wrong", "日本 語 `größe`").document(Role::Explorer).await;
    assert!(strings(&map, "/relevant_files/to_modify").contains(&"ünï code/日本 語.py".to_owned()), "{map:#}");
    let empty: [(&str, &str); 0] = [];
    let map = Bench::new(&empty).await.document(Role::Explorer).await;
    assert_eq!(strings(&map, "/relevant_files/to_modify"), [""; 0]);
}
