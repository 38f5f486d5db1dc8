//! A run's folder of JSON documents: written whole and valid or not at all, and readable with any JSON tool (S2.20, S2.24).

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fault::Fault;
use super::form::{FORMS, Form, Typed};
use crate::stdx::file;
use crate::stdx::text::count;

/// One folder, `runs/<run id>/`.
#[derive(Debug, Clone)]
pub struct Shelf(PathBuf);

/// Why a document could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Disk(#[from] io::Error),
    #[error("no document is called `{file}`")]
    Unknown { file: String },
    #[error("`{file}` is not JSON")]
    NotJson { file: String, source: serde_json::Error },
    /// What stands on the disk is as it was.
    #[error("`{file}` does not have its form: {}", told(.faults))]
    Refused { file: String, faults: Vec<Fault> },
}

/// The first fault, and how many more there are.
fn told(faults: &[Fault]) -> String {
    match faults {
        [] => "nobody knows why".to_owned(),
        [one] => one.to_string(),
        [first, more @ ..] => format!("{first}, and {}", count(more.len(), "other fault")),
    }
}

impl Shelf {
    /// The folder is made with the first document.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Replaces the document of that name, whose form the name tells.
    ///
    /// # Errors
    /// The name is none of a document, the document does not have its form, or the disk's.
    pub fn put(&self, file: &str, document: &Value) -> Result<(), Error> {
        let form = FORMS.iter().find(|form| form.file == Some(file));
        self.store(form.ok_or_else(|| Error::Unknown { file: file.to_owned() })?, file, document)
    }

    /// Replaces the document of that name, for those whose name is not told by their form: one of many of its kind.
    ///
    /// # Errors
    /// The document does not have its form, or the disk's.
    pub fn write<T: Typed>(&self, file: &str, document: &T) -> Result<(), Error> {
        let document = serde_json::to_value(document).map_err(io::Error::from)?;
        self.store(Form::of::<T>(), file, &document)
    }

    fn store(&self, form: &Form, file: &str, document: &Value) -> Result<(), Error> {
        let mut faults = form.check_own(document);
        faults.retain(Fault::is_error);
        if !faults.is_empty() {
            return Err(Error::Refused { file: file.to_owned(), faults });
        }
        let mut text = serde_json::to_vec_pretty(document).map_err(io::Error::from)?;
        text.push(b'\n');
        Ok(file::write_atomic(&self.0.join(file), &text)?)
    }

    /// The document of that name; `None` when there is none.
    ///
    /// # Errors
    /// It is not JSON or does not have its form, or the disk's.
    pub fn read<T: Typed>(&self, file: &str) -> Result<Option<T>, Error> {
        let bytes = match std::fs::read(self.0.join(file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let not_json = |source| Error::NotJson { file: file.to_owned(), source };
        let document: Value = serde_json::from_slice(&bytes).map_err(not_json)?;
        let mut faults = Form::of::<T>().check(&document);
        faults.retain(Fault::is_error);
        if !faults.is_empty() {
            return Err(Error::Refused { file: file.to_owned(), faults });
        }
        serde_json::from_value(document).map(Some).map_err(not_json)
    }

    /// Removes what a process that was killed while it wrote has left here.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_unfinished(&self) -> io::Result<()> {
        file::remove_unfinished(&self.0)
    }
}
