//! The reviewers: four lenses over one fact pack, and the master that merges them. Over a whole codebase, the same four
//! questions and the documents that can be made of it.

mod assessment;
pub mod audit;
mod checklist;
mod documentation;
mod items;
mod lens;
mod master;
mod measure;
mod outside;
mod parallel;

pub use lens::Lens;
pub use master::Master;
pub use outside::rule as rule_outside;

use crate::agent::Context;
use crate::artifact::AgentFindings;

/// A reviewer speaks for its own category, about files of the change, on lines that exist.
fn faults(cx: &Context, output: &AgentFindings) -> Vec<String> {
    let mut faults = Vec::new();
    for finding in &output.findings {
        let place = format!("{}:{}", finding.path, finding.span.start_line);
        if finding.category != output.category {
            faults.push(format!("{place}: category {} in a {} review", finding.category, output.category));
        }
        if finding.span.start_line == 0 || finding.span.end_line < finding.span.start_line {
            faults.push(format!("{place}: not a range of lines"));
        }
        if !cx.reviewing().is_ok_and(|scene| scene.facts.files.iter().any(|file| file.path == finding.path)) {
            faults.push(format!("{place}: not a file of the change"));
        }
    }
    faults
}
