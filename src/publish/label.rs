//! The label that asks for work, offered where it is missing.

use super::{Error, Publisher};
use crate::github::{self, Repo};

const COLOR: &str = "1f6feb";
const DESCRIPTION: &str = "Asks octoswarm to make this change and open a pull request";

impl Publisher {
    /// Afterwards the repository offers the label; tells whether this call made it. GitHub itself refuses a second one of
    /// that name, so nothing needs to be remembered.
    ///
    /// # Errors
    /// GitHub's, for instance that the App may not write issues there.
    pub async fn offer_label(&self, repo: &Repo, name: &str) -> Result<bool, Error> {
        if repo.has_label(name).await? {
            return Ok(false);
        }
        match repo.create_label(name, COLOR, DESCRIPTION).await {
            Ok(()) => Ok(true),
            // Somebody was faster; any other objection is told.
            Err(error) if matches!(error.root(), github::Error::Validation { .. }) && repo.has_label(name).await? => {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
