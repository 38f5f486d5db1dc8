//! The App's own account of itself: what it may do and which events it wants.

use serde::Deserialize;

use super::state::Permissions;

/// The part of `app-manifest.yml` that the box enforces.
#[derive(Debug, Clone, Deserialize)]
pub struct AppManifest {
    pub name: String,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub description: Option<String>,
    pub default_permissions: Permissions,
    #[serde(default)]
    pub default_events: Vec<String>,
}

impl AppManifest {
    /// # Errors
    /// The text is not YAML, or lacks the name or the permissions.
    pub fn parse(yaml: &str) -> Result<Self, super::Error> {
        serde_saphyr::from_str(yaml).map_err(|e| super::Error::Manifest(e.to_string()))
    }
}
