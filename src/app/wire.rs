//! Builds all parts from the configuration; the only place that does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bench::Bench;
use super::desk::{self, Desk};
use super::{App, Error, parsers};
use crate::agent::Registry;
use crate::artifact::Shelf;
use crate::artifact::exchange::AgentConfig;
use crate::config::{self, ServerConfig};
use crate::domain::Clock;
use crate::github::{self, Github};
use crate::mailbox::{self, AgentName, Bus};
use crate::meter::Meter;
use crate::pipeline::{self, AgentSettings, Crew, Swarms};
use crate::publish::Publisher;
use crate::queue::{self, Queue};
use crate::store::{self, Store};
use crate::workspace::{Limits, Mirrors};

impl App {
    /// Opens the state, prepares the clients. Nothing is sent yet.
    ///
    /// # Errors
    /// When the state cannot be opened or is in use, or the key is not a private key.
    pub async fn new(config: &ServerConfig) -> Result<Self, Error> {
        Self::with_clock(config, Clock::system()).await
    }

    /// The same by another clock.
    ///
    /// # Errors
    /// As [`App::new`] says.
    pub async fn with_clock(config: &ServerConfig, clock: Clock) -> Result<Self, Error> {
        let started_at = clock.now();
        parsers::install().map_err(Error::Parsers)?;
        let meter = Arc::new(Meter::default());
        let github = Github::new(github::Options {
            api_base: config.api_url.clone(),
            web_base: config.web_url.clone(),
            write_pace: config.tuning.write_pace,
            clock: clock.clone(),
            meter: meter.clone(),
            ..github::Options::new(config.app_id, config.private_key.clone())
        })?;
        let store =
            Store::open_with(&config.state, clock.clone(), store::Options { meter, ..store::Options::default() })
                .await?;
        for run in store.interrupted_runs().await? {
            // Litter is no reason not to start.
            if let Err(error) = Shelf::new(config.state.join("runs").join(run.to_string())).remove_unfinished() {
                tracing::warn!("what run {run} left unfinished could not be removed: {error}");
            }
        }
        let swarms = Swarms::new(config.state.join("swarms"), clock.clone());
        if let Err(error) = swarms.remove_unfinished() {
            tracing::warn!("what swarms left unfinished could not be removed: {error}");
        }
        store.end_interrupted_runs("the server stopped in the middle of it").await?;
        let queue =
            Queue::new(store.clone(), queue::Options { workers: config.tuning.workers, ..queue::Options::default() });
        let queue = Arc::new(queue);
        let mut limits = desk::Limits::default();
        if let Some(api) = &config.api {
            limits.upload = api.max_upload;
        }
        let desk = Desk::over(store.clone(), Arc::clone(&queue), config.tuning.retention, limits);
        let bus = Bus::open(config.state.join("messages"), clock.clone(), mailbox::Options::default())?;
        let settings = pipeline::Settings {
            agents: agents(&config.agents),
            // The widest flow has four steps side by side.
            capacity: 4 * config.tuning.workers,
            ..pipeline::Settings::default()
        };
        Ok(Self {
            bench: Bench::new(&config.sandbox, config.state.join("work")),
            crew: Crew::over(bus, Registry::builtin(), settings, config.state.join("inputs")),
            swarms,
            publisher: Arc::new(Publisher::new(store.clone(), config.tuning.settle, clock)),
            mirrors: Arc::new(Mirrors::new(config.state.join("mirrors"), Limits::default())?),
            identity: Arc::default(),
            desk,
            bot: Arc::default(),
            breaker: Arc::default(),
            reconcile_every: config.tuning.reconcile,
            accounts: config.accounts.as_slice().into(),
            poll: config.tuning.poll,
            started_at,
            scraped: Arc::default(),
            on_its_way: i64::try_from(2 * config.tuning.settle.as_millis()).unwrap_or(i64::MAX),
            lost: Arc::default(),
            wake: Arc::default(),
            scout_every: config.tuning.scout,
            scouting: Arc::default(),
            queue,
            store,
            github,
        })
    }
}

/// An operator's words as the crew takes them, by mailbox.
pub(super) fn agents(said: &BTreeMap<String, config::Agent>) -> BTreeMap<AgentName, AgentSettings> {
    said.iter().filter_map(|(name, agent)| Some((AgentName::parse(name)?, settings(agent)))).collect()
}

fn settings(agent: &config::Agent) -> AgentSettings {
    let config::Agent { outside, enabled, model, temperature, max_tokens, timeout_ms, retries } = agent.clone();
    let config = AgentConfig { enabled, model, temperature, max_tokens, timeout: timeout_ms, retries };
    AgentSettings { outside, config }
}
