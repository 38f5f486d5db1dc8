//! Apps that people make from a manifest, as they do it in a browser. The box has one App at a time: the last one made.

use std::collections::BTreeMap;

use serde_json::json;

use super::World;
use crate::demo::manifest::Registering;
use crate::demo::shape;
use crate::demo::webhook::Outgoing;
use crate::domain::clock::Millis;

/// GitHub keeps the code, and the manifest before it, for an hour.
const AN_HOUR: Millis = 3_600_000;

/// Who sits at the box's browser.
pub const SIGNED_IN: &str = "mona";

/// What came of the pages so far.
#[derive(Default)]
pub struct Registry {
    /// Manifests that were shown to a person who has not pressed the button yet.
    drafts: BTreeMap<String, Draft>,
    /// Codes that were given out, with the App they are for.
    codes: BTreeMap<String, (u64, Millis)>,
    /// Names of Apps that exist, in lower case.
    names: Vec<String>,
}

#[derive(Clone)]
pub struct Draft {
    pub manifest: Registering,
    /// The organisation, or the person.
    pub owner: String,
    pub state: Option<String>,
    at: Millis,
}

impl World {
    /// Keeps a manifest until the person has confirmed it.
    pub fn draft_app(&mut self, manifest: Registering, owner: &str, state: Option<String>) -> String {
        let key = uuid::Uuid::new_v4().simple().to_string();
        let draft = Draft { manifest, owner: owner.to_owned(), state, at: self.now() };
        self.registry.drafts.insert(key.clone(), draft);
        key
    }

    pub fn app_draft(&self, key: &str) -> Option<Draft> {
        self.registry.drafts.get(key).filter(|draft| self.now() - draft.at < AN_HOUR).cloned()
    }

    /// Whether another App, or an account, has the name already.
    pub fn app_name_taken(&self, name: &str) -> bool {
        let slug = slug(name);
        self.registry.names.contains(&name.to_lowercase())
            || self.registered && self.app_slug == slug
            || self.users.keys().any(|login| login.eq_ignore_ascii_case(&slug))
    }

    /// The App exists from here on; the answer is where the browser is sent.
    pub fn make_app(&mut self, key: &str, name: &str) -> Option<String> {
        let draft = self.app_draft(key)?;
        self.registry.drafts.remove(key);
        let mut manifest = draft.manifest;
        manifest.name = Some(name.to_owned());
        self.app_id = self.id();
        self.app_slug = slug(name);
        self.created_at = self.now();
        self.app_owner = draft.owner;
        self.app_public = manifest.public;
        self.registered = true;
        self.uninstalled = true;
        self.webhook_url = manifest.hook_attributes.active.then(|| manifest.hook_attributes.url.clone());
        self.webhook_secret = uuid::Uuid::new_v4().simple().to_string();
        let redirect = manifest.redirect_url.clone().unwrap_or_default();
        self.manifest = manifest.into_manifest();
        self.registry.names.push(name.to_lowercase());
        let bot = self.bot();
        self.add_user(&bot, "Bot");
        let code = uuid::Uuid::new_v4().simple().to_string();
        let (id, now) = (self.app_id, self.now());
        self.registry.codes.insert(code.clone(), (id, now));
        self.ping();
        let state = draft.state.map(|state| format!("&state={state}")).unwrap_or_default();
        let join = if redirect.contains('?') { '&' } else { '?' };
        Some(format!("{redirect}{join}code={code}{state}"))
    }

    /// The first delivery of every App whose webhook is active.
    fn ping(&mut self) {
        if self.webhook_url.is_none() {
            return;
        }
        let payload = json!({
            "zen": "Anything added dilutes everything else.",
            "hook_id": self.app_id,
            "hook": {
                "type": "App",
                "id": self.app_id,
                "name": "web",
                "active": true,
                "events": self.manifest.default_events,
                "config": {"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": self.webhook_url},
                "updated_at": shape::time(self.created_at),
                "created_at": shape::time(self.created_at),
                "app_id": self.app_id,
                "deliveries_url": format!("{}/app/hook/deliveries", self.api()),
            },
        });
        self.post(Outgoing {
            guid: uuid::Uuid::new_v4().to_string(),
            event: "ping".to_owned(),
            action: None,
            redelivery: false,
            installation_id: None,
            repository_id: None,
            body: payload.to_string(),
        });
    }

    /// Whether the code is good; it is not afterwards.
    pub fn spend_code(&mut self, code: &str) -> bool {
        let now = self.now();
        self.registry
            .codes
            .remove(code)
            .is_some_and(|(app, at)| app == self.app_id && self.registered && now - at < AN_HOUR)
    }

    /// Where the App may be installed: anywhere if it is public, else with its owner only.
    pub fn may_install_on(&self) -> Vec<String> {
        let people = self.users.values().filter(|user| user.kind == "Organization" || user.login == SIGNED_IN);
        let fits = |login: &String| self.app_public || login.eq_ignore_ascii_case(&self.app_owner);
        people.map(|user| user.login.clone()).filter(fits).collect()
    }

    /// The App is installed on all repositories of that account.
    pub fn install_on(&mut self, account: &str) {
        account.clone_into(&mut self.account);
        self.installation_id = self.id();
        self.uninstalled = false;
        let seen: Vec<_> = self.repos.values().filter(|r| self.covers(r.id)).collect();
        let short: Vec<_> = seen.into_iter().map(shape::short_repository).collect();
        self.emit_installation("installation", "created", SIGNED_IN, json!({"repositories": short}));
    }
}

/// How GitHub makes an address of a name.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.trim_end_matches('-').to_owned()
}
