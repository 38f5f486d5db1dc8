//! A worker's own life: walls first, then one question after the other.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use super::{Held, Plan, Tried, Work};

/// The question that every worker understands: what can you do that you should not?
pub(super) const TRY: &[u8] = b"try";
/// Bytes of one question: both sides of a large file, with every character escaped.
const MAX_QUESTION: u32 = 256 << 20;

/// Answers until nobody asks any more. Says why it ends, with an exit code.
pub(in crate::sandbox) fn serve(plan: &OsString, work: &Work) -> (u8, String) {
    match begin(&plan.to_string_lossy(), work) {
        Ok(()) => (0, "nobody asks any more".to_owned()),
        Err(why) => (1, why),
    }
}

fn begin(plan: &str, work: &Work) -> Result<(), String> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| format!("the parser was told nonsense: {error}"))?;
    let held = hold(&plan, work)?;
    let mut answers = io::stdout().lock();
    let mut tell = |answer: &[u8]| -> Option<()> {
        answers.write_all(&u32::try_from(answer.len()).ok()?.to_le_bytes()).ok()?;
        answers.write_all(answer).ok()?;
        answers.flush().ok()
    };
    let mut questions = io::stdin().lock();
    if tell(&serde_json::to_vec(&held).map_err(|error| error.to_string())?).is_none() {
        return Ok(());
    }
    let mut question = Vec::new();
    loop {
        let mut length = [0; 4];
        // The server is gone, or has had no question for long.
        if questions.read_exact(&mut length).is_err() {
            return Ok(());
        }
        let length = u32::from_le_bytes(length);
        if length > MAX_QUESTION {
            return Err("a question is too long".to_owned());
        }
        question.clear();
        if questions.by_ref().take(u64::from(length)).read_to_end(&mut question).is_err() {
            return Ok(());
        }
        let answer = if question == TRY { serde_json::to_vec(&tried(work)).ok() } else { (work.answer)(&question) };
        let answer = answer.ok_or("a question cannot be read")?;
        if tell(&answer).is_none() {
            return Ok(());
        }
    }
}

/// Puts up every wall that this system has.
fn hold(plan: &Plan, work: &Work) -> Result<Held, String> {
    #[cfg(target_os = "linux")]
    let user = super::confine::leave(plan)?;
    let idle = || -> io::Result<()> {
        let talk = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        talk.set_read_timeout(Some(plan.idle))
    };
    idle().map_err(|error| format!("cannot set how long to wait: {error}"))?;
    (work.prepare)()?;
    #[cfg(target_os = "linux")]
    return super::confine::confine(plan, user);
    #[cfg(not(target_os = "linux"))]
    {
        limit(plan)?;
        Ok(Held { landlock: "none".to_owned(), calls: false, user: None })
    }
}

/// What any Unix has.
#[cfg(not(target_os = "linux"))]
fn limit(plan: &Plan) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let all = [
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nproc, 0),
        (Resource::Nofile, 3),
        (Resource::Data, plan.memory),
    ];
    for (resource, most) in all {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| format!("cannot set a limit: {error}"))?;
    }
    Ok(())
}

/// Does what it should not be able to.
fn tried(work: &Work) -> Tried {
    let mut could = Vec::new();
    let mut tries = |what: &str, done: bool| could.extend(done.then(|| what.to_owned()));
    tries("open a file", std::fs::File::open("/etc/passwd").is_ok() || std::fs::File::open("/proc/self/maps").is_ok());
    tries("list a folder", std::fs::read_dir("/").is_ok());
    tries("make a file", tempfile::tempfile().is_ok());
    tries(
        "have a socket of the network",
        TcpListener::bind("127.0.0.1:0").is_ok() || UdpSocket::bind("[::1]:0").is_ok(),
    );
    tries("have a socket of the machine", UnixStream::pair().is_ok());
    tries("start a thread", std::thread::Builder::new().spawn(|| ()).is_ok());
    #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
    let started = std::process::Command::new("/bin/true").spawn();
    tries("start a program", started.is_ok());
    #[expect(clippy::disallowed_methods, reason = "it looks for what should not be there, and reads no value")]
    let variables = std::env::vars_os().count();
    Tried { could, variables, parsed: (work.prepare)().is_ok() }
}
