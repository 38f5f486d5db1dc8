//! `octoswarm rules`: what the static engine looks for.

use std::process::ExitCode;

use super::{Exit, Failure, args, report};
use crate::app::local::{self, RuleInfo};
use crate::stdx::text::{did_you_mean, nearest};

pub fn cmd_rules(args: &args::Rules) -> Exit {
    let rules = local::rules()?;
    match &args.id {
        None => rules.iter().for_each(|rule| {
            report::line(&format!("{:13} {:7} {:38} {}", rule.category, rule.severity, rule.id, rule.message));
        }),
        Some(id) => match rules.iter().find(|rule| rule.id.0 == *id) {
            Some(rule) => explain(rule),
            None => {
                let near = did_you_mean(meant(id, &rules));
                return Err(Failure::Usage(anyhow::anyhow!("there is no rule `{id}`{near}")));
            }
        },
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(rule: &RuleInfo) {
    report::line(&format!("{} ({}, {})", rule.id, rule.category, rule.severity));
    report::line(&format!("\n{}\n\n{}", rule.message, rule.why));
    if let Some(reference) = &rule.reference {
        report::line(&format!("\nReference: {reference}"));
    }
    // A rule may have several bodies for one language.
    let mut languages: Vec<&str> = Vec::new();
    for language in rule.languages.iter().map(|language| language.name()) {
        if !languages.contains(&language) {
            languages.push(language);
        }
    }
    let languages = if languages.is_empty() { "any text".to_owned() } else { languages.join(", ") };
    report::line(&format!("Languages: {languages}"));
}

/// A slip of the finger, else the id that shares most of its words with what was typed.
fn meant<'a>(typed: &str, rules: &'a [RuleInfo]) -> Option<&'a str> {
    let shared = |id: &str| id.split('-').filter(|word| typed.contains(word)).count();
    let ids = || rules.iter().map(|rule| rule.id.0.as_str());
    nearest(typed, ids()).or_else(|| ids().max_by_key(|id| shared(id)).filter(|id| shared(id) > 0))
}
