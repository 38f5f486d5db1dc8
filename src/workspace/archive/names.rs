//! The names of an archive: which of them may be made, and that no two are one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Refusal;
use crate::workspace::names::{is_git, refuse_shape};

/// What stands at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

/// What is to be made of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At this path below the root; folders that are not there yet come first.
    Make { path: String, folders: Vec<String> },
    /// The root itself, or a folder that was made already.
    There,
    /// Git's own: left out.
    OfGit,
}

/// A tree of names, each kept once: a long path that many entries share costs nothing more.
#[derive(Debug)]
pub(super) struct Names {
    /// By the folder that it lies in, and the name in lower case: where case does not count, both would be one.
    known: HashMap<(u32, String), Known>,
    /// How many there may be.
    most: usize,
    depth: usize,
}

#[derive(Debug)]
struct Known {
    number: u32,
    /// As it was written first.
    name: String,
    kind: Kind,
}

const ROOT: u32 = 0;

impl Names {
    pub(super) fn new(most: usize, depth: usize) -> Self {
        Self { known: HashMap::new(), most, depth }
    }

    /// Where an entry of that name is made.
    pub(super) fn place(&mut self, raw: &[u8], kind: Kind) -> Result<Place, Refusal> {
        let refuse = |why: &str| Refusal::entry(raw, why);
        if raw.contains(&0) {
            return Err(refuse("its name holds a zero byte"));
        }
        let mut path = std::str::from_utf8(raw).map_err(|_| refuse("its name is not UTF-8"))?;
        if kind == Kind::Folder {
            path = path.strip_suffix('/').unwrap_or(path);
        }
        if path == "." {
            return if kind == Kind::Folder { Ok(Place::There) } else { Err(refuse("it leads elsewhere")) };
        }
        // As `tar` writes what it was told to pack as `.`.
        path = path.strip_prefix("./").unwrap_or(path);
        if path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() {
            return Err(refuse("it begins with the letter of a drive"));
        }
        if let Some(why) = refuse_shape(path, self.depth) {
            return Err(refuse(why));
        }
        if path.split('/').any(is_git) {
            return Ok(Place::OfGit);
        }
        self.enter(raw, path, kind)
    }

    fn enter(&mut self, raw: &[u8], path: &str, kind: Kind) -> Result<Place, Refusal> {
        let refuse = |why: String| Err(Refusal::entry(raw, why));
        let (mut at, mut folders, mut end) = (ROOT, Vec::new(), 0);
        let last = path.split('/').count() - 1;
        for (place, name) in path.split('/').enumerate() {
            end += name.len() + usize::from(place > 0);
            let wanted = if place == last { kind } else { Kind::Folder };
            let number = u32::try_from(self.known.len() + 1).unwrap_or(u32::MAX);
            let room = self.known.len() < self.most;
            match self.known.entry((at, name.to_lowercase())) {
                Entry::Occupied(known) => {
                    let known = known.get();
                    if known.name != name {
                        return refuse(format!(
                            "another entry differs from it only by case: `{}`",
                            super::shown(known.name.as_bytes())
                        ));
                    }
                    match (known.kind, wanted) {
                        (Kind::Folder, Kind::Folder) => {}
                        (Kind::File, Kind::File) => return refuse("there are two files of this name".to_owned()),
                        _ => return refuse("there are a file and a folder of one name".to_owned()),
                    }
                    at = known.number;
                    if place == last {
                        return Ok(Place::There);
                    }
                }
                Entry::Vacant(free) => {
                    if !room {
                        return Err(Refusal::archive(format!("it holds more than {} files and folders", self.most)));
                    }
                    free.insert(Known { number, name: name.to_owned(), kind: wanted });
                    at = number;
                    if wanted == Kind::Folder {
                        folders.push(path[..end].to_owned());
                    }
                }
            }
        }
        Ok(Place::Make { path: path.to_owned(), folders })
    }
}
