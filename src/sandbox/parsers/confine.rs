//! A worker's walls on Linux, in the order in which they can be put up: its own user, limits, no file by Landlock, no more descriptors,
//! a short list of system calls.

use landlock::{
    Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope,
};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Gid, Uid, setgid, setgroups, setuid};

use super::{Held, Plan};
use crate::sandbox::inner::KNOWN;
use crate::sandbox::launch::{Step, because, close_all_but, die_with, go_first};
use crate::sandbox::probe::exists;
use crate::sandbox::run::{FIRST_USER, NOBODY};
use crate::sandbox::seccomp;

/// Nobody else's: those of work trees begin one above.
const USER: u32 = FIRST_USER - 1;
/// Bytes of address space beside its memory: this program, and what it has reserved and not touched.
const SPACE: u64 = 1 << 30;
const STACK: u64 = 8 << 20;

/// Gives up whatever this process has of the server's. Tells whom it became.
pub(super) fn leave(plan: &Plan) -> Step<Option<u32>> {
    die_with(plan.parent)?;
    if close_all_but(None).is_err() {
        // Without `/proc` nobody lists them.
        for number in 3..1024 {
            let _closed = nix::unistd::close(number);
        }
    }
    go_first();
    let user = rustix::process::geteuid().is_root().then(|| [USER, NOBODY].into_iter().find(|user| exists(*user)));
    let user = user.flatten();
    if let Some(user) = user {
        setgroups(&[]).map_err(because("give up groups"))?;
        setgid(Gid::from_raw(user)).map_err(because("give up the group"))?;
        setuid(Uid::from_raw(user)).map_err(because("give up the user"))?;
        // A change of user has undone it.
        die_with(plan.parent)?;
    }
    prctl::set_dumpable(false).map_err(because("forbid dumps"))?;
    prctl::set_no_new_privs().map_err(because("forbid new privileges"))?;
    limit(&[
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_MEMLOCK, 0),
        (Resource::RLIMIT_MSGQUEUE, 0),
        (Resource::RLIMIT_STACK, STACK),
        (Resource::RLIMIT_DATA, plan.memory),
        (Resource::RLIMIT_AS, plan.memory.saturating_add(SPACE)),
    ])?;
    Ok(user)
}

/// The walls behind which nothing can be fetched any more.
pub(super) fn confine(_: &Plan, user: Option<u32>) -> Step<Held> {
    let landlock = match no_file() {
        Ok(RulesetStatus::FullyEnforced) => "full",
        Ok(RulesetStatus::PartiallyEnforced) => "partly",
        Ok(RulesetStatus::NotEnforced) | Err(_) => "none",
    };
    limit(&[(Resource::RLIMIT_NOFILE, 3), (Resource::RLIMIT_NPROC, 0)])?;
    let calls = seccomp::for_parsers().is_ok_and(|program| seccompiler::apply_filter(&program).is_ok());
    Ok(Held { landlock: landlock.to_owned(), calls, user })
}

fn limit(all: &[(Resource, u64)]) -> Step<()> {
    for (resource, most) in all {
        let (_, hard) = getrlimit(*resource).map_err(because("read a limit"))?;
        let most = (*most).min(hard);
        setrlimit(*resource, most, most).map_err(because("set a limit"))?;
    }
    Ok(())
}

/// Kernels without Landlock have the other walls.
fn no_file() -> Result<RulesetStatus, RulesetError> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::Signal)?
        .scope(Scope::AbstractUnixSocket)?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset)
}
