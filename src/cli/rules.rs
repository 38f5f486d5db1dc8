//! `octoswarm rules`: what the static engine looks for.

use std::process::ExitCode;

use super::{Exit, Failure, args, report};
use crate::app::local::{self, RuleInfo};

pub fn cmd_rules(args: &args::Rules) -> Exit {
    let rules = local::rules()?;
    match &args.id {
        None => rules.iter().for_each(|rule| {
            report::line(&format!("{:13} {:7} {:38} {}", rule.category, rule.severity, rule.id, rule.message));
        }),
        Some(id) => match rules.iter().find(|rule| rule.id.0 == *id) {
            Some(rule) => explain(rule),
            None => {
                let near = nearest(id, &rules).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
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
    let languages: Vec<&str> = rule.languages.iter().map(|language| language.name()).collect();
    let languages = if languages.is_empty() { "any text".to_owned() } else { languages.join(", ") };
    report::line(&format!("Languages: {languages}"));
}

/// The id that shares most of its words with what was typed.
fn nearest<'a>(typed: &str, rules: &'a [RuleInfo]) -> Option<&'a str> {
    let shared = |id: &str| id.split('-').filter(|word| typed.contains(word)).count();
    rules.iter().map(|rule| rule.id.0.as_str()).max_by_key(|id| shared(id)).filter(|id| shared(id) > 0)
}
