//! `[sandbox]`: how repositories' commands are run on this machine.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use toml::{Table, Value};

use super::reader::{Reader, Source};
use super::server::env;
use super::toolchains;
use super::{Error, Overrides};
use crate::stdx::net;
use crate::stdx::text::{did_you_mean, nearest};

/// What an operator may say about the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandboxing {
    /// bubblewrap's file; looked for where systems have it when not named.
    pub bwrap: Option<PathBuf>,
    /// Folders with toolchains beside the system's own, shown read-only; those that `PATH` leads to where none are named.
    pub tools: Vec<PathBuf>,
    /// `host:port` of package registries beside the public ones.
    pub registries: Vec<String>,
    /// `host:port` of the HTTP proxy by which registries are reached; directly where there is none.
    pub proxy: Option<String>,
    /// Hosts that are reached without it.
    pub no_proxy: Vec<String>,
    /// Bytes that the processes of one command have in memory.
    pub memory: u64,
    /// One command from its start to its end.
    pub time: Duration,
}

impl Default for Sandboxing {
    fn default() -> Self {
        let (memory, time) = (DEFAULT_MEMORY << 20, Duration::from_secs(DEFAULT_SECONDS));
        let (tools, registries, no_proxy) = (Vec::new(), Vec::new(), Vec::new());
        Self { bwrap: None, tools, registries, proxy: None, no_proxy, memory, time }
    }
}

const KEYS: [&str; 7] = ["bwrap", "tools", "registries", "proxy", "no_proxy", "memory_mib", "seconds"];
const DEFAULT_MEMORY: u64 = 3072;
const DEFAULT_SECONDS: u64 = 600;

/// The part of the file that is about the sandbox.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SandboxWire {
    sandbox: Table,
}

/// What the given file says, or the one that `OCTOSWARM_CONFIG` names, for commands that work without a server. The one in the folder
/// where they are called is left alone: it may be a stranger's, and names programs.
///
/// # Errors
/// The file cannot be read, or says of the sandbox what cannot be.
pub fn sandbox_of_server(given: Option<PathBuf>) -> Result<Sandboxing, Error> {
    let mut reader = Reader::new(&env);
    let file = match given.or_else(|| env("OCTOSWARM_CONFIG").map(PathBuf::from)) {
        Some(file) => reader.read_file(&Overrides { file: Some(file), ..Overrides::default() }),
        None => SandboxWire::default(),
    };
    let read = read(&mut reader, &file.sandbox);
    reader.faults.into_iter().next().map_or(Ok(read), Err)
}

/// Reads the table, and tells every fault.
pub(super) fn read(reader: &mut Reader, table: &Table) -> Sandboxing {
    let mut read = Sandboxing::default();
    let mut faults = Vec::new();
    for (key, value) in table {
        match key.as_str() {
            "bwrap" => read.bwrap = paths(key, &Value::Array(vec![value.clone()]), &mut faults).pop(),
            "tools" => read.tools = paths(key, value, &mut faults),
            "registries" => read.registries = registries(value, &mut faults),
            "proxy" => read.proxy = proxy(value).map_err(|fault| faults.push(format!("`proxy`: {fault}"))).ok(),
            "no_proxy" => read.no_proxy = hosts(value, &mut faults),
            "memory_mib" => {
                if let Some(mib) = number(key, value, 64, 1 << 20, &mut faults) {
                    read.memory = mib << 20;
                }
            }
            "seconds" => {
                if let Some(seconds) = number(key, value, 1, 6 * 60 * 60, &mut faults) {
                    read.time = Duration::from_secs(seconds);
                }
            }
            other => {
                let near = did_you_mean(nearest(other, KEYS.iter().copied()));
                faults.push(format!("there is no setting `{other}`{near}"));
            }
        }
    }
    if !table.contains_key("tools") {
        read.tools = toolchains::found(reader.env);
    }
    for fault in faults {
        reader.refuse("sandbox", &Source::File, fault);
    }
    if !table.is_empty() {
        reader.show("sandbox", table.keys().cloned().collect::<Vec<_>>().join(", "), Source::File);
    }
    read
}

fn texts<'v>(key: &str, value: &'v Value, faults: &mut Vec<String>) -> Vec<&'v str> {
    let all: Option<Vec<&str>> = value.as_array().and_then(|all| all.iter().map(Value::as_str).collect());
    if all.is_none() {
        faults.push(format!("`{key}`: {value} is not a list of texts, like [\"…\", \"…\"]"));
    }
    all.unwrap_or_default()
}

/// Absolute, so that it does not matter from where the server is started.
fn paths(key: &str, value: &Value, faults: &mut Vec<String>) -> Vec<PathBuf> {
    let all = texts(key, value, faults);
    for path in all.iter().filter(|path| !path.starts_with('/')) {
        faults.push(format!("`{key}`: `{path}` is not an absolute path"));
    }
    all.into_iter().filter(|path| path.starts_with('/')).map(PathBuf::from).collect()
}

fn registries(value: &Value, faults: &mut Vec<String>) -> Vec<String> {
    let mut read = Vec::new();
    for text in texts("registries", value, faults) {
        let (host, port) = text.rsplit_once(':').unwrap_or((text, "443"));
        // A name whose last part is a number is an address to the system.
        let is_number = host.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
        let fits = !is_number
            && !host.split('.').any(str::is_empty)
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        if fits && port.parse::<u16>().is_ok_and(|port| port > 0) {
            read.push(format!("{}:{port}", host.to_ascii_lowercase()));
        } else {
            faults.push(format!(
                "`registries`: `{text}` is not a host, or a host and a port like packages.example.com:443"
            ));
        }
    }
    read
}

/// What a proxy's address comes to. The text is not shown: a password may stand in it.
fn proxy(value: &Value) -> Result<String, &'static str> {
    let text = value.as_str().ok_or("it is not a text, like \"http://proxy.example.com:3128\"")?;
    let url = reqwest::Url::parse(text).map_err(|_| "it is not an address like http://proxy.example.com:3128")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address holds credentials, which are not used: let this machine through at the proxy instead");
    }
    if url.scheme() != "http" {
        return Err("the proxy is spoken to by plain HTTP, with CONNECT: write http://");
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("the address has more than a host and a port; remove that");
    }
    let host = url.host_str().filter(|host| net::is_host(host)).ok_or("the address has no host")?;
    match url.port_or_known_default() {
        Some(port) if port > 0 => Ok(format!("{host}:{port}")),
        _ => Err("the address has no port"),
    }
}

fn hosts(value: &Value, faults: &mut Vec<String>) -> Vec<String> {
    let all = texts("no_proxy", value, faults);
    let (good, bad): (Vec<&str>, Vec<&str>) = all.into_iter().partition(|host| net::is_host(host));
    faults.extend(bad.iter().map(|host| format!("`no_proxy`: `{host}` is not a host like packages.example.com")));
    good.into_iter().map(str::to_ascii_lowercase).collect()
}

fn number(key: &str, value: &Value, least: u64, most: u64, faults: &mut Vec<String>) -> Option<u64> {
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
    let fits = number.filter(|number| (least..=most).contains(number));
    if fits.is_none() {
        faults.push(format!("`{key}`: {value} is not a whole number between {least} and {most}"));
    }
    fits
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::super::{Start, resolved};

    #[test]
    fn every_fault_of_the_table_is_told() {
        let text = "[sandbox]\nbwrap = 'bin/bwrap'\ntools = '/opt'\nregistries = ['a b', 'x:0', 'ok.example:8443']\n\
                    memory_mib = 1\nseconds = 'long'\ntool = []\n";
        let told: Vec<String> = resolved(text).faults.iter().map(ToString::to_string).collect();
        let about: Vec<&String> = told.iter().filter(|fault| fault.contains("sandbox")).collect();
        assert_eq!(about.len(), 7, "{told:#?}");
        assert!(about.iter().any(|fault| fault.contains("did you mean `tools`?")), "{about:#?}");
    }

    #[test]
    fn what_is_said_is_taken_and_the_rest_has_defaults() {
        let key = "-----BEGIN";
        let text = "app_id = 1\n[sandbox]\ntools = ['/opt/go']\nregistries = ['Packages.Example.com']\nseconds = 60\n";
        let resolution = resolved(text);
        assert!(resolution.faults.iter().all(|fault| !fault.to_string().contains("sandbox")), "{key}");
        let row = resolution.settings.iter().find(|setting| setting.name == "sandbox").unwrap();
        assert_eq!(row.value, "registries, seconds, tools");
        assert!(!matches!(resolution.start, Some(Start::Configured(_))));
        let mut reader = super::super::reader::Reader::new(&|_: &str| None);
        let table: toml::Table =
            toml::from_str("tools = ['/opt/go']\nregistries = ['Packages.Example.com']\nseconds = 60").unwrap();
        let read = super::read(&mut reader, &table);
        assert_eq!(read.tools, [Path::new("/opt/go")]);
        assert_eq!(read.registries, ["packages.example.com:443"]);
        assert_eq!((read.time, read.memory), (Duration::from_secs(60), 3072 << 20));
    }

    #[test]
    fn a_proxy_is_a_host_and_a_port_and_its_password_is_shown_to_nobody() {
        let read = |text: &str| super::proxy(&toml::Value::String(text.to_owned()));
        assert_eq!(read("http://Proxy.example.com:3128").as_deref(), Ok("proxy.example.com:3128"));
        assert_eq!(read("http://10.0.0.1").as_deref(), Ok("10.0.0.1:80"));
        assert_eq!(read("http://[::1]:3128/").as_deref(), Ok("[::1]:3128"));
        for wrong in [
            "proxy:3128",
            "https://p:1",
            "socks5://p:1",
            "http://p:1/path",
            "http://p:1?x",
            "http://",
            "http://p:0",
            "",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let text = "[sandbox]\nproxy = 'http://ada:hunter2@p:1'\nno_proxy = ['a b', 'Ok.example']\n";
        let resolution = resolved(text);
        let told = format!("{:?} {:?}", resolution.faults, resolution.settings);
        assert!(told.contains("holds credentials") && told.contains("`a b` is not a host"), "{told}");
        assert!(!told.contains("hunter2") && !told.contains("ada"), "{told}");
    }
}
