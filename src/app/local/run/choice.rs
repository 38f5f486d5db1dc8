//! What a run is asked to do, read from words: which agents, which of them outside, with which settings.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::agent::Role;
use crate::app::Error;
use crate::artifact::exchange::{AgentConfig, PipelineAgent};
use crate::artifact::{Fault, check};
use crate::mailbox::AgentName;
use crate::stdx::text::{did_you_mean, nearest, visible_line};

/// In the order in which they work.
const ORDER: [(PipelineAgent, &str); 4] = [
    (PipelineAgent::Planner, "planner"),
    (PipelineAgent::Coder, "coder"),
    (PipelineAgent::Tester, "tester"),
    (PipelineAgent::Reviewer, "reviewer"),
];

/// The agents of a run that somebody chooses among (S1.18), in the order in which they work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen(Vec<PipelineAgent>);

impl Default for Chosen {
    fn default() -> Self {
        Self(ORDER.iter().map(|(agent, _)| *agent).collect())
    }
}

impl Chosen {
    /// # Errors
    /// An agent that there is none of, that is there twice, or that stands where it cannot work.
    pub fn parse(names: &[String]) -> Result<Self, Error> {
        let mut chosen: Vec<PipelineAgent> = Vec::new();
        for name in names.iter().map(|name| name.trim()) {
            let Some((agent, _)) = ORDER.iter().find(|(_, known)| *known == name) else {
                let near = did_you_mean(nearest(name, ORDER.iter().map(|(_, known)| *known)));
                let known = "planner, coder, tester and reviewer can be chosen; the manager always comes first";
                return Err(usage(format!("there is no agent `{}` to choose: {known}{near}", visible_line(name))));
            };
            match chosen.last() {
                Some(last) if last == agent || chosen.contains(agent) => {
                    return Err(usage(format!("`{name}` is named twice: an agent works once in a run")));
                }
                Some(last) if last > agent => {
                    let last = word(*last);
                    let why = format!("`{name}` cannot come after `{last}`, which builds on what it makes");
                    return Err(usage(format!("{why}: the order is planner, coder, tester, reviewer")));
                }
                Some(_) | None => chosen.push(*agent),
            }
        }
        let chosen = Self(chosen);
        if chosen.0.is_empty() {
            return Err(usage("no agent is named: planner, coder, tester and reviewer can be chosen".to_owned()));
        }
        if chosen.has(PipelineAgent::Tester) && !chosen.has(PipelineAgent::Coder) {
            let why = "`tester` writes the tests of what the coder changes: name `coder` before it";
            return Err(usage(why.to_owned()));
        }
        Ok(chosen)
    }

    pub fn has(&self, agent: PipelineAgent) -> bool {
        self.0.contains(&agent)
    }

    /// Somebody plans or changes something: the run needs to be told what.
    pub fn makes(&self) -> bool {
        self.0.iter().any(|agent| *agent != PipelineAgent::Reviewer)
    }

    /// The roles that are chosen of the flow which plans and changes; what they need is not among them.
    pub(super) fn roles(&self) -> Vec<Role> {
        let of = |agent: &PipelineAgent| match agent {
            PipelineAgent::Planner => &[Role::Planner][..],
            PipelineAgent::Coder => &[Role::Coder, Role::Pr],
            // What the change means for the documentation belongs to it as its tests do.
            PipelineAgent::Tester => &[Role::Tester, Role::Docs],
            PipelineAgent::Reviewer => &[],
        };
        self.0.iter().flat_map(of).copied().collect()
    }
}

fn word(agent: PipelineAgent) -> &'static str {
    ORDER.iter().find(|(known, _)| *known == agent).map_or("", |(_, name)| name)
}

/// The mailboxes of agents that programs outside play.
///
/// # Errors
/// A name that is no agent's.
pub(super) fn outside(names: &[String]) -> Result<Vec<AgentName>, Error> {
    let known = || Role::all().map(Role::name).chain(["research_agent_1", "research_agent_2"]);
    let one = |name: &String| {
        let called = Role::parse(name).filter(|_| !known().any(|known| known == name)).map(Role::name);
        let called = called.unwrap_or(name);
        let found = AgentName::parse(called).filter(|found| known().any(|known| known == found.as_str()));
        found.ok_or_else(|| {
            let near = did_you_mean(nearest(name, known()));
            usage(format!("there is no agent `{}` for a program outside to play{near}", visible_line(name)))
        })
    };
    names.iter().map(one).collect()
}

/// The settings of agents (S1.18, S1.19), from a JSON object with one member an agent.
///
/// # Errors
/// Everything that is wrong with it, with the path in it.
pub fn configs(text: &str) -> Result<BTreeMap<Role, AgentConfig>, Error> {
    let whole: Value = serde_json::from_str(text).map_err(|error| usage(format!("it is not JSON: {error}")))?;
    let Value::Object(members) = whole else {
        return Err(usage(
            "it is no object with one member for each agent, like {\"coder\": {\"retries\": 1}}".to_owned(),
        ));
    };
    let (mut configs, mut faults) = (BTreeMap::new(), Vec::new());
    for (name, value) in members {
        let shown = visible_line(&name);
        let Some(role) = Role::parse(&name) else {
            let near = did_you_mean(nearest(&name, Role::all().map(Role::name)));
            faults.push(format!("{shown}: there is no such agent{near}"));
            continue;
        };
        let found: Vec<Fault> = check("agent-config", &value).unwrap_or_default();
        let path = |fault: &Fault| match fault.path.as_str() {
            "" => format!("{shown}: {}", fault.message),
            path => format!("{shown}.{path}: {}", fault.message),
        };
        // A setting that nobody knows would be left out in silence.
        faults.extend(found.iter().map(path));
        if !found.is_empty() {
            continue;
        }
        match AgentConfig::deserialize(value) {
            Ok(config) if role == Role::Manager && config.enabled == Some(false) => {
                faults
                    .push(format!("{shown}.enabled: the manager comes first in every run and cannot be switched off"));
            }
            Ok(config) => {
                if configs.insert(role, config).is_some() {
                    faults.push(format!("{shown}: the {} agent has settings under another of its names", role.name()));
                }
            }
            Err(error) => faults.push(format!("{shown}: {error}")),
        }
    }
    if faults.is_empty() { Ok(configs) } else { Err(usage(faults.join("\n"))) }
}

fn usage(text: String) -> Error {
    Error::Path(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(names: &str) -> Result<Chosen, String> {
        let names: Vec<String> = names.split(',').map(str::to_owned).collect();
        Chosen::parse(&names).map_err(|error| error.to_string())
    }

    #[test]
    fn s1_18_agents_are_chosen_in_the_order_in_which_they_can_work() {
        for right in
            ["planner", "coder", "reviewer", "planner,reviewer", "coder,tester", "planner,coder,tester,reviewer"]
        {
            assert!(parse(right).is_ok(), "{right}");
        }
        for (wrong, want) in [
            ("tester,coder", "`coder` cannot come after `tester`"),
            ("reviewer,planner", "`planner` cannot come after `reviewer`"),
            ("tester", "name `coder` before it"),
            ("planner,planner", "named twice"),
            ("codr", "did you mean `coder`?"),
            ("manager", "always comes first"),
            ("", "there is no agent ``"),
        ] {
            let said = parse(wrong).unwrap_err();
            assert!(said.to_lowercase().contains(&want.to_lowercase()), "{wrong}: {said}");
        }
    }
}
