//! `octoswarm serve`: mounts the doors, works the queue, stops in order.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Context;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::interrupt::{Interrupt, Interrupts};
use super::{EXIT_USAGE, Exit, Failure, args, config, metrics, report, start_logging};
use crate::api;
use crate::app::desk::{self, Desk};
use crate::app::setup::{SetUp, Started};
use crate::app::{self, App};
use crate::config::{Api, ApiServer, Resolution, ServerConfig, SetUpConfig, Start};
use crate::dashboard::{Door, SetUpPages};
use crate::domain::{Clock, Ready};
use crate::mcp::{self, Roots};
use crate::stdx::net;
use crate::webhook;

const LOG_FILTER: &str = "info,sqlx=warn,hyper=warn,octocrab=warn,reqwest=warn";

pub async fn cmd_serve(args: args::Serve) -> Exit {
    if args.until_input_ends {
        std::thread::spawn(end_with_input);
    }
    let overrides = args.server.into();
    if args.api_only {
        return match ApiServer::load(&overrides) {
            Ok(config) => serve_api(config).await,
            Err(faults) => {
                config::tell(&faults);
                Ok(ExitCode::from(EXIT_USAGE))
            }
        };
    }
    let resolution = Resolution::load(&overrides);
    match resolution.start {
        Some(Start::Configured(config)) => serve(*config).await,
        Some(Start::SetUp(config)) => set_up(*config).await,
        None => {
            config::tell(&resolution.faults);
            Ok(ExitCode::from(EXIT_USAGE))
        }
    }
}

/// Whoever holds the other end and dies, of whatever, closes it. What was acknowledged is on the disk.
fn end_with_input() {
    // Nobody writes anything; an input that cannot be read has no other end.
    let _ended = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    std::process::exit(0);
}

/// The usual case: there is an App.
async fn serve(config: ServerConfig) -> Exit {
    start_logging(config.log, LOG_FILTER);
    let app = App::new(&config)
        .await
        .map_err(|error| if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) })?;
    let shutdown = CancellationToken::new();
    let listener = bind(config.listen).await?;
    let doors = doors(&app, &config, listener.local_addr()?, &shutdown).await?;
    announce(&listener, &shutdown)?;
    tokio::join!(webhook::serve_http(listener, doors, shutdown.clone(), limits()), app.work(shutdown.clone()));
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// No App, and none wanted: uploads and their reviews.
async fn serve_api(config: ApiServer) -> Exit {
    start_logging(config.log, LOG_FILTER);
    let limits_of_desk = desk::Limits { upload: config.api.max_upload, ..desk::Limits::default() };
    let desk = Desk::open(&config.state, config.workers, config.retention, limits_of_desk).await?;
    let shutdown = CancellationToken::new();
    let listener = bind(config.listen).await?;
    let guard = api::Guard::new(&config.api, listener.local_addr()?);
    let programs = for_programs(&desk, &config.api, &config.state, &guard, &shutdown)?;
    let doors = desk_health(desk.clone()).merge(programs);
    let doors = api::nothing_else(doors, &guard);
    announce(&listener, &shutdown)?;
    tokio::join!(webhook::serve_http(listener, doors, shutdown.clone(), limits()), desk.work(shutdown.clone()));
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

fn limits() -> webhook::Limits {
    webhook::Limits { patient: api::PATIENT.to_vec(), ..webhook::Limits::default() }
}

/// The HTTP API and the MCP server, behind one guard.
fn for_programs(
    desk: &Desk,
    config: &Api,
    state: &Path,
    guard: &api::Guard,
    shutdown: &CancellationToken,
) -> Result<Router, Failure> {
    let roots = Roots::new(&config.roots).map_err(|error| Failure::Usage(error.into()))?;
    let host = mcp::Host::serving(roots, state.to_owned(), desk.clone());
    let tools = guard.protect(mcp::router(host, shutdown));
    Ok(api::router(desk.clone(), guard, shutdown.clone()).merge(tools))
}

/// No App is named anywhere: one can be made in the browser, and then the same process goes on with it.
async fn set_up(config: SetUpConfig) -> Exit {
    start_logging(config.log, LOG_FILTER);
    let setup = SetUp::new(config.clone(), Clock::system()).map_err(|error| Failure::Failed(error.into()))?;
    let shutdown = CancellationToken::new();
    let listener = bind(config.listen).await?;
    let address = listener.local_addr()?;
    announce(&listener, &shutdown)?;
    let door = Door::new(listener.local_addr()?, config.public_url.as_deref(), |link| {
        report::note(&format!("set up octoswarm: open {link}"));
    });
    report::note("no GitHub App is configured yet: it is made in the browser, in a few minutes");
    door.announce();
    if !config.listen.ip().is_loopback() && config.public_url.is_none() {
        let here = net::reachable(listener.local_addr()?);
        report::note(
            "Opened from another machine, the link would go over the network in clear text, and whoever reads it there can take \
             the App.",
        );
        report::note(&format!(
            "Run there `ssh -L {}:{here} THIS-SERVER` instead, and open the link there with localhost as its host; or set \
             OCTOSWARM_PUBLIC_URL to the https address of a proxy in front of this server.",
            here.port()
        ));
    }
    let pages = SetUpPages::new(setup.clone(), door);
    let mounted = Mounted::new(waiting().merge(pages.router()));
    let work = async {
        let Started { app, config } = tokio::select! {
            started = setup.started() => started,
            () = shutdown.cancelled() => return Ok(()),
        };
        // The pages stay until their person is done with them.
        mounted.replace(doors(&app, &config, address, &shutdown).await?.merge(pages.router()));
        tracing::info!("set up: the App is served from now on");
        app.work(shutdown.clone()).await;
        Ok::<(), Failure>(())
    };
    let http = webhook::serve_http(listener, mounted.router(), shutdown.clone(), limits());
    let ((), worked) = tokio::join!(http, async {
        let worked = work.await;
        if worked.is_err() {
            shutdown.cancel();
        }
        worked
    });
    worked?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

async fn bind(listen: SocketAddr) -> Result<TcpListener, Failure> {
    Ok(TcpListener::bind(listen).await.with_context(|| format!("cannot listen on {listen}"))?)
}

fn announce(listener: &TcpListener, shutdown: &CancellationToken) -> Result<(), Failure> {
    let stop = stop_on_signal(shutdown.clone())?;
    // The one line on standard output: where we are, for whoever started us with port 0.
    report::line(&format!("listening on http://{}", listener.local_addr()?));
    tokio::spawn(stop);
    Ok(())
}

/// What a server with an App answers.
async fn doors(
    app: &App,
    config: &ServerConfig,
    listen: SocketAddr,
    shutdown: &CancellationToken,
) -> Result<Router, Failure> {
    let mut router = metrics::mount(health(app.clone()), app, &config.metrics, shutdown).await?;
    // Who polls may have no secret: then there is no door that would need one.
    if !config.webhook_secrets.is_empty() {
        let door = webhook::State::new(app.store().clone(), config.webhook_secrets.clone(), app::HANDLED)?;
        router = router.merge(webhook::router(door));
    }
    match &config.api {
        Some(api) => {
            let guard = api::Guard::new(api, listen);
            router = router.merge(for_programs(app.desk(), api, &config.state, &guard, shutdown)?);
        }
        None => tracing::info!("no token is set in [api]: the HTTP API is not served (docs/api.md)"),
    }
    if config.tuning.poll {
        tracing::info!(
            seconds = config.tuning.reconcile.unwrap_or_default().as_secs(),
            "deliveries are taken from the App's delivery log; the App's webhook must be active, whatever its address"
        );
    }
    Ok(router)
}

/// What a server without an App answers beside the set-up pages. GitHub keeps what it could not deliver, and is asked for it.
fn waiting() -> Router {
    let not_yet = || async {
        let reason = Some("no GitHub App is set up yet".to_owned());
        let body = Ready { ready: false, waits_for_set_up: true, reason, trouble: None };
        (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "60")], Json(body))
    };
    Router::new()
        .route("/", get(|| async { Redirect::to("/setup") }))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(not_yet))
        .route("/webhook", any(not_yet))
}

/// A router that can be exchanged while connections are open.
#[derive(Clone)]
struct Mounted(Arc<RwLock<Router>>);

impl Mounted {
    fn new(router: Router) -> Self {
        Self(Arc::new(RwLock::new(router)))
    }

    fn replace(&self, router: Router) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = router;
    }

    fn router(&self) -> Router {
        Router::new().fallback(Self::pass).with_state(self.clone())
    }

    async fn pass(State(mounted): State<Self>, request: Request) -> Response {
        let router = mounted.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        router.oneshot(request).await.into_response()
    }
}

/// `/healthz`: the process answers. `/readyz`: a delivery could be stored now.
fn health(app: App) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route(
            "/readyz",
            get(|State(app): State<App>| async move {
                let ready = app.ready().await;
                let status = if ready.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                (status, Json(ready)).into_response()
            }),
        )
        .with_state(app)
}

/// The same for a server without an App: an upload could be kept now.
fn desk_health(desk: Desk) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route(
            "/readyz",
            get(|State(desk): State<Desk>| async move {
                let ready = desk.ready().await;
                let status = if ready.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                (status, Json(ready)).into_response()
            }),
        )
        .with_state(desk)
}

/// The first signal asks for an orderly stop; a second one ends the process at once. SIGHUP is such a signal only where a
/// terminal can go away; a daemon is asked by it to read its configuration again, which needs a restart here.
fn stop_on_signal(shutdown: CancellationToken) -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupts = Interrupts::catch()?;
    let attended = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    Ok(async move {
        let mut next = async || {
            while interrupts.next().await == Interrupt::HungUp && !attended {
                tracing::warn!(
                    "SIGHUP changes nothing: the configuration is read at the start; restart the server for another one"
                );
            }
        };
        next().await;
        tracing::info!("stopping: running jobs get a moment to finish, the rest waits for the next start");
        shutdown.cancel();
        next().await;
        std::process::exit(130);
    })
}
