//! The labels that a repository offers.

use serde_json::json;

use super::error::Error;
use super::{Repo, endpoint};

impl Repo {
    /// Whether the repository offers the label, in whatever case.
    ///
    /// # Errors
    /// As [`Error`] says; `Forbidden` without `issues: read`.
    pub async fn has_label(&self, name: &str) -> Result<bool, Error> {
        Ok(self.find(&self.call(&endpoint::GET_LABEL, &[name])).await?.is_some())
    }

    /// `color` is six hexadecimal digits, `description` at most 100 characters.
    ///
    /// # Errors
    /// `Validation` also when the label exists; else as [`Error`] says.
    pub async fn create_label(&self, name: &str, color: &str, description: &str) -> Result<(), Error> {
        let body = json!({"name": name, "color": color, "description": description});
        self.send(&self.call(&endpoint::CREATE_LABEL, &[]).body(body)).await.map(drop)
    }
}
