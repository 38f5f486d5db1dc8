//! The output validator at its mailbox: looks at results, and says whether the next step may build on them.

use std::sync::Arc;

use tokio::time::Instant;

use super::desk::Desk;
use super::host::Spawned;
use super::table::Case;
use super::{judge, words};
use crate::artifact::exchange::ValidationResult;
use crate::mailbox::content::ValidationRequest;
use crate::mailbox::{AgentName, Claim, Content, Envelope};

pub(super) async fn handle(desk: Arc<Desk>, me: AgentName, claim: Claim) -> Option<Spawned> {
    let envelope = claim.envelope().clone();
    let request = match claim.content() {
        Content::ValidationRequest(request) => request.clone(),
        _ => {
            tracing::debug!(message.id = %envelope.message_id, agent = %me, "a message that asks for nothing was put away");
            desk.acked(claim.ack().await);
            return None;
        }
    };
    Some(Box::pin(async move {
        let acked = async { desk.acked(claim.ack().await) };
        tokio::join!(acked, look(&desk, &envelope, request));
    }))
}

async fn look(desk: &Desk, envelope: &Envelope, request: ValidationRequest) {
    let began = Instant::now();
    let mut verdicts: Vec<(Option<Case>, ValidationResult)> = Vec::new();
    for id in &request.research_results_to_validate {
        let Some(case) = desk.table.case(id) else {
            verdicts.push((None, words::unknown_result(id)));
            continue;
        };
        match judge::judge(&case.cx, case.agent.as_ref(), &case.input, &case.output).await {
            Ok(verdict) => verdicts.push((Some(case), verdict)),
            Err(error) => {
                let report = words::report(envelope, &error.report(case.agent.role()));
                desk.table.failed(&envelope.message_id, error);
                return desk.send_or_tell(report).await;
            }
        }
    }
    let verdict = words::validation_result(envelope, &request, &verdicts, began.elapsed());
    desk.send_or_tell(envelope.answer(verdict)).await;
}
