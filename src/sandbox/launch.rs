//! What happens between the server and bubblewrap, in a process of its own: give up rights, set limits, become bubblewrap.
//!
//! This program is started again for it, since all of it has to be done in the process that becomes the command, and none of it
//! may be done in a server with many threads.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid, dup, dup2_stdin, getppid, setgid, setgroups, setuid};
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags};

use super::plan::Plan;
use super::walls::{Bind, HELPER, Walls};
use super::{Limits, VERB, seccomp};

pub(super) type Step<T> = Result<T, String>;

/// Becomes bubblewrap, or says why not.
pub(super) fn launch(plan: &str) -> String {
    match serde_json::from_str(plan) {
        Ok(plan) => begin(plan).unwrap_or_else(|why| why),
        Err(error) => format!("the launcher was told nonsense: {error}"),
    }
}

fn begin(mut plan: Plan) -> Step<String> {
    die_with(plan.parent)?;
    // Standard input is the pipe that bubblewrap tells its status on; the command has none.
    let status = dup(io::stdin()).map_err(because("keep the status pipe"))?;
    let nothing = File::open("/dev/null").map_err(because("open /dev/null"))?;
    dup2_stdin(&nothing).map_err(because("close standard input"))?;
    drop(nothing);
    close_all_but(Some(status.as_raw_fd()))?;

    let me = std::process::id().to_string();
    for group in &plan.groups {
        fs::OpenOptions::new()
            .write(true)
            .open(group)
            .and_then(|mut file| file.write_all(me.as_bytes()))
            .map_err(because("enter the control group"))?;
    }
    go_first();
    let mut bwrap = plan.bwrap.clone();
    if let Some(user) = plan.user {
        // It, too, may lie where that user may not go, or where the stage is.
        plan.binds.push(Bind::read_only(&bwrap, ""));
        stage(&mut plan.binds)?;
        if let Some(staged) = plan.binds.pop() {
            bwrap = staged.from;
        }
        setgroups(&[]).map_err(because("give up groups"))?;
        setgid(Gid::from_raw(user)).map_err(because("give up the group"))?;
        setuid(Uid::from_raw(user)).map_err(because("give up the user"))?;
        // A change of user has undone it.
        die_with(plan.parent)?;
    }
    limit(&plan.limits)?;
    prctl::set_no_new_privs().map_err(because("forbid new privileges"))?;

    let walls = Walls {
        binds: &plan.binds,
        dir: &plan.dir,
        env: &plan.env,
        tmp: plan.limits.tmp,
        forbids_user_namespaces: plan.forbids_user_namespaces,
    };
    let mut args = walls.arguments();
    for program in seccomp::programs().map_err(because("compile the list of system calls"))? {
        let file =
            rustix::fs::memfd_create("seccomp", MemfdFlags::empty()).map_err(because("make a file in memory"))?;
        let mut file = File::from(file);
        file.write_all(&program).map_err(because("write the list of system calls"))?;
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).map_err(because("rewind"))?;
        args.extend(["--add-seccomp-fd".into(), descriptor(file.into())]);
    }
    args.extend(["--json-status-fd".into(), descriptor(status)]);
    let part = if plan.bridged { "bridged" } else { "inner" };
    args.extend(["--".into(), HELPER.into(), VERB.into(), part.into()]);
    args.extend(plan.command.iter().map(OsString::from));
    #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
    let error = Command::new(&bwrap).args(args).env_clear().exec();
    Err(format!("{} cannot be started: {error}", plan.bwrap.display()))
}

pub(super) fn because<E: std::fmt::Display>(doing: &'static str) -> impl Fn(E) -> String {
    move |error| format!("cannot {doing}: {error}")
}

pub(super) fn die_with(parent: i32) -> Step<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(because("ask to die with the server"))?;
    if getppid().as_raw() == parent { Ok(()) } else { Err("the server is gone".to_owned()) }
}

/// Whoever runs out of memory, this process goes first.
pub(super) fn go_first() {
    let _unsupported = fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/oom_score_adj")
        .and_then(|mut file| file.write_all(b"1000"));
}

/// Standard streams and the named one stay.
pub(super) fn close_all_but(kept: Option<i32>) -> Step<()> {
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")
        .map_err(because("list open files"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in open.into_iter().filter(|number| *number > 2 && Some(*number) != kept) {
        // The listing's own is closed already.
        let _gone = nix::unistd::close(number);
    }
    Ok(())
}

/// Makes what is bound reachable for a user who may not walk through our folders: each in a file system in memory, in a mount
/// namespace of this process alone.
fn stage(binds: &mut [Bind]) -> Step<()> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(because("have a mount namespace"))?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(because("make mounts private"))?;
    // In the new namespace, where they can be bound from, and before the stage hides what lies below it.
    let opened: Vec<OwnedFd> = binds
        .iter()
        .map(|bind| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, &bind.from, flags, Mode::empty())
                .map_err(|error| format!("cannot open {}: {error}", bind.from.display()))
        })
        .collect::<Step<_>>()?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), flags, Some("size=1m,mode=0755")).map_err(because("mount a stage"))?;
    for (nth, (bind, opened)) in binds.iter_mut().zip(&opened).enumerate() {
        let at = Path::new("/tmp").join(nth.to_string());
        let source = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let is_folder = fs::metadata(&source).map_err(because("look at a folder"))?.is_dir();
        let made = if is_folder { fs::create_dir(&at) } else { crate::stdx::file::create_new(&at, b"") };
        made.map_err(because("make a mount point"))?;
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount(Some(source.as_str()), &at, none, flags, none).map_err(because("bind a folder"))?;
        bind.from = at;
    }
    Ok(())
}

/// Each process's own limits; what all of them take together is for whoever watches.
fn limit(limits: &Limits) -> Step<()> {
    let all = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_CPU, limits.cpu.as_secs().max(1)),
        (Resource::RLIMIT_FSIZE, limits.file),
        (Resource::RLIMIT_NPROC, limits.processes),
        (Resource::RLIMIT_NOFILE, 8192),
        (Resource::RLIMIT_MEMLOCK, 8 << 20),
        (Resource::RLIMIT_MSGQUEUE, 1 << 20),
        // What is reserved and never touched does not count, what a thread's stack might become does.
        (Resource::RLIMIT_DATA, limits.memory.saturating_mul(2)),
    ];
    for (resource, most) in all {
        let (_, hard) = nix::sys::resource::getrlimit(resource).map_err(because("read a limit"))?;
        let most = most.min(hard);
        setrlimit(resource, most, most).map_err(because("set a limit"))?;
    }
    Ok(())
}

/// Kept open over the change into another program.
fn descriptor(file: OwnedFd) -> OsString {
    // `dup` of standard input and files in memory made so are not closed on exec.
    file.into_raw_fd().to_string().into()
}
