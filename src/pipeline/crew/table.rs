//! What is under way in this process, by the ids of its messages: what cannot travel in a file waits here for whoever claims
//! the message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::policy::Inside;
use crate::agent::{self, Context, DynAgent};
use crate::artifact::exchange::{AgentInput, AgentOutput};
use crate::mailbox::content::{ErrorReport, TaskAcceptance, TaskProgress, ValidationResult};
use crate::mailbox::{AgentName, Claim, MessageId};

/// A task as the agent of this process needs it.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) agent: Arc<dyn DynAgent>,
    pub(super) cx: Context,
    pub(super) input: Arc<AgentInput>,
    pub(super) inside: Option<Inside>,
    pub(super) since: Instant,
}

/// A result as the validator needs it.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) agent: Arc<dyn DynAgent>,
    pub(super) cx: Context,
    pub(super) input: Arc<AgentInput>,
    pub(super) output: Arc<AgentOutput>,
}

/// What whoever waits for a task hears of it.
pub(super) enum News {
    Accepted(TaskAcceptance),
    Progress(TaskProgress),
    /// Its content is a research result. Whoever gets it acknowledges it or lets it fail.
    Result(Claim),
    Reported(ErrorReport),
    Validated(ValidationResult),
    /// The message with the news could not be sent.
    Lost(String),
}

/// What became of a message for somebody who waits.
pub(super) enum Told {
    Yes,
    /// Nobody waits for it, or not any more.
    Late(News),
    /// The task was given to another.
    Stranger(News, AgentName),
}

/// A task that waits for its result, and a validation that waits for its verdict.
struct Row {
    /// Whose answer counts.
    whose: AgentName,
    /// Taken out by the host when it begins.
    work: Option<Work>,
    /// The failure as it was, beside the report that tells of it.
    error: Option<agent::Error>,
    news: mpsc::UnboundedSender<News>,
}

#[derive(Default)]
pub(super) struct Table {
    rows: Mutex<HashMap<MessageId, Row>>,
    cases: Mutex<HashMap<MessageId, Case>>,
}

impl Table {
    /// Makes room for the answers to a message that is about to be sent. They are heard until the ticket is dropped.
    pub(super) fn open(self: &Arc<Self>, id: &MessageId, whose: AgentName, work: Option<Work>) -> Ticket {
        let (news, hear) = mpsc::unbounded_channel();
        self.rows().insert(id.clone(), Row { whose, work, error: None, news });
        Ticket { table: self.clone(), id: id.clone(), hear }
    }

    /// The work behind an assignment that came to this agent: once, and then no more.
    pub(super) fn begin(&self, id: &MessageId, whose: AgentName) -> Option<Work> {
        self.rows().get_mut(id).filter(|row| row.whose == whose)?.work.take()
    }

    /// Keeps a failure as it is for whoever waits for the task.
    pub(super) fn failed(&self, id: &MessageId, error: agent::Error) {
        if let Some(row) = self.rows().get_mut(id) {
            row.error = Some(error);
        }
    }

    pub(super) fn tell(&self, id: &MessageId, from: AgentName, news: News) -> Told {
        match self.rows().get(id) {
            Some(row) if row.whose != from => Told::Stranger(news, row.whose),
            Some(row) => row.news.send(news).map_or_else(|lost| Told::Late(lost.0), |()| Told::Yes),
            None => Told::Late(news),
        }
    }

    /// Shows a result to the validator until the guard is dropped.
    pub(super) fn show(self: &Arc<Self>, result: &MessageId, case: Case) -> Shown {
        self.cases().insert(result.clone(), case);
        Shown { table: self.clone(), id: result.clone() }
    }

    pub(super) fn case(&self, result: &MessageId) -> Option<Case> {
        self.cases().get(result).cloned()
    }

    /// How many tasks wait for their results.
    pub(super) fn len(&self) -> usize {
        self.rows().len()
    }

    // What is behind the locks is sound at every line.
    fn rows(&self) -> MutexGuard<'_, HashMap<MessageId, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cases(&self) -> MutexGuard<'_, HashMap<MessageId, Case>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody waits.
pub(super) struct Ticket {
    table: Arc<Table>,
    id: MessageId,
    hear: mpsc::UnboundedReceiver<News>,
}

impl Ticket {
    pub(super) fn id(&self) -> &MessageId {
        &self.id
    }

    pub(super) async fn hear(&mut self) -> News {
        // The sender stands in the table as long as the ticket does.
        self.hear.recv().await.unwrap_or_else(|| News::Lost("nobody answers any more".to_owned()))
    }

    /// The failure that a report tells of, if the agent is one of this process.
    pub(super) fn error(&self) -> Option<agent::Error> {
        self.table.rows().get_mut(&self.id)?.error.take()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.table.rows().remove(&self.id);
    }
}

/// A result lies before the validator.
pub(super) struct Shown {
    table: Arc<Table>,
    id: MessageId,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.table.cases().remove(&self.id);
    }
}
