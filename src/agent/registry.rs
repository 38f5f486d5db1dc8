//! Every agent there is, by role. A new one is one file and one line here.

use super::contribute::{Analyst, Coder, Docs, Explorer, Manager, Planner, Pr, Scout, Tester};
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
        Role::Scout => &Scout,
        Role::Analyst => &Analyst,
        Role::Explorer => &Explorer,
        Role::Planner => &Planner,
        Role::Coder => &Coder,
        Role::Tester => &Tester,
        Role::Docs => &Docs,
        Role::Pr => &Pr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_is_played_by_its_own_agent() {
        for role in [
            Role::Manager,
            Role::Documentation,
            Role::Debt,
            Role::Improvement,
            Role::Critical,
            Role::Master,
            Role::Scout,
            Role::Analyst,
            Role::Explorer,
            Role::Planner,
            Role::Coder,
            Role::Tester,
            Role::Docs,
            Role::Pr,
        ] {
            assert_eq!(find(role).role(), role);
        }
    }
}
