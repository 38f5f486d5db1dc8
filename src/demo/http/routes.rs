//! The endpoints there are: what each accepts in its query, who may call it and with which permission.

use std::collections::BTreeMap;

use super::{Ctx, Reply, apps, checks, decode, issues, objects, pulls, refs, repos, reviews};
use crate::demo::refusal::Refusal;
use crate::demo::state::{Level, World};

use Level::{Read, Write};

pub enum Door {
    Anyone,
    /// The App's JWT.
    App,
    /// An installation token that holds at least one of these.
    Installation(&'static [(&'static str, Level)]),
    /// The same, or nobody where the repository is public.
    Public(&'static [(&'static str, Level)]),
}

pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub query: &'static [&'static str],
    pub door: Door,
    pub handler: fn(&mut World, &Ctx) -> Result<Reply, Refusal>,
}

const fn route(
    method: &'static str,
    path: &'static str,
    query: &'static [&'static str],
    door: Door,
    handler: fn(&mut World, &Ctx) -> Result<Reply, Refusal>,
) -> Route {
    Route { method, path, query, door, handler }
}

const NONE: &[&str] = &[];
const PAGE: &[&str] = &["per_page", "page"];
const LISTED: &[&str] = &["per_page", "page", "sort", "direction", "since"];
const SINCE: &[&str] = &["per_page", "page", "since"];
const ISSUES: &[&str] = &["per_page", "page", "state", "labels", "sort", "direction", "since", "creator"];
const PULLS: &[&str] = &["per_page", "page", "state", "head", "base", "sort", "direction"];
const RUNS: &[&str] = &["per_page", "page", "app_id", "check_name", "status", "filter"];

const PULL_READ: Door = Door::Installation(&[("pull_requests", Read)]);
const PULL_WRITE: Door = Door::Installation(&[("pull_requests", Write)]);
const TALK_READ: Door = Door::Installation(&[("issues", Read), ("pull_requests", Read)]);
const TALK_WRITE: Door = Door::Installation(&[("issues", Write), ("pull_requests", Write)]);
const CODE_WRITE: Door = Door::Installation(&[("contents", Write)]);
const CODE_READ: Door = Door::Installation(&[("contents", Read)]);
const CHECK_READ: Door = Door::Installation(&[("checks", Read)]);
const CHECK_WRITE: Door = Door::Installation(&[("checks", Write)]);
const PUBLIC_ISSUES: Door = Door::Public(&[("issues", Read)]);
const PUBLIC_META: Door = Door::Public(&[("metadata", Read)]);
const META: Door = Door::Installation(&[("metadata", Read)]);

static ROUTES: &[Route] = &[
    route("POST", "/app-manifests/{code}/conversions", NONE, Door::Anyone, apps::convert),
    route("GET", "/app", NONE, Door::App, apps::app),
    route("GET", "/app/installations", PAGE, Door::App, apps::installations),
    route("GET", "/app/installations/{id}", NONE, Door::App, apps::installation),
    route("POST", "/app/installations/{id}/access_tokens", NONE, Door::App, apps::access_token),
    route("GET", "/app/hook/config", NONE, Door::App, apps::hook_config),
    route("GET", "/app/hook/deliveries", &["per_page", "cursor", "status"], Door::App, apps::deliveries),
    route("GET", "/app/hook/deliveries/{id}", NONE, Door::App, apps::delivery),
    route("POST", "/app/hook/deliveries/{id}/attempts", NONE, Door::App, apps::redeliver),
    route("GET", "/repos/{app_owner}/{app_repo}/installation", NONE, Door::App, apps::repo_installation),
    route("GET", "/rate_limit", NONE, Door::Anyone, apps::rate_limit),
    route("GET", "/meta", NONE, Door::Anyone, apps::meta),
    route("GET", "/users/{username}", NONE, Door::Anyone, repos::user),
    route("GET", "/installation/repositories", PAGE, META, repos::list),
    route("GET", "/repos/{owner}/{repo}", NONE, PUBLIC_META, repos::get),
    route("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", NONE, META, repos::permission),
    route("GET", "/repos/{owner}/{repo}/contents/{*path}", &["ref"], CODE_READ, repos::contents),
    route("GET", "/repos/{owner}/{repo}/git/ref/{*ref}", NONE, CODE_READ, refs::get),
    route("POST", "/repos/{owner}/{repo}/git/refs", NONE, CODE_WRITE, refs::create),
    route("PATCH", "/repos/{owner}/{repo}/git/refs/{*ref}", NONE, CODE_WRITE, refs::update),
    route("DELETE", "/repos/{owner}/{repo}/git/refs/{*ref}", NONE, CODE_WRITE, refs::delete),
    route("POST", "/repos/{owner}/{repo}/git/blobs", NONE, CODE_WRITE, objects::create_blob),
    route("GET", "/repos/{owner}/{repo}/git/blobs/{sha}", NONE, CODE_READ, objects::blob),
    route("POST", "/repos/{owner}/{repo}/git/trees", NONE, CODE_WRITE, objects::create_tree),
    route("GET", "/repos/{owner}/{repo}/git/trees/{sha}", NONE, CODE_READ, objects::tree),
    route("POST", "/repos/{owner}/{repo}/git/commits", NONE, CODE_WRITE, objects::create_commit),
    route("GET", "/repos/{owner}/{repo}/git/commits/{sha}", NONE, CODE_READ, objects::commit),
    route("GET", "/repos/{owner}/{repo}/branches/{*branch}", NONE, CODE_READ, refs::branch),
    route("GET", "/repos/{owner}/{repo}/rules/branches/{*branch}", PAGE, META, refs::rules),
    route("GET", "/repos/{owner}/{repo}/compare/{*basehead}", PAGE, CODE_READ, repos::compare),
    route("GET", "/repos/{owner}/{repo}/pulls", PULLS, PULL_READ, pulls::list),
    route("POST", "/repos/{owner}/{repo}/pulls", NONE, PULL_WRITE, pulls::create),
    route("DELETE", "/repos/{owner}/{repo}/pulls/comments/{id}", NONE, PULL_WRITE, reviews::delete_comment),
    route("GET", "/repos/{owner}/{repo}/pulls/comments/{id}", NONE, PULL_READ, reviews::comment),
    route("PATCH", "/repos/{owner}/{repo}/pulls/comments/{id}", NONE, PULL_WRITE, reviews::edit_comment),
    route("POST", "/repos/{owner}/{repo}/pulls/comments/{id}/reactions", NONE, PULL_WRITE, reviews::react),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}", NONE, PULL_READ, pulls::get),
    route("PATCH", "/repos/{owner}/{repo}/pulls/{n}", NONE, PULL_WRITE, pulls::edit),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}/files", PAGE, PULL_READ, pulls::files),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}/commits", PAGE, PULL_READ, pulls::commits),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}/reviews", PAGE, PULL_READ, reviews::list),
    route("POST", "/repos/{owner}/{repo}/pulls/{n}/reviews", NONE, PULL_WRITE, reviews::create),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}/reviews/{id}", NONE, PULL_READ, reviews::get),
    route("PUT", "/repos/{owner}/{repo}/pulls/{n}/reviews/{id}", NONE, PULL_WRITE, reviews::edit),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}/reviews/{id}/comments", PAGE, PULL_READ, reviews::comments_of),
    route("GET", "/repos/{owner}/{repo}/pulls/{n}/comments", LISTED, PULL_READ, reviews::comments),
    route("POST", "/repos/{owner}/{repo}/pulls/{n}/comments", NONE, PULL_WRITE, reviews::create_comment),
    route("POST", "/repos/{owner}/{repo}/pulls/{n}/comments/{id}/replies", NONE, PULL_WRITE, reviews::reply),
    route("GET", "/repos/{owner}/{repo}/issues", ISSUES, PUBLIC_ISSUES, issues::list),
    route("GET", "/repos/{owner}/{repo}/labels", PAGE, TALK_READ, issues::repo_labels),
    route("POST", "/repos/{owner}/{repo}/labels", NONE, TALK_WRITE, issues::create_label),
    route("GET", "/repos/{owner}/{repo}/labels/{name}", NONE, TALK_READ, issues::repo_label),
    route("GET", "/repos/{owner}/{repo}/issues/comments/{id}", NONE, TALK_READ, issues::comment),
    route("PATCH", "/repos/{owner}/{repo}/issues/comments/{id}", NONE, TALK_WRITE, issues::edit_comment),
    route("DELETE", "/repos/{owner}/{repo}/issues/comments/{id}", NONE, TALK_WRITE, issues::delete_comment),
    route("POST", "/repos/{owner}/{repo}/issues/comments/{id}/reactions", NONE, TALK_WRITE, issues::react_to_comment),
    route("GET", "/repos/{owner}/{repo}/issues/{n}", NONE, TALK_READ, issues::get),
    route("GET", "/repos/{owner}/{repo}/issues/{n}/events", PAGE, TALK_READ, issues::events),
    route("GET", "/repos/{owner}/{repo}/issues/{n}/comments", SINCE, TALK_READ, issues::comments),
    route("POST", "/repos/{owner}/{repo}/issues/{n}/comments", NONE, TALK_WRITE, issues::create_comment),
    route("POST", "/repos/{owner}/{repo}/issues/{n}/reactions", NONE, TALK_WRITE, issues::react),
    route("GET", "/repos/{owner}/{repo}/issues/{n}/labels", PAGE, TALK_READ, issues::labels),
    route("POST", "/repos/{owner}/{repo}/issues/{n}/labels", NONE, TALK_WRITE, issues::add_labels),
    route("DELETE", "/repos/{owner}/{repo}/issues/{n}/labels/{name}", NONE, TALK_WRITE, issues::remove_label),
    route("POST", "/repos/{owner}/{repo}/check-runs", NONE, CHECK_WRITE, checks::create),
    route("GET", "/repos/{owner}/{repo}/check-runs/{id}", NONE, CHECK_READ, checks::get),
    route("PATCH", "/repos/{owner}/{repo}/check-runs/{id}", NONE, CHECK_WRITE, checks::edit),
    route("GET", "/repos/{owner}/{repo}/check-runs/{id}/annotations", PAGE, CHECK_READ, checks::annotations),
    route("POST", "/repos/{owner}/{repo}/check-runs/{id}/rerequest", NONE, CHECK_WRITE, checks::rerequest),
    route("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs", RUNS, CHECK_READ, checks::list),
    route("GET", "/repos/{owner}/{repo}/commits/{*ref}", NONE, CODE_READ, repos::commit),
];

pub fn find(method: &str, path: &str) -> Option<(&'static Route, BTreeMap<&'static str, String>)> {
    ROUTES.iter().filter(|r| r.method == method).find_map(|r| matched(r.path, path).map(|params| (r, params)))
}

fn matched(pattern: &'static str, path: &str) -> Option<BTreeMap<&'static str, String>> {
    let mut params = BTreeMap::new();
    let mut parts = path.strip_prefix('/')?.split('/');
    for want in pattern.strip_prefix('/')?.split('/') {
        let name = want.strip_prefix('{').and_then(|w| w.strip_suffix('}'));
        if let Some(rest) = name.and_then(|n| n.strip_prefix('*')) {
            let tail: Vec<&str> = parts.collect();
            let tail = tail.join("/");
            return (!tail.is_empty()).then(|| {
                params.insert(rest, decode(&tail));
                params
            });
        }
        let part = parts.next()?;
        match name {
            Some(_) if part.is_empty() => return None,
            Some(name) => {
                params.insert(name, decode(part));
            }
            None if part == want => {}
            None => return None,
        }
    }
    parts.next().is_none().then_some(params)
}
