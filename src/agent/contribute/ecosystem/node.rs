//! JavaScript and TypeScript, by Node and by Deno.

use serde_json::Value;

use super::{Step, Steps, first};
use crate::agent::contribute::manifest::{Manifests, Project};

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

/// Settings of Prettier and of ESLint, as files.
const PRETTIER: &[&str] = &[
    ".prettierrc",
    ".prettierrc.json",
    ".prettierrc.json5",
    ".prettierrc.yaml",
    ".prettierrc.yml",
    ".prettierrc.toml",
    ".prettierrc.js",
    ".prettierrc.cjs",
    ".prettierrc.mjs",
    "prettier.config.js",
    "prettier.config.cjs",
    "prettier.config.mjs",
    "prettier.config.ts",
];
const ESLINT: &[&str] = &[
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    ".eslintrc",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".eslintrc.yaml",
];
/// What scripts are called that format files.
const WRITERS: &[&str] =
    &["format:write", "format:fix", "fix:format", "prettier:write", "prettier:fix", "format", "fmt", "prettier"];
const BIOME: &[&str] = &["biome.json", "biome.jsonc"];

pub(super) fn node(m: &Manifests, at: &str) -> Option<Project> {
    let package = m.json(at, "package.json")?;
    let named = package.get("packageManager").and_then(Value::as_str);
    let (name, version) = named.and_then(|text| text.split_once('@')).unwrap_or((named.unwrap_or_default(), ""));
    let has = |names: &[&str]| m.has(at, names) || m.has("", names);
    let manager = match name {
        known @ ("npm" | "pnpm" | "yarn" | "bun") => known,
        _ if has(&["pnpm-lock.yaml"]) => "pnpm",
        _ if has(&["yarn.lock"]) => "yarn",
        _ if has(&["bun.lock", "bun.lockb"]) => "bun",
        _ => "npm",
    };
    let scripts = package.get("scripts").and_then(Value::as_object);
    let script = |name: &str| scripts.and_then(|all| all.get(name)).and_then(Value::as_str);
    let called = |name: &str| match (manager, name) {
        ("npm" | "pnpm" | "yarn", "test") => format!("{manager} test"),
        _ => format!("{manager} run {name}"),
    };
    let run = |names: &[&str]| {
        let told = names.iter().find(|name| script(name).is_some_and(|body| !body.contains("no test specified")));
        // A check changes nothing, and does not wait for the next change.
        let harmless = |body: &str| {
            let lasting = |word: &str| matches!(word, "--fix" | "--write" | "--watch" | "--watchAll");
            !body.contains("no test specified") && !body.split_whitespace().any(lasting)
        };
        let line = names.iter().find(|name| script(name).is_some_and(harmless));
        let form = |name: Option<&&str>| name.map_or_else(String::new, |name| called(name));
        Step { told: form(told), line: form(line) }
    };
    let depends = |name: &str| {
        ["dependencies", "devDependencies", "peerDependencies"]
            .iter()
            .any(|kind| package.get(kind).and_then(|all| all.get(name)).is_some())
    };
    let tool = |files: &[&str], package: &str, arguments: &str| {
        let call = match manager {
            "pnpm" => "pnpm exec",
            "yarn" => "yarn run",
            "bun" => "bun run",
            _ => "npx --no-install",
        };
        (depends(package) && m.has(at, files)).then(|| format!("{call} {arguments}"))
    };
    let mut format = run(&["format:check", "check:format", "format-check", "fmt:check", "prettier:check"]);
    format.told.clear();
    let prettier = if package.get("prettier").is_some() { &["package.json"] } else { PRETTIER };
    let formatter = |with_prettier: &str, with_biome: &str| {
        let found = tool(prettier, "prettier", with_prettier);
        found.or_else(|| tool(BIOME, "@biomejs/biome", with_biome)).unwrap_or_default()
    };
    if format.line.is_empty() {
        format.line = formatter("prettier --check .", "biome format .");
    }
    let writes = |name: &&&str| script(name).is_some_and(|body| body.split_whitespace().any(|word| word == "--write"));
    let reformat = match WRITERS.iter().find(writes) {
        Some(name) => called(name),
        None => formatter("prettier --write .", "biome format --write ."),
    };
    let mut lint = run(&["lint", "eslint", "check", "lint:js"]);
    if lint.line.is_empty() {
        let found = tool(ESLINT, "eslint", "eslint .");
        lint.line = found.or_else(|| tool(BIOME, "@biomejs/biome", "biome lint .")).unwrap_or_default();
    }
    let steps = Steps {
        install: install(manager, has, version),
        format,
        reformat: Step::line(&reformat),
        lint,
        build: run(&["build", "compile", "dist"]),
        test: run(&["test", "test:unit", "tests", "unit"]),
    };
    let mut found = steps.project(&first(FRAMEWORKS, depends), manager);
    found.monorepo = package.get("workspaces").is_some();
    found.covers = m.has(at, &["pnpm-workspace.yaml", "lerna.json"]);
    Some(found)
}

/// No package's own scripts run.
fn install(manager: &str, has: impl Fn(&[&str]) -> bool, version: &str) -> Step {
    let (told, line) = match manager {
        "pnpm" => {
            let frozen = if has(&["pnpm-lock.yaml"]) { " --frozen-lockfile" } else { "" };
            ("pnpm install --frozen-lockfile", format!("pnpm install{frozen} --ignore-scripts"))
        }
        "yarn" => {
            let modern = has(&[".yarnrc.yml"]) || matches!(version.bytes().next(), Some(b'2'..=b'9'));
            let (frozen, scripts) = if modern {
                (" --immutable", "--mode=skip-build")
            } else {
                (" --frozen-lockfile", "--ignore-scripts --non-interactive")
            };
            let frozen = if has(&["yarn.lock"]) { frozen } else { "" };
            ("yarn install", format!("yarn install{frozen} {scripts}"))
        }
        "bun" => {
            let frozen = if has(&["bun.lock", "bun.lockb"]) { " --frozen-lockfile" } else { "" };
            ("bun install", format!("bun install{frozen} --ignore-scripts"))
        }
        _ if has(&["package-lock.json", "npm-shrinkwrap.json"]) => ("npm ci", "npm ci --ignore-scripts".to_owned()),
        _ => ("npm install", "npm install --ignore-scripts --no-package-lock".to_owned()),
    };
    Step::new(told, &line)
}

pub(super) fn deno(m: &Manifests, at: &str) -> Option<Project> {
    let text = m.text(at, "deno.json").or_else(|| m.text(at, "deno.jsonc"))?;
    let says = |key: &str| text.contains(&format!("\"{key}\""));
    let frozen = if m.has(at, &["deno.lock"]) { " --frozen" } else { "" };
    let test = if says("tasks") && says("test") { "deno task test" } else { "deno test --cached-only" };
    let steps = Steps {
        install: Step::new("deno install", &format!("deno install{frozen}")),
        format: Step::line("deno fmt --check").run_if(says("fmt") || m.shows(&["deno fmt"])),
        reformat: Step::line("deno fmt"),
        lint: Step::same("deno lint").run_if(says("lint") || m.shows(&["deno lint"])),
        build: Step::none(),
        test: Step::new("deno test", test),
    };
    Some(steps.project("", "deno"))
}
