//! Every agent there is, by role. A new one is one file, one row in the table of roles, and one line here.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::contribute::{Analyst, Coder, Docs, Explorer, Manager, Planner, Pr, Scout, Tester};
use super::review::{Lens, Master};
use super::{DynAgent, Role};
use crate::domain::Category;

/// The agents of a process.
#[derive(Clone)]
pub struct Registry {
    agents: BTreeMap<Role, Arc<dyn DynAgent>>,
}

impl Registry {
    /// Our own agents, one for every role.
    pub fn builtin() -> Self {
        let mut registry = Self { agents: BTreeMap::new() };
        registry.put(Manager);
        registry.put(Lens(Category::Documentation));
        registry.put(Lens(Category::Debt));
        registry.put(Lens(Category::Improvement));
        registry.put(Lens(Category::Critical));
        registry.put(Master);
        registry.put(Scout);
        registry.put(Analyst);
        registry.put(Explorer);
        registry.put(Planner);
        registry.put(Coder);
        registry.put(Tester);
        registry.put(Docs);
        registry.put(Pr);
        registry
    }

    /// Gives a role to another agent.
    pub fn put(&mut self, agent: impl DynAgent + 'static) {
        self.agents.insert(agent.role(), Arc::new(agent));
    }

    /// The agent that plays a role.
    pub fn get(&self, role: Role) -> &Arc<dyn DynAgent> {
        #[expect(clippy::expect_used, reason = "it begins with all roles and none is taken out; a test counts them")]
        self.agents.get(&role).expect("an agent for every role")
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::builtin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_is_played_by_its_own_agent() {
        let registry = Registry::builtin();
        for role in Role::all() {
            assert_eq!(registry.get(role).role(), role);
        }
    }
}
