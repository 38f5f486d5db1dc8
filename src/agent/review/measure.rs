//! What is measured over whole files: it answers questions that no rule over syntax can.

use crate::analysis::Outline;
use crate::domain::{Category, Finding, Fingerprint, RuleId, Severity, Span};
use crate::stdx::text::count;

pub(super) const LONG_FUNCTION: &str = "long-function";
pub(super) const LONG_FILE: &str = "long-file";
pub(super) const DEEP_NESTING: &str = "deep-nesting";
pub(super) const UNCOMMENTED: &str = "uncommented-public-items";

/// Every measure, with its category.
pub(super) const ALL: [(&str, Category); 4] = [
    (LONG_FUNCTION, Category::Debt),
    (LONG_FILE, Category::Debt),
    (DEEP_NESTING, Category::Debt),
    (UNCOMMENTED, Category::Improvement),
];

/// Lines of a function, lines of a file, levels: beyond these a reader loses the thread.
const FUNCTION_LINES: usize = 100;
const FILE_LINES: usize = 1_000;
const LEVELS: usize = 5;
/// A file with fewer public items without a comment is not spoken of.
const ITEMS: usize = 3;

/// What stands out in one file. Tests are as long as they are.
pub(super) fn findings(path: &str, text: &str) -> Vec<Finding> {
    let Some(outline) =
        Outline::read(path, text).filter(|outline| !outline.extents.is_empty() || !outline.items.is_empty())
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut add = |id: &str, severity, line: u32, what: &str, message: String, why: &str| {
        let rule = RuleId(id.to_owned());
        found.push(Finding {
            category: ALL.iter().find(|(known, _)| *known == id).map_or(Category::Debt, |(_, category)| *category),
            severity,
            path: path.to_owned(),
            span: Span { start_line: line, start_column: 1, end_line: line, end_column: 1 },
            message,
            why: why.to_owned(),
            fix: None,
            reference: None,
            fingerprint: Fingerprint::new(&rule, path, what, 0),
            rule,
        });
    };
    for extent in &outline.extents {
        if extent.lines > FUNCTION_LINES {
            let severity = if extent.lines > 3 * FUNCTION_LINES { Severity::Medium } else { Severity::Low };
            add(
                LONG_FUNCTION,
                severity,
                extent.line,
                &extent.name,
                format!("`{}` has {} lines.", extent.name, extent.lines),
                "Whoever changes one part has to hold all of it in mind. Take out the steps that have a name of their own.",
            );
        }
        if extent.nesting > LEVELS {
            add(
                DEEP_NESTING,
                Severity::Low,
                extent.line,
                &extent.name,
                format!("`{}` nests branches and loops {} levels deep.", extent.name, extent.nesting),
                "Leave early where a condition does not hold, or make the inner part a function.",
            );
        }
    }
    let lines = text.lines().count();
    if lines > FILE_LINES {
        add(
            LONG_FILE,
            Severity::Low,
            1,
            "",
            format!("The file has {lines} lines."),
            "Part it where its functions fall into groups that do not know each other.",
        );
    }
    let bare: Vec<_> = outline.items.iter().filter(|item| item.doc.is_none()).collect();
    if let Some(first) = bare.first().filter(|_| bare.len() >= ITEMS && bare.len() * 2 > outline.items.len()) {
        add(
            UNCOMMENTED,
            Severity::Low,
            first.line,
            "",
            format!(
                "{} of {} have no comment; the first is `{}`.",
                bare.len(),
                count(outline.items.len(), "public item"),
                first.name
            ),
            "Who uses them has to read their bodies. One sentence on what each is for is enough.",
        );
    }
    found
}
