//! Set-up in the browser, against a GitHub that has no App yet.

mod process;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use octoswarm::app::setup::SetUp;
use octoswarm::config::{LogFormat, Overrides, SetUpConfig};
use octoswarm::dashboard::{Door, SetUpPages};
use octoswarm::demo::{AppManifest, Change, Fault, FaultKind, GitHubBox, Options};
use octoswarm::domain::Clock;
use octoswarm::webhook;
use reqwest::StatusCode;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::support::browser::{Browser, Form, Page};

const REPO: &str = "octo/calc";
const START: i64 = 1_800_000_000_000;

/// A GitHub with an organisation `octo`, a repository, and no App.
pub async fn github() -> GitHubBox {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let manifest = AppManifest::parse("name: none\ndefault_permissions: {}").unwrap();
    let options = Options { unregistered: true, ..Options::new(manifest, "") };
    let github = GitHubBox::start(crate::support::recorded(options)).await.unwrap();
    github.people().create_repo(REPO, Change::new().write("a.py", "x = 1\n")).await.unwrap();
    github.people().create_repo("octo/shop", Change::new().write("b.py", "y = 1\n")).await.unwrap();
    github
}

/// Set-up in this process, with a clock that the test holds.
struct World {
    github: GitHubBox,
    state: tempfile::TempDir,
    clock: Clock,
    base: String,
    links: Arc<Mutex<Vec<String>>>,
    browser: Browser,
    _stop: tokio_util::sync::DropGuard,
}

impl World {
    async fn start() -> Self {
        Self::with(|_| ()).await
    }

    async fn with(change: impl FnOnce(&mut SetUpConfig)) -> Self {
        let github = github().await;
        let state = tempfile::tempdir().unwrap();
        let clock = Clock::manual(START);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let listen = listener.local_addr().unwrap();
        let mut config = config(listen, state.path());
        change(&mut config);
        let setup = SetUp::new(config, clock.clone()).unwrap();
        let links = Arc::new(Mutex::new(Vec::new()));
        let told = links.clone();
        let door = Door::new(listen, None, move |link| told.lock().unwrap().push(link.to_owned()));
        door.announce();
        let stop = CancellationToken::new();
        let router = SetUpPages::new(setup, door).router();
        tokio::spawn(webhook::serve_http(listener, router, stop.clone(), webhook::Limits::default()));
        let base = format!("http://{listen}");
        Self { github, state, clock, base, links, browser: Browser::new(), _stop: stop.drop_guard() }
    }

    fn link(&self) -> String {
        self.links.lock().unwrap().last().unwrap().clone()
    }

    async fn enter(&mut self) -> Page {
        let link = self.link();
        self.browser.open(&link).await
    }

    /// The first form, filled in for the box's organisation.
    async fn filled(&mut self) -> Form {
        let server = self.github.web_url();
        fill(&self.enter().await, &server).set("reach", "poll")
    }

    /// Up to GitHub's redirect, which is not followed: the address with code and state.
    async fn confirmed(&mut self) -> String {
        let form = self.filled().await;
        let next = self.browser.submit(&form).await;
        confirm(&mut self.browser, &next).await
    }

    fn conversions(&self) -> usize {
        self.github.calls().iter().filter(|call| call.path.starts_with("/app-manifests/")).count()
    }

    fn app_json(&self) -> std::path::PathBuf {
        self.state.path().join("app.json")
    }
}

pub fn fill(page: &Page, server: &str) -> Form {
    page.form("/setup/app")
        .set("github", "server")
        .set("server", server)
        .set("owner", "organisation")
        .set("organisation", "octo")
        .set("name", "octoswarm-octo")
}

/// What the person does on GitHub's pages; the address to which GitHub sends the browser back.
pub async fn confirm(browser: &mut Browser, page: &Page) -> String {
    let shown = browser.submit(&page.form("/settings/apps/new")).await;
    assert_eq!(shown.status, StatusCode::OK, "{}", shown.html);
    let button = shown.form("/settings/apps/manifest");
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
    let mut body = reqwest::Url::parse("http://x").unwrap();
    body.query_pairs_mut().extend_pairs(&button.fields);
    let sent = client
        .post(button.action)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body.query().unwrap().to_owned());
    let answer = sent.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::FOUND);
    answer.headers()["location"].to_str().unwrap().to_owned()
}

fn config(listen: SocketAddr, state: &Path) -> SetUpConfig {
    let overrides = Overrides { listen: Some(listen), state: Some(state.to_owned()), ..Overrides::default() };
    SetUpConfig {
        listen,
        state: state.to_owned(),
        log: LogFormat::Text,
        public_url: None,
        web_url: None,
        api_url: None,
        overrides,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_made_installed_and_labelled() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    assert!(back.starts_with(&format!("{}/setup/created?code=", world.base)), "{back}");
    let page = world.browser.open(&back).await;
    assert_eq!(page.url.path(), "/setup", "neither code nor state stays in the address");
    page.says("The App is made").says("octoswarm-octo").says("delivery log can be read");
    let install = page.link("Install on GitHub");
    let form = world.browser.open(&install).await.form("/installations/new").set("account", "octo");
    world.browser.submit(&form).await.says("Installed");
    let page = world.browser.open(&format!("{}/setup", world.base)).await;
    page.says("octo/calc").says("missing");
    let page = world.browser.submit(&page.form("/setup/labels")).await;
    page.says("made").says("octoswarm is ready");
    assert!(page.find_form("/setup/labels").is_none(), "nothing is missing any more");
    for repo in world.github.repos() {
        assert!(repo.labels.iter().any(|label| label.name == "swarm"), "{}", repo.name);
    }
    let writes = world.github.calls().iter().filter(|c| c.method == "POST" && c.path.ends_with("/labels")).count();
    assert_eq!(writes, 2);
    assert_eq!(world.github.refusals().iter().filter(|call| call.status != 404).count(), 0);
    let page = world.browser.submit(&page.form("/setup/finish")).await;
    page.says("Set-up is done");
    let closed = world.browser.open(&format!("{}/setup", world.base)).await;
    assert_eq!(closed.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_not_the_link_sees_nothing_and_can_do_nothing() {
    let mut world = World::start().await;
    let form = world.filled().await;
    let mut stranger = Browser::new();
    for path in ["/setup", "/setup?token=", "/setup?token=wrong", "/setup/created?code=c&state=s"] {
        let page = stranger.open(&format!("{}{path}", world.base)).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
        page.says("waits to be set up");
        assert!(page.find_form("").is_none());
    }
    for path in ["/setup/app", "/setup/save", "/setup/labels", "/setup/redeliver", "/setup/finish"] {
        let action = format!("{}{path}", world.base).parse().unwrap();
        let page = stranger.submit(&Form { action, fields: form.fields.clone() }).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
    }
    // The link is worth one entry; its second use tells the operator another one.
    let link = world.link();
    let page = stranger.open(&link).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    page.says("used already");
    let link = world.link();
    stranger.open(&link).await.says("Set up octoswarm");
    assert_eq!(world.browser.open(&format!("{}/setup", world.base)).await.status, StatusCode::FORBIDDEN, "taken over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_name_reaches_nothing() {
    let mut world = World::start().await;
    world.enter().await;
    world.browser.extra = vec![("host", "evil.example:3000".to_owned())];
    let page = world.browser.open(&format!("{}/setup", world.base)).await;
    assert_eq!(page.status, StatusCode::MISDIRECTED_REQUEST);
    let link = world.link();
    assert_eq!(world.browser.open(&link).await.status, StatusCode::MISDIRECTED_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_from_another_page_is_refused() {
    let mut world = World::start().await;
    let form = world.filled().await;
    let page = world.browser.submit(&form.clone().set("form", "guessed")).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    world.browser.extra = vec![("sec-fetch-site", "cross-site".to_owned())];
    assert_eq!(world.browser.submit(&form).await.status, StatusCode::FORBIDDEN);
    world.browser.extra = vec![("sec-fetch-site", "same-origin".to_owned())];
    assert_eq!(world.browser.submit(&form).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_guarded_and_nothing_typed_becomes_markup() {
    let mut world = World::start().await;
    let evil = "\"><script>alert(1)</script>";
    let form =
        world.filled().await.set("name", evil).set("organisation", evil).set("server", evil).set("accounts", evil);
    let page = world.browser.submit(&form.set("public", "yes").set("reach", "webhook").set("webhook", evil)).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!page.html.contains("<script>alert"), "{}", page.html);
    let again = page.form("/setup/app");
    for field in ["name", "organisation", "server", "accounts", "webhook"] {
        assert_eq!(again.get(field), evil, "what was typed is not lost");
    }
    page.says("that is not an address").says("that is not the login of an organisation");
    let server = world.github.web_url();
    let sly = "</form>'&quot;&amp;";
    let next =
        world.browser.submit(&fill(&page, &server).set("reach", "poll").set("name", sly).set("accounts", "")).await;
    assert_eq!(next.status, StatusCode::OK, "{}", next.html);
    let manifest: serde_json::Value = serde_json::from_str(next.form("/settings/apps/new").get("manifest")).unwrap();
    assert_eq!(manifest["name"], sly);
    for (page, posts_to) in [(&page, None), (&next, Some(server))] {
        let header = |name: &str| page.headers[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        let want = posts_to.map_or("form-action 'self'".to_owned(), |origin| format!("form-action 'self' {origin}"));
        assert!(policy.ends_with(&want), "{policy}");
        assert_eq!((header("x-frame-options"), header("cache-control")), ("DENY".to_owned(), "no-store".to_owned()));
        assert_eq!(header("x-content-type-options"), "nosniff");
    }
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_the_clear_is_refused_in_the_form() {
    let mut world = World::start().await;
    let form = world.filled().await;
    let page = world.browser.submit(&form.clone().set("server", "http://ghe.example")).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.says("must begin with https://");
    let open = form.set("github", "github.com").set("reach", "webhook");
    let page = world.browser.submit(&open.clone().set("webhook", "http://swarm.example")).await;
    page.says("must begin with https://");
    world.browser.submit(&open.clone().set("webhook", "https://localhost")).await.says("github.com cannot reach");
    let page = world.browser.submit(&open.set("webhook", "https://swarm.acme.dev")).await;
    let form = page.form("/settings/apps/new");
    assert!(form.action.as_str().starts_with("https://github.com/organizations/octo/settings/apps/new?state="));
    let manifest: serde_json::Value = serde_json::from_str(form.get("manifest")).unwrap();
    assert_eq!(manifest["hook_attributes"]["url"], "https://swarm.acme.dev/webhook");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_not_asked_for_makes_nothing() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    let (address, state) = back.rsplit_once("&state=").unwrap();
    for (url, says) in [
        (format!("{address}&state=other"), "belongs to nothing"),
        (address.to_owned(), "belongs to nothing"),
        (format!("{}/setup/created?state={state}", world.base), "no usable code"),
        (format!("{}/setup/created?state={state}&code=../app", world.base), "no usable code"),
    ] {
        world.browser.open(&url).await.says(says);
    }
    assert_eq!(world.conversions(), 0);
    // Another browser, let in by another link, has no part in what this one began.
    let link = world.link();
    let mut other = Browser::new();
    other.open(&link).await;
    let link = world.link();
    other.open(&link).await;
    other.open(&back).await.says("begun in another browser");
    assert_eq!(world.conversions(), 0);
    assert!(!world.app_json().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_exchanged_once_however_often_it_comes() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    world.github.fail_next(Fault::withhold("POST", "/conversions"));
    let (first, second) = tokio::join!(world.browser.open(&back), async {
        world.github.wait_withheld().await;
        world.github.release_withheld();
    });
    let () = second;
    first.says("The App is made");
    for _ in 0..2 {
        world.browser.open(&back).await.says("The App is made");
    }
    assert_eq!(world.conversions(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_arrive_after_the_browser_left_are_not_lost() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    world.github.fail_next(Fault::withhold("POST", "/conversions"));
    // The browser gives up while GitHub thinks.
    tokio::select! {
        page = world.browser.peek(&back) => panic!("it answered before GitHub did: {}", page.status),
        () = world.github.wait_withheld() => {}
    }
    world.github.release_withheld();
    let home = format!("{}/setup", world.base);
    for _ in 0..400 {
        let page = world.browser.open(&home).await;
        if page.html.contains("The App is made") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the App was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_hour_it_is_begun_anew() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    world.clock.advance(3_600_000);
    let page = world.browser.open(&back).await;
    assert_eq!(page.status, StatusCode::GONE);
    page.says("more than an hour ago");
    assert_eq!(world.conversions(), 0);
    let start = page.link("Start again");
    world.browser.open(&format!("{}{start}", world.base)).await.says("Set up octoswarm");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_github_refuses_leaves_nothing_and_can_be_begun_anew() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    let secret = back.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    for (fault, says) in [
        (Fault::status("POST", "/conversions", 404), "does not know the code"),
        (Fault::status("POST", "/conversions", 422), "GitHub refused the content"),
        (Fault::status("POST", "/conversions", 502), "could not be fetched"),
        (Fault::once("POST", "/conversions", FaultKind::Truncate), "could not be fetched"),
    ] {
        world.github.fail_next(fault);
        let page = world.browser.open(&format!("{}/setup", world.base)).await;
        let server = world.github.web_url();
        let next = world.browser.submit(&fill(&page, &server).set("reach", "poll")).await;
        let state = next.form("/settings/apps/new").action.query_pairs().next().unwrap().1.into_owned();
        let page = world.browser.open(&format!("{}/setup/created?code={secret}&state={state}", world.base)).await;
        assert_eq!(page.status, StatusCode::BAD_GATEWAY);
        page.says(says).says("/organizations/octo/settings/apps");
        assert!(!page.html.contains(&secret), "the code is a key");
        assert!(!world.app_json().exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_saved_are_kept_until_they_can() {
    let mut world = World::start().await;
    let back = world.confirmed().await;
    // A folder stands where the file belongs: root, too, cannot write it.
    std::fs::create_dir(world.app_json()).unwrap();
    let page = world.browser.open(&back).await;
    page.says("The App's keys are not saved yet").says("app.json").says("memory");
    assert!(!page.html.contains("PRIVATE KEY") && !page.html.contains(&world.github.webhook_secret()));
    let page = world.browser.submit(&page.form("/setup/save")).await;
    page.says("not saved yet");
    std::fs::remove_dir(world.app_json()).unwrap();
    let page = world.browser.submit(&page.form("/setup/save")).await;
    page.says("The App is made");
    assert_eq!(world.conversions(), 1);
    assert!(std::fs::read_to_string(world.app_json()).unwrap().contains("PRIVATE KEY"));
    assert_eq!(
        std::fs::read_dir(world.state.path())
            .unwrap()
            .filter(|f| { f.as_ref().unwrap().file_name().to_string_lossy().starts_with(".tmp") })
            .count(),
        0,
        "nothing half written is left"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_taken_is_changed_on_github() {
    let mut world = World::start().await;
    let form = world.filled().await.set("name", "octo");
    let next = world.browser.submit(&form).await;
    let shown = world.browser.submit(&next.form("/settings/apps/new")).await;
    let taken = world.browser.submit(&shown.form("/settings/apps/manifest")).await;
    taken.says("already taken");
    let page = world.browser.submit(&taken.form("/settings/apps/manifest").set("name", "Octo Swarm 7")).await;
    page.says("octo-swarm-7");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_told_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let config = config(SocketAddr::from(([127, 0, 0, 1], 0)), &file.join("state"));
    let error = SetUp::new(config, Clock::system()).err().unwrap();
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[test]
fn two_set_ups_never_share_a_state_folder() {
    let dir = tempfile::tempdir().unwrap();
    let set_up = || SetUp::new(config(SocketAddr::from(([127, 0, 0, 1], 0)), dir.path()), Clock::system());
    let first = set_up().unwrap();
    let error = set_up().err().unwrap();
    assert!(error.to_string().contains("another octoswarm already runs on this state: process "), "{error}");
    drop(first);
    assert!(set_up().is_ok(), "who went leaves nothing behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn once_the_app_is_served_a_used_link_makes_no_new_one_and_the_pages_close_within_the_hour() {
    let mut world = World::start().await;
    let link = world.link();
    let back = world.confirmed().await;
    world.browser.open(&back).await.says("The App is made");
    let page = Browser::new().open(&link).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    page.says("makes no new link");
    assert_eq!(world.links.lock().unwrap().len(), 1);
    let home = format!("{}/setup", world.base);
    world.clock.advance(3_599_000);
    world.browser.open(&home).await.says("The App is made");
    world.clock.advance(1_000);
    assert_eq!(world.browser.open(&home).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_of_another_github_than_the_configured_one_is_not_made() {
    let mut world = World::with(|config| config.web_url = Some("https://ghe.example".to_owned())).await;
    let form = world.filled().await;
    let page = world.browser.submit(&form).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.says("configured with `web_url` https://ghe.example");
    let page = world.browser.submit(&page.form("/setup/app").set("server", "https://ghe.example")).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.html);
}
