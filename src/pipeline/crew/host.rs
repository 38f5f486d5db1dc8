//! The agents of this process at their mailboxes: an assignment is accepted or rejected at once, and worked on beside the
//! inbox (S3.25).

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::policy::{Inside, adjust, may_pass};
use super::table::{News, Work};
use super::{pulse, validator, words};
use crate::agent::{self, Context, DynAgent};
use crate::artifact::AgentError;
use crate::artifact::exchange::{AgentInput, AgentOutput};
use crate::mailbox::content::Acceptance;
use crate::mailbox::{self, AgentName, Claim, Content, Envelope};

/// How long a loop waits after its folder could not be read.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// Runs every loop until told to stop; what they spawned ends with them.
pub(super) async fn serve(desk: Arc<Desk>, stop: CancellationToken) {
    desk.clear_inputs().await;
    let mut loops = JoinSet::new();
    for agent in AgentName::ALL.into_iter().filter(|agent| desk.is_hosted(*agent)) {
        let (desk, stop) = (desk.clone(), stop.clone());
        loops.spawn(async move { attend(&desk, agent, &stop, handle).await });
    }
    {
        let (desk, stop) = (desk.clone(), stop.clone());
        loops.spawn(async move { attend(&desk, AgentName::ValidatorAgent, &stop, validator::handle).await });
    }
    {
        let (desk, stop) = (desk.clone(), stop.clone());
        loops.spawn(async move { attend(&desk, AgentName::ProductManager, &stop, super::assigned::route).await });
    }
    loops.spawn(pulse::beat(desk, stop));
    while let Some(ended) = loops.join_next().await {
        if let Err(panic) = ended.map_err(tokio::task::JoinError::try_into_panic)
            && let Ok(panic) = panic
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Hands every message of an inbox to `handle`, which keeps it short and spawns the rest.
async fn attend<H, F>(desk: &Arc<Desk>, agent: AgentName, stop: &CancellationToken, handle: H)
where
    H: Fn(Arc<Desk>, AgentName, Claim) -> F,
    F: Future<Output = Option<Spawned>>,
{
    let mut spawned = JoinSet::new();
    let mut mailbox = loop {
        match desk.bus.mailbox(agent).await {
            Ok(mailbox) => break mailbox,
            Err(error) => desk.troubled(agent, &error),
        }
        tokio::select! {
            () = sleep(AFTER_TROUBLE) => {}
            () = stop.cancelled() => return,
        }
    };
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = spawned.join_next() => continue,
            () = mailbox.wait() => {}
        }
        loop {
            match mailbox.claim().await {
                Ok(Some(claim)) => {
                    desk.well(agent);
                    if let Some(work) = handle(desk.clone(), agent, claim).await {
                        spawned.spawn(work);
                    }
                }
                Ok(None) => {
                    desk.well(agent);
                    break;
                }
                Err(error) => {
                    desk.troubled(agent, &error);
                    tokio::select! {
                        () = sleep(AFTER_TROUBLE) => {}
                        () = stop.cancelled() => return,
                    }
                    break;
                }
            }
        }
    }
}

/// What a handler wants done beside the inbox.
pub(super) type Spawned = futures::future::BoxFuture<'static, ()>;

/// A message for an agent of this process.
async fn handle(desk: Arc<Desk>, me: AgentName, claim: Claim) -> Option<Spawned> {
    let envelope = claim.envelope().clone();
    let Content::TaskAssignment(_) = claim.content() else {
        tracing::debug!(message.id = %envelope.message_id, agent = %me, "a message that asks for nothing was put away");
        desk.acked(claim.ack().await);
        return None;
    };
    match desk.table.begin(&envelope.message_id, me) {
        Some(work) => Some(Box::pin(async move { work_on(&desk, me, claim, envelope, work).await })),
        None => {
            let reason = "no run of this server waits for this task: it was left by one that has ended, or the server did \
                          not assign it. Agents of octoswarm work for its runs alone; start one to have it done";
            tracing::info!(message.id = %envelope.message_id, agent = %me, "an assignment that belongs to no run was rejected");
            let no = words::acceptance(&envelope, Acceptance::Rejected, desk.load(), desk.bus.clock(), Some(reason));
            desk.send_or_tell(envelope.answer(no)).await;
            desk.acked(claim.ack().await);
            None
        }
    }
}

async fn work_on(desk: &Arc<Desk>, me: AgentName, claim: Claim, envelope: Envelope, work: Work) {
    let now = desk.slots.clone().try_acquire_owned();
    let queued = now.is_err();
    let said = async {
        let status = if queued { Acceptance::Queued } else { Acceptance::Accepted };
        let yes = words::acceptance(&envelope, status, desk.load(), desk.bus.clock(), None);
        desk.send_or_tell(envelope.answer(yes)).await;
        desk.acked(claim.ack().await);
    };
    let began = async {
        let permit = match now {
            Ok(permit) => Ok(permit),
            Err(_) => desk.slots.clone().acquire_owned().await,
        };
        let began = Instant::now();
        let done =
            invoke(&work.cx, work.agent.as_ref(), &work.input, work.inside.as_ref(), Some((desk, &envelope))).await;
        drop(permit);
        (done, began.elapsed())
    };
    let ((), (done, took)) = tokio::join!(said, began);
    desk.stats.ended(&done, desk.bus.clock());
    let answer = match done {
        Ok(output) => words::result(desk, &envelope, &work, &output, took).await,
        Err(error) => {
            let report = words::report(&envelope, &error.report(work.agent.role()));
            desk.table.failed(&envelope.message_id, error);
            Ok(report)
        }
    };
    let sent = match answer {
        Ok(draft) => desk.send(draft).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = sent {
        desk.troubled(me, &error);
        let lost = News::Lost(crate::stdx::error::chain(&error));
        let _nobody_waits = desk.table.tell(&envelope.message_id, me, lost);
    }
}

/// One invocation of an agent of this process, with the attempts that its own policy allows inside it; whoever `asked` by a
/// message hears of them. A panic is an error of the agent's.
pub(super) async fn invoke(
    cx: &Context,
    agent: &dyn DynAgent,
    input: &AgentInput,
    inside: Option<&Inside>,
    asked: Option<(&Arc<Desk>, &Envelope)>,
) -> Result<AgentOutput, agent::Error> {
    let mut simpler = None;
    for failed in 1.. {
        let input = simpler.as_ref().unwrap_or(input);
        let work = AssertUnwindSafe(agent.execute(cx, input)).catch_unwind().await;
        let error = match work {
            Ok(Ok(output)) => return Ok(output),
            Ok(Err(error)) => error,
            Err(panic) => agent::Error::Reported(panicked(agent, panic.as_ref())),
        };
        let report = error.report(agent.role());
        let Some(inside) = inside.filter(|inside| failed <= inside.retries && may_pass(inside.retry, &error, &report))
        else {
            return Err(error);
        };
        words::log_retry(agent.role(), &report, failed);
        let mut next = input.clone();
        adjust(&mut next, inside.retry, &report);
        simpler = Some(next);
        if let Some((desk, envelope)) = asked {
            desk.send_or_tell(envelope.answer(words::another_attempt(envelope, agent.role(), &report, failed))).await;
        }
        tokio::select! {
            () = sleep(inside.backoff.after(failed)) => {}
            () = cx.cancel.cancelled() => return Err(agent::Error::Cancelled),
        }
    }
    unreachable!("attempts are counted to the end of their policy")
}

fn panicked(agent: &dyn DynAgent, panic: &(dyn Any + Send)) -> AgentError {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    AgentError {
        message: format!("the agent stopped unexpectedly: {}", said.unwrap_or("without a message")),
        code: "panicked".to_owned(),
        agent_name: agent.role().name().to_owned(),
        // It may have met a loaded machine.
        recoverable: true,
    }
}

impl Desk {
    /// Puts a message away; what cannot be put away comes again and is dealt with then.
    pub(super) fn acked(&self, done: Result<(), mailbox::Error>) {
        if let Err(error) = done {
            tracing::warn!(error = %crate::stdx::error::chain(&error), "a message could not be put away");
        }
    }
}
