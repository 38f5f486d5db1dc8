//! Set-up: a person without an App gets one from its manifest, and the server goes on with it.
//!
//! Each GitHub answer that holds the App's keys is kept until it is on the disk: a full disk or a closed browser loses no App.

mod plan;
mod status;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

pub use plan::{Field, NAME_LIMIT, Plan, Wish, Wrong};
pub use status::{DeliveryCheck, Label, LabelState, Place, Status};

use super::App;
use crate::config::{Registration, ServerConfig, SetUpConfig};
use crate::domain::{Clock, Millis, Secret};
use crate::github;
use crate::stdx::{file, token};
use crate::store::{self, Lock, Store};

/// GitHub wants the code back within an hour of the first step.
const PATIENCE: Millis = 3_600_000;
/// Begun and never finished; more than anybody needs, and a bound for what a session can make us keep.
const UNFINISHED: usize = 32;

/// Why set-up could not go on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be written: {reason}")]
    State { path: String, reason: String },
    /// Two would make two Apps, and the second would write over the keys of the first.
    #[error("{message}; {hint}")]
    Taken { message: String, hint: &'static str },
    #[error("the App's manifest is damaged: {0}")]
    Manifest(String),
    /// Nothing of that name was begun here, or it was used already.
    #[error("this answer from GitHub belongs to nothing that was begun here")]
    Unknown,
    #[error("it was begun in another browser, or with another link")]
    Foreign,
    #[error("it was begun more than an hour ago, and GitHub keeps the App's keys for an hour only")]
    Expired,
    #[error("GitHub sent no usable code along")]
    NoCode,
    #[error("{message}")]
    Exchange { message: String, hint: Option<String> },
    #[error("GitHub made the App, but gave it no webhook secret")]
    NoSecret { html_url: String },
}

/// Where set-up stands.
#[derive(Debug, Clone)]
pub enum Stage {
    /// No App yet.
    Asking,
    /// GitHub is being asked for the keys.
    Exchanging,
    /// GitHub made the App, its keys are in memory, and the file could not be written.
    Unsaved {
        name: String,
        path: String,
        reason: String,
    },
    /// The App is on the disk, and the server could not begin with it.
    Unstarted {
        name: String,
        reason: String,
    },
    Started,
}

/// One set-up. Cheap to clone.
#[derive(Clone)]
pub struct SetUp(Arc<Inner>);

struct Inner {
    config: SetUpConfig,
    clock: Clock,
    now: Mutex<Now>,
    started: watch::Sender<Option<Started>>,
    labels: status::Labels,
    finishing: tokio::sync::Mutex<()>,
    /// The state folder is ours alone from the start until the server's own store takes it over.
    lock: Mutex<Option<Lock>>,
}

#[derive(Default)]
struct Now {
    /// What was begun, by the `state` that GitHub brings back.
    begun: HashMap<String, Begun>,
    exchanging: bool,
    made: Option<Made>,
    served_at: Option<Millis>,
}

struct Begun {
    session: String,
    plan: Plan,
    at: Millis,
}

/// An App that exists on GitHub.
#[derive(Clone)]
struct Made {
    registration: Registration,
    plan: Plan,
    owner: Option<String>,
    saved: bool,
    /// Why it is not saved, or not started.
    trouble: Option<String>,
}

/// What the server runs with once there is an App.
#[derive(Clone)]
pub struct Started {
    pub app: App,
    pub config: ServerConfig,
}

impl SetUp {
    /// # Errors
    /// The state folder cannot be written, or is somebody else's: better known before GitHub makes an App.
    pub fn new(config: SetUpConfig, clock: Clock) -> Result<Self, Error> {
        check_state(&config.state)?;
        let path = || config.state.display().to_string();
        let lock = Store::reserve(&config.state).map_err(|error| match error {
            error @ store::Error::Locked { .. } => {
                Error::Taken { message: error.to_string(), hint: error.hint().unwrap_or_default() }
            }
            error => Error::State { path: path(), reason: error.to_string() },
        })?;
        Ok(Self(Arc::new(Inner {
            config,
            clock,
            now: Mutex::default(),
            started: watch::Sender::new(None),
            labels: status::Labels::default(),
            finishing: tokio::sync::Mutex::default(),
            lock: Mutex::new(Some(lock)),
        })))
    }

    pub fn config(&self) -> &SetUpConfig {
        &self.0.config
    }

    pub fn stage(&self) -> Stage {
        let now = self.now();
        match &now.made {
            None if now.exchanging => Stage::Exchanging,
            None => Stage::Asking,
            Some(_) if self.0.started.borrow().is_some() => Stage::Started,
            Some(made) => {
                let name = made.registration.slug.clone();
                let reason = made.trouble.clone().unwrap_or_else(|| "it is being done at this moment".to_owned());
                if made.saved {
                    Stage::Unstarted { name, reason }
                } else {
                    Stage::Unsaved { name, path: self.keys(), reason }
                }
            }
        }
    }

    /// What the form says, checked, also against what is configured: an App of another GitHub could not start here.
    ///
    /// # Errors
    /// Everything that is wrong, field by field.
    pub fn plan(&self, wish: &Wish) -> Result<Plan, Vec<Wrong>> {
        let plan = wish.check()?;
        let SetUpConfig { web_url, api_url, .. } = &self.0.config;
        for (name, configured, planned) in [("web_url", web_url, &plan.web_url), ("api_url", api_url, &plan.api_url)] {
            if let Some(configured) = configured.as_ref().filter(|configured| *configured != planned) {
                let why = format!(
                    "this server is configured with `{name}` {configured}, and this one has {planned}: choose that GitHub, \
                     or take `{name}` out of the configuration and start octoswarm anew"
                );
                return Err(vec![Wrong { field: Field::Server, why }]);
            }
        }
        Ok(plan)
    }

    /// The App is served, and its person had the time to see it work.
    pub fn is_over(&self) -> bool {
        self.now().served_at.is_some_and(|at| self.0.clock.now() - at >= PATIENCE)
    }

    /// Where the App's keys are, or shall be.
    fn keys(&self) -> String {
        let path = Registration::path(&self.0.config.state);
        std::path::absolute(&path).unwrap_or(path).display().to_string()
    }

    /// Remembers a plan for one browser; the answer is the `state` that goes to GitHub and comes back.
    ///
    /// # Errors
    /// The state folder cannot be written any more.
    pub fn begin(&self, session: &str, plan: Plan) -> Result<String, Error> {
        check_state(&self.0.config.state)?;
        let at = self.0.clock.now();
        let state = token::fresh();
        let mut now = self.now();
        now.begun.retain(|_, begun| at - begun.at < PATIENCE);
        if now.begun.len() >= UNFINISHED
            && let Some(oldest) = now.begun.iter().min_by_key(|(_, begun)| begun.at).map(|(state, _)| state.clone())
        {
            now.begun.remove(&oldest);
        }
        now.begun.insert(state.clone(), Begun { session: session.to_owned(), plan, at });
        Ok(state)
    }

    /// GitHub sent the browser back. The code is exchanged once, whatever becomes of the browser meanwhile; coming again
    /// when there is an App already does nothing.
    ///
    /// # Errors
    /// Why there is no App; nothing is half done then. What goes wrong after GitHub gave the keys shows in [`Self::stage`].
    pub async fn arrived(&self, session: &str, state: &str, code: &str) -> Result<(), Error> {
        let plan = {
            let mut now = self.now();
            if now.made.is_some() || now.exchanging {
                return Ok(());
            }
            let begun = now.begun.get(state).ok_or(Error::Unknown)?;
            if !token::same(&begun.session, session) {
                return Err(Error::Foreign);
            }
            if !code_fits(code) {
                return Err(Error::NoCode);
            }
            let begun = now.begun.remove(state).ok_or(Error::Unknown)?;
            if self.0.clock.now() - begun.at >= PATIENCE {
                return Err(Error::Expired);
            }
            now.exchanging = true;
            begun.plan
        };
        let (me, code) = (self.clone(), code.to_owned());
        let done = apart(move || async move {
            let made = me.exchange(&code, plan).await;
            me.made(made)?;
            me.save_and_start().await;
            Ok(())
        });
        done.await.unwrap_or_else(|_| {
            self.now().exchanging = false;
            Err(Error::Exchange { message: "the exchange of the code broke off".to_owned(), hint: None })
        })
    }

    fn made(&self, made: Result<Made, Error>) -> Result<(), Error> {
        let mut now = self.now();
        now.exchanging = false;
        now.made = Some(made?);
        Ok(())
    }

    async fn exchange(&self, code: &str, plan: Plan) -> Result<Made, Error> {
        let app = github::create_app(&plan.api_url, &plan.web_url, code, &self.0.clock)
            .await
            .map_err(|error| refused(&error, &plan))?;
        let secret = match (app.webhook_secret, plan.poll) {
            (Some(secret), _) => secret,
            // Nobody signs what is taken from the log.
            (None, true) => Secret::new(token::fresh()),
            (None, false) => return Err(Error::NoSecret { html_url: app.html_url }),
        };
        tracing::info!(app.id = app.id, app.slug = app.slug, "GitHub made the App");
        Ok(Made {
            registration: Registration {
                app_id: app.id,
                slug: app.slug,
                html_url: app.html_url,
                api_url: plan.api_url.clone(),
                web_url: plan.web_url.clone(),
                private_key: app.private_key,
                webhook_secret: secret,
                poll: plan.poll,
                accounts: plan.accounts.clone(),
            },
            owner: app.owner,
            plan,
            saved: false,
            trouble: None,
        })
    }

    /// Saves the App and begins with it; again, when it went wrong before. How it went shows in [`Self::stage`].
    pub async fn finish(&self) {
        let me = self.clone();
        if apart(move || async move { me.save_and_start().await }).await.is_err() {
            tracing::error!("saving the App broke off");
        }
    }

    async fn save_and_start(&self) {
        // Two presses of the button are one attempt.
        let _one = self.0.finishing.lock().await;
        let made = self.now().made.clone();
        let Some(made) = made.filter(|_| self.0.started.borrow().is_none()) else { return };
        if !made.saved
            && let Err(error) = made.registration.save(&self.0.config.state)
        {
            tracing::error!("the App's keys could not be saved; they are kept in memory: {error}");
            return self.trouble(false, error.to_string());
        }
        // The App is on the disk: whoever comes now finds it.
        drop(self.0.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
        match self.start(&made).await {
            Ok(started) => {
                self.trouble(true, String::new());
                self.now().served_at = Some(self.0.clock.now());
                self.0.started.send_replace(Some(started));
            }
            Err(reason) => {
                tracing::error!("the App is saved, but the server could not begin with it: {reason}");
                self.trouble(true, reason);
            }
        }
    }

    async fn start(&self, made: &Made) -> Result<Started, String> {
        let config = ServerConfig::load(&self.0.config.overrides).map_err(|faults| {
            let told = faults.iter().map(|fault| match fault.hint() {
                Some(hint) => format!("{fault} ({hint})"),
                None => fault.to_string(),
            });
            told.collect::<Vec<_>>().join("; ")
        })?;
        let want = &made.registration;
        if config.app_id != want.app_id || config.api_url != want.api_url || config.web_url != want.web_url {
            return Err(format!(
                "the configuration names another App or another GitHub ({}): take `api_url`, `web_url` and `app_id` out of it",
                config.web_url
            ));
        }
        let app = App::new(&config).await.map_err(|error| error.chain())?;
        Ok(Started { app, config })
    }

    fn trouble(&self, saved: bool, reason: String) {
        if let Some(made) = &mut self.now().made {
            made.saved = saved;
            made.trouble = (!reason.is_empty()).then_some(reason);
        }
    }

    /// Resolves once there is an App to serve.
    pub async fn started(&self) -> Started {
        let mut told = self.0.started.subscribe();
        loop {
            if let Some(started) = &*told.borrow_and_update() {
                return started.clone();
            }
            if told.changed().await.is_err() {
                // The sender lives as long as we do.
                std::future::pending::<()>().await;
            }
        }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// On a thread of its own: the request's future dies with the browser's connection, and the keys are shown only once. What
/// is done there also waits for the disk.
async fn apart<T, F>(work: impl FnOnce() -> F + Send + 'static) -> Result<T, tokio::task::JoinError>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work())).await
}

/// Tries it: permissions alone do not tell of a full or read-only disk.
fn check_state(state: &Path) -> Result<(), Error> {
    let tried = file::private_dir(state).and_then(|()| {
        let mut probe = tempfile::NamedTempFile::new_in(state)?;
        std::io::Write::write_all(&mut probe, &[0; 4096])?;
        probe.as_file().sync_all()
    });
    tried.map_err(|error| Error::State { path: state.display().to_string(), reason: error.to_string() })
}

/// It becomes part of an address.
fn code_fits(code: &str) -> bool {
    (1..=200).contains(&code.len()) && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn refused(error: &github::Error, plan: &Plan) -> Error {
    use github::Error as No;
    let host = plan.host();
    let apps = match &plan.organisation {
        None => format!("{}/settings/apps", plan.web_url),
        Some(login) => format!("{}/organizations/{login}/settings/apps", plan.web_url),
    };
    let (message, hint) = match error.root() {
        No::NotFound { .. } => (
            format!("{host} does not know the code: it was used already, or is older than an hour"),
            format!(
                "start again; if the App is listed at {apps}, delete it there first, since its keys are shown only once"
            ),
        ),
        No::Network { .. } | No::Timeout { .. } | No::Server { .. } | No::Decode { .. } | No::Redirected { .. } => (
            format!("the keys could not be fetched from {host}: {error}"),
            format!(
                "check that this server reaches {}, then start again; if the App is listed at {apps}, delete it there first",
                plan.api_url
            ),
        ),
        _ => (error.to_string(), format!("start again; if the App is listed at {apps}, delete it there first")),
    };
    Error::Exchange { message, hint: Some(hint) }
}
