//! Who does a step: the agents of this process or programs beside it, called in place or by messages. Attempts, waits,
//! deadlines and validation are the same either way; only the carriage differs.

mod assigned;
mod desk;
mod host;
mod judge;
mod outside;
mod policy;
mod progress;
mod pulse;
mod table;
mod validator;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::agent::{self, Context, DynAgent, Registry, Role};
use crate::artifact::AgentError;
use crate::artifact::exchange::{AgentConfig, AgentInput, AgentOutput, IssueSeverity};
use crate::domain::RunId;
use crate::mailbox::{AgentName, Bus, Priority};
use crate::stdx::backoff::Backoff;

use desk::Desk;
use policy::Plan;
pub use progress::{Lines, Progress};

/// The agents that a flow may ask, and how they are reached. Clones share everything.
#[derive(Clone)]
pub struct Crew(Arc<Inner>);

struct Inner {
    registry: Registry,
    settings: Settings,
    /// None: agents are called in place.
    desk: Option<Arc<Desk>>,
}

/// How the crew works.
#[derive(Debug, Clone)]
pub struct Settings {
    /// By the name of their mailbox: a role's, or that of a worker of the pool.
    pub agents: BTreeMap<AgentName, AgentSettings>,
    /// Between two attempts at a step (A0.2).
    pub backoff: Backoff,
    /// How many tasks the agents of this process work on at once; what comes beyond waits.
    pub capacity: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            agents: BTreeMap::new(),
            backoff: Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60), jitter: true },
            capacity: 16,
        }
    }
}

/// Whose tasks either worker may do (S3.20).
const POOL: [AgentName; 2] = [AgentName::ResearchAgent1, AgentName::ResearchAgent2];

fn is_pooled(role: Role) -> bool {
    matches!(role, Role::Analyst | Role::Explorer)
}

impl Settings {
    /// Whether a program beside this one serves that mailbox.
    pub fn is_outside(&self, name: AgentName) -> bool {
        self.agents.get(&name).is_some_and(|agent| agent.outside)
    }

    /// Where a role's tasks go: the role's own mailbox, or those of the workers of the pool that are on.
    pub fn mailboxes(&self, role: Role) -> Vec<AgentName> {
        let named = AgentName::parse(role.name());
        if is_pooled(role) && !named.is_some_and(|name| self.is_outside(name)) {
            let of = |name: &AgentName| self.agents.get(name).and_then(|agent| agent.config.enabled);
            let on: Vec<AgentName> = POOL.into_iter().filter(|name| of(name) != Some(false)).collect();
            if !on.is_empty() {
                return on;
            }
        }
        named.into_iter().collect()
    }

    /// An agent's settings; they stand over its own.
    pub fn of(&self, role: Role) -> AgentConfig {
        policy::config(self, role, None, &AgentConfig::default())
    }
}

/// One agent's settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentSettings {
    /// A program beside this one serves its mailbox; this process does not.
    pub outside: bool,
    pub config: AgentConfig,
}

/// A step that somebody is to do.
#[derive(Debug, Clone)]
pub struct Order {
    pub role: Role,
    pub input: AgentInput,
    /// Of this run; it stands over the crew's own settings.
    pub config: AgentConfig,
    pub occasion: Occasion,
    /// For what a program outside says while it works.
    pub progress: Progress,
}

/// What a step is done for.
#[derive(Debug, Clone)]
pub struct Occasion {
    pub run: Option<RunId>,
    /// `owner/repo#7`; without it the facts tell the repository.
    pub focus: Option<String>,
    pub priority: Priority,
    /// When what the run works on was fetched, or a little later.
    pub since: Instant,
}

impl Default for Occasion {
    fn default() -> Self {
        Self { run: None, focus: None, priority: Priority::Normal, since: Instant::now() }
    }
}

/// What came of an order.
#[derive(Debug)]
pub struct Asked {
    /// A valid output, or the error of the last attempt.
    pub result: Result<AgentOutput, agent::Error>,
    /// Why the attempts before the last one failed, in their order.
    pub failures: Vec<AgentError>,
}

impl Crew {
    /// Calls the agents in place. Nothing is written anywhere.
    pub fn direct(registry: Registry) -> Self {
        Self::direct_with(registry, Settings::default())
    }

    /// The same with other settings; `outside` means nothing here.
    pub fn direct_with(registry: Registry, settings: Settings) -> Self {
        Self(Arc::new(Inner { registry, settings, desk: None }))
    }

    /// Dispatches over the bus. Agents answer while [`Crew::serve`] runs; `inputs` is the folder where programs outside find
    /// what they work on.
    pub fn over(bus: Bus, registry: Registry, settings: Settings, inputs: PathBuf) -> Self {
        let desk = Arc::new(Desk::new(bus, inputs, settings.clone()));
        Self(Arc::new(Inner { registry, settings, desk: Some(desk) }))
    }

    /// Hosts the agents of this process, routes what comes for the orchestrator, validates, gives signs of life and tidies up,
    /// until told to stop. What is at work then is dropped where it is. Over at once without a bus.
    pub async fn serve(&self, stop: CancellationToken) {
        if let Some(desk) = &self.0.desk {
            host::serve(desk.clone(), stop).await;
        }
    }

    /// Why messages do not get through at the moment; nothing while they do.
    pub fn trouble(&self) -> Option<String> {
        self.0.desk.as_ref()?.trouble()
    }

    /// Whether a role's step is done at all (S1.19).
    pub fn is_enabled(&self, role: Role, of_run: &AgentConfig) -> bool {
        policy::config(&self.0.settings, role, None, of_run).enabled != Some(false)
    }

    /// What an agent is told of its settings.
    pub(super) fn told(&self, role: Role, of_run: &AgentConfig) -> Option<BTreeMap<String, Value>> {
        policy::told(&policy::config(&self.0.settings, role, None, of_run))
    }

    /// Part of a step's key. Which version a program outside has is not known; its results are not taken for ours.
    pub(super) fn version(&self, role: Role) -> String {
        let version = self.agent(role).version();
        match &self.0.desk {
            Some(desk) if desk.may_go_outside(role) => format!("{version}+outside"),
            _ => version.to_owned(),
        }
    }

    pub(super) fn agent(&self, role: Role) -> &Arc<dyn DynAgent> {
        self.0.registry.get(role)
    }

    /// Tells the orchestrator's mailbox that a run begins: for the record (S3.15), nobody waits for it.
    pub(super) async fn announce(&self, cx: &Context, flow: &'static str, occasion: &Occasion) {
        if let Some(desk) = &self.0.desk {
            desk.announce(cx, flow, occasion).await;
        }
    }

    /// Has a step done: as often as its agent's policy allows, within its deadline. The output is valid.
    pub async fn ask(&self, cx: &Context, order: Order) -> Asked {
        let Inner { registry, settings, desk } = &*self.0;
        let agent = registry.get(order.role);
        let plan = Plan::of(settings, agent.as_ref(), registry, &order.config);
        let mut attempts = plan.begin();
        let mut order = order;
        order.input.config = policy::told(&plan.config);
        let (mut failures, mut avoid) = (Vec::new(), None);
        loop {
            let asked = Instant::now();
            let (worker, done) = match desk {
                Some(desk) => desk.attempt(cx, agent, &order, &plan, attempts.deadline(), avoid).await,
                None => (None, in_place(cx, agent, &order.input, &plan, attempts.deadline()).await),
            };
            let error = match done {
                Ok(output) => {
                    words::log_done(&order, worker, agent.as_ref(), &output, failures.len(), asked.elapsed());
                    return Asked { result: Ok(output), failures };
                }
                Err(error) => error,
            };
            let report = error.report(order.role);
            words::log_failed(&order, worker, &report, failures.len(), asked.elapsed());
            let wait = attempts.again(&plan, &error, &report).filter(|_| !cx.cancel.is_cancelled());
            let Some(wait) = wait else { return Asked { result: Err(error), failures } };
            policy::adjust(&mut order.input, plan.retry, &report);
            failures.push(report);
            avoid = worker;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = cx.cancel.cancelled() => return Asked { result: Err(agent::Error::Cancelled), failures },
            }
        }
    }
}

/// One attempt without messages.
async fn in_place(
    cx: &Context,
    agent: &Arc<dyn DynAgent>,
    input: &AgentInput,
    plan: &Plan,
    deadline: Duration,
) -> Result<AgentOutput, agent::Error> {
    let cx = Context { cancel: cx.cancel.child_token(), ..cx.clone() };
    let _ended = cx.cancel.clone().drop_guard();
    if let Some(why) = host::cannot(agent.as_ref(), input) {
        return Err(agent::Error::Reported(words::rejected(agent.role(), &why, false)));
    }
    let work = async {
        let output = host::invoke(&cx, agent.as_ref(), input, plan.inside.as_ref(), None).await?;
        let verdict = judge::judge(&cx, agent.as_ref(), input, &output).await?;
        let errors: Vec<String> =
            verdict.issues.into_iter().filter(|i| i.severity == IssueSeverity::Error).map(|i| i.message).collect();
        if errors.is_empty() { Ok(output) } else { Err(invalid(agent.role(), &errors)) }
    };
    match timeout(deadline, work).await {
        Ok(done) => done,
        Err(_) => Err(agent::Error::Late { role: agent.role().name(), after: deadline }),
    }
}

fn invalid(role: Role, faults: &[String]) -> agent::Error {
    agent::Error::Invalid { role: role.name(), faults: faults.join("; ") }
}
