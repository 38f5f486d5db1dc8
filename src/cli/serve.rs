//! `octoswarm serve`: mounts the doors, works the queue, stops in order.

use std::process::ExitCode;

use anyhow::Context;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Exit, Failure, args, metrics, report, start_logging};
use crate::app::{self, App};
use crate::config::{Overrides, ServerConfig};
use crate::webhook;

pub async fn cmd_serve(args: args::Serve) -> Exit {
    let overrides = Overrides { file: args.config, listen: args.listen, state: args.state, poll: args.poll };
    let config = ServerConfig::load(&overrides).map_err(|e| Failure::Usage(e.into()))?;
    start_logging(config.log, "info,sqlx=warn,hyper=warn,octocrab=warn,reqwest=warn");
    let app = App::new(&config)
        .await
        .map_err(|error| if error.is_usage() { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) })?;
    let shutdown = CancellationToken::new();
    let mut router = metrics::mount(health(app.clone()), &app, &config.metrics, &shutdown).await?;
    // Who polls may have no secret: then there is no door that would need one.
    if !config.webhook_secrets.is_empty() {
        let door = webhook::State::new(app.store().clone(), config.webhook_secrets.clone(), app::HANDLED)?;
        router = router.merge(webhook::router(door));
    }
    if config.tuning.poll {
        tracing::info!(
            seconds = config.tuning.reconcile.unwrap_or_default().as_secs(),
            "deliveries are taken from the App's delivery log; the App's webhook must be active, whatever its address"
        );
    }
    let listener =
        TcpListener::bind(config.listen).await.with_context(|| format!("cannot listen on {}", config.listen))?;
    // The one line on standard output: where we are, for whoever started us with port 0.
    report::line(&format!("listening on http://{}", listener.local_addr()?));

    tokio::spawn(stop_on_signal(shutdown.clone())?);
    tokio::join!(
        webhook::serve_http(listener, router, shutdown.clone(), webhook::Limits::default()),
        app.work(shutdown.clone()),
    );
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
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

/// The first signal asks for an orderly stop; a second one ends the process at once.
fn stop_on_signal(shutdown: CancellationToken) -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let mut next = async || tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () };
        next().await;
        tracing::info!("stopping: running jobs get a moment to finish, the rest waits for the next start");
        shutdown.cancel();
        next().await;
        std::process::exit(130);
    })
}
