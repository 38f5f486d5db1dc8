//! The orchestrator's mailbox: every answer goes to whoever waits for it, and what nobody waits for is put away.

use std::sync::Arc;

use super::desk::Desk;
use super::host::Spawned;
use super::table::{News, Told};
use crate::mailbox::content::Acceptance;
use crate::mailbox::{AgentName, Claim, Content, MessageId};

pub(super) async fn route(desk: Arc<Desk>, _me: AgentName, claim: Claim) -> Option<Spawned> {
    let from = claim.envelope().from;
    let (task, news) = match claim.content().clone() {
        Content::TaskAcceptance(said) => (Some(said.task_id.clone()), News::Accepted(said)),
        Content::TaskProgress(said) => (Some(said.task_id.clone()), News::Progress(said)),
        Content::ErrorReport(said) => {
            (said.related_task_id.clone().or_else(|| claim.envelope().reply_to.clone()), News::Reported(said))
        }
        Content::ValidationResult(said) => (Some(said.validation_id.clone()), News::Validated(said)),
        Content::ResearchResult(said) => {
            // Whoever waits for it puts it away, or lets it fail.
            match desk.table.tell(&said.task_id, from, News::Result(claim)) {
                Told::Yes => {}
                Told::Late(News::Result(claim)) => {
                    tracing::info!(task.id = %said.task_id, agent = %from, "a result came too late, or for no task");
                    desk.acked(claim.ack().await);
                }
                Told::Stranger(News::Result(claim), whose) => {
                    desk.acked(claim.fail(strange(&said.task_id, from, whose), Vec::new()).await);
                }
                Told::Late(_) | Told::Stranger(..) => {}
            }
            return None;
        }
        Content::TaskAssignment(said) if from == AgentName::Webhook => {
            tracing::info!(
                message.id = %claim.envelope().message_id, task.kind = said.task_type, focus = said.focus_area,
                run.id = said.special_instructions.as_deref().unwrap_or_default(), "a run begins"
            );
            (None, News::Lost(String::new()))
        }
        Content::TaskAssignment(_) => {
            let reason = "the orchestrator takes its tasks from GitHub alone";
            let no = super::words::acceptance(
                claim.envelope(),
                Acceptance::Rejected,
                desk.load(),
                desk.bus.clock(),
                Some(reason),
            );
            desk.send_or_tell(claim.envelope().answer(no)).await;
            (None, News::Lost(String::new()))
        }
        Content::ValidationRequest(_) | Content::Heartbeat(_) | Content::SystemStatus(_) => {
            (None, News::Lost(String::new()))
        }
    };
    if let Some(task) = task {
        match desk.table.tell(&task, from, news) {
            Told::Yes => {}
            Told::Late(News::Reported(report)) => {
                tracing::info!(task.id = %task, agent = %from, "nobody waits for this report: {}", report.error_message);
            }
            Told::Late(_) => tracing::debug!(task.id = %task, agent = %from, "an answer for which nobody waits"),
            Told::Stranger(_, whose) => {
                desk.acked(claim.fail(strange(&task, from, whose), Vec::new()).await);
                return None;
            }
        }
    }
    desk.acked(claim.ack().await);
    None
}

fn strange(task: &MessageId, from: AgentName, whose: AgentName) -> String {
    format!("{task} was given to {whose}, and {from} answers")
}
