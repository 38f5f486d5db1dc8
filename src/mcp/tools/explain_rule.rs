//! `explain_rule`: what a static rule looks for, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::local::{self, RuleInfo};
use crate::mcp::call::{Answer, Call, Trouble};
use crate::mcp::table::{Effect, Tool};
use crate::stdx::text::{did_you_mean, nearest};

pub(in crate::mcp) struct ExplainRule;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct Input {
    /// Its id, as it stands in a finding, such as `eval-of-data`.
    #[schemars(length(min = 1, max = 200))]
    rule: String,
}

/// A static rule.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::mcp) struct Explained {
    pub(in crate::mcp) id: String,
    category: &'static str,
    severity: &'static str,
    /// Languages whose files it reads; none for a rule that reads any text.
    languages: Vec<&'static str>,
    /// What is wrong where it finds something.
    message: String,
    /// Why it matters and what to do.
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// Some of its findings have a mechanical fix.
    has_fix: bool,
}

impl From<&RuleInfo> for Explained {
    fn from(rule: &RuleInfo) -> Self {
        // A rule may have several bodies for one language.
        let mut languages: Vec<&'static str> = rule.languages.iter().map(|language| language.name()).collect();
        languages.sort_unstable();
        languages.dedup();
        Self {
            id: rule.id.0.clone(),
            category: rule.category.name(),
            severity: rule.severity.name(),
            languages,
            message: rule.message.clone(),
            why: rule.why.clone(),
            reference: rule.reference.clone(),
            has_fix: rule.has_fix,
        }
    }
}

impl Explained {
    pub(in crate::mcp) fn text(&self) -> String {
        let languages = if self.languages.is_empty() { "any text".to_owned() } else { self.languages.join(", ") };
        let mut text = format!(
            "# {}\n\n{} ({}, {} severity; {languages})\n\n{}\n",
            self.id, self.message, self.category, self.severity, self.why
        );
        if let Some(reference) = &self.reference {
            text.push_str(&format!("\nReference: {reference}\n"));
        }
        text
    }
}

/// The rule of that id.
///
/// # Errors
/// There is none.
pub(in crate::mcp) fn rule(id: &str) -> Result<Explained, Trouble> {
    let rules = local::rules()?;
    match rules.iter().find(|rule| rule.id.0 == id) {
        Some(rule) => Ok(rule.into()),
        None => {
            let near = did_you_mean(nearest(id, rules.iter().map(|rule| rule.id.0.as_str())));
            Err(Trouble::new(format!("there is no rule `{}`{near}", crate::mcp::roots::shown(id)))
                .hint("the resource octoswarm://rules lists all of them"))
        }
    }
}

impl Tool for ExplainRule {
    const NAME: &'static str = "explain_rule";
    const TITLE: &'static str = "Explain a rule";
    const ABOUT: &'static str =
        "Tells what a static rule looks for, why it matters, what to do about a finding, and in which languages.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Explained;

    async fn run(input: Input, _call: &Call) -> Result<Answer, Trouble> {
        let explained = rule(&input.rule)?;
        let text = explained.text();
        Answer::new(&explained, text)
    }
}
