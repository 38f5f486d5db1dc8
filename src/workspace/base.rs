//! The repository as it is at one commit: what a change of ours starts from.

use std::collections::HashSet;
use std::sync::Arc;

use super::change::{Change, Side};
use super::error::Error;
use crate::domain::Sha;

/// One side, read from the object database. A clone is another handle on the same tree.
#[derive(Debug, Clone)]
pub struct Tree(pub(super) Change);

impl Tree {
    /// The commit. For a work tree that differs from its commit: the commit below it.
    pub fn commit(&self) -> &Sha {
        &self.0.head
    }

    /// The tree id: equal ids are equal content.
    pub fn id(&self) -> &Sha {
        &self.0.tree
    }

    /// A file's text, or why it has none.
    ///
    /// # Errors
    /// When git cannot be read.
    pub async fn read(&self, path: &str) -> Result<Side, Error> {
        self.0.new_side(path).await
    }

    /// Every path, folders too. A tree beyond the limits is an error.
    ///
    /// # Errors
    /// When git cannot be read, or there is too much of it.
    pub async fn paths(&self) -> Result<Arc<HashSet<String>>, Error> {
        self.0.new_paths().await
    }

    /// Whether `.gitattributes` marks the file `linguist-generated`, `-diff` or `binary`.
    ///
    /// # Errors
    /// When git cannot be read.
    pub async fn is_generated(&self, path: &str) -> Result<bool, Error> {
        self.0.is_generated(path).await
    }
}
