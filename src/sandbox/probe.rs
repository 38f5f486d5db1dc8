//! What this machine offers: each thing looked at, what was seen, and what to do about it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::groups::Groups;
use super::run::{FIRST_USER, LAST_USER, NOBODY, Settings};
use crate::stdx::file;
use crate::stdx::scratch::{self, Scratch};
use serde::{Deserialize, Serialize};

/// Where systems have it.
const USUAL: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];
/// Several lists of system calls can be given from here on.
const OLDEST: (u32, u32) = (0, 5);
/// From here on it can forbid user namespaces itself.
const FORBIDS_USER_NAMESPACES: (u32, u32) = (0, 8);

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub verdict: Verdict,
    pub seen: String,
    /// What to do, or what it means.
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// The sandbox works without it, less well.
    Missing,
    /// There is no sandbox.
    Fatal,
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Probe {
    pub checks: Vec<Check>,
    /// Files that tell who is who in there.
    accounts: Option<Arc<Scratch>>,
}

/// There is no sandbox here.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", self.why())]
pub struct Unavailable {
    pub checks: Vec<Check>,
}

impl Unavailable {
    /// The first check that fails, in one line.
    pub fn why(&self) -> String {
        let fatal = self.checks.iter().find(|check| check.verdict == Verdict::Fatal);
        fatal.map_or_else(|| "no sandbox".to_owned(), |check| format!("{}: {}", check.name, check.seen))
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&str> {
        self.checks.iter().find(|check| check.verdict == Verdict::Fatal)?.advice.as_deref()
    }

    pub(super) fn from_panic(why: String) -> Self {
        Self { checks: vec![Check { name: "trial", verdict: Verdict::Fatal, seen: why, advice: None }] }
    }
}

/// bubblewrap as it was found.
#[derive(Debug, Clone)]
pub(super) struct Bwrap {
    pub(super) path: PathBuf,
    pub(super) forbids_user_namespaces: bool,
}

/// What a run needs to know.
pub(super) struct Found {
    pub(super) bwrap: Bwrap,
    pub(super) root: bool,
    /// Commands can have user numbers of their own.
    pub(super) own_users: bool,
    pub(super) groups: Groups,
    pub(super) probe: Probe,
}

/// What this program saw from within.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inside {
    /// `full`, `partly` or `none`.
    pub(super) landlock: String,
    pub(super) capabilities: u64,
    pub(super) no_new_privileges: bool,
    pub(super) filters_calls: bool,
    /// Beside the loopback.
    pub(super) interfaces: Vec<String>,
    pub(super) processes: usize,
    pub(super) user_namespaces: bool,
    /// Places outside the work tree that could be written to.
    pub(super) writable: Vec<String>,
    /// Our environment's names, as far as they should not be there.
    pub(super) variables: Vec<String>,
}

#[cfg(not(target_os = "linux"))]
pub(super) fn look(_: &Settings) -> Result<Found, Unavailable> {
    let seen = format!("{} has no namespaces; the sandbox needs Linux", std::env::consts::OS);
    let advice = Some("run octoswarm on Linux, or leave checks off".to_owned());
    Err(Unavailable { checks: vec![Check { name: "system", verdict: Verdict::Fatal, seen, advice }] })
}

#[cfg(target_os = "linux")]
pub(super) fn look(settings: &Settings) -> Result<Found, Unavailable> {
    let mut checks = Vec::new();
    let bwrap = bubblewrap(settings, &mut checks);
    let root = rustix::process::geteuid().is_root();
    let own_users = root && exists(FIRST_USER) && exists(LAST_USER);
    let has_other = !root || own_users || exists(NOBODY);
    checks.push(user(root, own_users, has_other));
    let groups = Groups::find();
    checks.push(match groups.describe() {
        Some(seen) => Check { name: "control groups", verdict: Verdict::Good, seen, advice: None },
        None => Check {
            name: "control groups",
            verdict: Verdict::Missing,
            seen: "not delegated to this process".to_owned(),
            advice: Some(
                "a watch sums up what commands take, 20 times a second; for the kernel's own limits give the service \
                 `Delegate=yes` and `DelegateSubgroup=server` (systemd 254)"
                    .to_owned(),
            ),
        },
    });
    let accounts = match accounts() {
        Ok(accounts) => Some(Arc::new(accounts)),
        Err(error) => {
            let seen = format!("the temporary directory cannot be written to: {error}");
            checks.push(Check { name: "files", verdict: Verdict::Fatal, seen, advice: Some("make room".to_owned()) });
            None
        }
    };
    match bwrap.filter(|_| accounts.is_some() && has_other) {
        Some(bwrap) => Ok(Found { bwrap, root, own_users, groups, probe: Probe { checks, accounts } }),
        None => Err(Unavailable { checks }),
    }
}

impl Probe {
    /// What the trial run says in the end.
    pub(super) fn conclude(&mut self, seen: Result<Inside, String>) -> Result<(), Unavailable> {
        let check = match seen {
            Ok(inside) => inside.judge(&mut self.checks),
            Err(why) => Check { name: "trial", verdict: Verdict::Fatal, advice: Some(what_to_do(&why)), seen: why },
        };
        let fatal = check.verdict == Verdict::Fatal;
        self.checks.push(check);
        if fatal { Err(Unavailable { checks: self.checks.clone() }) } else { Ok(()) }
    }

    /// The names below `/etc` and the files to be seen there.
    pub(super) fn accounts(&self) -> Vec<(&'static str, PathBuf)> {
        let at = |dir: &Arc<Scratch>| ACCOUNTS.iter().map(|(name, _)| (*name, dir.path().join(name))).collect();
        self.accounts.as_ref().map_or_else(Vec::new, at)
    }
}

impl Inside {
    fn judge(&self, checks: &mut Vec<Check>) -> Check {
        let mut open = String::new();
        let mut hole = |is: bool, what: &str| {
            if is {
                let _written = write!(open, "{}{what}", if open.is_empty() { "" } else { "; " });
            }
        };
        hole(self.capabilities != 0, "capabilities are left");
        hole(!self.no_new_privileges, "new privileges can be had");
        hole(!self.filters_calls, "no system call is refused");
        hole(!self.interfaces.is_empty(), "there is a network");
        hole(self.processes > 4, "other processes are seen");
        hole(self.user_namespaces, "user namespaces can be made");
        hole(!self.writable.is_empty(), &format!("writable: {}", self.writable.join(" ")));
        hole(!self.variables.is_empty(), &format!("from our environment: {}", self.variables.join(" ")));
        let (verdict, seen) = match self.landlock.as_str() {
            "full" => (Verdict::Good, "enforced"),
            "partly" => (Verdict::Good, "enforced as far as this kernel knows it"),
            _ => (Verdict::Missing, "this kernel has none, or it is switched off"),
        };
        let advice = (verdict == Verdict::Missing).then(|| "the other walls stand without it".to_owned());
        checks.push(Check { name: "Landlock", verdict, seen: seen.to_owned(), advice });
        if open.is_empty() {
            let seen = "a command ran; no network, no privileges, nothing of the host".to_owned();
            return Check { name: "trial", verdict: Verdict::Good, seen, advice: None };
        }
        let advice =
            Some("this is a fault of octoswarm or of this kernel: nothing is run; please report it".to_owned());
        Check { name: "trial", verdict: Verdict::Fatal, seen: open, advice }
    }
}

/// By what bubblewrap says where namespaces are forbidden.
fn what_to_do(why: &str) -> String {
    let words = why.to_lowercase();
    let apparmor = Path::new("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
    let contained = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    let forbidden =
        ["namespace", "permission", "operation not permitted", "no space left"].iter().any(|word| words.contains(word));
    if forbidden && contained {
        "this container forbids namespaces: allow them (docs/sandbox.md), or run octoswarm outside of it, or leave checks off"
    } else if forbidden && std::fs::read_to_string(apparmor).is_ok_and(|text| text.trim() == "1") {
        "AppArmor restricts user namespaces here: give bubblewrap a profile that allows `userns` (docs/sandbox.md)"
    } else if forbidden {
        "user namespaces are forbidden here: see `sysctl kernel.unprivileged_userns_clone user.max_user_namespaces` \
         (docs/sandbox.md)"
    } else {
        "see docs/sandbox.md"
    }
    .to_owned()
}

#[cfg(target_os = "linux")]
fn bubblewrap(settings: &Settings, checks: &mut Vec<Check>) -> Option<Bwrap> {
    let named = settings.bwrap.iter().map(PathBuf::as_path);
    let usual = USUAL.iter().map(Path::new).filter(|_| settings.bwrap.is_none());
    let fatal = |seen: String, advice: &str| Check {
        name: "bubblewrap",
        verdict: Verdict::Fatal,
        seen,
        advice: Some(advice.to_owned()),
    };
    const INSTALL: &str = "install the package `bubblewrap`";
    let Some(path) = named.chain(usual).find(|path| path.is_file()) else {
        let seen = match &settings.bwrap {
            Some(path) => format!("{} is not there", path.display()),
            None => "not installed".to_owned(),
        };
        checks.push(fatal(seen, INSTALL));
        return None;
    };
    #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
    let said = std::process::Command::new(path).arg("--version").env_clear().output();
    let said = match said {
        Ok(said) => String::from_utf8_lossy(&said.stdout).trim().to_owned(),
        Err(error) => {
            checks.push(fatal(format!("{} cannot be started: {error}", path.display()), INSTALL));
            return None;
        }
    };
    let version = version(&said);
    let seen = format!("{said} at {}", path.display());
    if version.is_none_or(|version| version < OLDEST) {
        checks.push(fatal(seen, "bubblewrap 0.5 or later is needed"));
        return None;
    }
    checks.push(Check { name: "bubblewrap", verdict: Verdict::Good, seen, advice: None });
    let forbids_user_namespaces = version >= Some(FORBIDS_USER_NAMESPACES);
    Some(Bwrap { path: path.to_owned(), forbids_user_namespaces })
}

/// `bubblewrap 0.8.0`
fn version(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.split_whitespace().last()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(target_os = "linux")]
fn user(root: bool, own_users: bool, has_other: bool) -> Check {
    let (verdict, seen, advice) = match (root, own_users) {
        (false, _) => (Verdict::Good, "an ordinary one, which commands have too", None),
        (true, true) => (Verdict::Good, "root; each work tree gets a user of its own", None),
        (true, false) if !has_other => (
            Verdict::Fatal,
            "root of a user namespace without any other user, so that commands would be root too",
            Some("run octoswarm as an ordinary user, or give the namespace more users".to_owned()),
        ),
        (true, false) => (
            Verdict::Missing,
            "root of a namespace with few users; commands share the user nobody",
            Some("run octoswarm as an ordinary user".to_owned()),
        ),
    };
    Check { name: "user", verdict, seen: seen.to_owned(), advice }
}

/// Whether a user of that number exists in this user namespace.
#[cfg(target_os = "linux")]
pub(super) fn exists(user: u32) -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|text| text.parse().ok()).collect();
        matches!(numbers[..], [first, _, many] if (first..first + many).contains(&u64::from(user)))
    })
}

const ACCOUNTS: &[(&str, &str)] = &[
    (
        "passwd",
        "root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:1000:1000::/home/sandbox:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n",
    ),
    ("group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// Readable for whomever commands become.
fn accounts() -> std::io::Result<Scratch> {
    const PREFIX: &str = "octoswarm-sandbox-";
    if let Err(error) = scratch::sweep(PREFIX) {
        tracing::debug!(%error, "what killed processes left cannot be swept");
    }
    let dir = Scratch::new(PREFIX)?;
    for (name, text) in ACCOUNTS {
        let path = dir.path().join(name);
        file::create_new(&path, text.as_bytes())?;
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        std::fs::set_permissions(&path, all)?;
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_nonsense_is_none() {
        assert_eq!(version("bubblewrap 0.8.0"), Some((0, 8)));
        assert_eq!(version("bubblewrap 0.11"), Some((0, 11)));
        assert_eq!(version("bubblewrap"), None);
        assert_eq!(version(""), None);
    }
}
