//! What can be seen without leaving this machine.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Door, Exam};
use crate::config::{Error, Registration, Resolution, ServerConfig, Source, Start};
use crate::domain::Clock;
use crate::stdx::disk::{self, Disk, Kind, Probe};
use crate::stdx::error::chain;
use crate::stdx::pem;
use crate::stdx::text::size;
use crate::store::{Figures, Look, Sight, Store};

/// A server stops taking deliveries when the disk is full: this much may be left before it is said, and before it is too late.
const ROOM: u64 = 2_000_000_000;
const NO_ROOM: u64 = 200_000_000;
/// Every run makes a handful of files.
const FEW_FILES: u64 = 10_000;
/// GitHub waits ten seconds for an answer, and each answer waits for a commit.
const SLOW_WRITE: Duration = Duration::from_millis(100);
/// A job that could run and has waited so long has nobody who works.
const LONG_DUE: Duration = Duration::from_secs(10 * 60);

/// What to do where a server runs and has no App.
const OPEN_THE_LINK: &str = "it waits to be set up: open the link that it printed at its start (docs/setup.md)";

pub(super) fn configuration(exam: &mut Exam<'_>, resolution: &Resolution, waits_for_set_up: bool) {
    exam.group = "configuration";
    // A key that is none has a check of its own.
    let is_key = |fault: &&Error| matches!(fault, Error::PrivateKey { .. });
    let (keys, faults): (Vec<&Error>, Vec<&Error>) = resolution.faults.iter().partition(is_key);
    for fault in &faults {
        exam.fail("settings", one_line(&fault.to_string()), hint(fault));
    }
    let file = resolution.file.as_ref().map_or("no file".to_owned(), |file| file.display().to_string());
    // What is about a setting that has a check of its own is told there.
    for warning in resolution.warnings.iter().filter(|warning| warning.setting.is_none()) {
        exam.warn("settings", &warning.text, "correct its name or take it away");
    }
    if faults.is_empty() {
        exam.pass("settings", format!("all of them can be read; {file}"));
    }
    let config = match &resolution.start {
        Some(Start::Configured(config)) => config,
        Some(Start::SetUp(_)) => {
            let todo = if waits_for_set_up {
                OPEN_THE_LINK
            } else {
                "start `octoswarm serve` and register the App from the browser, or set `app_id`, `private_key_file` and \
                 `webhook_secret_files` in octoswarm.toml"
            };
            exam.fail("app id", "no App is named anywhere", todo);
            return ["private key", "webhook secret"].iter().for_each(|name| exam.skip(name, "no App is configured"));
        }
        None => {
            let why = "the configuration is at fault";
            exam.skip("app id", why);
            match keys.first() {
                Some(Error::PrivateKey { from, why }) => {
                    exam.fail("private key", format!("from {from}: {why}"), hint(keys[0]));
                }
                _ => exam.skip("private key", why),
            }
            return exam.skip("webhook secret", why);
        }
    };
    let source = resolution.settings.iter().find(|setting| setting.name == "app_id").map(|setting| &setting.source);
    exam.pass("app id", format!("{} ({})", config.app_id, source.map_or("default".to_owned(), ToString::to_string)));
    key(exam, resolution, config);
    webhook_secret(exam, resolution, config);
    if config.api.is_some() {
        let (from, open) = origins(resolution, "api");
        match open.is_empty() {
            true => exam.pass("api token", format!("from {from}")),
            false => exam.warn("api token", format!("from {from}"), chmod(&open)),
        }
    }
}

fn hint(fault: &Error) -> String {
    fault.hint().map_or_else(
        || match fault {
            Error::Read { .. } => "check the path and that this user may read the file".to_owned(),
            _ => "correct it; `octoswarm config check` shows every setting and every fault".to_owned(),
        },
        str::to_owned,
    )
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Where the values of a secret come from, and which of those files others may read.
fn origins(resolution: &Resolution, name: &str) -> (String, Vec<PathBuf>) {
    let mut places = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    for setting in resolution.settings.iter().filter(|setting| setting.name == name) {
        match &setting.source {
            Source::Registered => {
                files.extend(resolution.state.as_deref().map(Registration::path));
                places.push("app.json, by the registration".to_owned());
            }
            Source::Variable(variable) if !variable.ends_with("_FILE") => places.push(format!("variable {variable}")),
            _ => {}
        }
    }
    for file in resolution.secret_files.iter().filter(|file| file.setting == name) {
        places.push(file.path.display().to_string());
        files.push(file.path.clone());
    }
    files.retain(|file| open_to_others(file));
    (places.join(" and "), files)
}

/// What systemd hands over shows bits of an access list as those of a group.
fn open_to_others(file: &Path) -> bool {
    let mode = std::fs::metadata(file).map_or(0, |meta| meta.mode());
    mode & 0o077 != 0 && !file.starts_with("/run/credentials")
}

fn chmod(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    format!("others on this machine may read it: chmod 600 {}", files.join(" "))
}

fn key(exam: &mut Exam<'_>, resolution: &Resolution, config: &ServerConfig) {
    const NAME: &str = "private key";
    let (from, open) = origins(resolution, "private_key_file");
    match pem::rsa_bits(config.private_key.expose()) {
        // Whoever resolved the configuration has seen to it.
        Err(why) => exam.skip(NAME, &why),
        Ok(bits) if !open.is_empty() => exam.warn(NAME, format!("RSA, {bits} bits, from {from}"), chmod(&open)),
        Ok(bits) => exam.pass(NAME, format!("RSA, {bits} bits, from {from}")),
    }
}

fn webhook_secret(exam: &mut Exam<'_>, resolution: &Resolution, config: &ServerConfig) {
    const NAME: &str = "webhook secret";
    let (from, open) = origins(resolution, "webhook_secret_files");
    let secrets = &config.webhook_secrets;
    let seen = match secrets.len() {
        0 => return exam.pass(NAME, "none needed: deliveries are polled"),
        1 => format!("from {from}"),
        count => format!("{count}, all accepted, from {from}"),
    };
    let weak = resolution.warnings.iter().find(|warning| warning.setting == Some("webhook_secret_files"));
    if let Some((why, todo)) = weak.and_then(|warning| warning.text.split_once(": ")) {
        exam.warn(NAME, format!("{seen}; {why}"), todo);
    } else if open.is_empty() {
        exam.pass(NAME, seen);
    } else {
        exam.warn(NAME, seen, chmod(&open));
    }
}

pub(super) async fn state(exam: &mut Exam<'_>, resolution: &Resolution, clock: &Clock) {
    const ALL: [&str; 6] = ["folder", "disk", "durable write", "database", "journal", "queue"];
    exam.group = "state";
    let Some(state) = resolution.state.as_deref() else {
        return ALL.iter().for_each(|name| exam.skip(name, "no folder is configured"));
    };
    // A relative path has no ancestors to speak of.
    let state = &std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    // What is there already, up to where the server would make the rest.
    let Some(there) = state.ancestors().find(|path| path.symlink_metadata().is_ok()) else {
        return ALL.iter().for_each(|name| exam.skip(name, "the path leads nowhere"));
    };
    let probe = match std::fs::metadata(there) {
        Ok(meta) if meta.is_dir() => disk::probe(there),
        Ok(_) => Err(std::io::ErrorKind::NotADirectory.into()),
        Err(error) => Err(error),
    };
    folder(exam, state, there, &probe);
    match disk::of(there) {
        Ok(found) => space(exam, &found),
        Err(error) => exam.skip("disk", &error.to_string()),
    }
    match &probe {
        Ok(probe) => durable_write(exam, probe),
        Err(_) => exam.skip("durable write", "nothing can be written"),
    }
    if state.is_dir() || probe.is_ok() {
        database(exam, state, clock).await;
    } else {
        ["database", "journal", "queue"].iter().for_each(|name| exam.skip(name, "the folder cannot be used"));
    }
}

fn folder(exam: &mut Exam<'_>, state: &Path, there: &Path, probe: &std::io::Result<Probe>) {
    const NAME: &str = "folder";
    let shown = state.display();
    let probe = match probe {
        Ok(probe) => probe,
        Err(error) => {
            let todo = "make it a folder on a writable disk that belongs to the user the server runs as, or name another with --state";
            return exam.fail(NAME, format!("nothing can be written in {}: {error}", there.display()), todo);
        }
    };
    if state != there {
        return exam.pass(NAME, format!("{shown} is not there yet; the server can make it"));
    }
    let Ok(meta) = std::fs::metadata(there) else { return exam.skip(NAME, "it went away") };
    if meta.uid() != probe.user {
        let seen = format!("{shown} belongs to user {}, this is user {}", meta.uid(), probe.user);
        let todo = "run the doctor as the user that the server runs as, or give the folder to that user with chown -R";
        exam.warn(NAME, seen, todo);
    } else if meta.mode() & 0o077 != 0 {
        let seen = format!("{shown}, writable, mode {:03o}", meta.mode() & 0o777);
        exam.warn(NAME, seen, format!("texts of private repositories lie here: chmod 700 {shown}"));
    } else {
        exam.pass(NAME, format!("{shown}, writable, its owner's alone"));
    }
}

fn space(exam: &mut Exam<'_>, disk: &Disk) {
    const NAME: &str = "disk";
    const MORE: &str = "free some space: a server whose disk is full takes no more deliveries (nothing taken is lost)";
    let kind = match disk.kind {
        Kind::Local => "local".to_owned(),
        Kind::Network(name) => name.to_owned(),
        Kind::Memory => "in memory".to_owned(),
        Kind::Layer => "a container's own layer".to_owned(),
        Kind::Virtual => return exam.skip(NAME, "it is the kernel's own, and holds no files"),
    };
    let files = disk.free_files.map_or_else(String::new, |files| format!(" and {files} files"));
    let seen = format!("{kind}, room for {}{files}", size(disk.free_bytes));
    if disk.free_bytes < NO_ROOM || disk.free_files.is_some_and(|files| files == 0) {
        return exam.fail(NAME, seen, MORE);
    }
    let todo = match disk.kind {
        Kind::Network(_) => "SQLite's locks and log need a local disk: move the state there",
        Kind::Memory => "it is empty after a restart of the machine: move the state to a disk",
        Kind::Layer => "it goes with the container: mount a volume there",
        Kind::Local | Kind::Virtual
            if disk.free_bytes < ROOM || disk.free_files.is_some_and(|files| files < FEW_FILES) =>
        {
            MORE
        }
        Kind::Local | Kind::Virtual => return exam.pass(NAME, seen),
    };
    exam.warn(NAME, seen, todo);
}

fn durable_write(exam: &mut Exam<'_>, probe: &Probe) {
    let millis = probe.synced_in.as_secs_f64() * 1_000.0;
    let seen = format!("8 KiB are on the disk in {millis:.1} ms (median of 5)");
    if probe.synced_in > SLOW_WRITE {
        let todo = "every delivery waits for such a write, and GitHub waits 10 s for the answer: use a faster disk";
        exam.warn("durable write", seen, todo);
    } else {
        exam.pass("durable write", seen);
    }
}

async fn database(exam: &mut Exam<'_>, state: &Path, clock: &Clock) {
    let look = match Store::look(state, clock.now()).await {
        Ok(Sight::Seen(look)) => look,
        Ok(Sight::TooLarge { bytes }) => {
            let seen =
                format!("{}: a server was killed and left its log, too large to be looked at in a copy", size(bytes));
            exam.warn(
                "database",
                seen,
                "start the server: it takes the log in and checks the database, if that has at most 512 MiB",
            );
            return ["journal", "queue"].iter().for_each(|name| exam.skip(name, "the database was not looked at"));
        }
        Ok(Sight::Nothing) => {
            exam.pass("database", "none yet; the server makes it at its first start");
            return ["journal", "queue"].iter().for_each(|name| exam.skip(name, "there is no database yet"));
        }
        Err(error) => {
            let todo = error.hint().unwrap_or("close whatever else has the database open, then try again");
            exam.fail("database", chain(&error), todo);
            return ["journal", "queue"].iter().for_each(|name| exam.skip(name, "the database cannot be read"));
        }
    };
    exam.add("database", look_outcome(&look), described(&look), look_advice(&look));
    if look.wal {
        exam.pass("journal", "write-ahead log; the server commits with synchronous=FULL");
    } else {
        exam.warn(
            "journal",
            "no write-ahead log",
            "start `octoswarm serve` once: it switches the database back to WAL",
        );
    }
    match &look.queue {
        Some(figures) => queue(exam, figures, look.held_by.is_some(), clock),
        None => exam.skip("queue", "the schema is of another version"),
    }
}

fn look_outcome(look: &Look) -> super::Outcome {
    if look.unchecked { super::Outcome::Warn } else { super::Outcome::Pass }
}

fn look_advice(look: &Look) -> Option<String> {
    look.unchecked.then(|| {
        "too large to be checked here: stop the server, then `sqlite3 octoswarm.db 'PRAGMA quick_check'`".to_owned()
    })
}

fn described(look: &Look) -> String {
    let checked = if look.unchecked { "not checked" } else { "checked" };
    let mut seen = format!("{}, schema {}, {checked}", size(look.bytes), look.schema);
    if look.schema < look.known_schema {
        seen.push_str(&format!(" (the server brings it to {} at its next start)", look.known_schema));
    }
    if let Some(holder) = &look.held_by {
        seen.push_str(&format!("; read beside a running server ({holder})"));
    }
    if look.unclean {
        seen.push_str("; the last server was killed, its log was read in a copy");
    }
    seen
}

fn queue(exam: &mut Exam<'_>, figures: &Figures, served: bool, clock: &Clock) {
    let waited = figures.oldest_due.map(|due| u64::try_from(clock.now() - due).unwrap_or_default());
    let waited = waited.map(Duration::from_millis);
    let oldest = waited.map_or_else(String::new, |waited| format!(", the oldest due for {}", span(waited)));
    let Figures { waiting, running, discarded, .. } = figures;
    let seen = format!("{waiting} waiting{oldest}, {running} running, {discarded} given up");
    if waited.is_some_and(|waited| waited > LONG_DUE) {
        let todo = if served {
            "the server runs and does not keep up: see its log, and raise `workers`"
        } else {
            "no server runs on this state: start `octoswarm serve`"
        };
        exam.warn("queue", seen, todo);
    } else if *discarded > 0 {
        let todo = "the server's log says why each was given up; a comment `/swarm retry` on the pull request or issue asks again";
        exam.warn("queue", seen, todo);
    } else {
        exam.pass("queue", seen);
    }
}

pub(super) fn address(exam: &mut Exam<'_>, listen: SocketAddr, door: Door) {
    const NAME: &str = "listen";
    match door {
        Door::Free => exam.pass(NAME, format!("{listen} is free")),
        Door::Ours { ready: true, .. } => exam.pass(NAME, format!("{listen}: a running octoswarm, ready")),
        Door::Ours { ready: false, reason } => {
            let why = reason.map_or_else(String::new, |reason| format!(": {}", one_line(&reason)));
            let todo = "it cannot store deliveries now: see the checks of the state above, and its log";
            exam.fail(NAME, format!("{listen}: a running octoswarm, not ready{why}"), todo);
        }
        Door::WaitsForSetUp => {
            exam.warn(NAME, format!("{listen}: a running octoswarm that waits to be set up"), OPEN_THE_LINK);
        }
        Door::Taken => {
            let todo = format!(
                "another program listens there: stop it (`ss -ltnp sport = :{}` names it), or choose another --listen",
                listen.port()
            );
            exam.fail(NAME, format!("{listen} is taken"), todo);
        }
        Door::Unusable(error) => {
            let todo = match error.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    "ports below 1024 need a privilege: listen on a higher one behind a proxy"
                }
                _ => "use an address of this machine; 127.0.0.1 behind a proxy, or 0.0.0.0 for all",
            };
            exam.fail(NAME, format!("cannot listen on {listen}: {error}"), todo);
        }
    }
}

/// `4 s`, `12 min`, `3 h`, `2 days`.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Check, Outcome};
    use super::*;

    #[track_caller]
    fn check(kind: Kind, free_bytes: u64, free_files: Option<u64>, want: Outcome) {
        let mut tell = |_: &Check| {};
        let mut exam = Exam { checks: Vec::new(), group: "", tell: &mut tell };
        space(&mut exam, &Disk { kind, free_bytes, free_files });
        assert_eq!(exam.checks[0].outcome, want, "{:?}", exam.checks[0]);
    }

    #[test]
    fn a_disk_needs_room_and_has_to_be_local() {
        check(Kind::Local, ROOM, Some(FEW_FILES), Outcome::Pass);
        check(Kind::Local, ROOM, None, Outcome::Pass);
        check(Kind::Local, ROOM - 1, None, Outcome::Warn);
        check(Kind::Local, NO_ROOM - 1, None, Outcome::Fail);
        check(Kind::Local, ROOM, Some(1), Outcome::Warn);
        check(Kind::Local, ROOM, Some(0), Outcome::Fail);
        check(Kind::Network("NFS"), ROOM, None, Outcome::Warn);
        check(Kind::Network("NFS"), 0, None, Outcome::Fail);
        check(Kind::Memory, ROOM, None, Outcome::Warn);
        check(Kind::Layer, ROOM, None, Outcome::Warn);
    }

    #[test]
    fn a_slow_disk_is_said_to_be_so() {
        let mut tell = |_: &Check| {};
        let mut exam = Exam { checks: Vec::new(), group: "", tell: &mut tell };
        for millis in [99, 101] {
            durable_write(&mut exam, &Probe { synced_in: Duration::from_millis(millis), user: 0 });
        }
        assert_eq!(exam.checks.iter().map(|c| c.outcome).collect::<Vec<_>>(), [Outcome::Pass, Outcome::Warn]);
    }

    #[test]
    fn a_queue_that_nobody_works_off_is_told_from_one_that_is_slow() {
        let clock = Clock::manual(10_000_000);
        let figures = |oldest_due, discarded| Figures { waiting: 1, running: 0, discarded, oldest_due };
        let mut tell = |_: &Check| {};
        let mut exam = Exam { checks: Vec::new(), group: "", tell: &mut tell };
        queue(&mut exam, &figures(Some(9_990_000), 0), true, &clock);
        queue(&mut exam, &figures(Some(1_000_000), 0), true, &clock);
        queue(&mut exam, &figures(Some(1_000_000), 0), false, &clock);
        queue(&mut exam, &figures(None, 2), true, &clock);
        let outcomes: Vec<_> = exam.checks.iter().map(|check| check.outcome).collect();
        assert_eq!(outcomes, [Outcome::Pass, Outcome::Warn, Outcome::Warn, Outcome::Warn]);
        assert!(exam.checks[2].advice.as_ref().unwrap().contains("no server runs"));
    }

    #[test]
    fn times_are_short() {
        let spans = [5, 300, 10_000, 300_000].map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(spans, ["5 s", "5 min", "2 h", "3 days"]);
    }
}
