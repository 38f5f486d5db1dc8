//! Set-up, page by page: the form, the way to GitHub and back, and what is left to do then.
#![expect(clippy::result_large_err, reason = "the error is the answer itself, made once a request")]

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, Form as Posted, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use super::door::{Door, Entry, Session};
use super::pages::{Continue, Form, Message, Mistakes, StatusPage, guard, page};
use crate::app::setup::{Error, Field, SetUp, Stage, Wish, Wrong};
use crate::stdx::token;

/// No form of ours is longer.
const MAX_FORM: usize = 32 * 1024;

/// The pages of one set-up, in set-up mode and afterwards until the person is done.
#[derive(Clone)]
pub struct SetUpPages(Arc<Inner>);

struct Inner {
    setup: SetUp,
    door: Door,
}

#[derive(Deserialize)]
struct Link {
    token: Option<String>,
}

#[derive(Deserialize)]
struct Back {
    code: Option<String>,
    state: Option<String>,
}

/// Every field of every form; which of them count depends on the form.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Fields {
    form: String,
    github: String,
    server: String,
    owner: String,
    organisation: String,
    name: String,
    reach: String,
    webhook: String,
    public: Option<String>,
    accounts: String,
    delivery: Option<u64>,
}

type Pages = State<SetUpPages>;
type Sent = Result<Posted<Fields>, FormRejection>;

impl SetUpPages {
    pub fn new(setup: SetUp, door: Door) -> Self {
        Self(Arc::new(Inner { setup, door }))
    }

    pub fn router(&self) -> Router {
        Router::new()
            .route("/setup", get(home))
            .route("/setup/app", post(begin))
            .route("/setup/created", get(created))
            .route("/setup/save", post(save))
            .route("/setup/labels", post(labels))
            .route("/setup/redeliver", post(redeliver))
            .route("/setup/finish", post(finish))
            .route("/setup/style.css", get(style))
            .route("/setup/page.js", get(script))
            .layer(DefaultBodyLimit::max(MAX_FORM))
            .with_state(self.clone())
    }

    /// Everything but the static files: who may not come in gets a page that says where the key is, or nothing at all.
    fn admit(&self, headers: &HeaderMap) -> Result<(Session, String), Response> {
        let base = self.base(headers)?;
        match self.0.door.session(headers) {
            Some(session) => Ok((session, base)),
            None => Err(stranger()),
        }
    }

    fn base(&self, headers: &HeaderMap) -> Result<String, Response> {
        if self.0.setup.is_over() {
            self.0.door.close();
        }
        if self.0.door.is_closed() {
            return Err(gone());
        }
        self.0.door.base(headers).ok_or_else(|| foreign_name(self.0.door.has_public_address()))
    }

    /// A form of ours, sent from a page of ours.
    fn admit_form(&self, headers: &HeaderMap, sent: Sent) -> Result<(Session, String, Fields), Response> {
        let (session, base) = self.admit(headers)?;
        let from_here = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
        match sent {
            Ok(Posted(fields)) if from_here && token::same(&fields.form, &session.form) => Ok((session, base, fields)),
            Ok(_) => Err(refused(StatusCode::FORBIDDEN, "this form was not sent from a page of this set-up")),
            Err(_) => Err(refused(StatusCode::BAD_REQUEST, "the form could not be read")),
        }
    }
}

async fn home(State(pages): Pages, headers: HeaderMap, Query(link): Query<Link>) -> Response {
    let answer = match link.token {
        Some(token) => enter(&pages, &headers, &token),
        None => pages.admit(&headers).map(|(session, _)| session),
    };
    match answer {
        Ok(session) => show(&pages, &session, None).await,
        Err(response) => response,
    }
}

/// The link itself: it ends in an address without the token, so that none is left in the browser's history bar.
fn enter(pages: &SetUpPages, headers: &HeaderMap, token: &str) -> Result<Session, Response> {
    let base = pages.base(headers)?;
    // The same browser again: its link is worth no new one.
    if pages.0.door.session(headers).is_some() {
        return Err(to_home());
    }
    let served = matches!(pages.0.setup.stage(), Stage::Started);
    Err(match pages.0.door.enter(token, &base, served) {
        Entry::Welcome(cookie) => {
            let mut response = to_home();
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            response
        }
        Entry::Used => message(
            StatusCode::FORBIDDEN,
            "This link was used already",
            "A set-up link lets one browser in, once.",
            "octoswarm has just printed a new one where it was started. With it this browser takes over.",
        ),
        Entry::Spent => message(
            StatusCode::FORBIDDEN,
            "This link was used already",
            "The App is made and served, so octoswarm makes no new link.",
            "Go on in the browser that made the App; all that is left can also be done on GitHub's own pages.",
        ),
        Entry::Wrong => stranger(),
    })
}

async fn show(pages: &SetUpPages, session: &Session, note: Option<String>) -> Response {
    match pages.0.setup.stage() {
        Stage::Asking => {
            let config = pages.0.setup.config();
            let server = config.web_url.clone().filter(|url| url != "https://github.com");
            let form = Form {
                on_server: server.is_some(),
                server: server.unwrap_or_default(),
                webhook: config.public_url.clone().filter(|url| url.starts_with("https://")).unwrap_or_default(),
                ..Form::empty(session.form.clone())
            };
            page(StatusCode::OK, &form, None)
        }
        Stage::Exchanging => message(
            StatusCode::OK,
            "One moment",
            "GitHub is being asked for the App's keys.",
            "Load this page again in a few seconds.",
        ),
        Stage::Unsaved { name, path, reason } => {
            let text = format!(
                "GitHub made the App “{name}”, and its keys could not be written to {path}: {reason}. \
                 They are kept in this process's memory, and GitHub does not show them a second time."
            );
            let next = "Make room or mend the permissions, then try again. Do not stop octoswarm before that.";
            retry("The App's keys are not saved yet", text, next, session)
        }
        Stage::Unstarted { name, reason } => {
            let text = format!("The App “{name}” is made and saved, and the server could not begin with it: {reason}.");
            let next = "Mend that and try again, or start octoswarm anew: it will find the App.";
            retry("The App is saved, the server waits", text, next, session)
        }
        Stage::Started => match pages.0.setup.status().await {
            Some(status) => page(StatusCode::OK, &StatusPage::new(session.form.clone(), status, note), None),
            None => to_home(),
        },
    }
}

async fn begin(State(pages): Pages, headers: HeaderMap, sent: Sent) -> Response {
    let (session, base, fields) = match pages.admit_form(&headers, sent) {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    if !matches!(pages.0.setup.stage(), Stage::Asking) {
        return to_home();
    }
    let plan = match pages.0.setup.plan(&fields.wish()) {
        Ok(plan) => plan,
        Err(wrong) => return page(StatusCode::UNPROCESSABLE_ENTITY, &fields.form(session.form, wrong), None),
    };
    let redirect = format!("{base}/setup/created");
    let made =
        plan.manifest(&redirect).and_then(|manifest| Ok((pages.0.setup.begin(&session.id, plan.clone())?, manifest)));
    let (state, manifest) = match made {
        Ok(made) => made,
        Err(error) => return failed(&error),
    };
    let listed = |key: &str| manifest.get(key).cloned().unwrap_or_default();
    let permissions = listed("default_permissions").as_object().cloned().unwrap_or_default().into_iter();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let next = Continue {
        action: plan.action(&state),
        manifest: manifest.to_string(),
        host: plan.host().to_owned(),
        name: plan.name.clone(),
        owner: plan.organisation.clone(),
        hook_url: (!plan.poll).then(|| plan.hook_url.clone()),
        public: plan.public,
        accounts: plan.accounts.clone(),
        permissions: permissions.map(|(name, level)| (name.replace('_', " "), word(&level))).collect(),
        events: listed("default_events").as_array().into_iter().flatten().map(word).collect(),
        web_url: plan.web_url.clone(),
    };
    page(StatusCode::OK, &next, Some(&plan.web_url))
}

/// GitHub sends the browser here.
async fn created(State(pages): Pages, headers: HeaderMap, Query(back): Query<Back>) -> Response {
    let session = match pages.admit(&headers) {
        Ok((session, _)) => session,
        Err(response) => return response,
    };
    let (state, code) = (back.state.unwrap_or_default(), back.code.unwrap_or_default());
    match pages.0.setup.arrived(&session.id, &state, &code).await {
        Ok(()) => to_home(),
        Err(error) => failed(&error),
    }
}

async fn save(State(pages): Pages, headers: HeaderMap, sent: Sent) -> Response {
    match pages.admit_form(&headers, sent) {
        Ok(_) => {
            pages.0.setup.finish().await;
            to_home()
        }
        Err(response) => response,
    }
}

async fn labels(State(pages): Pages, headers: HeaderMap, sent: Sent) -> Response {
    let session = match pages.admit_form(&headers, sent) {
        Ok((session, ..)) => session,
        Err(response) => return response,
    };
    match pages.0.setup.offer_labels().await {
        Ok(()) => to_home(),
        Err(error) => show(&pages, &session, Some(error.chain())).await,
    }
}

async fn redeliver(State(pages): Pages, headers: HeaderMap, sent: Sent) -> Response {
    let (session, _, fields) = match pages.admit_form(&headers, sent) {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let Some(delivery) = fields.delivery else { return to_home() };
    match pages.0.setup.redeliver(delivery).await {
        Ok(()) => to_home(),
        Err(error) => show(&pages, &session, Some(error.chain())).await,
    }
}

async fn finish(State(pages): Pages, headers: HeaderMap, sent: Sent) -> Response {
    if let Err(response) = pages.admit_form(&headers, sent) {
        return response;
    }
    if !matches!(pages.0.setup.stage(), Stage::Started) {
        return to_home();
    }
    pages.0.door.close();
    message(
        StatusCode::OK,
        "Set-up is done",
        "octoswarm is at work, and these pages are closed.",
        "You can close this tab. After a restart octoswarm finds the App by itself.",
    )
}

impl Fields {
    /// What is hidden behind another choice does not count.
    fn wish(&self) -> Wish {
        let when = |chosen: bool, text: &str| if chosen { text.to_owned() } else { String::new() };
        Wish {
            server: when(self.github == "server", if self.server.trim().is_empty() { "-" } else { &self.server }),
            organisation: when(
                self.owner == "organisation",
                if self.organisation.trim().is_empty() { "-" } else { &self.organisation },
            ),
            name: self.name.clone(),
            webhook: (self.reach != "poll").then(|| self.webhook.clone()),
            public: self.public.is_some(),
            accounts: when(self.public.is_some(), &self.accounts),
        }
    }

    fn form(self, form: String, wrong: Vec<Wrong>) -> Form {
        let mut mistakes = Mistakes::default();
        for Wrong { field, why } in wrong {
            let place = match field {
                Field::Server => &mut mistakes.server,
                Field::Organisation => &mut mistakes.organisation,
                Field::Name => &mut mistakes.name,
                Field::Webhook => &mut mistakes.webhook,
                Field::Accounts => &mut mistakes.accounts,
            };
            *place = Some(why);
        }
        Form {
            on_server: self.github == "server",
            server: self.server,
            for_organisation: self.owner == "organisation",
            organisation: self.organisation,
            name: self.name,
            unreachable: self.reach == "poll",
            webhook: self.webhook,
            public: self.public.is_some(),
            accounts: self.accounts,
            wrong: mistakes,
            ..Form::empty(form)
        }
    }
}

/// What went wrong on the way to an App. Nothing is left behind here, so beginning again is always a way on.
fn failed(error: &Error) -> Response {
    let (status, next) = match error {
        Error::State { .. } | Error::Taken { .. } => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "Make room or mend the permissions of that folder, then start again.".to_owned(),
        ),
        Error::Manifest(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Install octoswarm anew.".to_owned()),
        Error::Unknown => (
            StatusCode::BAD_REQUEST,
            "Start again here. If GitHub made an App that nothing was done with, delete it there.".to_owned(),
        ),
        Error::Foreign => {
            (StatusCode::FORBIDDEN, "Go on in the browser where it was begun, or start again here.".to_owned())
        }
        Error::Expired => (
            StatusCode::GONE,
            "Start again; delete the App on GitHub first if it is listed there, since its keys are lost.".to_owned(),
        ),
        Error::NoCode => (StatusCode::BAD_REQUEST, "Start again.".to_owned()),
        Error::Exchange { hint, .. } => (StatusCode::BAD_GATEWAY, sentence(hint.as_deref().unwrap_or("start again"))),
        Error::NoSecret { html_url } => (
            StatusCode::BAD_GATEWAY,
            format!("Deliveries could not be told from forgeries. Delete the App at {html_url} and start again."),
        ),
    };
    let message = Message {
        title: "No App was set up",
        text: sentence(&error.to_string()),
        next,
        again: Some(("/setup", "Start again")),
        form: None,
    };
    page(status, &message, None)
}

/// First letter upper case, full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

fn retry(title: &'static str, text: String, next: &str, session: &Session) -> Response {
    let again = Some(("/setup/save", "Try again"));
    let message = Message { title, text, next: next.to_owned(), again, form: Some(session.form.clone()) };
    page(StatusCode::OK, &message, None)
}

fn message(status: StatusCode, title: &'static str, text: &str, next: &str) -> Response {
    page(status, &Message { title, text: text.to_owned(), next: next.to_owned(), again: None, form: None }, None)
}

fn stranger() -> Response {
    message(
        StatusCode::FORBIDDEN,
        "octoswarm waits to be set up",
        "These pages open with a link that octoswarm printed where it was started.",
        "Look there, in the terminal, the service's journal or the container's log, for the line that begins with “set up octoswarm”.",
    )
}

fn foreign_name(public: bool) -> Response {
    const TITLE: &str = "octoswarm does not know itself by this name";
    if public {
        return message(
            StatusCode::MISDIRECTED_REQUEST,
            TITLE,
            "Set-up answers to the public address alone that octoswarm was started with.",
            "Use that address, and let the proxy in front of this server pass the Host header on as it came.",
        );
    }
    message(
        StatusCode::MISDIRECTED_REQUEST,
        TITLE,
        "Set-up answers to numbers and to localhost, so that no other page can reach it by pointing a name here.",
        "Use the server's number, or start octoswarm with OCTOSWARM_PUBLIC_URL set to the address you use.",
    )
}

fn gone() -> Response {
    message(
        StatusCode::NOT_FOUND,
        "octoswarm is set up",
        "There is nothing to set up here any more.",
        "You can close this tab.",
    )
}

fn refused(status: StatusCode, text: &str) -> Response {
    let text = sentence(text);
    let message = Message {
        title: "That was not done",
        text,
        next: "Go back to the set-up page and try it from there.".to_owned(),
        again: Some(("/setup", "To the set-up page")),
        form: None,
    };
    page(status, &message, None)
}

/// Seen again by GET, so that loading the page anew repeats nothing.
fn to_home() -> Response {
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, "/setup")]).into_response();
    guard(&mut response);
    response
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("assets/style.css"))
}

async fn script() -> Response {
    asset("text/javascript; charset=utf-8", include_str!("assets/page.js"))
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    guard(&mut response);
    response
}
