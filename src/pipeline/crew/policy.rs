//! How often an agent is asked again, for which failures, after which wait, and how long it may take.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::Settings;
use crate::agent::{self, DynAgent, Registry, Retry, Role};
use crate::artifact::exchange::{AgentConfig, AgentInput};
use crate::artifact::{AgentError, ErrorCode};
use crate::mailbox::AgentName;
use crate::stdx::backoff::Backoff;

/// The rules for one order.
pub(super) struct Plan {
    /// Further invocations after the first.
    retries: u32,
    pub(super) retry: Retry,
    /// Of one invocation; of all of them together where `whole` is set.
    deadline: Duration,
    /// A reviewer: its own policy counts inside one invocation, master's decides on the next, and one deadline bounds the
    /// product (A0.1).
    pub(super) inside: Option<Inside>,
    backoff: Backoff,
    pub(super) config: AgentConfig,
}

/// An agent's own attempts within one invocation.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    pub(super) retries: u32,
    pub(super) retry: Retry,
    pub(super) backoff: Backoff,
}

/// Where an order stands.
pub(super) struct Attempts {
    ends: Option<Instant>,
    deadline: Duration,
    failed: u32,
    /// Outputs that were not valid.
    invalid: u32,
}

/// The settings that hold for a role: the run's over the role's over those of the worker that does it.
pub(super) fn config(settings: &Settings, role: Role, worker: Option<AgentName>, of_run: &AgentConfig) -> AgentConfig {
    let of = |name: Option<AgentName>| name.and_then(|name| settings.agents.get(&name)).map(|one| &one.config);
    let named = of(AgentName::parse(role.name()));
    let layers: Vec<&AgentConfig> = [Some(of_run), named, of(worker)].into_iter().flatten().collect();
    AgentConfig {
        enabled: layers.iter().find_map(|layer| layer.enabled),
        model: layers.iter().find_map(|layer| layer.model.clone()),
        temperature: layers.iter().find_map(|layer| layer.temperature),
        max_tokens: layers.iter().find_map(|layer| layer.max_tokens),
        timeout: layers.iter().find_map(|layer| layer.timeout),
        retries: layers.iter().find_map(|layer| layer.retries),
    }
}

/// What the agent is told of its settings: what only the orchestrator keeps is not among it.
pub(super) fn told(config: &AgentConfig) -> Option<BTreeMap<String, Value>> {
    let AgentConfig { model, temperature, max_tokens, .. } = config.clone();
    let said = AgentConfig { model, temperature, max_tokens, ..AgentConfig::default() };
    match serde_json::to_value(said) {
        Ok(Value::Object(map)) if !map.is_empty() => Some(map.into_iter().collect()),
        _ => None,
    }
}

impl Plan {
    pub(super) fn of(settings: &Settings, agent: &dyn DynAgent, registry: &Registry, of_run: &AgentConfig) -> Self {
        let role = agent.role();
        let config = config(settings, role, None, of_run);
        let own = agent.retry_policy();
        let retries = config.retries.unwrap_or(own.retries);
        let deadline = config.timeout.map_or(own.deadline, Duration::from_millis);
        let backoff = settings.backoff.clone();
        if !is_reviewer(role) {
            return Self { retries, retry: own.retry, deadline, inside: None, backoff, config };
        }
        let master = registry.get(Role::Master).retry_policy();
        let of_master = self::config(settings, Role::Master, None, &AgentConfig::default());
        Self {
            retries: of_master.retries.unwrap_or(master.retries),
            retry: master.retry,
            deadline,
            inside: Some(Inside { retries, retry: own.retry, backoff: backoff.clone() }),
            backoff,
            config,
        }
    }

    pub(super) fn begin(&self) -> Attempts {
        let ends = self.inside.as_ref().map(|_| Instant::now() + self.deadline);
        Attempts { ends, deadline: self.deadline, failed: 0, invalid: 0 }
    }
}

/// One of the four whom master delegates to (S0.2).
fn is_reviewer(role: Role) -> bool {
    matches!(role, Role::Documentation | Role::Debt | Role::Improvement | Role::Critical)
}

impl Attempts {
    /// How long the next attempt may take.
    pub(super) fn deadline(&self) -> Duration {
        self.ends.map_or(self.deadline, |ends| ends.saturating_duration_since(Instant::now()))
    }

    /// How long to wait before the next attempt, if there is to be one.
    pub(super) fn again(&mut self, plan: &Plan, error: &agent::Error, report: &AgentError) -> Option<Duration> {
        self.failed += 1;
        self.invalid += u32::from(report.code == ErrorCode::OutputValidationFailed.as_str());
        if self.failed > plan.retries || self.invalid > 1 || !may_pass(plan.retry, error, report) {
            return None;
        }
        let wait = plan.backoff.after(self.failed);
        self.ends.is_none_or(|ends| Instant::now() + wait < ends).then_some(wait)
    }
}

/// Whether such a failure may be gone the next time. Bad input stays bad (A0.1), and who cancelled does not want another.
pub(super) fn may_pass(retry: Retry, error: &agent::Error, report: &AgentError) -> bool {
    if matches!(error, agent::Error::Cancelled) || report.code == ErrorCode::InvalidInput.as_str() {
        return false;
    }
    match retry {
        Retry::Transient => error.is_transient(),
        Retry::Recoverable | Retry::Simplified => report.recoverable,
    }
}

/// What the next attempt is given otherwise: less to do (S0.8), or nothing from a cache that failed (A1.8).
pub(super) fn adjust(input: &mut AgentInput, retry: Retry, report: &AgentError) {
    if retry == Retry::Simplified {
        input.config.get_or_insert_default().insert("simplified".to_owned(), Value::Bool(true));
    }
    if report.code == ErrorCode::CacheError.as_str() {
        input.use_cache = Some(false);
    }
}
