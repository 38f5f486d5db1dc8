//! The few pages of the box: making an App from a manifest, and installing it.
#![expect(clippy::result_large_err, reason = "the error is the answer itself, made once a request")]

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue};

use super::{parse_query, plain};
use crate::demo::Shared;
use crate::demo::manifest::{Registering, fits};
use crate::demo::state::{SIGNED_IN, World};

/// `None` when there is no such page.
pub fn serve(
    shared: &Arc<Shared>,
    method: &str,
    path: &str,
    query: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<Response> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let mut world = shared.world();
    let sent = || form(headers, body);
    Some(match (method, parts.as_slice()) {
        ("POST", ["settings", "apps", "new"]) => with(sent(), |sent| draft(&mut world, SIGNED_IN, query, &sent)),
        ("POST", ["organizations", login, "settings", "apps", "new"]) => {
            let organisation =
                world.users.values().find(|u| u.kind == "Organization" && u.login.eq_ignore_ascii_case(login));
            let owner = organisation.map(|user| user.login.clone())?;
            with(sent(), |sent| draft(&mut world, &owner, query, &sent))
        }
        ("POST", ["settings", "apps", "manifest"]) => with(sent(), |sent| create(&mut world, &sent)),
        ("GET", ["apps", slug]) if world.registered && *slug == world.app_slug => {
            page(200, "App", &format!("<p>{} by {}</p>", escape(&world.manifest.name), escape(&world.app_owner)))
        }
        ("GET", ["apps", slug, "installations", "new"]) if world.registered && *slug == world.app_slug => {
            choose(&world)
        }
        ("POST", ["apps", slug, "installations", "new"]) if world.registered && *slug == world.app_slug => {
            with(sent(), |sent| install(&mut world, &sent))
        }
        _ => return None,
    })
}

fn with(
    sent: Result<BTreeMap<String, String>, Response>,
    then: impl FnOnce(BTreeMap<String, String>) -> Response,
) -> Response {
    sent.map_or_else(|refusal| refusal, then)
}

/// What a browser's form sends, and nothing else.
fn form(headers: &HeaderMap, body: &[u8]) -> Result<BTreeMap<String, String>, Response> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !header("content-type").starts_with("application/x-www-form-urlencoded") {
        return Err(plain(415, "a form is sent as application/x-www-form-urlencoded"));
    }
    if header("origin") == "null" {
        return Err(plain(403, "the form does not say where it comes from"));
    }
    Ok(parse_query(&String::from_utf8_lossy(body)))
}

/// A manifest arrives: it is shown to the person, who may give it another name.
fn draft(world: &mut World, owner: &str, query: &str, sent: &BTreeMap<String, String>) -> Response {
    let state = parse_query(query).get("state").cloned();
    let Some(manifest) = sent.get("manifest") else {
        return invalid(&["The manifest is missing: it is a form field of that name".to_owned()]);
    };
    match Registering::parse(manifest) {
        Err(errors) => invalid(&errors),
        Ok(manifest) => {
            world.add_user(owner, "User");
            let name = manifest.name.clone().unwrap_or_default();
            let key = world.draft_app(manifest, owner, state);
            confirm(owner, &key, &name, 200, "")
        }
    }
}

fn confirm(owner: &str, key: &str, name: &str, status: u16, error: &str) -> Response {
    let body = format!(
        "<p>{}</p><form method=\"post\" action=\"/settings/apps/manifest\"><input type=\"hidden\" name=\"draft\" value=\"{}\">\
         <label>GitHub App name <input name=\"name\" value=\"{}\"></label> <button>Create GitHub App for {}</button></form>",
        escape(error),
        escape(key),
        escape(name),
        escape(owner)
    );
    page(status, "Create GitHub App", &body)
}

fn create(world: &mut World, sent: &BTreeMap<String, String>) -> Response {
    let field = |name: &str| sent.get(name).cloned().unwrap_or_default();
    let (key, name) = (field("draft"), field("name"));
    let Some(draft) = world.app_draft(&key) else {
        return invalid(&["The manifest was used already, or is older than an hour".to_owned()]);
    };
    let taken = || format!("Name \"{name}\" is already taken");
    if let Err(error) = fits(&name).and_then(|()| if world.app_name_taken(&name) { Err(taken()) } else { Ok(()) }) {
        return confirm(&draft.owner, &key, &name, 422, &error);
    }
    world.make_app(&key, &name).map_or_else(|| plain(404, "Not Found"), |to| redirect(&to))
}

fn choose(world: &World) -> Response {
    let options: String = world
        .may_install_on()
        .iter()
        .map(|login| {
            format!("<label><input type=\"radio\" name=\"account\" value=\"{0}\" required> {0}</label> ", escape(login))
        })
        .collect();
    let body = format!("<form method=\"post\">{options}<button>Install</button></form>");
    page(200, &format!("Install {}", escape(&world.manifest.name)), &body)
}

fn install(world: &mut World, sent: &BTreeMap<String, String>) -> Response {
    let account = sent.get("account").cloned().unwrap_or_default();
    if !world.may_install_on().contains(&account) {
        return page(404, "Not Found", "<p>The App cannot be installed there.</p>");
    }
    if !world.uninstalled {
        return page(422, "Installed", "<p>The App is installed already, and the box holds one installation.</p>");
    }
    world.install_on(&account);
    page(200, "Installed", &format!("<p>Installed on all repositories of {}.</p>", escape(&account)))
}

fn invalid(errors: &[String]) -> Response {
    let items: String = errors.iter().map(|error| format!("<li>Error: {}</li>", escape(error))).collect();
    let body = format!("<p>The configuration does not appear to be a valid GitHub App manifest.</p><ul>{items}</ul>");
    page(422, "Invalid GitHub App configuration", &body)
}

fn redirect(to: &str) -> Response {
    let mut response = plain(302, "");
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert("location", to);
    }
    response
}

fn page(status: u16, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><body><h1>{title}</h1>{body}</body></html>"
    );
    let mut response = plain(status, "");
    *response.body_mut() = Body::from(html);
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
