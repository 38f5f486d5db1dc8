//! Every agent there is, by role. A new one is one file and one line here.

use super::contribute::{Analyst, Coder, Docs, Explorer, Manager, Pr, Scout, Tester};
use super::monitor::Reviews;
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
        Role::Coder => &Coder,
        Role::Tester => &Tester,
        Role::Docs => &Docs,
        Role::Pr => &Pr,
        Role::Reviews => &Reviews,
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
            Role::Coder,
            Role::Tester,
            Role::Docs,
            Role::Pr,
            Role::Reviews,
        ] {
            assert_eq!(find(role).role(), role);
        }
    }
}
