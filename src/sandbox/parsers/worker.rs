//! One worker, as the server sees it: a process at the other end of a socket, of which nothing is believed.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Held, Plan};
use crate::sandbox::{PARSE, VERB};
use crate::stdx::workers::Failure;

/// Bytes of one answer.
const MAX_ANSWER: usize = 32 << 20;
/// Bytes that a worker's last words may have, for the log.
const LAST_WORDS: usize = 2048;
/// Between the end of its answers and the end of its process.
const DYING: Duration = Duration::from_millis(500);

pub(super) struct Worker {
    child: Child,
    talk: UnixStream,
    complaints: UnixStream,
    held: Option<Held>,
    served: u32,
}

/// Why it did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    Ended,
    Time,
    Nonsense,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Time,
            _ => Self::Ended,
        }
    }
}

impl Worker {
    /// Dies with the thread that calls this.
    pub(super) fn start(helper: &Path, plan: &Plan) -> io::Result<Self> {
        let (talk, theirs) = UnixStream::pair()?;
        let (complaints, complain) = UnixStream::pair()?;
        complaints.set_nonblocking(true)?;
        let answers = theirs.try_clone()?;
        #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
        let mut command = Command::new(helper);
        command.arg0("octoswarm").arg(VERB).arg(PARSE).arg(serde_json::to_string(plan)?).env_clear().current_dir("/");
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(OwnedFd::from(answers)));
        command.stderr(Stdio::from(OwnedFd::from(complain)));
        let child = command
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{} cannot be run: {error}", helper.display())))?;
        Ok(Self { child, talk, complaints, held: None, served: 0 })
    }

    /// Once it has said how it is held.
    pub(super) fn greeted(mut self, until: Instant) -> Result<Self, String> {
        let held = self.hear(until).map(|answer| serde_json::from_slice(&answer).ok());
        if let Ok(Some(held)) = held {
            self.held = Some(held);
            return Ok(self);
        }
        let _ended = self.child.kill();
        let words = self.last_words();
        Err(match held {
            Err(Broken::Time) => "it did not begin in time".to_owned(),
            _ if words.is_empty() => "it ended before it began".to_owned(),
            _ => words,
        })
    }

    pub(super) fn held(&self) -> &Held {
        const NOTHING: &Held = &Held { landlock: String::new(), calls: false, user: None };
        self.held.as_ref().unwrap_or(NOTHING)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Questions that it has answered.
    pub(super) fn served(&self) -> u32 {
        self.served
    }

    pub(super) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn ask(&mut self, question: &[u8], until: Instant) -> Result<Vec<u8>, Broken> {
        let length = u32::try_from(question.len()).map_err(|_| Broken::Nonsense)?;
        let mut frame = Vec::with_capacity(question.len() + 4);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(question);
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            self.talk.set_write_timeout(Some(left(until)?))?;
            match self.talk.write(rest) {
                Ok(0) => return Err(Broken::Ended),
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let answer = self.hear(until)?;
        self.served = self.served.saturating_add(1);
        Ok(answer)
    }

    fn hear(&mut self, until: Instant) -> Result<Vec<u8>, Broken> {
        let length: [u8; 4] = self.read(4, until)?.try_into().map_err(|_| Broken::Nonsense)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_ANSWER {
            return Err(Broken::Nonsense);
        }
        self.read(length, until)
    }

    /// Room is made for what has come, not for what was announced.
    fn read(&mut self, length: usize, until: Instant) -> Result<Vec<u8>, Broken> {
        let (mut read, mut buffer) = (Vec::new(), vec![0; length.min(64 * 1024)]);
        while read.len() < length {
            self.talk.set_read_timeout(Some(left(until)?))?;
            let wanted = (length - read.len()).min(buffer.len());
            match self.talk.read(buffer.get_mut(..wanted).unwrap_or_default()) {
                Ok(0) => return Err(Broken::Ended),
                Ok(came) => read.extend_from_slice(buffer.get(..came).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(read)
    }

    /// Ends it, and tells why it had to be.
    pub(super) fn end(mut self, broken: Broken, memory: u64) -> Failure {
        let status = if broken == Broken::Ended { self.own_end() } else { None };
        let _ended = self.child.kill();
        let words = self.last_words();
        let failure = match broken {
            Broken::Time => Failure::Time,
            Broken::Nonsense => Failure::Nonsense,
            // Its own word decides between two ways of saying that it died, nothing else.
            Broken::Ended if words.contains("memory allocation of") || words.contains("failed to allocate") => {
                Failure::Memory(memory)
            }
            Broken::Ended => Failure::Crashed,
        };
        let status = status.map_or_else(|| "ended by us".to_owned(), |status| status.to_string());
        tracing::warn!(worker = self.child.id(), served = self.served, %status, "{}", failure.of("a parser"));
        tracing::debug!(worker = self.child.id(), "its last words: {}", words.escape_debug());
        failure
    }

    fn own_end(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + DYING;
        while Instant::now() < until {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }

    /// The end of what it complained of; a stranger's text.
    fn last_words(&mut self) -> String {
        let mut said = vec![0; 64 * 1024];
        let came = self.complaints.read(&mut said).unwrap_or(0);
        let from = came.saturating_sub(LAST_WORDS);
        String::from_utf8_lossy(said.get(from..came).unwrap_or_default()).trim().to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What is left of a deadline; a wait of no time would be one without end.
fn left(until: Instant) -> Result<Duration, Broken> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Broken::Time) } else { Ok(left) }
}
