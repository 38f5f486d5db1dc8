//! The orchestrator's side of a task (S3.19): assign, hear, have the result validated.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::policy::Plan;
use super::pulse::Stats;
use super::table::{Case, News, Table, Ticket, Work};
use super::{Occasion, Order, POOL, Settings, invalid, is_pooled, outside, policy, words};
use crate::agent::{self, Context, DynAgent, Role};
use crate::artifact::exchange::{AgentInput, AgentOutput};
use crate::mailbox::content::{Acceptance, Level, ResearchResult};
use crate::mailbox::{self, AgentName, Bus, Claim, Content, Draft, Envelope, Fraction, MessageId};
use crate::stdx::error::chain;

/// An id that is drawn is taken only when another program counts under our name.
const DRAWS: usize = 1000;
const NO_ID: &str = "every id that was drawn is taken; another program counts under the code `pm`";

/// What the loops of a crew share.
pub(super) struct Desk {
    pub(super) bus: Bus,
    pub(super) table: Arc<Table>,
    pub(super) stats: Stats,
    /// Who may work now.
    pub(super) slots: Arc<Semaphore>,
    /// Where programs outside find their inputs, and leave what is too large for a message.
    inputs: PathBuf,
    settings: Settings,
    /// Tasks that each worker of the pool has.
    loads: Mutex<[usize; 2]>,
    /// Why each mailbox cannot be read or written at the moment.
    troubles: Mutex<BTreeMap<AgentName, String>>,
}

impl Desk {
    pub(super) fn new(bus: Bus, inputs: PathBuf, settings: Settings) -> Self {
        Self {
            bus,
            table: Arc::default(),
            stats: Stats::default(),
            slots: Arc::new(Semaphore::new(settings.capacity.max(1))),
            inputs,
            settings,
            loads: Mutex::default(),
            troubles: Mutex::default(),
        }
    }

    /// Whether an agent of this process serves that mailbox.
    pub(super) fn is_hosted(&self, name: AgentName) -> bool {
        let plays = POOL.contains(&name) || Role::all().any(|role| role.name() == name.as_str());
        plays && !self.is_outside(name)
    }

    pub(super) fn is_outside(&self, name: AgentName) -> bool {
        self.settings.is_outside(name)
    }

    /// Whether a program outside may be asked for that role's work.
    pub(super) fn may_go_outside(&self, role: Role) -> bool {
        self.settings.mailboxes(role).into_iter().any(|name| self.is_outside(name))
    }

    pub(super) fn inputs(&self) -> &Path {
        &self.inputs
    }

    /// The share of this process that is taken.
    pub(super) fn load(&self) -> Fraction {
        let all = self.settings.capacity.max(1);
        let taken = all.saturating_sub(self.slots.available_permits());
        Fraction::new(taken as f64 / all as f64).unwrap_or(Fraction::ZERO)
    }

    /// One attempt at a step, and who was asked.
    pub(super) async fn attempt(
        &self,
        cx: &Context,
        agent: &Arc<dyn DynAgent>,
        order: &Order,
        plan: &Plan,
        deadline: Duration,
        avoid: Option<AgentName>,
    ) -> (Option<AgentName>, Result<AgentOutput, agent::Error>) {
        let Some(seat) = self.seat(order.role, avoid) else {
            let why = format!("the {} agent has no mailbox", order.role.name());
            return (None, Err(agent::Error::Setting(why)));
        };
        let worker = seat.name;
        let own = policy::config(&self.settings, order.role, Some(worker), &order.config).timeout;
        let deadline = own.map_or(deadline, |own| deadline.min(Duration::from_millis(own)));
        // The work ends with whoever waits for it.
        let cx = Context { cancel: cx.cancel.child_token(), ..cx.clone() };
        let _ended = cx.cancel.clone().drop_guard();
        let cancel = cx.cancel.clone();
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(agent::Error::Cancelled),
            done = timeout_at(Instant::now() + deadline, self.task(cx, agent, order, plan, worker, deadline)) => {
                done.unwrap_or(Err(agent::Error::Late { role: order.role.name(), after: deadline }))
            }
        };
        (Some(worker), done)
    }

    async fn task(
        &self,
        cx: Context,
        agent: &Arc<dyn DynAgent>,
        order: &Order,
        plan: &Plan,
        worker: AgentName,
        deadline: Duration,
    ) -> Result<AgentOutput, agent::Error> {
        let is_outside = self.is_outside(worker);
        let input = Arc::new(order.input.clone());
        let work = Work {
            agent: agent.clone(),
            cx: cx.clone(),
            input: input.clone(),
            inside: plan.inside.clone(),
            since: order.occasion.since,
        };
        let brief = if is_outside { Some(outside::input(&cx, agent.as_ref(), &input).await?) } else { None };
        let mut sent = None;
        for _ in 0..DRAWS {
            let id = self.bus.draw(AgentName::ProductManager).await.map_err(|error| self.lost(order.role, &error))?;
            let ticket = self.table.open(&id, worker, (!is_outside).then(|| work.clone()));
            let files = outside::Files::of(&self.inputs, &id);
            if let Some(input) = &brief {
                files.write_input(input).await.map_err(|error| self.unwritten(order.role, &error))?;
            }
            let place = brief.is_some().then(|| files.input());
            let draft = words::assignment(&cx, order, worker, deadline, self.bus.clock(), place).id(id);
            match self.bus.send(draft).await {
                Ok(_) => {
                    sent = Some((ticket, files));
                    break;
                }
                Err(mailbox::Error::Taken { .. }) => {}
                Err(error) => return Err(self.lost(order.role, &error)),
            }
        }
        let Some((mut ticket, _files)) = sent else {
            return Err(agent::Error::Reported(words::bus_error(order.role, NO_ID.to_owned())));
        };
        loop {
            match ticket.hear().await {
                News::Accepted(said) if said.status == Acceptance::Rejected => {
                    let why = said.rejection_reason.unwrap_or_else(|| "it gave no reason".to_owned());
                    let other = is_pooled(order.role);
                    return Err(agent::Error::Reported(words::rejected(order.role, &why, other)));
                }
                News::Accepted(said) => {
                    tracing::debug!(task.id = %ticket.id(), agent = %worker, status = ?said.status, "a task was taken");
                }
                News::Progress(said) => {
                    let (percent, message) = (said.percent.get(), &said.message);
                    tracing::debug!(task.id = %ticket.id(), agent = %worker, percent, "{message}");
                    if is_outside {
                        order.progress.say(percent, message);
                    }
                }
                News::Reported(report) => {
                    let told = || agent::Error::Reported(words::reported(order.role, &report));
                    return Err(ticket.error().unwrap_or_else(told));
                }
                News::Lost(why) => return Err(agent::Error::Reported(words::bus_error(order.role, why))),
                // Nobody validates a task.
                News::Validated(_) => {}
                News::Result(claim) => {
                    let Content::ResearchResult(result) = claim.content().clone() else { continue };
                    return self.judged(&cx, agent, &input, worker, deadline, *claim, &result).await;
                }
            }
        }
    }

    /// The output in a result, validated. The message is put away, into `failed/` where the output cannot be used.
    #[expect(clippy::too_many_arguments, reason = "one step of `task`, split off for reading")]
    async fn judged(
        &self,
        cx: &Context,
        agent: &Arc<dyn DynAgent>,
        input: &Arc<AgentInput>,
        worker: AgentName,
        deadline: Duration,
        claim: Claim,
        result: &ResearchResult,
    ) -> Result<AgentOutput, agent::Error> {
        let role = agent.role();
        let output = if self.is_outside(worker) {
            outside::output(&self.inputs, cx, agent.as_ref(), input, result).await
        } else {
            outside::body(&self.inputs, result).await.and_then(|body| {
                serde_json::from_value::<AgentOutput>(body).map_err(|e| outside::Unfit::Form(vec![e.to_string()]))
            })
        };
        let output = match output {
            Ok(output) => output,
            Err(outside::Unfit::Agent(error)) => {
                self.acked(claim.ack().await);
                return Err(error);
            }
            Err(outside::Unfit::Form(faults)) => return Err(self.refused(role, claim, faults).await),
        };
        let case = Case { agent: agent.clone(), cx: cx.clone(), input: input.clone(), output: Arc::new(output) };
        let result_id = claim.envelope().message_id.clone();
        let _shown = self.table.show(&result_id, case.clone());
        match self.validated(role, &result_id, deadline, claim.envelope()).await {
            Ok(faults) if faults.is_empty() => {
                self.acked(claim.ack().await);
                drop(_shown);
                Ok(Arc::unwrap_or_clone(case.output))
            }
            Ok(faults) => Err(self.refused(role, claim, faults).await),
            Err(error) => {
                self.acked(claim.ack().await);
                Err(error)
            }
        }
    }

    async fn refused(&self, role: Role, claim: Claim, faults: Vec<String>) -> agent::Error {
        let plain: Vec<String> = faults.iter().map(|fault| self.plain(fault)).collect();
        let error = invalid(role, &plain);
        self.acked(claim.fail(error.to_string(), faults).await);
        error
    }

    /// Asks the validator; what it has against the result.
    async fn validated(
        &self,
        role: Role,
        result: &MessageId,
        deadline: Duration,
        about: &Envelope,
    ) -> Result<Vec<String>, agent::Error> {
        let from = AgentName::ProductManager;
        for _ in 0..DRAWS {
            let id = self.bus.draw(from).await.map_err(|error| self.lost(role, &error))?;
            let mut ticket = self.table.open(&id, AgentName::ValidatorAgent, None);
            let request = words::validation_request(result, role, deadline, self.bus.clock());
            let draft = Draft::new(from, AgentName::ValidatorAgent, request).priority(about.priority).id(id);
            match self.bus.send(draft).await {
                Ok(_) => return self.verdict(role, &mut ticket).await,
                Err(mailbox::Error::Taken { .. }) => {}
                Err(error) => return Err(self.lost(role, &error)),
            }
        }
        Err(agent::Error::Reported(words::bus_error(role, NO_ID.to_owned())))
    }

    async fn verdict(&self, role: Role, ticket: &mut Ticket) -> Result<Vec<String>, agent::Error> {
        loop {
            match ticket.hear().await {
                News::Validated(verdict) => {
                    let severe = |level: Level| matches!(level, Level::High | Level::Critical);
                    let bad = verdict.issues_found.into_iter().filter(|issue| severe(issue.severity));
                    return Ok(bad.map(|issue| issue.description).collect());
                }
                News::Reported(report) => {
                    // The validator read the trees as the agent did, and its error counts as the agent's.
                    let told = || agent::Error::Reported(words::reported(role, &report));
                    return Err(ticket.error().unwrap_or_else(told));
                }
                News::Lost(why) => return Err(agent::Error::Reported(words::bus_error(role, why))),
                News::Accepted(_) | News::Progress(_) | News::Result(_) => {}
            }
        }
    }

    /// Whose mailbox a task goes to, and its place there until it has ended.
    fn seat(&self, role: Role, avoid: Option<AgentName>) -> Option<Seat<'_>> {
        let mut loads = self.loads();
        let place = |name: &AgentName| POOL.iter().position(|worker| worker == name);
        let load = |name: &AgentName| place(name).map(|nth| loads[nth]);
        // Who failed is asked again only where there is nobody else.
        let free = self.settings.mailboxes(role).into_iter();
        let name = free.min_by_key(|name| (Some(*name) == avoid, load(name), place(name)))?;
        let nth = place(&name);
        if let Some(nth) = nth {
            loads[nth] += 1;
        }
        Some(Seat { desk: self, name, nth })
    }

    fn loads(&self) -> MutexGuard<'_, [usize; 2]> {
        self.loads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn announce(&self, cx: &Context, flow: &'static str, occasion: &Occasion) {
        self.send_or_tell(words::announcement(cx, flow, occasion, self.bus.clock())).await;
    }

    /// # Errors
    /// The bus's; then its trouble is remembered.
    pub(super) async fn send(&self, draft: Draft) -> Result<Envelope, mailbox::Error> {
        self.bus.send(draft).await
    }

    /// Sends what nobody waits for.
    pub(super) async fn send_or_tell(&self, draft: Draft) {
        if let Err(error) = self.bus.send(draft).await {
            tracing::warn!(error = %chain(&error), "a message could not be sent");
        }
    }

    fn lost(&self, role: Role, error: &mailbox::Error) -> agent::Error {
        self.troubled(AgentName::ProductManager, error);
        agent::Error::Reported(words::bus_error(role, self.plain(&chain(error))))
    }

    fn unwritten(&self, role: Role, error: &std::io::Error) -> agent::Error {
        let why = format!("the input of a program outside cannot be written to {}: {error}", self.inputs.display());
        agent::Error::Reported(words::bus_error(role, self.plain(&why)))
    }

    /// Errors of agents are told on GitHub: where this server keeps its things is nobody's business there.
    pub(super) fn plain(&self, text: &str) -> String {
        match self.inputs.parent().filter(|home| home.is_absolute()) {
            Some(home) => text.replace(&home.display().to_string(), "<state>"),
            None => text.to_owned(),
        }
    }

    pub(super) fn troubled(&self, agent: AgentName, error: &mailbox::Error) {
        let why = chain(error);
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if troubles.insert(agent, why.clone()).as_ref() != Some(&why) {
            tracing::error!(%agent, error = why, "the message bus does not work");
        }
    }

    pub(super) fn well(&self, agent: AgentName) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        if troubles.remove(&agent).is_some() {
            tracing::info!(%agent, "the message bus works again");
        }
    }

    pub(super) fn trouble(&self) -> Option<String> {
        let troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.iter().next().map(|(agent, why)| format!("messages of {agent}: {why}"))
    }

    /// What a former life left for programs outside: nobody will ask for it again.
    pub(super) async fn clear_inputs(&self) {
        if let Err(error) = outside::clear(self.inputs.clone()).await {
            tracing::warn!(%error, "inputs of former runs could not be removed");
        }
    }
}

/// A task's place at a mailbox.
struct Seat<'a> {
    desk: &'a Desk,
    name: AgentName,
    /// In the pool.
    nth: Option<usize>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if let Some(nth) = self.nth {
            let mut loads = self.desk.loads();
            loads[nth] = loads[nth].saturating_sub(1);
        }
    }
}
