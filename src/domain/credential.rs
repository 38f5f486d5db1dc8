//! A token bound to the one place that may see it.

use super::Secret;

/// What git's smart HTTP needs to speak to one server. Only `github`'s token cache makes one in production.
#[derive(Debug, Clone)]
pub struct Credential {
    /// `scheme://host[:port]`, compared exactly: a redirect elsewhere gets nothing.
    pub origin: String,
    pub user: String,
    pub token: Secret,
}

/// Whose name a commit carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}
