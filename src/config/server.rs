//! The server's own settings: `octoswarm.toml`, then `OCTOSWARM_*` variables over it, then flags over both.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::agents::{self, Agent};
use super::api::{self, Api};
use super::names::unknown_variables;
use super::reader::{Reader, SETTINGS, SecretFile, Setting, Source, invalid};
use super::sandbox::{self, Sandboxing};
use super::sweep::Sweep;
use super::{Error, LogFormat, Metrics, Registration, Warning, log};
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
    /// By the names of their mailboxes.
    pub agents: BTreeMap<String, Agent>,
    pub sandbox: Sandboxing,
    /// Without a token there is none.
    pub api: Option<Api>,
    pub tuning: Tuning,
}

/// What `serve` finds when it starts.
#[derive(Debug, Clone)]
pub enum Start {
    Configured(Box<ServerConfig>),
    /// No App is named anywhere: one can be registered from the browser.
    SetUp(Box<SetUpConfig>),
}

/// What set-up mode runs with.
#[derive(Debug, Clone)]
pub struct SetUpConfig {
    pub listen: SocketAddr,
    pub state: PathBuf,
    pub log: LogFormat,
    /// Where people and GitHub reach this server, when that is not where it listens.
    pub public_url: Option<String>,
    /// The GitHub to begin with; github.com when nothing is said.
    pub web_url: Option<String>,
    /// What the App's own must be, if it is said.
    pub api_url: Option<String>,
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
    /// How often repositories that have asked for it are searched for issues to work on; `None`: never.
    pub scout: Option<Duration>,
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
pub(super) struct FileWire {
    app_id: Option<u64>,
    private_key_file: Option<PathBuf>,
    /// One file a secret: during a rotation the new and the old one.
    webhook_secret_files: Vec<PathBuf>,
    listen: Option<SocketAddr>,
    api_url: Option<String>,
    web_url: Option<String>,
    state: Option<PathBuf>,
    pub(super) log: Option<LogFormat>,
    workers: Option<usize>,
    write_pace_ms: Option<u64>,
    settle_ms: Option<u64>,
    retention_days: Option<u64>,
    reconcile_seconds: Option<u64>,
    poll: bool,
    scout_sweep: Option<Sweep>,
    accounts: Vec<String>,
    pub(super) public_url: Option<String>,
    metrics_listen: Option<SocketAddr>,
    metrics_token_file: Option<PathBuf>,
    /// A table for each; read by hand, so that every fault is told.
    agents: toml::Table,
    /// The same.
    sandbox: toml::Table,
    pub(super) api: toml::Table,
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

impl FileWire {
    /// Nothing here speaks of an App.
    fn names_no_app(&self) -> bool {
        self.app_id.is_none() && self.private_key_file.is_none() && self.webhook_secret_files.is_empty()
    }
}

/// All that file, environment and flags say, with where each value comes from and everything that is wrong.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The file that was read.
    pub file: Option<PathBuf>,
    pub settings: Vec<Setting>,
    pub secret_files: Vec<SecretFile>,
    /// In the order in which they were met; none when `start` is there.
    pub faults: Vec<Error>,
    pub warnings: Vec<Warning>,
    /// Known also when other settings are at fault.
    pub state: Option<PathBuf>,
    /// The same.
    pub sandbox: Sandboxing,
    pub listen: Option<SocketAddr>,
    pub start: Option<Start>,
}

impl Start {
    /// Or everything that is missing or wrong.
    fn resolve(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<Error>> {
        let Resolution { start, faults, .. } = Resolution::resolve(overrides, env);
        start.ok_or(faults)
    }
}

impl ServerConfig {
    /// Reads file and environment.
    ///
    /// # Errors
    /// Everything that is missing or wrong, with what to do about it; never an empty list.
    pub fn load(overrides: &Overrides) -> Result<Self, Vec<Error>> {
        Self::resolve(overrides, &env)
    }

    /// Whether installations of that account are any of our business.
    pub fn serves(&self, account: &str) -> bool {
        serves(&self.accounts, account)
    }

    fn resolve(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Vec<Error>> {
        match Start::resolve(overrides, env)? {
            Start::Configured(config) => Ok(*config),
            Start::SetUp(_) => Err(vec![no_app()]),
        }
    }
}

impl Resolution {
    /// Looks at everything, whatever is wrong.
    pub fn load(overrides: &Overrides) -> Self {
        let mut resolution = Self::resolve(overrides, &env);
        resolution.warnings.extend(unknown_variables(env_names()));
        resolution
    }

    fn resolve(overrides: &Overrides, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut reader = Reader::new(env);
        let file: FileWire = reader.read_file(overrides);
        let state = state_of(&mut reader, overrides, &file);
        let listen = listen_of(&mut reader, overrides, &file);
        let log = log::format(&mut reader, file.log);
        log::filter(&mut reader);
        let public_url = reader.suggestion("public_url", "OCTOSWARM_PUBLIC_URL", file.public_url.as_deref());
        let registration = state.as_deref().and_then(|state| reader.registration(state));
        let nothing = file.names_no_app()
            && APP_VARIABLES.iter().all(|name| env(name).is_none())
            && registration.is_none()
            && !reader.is_spoiled("app_id");
        let sandbox = sandbox::read(&mut reader, &file.sandbox);
        let api = api::read(&mut reader, &file.api, public_url.as_deref());
        let start = if nothing {
            let web_url = reader.suggestion("web_url", "OCTOSWARM_WEB_URL", file.web_url.as_deref());
            let api_url = reader.suggestion("api_url", "OCTOSWARM_API_URL", file.api_url.as_deref());
            // What is wrong now would keep the App from starting once it is made.
            let poll = poll_of(&mut reader, overrides, &file, None);
            accounts_of(&mut reader, &file.accounts, None);
            Metrics::read(&mut reader, file.metrics_listen, file.metrics_token_file.as_deref());
            agents::read(&mut reader, &file.agents);
            tuning_of(&mut reader, &file, poll);
            let overrides = overrides.clone();
            state.clone().map(|state| {
                Start::SetUp(Box::new(SetUpConfig { listen, state, log, public_url, web_url, api_url, overrides }))
            })
        } else {
            server(&mut reader, overrides, &file, registration).and_then(|rest| {
                let state = state.clone()?;
                let sandbox = sandbox.clone();
                Some(Start::Configured(Box::new(ServerConfig { listen, state, log, sandbox, api, ..rest })))
            })
        };
        let settings = reader.rows(&SETTINGS);
        let Reader { file, secret_files, faults, warnings, .. } = reader;
        let start = start.filter(|_| faults.is_empty());
        Self { file, settings, secret_files, faults, warnings, state, listen: Some(listen), sandbox, start }
    }
}

/// All but where it listens, keeps its state and logs to, which its caller knows; `None` when something it cannot do without
/// is missing.
fn server(
    reader: &mut Reader,
    overrides: &Overrides,
    file: &FileWire,
    registration: Option<Registration>,
) -> Option<ServerConfig> {
    // What is configured stands over what was registered from the browser, and never mixes with it: a key of one App
    // and a secret of another are no use to anybody.
    let picked = reader.pick("app_id", None, "OCTOSWARM_APP_ID", file.app_id);
    let registration = registration.filter(|r| picked.as_ref().is_none_or(|(id, _)| *id == r.app_id));
    let registered = registration.as_ref();
    if let Some((0, source)) = &picked {
        reader.refuse("app_id", source, "no App has the id 0; it stands on the App's settings page".to_owned());
    }
    let app_id = picked.filter(|(id, _)| *id > 0).or(registered.map(|r| (r.app_id, Source::Registered)));
    let app_id = match app_id {
        Some(picked) => Some(reader.told("app_id", picked)),
        None => reader.missing("app_id", no_app()),
    };
    let private_key = reader.private_key(file.private_key_file.as_deref(), registered);
    let poll = poll_of(reader, overrides, file, registered);
    let webhook_secrets = reader.webhook_secrets(&file.webhook_secret_files, registered, poll);
    let api_url = reader.base_url(
        "api_url",
        "OCTOSWARM_API_URL",
        file.api_url.as_deref(),
        registered.map(|r| r.api_url.as_str()),
        "https://api.github.com",
    );
    let web_url = reader.base_url(
        "web_url",
        "OCTOSWARM_WEB_URL",
        file.web_url.as_deref(),
        registered.map(|r| r.web_url.as_str()),
        "https://github.com",
    );
    let accounts = accounts_of(reader, &file.accounts, registered);
    let metrics = Metrics::read(reader, file.metrics_listen, file.metrics_token_file.as_deref());
    let agents = agents::read(reader, &file.agents);
    let tuning = tuning_of(reader, file, poll);
    Some(ServerConfig {
        app_id: app_id?,
        private_key: private_key?,
        webhook_secrets: webhook_secrets?,
        api_url: api_url?,
        web_url: web_url?,
        accounts,
        metrics,
        agents,
        tuning,
        // The caller's.
        sandbox: Sandboxing::default(),
        api: None,
        listen: DEFAULT_LISTEN,
        state: PathBuf::new(),
        log: LogFormat::default(),
    })
}

fn poll_of(reader: &mut Reader, overrides: &Overrides, file: &FileWire, registered: Option<&Registration>) -> bool {
    let poll = match reader.pick("poll", overrides.poll.then_some((true, "--poll")), "OCTOSWARM_POLL", None) {
        Some(picked) => picked,
        None if file.poll => (true, Source::File),
        None if registered.is_some_and(|r| r.poll) => (true, Source::Registered),
        None => (false, Source::Default),
    };
    reader.told("poll", poll)
}

pub(super) fn tuning_of(reader: &mut Reader, file: &FileWire, poll: bool) -> Tuning {
    // GitHub counts these requests to nobody's limit but the App's; a poller is watched by a person who waits, and has no
    // other way to learn of anything.
    let (usual, least) = if poll { (5, 1) } else { (300, 0) };
    let reconcile = reader.number(
        "reconcile_seconds",
        "OCTOSWARM_RECONCILE_SECONDS",
        file.reconcile_seconds,
        usual,
        least..=LOG_KEPT,
    );
    Tuning {
        workers: reader.number("workers", "OCTOSWARM_WORKERS", file.workers, 4, 1..=256),
        write_pace: Duration::from_millis(reader.number(
            "write_pace_ms",
            "OCTOSWARM_WRITE_PACE_MS",
            file.write_pace_ms,
            1_000,
            0..=AN_HOUR,
        )),
        settle: Duration::from_millis(reader.number(
            "settle_ms",
            "OCTOSWARM_SETTLE_MS",
            file.settle_ms,
            10_000,
            0..=AN_HOUR,
        )),
        retention: days(reader.number(
            "retention_days",
            "OCTOSWARM_RETENTION_DAYS",
            file.retention_days,
            30,
            0..=A_CENTURY,
        )),
        reconcile: (reconcile > 0).then(|| Duration::from_secs(reconcile)),
        poll,
        scout: scout_of(reader, file),
    }
}

fn scout_of(reader: &mut Reader, file: &FileWire) -> Option<Duration> {
    let picked = reader.pick("scout_sweep", None, "OCTOSWARM_SCOUT_SWEEP", file.scout_sweep);
    let Sweep(every) = match picked {
        None if reader.is_spoiled("scout_sweep") => Sweep::default(),
        picked => reader.told("scout_sweep", picked.unwrap_or((Sweep::default(), Source::Default))),
    };
    every
}

/// In milliseconds: a pause that is longer is a slip of the keyboard.
const AN_HOUR: u64 = 3_600_000;
/// In days.
const A_CENTURY: u64 = 36_500;
/// In seconds: GitHub keeps the delivery log for three days, and whoever looks less often misses something.
const LOG_KEPT: u64 = 259_200;

const DEFAULT_LISTEN: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3000));

fn no_app() -> Error {
    Error::Missing {
        what: "the App's id",
        hint: "set `app_id` in octoswarm.toml or OCTOSWARM_APP_ID; it stands on the App's settings page",
    }
}

/// The state folder when nothing else is configured: `--state`, `OCTOSWARM_STATE`, else the platform's state directory.
///
/// # Errors
/// When there is no home directory to fall back on.
pub fn state_dir(flag: Option<PathBuf>) -> Result<PathBuf, Error> {
    match flag.or_else(|| env("OCTOSWARM_STATE").map(PathBuf::from)) {
        Some(dir) => Ok(dir),
        None => default_state(&env).ok_or_else(no_state),
    }
}

/// Where the server listens, whatever else is configured.
///
/// # Errors
/// The file or the address cannot be read.
pub fn listen_address(overrides: &Overrides) -> Result<SocketAddr, Error> {
    let mut reader = Reader::new(&env);
    let file: FileWire = reader.read_file(overrides);
    let listen = listen_of(&mut reader, overrides, &file);
    reader.faults.into_iter().next().map_or(Ok(listen), Err)
}

/// The folder that the server works on, whatever else is configured.
///
/// # Errors
/// The file cannot be read, or nothing names a folder.
pub fn state_of_server(overrides: &Overrides) -> Result<PathBuf, Error> {
    if let Some(state) = &overrides.state {
        return Ok(state.clone());
    }
    let mut reader = Reader::new(&env);
    let file: FileWire = reader.read_file(overrides);
    let state = state_of(&mut reader, overrides, &file);
    match (reader.faults.into_iter().next(), state) {
        (Some(fault), _) => Err(fault),
        (None, state) => state.ok_or_else(no_state),
    }
}

/// The given folder, else the one that the environment or the platform has for what is kept. No file is asked.
pub fn state_of_machine(given: Option<PathBuf>) -> Option<PathBuf> {
    given.or_else(|| env("OCTOSWARM_STATE").map(PathBuf::from)).or_else(|| default_state(&env))
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub(super) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn env_names() -> Vec<String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
}

fn default_state(env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || env("HOME").map(|home| Path::new(&home).join(".local/state"));
    env("XDG_STATE_HOME").map(PathBuf::from).or_else(home).map(|dir| dir.join("octoswarm"))
}

fn no_state() -> Error {
    Error::Missing { what: "a place for the state", hint: "name one with --state or OCTOSWARM_STATE" }
}

pub(super) fn state_of(reader: &mut Reader, overrides: &Overrides, file: &FileWire) -> Option<PathBuf> {
    let flag = overrides.state.clone().map(|state| (state, "--state"));
    let picked = reader
        .pick("state", flag, "OCTOSWARM_STATE", file.state.clone())
        .or_else(|| default_state(reader.env).map(|state| (state, Source::Default)));
    match picked {
        Some((state, source)) => {
            reader.show("state", state.display().to_string(), source);
            Some(state)
        }
        None => reader.missing("state", no_state()),
    }
}

pub(super) fn listen_of(reader: &mut Reader, overrides: &Overrides, file: &FileWire) -> SocketAddr {
    let flag = overrides.listen.map(|listen| (listen, "--listen"));
    let picked = reader.pick("listen", flag, "OCTOSWARM_LISTEN", file.listen);
    reader.told("listen", picked.unwrap_or((DEFAULT_LISTEN, Source::Default)))
}

/// Logins, from the variable (separated by commas) or the file.
fn accounts_of(reader: &mut Reader, file: &[String], registered: Option<&Registration>) -> Vec<String> {
    const VARIABLE: &str = "OCTOSWARM_ACCOUNTS";
    let (given, source) = match (reader.env)(VARIABLE) {
        Some(list) => (list.split(',').map(|login| login.trim().to_owned()).collect(), Source::Variable(VARIABLE)),
        None if !file.is_empty() => (file.to_vec(), Source::File),
        None => match registered.filter(|registered| !registered.accounts.is_empty()) {
            Some(registered) => (registered.accounts.clone(), Source::Registered),
            None => (Vec::new(), Source::Default),
        },
    };
    for odd in given.iter().filter(|account| !is_login(account)) {
        reader.fault("accounts", invalid("accounts", format!("`{odd}` is not the login of an organisation or a user")));
    }
    let shown = if given.is_empty() { "all".to_owned() } else { given.join(", ") };
    reader.show("accounts", shown, source);
    given
}

/// Users, organisations, and the accounts of enterprises, which may have an underscore.
pub fn is_login(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && !text.starts_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Whether a list of logins lets an account be served; an empty one does for all.
pub fn serves(accounts: &[String], account: &str) -> bool {
    accounts.is_empty() || accounts.iter().any(|served| served.eq_ignore_ascii_case(account))
}

fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::LazyLock;

    use super::super::names::known_keys;
    use super::*;

    fn load(vars: &[(&str, &str)]) -> Result<ServerConfig, Error> {
        let vars: HashMap<String, String> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let overrides = Overrides { file: None, ..Overrides::default() };
        ServerConfig::resolve(&overrides, &|name| vars.get(name).filter(|v| !v.is_empty()).cloned()).map_err(only)
    }

    /// The fault of a configuration that has one.
    #[track_caller]
    fn only(faults: Vec<Error>) -> Error {
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults.into_iter().next().unwrap()
    }

    /// Made once: it takes a third of a second.
    static PEM: LazyLock<String> = LazyLock::new(|| {
        use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
        use base64::Engine;
        let key = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&key).unwrap();
        let text = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    });

    fn full() -> [(&'static str, &'static str); 4] {
        [
            ("OCTOSWARM_APP_ID", "7"),
            ("OCTOSWARM_PRIVATE_KEY", PEM.as_str()),
            ("OCTOSWARM_WEBHOOK_SECRET", "s3cret"),
            ("HOME", "/home/op"),
        ]
    }

    #[test]
    fn the_environment_alone_is_enough() {
        let config = load(&full()).unwrap();
        assert_eq!(config.app_id, 7);
        assert_eq!(config.api_url, "https://api.github.com");
        assert_eq!(config.state, Path::new("/home/op/.local/state/octoswarm"));
        assert_eq!(config.tuning.settle, Duration::from_secs(10));
    }

    #[test]
    fn what_is_missing_is_said_with_a_way_out() {
        for dropped in ["OCTOSWARM_APP_ID", "OCTOSWARM_PRIVATE_KEY", "OCTOSWARM_WEBHOOK_SECRET"] {
            let rest: Vec<_> = full().into_iter().filter(|(name, _)| *name != dropped).collect();
            let error = load(&rest).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains(dropped)), "{dropped}: {error}");
        }
    }

    #[test]
    fn a_blank_secret_does_not_start() {
        let mut vars = full().to_vec();
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
            ("http://127.0.0.2:9/api/v3", true),
            ("https://user:s3cret@ghes.example", false),
            ("https://user:s3cret@ghes example", false),
            ("http://ghes.example/?token=s3cret", false),
        ] {
            let vars: Vec<_> = full().into_iter().chain([("OCTOSWARM_API_URL", url)]).collect();
            let loaded = load(&vars);
            assert_eq!(loaded.is_ok(), fits, "{url}");
            assert!(!loaded.is_err_and(|error| error.to_string().contains("s3cret")), "a password is not repeated");
        }
    }

    #[test]
    fn two_secrets_are_accepted_during_a_rotation() {
        let vars: Vec<_> = full().into_iter().chain([("OCTOSWARM_WEBHOOK_SECRET_PREVIOUS", "old")]).collect();
        let config = load(&vars).unwrap();
        assert_eq!(config.webhook_secrets.iter().map(Secret::expose).collect::<Vec<_>>(), ["s3cret", "old"]);
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    fn start(vars: &[(&str, &str)], state: &Path) -> Result<Start, Error> {
        let vars: HashMap<String, String> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let overrides = Overrides { state: Some(state.to_owned()), ..Overrides::default() };
        Start::resolve(&overrides, &|name| vars.get(name).cloned()).map_err(|faults| faults.into_iter().next().unwrap())
    }

    #[test]
    fn after_set_up_every_fault_is_told_at_once() {
        let vars = [("OCTOSWARM_APP_ID", "7"), ("OCTOSWARM_WORKERS", "0"), ("OCTOSWARM_ACCOUNTS", "a b")];
        let state = tempfile::tempdir().unwrap();
        let overrides = Overrides { state: Some(state.path().to_owned()), ..Overrides::default() };
        let env = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let faults: Vec<_> =
            ServerConfig::resolve(&overrides, &env).unwrap_err().iter().map(Error::to_string).collect();
        for part in ["private key is missing", "webhook secret", "`a b`", "OCTOSWARM_WORKERS"] {
            assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:#?}");
        }
        assert_eq!(faults.len(), 4, "{faults:#?}");
    }

    #[test]
    fn with_no_app_named_anywhere_it_can_be_set_up_and_then_starts() {
        let state = tempfile::tempdir().unwrap();
        assert!(matches!(start(&[], state.path()), Ok(Start::SetUp(_))));
        assert!(
            matches!(start(&full()[1..2], state.path()), Err(Error::Missing { .. })),
            "half of an App is a mistake"
        );
        let registration = Registration {
            app_id: 9,
            slug: "octoswarm-acme".into(),
            html_url: "https://ghes.example/github-apps/octoswarm-acme".into(),
            api_url: "https://ghes.example/api/v3".into(),
            web_url: "https://ghes.example".into(),
            private_key: Secret::new(PEM.as_str()),
            webhook_secret: Secret::new("secret of 9"),
            poll: true,
            accounts: vec!["acme".into()],
        };
        registration.save(state.path()).unwrap();
        let Ok(Start::Configured(config)) = start(&[], state.path()) else { panic!("it is registered") };
        assert_eq!(
            (config.app_id, config.api_url.as_str(), config.tuning.poll),
            (9, "https://ghes.example/api/v3", true)
        );
        assert_eq!(config.webhook_secrets[0].expose(), "secret of 9");
        assert_eq!(config.accounts, ["acme"]);
        let Ok(Start::Configured(config)) = start(&full(), state.path()) else { panic!("another App is configured") };
        assert_eq!((config.app_id, config.api_url.as_str()), (7, "https://api.github.com"));
        assert!(matches!(start(&full()[..1], state.path()), Err(Error::Missing { .. })), "nothing of 9 serves 7");
    }

    #[test]
    fn what_would_keep_the_app_from_starting_is_said_before_it_is_made() {
        let state = tempfile::tempdir().unwrap();
        for (name, value) in [
            ("OCTOSWARM_WORKERS", "many"),
            ("OCTOSWARM_POLL", "perhaps"),
            ("OCTOSWARM_ACCOUNTS", "a b"),
            ("OCTOSWARM_METRICS_LISTEN", "9100"),
            ("OCTOSWARM_METRICS_TOKEN_FILE", "/nowhere/token"),
            ("OCTOSWARM_API_URL", "http://ghes.example"),
            ("OCTOSWARM_RETENTION_DAYS", "-1"),
        ] {
            assert!(start(&[(name, value)], state.path()).is_err(), "{name}");
        }
        let given = [("OCTOSWARM_API_URL", "https://ghes.example/api/v3"), ("OCTOSWARM_WORKERS", "2")];
        let Ok(Start::SetUp(config)) = start(&given, state.path()) else { panic!("nothing is wrong") };
        assert_eq!(config.api_url.as_deref(), Some("https://ghes.example/api/v3"));
    }

    #[test]
    fn an_account_is_a_login() {
        let vars: Vec<_> = full().into_iter().chain([("OCTOSWARM_ACCOUNTS", "acme, mona-lisa")]).collect();
        assert_eq!(load(&vars).unwrap().accounts, ["acme", "mona-lisa"]);
        let vars: Vec<_> = full().into_iter().chain([("OCTOSWARM_ACCOUNTS", "acme,")]).collect();
        assert!(matches!(load(&vars), Err(Error::Invalid { .. })));
    }

    #[test]
    fn every_key_of_the_file_has_a_row() {
        for key in known_keys::<FileWire>() {
            assert!(SETTINGS.contains(key), "{key} would not be shown");
        }
        let resolution = Resolution::resolve(&Overrides::default(), &|_| None);
        let rows: Vec<_> = resolution.settings.iter().map(|setting| setting.name).collect();
        assert_eq!(rows, SETTINGS);
    }

    #[test]
    fn a_number_out_of_range_is_a_fault_and_not_another_number() {
        for (name, value, fits) in [
            ("OCTOSWARM_APP_ID", "0", false),
            ("OCTOSWARM_WORKERS", "0", false),
            ("OCTOSWARM_WORKERS", "256", true),
            ("OCTOSWARM_WORKERS", "257", false),
            ("OCTOSWARM_RETENTION_DAYS", "36501", false),
            ("OCTOSWARM_SETTLE_MS", "18446744073709551615", false),
            ("OCTOSWARM_WRITE_PACE_MS", "3600001", false),
            ("OCTOSWARM_RECONCILE_SECONDS", "0", true),
            ("OCTOSWARM_RECONCILE_SECONDS", "259201", false),
        ] {
            let vars: Vec<_> = full().into_iter().filter(|(other, _)| *other != name).chain([(name, value)]).collect();
            let loaded = load(&vars);
            assert_eq!(loaded.is_ok(), fits, "{name}={value}: {loaded:?}");
        }
        let polls = [("OCTOSWARM_POLL", "true"), ("OCTOSWARM_RECONCILE_SECONDS", "0")];
        let vars: Vec<_> = full().into_iter().chain(polls).collect();
        assert!(load(&vars).unwrap_err().to_string().contains("between 1 and"), "who polls has to look");
    }

    #[test]
    fn a_log_filter_that_lets_nothing_through_by_a_slip_is_a_fault() {
        for (filter, fits) in [
            ("debug", true),
            ("octoswarm=debug,info", true),
            ("INFO", true),
            ("info,sqlx", true),
            ("==bad==", false),
            ("octoswarm=loud", false),
            ("inof", false),
            ("debgu,sqlx=warn", false),
        ] {
            let vars: Vec<_> = full().into_iter().chain([("OCTOSWARM_LOG", filter)]).collect();
            let loaded = load(&vars);
            assert_eq!(loaded.is_ok(), fits, "{filter}");
            assert!(loaded.is_ok() || loaded.unwrap_err().to_string().contains("OCTOSWARM_LOG"));
        }
    }
}
