//! `octoswarm calls`: what this program can ask of GitHub, for those who check it.

use std::process::ExitCode;

use super::{Exit, report};
use crate::app::calls;

pub fn cmd_calls() -> Exit {
    report::line(&serde_json::to_string_pretty(&calls::all())?);
    Ok(ExitCode::SUCCESS)
}
