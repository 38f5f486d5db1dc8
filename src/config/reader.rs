//! Reads settings one by one, notes where each came from, and goes on after a fault.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::{Error, Overrides, Registration};
use crate::domain::Secret;
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
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File => f.write_str("file"),
            Self::Registered => f.write_str("registered"),
            Self::Default => f.write_str("default"),
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

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;
type Picked<T> = Option<(T, Source)>;

pub(super) struct Reader<'a> {
    pub(super) env: Env<'a>,
    pub(super) file: Option<PathBuf>,
    pub(super) settings: Vec<Setting>,
    pub(super) secret_files: Vec<SecretFile>,
    pub(super) faults: Vec<Error>,
    /// Settings that are not missing, but wrong.
    spoiled: BTreeSet<String>,
    /// The file or the registration said nothing that we could read: what is missing may well stand there.
    blind: bool,
}

/// Every variable that means something to us.
const VARIABLES: [&str; 24] = [
    "OCTOSWARM_ACCOUNTS",
    "OCTOSWARM_API_URL",
    "OCTOSWARM_APP_ID",
    "OCTOSWARM_CONFIG",
    "OCTOSWARM_LISTEN",
    "OCTOSWARM_LOG",
    "OCTOSWARM_LOG_FORMAT",
    "OCTOSWARM_METRICS_LISTEN",
    "OCTOSWARM_METRICS_TOKEN",
    "OCTOSWARM_METRICS_TOKEN_FILE",
    "OCTOSWARM_POLL",
    "OCTOSWARM_PRIVATE_KEY",
    "OCTOSWARM_PRIVATE_KEY_FILE",
    "OCTOSWARM_PUBLIC_URL",
    "OCTOSWARM_RECONCILE_SECONDS",
    "OCTOSWARM_RETENTION_DAYS",
    "OCTOSWARM_SETTLE_MS",
    "OCTOSWARM_STATE",
    "OCTOSWARM_WEBHOOK_SECRET",
    "OCTOSWARM_WEBHOOK_SECRET_FILE",
    "OCTOSWARM_WEBHOOK_SECRET_PREVIOUS",
    "OCTOSWARM_WEB_URL",
    "OCTOSWARM_WORKERS",
    "OCTOSWARM_WRITE_PACE_MS",
];

/// Sentences about variables that begin as ours do and are not.
pub(super) fn unknown_variables(names: Vec<String>) -> Vec<String> {
    let ours = names.into_iter().filter(|name| name.starts_with("OCTOSWARM_"));
    let unknown = ours.filter(|name| !VARIABLES.contains(&name.as_str()));
    unknown
        .map(|name| {
            format!("the variable {name} has no effect{}", did_you_mean(nearest(&name, VARIABLES.iter().copied())))
        })
        .collect()
}

impl<'a> Reader<'a> {
    pub(super) fn new(env: Env<'a>) -> Self {
        Self {
            env,
            file: None,
            settings: Vec::new(),
            secret_files: Vec::new(),
            faults: Vec::new(),
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
        let entries: std::collections::BTreeMap<Spanned<String>, Spanned<toml::Value>> = match toml::from_str(&text) {
            Ok(entries) => entries,
            Err(error) => {
                self.blind = true;
                // Never the error as a whole: it shows the line, and a secret may stand in it.
                let at = error.span().map_or(shown.clone(), |at| format!("{shown}:{}", place(&text, at)));
                self.faults.push(invalid(&at, error.message().trim_end().to_owned()));
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
        T: FromStr,
        T::Err: Display,
    {
        if let Some((value, flag)) = flag {
            return Some((value, Source::Flag(flag)));
        }
        let Some(text) = (self.env)(variable) else { return file.map(|value| (value, Source::File)) };
        match text.parse() {
            Ok(value) => Some((value, Source::Variable(variable))),
            Err(error) => {
                self.fault(name, invalid(variable, format!("`{text}`: {error}")));
                None
            }
        }
    }

    pub(super) fn number<T>(&mut self, name: &'static str, variable: &'static str, file: Option<T>, usual: T) -> T
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        let picked = self.pick(name, None, variable, file);
        self.told(name, picked.unwrap_or((usual, Source::Default)))
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

    pub(super) fn private_key(&mut self, file: Option<&Path>, registered: Option<&Registration>) -> Option<Secret> {
        const NAME: &str = "private_key_file";
        let faults = self.faults.len();
        let named = self.named_secret(NAME, "OCTOSWARM_PRIVATE_KEY", "OCTOSWARM_PRIVATE_KEY_FILE", file);
        if named.is_some() || self.faults.len() > faults {
            return named;
        }
        if let Some(registered) = registered {
            self.show(NAME, "set (from app.json in the state folder)".to_owned(), Source::Registered);
            return Some(registered.private_key.clone());
        }
        self.missing(
            NAME,
            Error::Missing {
                what: "the App's private key",
                hint: "set `private_key_file` in octoswarm.toml, OCTOSWARM_PRIVATE_KEY_FILE or OCTOSWARM_PRIVATE_KEY; \
                       generate the key on the App's settings page",
            },
        )
    }

    pub(super) fn webhook_secrets(
        &mut self,
        files: &[PathBuf],
        registered: Option<&Registration>,
        poll: bool,
    ) -> Option<Vec<Secret>> {
        const NAME: &str = "webhook_secret_files";
        const FILE: &str = "OCTOSWARM_WEBHOOK_SECRET_FILE";
        let faults = self.faults.len();
        let mut secrets = Vec::new();
        for name in ["OCTOSWARM_WEBHOOK_SECRET", "OCTOSWARM_WEBHOOK_SECRET_PREVIOUS"] {
            if let Some(value) = (self.env)(name) {
                secrets.extend(self.secret_value(NAME, name, &value));
            }
        }
        let from_env = (self.env)(FILE).map(|path| (PathBuf::from(path), Source::Variable(FILE)));
        for (path, source) in from_env.into_iter().chain(files.iter().map(|path| (path.clone(), Source::File))) {
            secrets.extend(self.secret_file(NAME, path, source));
        }
        if self.faults.len() > faults {
            return None;
        }
        if secrets.is_empty()
            && let Some(registered) = registered
        {
            self.show(NAME, "set (from app.json in the state folder)".to_owned(), Source::Registered);
            secrets.push(registered.webhook_secret.clone());
        }
        // Nobody signs what is taken from the log.
        if secrets.is_empty() && poll {
            self.show(NAME, "none, and none needed: deliveries are polled".to_owned(), Source::Default);
        } else if secrets.is_empty() {
            return self.missing(
                NAME,
                Error::Missing {
                    what: "the webhook secret",
                    hint: "set `webhook_secret_files` in octoswarm.toml, OCTOSWARM_WEBHOOK_SECRET_FILE or OCTOSWARM_WEBHOOK_SECRET \
                           to the secret of the App's webhook; `--poll` takes deliveries from the App's log and needs none",
                },
            );
        }
        Some(secrets)
    }

    /// The value in one variable, else the content of the file that the other variable or the setting names; `None` when
    /// there is none, or a fault.
    pub(super) fn named_secret(
        &mut self,
        name: &'static str,
        value: &'static str,
        variable: &'static str,
        file: Option<&Path>,
    ) -> Option<Secret> {
        if let Some(text) = (self.env)(value) {
            return self.secret_value(name, value, &text);
        }
        let from_env = (self.env)(variable).map(|path| (PathBuf::from(path), Source::Variable(variable)));
        let (path, source) = from_env.or(file.map(|path| (path.to_owned(), Source::File)))?;
        self.secret_file(name, path, source)
    }

    fn secret_value(&mut self, name: &'static str, variable: &'static str, value: &str) -> Option<Secret> {
        let secret = non_empty(variable, value);
        self.secret(name, secret, "set".to_owned(), Source::Variable(variable))
    }

    fn secret_file(&mut self, name: &'static str, path: PathBuf, source: Source) -> Option<Secret> {
        let shown = path.display().to_string();
        let secret = match std::fs::read_to_string(&path) {
            Ok(text) => non_empty(&shown, &text),
            Err(source) => Err(Error::Read { path: shown.clone(), source }),
        };
        self.secret_files.push(SecretFile { setting: name, path });
        self.secret(name, secret, format!("set (from {shown})"), source)
    }

    fn secret(
        &mut self,
        name: &'static str,
        secret: Result<Secret, Error>,
        shown: String,
        source: Source,
    ) -> Option<Secret> {
        match secret {
            Ok(secret) => {
                self.show(name, shown, source);
                Some(secret)
            }
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

/// Files end in a line break that is not part of the secret.
fn non_empty(what: &str, value: &str) -> Result<Secret, Error> {
    let value = value.trim_end_matches(['\r', '\n']);
    if value.trim().is_empty() {
        return Err(Error::Empty { what: what.to_owned() });
    }
    Ok(Secret::new(value))
}

fn usable_url(what: &str, text: &str) -> Result<String, Error> {
    // The text is not shown: a password may stand in it.
    let url = reqwest::Url::parse(text).map_err(|e| invalid(what, format!("it is not an address: {e}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid(what, "the address holds credentials; remove them".to_owned()));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid(what, "the address has a query or a fragment; remove it".to_owned()));
    }
    let host = url.host_str().unwrap_or_default();
    if !(url.scheme() == "https" || url.scheme() == "http" && net::is_loopback(host)) {
        let detail = format!("`{}://{host}` is not https; tokens would travel in the clear", url.scheme());
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
        let message = error.message().trim_end();
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

/// The keys that a type takes, as serde knows them.
pub(super) fn known_keys<W: DeserializeOwned>() -> &'static [&'static str] {
    let mut found: &'static [&'static str] = &[];
    let _never_a_value = <W as serde::Deserialize>::deserialize(Fields(&mut found));
    found
}

/// Asks a type for its fields and gives it nothing.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> serde::Deserializer<'de> for Fields<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("only structs are asked for their fields"))
    }

    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(serde::de::Error::custom("the fields are all that is asked for"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
