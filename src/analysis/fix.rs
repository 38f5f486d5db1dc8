//! Fixes as whole lines: making, applying and proving them.

use std::collections::HashMap;
use std::ops::Range;

use super::engine::Engine;
use super::lines::Lines;
use super::tree::parse;
use super::worker::{self, Code};
use super::{Error, Language, told};
use crate::domain::{Finding, Fix, RuleId};
use crate::stdx::workers::Here;

/// Turns an edit of bytes into whole lines. `None` when nothing would change.
pub(super) fn whole_lines(lines: &Lines<'_>, edit: Range<usize>, inserted: &str) -> Option<Fix> {
    let start_line = lines.line_at(edit.start);
    let end_line = lines.line_at(edit.end.max(edit.start));
    let first = lines.bounds(start_line);
    let last = lines.bounds(end_line);
    let head = lines.text().get(first.start..edit.start)?;
    let mut tail = lines.text().get(edit.end..last.end)?.trim_end_matches(['\n', '\r']);
    // What is deleted leaves one of the two gaps around it, not both.
    let is_gap = |c: char| c == ' ' || c == '\t';
    if inserted.is_empty() && (head.is_empty() || head.ends_with(is_gap)) {
        tail = tail.trim_start_matches(is_gap);
    }
    let before: Vec<&str> = (start_line..=end_line).map(|number| lines.line(number)).collect();
    let joined = format!("{head}{inserted}{tail}");
    let after: Vec<&str> = joined.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    // A line of which only white space is left goes away altogether.
    let replacement = if joined.trim().is_empty() {
        String::new()
    } else {
        after.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    };
    (before.join("\n") != replacement).then_some(Fix { start_line, end_line, replacement })
}

/// The text with every fix applied. Line endings stay what they are, and so does a missing one at the end.
///
/// # Errors
/// When two fixes touch the same line, or one names lines that are not there.
pub fn apply(text: &str, fixes: &[&Fix]) -> Result<String, Error> {
    let lines = Lines::new(text);
    let count = lines.count();
    let mut sorted: Vec<&Fix> = fixes.to_vec();
    sorted.sort_by_key(|fix| (fix.start_line, fix.end_line));
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = String::with_capacity(text.len());
    let mut next = 1;
    for fix in sorted {
        if fix.start_line == 0 || fix.end_line < fix.start_line || fix.end_line as usize > count {
            return Err(Error::OutOfRange { start: fix.start_line, end: fix.end_line, lines: count });
        }
        if fix.start_line < next {
            return Err(Error::Overlap { line: fix.start_line });
        }
        let before = lines.bounds(next).start..lines.bounds(fix.start_line).start;
        out.push_str(text.get(before).unwrap_or_default());
        let replaced = text.get(lines.bounds(fix.end_line)).unwrap_or_default();
        if !fix.replacement.is_empty() {
            out.push_str(&fix.replacement.split('\n').collect::<Vec<_>>().join(ending));
            if replaced.ends_with('\n') {
                out.push_str(ending);
            }
        }
        next = fix.end_line + 1;
    }
    out.push_str(text.get(lines.bounds(next).start..).unwrap_or_default());
    // Deleting the last lines must not leave a line ending that was not there.
    if !text.ends_with('\n') && out.ends_with('\n') {
        out.truncate(out.trim_end_matches(['\n', '\r']).len());
    }
    Ok(out)
}

/// Takes away every fix that cannot be offered: one that touches the lines of a better one, after which the file parses
/// worse, whose finding stays, or which brings a new finding. What remains holds together, too.
///
/// The better of two is the more severe one, then the earlier one. `findings` are those of one file. Whether a finding of
/// another tool stays, that tool alone can say: of a language that is not read here, its word is all there is.
pub fn prove(engine: &Engine, path: &str, text: &str, findings: &mut [Finding]) {
    let Some(language) = Language::of_path(path) else {
        let mut kept: Vec<Fix> = Vec::new();
        for finding in findings {
            let theirs = told::is_foreign(&finding.rule);
            finding.fix = finding.fix.take().filter(|fix| theirs && kept.iter().all(|other| !touch(fix, other)));
            kept.extend(finding.fix.clone());
        }
        return;
    };
    let before = Tally::of(engine, language, path, text);
    let mut order: Vec<usize> = (0..findings.len()).filter(|i| findings[*i].fix.is_some()).collect();
    order.sort_by_key(|i| {
        let finding = &findings[*i];
        (std::cmp::Reverse(finding.severity), finding.span.start_line, finding.span.start_column)
    });
    let mut kept: Vec<usize> = Vec::new();
    for index in order {
        let finding = &findings[index];
        let holds = finding.fix.as_ref().is_some_and(|fix| {
            let free = kept.iter().filter_map(|k| findings[*k].fix.as_ref()).all(|other| !touch(fix, other));
            free && before.improves(engine, language, path, text, &[fix], &[&finding.rule])
        });
        if holds {
            kept.push(index);
        }
    }
    if !together(&before, engine, language, path, text, findings, &kept) {
        let mut one_by_one: Vec<usize> = Vec::new();
        for index in kept {
            one_by_one.push(index);
            if !together(&before, engine, language, path, text, findings, &one_by_one) {
                one_by_one.pop();
            }
        }
        kept = one_by_one;
    }
    for (index, finding) in findings.iter_mut().enumerate() {
        if !kept.contains(&index) {
            finding.fix = None;
        }
    }
}

fn together(
    before: &Tally,
    engine: &Engine,
    language: Language,
    path: &str,
    text: &str,
    findings: &[Finding],
    kept: &[usize],
) -> bool {
    let fixes: Vec<&Fix> = kept.iter().filter_map(|i| findings[*i].fix.as_ref()).collect();
    let rules: Vec<&RuleId> = kept.iter().map(|i| &findings[*i].rule).collect();
    before.improves(engine, language, path, text, &fixes, &rules)
}

fn touch(a: &Fix, b: &Fix) -> bool {
    a.start_line <= b.end_line && b.start_line <= a.end_line
}

/// How many findings of each rule a text has, and how many places the parser could not make sense of.
struct Tally {
    by_rule: HashMap<RuleId, usize>,
    errors: usize,
}

impl Tally {
    fn of(engine: &Engine, language: Language, path: &str, text: &str) -> Self {
        let mut by_rule = HashMap::new();
        for finding in engine.scan(path, text).findings {
            *by_rule.entry(finding.rule).or_default() += 1;
        }
        Self { by_rule, errors: errors(language, text) }
    }

    /// Whether `fixes` take away at least as many findings of ours as they name, and bring nothing else.
    fn improves(
        &self,
        engine: &Engine,
        language: Language,
        path: &str,
        text: &str,
        fixes: &[&Fix],
        rules: &[&RuleId],
    ) -> bool {
        let Ok(fixed) = apply(text, fixes) else { return false };
        let after = Self::of(engine, language, path, &fixed);
        let mut allowed = self.by_rule.clone();
        for rule in rules.iter().filter(|rule| !told::is_foreign(rule)) {
            let Some(count) = allowed.get_mut(*rule).filter(|count| **count > 0) else { return false };
            *count -= 1;
        }
        after.errors <= self.errors
            && after.by_rule.iter().all(|(rule, count)| *count <= allowed.get(rule).copied().unwrap_or(0))
    }
}

/// Places that the parser cannot make sense of in a text of the language that its path names; none for a language that it
/// does not know.
pub fn syntax_errors(path: &str, text: &str) -> usize {
    Language::of_path(path).map_or(0, |language| errors(language, text))
}

/// Nodes that are errors, or that the parser had to invent.
fn errors(language: Language, text: &str) -> usize {
    let code = Code::new(language, text);
    worker::ask(worker::ERRORS, &code, |here| errors_of(here, &code), |_| true).unwrap_or(usize::MAX)
}

pub(super) fn errors_of(here: &Here, code: &Code<'_>) -> usize {
    match parse(here, code.language, &code.text) {
        Err(_) => usize::MAX,
        Ok(tree) if !tree.root().get_inner_node().has_error() => 0,
        Ok(tree) => tree.root().dfs().filter(|node| node.is_error() || node.is_missing()).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, deleted: &str, want: &str) {
        let lines = Lines::new(text);
        let start = text.find(deleted).unwrap();
        let fix = whole_lines(&lines, start..start + deleted.len(), "").unwrap();
        assert_eq!(fix.replacement, want, "{text:?}");
    }

    #[test]
    fn what_is_deleted_leaves_one_gap() {
        check("if (x) { debugger; return x }\n", "debugger;", "if (x) { return x }");
        check("    debugger; return x\n", "debugger;", "    return x");
        check("debugger; f()\n", "debugger;", "f()");
        check("{debugger; f()}\n", "debugger;", "{ f()}");
        check("f(); debugger;\n", "debugger;", "f();");
        check("\tdebugger;\n", "debugger;", "");
        check("{ debugger; }\n", "debugger;", "{ }");
    }
}
