//! Rust, Go, Swift.

use super::{Step, Steps, first, listing};
use crate::agent::contribute::manifest::{Manifests, Project};

pub(super) fn cargo(m: &Manifests, at: &str) -> Option<Project> {
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
    let members = workspace.is_some_and(|workspace| workspace.get("members").is_some());
    let locked = if m.has(at, &["Cargo.lock"]) { " --locked" } else { "" };
    let every = if members { " --workspace" } else { "" };
    let formatted = m.has(at, &["rustfmt.toml", ".rustfmt.toml"]) || m.shows(&["cargo fmt", "rustfmt"]);
    let linted = m.has(at, &["clippy.toml", ".clippy.toml"])
        || m.shows(&["clippy"])
        || table.get("lints").or(workspace.and_then(|w| w.get("lints"))).is_some_and(|l| l.get("clippy").is_some());
    let strict = if m.shows(&["-D warnings", "-Dwarnings"]) { " -- -D warnings" } else { "" };
    let steps = Steps {
        install: Step::new("cargo fetch", &format!("cargo fetch{locked}")),
        format: Step::line("cargo fmt --all --check").run_if(formatted),
        reformat: Step::line("cargo fmt --all"),
        lint: Step::new(
            "cargo clippy --all-targets",
            &format!("cargo clippy --offline{locked}{every} --all-targets{strict}"),
        )
        .run_if(linted),
        build: Step::new("cargo build", &format!("cargo build --offline{locked}{every}")),
        test: Step::new("cargo test", &format!("cargo test --offline{locked}{every} --no-fail-fast")),
    };
    let mut found = steps.project(&first(FRAMEWORKS, |name| all(Some(&table), name) || all(workspace, name)), "cargo");
    found.monorepo = members;
    Some(found)
}

pub(super) fn go(m: &Manifests, at: &str) -> Option<Project> {
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
    let formatted = m.shows(&["gofmt", "go fmt", "gofumpt", "goimports"]);
    // What is vendored is not fetched.
    let vendored = m.has(at, &["vendor/modules.txt"]);
    let from = if vendored { " -mod=vendor" } else { "" };
    let lint = if linted {
        Step::same("golangci-lint run")
    } else {
        Step::new("go vet ./...", &format!("go vet{from} ./...")).run_if(m.shows(&["go vet"]))
    };
    let format =
        format!("files=$({}) && printf '%s\\n' \"$files\" && test -z \"$files\"", listing(&["*.go"], "gofmt -l"));
    let steps = Steps {
        install: Step::same("go mod download").run_if(!vendored),
        format: Step::line(&format).run_if(formatted),
        reformat: Step::line(&listing(&["*.go"], "gofmt -w")),
        lint,
        build: Step::new("go build ./...", &format!("go build{from} ./...")),
        // With -v it names what passed, and so can be counted.
        test: Step::new("go test ./...", &format!("go test{from} -v ./...")),
    };
    Some(steps.project(&first(FRAMEWORKS, |name| text.contains(name)), "go modules"))
}

pub(super) fn swift(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "Package.swift")?;
    let framework = first(&[("vapor/vapor", "Vapor"), ("hummingbird", "Hummingbird")], |name| text.contains(name));
    let (format, reformat) = if m.has(at, &[".swift-format"]) {
        ("swift format lint --strict --recursive .", "swift format --in-place --recursive .")
    } else if m.has(at, &[".swiftformat"]) {
        ("swiftformat --lint .", "swiftformat .")
    } else {
        ("", "")
    };
    let steps = Steps {
        install: Step::same("swift package resolve"),
        format: Step::line(format),
        reformat: Step::line(reformat),
        lint: if m.has(at, &[".swiftlint.yml"]) { Step::same("swiftlint") } else { Step::none() },
        build: Step::new("swift build", "swift build --skip-update"),
        test: Step::new("swift test", "swift test --skip-update").run_if(text.contains(".testTarget")),
    };
    Some(steps.project(&framework, "swift package manager"))
}
