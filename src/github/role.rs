//! What a person may do in a repository. Nothing else decides who may command us: not the payload, not a name.

use serde::Deserialize;

use super::client;
use super::error::Error;
use super::user::UserWire;
use super::{Repo, endpoint};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Whom GitHub means by that login now: compare it with the id of who asked, for logins are renamed and used again.
    /// 0 when GitHub names nobody.
    pub user_id: u64,
    /// `admin`, `maintain`, `write`, `triage`, `read`, `none`, or the name of an organisation's own role.
    pub role: String,
    /// `admin`, `write`, `read` or `none`: the role as GitHub ranks it.
    pub permission: String,
    /// May push.
    pub writes: bool,
}

#[derive(Deserialize)]
struct RoleWire {
    permission: String,
    role_name: Option<String>,
    user: Option<UserWire>,
}

impl Role {
    fn nobody() -> Self {
        Self { user_id: 0, role: "none".to_owned(), permission: "none".to_owned(), writes: false }
    }
}

impl From<RoleWire> for Role {
    fn from(wire: RoleWire) -> Self {
        let user_id = wire.user.map_or(0, |user| user.id);
        // An old server names no role; its permission is one of the same words.
        let role = wire.role_name.filter(|role| !role.is_empty()).unwrap_or_else(|| wire.permission.clone());
        let writes = match role.as_str() {
            "admin" | "maintain" | "write" => true,
            "triage" | "read" | "none" => false,
            _ => matches!(wire.permission.as_str(), "admin" | "write"),
        };
        Self { writes: writes && user_id != 0, user_id, role, permission: wire.permission }
    }
}

impl Repo {
    /// What the account of that login may do here; who is no collaborator may nothing.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn role_of(&self, login: &str) -> Result<Role, Error> {
        if login.is_empty() {
            return Ok(Role::nobody());
        }
        let call = self.call(&endpoint::GET_ROLE, &[login]);
        match self.find(&call).await? {
            Some(answer) => client::decode::<RoleWire>(&call, &answer.body).map(Role::from),
            None => Ok(Role::nobody()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(role: serde_json::Value, permission: &str, writes: bool) {
        let wire = json!({ "permission": permission, "role_name": role, "user": { "id": 5, "login": "mona" } });
        assert_eq!(Role::from(serde_json::from_value::<RoleWire>(wire).unwrap()).writes, writes, "{role} {permission}");
    }

    #[test]
    fn who_may_push_may_command_whatever_the_role_is_called() {
        for role in ["admin", "maintain", "write"] {
            check(json!(role), if role == "admin" { "admin" } else { "write" }, true);
        }
        for role in ["triage", "read", "none"] {
            check(json!(role), if role == "none" { "none" } else { "read" }, false);
        }
        check(json!("release manager"), "write", true);
        check(json!("release manager"), "admin", true);
        check(json!("security champion"), "read", false);
        check(json!("writer"), "none", false);
        check(json!(null), "write", true);
        check(json!(""), "read", false);
    }

    #[test]
    fn a_role_that_names_nobody_may_nothing() {
        let wire = json!({ "permission": "admin", "role_name": "admin", "user": null });
        assert!(!Role::from(serde_json::from_value::<RoleWire>(wire).unwrap()).writes);
    }
}
