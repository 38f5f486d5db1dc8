//! The server's own settings: `octoswarm.toml`, then `OCTOSWARM_*` variables over it, then flags over both.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{Error, Metrics, Registration};
use crate::domain::Secret;

/// What `serve` runs with.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub app_id: u64,
    pub private_key: Secret,
    /// All accepted at once, so that a secret can be rotated; none of them empty, and at least one unless `poll` is set.
    pub webhook_secrets: Vec<Secret>,
    pub listen: SocketAddr,
    /// REST base, for instance `https://api.github.com` or `https://ghes.example/api/v3`.
    pub api_url: String,
    /// Where repositories are cloned from, for instance `https://github.com`.
    pub web_url: String,
    pub state: PathBuf,
    pub log: LogFormat,
    /// Logins of the accounts whose installations are served; empty: all of them.
    pub accounts: Vec<String>,
    pub metrics: Metrics,
    pub tuning: Tuning,
}

/// What `serve` finds when it starts.
#[derive(Debug, Clone)]
pub enum Start {
    Configured(Box<ServerConfig>),
    /// No App is named anywhere: one can be registered from the browser.
    SetUp(SetUpConfig),
}

/// What set-up mode runs with.
#[derive(Debug, Clone)]
pub struct SetUpConfig {
    pub listen: SocketAddr,
    pub state: PathBuf,
    pub log: LogFormat,
    pub overrides: Overrides,
}

/// Numbers that an operator rarely touches.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Jobs worked on at once.
    pub workers: usize,
    /// Pause between two writes to GitHub for one installation (GitHub asks for a second).
    pub write_pace: Duration,
    /// How long after an unanswered write GitHub is asked whether it took effect.
    pub settle: Duration,
    /// How long ended runs and settled deliveries are kept.
    pub retention: Duration,
    /// How often the App's delivery log is read, to catch up on what was missed; `None`: never.
    pub reconcile: Option<Duration>,
    /// Take the payloads from the delivery log: no webhook can reach this server.
    pub poll: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// What flags may override; none of it is secret.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub file: Option<PathBuf>,
    pub listen: Option<SocketAddr>,
    pub state: Option<PathBuf>,
    pub poll: bool,
}

/// `octoswarm.toml`. Secrets stand in files of their own, named here.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileWire {
    app_id: Option<u64>,
    private_key_file: Option<PathBuf>,
    /// One file a secret: during a rotation the new and the old one.
    webhook_secret_files: Vec<PathBuf>,
    listen: Option<SocketAddr>,
    api_url: Option<String>,
    web_url: Option<String>,
    state: Option<PathBuf>,
    log: Option<LogFormat>,
    workers: Option<usize>,
    write_pace_ms: Option<u64>,
    settle_ms: Option<u64>,
    retention_days: Option<u64>,
    reconcile_seconds: Option<u64>,
    poll: bool,
    accounts: Vec<String>,
    metrics_listen: Option<SocketAddr>,
    metrics_token_file: Option<PathBuf>,
}

impl FileWire {
    /// Nothing here speaks of an App.
    fn names_no_app(&self) -> bool {
        self.app_id.is_none() && self.private_key_file.is_none() && self.webhook_secret_files.is_empty()
    }
}

/// The variables that speak of an App.
const APP_VARIABLES: [&str; 6] = [
    "OCTOSWARM_APP_ID",
    "OCTOSWARM_PRIVATE_KEY",
    "OCTOSWARM_PRIVATE_KEY_FILE",
    "OCTOSWARM_WEBHOOK_SECRET",
    "OCTOSWARM_WEBHOOK_SECRET_FILE",
    "OCTOSWARM_WEBHOOK_SECRET_PREVIOUS",
];

impl Start {
    /// Reads file, environment and what was registered from the browser.
    ///
    /// # Errors
    /// The first thing that is wrong, or missing although some of the App is named, with what to do about it.
    pub fn load(overrides: &Overrides) -> Result<Self, Error> {
        Self::resolve(overrides, &env)
    }

    fn resolve(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let file = read_file(overrides, env)?;
        let state = state_of(overrides, env, &file)?;
        let nothing = file.names_no_app() && APP_VARIABLES.iter().all(|name| env(name).is_none());
        if nothing && Registration::load(&state)?.is_none() {
            let listen = listen_of(overrides, env, &file)?;
            return Ok(Self::SetUp(SetUpConfig {
                listen,
                state,
                log: log_of(env, &file)?,
                overrides: overrides.clone(),
            }));
        }
        ServerConfig::resolve(overrides, env).map(|config| Self::Configured(Box::new(config)))
    }
}

impl ServerConfig {
    /// Reads file and environment.
    ///
    /// # Errors
    /// The first thing that is missing or wrong, with what to do about it.
    pub fn load(overrides: &Overrides) -> Result<Self, Error> {
        Self::resolve(overrides, &env)
    }

    fn resolve(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let file = read_file(overrides, env)?;
        let state = state_of(overrides, env, &file)?;
        // What is configured stands over what was registered from the browser, and never mixes with it: a key of one App
        // and a secret of another are no use to anybody.
        let app_id = parsed(env, "OCTOSWARM_APP_ID")?.or(file.app_id);
        let registration = match (app_id, Registration::load(&state)?) {
            (Some(id), Some(registration)) if id != registration.app_id => None,
            (_, registration) => registration,
        };
        let app_id = app_id.or(registration.as_ref().map(|r| r.app_id)).ok_or(Error::Missing {
            what: "the App's id",
            hint: "set `app_id` in octoswarm.toml or OCTOSWARM_APP_ID; it stands on the App's settings page",
        })?;
        let private_key = secret(
            env("OCTOSWARM_PRIVATE_KEY"),
            env("OCTOSWARM_PRIVATE_KEY_FILE").map(PathBuf::from).or(file.private_key_file.clone()).as_deref(),
        )?
        .or(registration.as_ref().map(|r| r.private_key.clone()))
        .ok_or(Error::Missing {
            what: "the App's private key",
            hint: "set `private_key_file` in octoswarm.toml, OCTOSWARM_PRIVATE_KEY_FILE or OCTOSWARM_PRIVATE_KEY; \
                   generate the key on the App's settings page",
        })?;
        let listen = listen_of(overrides, env, &file)?;
        let millis = |name, from_file: Option<u64>, default| -> Result<Duration, Error> {
            Ok(Duration::from_millis(parsed(env, name)?.or(from_file).unwrap_or(default)))
        };
        let registered_to_poll = registration.as_ref().is_some_and(|r| r.poll);
        let poll = overrides.poll || parsed(env, "OCTOSWARM_POLL")?.unwrap_or(file.poll || registered_to_poll);
        let (api_default, web_default) = registration
            .as_ref()
            .map_or(("https://api.github.com", "https://github.com"), |r| (&r.api_url, &r.web_url));
        // GitHub counts these requests to nobody's limit but the App's; a poller is watched by a person who waits.
        let usual = if poll { 5 } else { 300 };
        let reconcile = parsed(env, "OCTOSWARM_RECONCILE_SECONDS")?.or(file.reconcile_seconds).unwrap_or(usual);
        Ok(Self {
            app_id,
            private_key,
            webhook_secrets: match webhook_secrets(env, &file.webhook_secret_files) {
                Err(Error::Missing { .. }) if registration.is_some() => {
                    registration.iter().map(|r| r.webhook_secret.clone()).collect()
                }
                // Nobody signs what is taken from the log.
                Err(Error::Missing { .. }) if poll => Vec::new(),
                secrets => secrets?,
            },
            listen,
            api_url: base_url("api_url", env("OCTOSWARM_API_URL").or(file.api_url.clone()), api_default)?,
            web_url: base_url("web_url", env("OCTOSWARM_WEB_URL").or(file.web_url.clone()), web_default)?,
            state,
            log: log_of(env, &file)?,
            accounts: accounts(env("OCTOSWARM_ACCOUNTS"), &file.accounts)?,
            metrics: Metrics::resolve(env, file.metrics_listen, file.metrics_token_file)?,
            tuning: Tuning {
                workers: parsed(env, "OCTOSWARM_WORKERS")?.or(file.workers).unwrap_or(4).clamp(1, 256),
                write_pace: millis("OCTOSWARM_WRITE_PACE_MS", file.write_pace_ms, 1_000)?,
                settle: millis("OCTOSWARM_SETTLE_MS", file.settle_ms, 10_000)?,
                retention: days(parsed(env, "OCTOSWARM_RETENTION_DAYS")?.or(file.retention_days).unwrap_or(30)),
                reconcile: (poll || reconcile > 0).then(|| Duration::from_secs(reconcile.max(1))),
                poll,
            },
        })
    }
}

/// The state folder when nothing else is configured: `--state`, `OCTOSWARM_STATE`, else the platform's state directory.
///
/// # Errors
/// When there is no home directory to fall back on.
pub fn state_dir(flag: Option<PathBuf>) -> Result<PathBuf, Error> {
    match flag.or_else(|| env("OCTOSWARM_STATE").map(PathBuf::from)) {
        Some(dir) => Ok(dir),
        None => default_state(&env),
    }
}

/// Where the server listens, whatever else is configured.
///
/// # Errors
/// The file or the address cannot be read.
pub fn listen_address(overrides: &Overrides) -> Result<SocketAddr, Error> {
    listen_of(overrides, &env, &read_file(overrides, &env)?)
}

/// The log filter: `OCTOSWARM_LOG`, in `tracing`'s directive syntax.
pub fn log_filter() -> Option<String> {
    env("OCTOSWARM_LOG")
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn default_state(env: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, Error> {
    env("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| env("HOME").map(|home| Path::new(&home).join(".local/state")))
        .map(|dir| dir.join("octoswarm"))
        .ok_or(Error::Missing { what: "a place for the state", hint: "name one with --state or OCTOSWARM_STATE" })
}

fn state_of(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>, file: &FileWire) -> Result<PathBuf, Error> {
    let named = overrides.state.clone().or_else(|| env("OCTOSWARM_STATE").map(PathBuf::from)).or(file.state.clone());
    named.map_or_else(|| default_state(env), Ok)
}

fn listen_of(
    overrides: &Overrides,
    env: &dyn Fn(&str) -> Option<String>,
    file: &FileWire,
) -> Result<SocketAddr, Error> {
    let named = overrides.listen.map_or_else(|| parsed(env, "OCTOSWARM_LISTEN"), |listen| Ok(Some(listen)))?;
    Ok(named.or(file.listen).unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 3000))))
}

fn log_of(env: &dyn Fn(&str) -> Option<String>, file: &FileWire) -> Result<LogFormat, Error> {
    match env("OCTOSWARM_LOG_FORMAT").as_deref() {
        None => Ok(file.log.unwrap_or_default()),
        Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(invalid("OCTOSWARM_LOG_FORMAT", format!("`{other}` is neither text nor json"))),
    }
}

/// Logins, from the variable (separated by commas) or the file.
fn accounts(from_env: Option<String>, file: &[String]) -> Result<Vec<String>, Error> {
    let given = match &from_env {
        Some(list) => list.split(',').map(|login| login.trim().to_owned()).collect(),
        None => file.to_vec(),
    };
    let login = |text: &String| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    match given.iter().find(|account| !login(account)) {
        Some(odd) => Err(invalid("accounts", format!("`{odd}` is not the login of an organisation or a user"))),
        None => Ok(given),
    }
}

/// The named file must exist; `octoswarm.toml` in the working directory may.
fn read_file(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>) -> Result<FileWire, Error> {
    let named = overrides.file.clone().or_else(|| env("OCTOSWARM_CONFIG").map(PathBuf::from));
    let named = named.as_deref();
    let path = named.unwrap_or_else(|| Path::new("octoswarm.toml"));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && named.is_none() => return Ok(FileWire::default()),
        Err(source) => return Err(Error::Read { path: path.display().to_string(), source }),
    };
    toml::from_str(&text).map_err(|e| invalid(&path.display().to_string(), e.to_string().trim_end().to_owned()))
}

fn webhook_secrets(env: &dyn Fn(&str) -> Option<String>, files: &[PathBuf]) -> Result<Vec<Secret>, Error> {
    let mut secrets = Vec::new();
    for name in ["OCTOSWARM_WEBHOOK_SECRET", "OCTOSWARM_WEBHOOK_SECRET_PREVIOUS"] {
        if let Some(value) = env(name) {
            secrets.push(non_empty(name, &value)?);
        }
    }
    let from_env = env("OCTOSWARM_WEBHOOK_SECRET_FILE").map(PathBuf::from);
    for file in from_env.iter().chain(files) {
        secrets.extend(secret(None, Some(file))?);
    }
    if secrets.is_empty() {
        return Err(Error::Missing {
            what: "the webhook secret",
            hint: "set `webhook_secret_files` in octoswarm.toml, OCTOSWARM_WEBHOOK_SECRET_FILE or OCTOSWARM_WEBHOOK_SECRET \
                   to the secret of the App's webhook; `--poll` takes deliveries from the App's log and needs none",
        });
    }
    Ok(secrets)
}

pub(super) fn secret(value: Option<String>, file: Option<&Path>) -> Result<Option<Secret>, Error> {
    match (value, file) {
        (Some(value), _) => non_empty("the secret", &value).map(Some),
        (None, Some(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|source| Error::Read { path: path.display().to_string(), source })?;
            non_empty(&path.display().to_string(), &text).map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// Files end in a line break that is not part of the secret.
fn non_empty(what: &str, value: &str) -> Result<Secret, Error> {
    let value = value.trim_end_matches(['\r', '\n']);
    if value.trim().is_empty() {
        return Err(Error::Empty { what: what.to_owned() });
    }
    Ok(Secret::new(value))
}

pub(super) fn parsed<T>(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<T>, Error>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    env(name).map(|text| text.parse().map_err(|e: T::Err| invalid(name, format!("`{text}`: {e}")))).transpose()
}

fn days(count: u64) -> Duration {
    Duration::from_secs(count.min(36_500) * 24 * 60 * 60)
}

/// Credentials travel to this address, so it is https, or http on this machine only.
fn base_url(what: &str, given: Option<String>, default: &str) -> Result<String, Error> {
    let text = given.unwrap_or_else(|| default.to_owned());
    let url = reqwest::Url::parse(&text).map_err(|e| invalid(what, format!("`{text}`: {e}")))?;
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
    if !(url.scheme() == "https" || url.scheme() == "http" && loopback) {
        return Err(invalid(what, format!("`{text}` is not https; tokens would travel in the clear")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(what, "the address holds credentials; remove them".to_owned()));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn invalid(path: &str, detail: String) -> Error {
    Error::Invalid { path: path.to_owned(), detail }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn load(vars: &[(&str, &str)]) -> Result<ServerConfig, Error> {
        let vars: HashMap<String, String> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let overrides = Overrides { file: None, ..Overrides::default() };
        ServerConfig::resolve(&overrides, &|name| vars.get(name).filter(|v| !v.is_empty()).cloned())
    }

    const FULL: [(&str, &str); 4] = [
        ("OCTOSWARM_APP_ID", "7"),
        ("OCTOSWARM_PRIVATE_KEY", "pem"),
        ("OCTOSWARM_WEBHOOK_SECRET", "s3cret"),
        ("HOME", "/home/op"),
    ];

    #[test]
    fn the_environment_alone_is_enough() {
        let config = load(&FULL).unwrap();
        assert_eq!(config.app_id, 7);
        assert_eq!(config.api_url, "https://api.github.com");
        assert_eq!(config.state, Path::new("/home/op/.local/state/octoswarm"));
        assert_eq!(config.tuning.settle, Duration::from_secs(10));
    }

    #[test]
    fn what_is_missing_is_said_with_a_way_out() {
        for dropped in ["OCTOSWARM_APP_ID", "OCTOSWARM_PRIVATE_KEY", "OCTOSWARM_WEBHOOK_SECRET"] {
            let rest: Vec<_> = FULL.into_iter().filter(|(name, _)| *name != dropped).collect();
            let error = load(&rest).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains(dropped)), "{dropped}: {error}");
        }
    }

    #[test]
    fn a_blank_secret_does_not_start() {
        let mut vars = FULL.to_vec();
        vars[2].1 = "  \n";
        assert!(matches!(load(&vars), Err(Error::Empty { .. })));
    }

    #[test]
    fn tokens_never_travel_in_the_clear() {
        for (url, fits) in [
            ("https://ghes.example/api/v3/", true),
            ("http://127.0.0.1:9/api/v3", true),
            ("http://ghes.example/api/v3", false),
            ("http://127.0.0.1.evil.example", false),
            ("https://user:pw@ghes.example", false),
        ] {
            let vars: Vec<_> = FULL.into_iter().chain([("OCTOSWARM_API_URL", url)]).collect();
            assert_eq!(load(&vars).is_ok(), fits, "{url}");
        }
    }

    #[test]
    fn two_secrets_are_accepted_during_a_rotation() {
        let vars: Vec<_> = FULL.into_iter().chain([("OCTOSWARM_WEBHOOK_SECRET_PREVIOUS", "old")]).collect();
        let config = load(&vars).unwrap();
        assert_eq!(config.webhook_secrets.iter().map(Secret::expose).collect::<Vec<_>>(), ["s3cret", "old"]);
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    fn start(vars: &[(&str, &str)], state: &Path) -> Result<Start, Error> {
        let vars: HashMap<String, String> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let overrides = Overrides { state: Some(state.to_owned()), ..Overrides::default() };
        Start::resolve(&overrides, &|name| vars.get(name).cloned())
    }

    #[test]
    fn with_no_app_named_anywhere_it_can_be_set_up_and_then_starts() {
        let state = tempfile::tempdir().unwrap();
        assert!(matches!(start(&[], state.path()), Ok(Start::SetUp(_))));
        assert!(matches!(start(&FULL[1..2], state.path()), Err(Error::Missing { .. })), "half of an App is a mistake");
        let registration = Registration {
            app_id: 9,
            slug: "octoswarm-acme".into(),
            html_url: "https://ghes.example/github-apps/octoswarm-acme".into(),
            api_url: "https://ghes.example/api/v3".into(),
            web_url: "https://ghes.example".into(),
            private_key: Secret::new("pem of 9"),
            webhook_secret: Secret::new("secret of 9"),
            poll: true,
        };
        registration.save(state.path()).unwrap();
        let Ok(Start::Configured(config)) = start(&[], state.path()) else { panic!("it is registered") };
        assert_eq!(
            (config.app_id, config.api_url.as_str(), config.tuning.poll),
            (9, "https://ghes.example/api/v3", true)
        );
        assert_eq!(config.webhook_secrets[0].expose(), "secret of 9");
        let Ok(Start::Configured(config)) = start(&FULL, state.path()) else { panic!("another App is configured") };
        assert_eq!((config.app_id, config.api_url.as_str()), (7, "https://api.github.com"));
        assert!(matches!(start(&FULL[..1], state.path()), Err(Error::Missing { .. })), "nothing of 9 serves 7");
    }

    #[test]
    fn an_account_is_a_login() {
        let vars: Vec<_> = FULL.into_iter().chain([("OCTOSWARM_ACCOUNTS", "acme, mona-lisa")]).collect();
        assert_eq!(load(&vars).unwrap().accounts, ["acme", "mona-lisa"]);
        let vars: Vec<_> = FULL.into_iter().chain([("OCTOSWARM_ACCOUNTS", "acme,,")]).collect();
        assert!(matches!(load(&vars), Err(Error::Invalid { .. })));
    }
}
