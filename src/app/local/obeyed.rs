//! The repository's own `.github/octoswarm.yml`, for local work.

use crate::agent::rule_outside;
use crate::analysis::Engine;
use crate::app::Error;
use crate::config::{Remark, RepoConfig};
use crate::domain::Category;
use crate::workspace::Side;

/// What the file says, and what is to be said of the file.
#[derive(Default)]
pub(super) struct Obeyed {
    pub(super) config: RepoConfig,
    pub(super) warnings: Vec<String>,
}

impl Obeyed {
    /// Reads the file's text. With a fault in it none of it takes effect, as on the server; `place` is what it is called.
    ///
    /// # Errors
    /// When the embedded rules do not load, which a test rules out.
    pub(super) fn read(file: Side, place: &str) -> Result<Self, Error> {
        let text = match file {
            Side::Absent => return Ok(Self::default()),
            Side::NotRead(reason) => {
                let warning = format!("{place} cannot be used, and the defaults hold: {reason}");
                return Ok(Self { config: RepoConfig::default(), warnings: vec![warning] });
            }
            Side::Text(text) => text,
        };
        let remarks = RepoConfig::remarks(&text, &rule_ids()?);
        let told = |remark: &Remark| format!("{place}:{}:{}: {}", remark.line, remark.column, remark.text);
        let mut warnings: Vec<String> = remarks.faults.iter().chain(&remarks.warnings).map(told).collect();
        let config = RepoConfig::parse(&text).unwrap_or_else(|_| {
            warnings.push(format!("{place} is not valid: the defaults hold"));
            RepoConfig::default()
        });
        Ok(Self { config, warnings })
    }
}

/// The ids that `disable` may name: those of the static rules, and those that items of programs outside stand under.
///
/// # Errors
/// When the embedded rules do not load, which a test rules out.
pub fn rule_ids() -> Result<Vec<String>, Error> {
    let engine = Engine::embedded()?;
    let own = engine.rules().iter().map(|rule| rule.id.clone());
    let outside = [Category::Critical, Category::Improvement, Category::Debt].map(rule_outside);
    Ok(own.chain(outside).map(|rule| rule.0).collect())
}
