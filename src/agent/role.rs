//! Who does a step: one table of the agents' names, documents, patience and tasks.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::artifact::activity::ReviewActivity;
use crate::artifact::plan::{Task, TaskKind};
use crate::artifact::swarm::{CodeChanges, CodebaseMap, CurrentIssue, DocsChanges, IssueAnalysis, TestChanges};
use crate::artifact::{AgentError, Content, Unplanned};

/// Who does a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Says what the repository is; in a review also which changed files are read, and why the others are not.
    Manager,
    /// What the documentation says against what is there.
    Documentation,
    Debt,
    Improvement,
    Critical,
    /// Merges the four reviewers, ranks, proves every fix.
    Master,
    /// Decides whether an issue may be worked on.
    Scout,
    /// What the issue asks for, and how it could be done.
    Analyst,
    /// Where in the repository.
    Explorer,
    /// Which tasks, in which order.
    Planner,
    /// Makes the change, as diffs.
    Coder,
    /// The tests that belong to the change.
    Tester,
    /// The documentation that belongs to the change.
    Docs,
    /// Writes the pull request.
    Pr,
    /// What has become of it since.
    Reviews,
}

/// How often an agent that failed is called again, and how long one call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Further attempts after the first, of an error that is recoverable.
    pub retries: u32,
    pub retry: Retry,
    /// Of one attempt.
    pub deadline: Duration,
}

/// Which failures of an agent are tried again, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Whatever may pass (A1.8).
    Recoverable,
    /// Only what has nothing to do with the input (S0.13): a busy disk, a model that does not answer.
    Transient,
    /// As [`Retry::Recoverable`], with less asked of the agent (S0.8).
    Simplified,
}

/// What there is to know of a role before it has done anything.
struct Card {
    role: Role,
    /// The registry's id.
    name: &'static str,
    /// What the specifications and former versions call it.
    aliases: &'static [&'static str],
    /// Its key in `swarm-status.json`.
    swarm_key: Option<&'static str>,
    /// Its document in a run's folder.
    file: Option<&'static str>,
    policy: RetryPolicy,
    takes: Takes,
    /// In one line, for people.
    about: &'static str,
}

/// Which tasks of a plan a role can work on (S1.4).
enum Takes {
    /// Its work is no task of a plan.
    None,
    Kinds(&'static [TaskKind]),
    Every,
}

const fn policy(retries: u32, retry: Retry, minutes: u64) -> RetryPolicy {
    RetryPolicy { retries, retry, deadline: Duration::from_secs(60 * minutes) }
}

/// Ten minutes, and two more attempts.
const USUAL: RetryPolicy = policy(2, Retry::Recoverable, 10);
/// Whoever writes code or tests has half an hour.
const LONG: RetryPolicy = policy(2, Retry::Recoverable, 30);
const REVIEWER: RetryPolicy = policy(2, Retry::Transient, 10);

/// In the order of the enum.
const CARDS: &[Card] = &[
    Card {
        role: Role::Manager,
        name: "manager",
        aliases: &[],
        swarm_key: None,
        file: Some("context.json"),
        policy: USUAL,
        takes: Takes::None,
        about: "says what the repository is, and what of a change is read",
    },
    Card {
        role: Role::Documentation,
        name: "documentation",
        aliases: &["Documentation", "documentation-agent", "documentation_agent"],
        swarm_key: None,
        file: None,
        policy: policy(1, Retry::Simplified, 10),
        takes: Takes::None,
        about: "compares what the documentation says with what is there",
    },
    Card {
        role: Role::Debt,
        name: "debt",
        aliases: &["Debt", "debt-agent", "debt_agent"],
        swarm_key: None,
        file: None,
        policy: REVIEWER,
        takes: Takes::None,
        about: "finds what costs later",
    },
    Card {
        role: Role::Improvement,
        name: "improvement",
        aliases: &["Improvement", "improvement-agent", "improvement_agent"],
        swarm_key: None,
        file: None,
        policy: REVIEWER,
        takes: Takes::None,
        about: "finds what could be better",
    },
    Card {
        role: Role::Critical,
        name: "critical",
        aliases: &["Critical", "critical-agent", "critical_agent"],
        swarm_key: None,
        file: None,
        policy: REVIEWER,
        takes: Takes::None,
        about: "finds what is wrong or can be exploited",
    },
    Card {
        role: Role::Master,
        name: "master",
        aliases: &["Master", "master-agent", "master_agent", "reviewer"],
        swarm_key: None,
        file: None,
        policy: policy(3, Retry::Recoverable, 10),
        takes: Takes::Every,
        about: "merges the four reviewers, ranks, proves every fix",
    },
    Card {
        role: Role::Scout,
        name: "scout",
        aliases: &["agent-1-scout", "1-scout"],
        swarm_key: Some("1-scout"),
        file: Some(CurrentIssue::FILE),
        policy: USUAL,
        takes: Takes::None,
        about: "decides whether an issue may be worked on",
    },
    Card {
        role: Role::Analyst,
        name: "analyst",
        aliases: &["agent-2-analyst", "2-analyst", "research_agent_1"],
        swarm_key: Some("2-analyst"),
        file: Some(IssueAnalysis::FILE),
        policy: USUAL,
        takes: Takes::None,
        about: "says what the issue asks for, and how it could be done",
    },
    Card {
        role: Role::Explorer,
        name: "explorer",
        aliases: &["agent-3-explorer", "3-explorer", "research_agent_2"],
        swarm_key: Some("3-explorer"),
        file: Some(CodebaseMap::FILE),
        policy: USUAL,
        takes: Takes::None,
        about: "finds where in the repository",
    },
    Card {
        role: Role::Planner,
        name: "planner",
        aliases: &[],
        swarm_key: None,
        file: Some("plan.json"),
        policy: USUAL,
        takes: Takes::None,
        about: "says which tasks, in which order",
    },
    Card {
        role: Role::Coder,
        name: "coder",
        aliases: &["agent-4-coder", "4-coder"],
        swarm_key: Some("4-coder"),
        file: Some(CodeChanges::FILE),
        policy: LONG,
        takes: Takes::Kinds(&[TaskKind::Feature, TaskKind::Refactor, TaskKind::Bugfix, TaskKind::Infrastructure]),
        about: "makes the change, as diffs",
    },
    Card {
        role: Role::Tester,
        name: "tester",
        aliases: &["agent-5-tester", "5-tester", "agent-5-test-writer"],
        swarm_key: Some("5-tester"),
        file: Some(TestChanges::FILE),
        policy: LONG,
        takes: Takes::Kinds(&[
            TaskKind::Test,
            TaskKind::Feature,
            TaskKind::Refactor,
            TaskKind::Bugfix,
            TaskKind::Infrastructure,
        ]),
        about: "writes the tests that belong to the change",
    },
    Card {
        role: Role::Docs,
        name: "docs",
        aliases: &["agent-6-docs", "6-docs", "agent-6-docs-writer"],
        swarm_key: Some("6-docs"),
        file: Some(DocsChanges::FILE),
        policy: USUAL,
        takes: Takes::Kinds(&[TaskKind::Documentation]),
        about: "writes the documentation that belongs to the change",
    },
    Card {
        role: Role::Pr,
        name: "pr",
        aliases: &["agent-7-pr", "7-pr"],
        swarm_key: Some("7-pr"),
        // Its document is written when there is a pull request to tell of.
        file: None,
        policy: USUAL,
        takes: Takes::None,
        about: "writes the pull request",
    },
    Card {
        role: Role::Reviews,
        name: "reviews",
        aliases: &["agent-8-reviews", "8-reviews"],
        swarm_key: Some("8-reviews"),
        file: Some(ReviewActivity::FILE),
        policy: USUAL,
        takes: Takes::None,
        about: "follows the pull request until it is merged or closed",
    },
];

impl Role {
    /// Every role, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        CARDS.iter().map(|card| card.role)
    }

    fn card(self) -> &'static Card {
        #[expect(clippy::expect_used, reason = "a test finds every role in the table")]
        CARDS.get(self as usize).expect("a card for every role")
    }

    /// Its id in the registry.
    pub fn name(self) -> &'static str {
        self.card().name
    }

    /// The role of that id or alias: the specifications' names, the keys of `swarm-status.json`, `research_agent_1`,
    /// `reviewer`. `None` for every other word; names are not folded or trimmed.
    pub fn parse(name: &str) -> Option<Self> {
        CARDS.iter().find(|card| card.name == name || card.aliases.contains(&name)).map(|card| card.role)
    }

    /// The other names under which [`Role::parse`] finds it.
    pub fn aliases(self) -> &'static [&'static str] {
        self.card().aliases
    }

    /// What it does, in one line.
    pub fn about(self) -> &'static str {
        self.card().about
    }

    /// Its key in `swarm-status.json`, for those that have one.
    pub fn swarm_key(self) -> Option<&'static str> {
        self.card().swarm_key
    }

    /// The name of its document in a run's folder, for those that leave one.
    pub fn file(self) -> Option<&'static str> {
        self.card().file
    }

    /// How often it is called again, and how long it may take.
    pub fn retry_policy(self) -> RetryPolicy {
        self.card().policy
    }

    /// Whether it can work on a task of a plan.
    pub fn can_handle(self, task: &Task) -> bool {
        self.takes(task.kind)
    }

    /// Whether it can work on tasks of that kind.
    pub fn takes(self, kind: TaskKind) -> bool {
        match self.card().takes {
            Takes::None => false,
            Takes::Kinds(kinds) => kinds.contains(&kind),
            Takes::Every => true,
        }
    }

    /// What of a role's result is its document: all of it, but for those that hand on more beside it. None where a planner
    /// has only questions.
    pub fn document(self, result: &Value) -> Option<Cow<'_, Value>> {
        match self {
            Self::Tester | Self::Docs | Self::Reviews => Some(Cow::Borrowed(result.get("document").unwrap_or(result))),
            Self::Manager => {
                let mut context = result.clone();
                if let Value::Object(fields) = &mut context {
                    fields.remove("reading");
                }
                Some(Cow::Owned(context))
            }
            Self::Planner => result.get("milestones").is_some().then_some(Cow::Borrowed(result)),
            _ => Some(Cow::Borrowed(result)),
        }
    }

    /// Why a role that came to its end has no document: the planner's PLAN_003 (S1.21). Nothing where there is one.
    pub fn shortfall(self, result: &Value) -> Option<Vec<AgentError>> {
        match self {
            Self::Planner => Unplanned::deserialize(result).ok().map(|unplanned| unplanned.errors),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_role_stands_at_its_place_in_the_table_under_names_of_its_own() {
        let mut names = BTreeSet::new();
        for (place, card) in CARDS.iter().enumerate() {
            assert_eq!(card.role as usize, place, "{}", card.name);
            for name in card.aliases.iter().chain([&card.name]) {
                assert!(names.insert(*name), "{name} stands twice");
                assert_eq!(Role::parse(name), Some(card.role));
            }
        }
        assert_eq!(Role::parse("Coder"), None);
        assert_eq!(Role::parse("product_manager"), None);
    }

    #[test]
    fn s0_4_s0_8_s0_13_the_retries_are_those_of_the_table() {
        let retries = |role: Role| (role.retry_policy().retries, role.retry_policy().retry);
        assert_eq!(retries(Role::Master), (3, Retry::Recoverable));
        assert_eq!(retries(Role::Documentation), (1, Retry::Simplified));
        for role in [Role::Debt, Role::Improvement, Role::Critical] {
            assert_eq!(retries(role), (2, Retry::Transient));
        }
        assert_eq!(retries(Role::Coder), (2, Retry::Recoverable));
        let minutes = |role: Role| role.retry_policy().deadline.as_secs() / 60;
        assert_eq!((minutes(Role::Coder), minutes(Role::Tester), minutes(Role::Scout)), (30, 30, 10));
    }

    #[test]
    fn s1_4_a_task_is_handled_by_those_who_can() {
        let task = |kind: &str| -> Task {
            serde_json::from_value(serde_json::json!({
                "id": "1.1", "title": "t", "description": "d", "type": kind, "estimatedEffort": 1.0,
                "acceptanceCriteria": [], "inputDependencies": [], "outputDependencies": [], "affectedModules": [],
                "status": "planned"
            }))
            .unwrap()
        };
        let able = |kind: &str| -> Vec<&str> {
            Role::all().filter(|role| role.can_handle(&task(kind))).map(Role::name).collect()
        };
        assert_eq!(able("bugfix"), ["master", "coder", "tester"]);
        assert_eq!(able("test"), ["master", "tester"]);
        assert_eq!(able("documentation"), ["master", "docs"]);
    }
}
