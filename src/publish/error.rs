//! Why something was not said.

use crate::domain::Class;
use crate::{github, store};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Github(#[from] github::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The pull request was closed or got another head: what we had to say is about something that is past.
    #[error("nothing was posted: {0}")]
    Superseded(String),
}

impl Error {
    /// The only question the queue ever asks of an error.
    pub fn class(&self) -> Class {
        match self {
            Self::Github(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Superseded(_) => Class::Cancelled,
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Github(error) => error.hint(),
            Self::Store(error) => error.hint().map(str::to_owned),
            Self::Superseded(_) => None,
        }
    }
}
