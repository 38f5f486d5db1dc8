//! What a person asks of set-up, checked, and the manifest made of it.

use reqwest::Url;
use serde_json::{Value, json};

use crate::config::is_login;
use crate::github::manifest;
use crate::stdx::net::{is_host, is_loopback, is_public};

/// The longest name that GitHub takes.
pub const NAME_LIMIT: usize = 34;
/// Nobody has it (RFC 2606): deliveries to an App that is polled go nowhere, and GitHub still keeps them in its log.
const NOWHERE: &str = "https://octoswarm.example.com/webhook";

/// The form as it was filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Address of the Enterprise Server; empty: github.com.
    pub server: String,
    /// Login of the organisation that shall own the App; empty: the person.
    pub organisation: String,
    pub name: String,
    /// Where GitHub reaches this server; `None`: nowhere.
    pub webhook: Option<String>,
    pub public: bool,
    /// Logins, separated by commas or blanks.
    pub accounts: String,
}

/// One field that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    pub field: Field,
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Server,
    Organisation,
    Name,
    Webhook,
    Accounts,
}

/// A wish that can be brought to GitHub.
#[derive(Debug, Clone)]
pub struct Plan {
    pub web_url: String,
    pub api_url: String,
    pub organisation: Option<String>,
    pub name: String,
    /// Where deliveries go; with `poll` nobody is there.
    pub hook_url: String,
    pub poll: bool,
    pub public: bool,
    pub accounts: Vec<String>,
}

impl Wish {
    /// # Errors
    /// Everything that is wrong, field by field.
    pub fn check(&self) -> Result<Plan, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let mut note = |field, why: String| wrong.push(Wrong { field, why });
        let server = match server(&self.server) {
            Ok(server) => Some(server),
            Err(why) => {
                note(Field::Server, why);
                None
            }
        };
        let organisation = self.organisation.trim();
        if !organisation.is_empty() && !is_login(organisation) {
            note(
                Field::Organisation,
                "that is not the login of an organisation: letters, digits and hyphens".to_owned(),
            );
        }
        let name = self.name.trim();
        if let Err(why) = name_fits(name) {
            note(Field::Name, why);
        }
        let hook_url = match &self.webhook {
            None => NOWHERE.to_owned(),
            Some(address) => {
                let local = server.as_ref().is_some_and(Server::is_local);
                let open = server.as_ref().is_some_and(|server| server.web_url == GITHUB);
                hook(address, local, open).unwrap_or_else(|why| {
                    note(Field::Webhook, why);
                    String::new()
                })
            }
        };
        let accounts: Vec<String> =
            self.accounts.split([',', ' ', '\n', '\r', '\t']).filter(|s| !s.is_empty()).map(str::to_owned).collect();
        if let Some(odd) = accounts.iter().find(|account| !is_login(account)) {
            note(Field::Accounts, format!("`{odd}` is not the login of an organisation or a user"));
        }
        match server {
            Some(server) if wrong.is_empty() => Ok(Plan {
                web_url: server.web_url,
                api_url: server.api_url,
                organisation: (!organisation.is_empty()).then(|| organisation.to_owned()),
                name: name.to_owned(),
                hook_url,
                poll: self.webhook.is_none(),
                public: self.public,
                accounts: if self.public { accounts } else { Vec::new() },
            }),
            _ => Err(wrong),
        }
    }
}

impl Plan {
    /// Where the browser posts the manifest.
    pub fn action(&self, state: &str) -> String {
        match &self.organisation {
            None => format!("{}/settings/apps/new?state={state}", self.web_url),
            Some(login) => format!("{}/organizations/{login}/settings/apps/new?state={state}", self.web_url),
        }
    }

    /// The host and port that people see.
    pub fn host(&self) -> &str {
        self.web_url.split_once("://").map_or(self.web_url.as_str(), |(_, host)| host)
    }

    /// JSON, as GitHub takes it. `redirect` is where GitHub sends the browser back to. There is no `setup_url`: it would
    /// stay in the App's settings and send later installers to an address that answers nobody then.
    ///
    /// # Errors
    /// The manifest that this binary holds is damaged; a test keeps that from happening.
    pub fn manifest(&self, redirect: &str) -> Result<Value, super::Error> {
        let own = manifest::parse(manifest::EMBEDDED).map_err(|e| super::Error::Manifest(e.to_string()))?;
        let home = match (self.poll, &self.organisation) {
            (false, _) => origin(&self.hook_url).unwrap_or_else(|| self.web_url.clone()),
            (true, Some(login)) => format!("{}/{login}", self.web_url),
            (true, None) => self.web_url.clone(),
        };
        Ok(json!({
            "name": self.name,
            "url": home,
            "description": own.description,
            "public": self.public,
            "hook_attributes": { "url": self.hook_url, "active": true },
            "redirect_url": redirect,
            "default_permissions": own.default_permissions,
            "default_events": own.default_events,
        }))
    }
}

const GITHUB: &str = "https://github.com";

struct Server {
    web_url: String,
    api_url: String,
}

impl Server {
    /// On this machine: how the tests reach their GitHub.
    fn is_local(&self) -> bool {
        self.web_url.starts_with("http://")
    }
}

/// Where pages and API are. GitHub's three kinds keep them in three ways.
fn server(given: &str) -> Result<Server, String> {
    let given = given.trim();
    if given.is_empty() {
        return Ok(Server { web_url: GITHUB.to_owned(), api_url: "https://api.github.com".to_owned() });
    }
    let url =
        Url::parse(given).map_err(|_| "that is not an address: write it like https://github.example.com".to_owned())?;
    let host = url.host_str().unwrap_or_default().to_owned();
    if !is_host(&host) {
        return Err("the server's name must be of letters, digits, dots and hyphens".to_owned());
    }
    if !(url.scheme() == "https" || url.scheme() == "http" && is_loopback(&host)) {
        return Err("the address must begin with https://, else the App's keys would travel in the clear".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err("the address must hold nothing but the server's name".to_owned());
    }
    if !matches!(url.path().trim_end_matches('/'), "" | "/api/v3") {
        return Err("the address must be the server's own, without a path".to_owned());
    }
    let web_url = url.origin().ascii_serialization();
    let api_url = match host.as_str() {
        "github.com" | "www.github.com" | "api.github.com" => return server(""),
        // Enterprise Cloud with data residency has its API beside the pages, not beneath them.
        host if host.ends_with(".ghe.com") && !host.starts_with("api.") => format!("https://api.{host}"),
        _ => format!("{web_url}/api/v3"),
    };
    Ok(Server { web_url, api_url })
}

/// `local`: GitHub itself is on this machine. `open`: it is github.com, which reaches public addresses only.
fn hook(given: &str, local: bool, open: bool) -> Result<String, String> {
    let given = given.trim();
    if given.is_empty() {
        return Err("write the address at which GitHub reaches this server, or choose that it has none".to_owned());
    }
    let mut url = Url::parse(given)
        .map_err(|_| "that is not an address: write it like https://octoswarm.example.com".to_owned())?;
    let host = url.host_str().unwrap_or_default().to_owned();
    if !(url.scheme() == "https" || url.scheme() == "http" && local && is_loopback(&host)) {
        return Err("the address must begin with https://: deliveries hold text of private repositories".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err("the address must have neither a user nor a query".to_owned());
    }
    if open && !is_public(&host) {
        return Err(format!(
            "github.com cannot reach `{host}`: it takes a public name. If this server has none, choose that it has no public address"
        ));
    }
    if url.path().trim_matches('/').is_empty() {
        url.set_path("/webhook");
    }
    Ok(url.to_string())
}

fn origin(url: &str) -> Option<String> {
    Url::parse(url).ok().map(|url| url.origin().ascii_serialization())
}

fn name_fits(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if length == 0 {
        return Err("the App needs a name".to_owned());
    }
    if length > NAME_LIMIT {
        return Err(format!("GitHub takes at most {NAME_LIMIT} characters; this name has {length}"));
    }
    if !name.chars().any(|c| c.is_ascii_alphanumeric()) || name.chars().any(char::is_control) {
        return Err("the name needs a letter or a digit, for its address on GitHub".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish() -> Wish {
        Wish {
            name: "octoswarm-acme".to_owned(),
            webhook: Some("https://swarm.acme.example".to_owned()),
            ..Wish::default()
        }
    }

    #[track_caller]
    fn refused(wish: Wish, field: Field) {
        let wrong = wish.check().expect_err("it should be refused");
        assert_eq!(wrong.iter().map(|wrong| wrong.field).collect::<Vec<_>>(), [field], "{wrong:?}");
    }

    #[test]
    fn each_kind_of_github_keeps_its_api_elsewhere() {
        for (given, web, api) in [
            ("", "https://github.com", "https://api.github.com"),
            ("https://github.com/", "https://github.com", "https://api.github.com"),
            ("https://acme.ghe.com", "https://acme.ghe.com", "https://api.acme.ghe.com"),
            ("https://GHE.example:8443/", "https://ghe.example:8443", "https://ghe.example:8443/api/v3"),
            ("https://ghe.example/api/v3", "https://ghe.example", "https://ghe.example/api/v3"),
            ("http://127.0.0.1:99", "http://127.0.0.1:99", "http://127.0.0.1:99/api/v3"),
        ] {
            let plan = Wish { server: given.to_owned(), ..wish() }.check().unwrap();
            assert_eq!((plan.web_url.as_str(), plan.api_url.as_str()), (web, api), "{given}");
        }
    }

    #[test]
    fn a_server_that_is_not_https_or_more_than_a_server_is_refused() {
        for given in [
            "http://ghe.example",
            "ghe.example",
            "https://me:pw@ghe.example",
            "https://ghe.example/acme",
            "https://ghe.example/?x",
            "javascript:alert(1)",
            "http://127.0.0.1.evil.example",
            "https://ghe.example;script-src",
            "https://ghe'x.example",
        ] {
            refused(Wish { server: given.to_owned(), ..wish() }, Field::Server);
        }
    }

    #[test]
    fn a_webhook_is_https_and_of_a_host_that_github_can_reach() {
        let hook = |address: &str| Wish { webhook: Some(address.to_owned()), ..wish() };
        for address in [
            "",
            "http://swarm.acme.example",
            "https://localhost",
            "https://10.0.0.7",
            "https://swarm",
            "https://a.example/?k=v",
        ] {
            refused(hook(address), Field::Webhook);
        }
        assert_eq!(hook("https://swarm.acme.example").check().unwrap().hook_url, "https://swarm.acme.example/webhook");
        assert_eq!(
            hook("https://acme.example/swarm/webhook").check().unwrap().hook_url,
            "https://acme.example/swarm/webhook"
        );
        let inside = Wish { server: "https://ghe.example".to_owned(), ..hook("https://10.0.0.7") };
        assert_eq!(inside.check().unwrap().hook_url, "https://10.0.0.7/webhook", "an Enterprise Server may reach it");
    }

    #[test]
    fn names_and_logins_are_what_github_takes() {
        refused(Wish { name: " ".to_owned(), ..wish() }, Field::Name);
        refused(Wish { name: "x".repeat(35), ..wish() }, Field::Name);
        refused(Wish { name: "…".to_owned(), ..wish() }, Field::Name);
        refused(Wish { organisation: "acme/../x".to_owned(), ..wish() }, Field::Organisation);
        refused(Wish { accounts: "acme, b@d".to_owned(), public: true, ..wish() }, Field::Accounts);
        let plan = Wish { accounts: "acme, mona\nhubot".to_owned(), public: true, ..wish() }.check().unwrap();
        assert_eq!(plan.accounts, ["acme", "mona", "hubot"]);
    }

    #[test]
    fn the_manifest_asks_for_what_the_code_uses_and_names_no_event_that_github_refuses() {
        let plan = Wish { webhook: None, organisation: "acme".to_owned(), ..wish() }.check().unwrap();
        assert_eq!(plan.action("s1"), "https://github.com/organizations/acme/settings/apps/new?state=s1");
        let manifest = plan.manifest("http://127.0.0.1:3000/setup/created").unwrap();
        assert_eq!(manifest["hook_attributes"]["url"], NOWHERE);
        assert_eq!(manifest["redirect_url"], "http://127.0.0.1:3000/setup/created");
        let events: Vec<&str> =
            manifest["default_events"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(events.iter().all(|event| !event.starts_with("installation")), "{events:?}");
        for (event, permission) in [
            ("check_run", "checks"),
            ("check_suite", "checks"),
            ("issue_comment", "issues"),
            ("issues", "issues"),
            ("pull_request", "pull_requests"),
            ("pull_request_review", "pull_requests"),
            ("pull_request_review_comment", "pull_requests"),
            ("pull_request_review_thread", "pull_requests"),
        ] {
            assert!(events.contains(&event) && manifest["default_permissions"][permission] == "write", "{event}");
        }
        assert_eq!(events.len(), 8, "an event that is new here needs its permission above");
    }
}
