//! Who has a mailbox, and who may send (S3.3).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name in `from` and `to`. The set is closed: a message with any other name is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentName {
    /// The orchestrator.
    ProductManager,
    ResearchAgent1,
    ResearchAgent2,
    /// The output validator.
    ValidatorAgent,
    /// GitHub's side. It sends and never receives.
    Webhook,
    Manager,
    Scout,
    Analyst,
    Explorer,
    Planner,
    Coder,
    Tester,
    Docs,
    Pr,
    Reviews,
    Master,
    Documentation,
    Debt,
    Improvement,
    Critical,
}

impl AgentName {
    pub const ALL: [Self; 20] = [
        Self::ProductManager,
        Self::ResearchAgent1,
        Self::ResearchAgent2,
        Self::ValidatorAgent,
        Self::Webhook,
        Self::Manager,
        Self::Scout,
        Self::Analyst,
        Self::Explorer,
        Self::Planner,
        Self::Coder,
        Self::Tester,
        Self::Docs,
        Self::Pr,
        Self::Reviews,
        Self::Master,
        Self::Documentation,
        Self::Debt,
        Self::Improvement,
        Self::Critical,
    ];

    /// As in the envelope, and as its folders are called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProductManager => "product_manager",
            Self::ResearchAgent1 => "research_agent_1",
            Self::ResearchAgent2 => "research_agent_2",
            Self::ValidatorAgent => "validator_agent",
            Self::Webhook => "webhook",
            Self::Manager => "manager",
            Self::Scout => "scout",
            Self::Analyst => "analyst",
            Self::Explorer => "explorer",
            Self::Planner => "planner",
            Self::Coder => "coder",
            Self::Tester => "tester",
            Self::Docs => "docs",
            Self::Pr => "pr",
            Self::Reviews => "reviews",
            Self::Master => "master",
            Self::Documentation => "documentation",
            Self::Debt => "debt",
            Self::Improvement => "improvement",
            Self::Critical => "critical",
        }
    }

    /// How the ids of its messages begin. Names that are short are their own code.
    pub fn code(self) -> &'static str {
        match self {
            Self::ProductManager => "pm",
            Self::ResearchAgent1 => "ra1",
            Self::ResearchAgent2 => "ra2",
            Self::ValidatorAgent => "val",
            Self::Webhook => "web",
            Self::Manager => "mgr",
            Self::Explorer => "expl",
            Self::Documentation => "doc",
            Self::Improvement => "impr",
            Self::Critical => "crit",
            Self::Scout
            | Self::Analyst
            | Self::Planner
            | Self::Coder
            | Self::Tester
            | Self::Docs
            | Self::Pr
            | Self::Reviews
            | Self::Master
            | Self::Debt => self.as_str(),
        }
    }

    /// `None` for every other word; names are not folded or trimmed.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == text)
    }

    /// Whether it has an inbox.
    pub fn receives(self) -> bool {
        self != Self::Webhook
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for AgentName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("no agent is called {text:?}")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_agent_has_a_name_and_a_code_of_its_own() {
        let names: BTreeSet<_> = AgentName::ALL.iter().map(|agent| agent.as_str()).collect();
        let codes: BTreeSet<_> = AgentName::ALL.iter().map(|agent| agent.code()).collect();
        assert_eq!((names.len(), codes.len()), (20, 20));
        for agent in AgentName::ALL {
            assert_eq!(AgentName::parse(agent.as_str()), Some(agent));
            assert!(agent.code().len() <= 8 && !agent.code().contains('_'), "{agent}");
        }
    }

    #[test]
    fn no_other_word_is_a_name() {
        for word in ["", "pm", "Coder", "coder ", "../coder", "product-manager", "reviewer"] {
            assert_eq!(AgentName::parse(word), None, "{word:?}");
        }
        let error = serde_json::from_str::<AgentName>("\"reviewer\"").unwrap_err();
        assert!(error.to_string().contains("no agent is called \"reviewer\""), "{error}");
    }
}
