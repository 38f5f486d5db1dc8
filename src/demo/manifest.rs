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

/// A manifest as a browser posts it: JSON, and every key known.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registering {
    #[serde(default)]
    pub name: Option<String>,
    pub url: String,
    pub hook_attributes: Hook,
    #[serde(default)]
    pub redirect_url: Option<String>,
    #[serde(default)]
    callback_urls: Vec<String>,
    #[serde(default)]
    setup_url: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    pub public: bool,
    #[serde(default)]
    pub default_events: Vec<String>,
    #[serde(default)]
    pub default_permissions: Permissions,
    #[serde(default)]
    request_oauth_on_install: bool,
    #[serde(default)]
    setup_on_update: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    pub url: String,
    #[serde(default = "active")]
    pub active: bool,
}

fn active() -> bool {
    true
}

/// The events that the box knows, and the permission that each takes.
const EVENTS: [(&str, &str); 11] = [
    ("check_run", "checks"),
    ("check_suite", "checks"),
    ("issue_comment", "issues"),
    ("issues", "issues"),
    ("label", "issues"),
    ("pull_request", "pull_requests"),
    ("pull_request_review", "pull_requests"),
    ("pull_request_review_comment", "pull_requests"),
    ("pull_request_review_thread", "pull_requests"),
    ("push", "contents"),
    ("repository", "metadata"),
];

const PERMISSIONS: [&str; 10] = [
    "actions",
    "administration",
    "checks",
    "contents",
    "issues",
    "members",
    "metadata",
    "pull_requests",
    "statuses",
    "workflows",
];

/// As GitHub words it.
pub const LONGEST_NAME: usize = 34;

impl Registering {
    /// # Errors
    /// What GitHub's page says beneath *Invalid GitHub App configuration*.
    pub fn parse(json: &str) -> Result<Self, Vec<String>> {
        let new: Self = serde_json::from_str(json).map_err(|e| vec![format!("The manifest does not parse: {e}")])?;
        let mut errors = Vec::new();
        let web = |text: &str| text.starts_with("https://") || text.starts_with("http://");
        if !web(&new.url) {
            errors.push("Url must be an address".to_owned());
        }
        let local = new.hook_attributes.url.starts_with("http://127.0.0.1");
        if !(new.hook_attributes.url.starts_with("https://") || local) {
            errors.push("Hook url is not supported because it isn't reachable over the public Internet".to_owned());
        }
        for (what, url) in [("Redirect url", &new.redirect_url), ("Setup url", &new.setup_url)] {
            if url.as_ref().is_some_and(|url| !web(url)) {
                errors.push(format!("{what} must be an address"));
            }
        }
        if new.redirect_url.is_none() {
            errors.push("Redirect url can't be blank".to_owned());
        }
        if new.callback_urls.len() > 10 {
            errors.push("Callback urls are too many (maximum is 10)".to_owned());
        }
        if new.description.as_ref().is_some_and(|text| text.chars().count() > 140 * 10) {
            errors.push("Description is too long".to_owned());
        }
        if (new.request_oauth_on_install || new.setup_on_update)
            && new.setup_url.is_none()
            && new.callback_urls.is_empty()
        {
            errors.push("There is no address to send people to".to_owned());
        }
        let odd: Vec<_> = new.default_permissions.keys().filter(|name| !PERMISSIONS.contains(&name.as_str())).collect();
        if !odd.is_empty() {
            errors.push(format!("Default permission records resource is not included in the list: {odd:?}"));
        }
        let known = |event: &String| EVENTS.iter().find(|(name, _)| name == event);
        let unsupported: Vec<&str> =
            new.default_events.iter().filter(|event| known(event).is_none()).map(String::as_str).collect();
        if !unsupported.is_empty() {
            errors.push(format!("Default events unsupported: {}", unsupported.join(" and ")));
        }
        let backed = |event: &&String| {
            known(event).is_some_and(|(_, needs)| *needs == "metadata" || new.default_permissions.contains_key(*needs))
        };
        let bare: Vec<&str> = new.default_events.iter().filter(|event| !backed(event)).map(String::as_str).collect();
        if !bare.is_empty() {
            errors.push(format!("Default events are not supported by permissions: {}", bare.join(" and ")));
        }
        if let Some(name) = &new.name
            && let Err(error) = fits(name)
        {
            errors.push(error);
        }
        if errors.is_empty() { Ok(new) } else { Err(errors) }
    }

    pub fn into_manifest(self) -> AppManifest {
        AppManifest {
            name: self.name.unwrap_or_default(),
            url: self.url,
            description: self.description,
            default_permissions: self.default_permissions,
            default_events: self.default_events,
        }
    }
}

/// # Errors
/// Why GitHub does not take the name.
pub fn fits(name: &str) -> Result<(), String> {
    if !name.chars().any(|c| c.is_ascii_alphanumeric()) {
        return Err("Name can't be blank".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return Err(format!("Name is too long (maximum is {LONGEST_NAME} characters)"));
    }
    Ok(())
}
