//! One function an ecosystem: manifests of a folder in, commands and framework out; nothing where it is not at home.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::manifest::{Manifests, Project};
use super::words;
use crate::artifact::swarm::BuildCommands;

/// A way to build software.
pub(super) struct Ecosystem {
    pub(super) languages: &'static [&'static str],
    pub(super) read: fn(&Manifests, &str) -> Option<Project>,
}

/// In the order in which they are asked.
pub(super) const ALL: &[Ecosystem] = &[
    Ecosystem { languages: &["Rust"], read: cargo },
    Ecosystem { languages: &["Go"], read: go },
    Ecosystem { languages: &["Python"], read: python },
    Ecosystem { languages: &["Java", "Kotlin", "Scala", "Groovy"], read: maven },
    Ecosystem { languages: &["Java", "Kotlin", "Scala", "Groovy"], read: gradle },
    Ecosystem { languages: &["Ruby"], read: ruby },
    Ecosystem { languages: &["PHP"], read: composer },
    Ecosystem { languages: &["C#", "F#", "Visual Basic"], read: dotnet },
    Ecosystem { languages: &["Elixir"], read: mix },
    Ecosystem { languages: &["Swift"], read: swift },
    Ecosystem { languages: &["Dart"], read: dart },
    Ecosystem { languages: &["Haskell"], read: haskell },
    Ecosystem { languages: &["C", "C++"], read: native },
    Ecosystem { languages: &["JavaScript", "TypeScript", "Vue", "Svelte", "CSS", "HTML"], read: node },
    Ecosystem { languages: &["JavaScript", "TypeScript"], read: deno },
];

fn node(m: &Manifests, at: &str) -> Option<Project> {
    const FRAMEWORKS: &[(&str, &str)] = &[
        ("next", "Next.js"),
        ("nuxt", "Nuxt"),
        ("@sveltejs/kit", "SvelteKit"),
        ("@remix-run/react", "Remix"),
        ("astro", "Astro"),
        ("gatsby", "Gatsby"),
        ("@nestjs/core", "NestJS"),
        ("@angular/core", "Angular"),
        ("electron", "Electron"),
        ("react-native", "React Native"),
        ("vue", "Vue"),
        ("svelte", "Svelte"),
        ("solid-js", "Solid"),
        ("preact", "Preact"),
        ("react", "React"),
        ("fastify", "Fastify"),
        ("hono", "Hono"),
        ("koa", "Koa"),
        ("express", "Express"),
    ];
    let package = m.json(at, "package.json")?;
    let named = package.get("packageManager").and_then(Value::as_str).and_then(|text| text.split('@').next());
    let has = |names: &[&str]| m.has(at, names) || m.has("", names);
    let manager = match named {
        Some(known @ ("npm" | "pnpm" | "yarn" | "bun")) => known,
        _ if has(&["pnpm-lock.yaml"]) => "pnpm",
        _ if has(&["yarn.lock"]) => "yarn",
        _ if has(&["bun.lock", "bun.lockb"]) => "bun",
        _ => "npm",
    };
    let scripts = package.get("scripts").and_then(Value::as_object);
    let script = |name: &str| scripts.and_then(|all| all.get(name)).and_then(Value::as_str);
    let run = |names: &[&str]| {
        let found = names.iter().find(|name| script(name).is_some_and(|body| !body.contains("no test specified")));
        found.map_or_else(String::new, |name| match (manager, *name) {
            ("npm" | "pnpm" | "yarn", "test") => format!("{manager} test"),
            _ => format!("{manager} run {name}"),
        })
    };
    let locked = has(&["package-lock.json", "npm-shrinkwrap.json"]);
    let install = match manager {
        "pnpm" => "pnpm install --frozen-lockfile",
        "yarn" => "yarn install",
        "bun" => "bun install",
        _ if locked => "npm ci",
        _ => "npm install",
    };
    let depends = |name: &str| {
        ["dependencies", "devDependencies", "peerDependencies"]
            .iter()
            .any(|kind| package.get(kind).and_then(|all| all.get(name)).is_some())
    };
    Some(Project {
        framework: first(FRAMEWORKS, depends),
        manager: manager.to_owned(),
        monorepo: package.get("workspaces").is_some(),
        commands: BuildCommands {
            install: install.to_owned(),
            build: run(&["build", "compile", "dist"]),
            test: run(&["test", "test:unit", "tests", "unit"]),
            lint: run(&["lint", "eslint", "check", "lint:js"]),
        },
    })
}

fn deno(m: &Manifests, at: &str) -> Option<Project> {
    m.text(at, "deno.json").or_else(|| m.text(at, "deno.jsonc"))?;
    Some(project("", "deno", ["deno install", "", "deno test", "deno lint"]))
}

fn cargo(m: &Manifests, at: &str) -> Option<Project> {
    const FRAMEWORKS: &[(&str, &str)] = &[
        ("tauri", "Tauri"),
        ("leptos", "Leptos"),
        ("bevy", "Bevy"),
        ("axum", "axum"),
        ("actix-web", "Actix Web"),
        ("rocket", "Rocket"),
        ("warp", "warp"),
        ("poem", "Poem"),
        ("tonic", "tonic"),
        ("tokio", "Tokio"),
        ("clap", "clap"),
    ];
    let text = m.text(at, "Cargo.toml")?;
    let table: toml::Table = text.parse().unwrap_or_default();
    let workspace = table.get("workspace").and_then(toml::Value::as_table);
    let all = |of: Option<&toml::Table>, name: &str| {
        of.and_then(|of| of.get("dependencies"))
            .and_then(toml::Value::as_table)
            .is_some_and(|all| all.contains_key(name))
    };
    let mut found = project(
        &first(FRAMEWORKS, |name| all(Some(&table), name) || all(workspace, name)),
        "cargo",
        ["cargo fetch", "cargo build", "cargo test", "cargo clippy --all-targets"],
    );
    found.monorepo = workspace.is_some_and(|workspace| workspace.get("members").is_some());
    Some(found)
}

fn go(m: &Manifests, at: &str) -> Option<Project> {
    const FRAMEWORKS: &[(&str, &str)] = &[
        ("github.com/gin-gonic/gin", "Gin"),
        ("github.com/labstack/echo", "Echo"),
        ("github.com/gofiber/fiber", "Fiber"),
        ("github.com/go-chi/chi", "chi"),
        ("google.golang.org/grpc", "gRPC"),
        ("github.com/spf13/cobra", "Cobra"),
        ("github.com/gorilla/mux", "gorilla/mux"),
    ];
    let text = m.text(at, "go.mod")?;
    let linted = m.has(at, &[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"]);
    let lint = if linted { "golangci-lint run" } else { "go vet ./..." };
    let framework = first(FRAMEWORKS, |name| text.contains(name));
    Some(project(&framework, "go modules", ["go mod download", "go build ./...", "go test ./...", lint]))
}

fn python(m: &Manifests, at: &str) -> Option<Project> {
    const FRAMEWORKS: &[(&str, &str)] = &[
        ("django", "Django"),
        ("fastapi", "FastAPI"),
        ("flask", "Flask"),
        ("starlette", "Starlette"),
        ("tornado", "Tornado"),
        ("aiohttp", "aiohttp"),
        ("pyramid", "Pyramid"),
        ("sanic", "Sanic"),
        ("streamlit", "Streamlit"),
        ("torch", "PyTorch"),
        ("click", "Click"),
    ];
    static REQUIRED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r#"(?mi)^[ \t\["']*([A-Za-z][A-Za-z0-9._-]*)[ \t]*(?:[\["'=<>~!;,]|$)|["']([A-Za-z][A-Za-z0-9._-]*)[ \t]*[\["'=<>~!;]"#,
        )
    });
    let files = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "environment.yml"];
    files.iter().find(|name| m.has(at, &[name]))?;
    let pyproject = m.toml(at, "pyproject.toml").unwrap_or_default();
    let tool = |name: &str| pyproject.get("tool").and_then(|tool| tool.get(name)).is_some();
    let (manager, install) = if m.has(at, &["uv.lock"]) || tool("uv") {
        ("uv", "uv sync".to_owned())
    } else if tool("poetry") || m.has(at, &["poetry.lock"]) {
        ("poetry", "poetry install".to_owned())
    } else if tool("pdm") || m.has(at, &["pdm.lock"]) {
        ("pdm", "pdm install".to_owned())
    } else if m.has(at, &["Pipfile"]) {
        ("pipenv", "pipenv install --dev".to_owned())
    } else if m.has(at, &["environment.yml"]) && !m.has(at, &["setup.py", "pyproject.toml", "requirements.txt"]) {
        ("conda", "conda env create -f environment.yml".to_owned())
    } else if m.has(at, &["setup.py", "pyproject.toml", "setup.cfg"]) {
        let extras =
            pyproject.get("project").and_then(|p| p.get("optional-dependencies")).and_then(toml::Value::as_table);
        let extra = ["dev", "test", "tests", "testing"]
            .into_iter()
            .find(|name| extras.is_some_and(|all| all.contains_key(*name)));
        ("pip", extra.map_or_else(|| "pip install -e .".to_owned(), |extra| format!("pip install -e '.[{extra}]'")))
    } else if m.has(at, &["requirements-dev.txt"]) {
        ("pip", "pip install -r requirements.txt -r requirements-dev.txt".to_owned())
    } else {
        ("pip", "pip install -r requirements.txt".to_owned())
    };
    let cfg = [m.text(at, "setup.cfg"), m.text(at, "tox.ini")].map(Option::unwrap_or_default).join("\n");
    let pytest = tool("pytest") || m.has(at, &["pytest.ini", "conftest.py"]) || cfg.contains("pytest");
    let test = if m.has(at, &["tox.ini"]) || tool("tox") {
        "tox"
    } else if m.has(at, &["noxfile.py"]) {
        "nox"
    } else if m.has(at, &["manage.py"]) && !pytest {
        "python manage.py test"
    } else if pytest || m.tests {
        "pytest"
    } else {
        ""
    };
    let lint = if tool("ruff") || m.has(at, &["ruff.toml", ".ruff.toml"]) {
        "ruff check ."
    } else if m.has(at, &[".flake8"]) || cfg.contains("[flake8]") {
        "flake8"
    } else if tool("pylint") || m.has(at, &[".pylintrc", "pylintrc"]) {
        "pylint ."
    } else if m.has(at, &[".pre-commit-config.yaml"]) {
        "pre-commit run --all-files"
    } else {
        ""
    };
    let build = match manager {
        "poetry" => "poetry build",
        "uv" => "uv build",
        _ if m.has(at, &["pyproject.toml", "setup.py"]) => "python -m build",
        _ => "",
    };
    let texts: String = files.iter().filter_map(|name| m.text(at, name)).collect::<Vec<_>>().join("\n");
    let required: Vec<String> = REQUIRED
        .captures_iter(&texts)
        .filter_map(|c| c.get(1).or_else(|| c.get(2)))
        .map(|m| m.as_str().to_lowercase())
        .take(5_000)
        .collect();
    let mut framework = first(FRAMEWORKS, |name| required.iter().any(|known| known == name));
    if framework.is_empty() && m.has(at, &["manage.py"]) {
        framework = "Django".to_owned();
    }
    Some(project(&framework, manager, [&install, build, test, lint]))
}

const JVM_FRAMEWORKS: &[(&str, &str)] = &[
    ("spring-boot", "Spring Boot"),
    ("springframework.boot", "Spring Boot"),
    ("quarkus", "Quarkus"),
    ("micronaut", "Micronaut"),
    ("ktor", "Ktor"),
    ("com.android", "Android"),
    ("dropwizard", "Dropwizard"),
    ("vertx", "Vert.x"),
    ("springframework", "Spring"),
    ("jakarta", "Jakarta EE"),
];

fn maven(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "pom.xml")?;
    let mvn = if m.has(at, &["mvnw"]) { "./mvnw" } else { "mvn" };
    let lint = if text.contains("spotless") {
        format!("{mvn} -B spotless:check")
    } else if text.contains("checkstyle") {
        format!("{mvn} -B checkstyle:check")
    } else {
        String::new()
    };
    let install = format!("{mvn} -B install -DskipTests");
    let build = format!("{mvn} -B package -DskipTests");
    let test = format!("{mvn} -B test");
    let mut found =
        project(&first(JVM_FRAMEWORKS, |name| text.contains(name)), "maven", [&install, &build, &test, &lint]);
    found.monorepo = text.contains("<modules>");
    Some(found)
}

fn gradle(m: &Manifests, at: &str) -> Option<Project> {
    let files = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    files.iter().find(|name| m.has(at, &[name]))?;
    let texts: String = files.iter().filter_map(|name| m.text(at, name)).collect::<Vec<_>>().join("\n");
    let gradle = if m.has(at, &["gradlew"]) { "./gradlew" } else { "gradle" };
    let [install, build, test, lint] =
        ["dependencies", "assemble", "test", "check -x test"].map(|task| format!("{gradle} {task}"));
    let mut found =
        project(&first(JVM_FRAMEWORKS, |name| texts.contains(name)), "gradle", [&install, &build, &test, &lint]);
    found.monorepo = texts.lines().any(|line| line.trim_start().starts_with("include"));
    Some(found)
}

fn ruby(m: &Manifests, at: &str) -> Option<Project> {
    let gemfile = m.text(at, "Gemfile")?;
    let gem = |name: &str| gemfile.contains(&format!("'{name}'")) || gemfile.contains(&format!("\"{name}\""));
    let framework =
        first(&[("rails", "Rails"), ("sinatra", "Sinatra"), ("hanami", "Hanami"), ("jekyll", "Jekyll")], gem);
    let test = if m.has(at, &[".rspec"]) || m.folder("spec") {
        "bundle exec rspec"
    } else if framework == "Rails" {
        "bin/rails test"
    } else if m.has(at, &["Rakefile"]) {
        "bundle exec rake test"
    } else {
        ""
    };
    let lint = if m.has(at, &[".rubocop.yml"]) || gem("rubocop") {
        "bundle exec rubocop"
    } else if m.has(at, &[".standard.yml"]) {
        "bundle exec standardrb"
    } else {
        ""
    };
    let build = if m.ending(at, ".gemspec").is_some() { "gem build *.gemspec" } else { "" };
    Some(project(&framework, "bundler", ["bundle install", build, test, lint]))
}

fn composer(m: &Manifests, at: &str) -> Option<Project> {
    let file = m.json(at, "composer.json")?;
    let script = |name: &str| file.get("scripts").is_some_and(|all| all.get(name).is_some());
    let requires = |name: &str| {
        ["require", "require-dev"]
            .iter()
            .filter_map(|kind| file.get(kind)?.as_object())
            .any(|all| all.keys().any(|k| k == name))
    };
    let framework = first(
        &[
            ("laravel/framework", "Laravel"),
            ("symfony/framework-bundle", "Symfony"),
            ("slim/slim", "Slim"),
            ("cakephp/cakephp", "CakePHP"),
            ("yiisoft/yii2", "Yii"),
        ],
        requires,
    );
    let test = if script("test") {
        "composer test"
    } else if m.has(at, &["artisan"]) {
        "php artisan test"
    } else if m.has(at, &["phpunit.xml", "phpunit.xml.dist"]) || requires("phpunit/phpunit") {
        "vendor/bin/phpunit"
    } else {
        ""
    };
    let lint = if script("lint") {
        "composer lint"
    } else if m.has(at, &["phpstan.neon", "phpstan.neon.dist"]) {
        "vendor/bin/phpstan analyse"
    } else if m.has(at, &[".php-cs-fixer.php", ".php-cs-fixer.dist.php"]) {
        "vendor/bin/php-cs-fixer fix --dry-run"
    } else if m.has(at, &["phpcs.xml", "phpcs.xml.dist"]) {
        "vendor/bin/phpcs"
    } else {
        ""
    };
    Some(project(
        &framework,
        "composer",
        ["composer install", if script("build") { "composer build" } else { "" }, test, lint],
    ))
}

fn dotnet(m: &Manifests, at: &str) -> Option<Project> {
    let project_file = m.ending(at, ".csproj").or_else(|| m.ending(at, ".fsproj"));
    let solution = m.ending(at, ".sln").or_else(|| m.ending(at, ".slnx"));
    project_file.or(solution)?;
    let web = project_file.and_then(|name| m.text(at, name)).is_some_and(|text| text.contains("Sdk.Web"));
    let mut found = project(
        if web { "ASP.NET Core" } else { ".NET" },
        "nuget",
        ["dotnet restore", "dotnet build", "dotnet test", "dotnet format --verify-no-changes"],
    );
    found.monorepo = false;
    Some(found)
}

fn mix(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "mix.exs")?;
    let framework = first(&[(":phoenix,", "Phoenix"), (":nerves,", "Nerves")], |name| text.contains(name));
    let lint = if text.contains(":credo") { "mix credo" } else { "mix format --check-formatted" };
    let mut found = project(&framework, "mix", ["mix deps.get", "mix compile", "mix test", lint]);
    found.monorepo = text.contains("apps_path:");
    Some(found)
}

fn swift(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "Package.swift")?;
    let framework = first(&[("vapor/vapor", "Vapor"), ("hummingbird", "Hummingbird")], |name| text.contains(name));
    let lint = if m.has(at, &[".swiftlint.yml"]) { "swiftlint" } else { "" };
    Some(project(&framework, "swift package manager", ["swift package resolve", "swift build", "swift test", lint]))
}

fn dart(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "pubspec.yaml")?;
    Some(if text.contains("sdk: flutter") {
        project("Flutter", "pub", ["flutter pub get", "flutter build", "flutter test", "flutter analyze"])
    } else {
        project("", "pub", ["dart pub get", "", "dart test", "dart analyze"])
    })
}

fn haskell(m: &Manifests, at: &str) -> Option<Project> {
    let lint = if m.has(at, &[".hlint.yaml"]) { "hlint ." } else { "" };
    if m.has(at, &["stack.yaml"]) {
        return Some(project("", "stack", ["stack setup", "stack build", "stack test", lint]));
    }
    m.ending(at, ".cabal")?;
    Some(project("", "cabal", ["cabal update", "cabal build", "cabal test", lint]))
}

fn native(m: &Manifests, at: &str) -> Option<Project> {
    let lint = if m.has(at, &[".clang-tidy"]) { "run-clang-tidy -p build" } else { "" };
    let qt = |text: &str| if text.contains("Qt5") || text.contains("Qt6") { "Qt" } else { "" };
    if let Some(text) = m.text(at, "CMakeLists.txt") {
        let commands = ["cmake -B build", "cmake --build build", "ctest --test-dir build", lint];
        return Some(project(qt(text), "cmake", commands));
    }
    if m.has(at, &["meson.build"]) {
        return Some(project(
            "",
            "meson",
            ["meson setup build", "meson compile -C build", "meson test -C build", lint],
        ));
    }
    m.has(at, &["configure.ac", "configure"])
        .then(|| project("", "autotools", ["./configure", "make", "make check", lint]))
}

fn project(framework: &str, manager: &str, [install, build, test, lint]: [&str; 4]) -> Project {
    Project {
        framework: framework.to_owned(),
        manager: manager.to_owned(),
        monorepo: false,
        commands: BuildCommands {
            install: install.to_owned(),
            build: build.to_owned(),
            test: test.to_owned(),
            lint: lint.to_owned(),
        },
    }
}

fn first(table: &[(&str, &str)], is: impl Fn(&str) -> bool) -> String {
    table.iter().find(|(sign, _)| is(sign)).map(|(_, name)| (*name).to_owned()).unwrap_or_default()
}
