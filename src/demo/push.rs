//! What `git push` sends, read before git may act on it, and the answer to a push that is declined.
//!
//! The pack is unpacked beside the repository, so that a declined push leaves no object behind.

use std::io::Write;
use std::path::PathBuf;

use super::refusal::Refusal;
use super::repo;
use super::state::{Decline, Permissions, RefChange, World};

/// A push, taken apart.
pub struct Request {
    pub changes: Vec<RefChange>,
    capabilities: String,
    pack: Vec<u8>,
}

/// A push that is declined: which ref, why.
pub struct Declined(Vec<(String, Decline)>);

impl Request {
    /// `None` for anything that is no push; git itself knows what to say to it.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut at = 0;
        let mut changes = Vec::new();
        let mut capabilities = String::new();
        loop {
            let length = usize::from_str_radix(std::str::from_utf8(body.get(at..at + 4)?).ok()?, 16).ok()?;
            if length == 0 {
                at += 4;
                break;
            }
            let line = String::from_utf8_lossy(body.get(at + 4..at + length)?).into_owned();
            at += length;
            let (command, rest) = line.split_once('\0').unwrap_or((&line, ""));
            if !rest.is_empty() {
                rest.trim().clone_into(&mut capabilities);
            }
            if command.starts_with("shallow ") {
                continue;
            }
            let mut parts = command.trim_end().splitn(3, ' ');
            let (before, after, name) = (parts.next()?, parts.next()?, parts.next()?);
            let id = |text: &str| text.bytes().any(|byte| byte != b'0').then(|| text.to_owned());
            changes.push(RefChange { name: name.to_owned(), before: id(before), after: id(after) });
        }
        Some(Self { changes, capabilities, pack: body.get(at..)?.to_vec() })
    }

    /// Looks at what the push brings, without letting it in. A pack that cannot be read is left to git to refuse.
    pub fn examine(
        &self,
        world: &World,
        repo: u64,
        token: Option<&Permissions>,
    ) -> Result<Result<(), Declined>, Refusal> {
        let beside = Beside(world.root.join(format!(".incoming-{}", uuid::Uuid::new_v4().simple())));
        let git = repo::quarantine(&beside.0, &world.git_dir(repo)?)?;
        if !self.pack.is_empty() {
            let odb = git.odb()?;
            let mut writer = odb.packwriter()?;
            if writer.write_all(&self.pack).is_err() || writer.commit().is_err() {
                return Ok(Ok(()));
            }
        }
        let real = world.git(repo)?;
        let mut declined = Vec::new();
        for change in &self.changes {
            // What the pusher believes to be the tip does not matter here: git compares it afterwards.
            let before = real.find_reference(&change.name).ok().and_then(|r| r.target()).map(|oid| oid.to_string());
            let change = RefChange { before, ..change.clone() };
            match world.verdict(repo, &git, &change, token) {
                Ok(None) => {}
                Ok(Some(decline)) => declined.push((change.name, decline)),
                // A commit that is nowhere to be found: git refuses it in its own words.
                Err(refusal) => tracing::debug!(error = refusal.text(), "a push could not be examined"),
            }
        }
        Ok(if declined.is_empty() { Ok(()) } else { Err(Declined(declined)) })
    }

    /// The answer to a declined push: one refused ref takes the others with it, as behind GitHub's hooks.
    pub fn answer(&self, declined: &Declined, repository_url: &str) -> Vec<u8> {
        let mut report = packet(b"unpack ok\n");
        for change in &self.changes {
            let reason = self.reason(declined, &change.name);
            report.extend(packet(format!("ng {} {reason}\n", change.name).as_bytes()));
        }
        report.extend(b"0000");
        if !self.capabilities.split(' ').any(|capability| capability.starts_with("report-status")) {
            report = b"0000".to_vec();
        }
        if !self.capabilities.split(' ').any(|capability| capability == "side-band-64k") {
            return report;
        }
        let mut out = Vec::new();
        for (name, decline) in &declined.0 {
            for line in decline.remote(repository_url, name) {
                out.extend(band(2, format!("{line}\n").as_bytes()));
            }
        }
        out.extend(band(1, &report));
        out.extend(b"0000");
        out
    }

    pub fn reason(&self, declined: &Declined, name: &str) -> String {
        let hit = declined.0.iter().find(|(known, _)| known == name);
        hit.map_or_else(|| "pre-receive hook declined".to_owned(), |(_, decline)| decline.reason())
    }
}

/// A directory that goes with the value.
struct Beside(PathBuf);

impl Drop for Beside {
    fn drop(&mut self) {
        // The box removes its whole directory at its end: what stays until then harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn packet(data: &[u8]) -> Vec<u8> {
    let mut out = format!("{:04x}", data.len() + 4).into_bytes();
    out.extend(data);
    out
}

/// Side-band packets hold at most 65,515 bytes of data.
fn band(number: u8, data: &[u8]) -> Vec<u8> {
    data.chunks(65_000).flat_map(|chunk| packet(&[&[number], chunk].concat())).collect()
}
