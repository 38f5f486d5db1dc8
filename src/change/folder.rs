//! A change's folder, held so that nobody else writes there, and read and written without following a link anywhere.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::state::State;
use super::{CHANGES, Error, MAX_DOCUMENT};
use crate::artifact::agentd::MAX_SPECS;
use crate::stdx::hash::sha256;
use crate::stdx::nofollow::{Folder, Found, Lock};
use crate::stdx::text::binary_size;

pub(super) const PROPOSAL: &str = "proposal.md";
pub(super) const TASKS: &str = "tasks.md";
pub(super) const REVIEW: &str = "REVIEW.md";
pub(super) const STATE: &str = "STATE.yaml";
const SPECS: &str = "specs";

/// The folder of all changes, held.
pub(super) struct Shelf {
    folder: Folder,
    _lock: Lock,
}

/// One document as it stands.
#[derive(Debug, Clone)]
pub(super) struct Text {
    /// In the change's folder.
    pub name: String,
    pub text: String,
    /// `sha256:` and 64 digits.
    pub hash: String,
}

/// One change as it stands on the disk. What its documents say was not looked at.
pub(super) struct Desk {
    pub id: String,
    folder: Folder,
    pub proposal: Option<Text>,
    /// By the spec's id.
    pub specs: BTreeMap<String, Text>,
    pub tasks: Option<Text>,
    pub review: Option<Text>,
    pub state: Option<State>,
}

impl Shelf {
    /// `None` where there are no changes yet.
    pub fn open(root: &Path, to_write: bool) -> Result<Option<Self>, Error> {
        Self::walk(root, to_write, |folder, name| folder.folder(name))
    }

    /// The same, and made where there is none.
    pub fn make(root: &Path) -> Result<Self, Error> {
        let made = Self::walk(root, true, |folder, name| folder.make(name).map(Some))?;
        made.ok_or_else(|| Error::Disk { path: CHANGES.to_owned(), source: io::ErrorKind::NotFound.into() })
    }

    fn walk(
        root: &Path,
        to_write: bool,
        step: impl Fn(&Folder, &str) -> io::Result<Option<Folder>>,
    ) -> Result<Option<Self>, Error> {
        let mut folder = match Folder::open(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !to_write => return Ok(None),
            opened => opened.map_err(|source| Error::Disk { path: root.display().to_string(), source })?,
        };
        let mut path = String::new();
        for name in CHANGES.split('/') {
            path = crate::stdx::path::join(&path, name);
            match step(&folder, name).map_err(|error| Error::of(error, &path))? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        let lock = folder.lock(to_write).map_err(|error| Error::of(error, &path))?;
        Ok(Some(Self { folder, _lock: lock }))
    }

    /// Whatever lies here, by name.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        self.folder.names().map_err(|error| Error::of(error, CHANGES))
    }

    /// The change of that id, an id already.
    pub fn change(&self, id: &str) -> Result<Option<Desk>, Error> {
        let folder = self.folder.folder(id).map_err(|error| Error::of(error, &path_of(id, "")))?;
        folder.map(|folder| Desk::read(folder, id)).transpose()
    }

    /// The same, and made where there is none.
    pub fn make_change(&self, id: &str) -> Result<Desk, Error> {
        let folder = self.folder.make(id).map_err(|error| Error::of(error, &path_of(id, "")))?;
        folder.make(SPECS).map_err(|error| Error::of(error, &path_of(id, SPECS)))?;
        Desk::read(folder, id)
    }
}

impl Desk {
    fn read(folder: Folder, id: &str) -> Result<Self, Error> {
        let text = |name: &str| text(&folder, id, name);
        let (proposal, tasks, review) = (text(PROPOSAL)?, text(TASKS)?, text(REVIEW)?);
        let state = text(STATE)?
            .map(|state| {
                State::read(&state.text, id).map_err(|faults| Error::Unreadable { path: path_of(id, STATE), faults })
            })
            .transpose()?;
        let mut specs = BTreeMap::new();
        let at = path_of(id, SPECS);
        if let Some(listed) = folder.folder(SPECS).map_err(|error| Error::of(error, &at))? {
            let names = listed.names().map_err(|error| Error::of(error, &at))?;
            let ids = names.iter().filter_map(|name| name.strip_suffix(".md")).filter(|id| super::is_id(id));
            for spec in ids {
                if specs.len() == MAX_SPECS {
                    return Err(Error::Strange { path: at, what: format!("a folder of more than {MAX_SPECS} specs") });
                }
                let name = spec_name(spec);
                if let Some(found) = text(&name)? {
                    specs.insert(spec.to_owned(), found);
                }
            }
        }
        Ok(Self { id: id.to_owned(), folder, proposal, specs, tasks, review, state })
    }

    /// Every document, with its name in the change's folder.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.proposal.iter().chain(self.specs.values()).chain(&self.tasks).chain(&self.review)
    }

    /// Replaces a document. Its size was looked at before.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let told = |error| Error::of(error, &path_of(&self.id, name));
        match name.split_once('/') {
            Some((folder, name)) => {
                self.folder.make(folder).and_then(|folder| folder.replace(name, text.as_bytes())).map_err(told)
            }
            None => self.folder.replace(name, text.as_bytes()).map_err(told),
        }
    }

    /// Where a document lies, below the root.
    pub fn path(&self, name: &str) -> String {
        path_of(&self.id, name)
    }
}

impl Text {
    pub fn new(name: &str, text: String) -> Self {
        let hash = format!("sha256:{}", sha256(text.as_bytes()));
        Self { name: name.to_owned(), text, hash }
    }
}

/// `specs/a.md`.
pub(super) fn spec_name(id: &str) -> String {
    format!("{SPECS}/{id}.md")
}

pub(super) fn path_of(id: &str, name: &str) -> String {
    crate::stdx::path::join(&format!("{CHANGES}/{id}"), name)
}

fn text(folder: &Folder, id: &str, name: &str) -> Result<Option<Text>, Error> {
    let path = path_of(id, name);
    let strange = |what: String| Error::Strange { path: path.clone(), what };
    match folder.read(Path::new(name), MAX_DOCUMENT as u64).map_err(|error| Error::of(error, &path))? {
        Found::File { bytes, .. } => {
            let text = String::from_utf8(bytes).map_err(|_| strange("no UTF-8".to_owned()))?;
            let hash = format!("sha256:{}", sha256(text.as_bytes()));
            // A mark that some editors begin with, and line ends of Windows.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
            Ok(Some(Text { name: name.to_owned(), text, hash }))
        }
        Found::Missing => Ok(None),
        Found::Link(_) => Err(strange("a symbolic link".to_owned())),
        Found::TooLarge => Err(strange(format!("larger than {}", binary_size(MAX_DOCUMENT as u64)))),
        Found::Other => Err(strange("no plain file".to_owned())),
    }
}
