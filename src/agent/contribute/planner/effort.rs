//! How much work a task is, and what may go wrong with it, from what was measured.

use super::super::library::Reading;
use super::super::survey::Class;
use crate::artifact::plan::{EffortBreakdown, RiskFactor, TaskKind};
use crate::artifact::project::Level;

/// Importers beyond which a change is felt in many places.
const MANY: usize = 5;
const MAX_RISKS: usize = 6;

/// What the estimate is made of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    /// Lines of the files that are there.
    pub(super) lines: u64,
    pub(super) files: usize,
    pub(super) new: usize,
    pub(super) criteria: usize,
    /// Units that import them.
    pub(super) importers: usize,
}

impl Size {
    pub(super) fn of(reading: &Reading, existing: &[&str], new: usize, criteria: usize) -> Self {
        let units = existing.iter().filter_map(|path| reading.graph.unit(path));
        let importers = units.map(|unit| reading.graph.used_by[unit].len()).max().unwrap_or(0);
        let lines = existing.iter().map(|path| reading.lines(path)).sum();
        Self { lines, files: existing.len(), new, criteria, importers }
    }
}

/// Hours, each rounded to the half; never more than a task may have.
pub(super) fn hours(kind: TaskKind, size: Size) -> EffortBreakdown {
    let length = (size.lines as f64 / 300.0).min(4.0);
    let more = size.files.saturating_sub(1).min(6) as f64;
    let spread =
        0.5 * length + 0.75 * more + size.new.min(3) as f64 + 0.25 * size.criteria.saturating_sub(1).min(12) as f64;
    let reading = 0.5 + 0.25 * size.files.min(8) as f64 + 0.05 * size.importers.min(20) as f64;
    let (implementation, testing, documentation) = match kind {
        TaskKind::Feature => (3.0 + spread, 0.5, 0.0),
        TaskKind::Refactor => (2.5 + spread, 1.0, 0.0),
        TaskKind::Bugfix => (1.5 + spread, 0.5, 0.0),
        TaskKind::Infrastructure => (1.5 + 0.5 * spread, 0.5, 0.0),
        TaskKind::Test => (0.0, 1.5 + 0.5 * spread, 0.0),
        TaskKind::Documentation => (0.0, 0.0, 1.0 + 0.5 * spread),
    };
    let half = |hours: f64| (hours * 2.0).round() / 2.0;
    EffortBreakdown {
        analysis: half(reading),
        implementation: half(implementation),
        testing: half(testing),
        documentation: half(documentation),
    }
}

pub(super) fn total(effort: &EffortBreakdown) -> f64 {
    effort.analysis + effort.implementation + effort.testing + effort.documentation
}

/// What may go wrong when these files are changed for this text.
pub(super) fn risks(
    reading: &Reading,
    cycles: &[Vec<usize>],
    kind: TaskKind,
    text: &str,
    existing: &[&str],
    tested: bool,
) -> Vec<RiskFactor> {
    let mut risks = Vec::new();
    let mut add = |description: String, likelihood: Level, impact: Level, mitigation: &str| {
        risks.push(RiskFactor { description, likelihood, impact, mitigation: mitigation.to_owned() });
    };
    let code = matches!(kind, TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor);
    let words = format!(" {} ", text.to_lowercase());
    let says = |signs: &[&'static str]| signs.iter().find(|sign| words.contains(**sign)).copied();
    if let Some(sign) = says(&[
        "auth",
        "password",
        "token",
        "secret",
        "permission",
        "login",
        "session",
        "encrypt",
        "crypto",
        "payment",
        "csrf",
        "xss",
        "injection",
        "security",
        "credential",
    ]) {
        add(
            format!("the matter touches security (\"{sign}\")"),
            Level::Medium,
            Level::High,
            "have it reviewed by a person who knows the matter; test what must be refused, too",
        );
    }
    if let Some(sign) = says(&["migrat", "schema", "database column", " alter table", "backfill", "data format"]) {
        add(
            format!("data that exists already has to follow (\"{sign}\")"),
            Level::Medium,
            Level::High,
            "try the way forward and the way back on a copy of real data",
        );
    }
    if code {
        for path in existing {
            let Some(unit) = reading.graph.unit(path) else { continue };
            let importers = reading.graph.used_by[unit].len();
            if importers >= MANY {
                let likelihood = if importers >= 3 * MANY { Level::High } else { Level::Medium };
                add(
                    format!("{importers} modules import {}", reading.graph.units[unit]),
                    likelihood,
                    Level::High,
                    "keep its interface, or change the importers in the same step",
                );
            }
        }
        // One circle is one risk, however many of its files are changed.
        let circular = existing.iter().filter_map(|path| reading.graph.unit(path));
        if let Some((unit, cycle)) =
            circular.filter_map(|unit| Some((unit, cycles.iter().find(|cycle| cycle.contains(&unit))?))).next()
        {
            let others = crate::stdx::text::count(cycle.len() - 1, "other module");
            add(
                format!("{} and {others} import each other in a circle", reading.graph.units[unit]),
                Level::Medium,
                Level::Medium,
                "look at all of the circle before a change",
            );
        }
        let offers = existing.iter().any(|path| {
            let source = reading.survey.get(path).is_some_and(|file| file.class == Class::Source);
            source && reading.files.get(*path).is_some_and(|noted| !noted.exports.is_empty())
        });
        let public = says(&[" api", "public", "endpoint", "breaking", "deprecat", "interface", "signature"]);
        if let Some(sign) = public.filter(|_| offers) {
            add(
                format!("others may rely on what is changed (\"{}\")", sign.trim()),
                Level::Medium,
                Level::Medium,
                "keep the old form working, or tell of the break in the changelog",
            );
        }
        if !existing.is_empty() && !tested {
            add(
                "no test covers the files by name or by import".to_owned(),
                Level::Medium,
                Level::Medium,
                "write a test of today's behaviour before changing it",
            );
        }
    }
    risks.truncate(MAX_RISKS);
    risks
}
