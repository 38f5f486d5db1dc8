//! Being told to stop: by Ctrl-C, by whoever manages the process, by a terminal that went away.

use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a process is told to stop with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// SIGHUP: the terminal is gone.
    HungUp,
    /// SIGINT: Ctrl-C.
    Pressed,
    /// SIGTERM.
    Terminated,
}

impl Interrupt {
    /// As a shell says of a program that a signal ended: 128 and the signal's number.
    pub fn exit(self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The same as a number.
    pub fn code(self) -> u8 {
        match self {
            Self::HungUp => 129,
            Self::Pressed => 130,
            Self::Terminated => 143,
        }
    }
}

/// From here on these signals end nothing by themselves: whoever holds this cleans up and ends.
pub struct Interrupts {
    hang_up: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// # Errors
    /// The process may not handle signals.
    pub fn catch() -> std::io::Result<Self> {
        Ok(Self {
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next one; one that came since [`catch`](Self::catch) counts.
    pub async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.hang_up.recv() => Interrupt::HungUp,
            _ = self.interrupt.recv() => Interrupt::Pressed,
            _ = self.terminate.recv() => Interrupt::Terminated,
        }
    }
}
