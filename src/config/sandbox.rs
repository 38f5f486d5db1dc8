//! `[sandbox]`: how repositories' commands are run on this machine.

use std::path::PathBuf;
use std::time::Duration;

use toml::{Table, Value};

use super::reader::{Reader, Source};
use crate::stdx::text::{did_you_mean, nearest};

/// What an operator may say about the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandboxing {
    /// bubblewrap's file; looked for where systems have it when not named.
    pub bwrap: Option<PathBuf>,
    /// Folders with toolchains beside the system's own, shown read-only.
    pub tools: Vec<PathBuf>,
    /// `host:port` of package registries beside the public ones.
    pub registries: Vec<String>,
    /// Bytes that the processes of one command have in memory.
    pub memory: u64,
    /// One command from its start to its end.
    pub time: Duration,
}

impl Default for Sandboxing {
    fn default() -> Self {
        let (memory, time) = (DEFAULT_MEMORY << 20, Duration::from_secs(DEFAULT_SECONDS));
        Self { bwrap: None, tools: Vec::new(), registries: Vec::new(), memory, time }
    }
}

const KEYS: [&str; 5] = ["bwrap", "tools", "registries", "memory_mib", "seconds"];
const DEFAULT_MEMORY: u64 = 3072;
const DEFAULT_SECONDS: u64 = 600;

/// Reads the table, and tells every fault.
pub(super) fn read(reader: &mut Reader, table: &Table) -> Sandboxing {
    let mut read = Sandboxing::default();
    let mut faults = Vec::new();
    for (key, value) in table {
        match key.as_str() {
            "bwrap" => read.bwrap = paths(key, &Value::Array(vec![value.clone()]), &mut faults).pop(),
            "tools" => read.tools = paths(key, value, &mut faults),
            "registries" => read.registries = registries(value, &mut faults),
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
    for fault in faults {
        reader.refuse("sandbox", &Source::File, fault);
    }
    if !table.is_empty() {
        reader.show("sandbox", table.keys().cloned().collect::<Vec<_>>().join(", "), Source::File);
    }
    read
}

/// What the file says that `OCTOSWARM_CONFIG` names; the defaults where it names none. A file that merely lies in the working
/// directory is not read: it may be a stranger's.
///
/// # Errors
/// What is wrong with the file, a sentence each.
pub fn named_sandboxing() -> Result<Sandboxing, Vec<String>> {
    let Some(path) = super::server::env("OCTOSWARM_CONFIG") else { return Ok(Sandboxing::default()) };
    let text = std::fs::read_to_string(&path).map_err(|error| vec![format!("{path} cannot be read: {error}")])?;
    // Never the error as a whole: it shows the line, and a secret may stand in it.
    let table: Table = toml::from_str(&text).map_err(|error| vec![format!("{path}: {}", error.message())])?;
    let Some(own) = table.get("sandbox").and_then(Value::as_table) else { return Ok(Sandboxing::default()) };
    let mut reader = Reader::new(&super::server::env);
    let read = read(&mut reader, own);
    let faults: Vec<String> = reader.faults.iter().map(ToString::to_string).collect();
    if faults.is_empty() { Ok(read) } else { Err(faults) }
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

    use super::super::{Overrides, Resolution, Start};

    fn resolve(text: &str) -> Resolution {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("octoswarm.toml");
        crate::stdx::file::write_atomic(&file, text.as_bytes()).unwrap();
        Resolution::load(&Overrides { file: Some(file), state: Some(dir.path().to_owned()), ..Overrides::default() })
    }

    #[test]
    fn every_fault_of_the_table_is_told() {
        let text = "[sandbox]\nbwrap = 'bin/bwrap'\ntools = '/opt'\nregistries = ['a b', 'x:0', 'ok.example:8443']\n\
                    memory_mib = 1\nseconds = 'long'\ntool = []\n";
        let told: Vec<String> = resolve(text).faults.iter().map(ToString::to_string).collect();
        let about: Vec<&String> = told.iter().filter(|fault| fault.contains("sandbox")).collect();
        assert_eq!(about.len(), 7, "{told:#?}");
        assert!(about.iter().any(|fault| fault.contains("did you mean `tools`?")), "{about:#?}");
    }

    #[test]
    fn what_is_said_is_taken_and_the_rest_has_defaults() {
        let key = "-----BEGIN";
        let text = "app_id = 1\n[sandbox]\ntools = ['/opt/go']\nregistries = ['Packages.Example.com']\nseconds = 60\n";
        let resolution = resolve(text);
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
}
