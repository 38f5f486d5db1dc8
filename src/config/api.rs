//! `[api]`: who may use the HTTP API and the MCP server, and what they may send.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use super::reader::{Reader, Source, invalid};
use super::server::{FileWire, env, listen_of, state_of, tuning_of};
use super::{Error, LogFormat, Overrides, log};
use crate::domain::Secret;
use crate::stdx::net;
use crate::stdx::text::{did_you_mean, nearest};

/// What the API and the MCP server are served with.
#[derive(Debug, Clone)]
pub struct Api {
    /// Whoever sends it may use all of it.
    pub token: Secret,
    /// Names, each with or without a port, under which they answer; none: this machine's own and that of `public_url`.
    pub allowed_hosts: Vec<String>,
    /// Origins, as `https://example.com`, whose pages may call them.
    pub allowed_origins: Vec<String>,
    /// Bytes of one upload.
    pub max_upload: u64,
    /// Folders that MCP tools may read.
    pub roots: Vec<PathBuf>,
    /// Where people reach this server, when that is not where it listens.
    pub public_url: Option<String>,
}

/// What `serve --api-only` runs with: no App is named.
#[derive(Debug, Clone)]
pub struct ApiServer {
    pub listen: std::net::SocketAddr,
    pub state: PathBuf,
    pub log: LogFormat,
    /// Jobs worked on at once.
    pub workers: usize,
    pub retention: Duration,
    pub api: Api,
}

const NAME: &str = "api";
const KEYS: [&str; 5] = ["token_file", "allowed_hosts", "allowed_origins", "max_upload_mib", "roots"];
const TOKEN: &str = "OCTOSWARM_API_TOKEN";
const TOKEN_FILE: &str = "OCTOSWARM_API_TOKEN_FILE";
const HOSTS: &str = "OCTOSWARM_API_ALLOWED_HOSTS";
const ORIGINS: &str = "OCTOSWARM_API_ALLOWED_ORIGINS";
const MAX_UPLOAD: &str = "OCTOSWARM_API_MAX_UPLOAD_MIB";
const ROOTS: &str = "OCTOSWARM_API_ROOTS";
/// Characters: a shorter token could be guessed by whoever may ask as often as he likes.
const SHORT: usize = 32;
/// MiB: S0's limit, and what no disk should be asked for by a slip of the keyboard.
const USUAL_MIB: u64 = 500;
const MOST_MIB: u64 = 1 << 20;

impl ApiServer {
    /// Reads file and environment.
    ///
    /// # Errors
    /// Everything that is missing or wrong, with what to do about it; never an empty list.
    pub fn load(overrides: &Overrides) -> Result<Self, Vec<Error>> {
        let mut reader = Reader::new(&env);
        let file: FileWire = reader.read_file(overrides);
        let state = state_of(&mut reader, overrides, &file);
        let listen = listen_of(&mut reader, overrides, &file);
        let log = log::format(&mut reader, file.log);
        log::filter(&mut reader);
        let public_url = reader.suggestion("public_url", "OCTOSWARM_PUBLIC_URL", file.public_url.as_deref());
        let tuning = tuning_of(&mut reader, &file, false);
        let api = read(&mut reader, &file.api, public_url.as_deref());
        let api = match api {
            Some(api) => Some(api),
            None => reader.missing(NAME, no_token()),
        };
        match (state, api, reader.faults) {
            (Some(state), Some(api), faults) if faults.is_empty() => {
                Ok(Self { listen, state, log, workers: tuning.workers, retention: tuning.retention, api })
            }
            (_, _, faults) => Err(faults),
        }
    }
}

fn no_token() -> Error {
    Error::Missing {
        what: "the API's token",
        hint: "make one with `openssl rand -hex 32`, and set OCTOSWARM_API_TOKEN to it, or name its file with \
               OCTOSWARM_API_TOKEN_FILE or `token_file` in the table [api] of octoswarm.toml",
    }
}

/// Reads the table and its variables, and tells every fault; nothing where there is no token, and so no API.
pub(super) fn read(reader: &mut Reader, table: &Table, public_url: Option<&str>) -> Option<Api> {
    for key in table.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let near = did_you_mean(nearest(key, KEYS.iter().copied()));
        reader.refuse(NAME, &Source::File, format!("there is no setting `{key}`{near}"));
    }
    let token_file = text(reader, table, "token_file").map(PathBuf::from);
    let token = reader.named_secret(NAME, TOKEN, TOKEN_FILE, token_file.as_deref());
    if token.as_ref().is_some_and(|token| token.expose().chars().count() < SHORT) {
        let why = format!("the token has less than {SHORT} characters: make one with `openssl rand -hex 32`");
        reader.settings.retain(|setting| setting.name != NAME);
        reader.fault(NAME, invalid("api", why));
    }
    let allowed_hosts = list(reader, table, "allowed_hosts", HOSTS, ',', host);
    let allowed_origins = list(reader, table, "allowed_origins", ORIGINS, ',', origin);
    let roots = list(reader, table, "roots", ROOTS, ':', root);
    let max_upload = max_upload(reader, table);
    let public_url = public_url.map(str::to_owned);
    Some(Api { token: token?, allowed_hosts, allowed_origins, max_upload, roots, public_url })
}

fn text(reader: &mut Reader, table: &Table, key: &str) -> Option<String> {
    let value = table.get(key)?;
    let text = value.as_str().map(str::to_owned);
    if text.is_none() {
        // Never the value: whoever mistakes the file's place for the token's own has written that.
        reader.refuse(NAME, &Source::File, format!("`{key}` is not a text"));
    }
    text
}

/// The variable's list, else the file's; every entry is looked at, and its fault told.
fn list<T>(
    reader: &mut Reader,
    table: &Table,
    key: &'static str,
    variable: &'static str,
    between: char,
    parse: fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let (given, source): (Vec<String>, _) = match ((reader.env)(variable), table.get(key)) {
        (Some(list), _) => {
            (list.split(between).map(|entry| entry.trim().to_owned()).collect(), Source::Variable(variable))
        }
        (None, None) => return Vec::new(),
        (None, Some(value)) => {
            let all = value.as_array().and_then(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
            let Some(all) = all else {
                let why = format!("`{key}`: {value} is not a list of texts, like [\"…\", \"…\"]");
                reader.refuse(NAME, &Source::File, why);
                return Vec::new();
            };
            (all.into_iter().map(str::to_owned).collect(), Source::File)
        }
    };
    let mut parsed = Vec::new();
    for entry in &given {
        match parse(entry) {
            Ok(entry) => parsed.push(entry),
            Err(why) => reader.refuse(NAME, &source, format!("`{key}`: `{entry}` {why}")),
        }
    }
    reader.show(NAME, format!("{key}: {}", given.join(", ")), source);
    parsed
}

/// A name or number, in lower case, with or without a port.
fn host(text: &str) -> Result<String, String> {
    let (name, port) = split_port(text);
    let fits = net::is_host(name) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    if fits { Ok(text.to_ascii_lowercase()) } else { Err("is not a host, or a host and a port".to_owned()) }
}

/// `host` and `port` of `host:port`; the colons of IPv6 stand in brackets.
fn split_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        _ => (text, None),
    }
}

fn origin(text: &str) -> Result<String, String> {
    let origin = reqwest::Url::parse(text).ok().map(|url| url.origin().ascii_serialization());
    let text = text.trim_end_matches('/').to_ascii_lowercase();
    match origin {
        Some(origin) if origin == text => Ok(text),
        _ => Err("is not an origin like https://example.com".to_owned()),
    }
}

fn root(text: &str) -> Result<PathBuf, String> {
    if Path::new(text).is_absolute() { Ok(PathBuf::from(text)) } else { Err("is not an absolute path".to_owned()) }
}

/// In bytes.
fn max_upload(reader: &mut Reader, table: &Table) -> u64 {
    let (said, source) = match ((reader.env)(MAX_UPLOAD), table.get("max_upload_mib")) {
        (Some(text), _) => (text, Source::Variable(MAX_UPLOAD)),
        (None, Some(value)) => (value.to_string(), Source::File),
        (None, None) => return USUAL_MIB << 20,
    };
    match said.parse::<u64>() {
        Ok(mib) if (1..=MOST_MIB).contains(&mib) => {
            reader.show(NAME, format!("max_upload_mib: {mib}"), source);
            mib << 20
        }
        _ => {
            let why = format!("`max_upload_mib`: {said} is not a whole number between 1 and {MOST_MIB}");
            reader.refuse(NAME, &source, why);
            USUAL_MIB << 20
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Resolution;
    use super::*;

    const GOOD: &str = "0123456789abcdef0123456789abcdef";

    fn faults(vars: &[(&str, &str)]) -> Vec<String> {
        let env = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let mut reader = Reader::new(&env);
        let read = read(&mut reader, &Table::new(), None);
        assert!(!format!("{read:?} {:?} {:?}", reader.settings, reader.faults).contains(GOOD), "the token is shown");
        reader.faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_a_token_there_is_no_api_and_a_short_one_is_a_fault() {
        let nothing = |_: &str| None;
        assert!(read(&mut Reader::new(&nothing), &Table::new(), None).is_none());
        assert_eq!(faults(&[(TOKEN, GOOD)]), [""; 0]);
        assert!(faults(&[(TOKEN, &GOOD[1..])])[0].contains("openssl rand -hex 32"));
        assert!(faults(&[(TOKEN, "  ")])[0].contains("empty"));
        assert!(faults(&[(TOKEN_FILE, "/nowhere/token")])[0].contains("cannot read"));
    }

    #[test]
    fn every_setting_of_the_api_is_checked_wherever_it_stands() {
        for (variable, good, bad, why) in [
            (HOSTS, "swarm.example,10.0.0.7:3000,[::1]:80", "http://swarm.example", "not a host"),
            (HOSTS, "localhost", "a b", "not a host"),
            (HOSTS, "a:1", "a:0", "not a host"),
            (ORIGINS, "https://swarm.example,http://127.0.0.1:8080", "swarm.example", "not an origin"),
            (ORIGINS, "https://a.example", "https://a.example/path", "not an origin"),
            (ORIGINS, "https://a.example", "*", "not an origin"),
            (MAX_UPLOAD, "1", "0", "between 1 and"),
            (MAX_UPLOAD, "500", "many", "between 1 and"),
            (ROOTS, "/srv:/home/ada/src", "src", "not an absolute path"),
        ] {
            assert_eq!(faults(&[(TOKEN, GOOD), (variable, good)]), [""; 0], "{variable}={good}");
            let told = faults(&[(TOKEN, GOOD), (variable, bad)]);
            assert!(told.len() == 1 && told[0].contains(why) && told[0].contains(variable), "{told:?}");
        }
        let table = "token_fil = 'x'\nallowed_hosts = 'one'\nroots = ['src']\nmax_upload_mib = 'x'\ntoken_file = 7\n";
        let nothing = |_: &str| None;
        let mut reader = Reader::new(&nothing);
        read(&mut reader, &table.parse().unwrap(), None);
        let told: Vec<String> = reader.faults.iter().map(ToString::to_string).collect();
        for want in ["did you mean `token_file`?", "not a list", "not an absolute path", "between 1", "is not a text"] {
            assert!(told.iter().any(|fault| fault.contains(want)), "{want}: {told:#?}");
        }
        assert_eq!(told.len(), 5);
    }

    #[test]
    fn what_is_set_is_shown_but_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let token = dir.path().join("token");
        crate::stdx::file::write_private(&token, GOOD.as_bytes()).unwrap();
        let text = format!("[api]\ntoken_file = '{}'\nallowed_hosts = ['a.example']\n", token.display());
        let resolution: Resolution = super::super::resolved(&text);
        let rows: Vec<String> = resolution
            .settings
            .iter()
            .filter(|setting| setting.name == "api")
            .map(|setting| setting.value.clone())
            .collect();
        assert_eq!(rows, [format!("set (from {})", token.display()), "allowed_hosts: a.example".to_owned()]);
        assert!(resolution.secret_files.iter().any(|file| file.setting == "api"), "the doctor looks at its mode");
    }
}
