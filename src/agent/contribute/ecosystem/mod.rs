//! One function an ecosystem: manifests of a folder in, commands and framework out; nothing where it is not at home.

mod jvm;
mod native;
mod node;
mod python;
mod scripted;
mod systems;

use super::manifest::{Manifests, Project, Run};
use crate::agent::checks::Kind;
use crate::artifact::swarm::BuildCommands;

/// A way to build software.
pub(super) struct Ecosystem {
    pub(super) name: &'static str,
    pub(super) languages: &'static [&'static str],
    pub(super) read: fn(&Manifests, &str) -> Option<Project>,
    pub(super) env: Env,
}

/// What programs read from their environment: always, and where there is no network.
pub(super) struct Env {
    pub(super) always: &'static [(&'static str, &'static str)],
    pub(super) offline: &'static [(&'static str, &'static str)],
}

impl Env {
    const NONE: Self = Self { always: &[], offline: &[] };
}

const JVM: &[&str] = &["Java", "Kotlin", "Scala", "Groovy"];

/// In the order in which they are asked.
pub(super) const ALL: &[Ecosystem] = &[
    Ecosystem {
        name: "cargo",
        languages: &["Rust"],
        read: systems::cargo,
        env: Env { always: &[("CARGO_TERM_COLOR", "never")], offline: &[("CARGO_NET_OFFLINE", "true")] },
    },
    Ecosystem {
        name: "go",
        languages: &["Go"],
        read: systems::go,
        // The tool chain that is there is used; what go.mod and go.sum say is not rewritten.
        env: Env {
            always: &[("GOFLAGS", "-mod=readonly"), ("GOTOOLCHAIN", "local")],
            offline: &[("GOPROXY", "off"), ("GOVCS", "*:off")],
        },
    },
    Ecosystem {
        name: "python",
        languages: &["Python"],
        read: python::python,
        env: Env {
            always: &[
                ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
                ("PIP_NO_INPUT", "1"),
                ("PYTHONDONTWRITEBYTECODE", "1"),
                ("UV_PYTHON_DOWNLOADS", "never"),
            ],
            offline: &[("PIP_NO_INDEX", "1"), ("UV_OFFLINE", "1")],
        },
    },
    Ecosystem { name: "maven", languages: JVM, read: jvm::maven, env: Env::NONE },
    Ecosystem { name: "gradle", languages: JVM, read: jvm::gradle, env: Env::NONE },
    Ecosystem {
        name: "ruby",
        languages: &["Ruby"],
        read: scripted::ruby,
        env: Env { always: &[("BUNDLE_PATH", "vendor/bundle")], offline: &[] },
    },
    Ecosystem {
        name: "composer",
        languages: &["PHP"],
        read: scripted::composer,
        env: Env { always: &[("COMPOSER_NO_INTERACTION", "1")], offline: &[("COMPOSER_DISABLE_NETWORK", "1")] },
    },
    Ecosystem {
        name: "dotnet",
        languages: &["C#", "F#", "Visual Basic"],
        read: scripted::dotnet,
        env: Env { always: &[("DOTNET_CLI_TELEMETRY_OPTOUT", "1"), ("DOTNET_NOLOGO", "1")], offline: &[] },
    },
    Ecosystem {
        name: "mix",
        languages: &["Elixir"],
        read: scripted::mix,
        env: Env { always: &[("MIX_ENV", "test")], offline: &[("HEX_OFFLINE", "1")] },
    },
    Ecosystem { name: "swift", languages: &["Swift"], read: systems::swift, env: Env::NONE },
    Ecosystem { name: "dart", languages: &["Dart"], read: scripted::dart, env: Env::NONE },
    Ecosystem { name: "haskell", languages: &["Haskell"], read: native::haskell, env: Env::NONE },
    Ecosystem { name: "native", languages: &["C", "C++"], read: native::native, env: Env::NONE },
    Ecosystem {
        name: "node",
        languages: &["JavaScript", "TypeScript", "Vue", "Svelte", "CSS", "HTML"],
        read: node::node,
        env: Env {
            always: &[
                ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
                ("YARN_ENABLE_TELEMETRY", "0"),
                ("npm_config_audit", "false"),
                ("npm_config_fund", "false"),
                ("npm_config_update_notifier", "false"),
            ],
            offline: &[("YARN_ENABLE_NETWORK", "0"), ("npm_config_offline", "true")],
        },
    },
    Ecosystem {
        name: "deno",
        languages: &["JavaScript", "TypeScript"],
        read: node::deno,
        env: Env { always: &[("DENO_NO_UPDATE_CHECK", "1")], offline: &[] },
    },
];

/// A command in both of its forms, either of which may be empty: as people are told it, and as a shell runs it, where all
/// but an installation finds no network and nothing may be changed.
#[derive(Default)]
struct Step {
    told: String,
    line: String,
}

impl Step {
    fn new(told: &str, line: &str) -> Self {
        Self { told: told.to_owned(), line: line.to_owned() }
    }

    fn same(line: &str) -> Self {
        Self::new(line, line)
    }

    fn told(told: &str) -> Self {
        Self::new(told, "")
    }

    fn line(line: &str) -> Self {
        Self::new("", line)
    }

    fn none() -> Self {
        Self::default()
    }

    /// Run only where the repository shows that it wants this; people are told all the same.
    fn run_if(mut self, shown: bool) -> Self {
        if !shown {
            self.line.clear();
        }
        self
    }
}

/// Everything that a project is checked with.
#[derive(Default)]
struct Steps {
    install: Step,
    format: Step,
    reformat: Step,
    lint: Step,
    build: Step,
    test: Step,
}

impl Steps {
    fn project(self, framework: &str, manager: &str) -> Project {
        let none = Step::none();
        let runs = [
            (Kind::Install, &self.install),
            (Kind::Format, &self.format),
            // Without the check there is nothing to be made right.
            (Kind::Reformat, if self.format.line.is_empty() { &none } else { &self.reformat }),
            (Kind::Lint, &self.lint),
            (Kind::Build, &self.build),
            (Kind::Test, &self.test),
        ];
        let runs = runs.into_iter().filter(|(_, step)| !step.line.is_empty());
        Project {
            framework: framework.to_owned(),
            manager: manager.to_owned(),
            monorepo: false,
            covers: false,
            runs: runs.map(|(kind, step)| Run { kind, line: step.line.clone() }).collect(),
            commands: BuildCommands {
                install: self.install.told,
                build: self.build.told,
                test: self.test.told,
                lint: self.lint.told,
            },
        }
    }
}

fn first(table: &[(&str, &str)], is: impl Fn(&str) -> bool) -> String {
    table.iter().find(|(sign, _)| is(sign)).map(|(_, name)| (*name).to_owned()).unwrap_or_default()
}

/// A check of a formatter that only lists files, over the files of these patterns: it fails where it lists any. What
/// others wrote, and what tests feed on, is left out.
fn listing(patterns: &[&str], program: &str) -> String {
    let names = patterns.iter().map(|pattern| format!("-name '{pattern}'")).collect::<Vec<_>>().join(" -o ");
    let others = ["vendor", "third_party", "node_modules", "testdata", ".git"];
    let others = others.map(|folder| format!("-not -path '*/{folder}/*'")).join(" ");
    format!("find . -type f \\( {names} \\) {others} -exec {program} {{}} +")
}
