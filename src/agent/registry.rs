//! Every agent there is, by role. A new one is one file and one line here.

use super::contribute::{Coder, Manager};
use super::review::{Lens, Master};
use super::{DynAgent, Role};
use crate::domain::Category;

/// The agent that plays a role.
pub fn find(role: Role) -> &'static dyn DynAgent {
    match role {
        Role::Manager => &Manager,
        Role::Documentation => &Lens(Category::Documentation),
        Role::Debt => &Lens(Category::Debt),
        Role::Improvement => &Lens(Category::Improvement),
        Role::Critical => &Lens(Category::Critical),
        Role::Master => &Master,
        Role::Scout => &Unbuilt(Role::Scout),
        Role::Analyst => &Unbuilt(Role::Analyst),
        Role::Explorer => &Unbuilt(Role::Explorer),
        Role::Coder => &Coder,
        Role::Pr => &Unbuilt(Role::Pr),
    }
}

/// Replaced by the real ones.
struct Unbuilt(Role);

impl super::Agent for Unbuilt {
    const VERSION: &'static str = "0";
    type Input = serde_json::Value;
    type Output = serde_json::Value;

    fn role(&self) -> Role {
        self.0
    }

    async fn run(&self, _cx: &super::Context, _input: serde_json::Value) -> Result<serde_json::Value, super::Error> {
        Err(super::Error::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_is_played_by_its_own_agent() {
        for role in [Role::Manager, Role::Documentation, Role::Debt, Role::Improvement, Role::Critical, Role::Master] {
            assert_eq!(find(role).role(), role);
        }
    }
}
