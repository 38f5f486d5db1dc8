//! Making an App from a manifest, and installing it, in the box's pages.

use octoswarm::demo::{AppManifest, GitHubBox, Options};
use octoswarm::domain::clock::Clock;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};

use super::webhooks::receiver;
use crate::support::browser::{Browser, Form, Page};

async fn empty_box(clock: Clock) -> GitHubBox {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let manifest = AppManifest::parse("name: none\ndefault_permissions: {}").unwrap();
    GitHubBox::start(Options { unregistered: true, clock, ..Options::new(manifest, "") }).await.unwrap()
}

fn manifest() -> Value {
    json!({
        "name": "swarm",
        "url": "https://example.com",
        "hook_attributes": {"url": "https://example.com/webhook"},
        "redirect_url": "http://127.0.0.1:1/back",
        "default_permissions": {"issues": "write", "metadata": "read"},
        "default_events": ["issues"],
    })
}

fn form(github: &GitHubBox, path: &str, manifest: &Value) -> Form {
    let action = format!("{}{path}?state=s1", github.web_url()).parse().unwrap();
    Form { action, fields: vec![("manifest".to_owned(), manifest.to_string())] }
}

async fn offer(github: &GitHubBox, manifest: &Value) -> Page {
    Browser::new().submit(&form(github, "/organizations/octo/settings/apps/new", manifest)).await
}

/// Presses the button; the code that comes back.
async fn press(page: &Page) -> String {
    let button = page.form("/settings/apps/manifest");
    let client = Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let mut body = reqwest::Url::parse("http://x").unwrap();
    body.query_pairs_mut().extend_pairs(&button.fields);
    let request = client.post(button.action).header("content-type", "application/x-www-form-urlencoded");
    let answer = request.body(body.query().unwrap().to_owned()).send().await.unwrap();
    let back = answer.headers()["location"].to_str().unwrap().to_owned();
    assert!(back.starts_with("http://127.0.0.1:1/back?code=") && back.ends_with("&state=s1"), "{back}");
    back.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned()
}

async fn convert(github: &GitHubBox, code: &str) -> (StatusCode, Value) {
    let client = Client::builder().no_proxy().user_agent("test").build().unwrap();
    let url = format!("{}/app-manifests/{code}/conversions", github.api_url());
    let answer = client.post(url).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

#[tokio::test]
async fn without_an_app_nobody_is_known() {
    let github = empty_box(Clock::system()).await;
    let client = Client::builder().no_proxy().user_agent("test").build().unwrap();
    let ask = client.get(format!("{}/app", github.api_url())).header("authorization", "Bearer a.b.c");
    let answer = ask.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    assert!(answer.text().await.unwrap().contains("Integration not found"));
}

#[tokio::test]
async fn a_manifest_that_github_would_refuse_is_refused() {
    let github = empty_box(Clock::system()).await;
    for (key, value, says) in [
        ("hookattributes", json!({}), "does not parse"),
        ("default_permissions", json!({"everything": "write"}), "not included in the list"),
        ("default_events", json!(["installation"]), "Default events unsupported: installation"),
        ("default_events", json!(["pull_request"]), "not supported by permissions: pull_request"),
        ("hook_attributes", json!({"url": "http://example.com"}), "isn't reachable"),
        ("redirect_url", Value::Null, "Redirect url"),
        ("name", json!("x".repeat(35)), "maximum is 34"),
    ] {
        let mut wrong = manifest();
        wrong[key] = value;
        let page = offer(&github, &wrong).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{key}");
        page.says("Invalid GitHub App configuration").says(says);
    }
    assert_eq!(offer(&github, &manifest()).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_name_is_checked_when_the_person_presses_the_button() {
    let github = empty_box(Clock::system()).await;
    let page = offer(&github, &manifest()).await;
    let button = page.form("/settings/apps/manifest");
    for (name, says) in [("OCTO", "already taken"), ("", "can't be blank")] {
        let page = Browser::new().submit(&button.clone().set("name", name)).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
        page.says(says);
    }
    press(&page).await;
    Browser::new().submit(&button).await.says("used already");
}

#[tokio::test]
async fn only_a_browsers_form_makes_an_app() {
    let github = empty_box(Clock::system()).await;
    let mut browser = Browser::new();
    let own = form(&github, "/settings/apps/new", &manifest());
    browser.extra = vec![("origin", "null".to_owned())];
    assert_eq!(browser.submit(&own).await.status, StatusCode::FORBIDDEN);
    browser.extra.clear();
    browser.submit(&own).await.says("Create GitHub App for mona");
    let json = Client::builder().no_proxy().build().unwrap().post(own.action).json(&manifest());
    assert_eq!(json.send().await.unwrap().status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let nobody = form(&github, "/organizations/nobody/settings/apps/new", &manifest());
    assert_eq!(browser.submit(&nobody).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_code_is_good_once_and_for_an_hour() {
    let clock = Clock::manual(1_800_000_000_000);
    let github = empty_box(clock.clone()).await;
    let (hook, _seen) = receiver(200).await;
    let mut wanted = manifest();
    wanted["hook_attributes"]["url"] = json!(hook);
    let code = press(&offer(&github, &wanted).await).await;
    github.deliveries_settled().await;
    let ping = github.deliveries().pop().unwrap();
    assert_eq!((ping.event.as_str(), ping.installation_id), ("ping", None));
    let (status, app) = convert(&github, &code).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(app["slug"], "swarm");
    assert!(app["pem"].as_str().unwrap().starts_with("-----BEGIN RSA PRIVATE KEY-----"));
    assert_eq!(app["webhook_secret"], json!(github.webhook_secret()));
    assert_eq!(convert(&github, &code).await.0, StatusCode::NOT_FOUND);
    wanted["name"] = json!("second");
    let late = press(&offer(&github, &wanted).await).await;
    clock.advance(3_600_000);
    assert_eq!(convert(&github, &late).await.0, StatusCode::NOT_FOUND);
    assert_eq!(convert(&github, "never").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_private_app_is_installed_by_its_owner_only() {
    let github = empty_box(Clock::system()).await;
    press(&offer(&github, &manifest()).await).await;
    let mut browser = Browser::new();
    let install = format!("{}/apps/swarm/installations/new", github.web_url());
    let form = browser.open(&install).await.form("/installations/new");
    assert_eq!(browser.submit(&form.clone().set("account", "mona")).await.status, StatusCode::NOT_FOUND);
    browser.submit(&form.set("account", "octo")).await.says("Installed");
    let mut public = manifest();
    public["name"] = json!("for-all");
    public["public"] = json!(true);
    press(&offer(&github, &public).await).await;
    let install = format!("{}/apps/for-all/installations/new", github.web_url());
    let form = browser.open(&install).await.form("/installations/new");
    browser.submit(&form.set("account", "mona")).await.says("all repositories of mona");
}
