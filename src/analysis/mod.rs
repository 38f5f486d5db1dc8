//! The static engine: rules as YAML files over syntax trees, secrets, merge leftovers, broken links. No model needed.
//!
//! Promise: the same text gives the same findings; one parse a file; a fix that is offered has been tried.
//! Never: no file system, no git, no network, no process; it sees a path and a text.

mod engine;
mod flow;
mod language;
mod lines;
mod matches;
mod names;
mod outline;
mod skip;
mod tree;
mod words;
mod worker;

pub mod fix;
pub mod links;
pub mod rule;
pub mod same_as;
pub mod sarif;
pub mod secrets;
pub mod told;

pub use engine::{Engine, RuleInfo, Scan};
pub use language::Language;
pub use names::Names;
pub use outline::{
    Declared, DeclaredKind, Extent, Import, Item, Mount, Outline, Parameter, Place, Route, declarations, imports,
    path_template,
};
pub use rule::{Rule, Snippet};
pub use skip::{skip_reason, unread};
pub use worker::{answer, prepare};

/// What can go wrong: a rule file that does not hold, or fixes that cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the rule file {file} is not valid: {source}")]
    Parse { file: String, source: Box<serde_saphyr::Error> },
    #[error("the rule file {file} has a wrong value under `{key}`: {reason}")]
    Value { file: String, key: &'static str, reason: String },
    #[error("the rule file {file} does not compile for {language}: {source}")]
    Compile { file: String, language: &'static str, source: Box<ast_grep_config::RuleConfigError> },
    #[error("the words of the rules for {language} cannot be searched for: {source}")]
    Words { language: &'static str, source: Box<aho_corasick::BuildError> },
    #[error("two fixes want line {line}")]
    Overlap { line: u32 },
    #[error("a fix names lines {start} to {end}, and the file has {lines}")]
    OutOfRange { start: u32, end: u32, lines: usize },
}
