//! What a command finds in its environment so that its tools use the folder of dependencies and the way to registries.

use std::collections::BTreeMap;
use std::path::Path;

use super::deps::Stage;
use super::registries::Ecosystem;
use super::walls::{DEPS, HOME};

/// Where the bridge listens inside; nobody else is there to have taken it.
pub(super) const PROXY_PORT: u16 = 3128;
/// What stays inside.
const LOCAL: &str = "localhost,127.0.0.1,::1";

/// Where systems have the certificates of those that they trust; each is shown inside.
const CERTIFICATES: &[&str] =
    &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
/// What tools take that file's name from.
const TRUST: &[&str] = &[
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "HEX_CACERTS_PATH",
];

type Env = BTreeMap<String, String>;

/// For a command with a way to registries.
pub(super) fn with_proxy(env: &mut Env) {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    const NAMES: &[&str] = &[
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
        "CARGO_HTTP_PROXY",
        "npm_config_proxy",
        "npm_config_https_proxy",
        "YARN_HTTP_PROXY",
        "YARN_HTTPS_PROXY",
        "PIP_PROXY",
        "HEX_HTTP_PROXY",
        "HEX_HTTPS_PROXY",
    ];
    for name in NAMES {
        set(env, name, &proxy);
    }
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
        set(env, name, LOCAL);
    }
    // Many tools bring certificates of their own. Where a company's proxy signs what passes it, only the system's know it.
    if let Some(file) = CERTIFICATES.iter().find(|file| Path::new(file).is_file()) {
        for name in TRUST {
            set(env, name, file);
        }
        for name in ["UV_SYSTEM_CERTS", "UV_NATIVE_TLS"] {
            set(env, name, "true");
        }
    }
    // Newer Node programs heed the names above only when told to.
    set(env, "NODE_USE_ENV_PROXY", "1");
    // Java leaves out this machine by itself.
    for name in ["MAVEN_OPTS", "GRADLE_OPTS"] {
        for scheme in ["http", "https"] {
            add(env, name, &format!("-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={PROXY_PORT}"));
        }
    }
}

/// For a command that sees the folder of dependencies: where each ecosystem's tools look and write. `online` is one with a way to
/// registries; the others are told not to try.
pub(super) fn with_deps(env: &mut Env, ecosystems: &[Ecosystem], stage: Stage, online: bool) {
    let installing = stage == Stage::Install;
    for ecosystem in ecosystems {
        let at = |name: &str| format!("{DEPS}/{name}");
        let own = |name: &str| format!("{HOME}/{name}");
        match ecosystem {
            Ecosystem::Cargo => {
                // It does without its locks where it cannot write.
                set(env, "CARGO_HOME", &at("cargo"));
                if !online {
                    set(env, "CARGO_NET_OFFLINE", "true");
                }
            }
            Ecosystem::Npm => {
                set(env, "npm_config_cache", &at("npm"));
                set(env, "YARN_CACHE_FOLDER", &at("yarn"));
                set(env, "npm_config_logs_dir", "/tmp/npm-logs");
                for name in ["audit", "fund", "update_notifier"] {
                    set(env, &format!("npm_config_{name}"), "false");
                }
                set(env, "YARN_ENABLE_GLOBAL_CACHE", "false");
                set(env, "YARN_ENABLE_TELEMETRY", "false");
                if installing {
                    // No code of packages while there is a way out; later commands may run it.
                    set(env, "npm_config_ignore_scripts", "true");
                    set(env, "YARN_ENABLE_SCRIPTS", "false");
                    // Where pnpm has its store; npm warns of pnpm's own setting.
                    set(env, "XDG_DATA_HOME", &at("share"));
                }
                if !online {
                    set(env, "npm_config_offline", "true");
                    set(env, "YARN_ENABLE_NETWORK", "false");
                }
            }
            Ecosystem::Python => {
                for (name, folder) in [("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv"), ("POETRY_CACHE_DIR", "poetry")]
                {
                    set(env, name, &if installing { at(folder) } else { format!("/tmp/{folder}") });
                }
                for name in ["VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"] {
                    set(env, name, &at("venv"));
                }
                first_in_path(env, &at("venv/bin"));
                set(env, "PIP_DISABLE_PIP_VERSION_CHECK", "1");
                set(env, "PIP_NO_INPUT", "1");
                // Links out of the folder are not kept.
                set(env, "UV_LINK_MODE", "copy");
                if !online {
                    set(env, "PIP_NO_INDEX", "1");
                    set(env, "UV_OFFLINE", "1");
                }
            }
            Ecosystem::Go => {
                set(env, "GOPATH", &at("go"));
                set(env, "GOMODCACHE", &at("go/pkg/mod"));
                set(env, "GOCACHE", "/tmp/go-build");
                set(env, "GOTOOLCHAIN", "local");
                if !online {
                    set(env, "GOPROXY", "off");
                }
            }
            Ecosystem::Maven if installing => add(env, "MAVEN_OPTS", &format!("-Dmaven.repo.local={DEPS}/maven")),
            Ecosystem::Maven => {
                // It writes notes beside what it reads: they go to a folder in front of the other.
                add(env, "MAVEN_OPTS", &format!("-Dmaven.repo.local=/tmp/maven -Dmaven.repo.local.tail={DEPS}/maven"));
                add(env, "MAVEN_OPTS", "-Dmaven.repo.local.tail.ignoreAvailability=true");
            }
            Ecosystem::Gradle if installing => set(env, "GRADLE_USER_HOME", &at("gradle")),
            Ecosystem::Gradle => {
                set(env, "GRADLE_USER_HOME", &own(".gradle"));
                set(env, "GRADLE_RO_DEP_CACHE", &at("gradle/caches"));
            }
            Ecosystem::Ruby => {
                set(env, "BUNDLE_PATH", &at("bundle"));
                set(env, "BUNDLE_USER_HOME", &if installing { at("bundler") } else { own(".bundle") });
                set(env, "BUNDLE_DISABLE_VERSION_CHECK", "true");
            }
            Ecosystem::Composer => {
                set(env, "COMPOSER_HOME", &if installing { at("composer") } else { own(".composer") });
                set(env, "COMPOSER_CACHE_DIR", &at("composer/cache"));
                set(env, "COMPOSER_NO_INTERACTION", "1");
                if !installing {
                    set(env, "COMPOSER_CACHE_READ_ONLY", "1");
                }
                if !online {
                    set(env, "COMPOSER_DISABLE_NETWORK", "1");
                }
            }
            Ecosystem::NuGet => {
                set(env, "NUGET_PACKAGES", &at("nuget"));
                set(
                    env,
                    "NUGET_HTTP_CACHE_PATH",
                    &if installing { at("nuget-http") } else { "/tmp/nuget-http".to_owned() },
                );
                set(env, "DOTNET_CLI_TELEMETRY_OPTOUT", "1");
                set(env, "DOTNET_NOLOGO", "1");
            }
            Ecosystem::Hex => {
                set(env, "HEX_HOME", &at("hex"));
                set(env, "MIX_HOME", &at("mix"));
                if !online {
                    set(env, "HEX_OFFLINE", "1");
                }
            }
        }
    }
    if !online && ecosystems.contains(&Ecosystem::Maven) {
        set(env, "MAVEN_ARGS", "--offline");
    }
}

fn set(env: &mut Env, name: &str, value: &str) {
    env.insert(name.to_owned(), value.to_owned());
}

/// To options that several have a word in.
fn add(env: &mut Env, name: &str, options: &str) {
    let all = env.entry(name.to_owned()).or_default();
    if !all.is_empty() {
        all.push(' ');
    }
    all.push_str(options);
}

fn first_in_path(env: &mut Env, folder: &str) {
    let path = env.entry("PATH".to_owned()).or_default();
    *path = if path.is_empty() { folder.to_owned() } else { format!("{folder}:{path}") };
}
