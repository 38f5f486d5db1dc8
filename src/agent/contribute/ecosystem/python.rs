//! Python, by whichever of its package managers.

use std::sync::LazyLock;

use regex::Regex;

use super::{Step, Steps, first};
use crate::agent::contribute::manifest::{Manifests, Project};
use crate::agent::contribute::words;

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
const FILES: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "environment.yml"];
/// Files of requirements, those of the tests after those of the project.
const REQUIREMENTS: &[&str] = &[
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements_dev.txt",
    "requirements_test.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
];
/// What extras and groups for tests are called.
const EXTRAS: [&str; 4] = ["dev", "test", "tests", "testing"];

pub(super) fn python(m: &Manifests, at: &str) -> Option<Project> {
    FILES.iter().find(|name| m.has(at, &[name]))?;
    let pyproject = m.toml(at, "pyproject.toml").unwrap_or_default();
    let tool = |name: &str| pyproject.get("tool").and_then(|tool| tool.get(name)).is_some();
    let manager = if m.has(at, &["uv.lock"]) || tool("uv") {
        "uv"
    } else if tool("poetry") || m.has(at, &["poetry.lock"]) {
        "poetry"
    } else if tool("pdm") || m.has(at, &["pdm.lock"]) {
        "pdm"
    } else if m.has(at, &["Pipfile"]) {
        "pipenv"
    } else if m.has(at, &["environment.yml"]) && !m.has(at, &["setup.py", "pyproject.toml", "requirements.txt"]) {
        "conda"
    } else {
        "pip"
    };
    let cfg = [m.text(at, "setup.cfg"), m.text(at, "tox.ini")].map(Option::unwrap_or_default).join("\n");
    let pytest = tool("pytest") || m.has(at, &["pytest.ini", "conftest.py"]) || cfg.contains("pytest");
    let tox = m.has(at, &["tox.ini"]) || tool("tox");
    let nox = m.has(at, &["noxfile.py"]);
    let hatch = manager == "pip" && hatch_tests(&pyproject);
    let run = |command: &str| match manager {
        "uv" => format!("uv run --no-sync {command}"),
        "conda" => format!("conda run -p .conda {command}"),
        // What the installation put there, else what the machine has.
        "pip" => format!("PATH=\"$PWD/.venv/bin:$PATH\" {command}"),
        other => format!("{other} run {command}"),
    };
    let told = if tox {
        "tox"
    } else if nox {
        "nox"
    } else if m.has(at, &["manage.py"]) && !pytest {
        "python manage.py test"
    } else if pytest || m.tests {
        "pytest"
    } else {
        ""
    };
    // Tox and nox make environments of their own; where a manager made one already, its pytest is as good.
    let own = manager == "pip" || !pytest;
    let (test, prepared) = match told {
        _ if hatch => ("hatch run test".to_owned(), Some("hatch env create")),
        "tox" if own => ("tox run -e py --skip-pkg-install".to_owned(), Some("tox run -e py --notest")),
        "nox" if own => ("nox -R".to_owned(), Some("nox --install-only")),
        "python manage.py test" => (run("python3 manage.py test"), None),
        "" => (String::new(), None),
        _ => (run("python3 -m pytest"), None),
    };
    let mut install = install(m, at, manager, &pyproject, &test);
    if let Some(prepared) = prepared {
        install.line = prepared.to_owned();
    }
    let ruff = tool("ruff") || m.has(at, &["ruff.toml", ".ruff.toml"]);
    let ruff_formats = pyproject.get("tool").and_then(|t| t.get("ruff")).is_some_and(|r| r.get("format").is_some())
        || m.shows(&["ruff format", "ruff-format"]);
    let (format, reformat) = if ruff_formats {
        (Step::line(&run("ruff format --check .")), Step::line(&run("ruff format .")))
    } else if tool("black") || m.shows(&["black --check", "psf/black"]) {
        (Step::line(&run("black --check .")), Step::line(&run("black .")))
    } else {
        (Step::none(), Step::none())
    };
    let lint = if ruff {
        Step::new("ruff check .", &run("ruff check ."))
    } else if m.has(at, &[".flake8"]) || cfg.contains("[flake8]") {
        Step::new("flake8", &run("flake8 --extend-exclude .venv,.conda,.tox,.nox"))
    } else if tool("pylint") || m.has(at, &[".pylintrc", "pylintrc"]) {
        Step::new("pylint .", &run("pylint --recursive=y --ignore=.venv,.conda,.tox,.nox ."))
    } else if m.has(at, &[".pre-commit-config.yaml"]) {
        // It fetches its hooks when it runs.
        Step::told("pre-commit run --all-files")
    } else {
        Step::none()
    };
    let build = match manager {
        "poetry" => "poetry build",
        "uv" => "uv build",
        _ if m.has(at, &["pyproject.toml", "setup.py"]) => "python -m build",
        _ => "",
    };
    let mut framework = framework(m, at);
    if framework.is_empty() && m.has(at, &["manage.py"]) {
        framework = "Django".to_owned();
    }
    // A build fetches its back end into a place of its own, so that without a network there is none.
    let (build, test) = (Step::told(build), Step::new(told, &test));
    let steps = Steps { install, format, reformat, lint, build, test };
    let mut found = steps.project(&framework, manager);
    found.covers = pyproject.get("tool").and_then(|t| t.get("uv")).is_some_and(|uv| uv.get("workspace").is_some());
    Some(found)
}

fn framework(m: &Manifests, at: &str) -> String {
    static REQUIRED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r#"(?mi)^[ \t\["']*([A-Za-z][A-Za-z0-9._-]*)[ \t]*(?:[\["'=<>~!;,]|$)|["']([A-Za-z][A-Za-z0-9._-]*)[ \t]*[\["'=<>~!;]"#,
        )
    });
    let texts: String = FILES.iter().filter_map(|name| m.text(at, name)).collect::<Vec<_>>().join("\n");
    let required: Vec<String> = REQUIRED
        .captures_iter(&texts)
        .filter_map(|c| c.get(1).or_else(|| c.get(2)))
        .map(|m| m.as_str().to_lowercase())
        .take(5_000)
        .collect();
    first(FRAMEWORKS, |name| required.iter().any(|known| known == name))
}

/// `[tool.hatch.envs.default.scripts]` has a `test`.
fn hatch_tests(pyproject: &toml::Table) -> bool {
    let mut keys = ["hatch", "envs", "default", "scripts", "test"].into_iter();
    keys.try_fold(pyproject.get("tool"), |value, key| Some(value?.get(key))).flatten().is_some()
}

fn install(m: &Manifests, at: &str, manager: &str, pyproject: &toml::Table, test: &str) -> Step {
    let extras = pyproject.get("project").and_then(|p| p.get("optional-dependencies")).and_then(toml::Value::as_table);
    let extra = EXTRAS.into_iter().find(|name| extras.is_some_and(|all| all.contains_key(*name)));
    let locked = |file: &str, flag: &str| if m.has(at, &[file]) { flag.to_owned() } else { String::new() };
    match manager {
        "uv" => {
            let extra = extra.map_or_else(String::new, |extra| format!(" --extra {extra}"));
            Step::new("uv sync", &format!("uv sync{}{extra}", locked("uv.lock", " --frozen")))
        }
        "poetry" => {
            let extra = extra.map_or_else(String::new, |extra| format!(" --extras {extra}"));
            Step::new("poetry install", &format!("poetry install --no-interaction{extra}"))
        }
        "pdm" => Step::new("pdm install", &format!("pdm install{}", locked("pdm.lock", " --frozen-lockfile"))),
        "pipenv" if m.has(at, &["Pipfile.lock"]) => Step::new("pipenv install --dev", "pipenv sync --dev"),
        "pipenv" => Step::same("pipenv install --dev"),
        "conda" => Step::new("conda env create -f environment.yml", "conda env create -q -p .conda -f environment.yml"),
        _ => pip(m, at, pyproject, extra, test),
    }
}

/// Into an environment below the project's folder. Of what is fetched nothing is built, so that no stranger's script runs.
fn pip(m: &Manifests, at: &str, pyproject: &toml::Table, extra: Option<&str>, test: &str) -> Step {
    let told = if m.has(at, &["setup.py", "pyproject.toml", "setup.cfg"]) {
        extra.map_or_else(|| "pip install -e .".to_owned(), |extra| format!("pip install -e '.[{extra}]'"))
    } else if m.has(at, &["requirements-dev.txt"]) {
        "pip install -r requirements.txt -r requirements-dev.txt".to_owned()
    } else {
        "pip install -r requirements.txt".to_owned()
    };
    let mut wanted: Vec<String> = Vec::new();
    let packaged = m.has(at, &["setup.py"])
        || pyproject.contains_key("project")
        || m.text(at, "setup.cfg").is_some_and(|text| text.contains("[metadata]"));
    if packaged {
        wanted.push(extra.map_or_else(|| "-e .".to_owned(), |extra| format!("-e '.[{extra}]'")));
    }
    let files: Vec<&str> = REQUIREMENTS.iter().copied().filter(|file| m.has(at, &[file])).collect();
    // A package says itself what it needs; its requirements.txt is often of something else.
    wanted
        .extend(files.iter().filter(|file| !packaged || **file != "requirements.txt").map(|file| format!("-r {file}")));
    let groups = pyproject.get("dependency-groups").and_then(toml::Value::as_table);
    let group = EXTRAS.into_iter().find(|name| groups.is_some_and(|all| all.contains_key(*name)));
    let mut first = "python3 -m venv .venv".to_owned();
    if let Some(group) = group {
        wanted.push(format!("--group {group}"));
        // Older ones know no groups.
        first.push_str(" && .venv/bin/python -m pip install -q --upgrade pip");
    }
    let for_tests = extra.is_some() || group.is_some() || files.iter().any(|file| *file != "requirements.txt");
    if test.contains("pytest") && !for_tests {
        wanted.push("pytest".to_owned());
    }
    let line = if wanted.is_empty() {
        first
    } else {
        format!("{first} && .venv/bin/python -m pip install -q --only-binary :all: {}", wanted.join(" "))
    };
    Step::new(&told, &line)
}
