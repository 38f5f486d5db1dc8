//! The App as it is registered, reached and installed.

use std::collections::{BTreeMap, BTreeSet};

use tokio_util::sync::CancellationToken;

use super::github::Found;
use super::local::span;
use super::{Exam, PATIENCE, advice, answer};
use crate::config::ServerConfig;
use crate::domain::Clock;
use crate::github::{DeliveryInfo, Error, InstallationInfo, RepoInfo, Undelivered, manifest};
use crate::stdx::error::chain;
use crate::workspace::{self, Limits, Remote};

/// Each asks GitHub once or twice; more would take minutes.
const MOST_INSTALLATIONS: usize = 20;

pub(super) fn skip(exam: &mut Exam<'_>, why: &str) {
    exam.group = "app";
    ["permissions", "events", "webhook", "deliveries", "installations"].iter().for_each(|name| exam.skip(name, why));
    exam.group = "git";
    exam.skip("transport", why);
}

pub(super) async fn look(exam: &mut Exam<'_>, config: &ServerConfig, found: &Found) {
    exam.group = "app";
    permissions(exam, &found.app.permissions, &found.app.html_url);
    events(exam, &found.app.events);
    webhook(exam, config, found).await;
    deliveries(exam, config, found).await;
    let sample = installations(exam, config, found).await;
    exam.group = "git";
    transport(exam, found, sample).await;
}

fn rank(level: &str) -> u8 {
    match level {
        "read" => 1,
        "write" => 2,
        "admin" => 3,
        _ => 0,
    }
}

/// What is needed and not there, as `checks: write`.
fn lacking(granted: &BTreeMap<String, String>) -> Vec<String> {
    let held = |name: &str| granted.get(name).map_or(0, |level| rank(level));
    let needed = manifest::needed_permissions().into_iter();
    needed.filter(|(name, level)| held(name) < rank(level)).map(|(name, level)| format!("{name}: {level}")).collect()
}

fn permissions(exam: &mut Exam<'_>, registered: &BTreeMap<String, String>, page: &str) {
    const NAME: &str = "permissions";
    let needed = manifest::needed_permissions();
    let lacking = lacking(registered);
    if !lacking.is_empty() {
        let seen = format!("the App does not ask for {}", lacking.join(", "));
        let todo = format!(
            "add them on the App's settings page (from {page}) > Permissions & events; its owners then accept them"
        );
        return exam.fail(NAME, seen, todo);
    }
    let spare: Vec<String> = registered
        .iter()
        .filter(|(name, level)| rank(level) > needed.get(name.as_str()).map_or(0, |needed| rank(needed)))
        .map(|(name, level)| format!("{name}: {level}"))
        .collect();
    let seen = needed.iter().map(|(name, level)| format!("{name}: {level}")).collect::<Vec<_>>().join(", ");
    if spare.is_empty() {
        exam.pass(NAME, seen);
    } else {
        exam.note(
            NAME,
            format!("{seen}; more than needed: {}", spare.join(", ")),
            "what is not needed can be taken back",
        );
    }
}

fn events(exam: &mut Exam<'_>, subscribed: &[String]) {
    const NAME: &str = "events";
    let subscribed: BTreeSet<&str> = subscribed.iter().map(String::as_str).collect();
    let used: BTreeSet<&str> = manifest::EVENTS.iter().copied().collect();
    let list = |events: Vec<&str>| events.join(", ");
    let missing: Vec<&str> = used.difference(&subscribed).copied().collect();
    if !missing.is_empty() {
        let seen = format!("not subscribed to {}", list(missing));
        return exam.fail(
            NAME,
            seen,
            "tick them on the App's settings page > Permissions & events > Subscribe to events",
        );
    }
    let spare: Vec<&str> = subscribed.difference(&used).copied().collect();
    let seen = list(used.into_iter().collect());
    if spare.is_empty() {
        exam.pass(NAME, seen);
    } else {
        let todo = "they are stored, ignored and removed: untick them to save the traffic";
        exam.note(NAME, format!("{seen}; never used: {}", list(spare)), todo);
    }
}

async fn webhook(exam: &mut Exam<'_>, config: &ServerConfig, found: &Found) {
    const NAME: &str = "webhook";
    const PAGE: &str = "on the App's settings page > General > Webhook";
    let poll = config.tuning.poll;
    let hook = match answer(found.github.hook_config()).await {
        Ok(hook) => hook,
        Err(Error::NotFound { .. }) => {
            let todo = format!(
                "tick Active and enter an address {PAGE}; even with `poll` GitHub logs only what it tries to send"
            );
            return exam.fail(NAME, "the App has none", todo);
        }
        Err(error) => return exam.warn(NAME, chain(&error), advice(&error)),
    };
    let (address, mut wrong) = (shown(&hook.url), Vec::new());
    if hook.url.is_empty() {
        wrong.push(("no address is set", format!("enter https://HOST/webhook {PAGE}")));
    }
    if hook.content_type != "json" {
        wrong.push(("the content type is not JSON", format!("choose application/json {PAGE}")));
    }
    if hook.insecure {
        wrong.push(("certificates are not checked", format!("enable SSL verification {PAGE}")));
    }
    if !hook.has_secret {
        wrong.push(("deliveries are not signed", format!("enter the webhook secret {PAGE}")));
    }
    let way = if poll { "; not used: deliveries are polled" } else { "" };
    if poll {
        // Nothing of it matters, as long as GitHub keeps a log.
        return exam.pass(NAME, format!("{}{way}", if hook.url.is_empty() { "no address" } else { &address }));
    }
    if !wrong.is_empty() {
        let (seen, todo): (Vec<&str>, Vec<String>) = wrong.into_iter().unzip();
        return exam.fail(NAME, format!("{address}: {}", seen.join(", ")), todo.join("; "));
    }
    let seen = format!("{address}, JSON, signed, certificates checked");
    match doubt(&address, config) {
        Some((why, todo)) => exam.warn(NAME, format!("{address}: {why}"), todo),
        None => exam.pass(NAME, seen),
    }
}

/// Without what may be a secret in it: a password, or a key in the query.
fn shown(address: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(address) else {
        return if address.is_empty() { String::new() } else { "what is no address".to_owned() };
    };
    url.set_query(None);
    url.set_fragment(None);
    if url.set_username("").and_then(|()| url.set_password(None)).is_err() {
        return "what is no address of a server".to_owned();
    }
    url.to_string()
}

/// What makes it unlikely that deliveries sent to this address arrive.
fn doubt(url: &str, config: &ServerConfig) -> Option<(&'static str, &'static str)> {
    let url = url.to_lowercase();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", &url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let near = matches!(name, "localhost" | "127.0.0.1" | "[::1]" | "0.0.0.0");
    if name == "example.com" || name.ends_with(".example.com") {
        return Some(("the address is an example", "enter the address at which GitHub reaches this server"));
    }
    if path.trim_end_matches('/') != "webhook" && !path.ends_with("/webhook") {
        return Some(("octoswarm takes deliveries at /webhook", "correct the path, unless a proxy on the way does"));
    }
    // A GitHub on this very machine is one in a box.
    let boxed = config.api_url.starts_with("http://");
    if near && !boxed {
        return Some(("GitHub cannot reach an address of this machine", "enter a public address, or use --poll"));
    }
    if scheme != "https" && !boxed {
        return Some((
            "texts of private repositories travel in the clear",
            "put a proxy with TLS before the server and use https",
        ));
    }
    None
}

async fn deliveries(exam: &mut Exam<'_>, config: &ServerConfig, found: &Found) {
    const NAME: &str = "deliveries";
    let page = match answer(found.github.deliveries(None)).await {
        Ok(page) => page.deliveries,
        Err(error) => return exam.warn(NAME, chain(&error), advice(&error)),
    };
    let Some(newest) = page.first() else { return exam.pass(NAME, "GitHub has sent none of late") };
    if config.tuning.poll {
        return exam.pass(NAME, format!("{} in the log, taken from there", page.len()));
    }
    let now = Clock::system().now();
    let ago = |delivery: &DeliveryInfo| {
        span(std::time::Duration::from_millis(u64::try_from(now - delivery.delivered_at).unwrap_or_default()))
    };
    let arrived: BTreeSet<&str> = page.iter().filter(|d| d.ok).map(|d| d.guid.as_str()).collect();
    let lost: BTreeSet<&str> = page.iter().map(|d| d.guid.as_str()).filter(|guid| !arrived.contains(guid)).collect();
    let of = format!("{} of the last {} did not arrive", lost.len(), arrived.len() + lost.len());
    let failed = |delivery: &DeliveryInfo| delivery.undelivered().map(|told| (delivery.said(), told));
    if let Some((said, Undelivered { why, todo })) = failed(newest) {
        let seen = format!("the newest, {} ago, failed: {said}, {why}; {of}", ago(newest));
        return exam.fail(NAME, seen, todo);
    }
    let last = page.iter().find(|delivery| lost.contains(delivery.guid.as_str()));
    if let Some((last, (said, Undelivered { why, .. }))) = last.and_then(|last| Some((last, failed(last)?))) {
        let seen = format!("the newest, {} ago, arrived; {of}, last {} ago: {said}, {why}", ago(newest), ago(last));
        return exam.warn(NAME, seen, "a running server asks GitHub for them again; if they stay, see its log");
    }
    exam.pass(NAME, format!("the last {} arrived, the newest {} ago", arrived.len(), ago(newest)));
}

/// Looks at each, and gives a repository of one that is served.
async fn installations(
    exam: &mut Exam<'_>,
    config: &ServerConfig,
    found: &Found,
) -> Result<(InstallationInfo, RepoInfo), &'static str> {
    const NAME: &str = "installations";
    if found.installations.is_empty() {
        let todo = format!("install it: {}/installations/new", found.app.html_url);
        exam.fail(NAME, "the App is installed nowhere", todo);
        return Err("nothing is installed");
    }
    let mut sample = Err("no installation can be asked for a repository");
    for installation in found.installations.iter().take(MOST_INSTALLATIONS) {
        if let Some(repository) = one(exam, config, found, installation).await
            && sample.is_err()
        {
            sample = Ok((installation.clone(), repository));
        }
    }
    let rest = found.installations.len().saturating_sub(MOST_INSTALLATIONS);
    if rest > 0 {
        exam.skip(NAME, &format!("{rest} more"));
    }
    let unused = config.accounts.iter().filter(|account| {
        !found.installations.iter().any(|installation| installation.account.eq_ignore_ascii_case(account))
    });
    for account in unused {
        let todo = format!("install it there: {}/installations/new, or take it off `accounts`", found.app.html_url);
        exam.warn(NAME, format!("{account} is among `accounts`, but the App is not installed there"), todo);
    }
    sample
}

async fn one(
    exam: &mut Exam<'_>,
    config: &ServerConfig,
    found: &Found,
    installation: &InstallationInfo,
) -> Option<RepoInfo> {
    let InstallationInfo { id, account, suspended, permissions, html_url } = installation;
    let name = format!("installation {account}");
    if !config.serves(account) {
        let todo = format!("add it to `accounts` to serve it, or have its owner uninstall the App: {html_url}");
        exam.note(&name, "not among `accounts`: not served", todo);
        return None;
    }
    if *suspended {
        exam.fail(
            &name,
            "suspended: nothing can be asked of it",
            format!("whoever suspended it lifts that: {html_url}"),
        );
        return None;
    }
    let lacking = lacking(permissions);
    if !lacking.is_empty() {
        let seen = format!("its owner has not granted {}", lacking.join(", "));
        exam.fail(&name, seen, format!("the owner accepts the App's new permissions: {html_url}"));
        return None;
    }
    match answer(found.github.repository_sample(*id)).await {
        Ok((0, _)) | Ok((_, None)) => {
            exam.warn(&name, "granted, but no repository is chosen", format!("choose some: {html_url}"));
            None
        }
        Ok((count, Some(repository))) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let all = if count == 1 { "1 repository".to_owned() } else { format!("{count} repositories") };
            exam.pass(&name, format!("{all}, all permissions granted"));
            Some(repository)
        }
        Err(error) => {
            exam.fail(&name, chain(&error), advice(&error));
            None
        }
    }
}

async fn transport(exam: &mut Exam<'_>, found: &Found, sample: Result<(InstallationInfo, RepoInfo), &'static str>) {
    const NAME: &str = "transport";
    let (installation, repository) = match sample {
        Ok(sample) => sample,
        Err(why) => return exam.skip(NAME, why),
    };
    let repo = found.github.repo(installation.id, repository.id, repository.name);
    let credential = match answer(repo.credential()).await {
        Ok(credential) => credential,
        Err(error) => return exam.fail(NAME, chain(&error), advice(&error)),
    };
    let limits = Limits { connect: PATIENCE, idle: PATIENCE, total: PATIENCE, ..Limits::default() };
    let remote = Remote { repository: repo.id(), url: repo.clone_url(), credential: Some(credential) };
    match workspace::count_branches(remote, limits, &CancellationToken::new()).await {
        Ok(1) => exam.pass(NAME, format!("{} shows its branch", repo.clone_url())),
        Ok(branches) => exam.pass(NAME, format!("{} shows its {branches} branches", repo.clone_url())),
        Err(error) => {
            let todo = error.hint().unwrap_or("try again");
            let todo = format!("{todo}; git goes to `web_url` and by no proxy");
            exam.fail(NAME, format!("{}: {}", repo.clone_url(), chain(&error)), todo);
        }
    }
}
