//! Reads settings one by one, notes where each came from, and goes on after a fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::names::known_keys;
use super::sweep::{self, Sweep};
use super::{Error, Overrides, Registration, Warning, words};
use crate::stdx::net;
use crate::stdx::text::{did_you_mean, nearest};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag(&'static str),
    Variable(&'static str),
    /// `octoswarm.toml`, or the file that was named instead.
    File,
    /// What the registration from the browser left in the state folder.
    Registered,
    Default,
    /// It has no value, and needs none or is missing.
    Unset,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File => f.write_str("file"),
            Self::Registered => f.write_str("registered"),
            Self::Default => f.write_str("default"),
            Self::Unset => f.write_str("not set"),
        }
    }
}

/// One setting as it takes effect; of a secret only that it is there, and from where.
#[derive(Debug, Clone)]
pub struct Setting {
    /// As the file spells it.
    pub name: &'static str,
    pub value: String,
    pub source: Source,
}

/// A file that nobody but its owner should be able to read.
#[derive(Debug, Clone)]
pub struct SecretFile {
    /// The setting that it belongs to.
    pub setting: &'static str,
    pub path: PathBuf,
}

/// A value that a variable can hold.
pub(super) trait Plain: FromStr {
    /// As [`words::form`] knows it.
    const FORM: &'static str;
}

impl Plain for u64 {
    const FORM: &'static str = "u64";
}

impl Plain for usize {
    const FORM: &'static str = "usize";
}

impl Plain for bool {
    const FORM: &'static str = "bool";
}

impl Plain for SocketAddr {
    const FORM: &'static str = "socket address";
}

impl Plain for Sweep {
    const FORM: &'static str = sweep::FORM;
}

impl Plain for PathBuf {
    const FORM: &'static str = "path string";
}

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;
type Picked<T> = Option<(T, Source)>;

pub(super) struct Reader<'a> {
    pub(super) env: Env<'a>,
    pub(super) file: Option<PathBuf>,
    pub(super) settings: Vec<Setting>,
    pub(super) secret_files: Vec<SecretFile>,
    pub(super) faults: Vec<Error>,
    pub(super) warnings: Vec<Warning>,
    /// Where the file's values stand in it, as `octoswarm.toml:3:1`.
    places: BTreeMap<String, String>,
    /// Settings that are not missing, but wrong.
    spoiled: BTreeSet<String>,
    /// The file or the registration said nothing that we could read: what is missing may well stand there.
    blind: bool,
}

/// Every setting that is shown, in the order of docs/configuration.md.
pub(super) const SETTINGS: [&str; 23] = [
    "app_id",
    "private_key_file",
    "webhook_secret_files",
    "listen",
    "state",
    "api_url",
    "web_url",
    "public_url",
    "accounts",
    "log",
    "log_filter",
    "workers",
    "write_pace_ms",
    "retention_days",
    "poll",
    "reconcile_seconds",
    "settle_ms",
    "scout_sweep",
    "metrics_listen",
    "metrics_token_file",
    "agents",
    "sandbox",
    "api",
];

impl<'a> Reader<'a> {
    pub(super) fn new(env: Env<'a>) -> Self {
        Self {
            env,
            file: None,
            settings: Vec::new(),
            secret_files: Vec::new(),
            faults: Vec::new(),
            warnings: Vec::new(),
            places: BTreeMap::new(),
            spoiled: BTreeSet::new(),
            blind: false,
        }
    }

    /// The named file must exist; `octoswarm.toml` in the working directory may.
    pub(super) fn read_file<W: DeserializeOwned + Default>(&mut self, overrides: &Overrides) -> W {
        let named = overrides.file.clone().or_else(|| (self.env)("OCTOSWARM_CONFIG").map(PathBuf::from));
        let optional = named.is_none();
        let path = named.unwrap_or_else(|| PathBuf::from("octoswarm.toml"));
        let shown = path.display().to_string();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && optional => return W::default(),
            Err(source) => {
                self.blind = true;
                self.faults.push(Error::Read { path: shown, source });
                return W::default();
            }
        };
        self.file = Some(path);
        let entries: BTreeMap<Spanned<String>, Spanned<toml::Value>> = match toml::from_str(&text) {
            Ok(entries) => entries,
            Err(error) => {
                self.blind = true;
                // Never the error as a whole: it shows the line, and a secret may stand in it.
                let at = error.span().map_or(shown.clone(), |at| format!("{shown}:{}", place(&text, at)));
                self.faults.push(invalid(&at, words::of_toml(error.message())));
                return W::default();
            }
        };
        let mut good = toml::Table::new();
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let (key_at, value_at) = (key.span(), value.span());
            let (key, value) = (key.into_inner(), value.into_inner());
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            match alone.try_into::<W>() {
                Ok(_) => {
                    self.places.insert(key.clone(), format!("{shown}:{}", place(&text, value_at)));
                    good.insert(key, value);
                }
                Err(error) => {
                    let (at, detail) = explain::<W>(&key, &error, key_at, value_at);
                    self.faults.push(invalid(&format!("{shown}:{}", place(&text, at)), detail));
                    self.spoiled.insert(key);
                }
            }
        }
        // Each entry was good alone, so they are together.
        good.try_into().unwrap_or_default()
    }

    pub(super) fn registration(&mut self, state: &Path) -> Option<Registration> {
        Registration::load(state).unwrap_or_else(|error| {
            self.blind = true;
            self.faults.push(error);
            None
        })
    }

    pub(super) fn is_spoiled(&self, name: &str) -> bool {
        self.blind || self.spoiled.contains(name)
    }

    pub(super) fn fault(&mut self, name: &str, error: Error) {
        self.spoiled.insert(name.to_owned());
        self.faults.push(error);
    }

    /// Says so, unless it is there but wrong, which was said.
    pub(super) fn missing<T>(&mut self, name: &str, error: Error) -> Option<T> {
        if !self.is_spoiled(name) {
            self.faults.push(error);
        }
        None
    }

    pub(super) fn show(&mut self, name: &'static str, value: String, source: Source) {
        self.settings.push(Setting { name, value, source });
    }

    /// Every setting in its order; those without a value say so.
    pub(super) fn rows(&mut self, names: &[&'static str]) -> Vec<Setting> {
        let mut shown = std::mem::take(&mut self.settings);
        let mut rows = Vec::new();
        for name in names {
            let of_that_name: Vec<Setting> = shown.extract_if(.., |setting| setting.name == *name).collect();
            if of_that_name.is_empty() {
                let value = match () {
                    () if self.spoiled.contains(*name) => "at fault",
                    () if self.blind => "not known",
                    () => "not set",
                };
                rows.push(Setting { name, value: value.to_owned(), source: Source::Unset });
            }
            rows.extend(of_that_name);
        }
        rows
    }

    pub(super) fn told<T: Display>(&mut self, name: &'static str, (value, source): (T, Source)) -> T {
        self.show(name, value.to_string(), source);
        value
    }

    /// Flag over variable over file.
    pub(super) fn pick<T>(
        &mut self,
        name: &'static str,
        flag: Option<(T, &'static str)>,
        variable: &'static str,
        file: Option<T>,
    ) -> Picked<T>
    where
        T: Plain,
    {
        if let Some((value, flag)) = flag {
            return Some((value, Source::Flag(flag)));
        }
        let Some(text) = (self.env)(variable) else { return file.map(|value| (value, Source::File)) };
        match text.parse() {
            Ok(value) => Some((value, Source::Variable(variable))),
            Err(_) => {
                self.fault(name, invalid(variable, format!("`{text}` is not {}", words::form(T::FORM))));
                None
            }
        }
    }

    /// Notes that a value cannot be used, with the place where it stands.
    pub(super) fn refuse(&mut self, name: &'static str, source: &Source, why: String) {
        let error = match source {
            Source::File => {
                let at = self.places.get(name).map_or(name, String::as_str);
                invalid(at, format!("`{name}`: {why}"))
            }
            source => invalid(&source.to_string(), why),
        };
        self.fault(name, error);
    }

    /// What is out of range is a fault, and never another number in silence.
    pub(super) fn number<T>(
        &mut self,
        name: &'static str,
        variable: &'static str,
        file: Option<T>,
        usual: T,
        range: RangeInclusive<T>,
    ) -> T
    where
        T: Plain + Display + PartialOrd,
    {
        let (value, source) = self.pick(name, None, variable, file).unwrap_or((usual, Source::Default));
        if self.spoiled.contains(name) {
            return value;
        }
        if !range.contains(&value) {
            self.refuse(name, &source, format!("{value} is not between {} and {}", range.start(), range.end()));
            return value;
        }
        self.told(name, (value, source))
    }

    /// Credentials travel to this address, so it is https, or http on this machine only.
    pub(super) fn base_url(
        &mut self,
        name: &'static str,
        variable: &'static str,
        file: Option<&str>,
        registered: Option<&str>,
        usual: &str,
    ) -> Option<String> {
        let (text, source) = match ((self.env)(variable), file, registered) {
            (Some(text), ..) => (text, Source::Variable(variable)),
            (None, Some(text), _) => (text.to_owned(), Source::File),
            (None, None, Some(text)) => (text.to_owned(), Source::Registered),
            (None, None, None) => (usual.to_owned(), Source::Default),
        };
        match usable_url(name, &text) {
            Ok(url) => Some(self.told(name, (url, source))),
            Err(error) => {
                self.fault(name, error);
                None
            }
        }
    }

    /// An address that set-up mode proposes; there need not be one.
    pub(super) fn suggestion(
        &mut self,
        name: &'static str,
        variable: &'static str,
        file: Option<&str>,
    ) -> Option<String> {
        let (text, source) = match ((self.env)(variable), file) {
            (Some(text), _) => (text, Source::Variable(variable)),
            (None, text) => (text?.to_owned(), Source::File),
        };
        match usable_url(name, &text) {
            Ok(url) => Some(self.told(name, (url, source))),
            Err(error) => {
                self.fault(name, error);
                None
            }
        }
    }
}

pub(super) fn invalid(path: &str, detail: String) -> Error {
    Error::Invalid { path: path.to_owned(), detail }
}

fn usable_url(what: &str, text: &str) -> Result<String, Error> {
    // The text is not shown: a password may stand in it.
    let url = reqwest::Url::parse(text)
        .map_err(|_| invalid(what, "it is not an address like https://github.example.com".to_owned()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(what, "the address holds credentials; remove them".to_owned()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(what, "the address has a query or a fragment; remove it".to_owned()));
    }
    let host = url.host_str().unwrap_or_default();
    if !(url.scheme() == "https" || url.scheme() == "http" && net::is_loopback(host)) {
        let who = match what {
            "public_url" => "the link to set-up and GitHub's deliveries",
            _ => "tokens",
        };
        let detail = format!("`{}://{host}` is not https; {who} could be read by anybody on the way", url.scheme());
        return Err(invalid(what, detail));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// What is wrong with one entry of the file, and where.
fn explain<W: DeserializeOwned>(
    key: &str,
    error: &toml::de::Error,
    key_at: Range<usize>,
    value_at: Range<usize>,
) -> (Range<usize>, String) {
    let known = known_keys::<W>();
    if known.contains(&key) {
        let message = &words::of_toml(error.message());
        // Serde quotes the value, and whoever mistakes a file's place for the secret's own has written that.
        let secret = ["key", "secret", "token"].iter().any(|word| key.contains(word));
        let message = match (message.find('"'), message.rfind('"')) {
            (Some(from), Some(to)) if secret => format!("{}…{}", &message[..from], &message[to + 1..]),
            _ => message.to_owned(),
        };
        return (value_at, format!("`{key}`: {message}"));
    }
    (key_at, format!("there is no setting `{key}`{}", did_you_mean(nearest(key, known.iter().copied()))))
}

/// `3:1`.
fn place(text: &str, at: Range<usize>) -> String {
    let before = &text[..at.start.min(text.len())];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    format!("{}:{}", before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
