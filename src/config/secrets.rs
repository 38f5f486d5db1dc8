//! Secrets: from a variable, from a file of their own, or from the registration.

use std::path::{Path, PathBuf};

use super::reader::{Reader, SecretFile, Source};
use super::{Error, Registration, Warning};
use crate::domain::Secret;
use crate::stdx::pem;

/// Shorter secrets can be guessed by whoever holds one signed delivery.
const SHORT_SECRET: usize = 16;

impl Reader<'_> {
    pub(super) fn private_key(&mut self, file: Option<&Path>, registered: Option<&Registration>) -> Option<Secret> {
        const NAME: &str = "private_key_file";
        let faults = self.faults.len();
        let named = self.named_secret(NAME, "OCTOSWARM_PRIVATE_KEY", "OCTOSWARM_PRIVATE_KEY_FILE", file);
        if self.faults.len() > faults {
            return None;
        }
        let (key, from) = match (named, registered) {
            (Some(named), _) => (Some(named), self.key_place(file)),
            (None, Some(registered)) => {
                self.show(NAME, "set (from app.json in the state folder)".to_owned(), Source::Registered);
                (Some(registered.private_key.clone()), "app.json in the state folder".to_owned())
            }
            (None, None) => (None, String::new()),
        };
        if let Some(key) = key {
            return match pem::rsa_bits(key.expose()) {
                Ok(_) => Some(key),
                Err(why) => {
                    self.settings.retain(|setting| setting.name != NAME);
                    self.fault(NAME, Error::PrivateKey { from, why });
                    None
                }
            };
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

    /// What the key was read from.
    fn key_place(&self, file: Option<&Path>) -> String {
        const VALUE: &str = "OCTOSWARM_PRIVATE_KEY";
        match (self.env)(VALUE) {
            Some(_) => format!("the variable {VALUE}"),
            None => (self.env)("OCTOSWARM_PRIVATE_KEY_FILE")
                .unwrap_or_else(|| file.map_or_else(String::new, |file| file.display().to_string())),
        }
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
        if secrets.iter().any(|secret: &Secret| secret.expose().trim().chars().count() < SHORT_SECRET) {
            let text = format!(
                "a webhook secret is shorter than {SHORT_SECRET} characters: make a longer one, `openssl rand -hex 32`, and set it here \
                 and on the App's settings page"
            );
            self.warnings.push(Warning { setting: Some(NAME), text });
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

/// Files end in a line break that is not part of the secret.
fn non_empty(what: &str, value: &str) -> Result<Secret, Error> {
    let value = value.trim_end_matches(['\r', '\n']);
    if value.trim().is_empty() {
        return Err(Error::Empty { what: what.to_owned() });
    }
    Ok(Secret::new(value))
}
