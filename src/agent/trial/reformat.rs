//! What the repository's formatter makes of the files of a change.
//!
//! Never: a file that the change does not touch; anything but text, read back through no link.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use super::{Error, Failure, Outcome, Trial, shown};
use crate::agent::checks::{Check, Kind, unformatted};
use crate::sandbox::Workplace;
use crate::stdx::nofollow::Found;
use crate::stdx::path::join;

/// A larger file is not written by us.
const MOST_BYTES: u64 = 1 << 20;
/// Where commands see the work tree.
const WORK: &str = "/work/";

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reformatted {
    /// The commands that were run.
    pub by: Vec<String>,
    /// Files with their new text.
    pub texts: BTreeMap<String, String>,
    /// Why something stayed as it was, a sentence each.
    pub left: Vec<String>,
}

impl Trial<'_> {
    /// Where a check of the format fails that did not fail without the change, its formatter is run, and what it made of the
    /// `touched` files is read back: path and text of each. Files that were out of form before the change stay as they are.
    ///
    /// # Errors
    /// As [`super::trial`].
    pub async fn reformatted(&mut self, touched: &BTreeMap<String, String>) -> Result<Reformatted, Error> {
        let (subject, checks) = (self.subject, self.checks);
        let Ok(ready) = &mut self.ready else { return Ok(Reformatted::default()) };
        let (mut wanted, mut known): (Vec<&Check>, BTreeSet<String>) = Default::default();
        for (at, check) in checks.iter().enumerate().filter(|(_, check)| check.kind == Kind::Format) {
            let writers: Vec<&Check> = checks.iter().filter(|writer| is_for(writer, check)).collect();
            if writers.is_empty() {
                continue;
            }
            let (outcome, then) = ready.outcome(subject, checks, check).await?;
            if matches!(&outcome, Outcome::Failed(failure) if !failure.before) {
                known.extend(then.into_iter().flat_map(|then| then.names));
                let fresh = writers.into_iter().filter(|writer| !wanted.contains(writer));
                wanted.extend(fresh.collect::<Vec<_>>());
            }
            ready.known.insert(at, outcome);
        }
        let mut done = Reformatted::default();
        for writer in wanted {
            ready.touched = true;
            match ready.room.run(&ready.after, writer).await? {
                Outcome::Passed { .. } => done.by.push(writer.line.clone()),
                Outcome::Failed(Failure { why, .. }) => done.left.push(format!("{}: {why}", shown(&writer.line))),
                Outcome::NotRun { why } => done.left.push(format!("{}: not run, {why}", shown(&writer.line))),
            }
        }
        // Half of what a formatter wanted to do is nothing that anybody has asked for.
        if !done.left.is_empty() || done.by.is_empty() {
            done.by.clear();
            return Ok(done);
        }
        let place = Arc::clone(&ready.after.place);
        let old: BTreeMap<String, String> =
            touched.iter().filter(|(path, _)| !known.contains(*path)).map(|(p, t)| (p.clone(), t.clone())).collect();
        let read = tokio::task::spawn_blocking(move || read_back(&place, &old)).await;
        (done.texts, done.left) = read.map_err(io::Error::other).flatten().map_err(Error::Disk)?;
        Ok(done)
    }
}

/// Whether a formatter makes right what a check found.
fn is_for(writer: &Check, check: &Check) -> bool {
    let same = writer.ecosystem == check.ecosystem && writer.dir == check.dir;
    writer.kind == Kind::Reformat && (same || writer.configured)
}

/// The files that a check of the format named, as paths of the tree: some tools name them from the root of the machine, others from the
/// folder that they are run in.
pub(super) fn named(check: &Check, said: &str) -> Vec<String> {
    let path = |name: &String| match name.strip_prefix(WORK) {
        Some(path) => path.to_owned(),
        None => join(&check.dir, name.trim_start_matches("./")),
    };
    unformatted(said).iter().map(path).collect()
}

type ReadBack = (BTreeMap<String, String>, Vec<String>);

fn read_back(place: &Workplace, old: &BTreeMap<String, String>) -> io::Result<ReadBack> {
    let (mut texts, mut left) = ReadBack::default();
    for (path, old) in old {
        let why = match place.read(path, MOST_BYTES)? {
            Found::File { bytes, .. } => match String::from_utf8(bytes) {
                Ok(text) if text == *old => continue,
                Ok(text) if !text.contains('\0') => {
                    texts.insert(path.clone(), text);
                    continue;
                }
                Ok(_) | Err(_) => "is no text any more",
            },
            Found::TooLarge => "is larger than anything that is written here",
            Found::Missing => "is gone",
            Found::Link(_) | Found::Other => "is no regular file any more",
        };
        left.push(format!("after it `{path}` {why}"));
    }
    Ok((texts, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_paths_of_the_tree_whatever_the_tool_calls_them() {
        let check = |dir: &str| Check {
            kind: Kind::Format,
            line: "fmt".into(),
            dir: dir.into(),
            ecosystem: "cargo".into(),
            env: BTreeMap::new(),
            configured: false,
        };
        let rustfmt = "Diff in /work/sub/src/lib.rs:1:\n-a\n+b\n";
        assert_eq!(named(&check("sub"), rustfmt), ["sub/src/lib.rs"]);
        let black = "would reformat ./a.py\n";
        assert_eq!(named(&check("sub"), black), ["sub/a.py"]);
        assert_eq!(named(&check(""), black), ["a.py"]);
    }
}
