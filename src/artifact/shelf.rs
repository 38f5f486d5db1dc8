//! A run's folder of JSON documents: written whole or not at all, and readable with any JSON tool (S2.20, S2.24).

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::stdx::file;

/// One folder, `runs/<run id>/`.
#[derive(Debug, Clone)]
pub struct Shelf(PathBuf);

impl Shelf {
    /// The folder is made with the first document.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Replaces the document of that name.
    ///
    /// # Errors
    /// The disk's.
    pub fn put(&self, name: &str, document: &Value) -> io::Result<()> {
        std::fs::create_dir_all(&self.0)?;
        let mut text = serde_json::to_vec_pretty(document)?;
        text.push(b'\n');
        file::write_atomic(&self.0.join(name), &text)
    }

    /// Removes what a process that was killed while it wrote has left here.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_unfinished(&self) -> io::Result<()> {
        file::remove_unfinished(&self.0)
    }

    /// The document of that name; `None` when there is none.
    ///
    /// # Errors
    /// The disk's; `InvalidData` when it is not JSON.
    pub fn get(&self, name: &str) -> io::Result<Option<Value>> {
        match std::fs::read(self.0.join(name)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
