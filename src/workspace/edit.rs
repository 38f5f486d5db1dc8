//! What a change of ours does to one file.

/// One file written whole, or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    Write {
        /// `/`-separated, from the repository's root.
        path: String,
        /// All of the new content.
        text: Vec<u8>,
        /// None keeps what the file is; a new file is plain then.
        executable: Option<bool>,
    },
    Delete {
        path: String,
    },
}

impl Edit {
    pub fn path(&self) -> &str {
        match self {
            Self::Write { path, .. } | Self::Delete { path } => path,
        }
    }
}
