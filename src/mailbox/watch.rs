//! How a reader learns that something came: from this process at once, from the system's word about files, else by looking
//! again and again (S3.24, A3.6).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch;

use super::bus::{Bus, Inner, lock};
use super::{AgentName, Claim, Envelope, Error};
use crate::stdx::file;

/// One bell for each agent. A ring carries nothing: whoever hears it looks into the inbox.
#[derive(Debug)]
pub(super) struct Bells([watch::Sender<()>; AgentName::ALL.len()]);

impl Default for Bells {
    fn default() -> Self {
        Self(std::array::from_fn(|_| watch::Sender::new(())))
    }
}

impl Bells {
    pub(super) fn ring(&self, agent: AgentName) {
        self.0[agent as usize].send_replace(());
    }

    /// Hears every ring from now on, and at first one that nobody rang: something may have come before.
    fn ear(&self, agent: AgentName) -> watch::Receiver<()> {
        let mut ear = self.0[agent as usize].subscribe();
        ear.mark_changed();
        ear
    }

    fn heard(&self, event: notify::Result<Event>) {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            // Some were lost: every inbox may have something.
            _ => return AgentName::ALL.into_iter().for_each(|agent| self.ring(agent)),
        };
        let arrival = matches!(
            event.kind,
            EventKind::Create(_)
                | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Any))
                | EventKind::Access(AccessKind::Close(AccessMode::Write))
        );
        let messages = event.paths.iter().filter(|path| arrival && path.extension() == Some(OsStr::new("json")));
        let folders = messages.filter_map(|path| path.parent().and_then(Path::file_name).and_then(OsStr::to_str));
        folders.filter_map(AgentName::parse).for_each(|agent| self.ring(agent));
    }
}

/// The system's watch over the inboxes that somebody reads here.
#[derive(Debug, Default)]
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    inboxes: HashSet<AgentName>,
    /// Asked for and not to be had.
    refused: bool,
}

impl Watch {
    fn add(&mut self, inbox: &Path, bells: &Arc<Bells>) -> notify::Result<()> {
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => {
                let bells = bells.clone();
                none.insert(notify::recommended_watcher(move |event| bells.heard(event))?)
            }
        };
        watcher.watch(inbox, RecursiveMode::NonRecursive)
    }
}

impl Inner {
    pub(super) fn watch_inbox(&self, agent: AgentName) -> Result<(), Error> {
        if !agent.receives() {
            return Err(Error::CannotReceive { agent });
        }
        let inbox = self.layout.inbox(agent);
        file::private_dir(&inbox).map_err(Error::io("make the folder", &inbox))?;
        let mut watch = lock(&self.watch);
        if self.options.watch && !watch.refused && watch.inboxes.insert(agent) {
            watch.add(&inbox, &self.bells).unwrap_or_else(|error| {
                watch.refused = true;
                let every_ms = self.options.poll.as_millis();
                tracing::warn!(
                    %error, every_ms,
                    "the system does not watch the inboxes; they are looked at in turns, and messages of other processes arrive a little later"
                );
            });
        }
        Ok(())
    }
}

/// One agent's inbox, for a reader that waits for messages: it claims until there is none, waits, and claims again.
#[derive(Debug)]
pub struct Mailbox {
    bus: Bus,
    agent: AgentName,
    ear: watch::Receiver<()>,
}

impl Mailbox {
    pub(super) fn new(bus: Bus, agent: AgentName) -> Self {
        let ear = bus.bells().ear(agent);
        Self { bus, agent, ear }
    }

    /// Returns when there may be something to claim: at once the first time, then when something came since the last
    /// call returned, and at every look that finds the inbox not empty. May be dropped at any time.
    pub async fn wait(&mut self) {
        let agent = self.agent;
        loop {
            tokio::select! {
                // The bells live as long as our bus.
                _ = self.ear.changed() => return,
                () = tokio::time::sleep(self.bus.poll()) => {
                    // What cannot be looked at is the next claim's to tell.
                    if self.bus.blocking(move |inner| inner.holds_any(agent)).await.unwrap_or(true) {
                        return;
                    }
                }
            }
        }
    }

    /// [`Bus::claim`] for this agent.
    ///
    /// # Errors
    /// As there.
    pub async fn claim(&self) -> Result<Option<Claim>, Error> {
        self.bus.claim(self.agent).await
    }

    /// [`Bus::receive`] for this agent.
    ///
    /// # Errors
    /// As there.
    pub async fn receive(&self) -> Result<Vec<Envelope>, Error> {
        self.bus.receive(self.agent).await
    }
}
