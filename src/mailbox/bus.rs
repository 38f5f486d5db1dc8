//! The bus itself: what all parts share, and the calls that others make.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::claim::Claim;
use super::inbox::Known;
use super::layout::Layout;
use super::watch::{Bells, Mailbox, Watch};
use super::{AgentName, Draft, Envelope, Error, MessageId, Swept};
use crate::domain::Clock;
use crate::stdx::file;

#[derive(Debug, Clone)]
pub struct Options {
    /// How this machine is called in the records of claims.
    pub node: String,
    /// How long a message that was handled without success waits; twice as long after each further time.
    pub retry_wait: Duration,
    /// How often a mailbox is looked at without having been woken.
    pub poll: Duration,
    /// Have the system tell of new files. Without it, and where the system cannot, `poll` alone finds them.
    pub watch: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node: "local".to_owned(),
            retry_wait: Duration::from_secs(1),
            poll: Duration::from_millis(250),
            watch: true,
        }
    }
}

/// Sends messages and hands them out. Clones share everything; other processes may use the same folder at the same time.
#[derive(Debug, Clone)]
pub struct Bus(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) layout: Layout,
    pub(super) clock: Clock,
    pub(super) options: Options,
    pub(super) bells: Arc<Bells>,
    pub(super) watch: Mutex<Watch>,
    /// The next number of each sender.
    pub(super) counts: Mutex<HashMap<AgentName, u64>>,
    /// What waits in each inbox, as far as it was read: messages never change.
    pub(super) known: Mutex<HashMap<AgentName, HashMap<MessageId, Known>>>,
    /// Files that were complained about.
    pub(super) warned: Mutex<HashSet<PathBuf>>,
}

impl Bus {
    /// `message_dir` and what is below it is made when it is needed, for its owner alone.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(message_dir: impl Into<PathBuf>, clock: Clock, options: Options) -> Result<Self, Error> {
        let root = message_dir.into();
        file::private_dir(&root).map_err(Error::io("make the folder of messages", &root))?;
        Ok(Self(Arc::new(Inner {
            layout: Layout::new(root),
            clock,
            options,
            bells: Arc::default(),
            watch: Mutex::default(),
            counts: Mutex::default(),
            known: Mutex::default(),
            warned: Mutex::default(),
        })))
    }

    /// Puts a message into its receiver's inbox and a copy into its sender's outbox. What it returns is what was written.
    ///
    /// # Errors
    /// The content is not sound, the message is too large, the receiver's inbox is full or there is none, the id that was
    /// drawn for it is taken, or the disk's.
    /// Nothing was sent then.
    pub async fn send(&self, draft: Draft) -> Result<Envelope, Error> {
        self.blocking(move |inner| inner.send(draft)).await
    }

    /// An id for [`Draft::id`]; one that is not used is a gap in its sender's counting.
    ///
    /// # Errors
    /// The program is stopping.
    pub async fn draw(&self, from: AgentName) -> Result<MessageId, Error> {
        self.blocking(move |inner| Ok(inner.draw(from))).await
    }

    /// What tells the time of its messages.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The first message that waits: by priority, then by its time, then by its id. It is the caller's alone until it is
    /// acknowledged or given back, or the caller's process ends. `None` when nothing can be claimed now.
    ///
    /// What can never be handled is moved to `failed/` on the way, and its sender is told.
    ///
    /// # Errors
    /// The disk's.
    pub async fn claim(&self, agent: AgentName) -> Result<Option<Claim>, Error> {
        let (say, hear) = oneshot::channel();
        let inner = self.0.clone();
        let told = off_thread(inner.clone(), move |_| {
            // Nobody listens any more: the message goes back as if nobody had had it.
            match say.send(Inner::claim(&inner, agent)) {
                Err(Ok(Some(claim))) => claim.give_back(),
                _ => Ok(()),
            }
        });
        told.await?;
        hear.await.unwrap_or(Err(Error::Stopping))
    }

    /// Claims and acknowledges all that waits, in its order, whatever it carries: for readers that want nothing but the
    /// messages. If the process ends before it has used them, they are not handed out again.
    ///
    /// # Errors
    /// The disk's.
    pub async fn receive(&self, agent: AgentName) -> Result<Vec<Envelope>, Error> {
        self.blocking(move |inner| inner.receive(agent)).await
    }

    /// Something to wait at for one agent's messages.
    ///
    /// # Errors
    /// The agent has no inbox, or the folder cannot be made.
    pub async fn mailbox(&self, agent: AgentName) -> Result<Mailbox, Error> {
        let bus = self.clone();
        self.blocking(move |inner| inner.watch_inbox(agent)).await?;
        Ok(Mailbox::new(bus, agent))
    }

    /// Removes what was kept long enough, ends messages whose time is over, and measures the folders. To be called every
    /// hour or so; more often does no harm.
    ///
    /// # Errors
    /// The disk's; the rest of the sweep is done by the next one.
    pub async fn sweep(&self) -> Result<Swept, Error> {
        self.blocking(Inner::sweep).await
    }

    pub(super) fn bells(&self) -> &Bells {
        &self.0.bells
    }

    pub(super) fn poll(&self) -> Duration {
        self.0.options.poll
    }

    pub(super) async fn blocking<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Inner) -> Result<T, Error> + Send + 'static,
    {
        off_thread(self.0.clone(), work).await
    }
}

/// Files are read and moved where waiting for a disk keeps nobody else from running. What was begun goes on to its end, also
/// when the caller has left.
pub(super) async fn off_thread<T, F>(inner: Arc<Inner>, work: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: FnOnce(&Inner) -> Result<T, Error> + Send + 'static,
{
    match tokio::task::spawn_blocking(move || work(&inner)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Stopping),
        },
    }
}

/// What is behind our locks stays sound at every line, so a panic of another holder does not matter.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
