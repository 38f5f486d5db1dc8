//! The App as it was registered from the browser: `app.json` in the state folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;
use crate::domain::Secret;
use crate::stdx::file;

/// What GitHub handed over once, when the App was made from its manifest. The file holds the private key and the webhook
/// secret, so it is readable by its owner only.
#[derive(Debug, Clone)]
pub struct Registration {
    pub app_id: u64,
    pub slug: String,
    /// The App's page, from where it is installed.
    pub html_url: String,
    pub api_url: String,
    pub web_url: String,
    pub private_key: Secret,
    pub webhook_secret: Secret,
    /// The App was made for a server that no webhook can reach.
    pub poll: bool,
    /// Whom a public App serves, as chosen when it was made; empty: everybody.
    pub accounts: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct RegistrationWire {
    app_id: u64,
    slug: String,
    html_url: String,
    api_url: String,
    web_url: String,
    private_key: String,
    webhook_secret: String,
    poll: bool,
    #[serde(default)]
    accounts: Vec<String>,
}

impl Registration {
    pub fn path(state: &Path) -> PathBuf {
        state.join("app.json")
    }

    /// `None` when no App was registered from here.
    ///
    /// # Errors
    /// The file cannot be read, or is not what [`save`](Self::save) wrote.
    pub fn load(state: &Path) -> Result<Option<Self>, Error> {
        let path = Self::path(state);
        let shown = || path.display().to_string();
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(source) => return Err(Error::Read { path: shown(), source }),
        };
        let wire: RegistrationWire =
            serde_json::from_slice(&text).map_err(|e| Error::Invalid { path: shown(), detail: e.to_string() })?;
        let registration = Self {
            app_id: wire.app_id,
            slug: wire.slug,
            html_url: wire.html_url,
            api_url: wire.api_url,
            web_url: wire.web_url,
            private_key: Secret::new(wire.private_key),
            webhook_secret: Secret::new(wire.webhook_secret),
            poll: wire.poll,
            accounts: wire.accounts,
        };
        if registration.private_key.is_empty() || registration.webhook_secret.is_empty() {
            return Err(Error::Empty { what: format!("a secret in {}", shown()) });
        }
        Ok(Some(registration))
    }

    /// Replaces the file as a whole.
    ///
    /// # Errors
    /// The I/O error; what was there before is there still.
    pub fn save(&self, state: &Path) -> std::io::Result<()> {
        let wire = RegistrationWire {
            app_id: self.app_id,
            slug: self.slug.clone(),
            html_url: self.html_url.clone(),
            api_url: self.api_url.clone(),
            web_url: self.web_url.clone(),
            private_key: self.private_key.expose().to_owned(),
            webhook_secret: self.webhook_secret.expose().to_owned(),
            poll: self.poll,
            accounts: self.accounts.clone(),
        };
        file::write_private(&Self::path(state), &serde_json::to_vec_pretty(&wire)?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn registration(secret: &str) -> Registration {
        Registration {
            app_id: 7,
            slug: "octoswarm-acme".into(),
            html_url: "https://github.com/apps/octoswarm-acme".into(),
            api_url: "https://api.github.com".into(),
            web_url: "https://github.com".into(),
            private_key: Secret::new("pem"),
            webhook_secret: Secret::new(secret),
            poll: false,
            accounts: vec!["acme".into()],
        }
    }

    #[test]
    fn what_was_saved_is_the_owners_alone_and_loads_again() {
        let state = tempfile::tempdir().unwrap();
        assert!(Registration::load(state.path()).unwrap().is_none());
        registration("s3cret").save(state.path()).unwrap();
        let mode = std::fs::metadata(Registration::path(state.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let loaded = Registration::load(state.path()).unwrap().unwrap();
        assert_eq!((loaded.app_id, loaded.webhook_secret.expose()), (7, "s3cret"));
        assert_eq!(loaded.accounts, ["acme"]);
        assert!(!format!("{loaded:?}").contains("s3cret"));
    }

    #[test]
    fn a_damaged_or_empty_registration_is_no_registration() {
        let state = tempfile::tempdir().unwrap();
        registration(" ").save(state.path()).unwrap();
        assert!(matches!(Registration::load(state.path()), Err(Error::Empty { .. })));
        crate::stdx::file::write_private(&Registration::path(state.path()), b"{").unwrap();
        assert!(matches!(Registration::load(state.path()), Err(Error::Invalid { .. })));
    }
}
