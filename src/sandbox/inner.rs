//! The third wall, from within: Landlock says once more what may be written. Then this process becomes the command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};

use super::probe::Inside;
use super::walls::{DEPS, HOME, WORK};
use crate::stdx::process::field;

/// As shells have it.
pub(super) const NOT_FOUND: u8 = 127;
pub(super) const NOT_STARTED: u8 = 126;
/// Newer kernels are told no more than this, older ones as much as they know.
pub(super) const KNOWN: ABI = ABI::V6;

/// Becomes the command, or says why not, with an exit code.
pub(super) fn become_command(command: &[OsString]) -> (u8, String) {
    let Some((program, args)) = command.split_first() else { return (NOT_STARTED, "no command was given".to_owned()) };
    if let Err(why) = confine_all() {
        return (NOT_STARTED, why);
    }
    #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
    let error = Command::new(program).args(args).exec();
    not_started(program, &error)
}

/// Closes what is not the command's, and puts up the last wall.
pub(super) fn confine_all() -> Result<(), String> {
    for number in 3..256 {
        // Nothing of the launcher's or bubblewrap's stays open.
        let _closed = nix::unistd::close(number);
    }
    confine().map(drop).map_err(|error| format!("Landlock cannot be used: {error}"))
}

pub(super) fn not_started(program: &OsString, error: &std::io::Error) -> (u8, String) {
    let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED };
    (code, format!("{}: {error}", program.to_string_lossy()))
}

/// Says in JSON how this place looks from within. It stands behind all walls but its own, which it makes a second time.
pub(super) fn examine() -> (u8, String) {
    let landlock = match confine() {
        Ok(RulesetStatus::FullyEnforced) => "full",
        Ok(RulesetStatus::PartiallyEnforced) => "partly",
        Ok(RulesetStatus::NotEnforced) => "none",
        Err(error) => return (NOT_STARTED, format!("Landlock cannot be used: {error}")),
    };
    let own = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let entries = |path: &str| -> Vec<String> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let hex = |name: &str| own.lines().find_map(|line| u64::from_str_radix(line.strip_prefix(name)?.trim(), 16).ok());
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let interfaces = devices.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    let writable =
        |path: &str| std::fs::File::options().write(true).create_new(true).open(format!("{path}/.proof")).is_ok();
    let inside = Inside {
        landlock: landlock.to_owned(),
        capabilities: hex("CapEff:").unwrap_or(u64::MAX) | hex("CapPrm:").unwrap_or(u64::MAX),
        no_new_privileges: field(&own, "NoNewPrivs:") == Some(1),
        filters_calls: field(&own, "Seccomp:") == Some(2),
        interfaces: interfaces.filter(|name| name != "lo").collect(),
        processes: entries("/proc").iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).count(),
        user_namespaces: nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER).is_ok(),
        writable: ["", "/usr", "/etc", "/dev", "/home", "/var"]
            .into_iter()
            .filter(|path| writable(path))
            .map(|path| format!("{path}/"))
            .collect(),
        variables: strange_variables(),
    };
    #[expect(clippy::print_stdout, reason = "this is what it is asked for")]
    match serde_json::to_string(&inside) {
        Ok(text) => println!("{text}"),
        Err(error) => return (NOT_STARTED, error.to_string()),
    }
    std::process::exit(0)
}

/// Names that only the server has.
fn strange_variables() -> Vec<String> {
    const OURS: &[&str] =
        &["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "TZ", "CI", "TERM", "NO_COLOR", "PWD", "SHLVL", "_"];
    #[expect(clippy::disallowed_methods, reason = "it looks for what should not be there, and reads no value")]
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    names.filter(|name| !OURS.contains(&name.as_str())).collect()
}

/// Kernels without Landlock have the other walls.
fn confine() -> Result<RulesetStatus, RulesetError> {
    let all = AccessFs::from_all(KNOWN);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::Signal)?
        .scope(Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules([WORK, DEPS, HOME, "/tmp", "/dev", "/proc"], all))?
        .restrict_self()?;
    Ok(status.ruleset)
}
