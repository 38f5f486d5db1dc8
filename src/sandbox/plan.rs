//! What the server tells the launcher.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Limits;
use super::walls::Bind;

/// What the launcher has to do; it comes as its argument and holds no secret.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The server's process: where it is gone, nothing is begun.
    pub(super) parent: i32,
    pub(super) bwrap: PathBuf,
    pub(super) forbids_user_namespaces: bool,
    /// Whom to become; as an ordinary user we stay who we are.
    pub(super) user: Option<u32>,
    /// Files to write our process id into, to be under their limits.
    pub(super) groups: Vec<PathBuf>,
    pub(super) binds: Vec<Bind>,
    pub(super) dir: String,
    pub(super) env: Vec<(String, String)>,
    pub(super) command: Vec<String>,
    pub(super) limits: Limits,
    /// The command is run beside the bridge to its proxy.
    pub(super) bridged: bool,
}
