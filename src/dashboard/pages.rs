//! The pages: templates that escape what they are given, and the headers that go with each.

use askama::Template;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::app::setup::{LabelState, NAME_LIMIT, Status};
use crate::stdx::text::iso8601;

#[derive(Template)]
#[template(path = "message.html")]
pub struct Message {
    pub title: &'static str,
    pub text: String,
    pub next: String,
    /// A link or a form's target, with the words on it.
    pub again: Option<(&'static str, &'static str)>,
    /// Set where the way on is a form.
    pub form: Option<String>,
}

/// The form, as empty as at the start or with what was typed and what is wrong with it.
#[derive(Template, Default)]
#[template(path = "form.html")]
pub struct Form {
    pub form: String,
    pub on_server: bool,
    pub server: String,
    pub for_organisation: bool,
    pub organisation: String,
    pub name: String,
    pub unreachable: bool,
    pub webhook: String,
    pub public: bool,
    pub accounts: String,
    pub wrong: Mistakes,
    pub limit: usize,
}

#[derive(Default)]
pub struct Mistakes {
    pub server: Option<String>,
    pub organisation: Option<String>,
    pub name: Option<String>,
    pub webhook: Option<String>,
    pub accounts: Option<String>,
}

#[derive(Template)]
#[template(path = "continue.html")]
pub struct Continue {
    pub action: String,
    pub manifest: String,
    pub web_url: String,
    pub host: String,
    pub name: String,
    pub owner: Option<String>,
    pub hook_url: Option<String>,
    pub public: bool,
    pub accounts: Vec<String>,
    /// Name of a permission and its level.
    pub permissions: Vec<(String, String)>,
    pub events: Vec<String>,
}

#[derive(Template)]
#[template(path = "status.html")]
pub struct StatusPage {
    pub form: String,
    pub status: Status,
    /// How many labels are missing or could not be made.
    pub missing: usize,
    pub checked_all: bool,
    pub note: Option<String>,
    pub refresh: bool,
}

impl Form {
    pub fn empty(form: String) -> Self {
        Self { form, name: "octoswarm-".to_owned(), limit: NAME_LIMIT, ..Self::default() }
    }
}

impl StatusPage {
    pub fn new(form: String, status: Status, note: Option<String>) -> Self {
        let missing =
            status.labels().filter(|l| matches!(l.state, LabelState::Missing | LabelState::Failed(_))).count();
        let checked_all = status.labels().all(|label| label.state != LabelState::NotAsked);
        let refresh = !(status.installed() && status.delivered() && checked_all);
        Self { form, status, missing, checked_all, note, refresh }
    }

    fn done(&self) -> bool {
        !self.refresh && self.missing == 0
    }

    fn time(&self, at: &i64) -> String {
        iso8601(*at)
    }

    /// Whether the label step is done: everywhere, and somewhere at all.
    fn labelled(&self) -> bool {
        self.missing == 0 && self.checked_all && self.status.labels().any(|label| label.state.is_there())
    }
}

/// A page, with nothing in it that a browser may load from elsewhere. `posts_to` is the one foreign address that a form of
/// this page may be sent to.
pub fn page(status: StatusCode, template: &impl Template, posts_to: Option<&str>) -> Response {
    let Ok(html) = template.render() else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made\n").into_response();
    };
    let mut response = (status, Html(html)).into_response();
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; \
         frame-ancestors 'none'; form-action 'self'{}",
        posts_to.map(|origin| format!(" {origin}")).unwrap_or_default()
    );
    // GitHub is told from which server the form came, and no more than that: without a referrer a browser says `Origin: null`,
    // which servers that guard their forms refuse.
    let referrer = if posts_to.is_some() { "strict-origin" } else { "no-referrer" };
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    guard(&mut response);
    response
}

/// What every answer here carries.
pub fn guard(response: &mut Response) {
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
}
