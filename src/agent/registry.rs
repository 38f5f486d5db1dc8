//! Every agent there is, by role. A new one is one file and one line here.

use super::contribute::Manager;
use super::review::{Documentation, Lens, Master};
use super::{DynAgent, Role};
use crate::domain::Category;

static AGENTS: [&dyn DynAgent; 6] =
    [&Manager, &Documentation, &Lens(Category::Debt), &Lens(Category::Improvement), &Lens(Category::Critical), &Master];

/// The agent that plays a role.
pub fn find(role: Role) -> &'static dyn DynAgent {
    match role {
        Role::Manager => AGENTS[0],
        Role::Documentation => AGENTS[1],
        Role::Debt => AGENTS[2],
        Role::Improvement => AGENTS[3],
        Role::Critical => AGENTS[4],
        Role::Master => AGENTS[5],
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
