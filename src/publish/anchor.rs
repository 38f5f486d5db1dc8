//! Where a finding may stand: every comment is proved to lie on lines of one hunk before it is sent.

use std::collections::HashMap;

use super::render;
use crate::domain::{ChangeKind, FileDiff, Finding, Fingerprint, Fix};

/// A comment over more lines than this stands on its first line alone.
const LONGEST_RANGE: u32 = 20;

/// A proved place on the new side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    /// Set when the comment spans several lines.
    pub(super) start_line: Option<u32>,
    pub(super) line: u32,
    /// Whether the finding's fix goes along as a suggestion; the range is then exactly the fix's.
    pub(super) suggestion: bool,
}

/// The places of all findings that have one. Suggestions never overlap: who comes earlier in `findings` keeps the lines,
/// and those that `known` says are on GitHub already come first of all.
pub(super) fn prove<'a>(
    files: &[FileDiff],
    findings: &'a [Finding],
    known: impl Fn(&Fingerprint) -> bool,
) -> HashMap<&'a Fingerprint, Anchor> {
    let by_path: HashMap<&str, &FileDiff> =
        files.iter().filter(|file| file.kind != ChangeKind::Removed).map(|file| (file.path.as_str(), file)).collect();
    let (told, new): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| known(&finding.fingerprint));
    let mut taken: HashMap<&str, Vec<(u32, u32)>> = HashMap::new();
    let mut anchors = HashMap::new();
    for finding in told.into_iter().chain(new) {
        let Some(file) = by_path.get(finding.path.as_str()) else { continue };
        let ranges = taken.entry(finding.path.as_str()).or_default();
        let anchor = suggested(file, finding, ranges).or_else(|| plain(file, finding));
        if let Some(anchor) = anchor {
            anchors.insert(&finding.fingerprint, anchor);
        }
    }
    anchors
}

/// The fix's own range, if the change wrote all of it and nobody else suggests something there.
fn suggested(file: &FileDiff, finding: &Finding, taken: &mut Vec<(u32, u32)>) -> Option<Anchor> {
    let Fix { start_line, end_line, .. } = *finding.fix.as_ref()?;
    let fix = finding.fix.as_ref()?;
    let free = taken.iter().all(|(start, end)| end_line < *start || start_line > *end);
    if !free || !file.all_added(start_line, end_line) || !render::can_suggest(fix) {
        return None;
    }
    taken.push((start_line, end_line));
    Some(Anchor { start_line: (start_line < end_line).then_some(start_line), line: end_line, suggestion: true })
}

/// From the first line that the change wrote to the end of the span, within one hunk.
fn plain(file: &FileDiff, finding: &Finding) -> Option<Anchor> {
    let (start, end) = (finding.span.start_line, finding.span.end_line.max(finding.span.start_line));
    let from = file.first_added(start, end).or_else(|| file.in_hunk(start).then_some(start))?;
    let hunk = file.hunk_of(from)?;
    let last = end.min(hunk.new_start.saturating_add(hunk.new_lines).saturating_sub(1));
    let one = Anchor { start_line: None, line: from, suggestion: false };
    if last <= from || last - from >= LONGEST_RANGE {
        return Some(one);
    }
    Some(Anchor { start_line: Some(from), line: last, suggestion: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Category, DiffLine, Hunk, LineKind, RuleId, Severity, Span};

    /// A file with hunks of `(first line, text)`: `+` added, anything else context.
    fn file(hunks: &[(u32, &str)]) -> FileDiff {
        let hunk = |&(start, kinds): &(u32, &str)| {
            let lines = (start..).zip(kinds.chars()).map(|(line, kind)| DiffLine {
                kind: if kind == '+' { LineKind::Added } else { LineKind::Context },
                old: (kind != '+').then_some(line),
                new: Some(line),
                text: String::new(),
            });
            let count = u32::try_from(kinds.len()).unwrap();
            Hunk { old_start: start, old_lines: 0, new_start: start, new_lines: count, lines: lines.collect() }
        };
        FileDiff {
            path: "a.rs".into(),
            old_path: None,
            kind: ChangeKind::Modified,
            binary: false,
            hunks: hunks.iter().map(hunk).collect(),
        }
    }

    fn finding(name: &str, lines: (u32, u32), fix: Option<(u32, u32)>) -> Finding {
        let rule = RuleId(name.into());
        Finding {
            category: Category::Debt,
            severity: Severity::Low,
            path: "a.rs".into(),
            span: Span { start_line: lines.0, start_column: 1, end_line: lines.1, end_column: 1 },
            message: String::new(),
            why: String::new(),
            fix: fix.map(|(start_line, end_line)| Fix { start_line, end_line, replacement: "x".into() }),
            reference: None,
            fingerprint: Fingerprint::new(&rule, "a.rs", name, 0),
            rule,
        }
    }

    #[track_caller]
    fn check(
        hunks: &[(u32, &str)],
        lines: (u32, u32),
        fix: Option<(u32, u32)>,
        want: Option<(Option<u32>, u32, bool)>,
    ) {
        let findings = [finding("r", lines, fix)];
        let got = prove(&[file(hunks)], &findings, |_| false).remove(&findings[0].fingerprint);
        assert_eq!(got.map(|a| (a.start_line, a.line, a.suggestion)), want);
    }

    #[test]
    fn a_comment_stands_on_the_first_written_line_and_never_leaves_its_hunk() {
        let hunks: &[(u32, &str)] = &[(10, "  ++ "), (30, "+  ")];
        check(hunks, (12, 12), None, Some((None, 12, false)));
        check(hunks, (10, 13), None, Some((Some(12), 13, false)));
        check(hunks, (13, 31), None, Some((Some(13), 14, false)));
        check(hunks, (14, 14), None, Some((None, 14, false)));
        check(hunks, (20, 25), None, None);
        check(hunks, (20, 31), None, Some((Some(30), 31, false)));
        check(&[], (1, 1), None, None);
    }

    #[test]
    fn a_suggestion_needs_lines_that_the_change_wrote_all_of_them() {
        let hunks: &[(u32, &str)] = &[(10, " +++ ")];
        check(hunks, (12, 12), Some((11, 13)), Some((Some(11), 13, true)));
        check(hunks, (12, 12), Some((12, 12)), Some((None, 12, true)));
        check(hunks, (12, 12), Some((10, 12)), Some((None, 12, false)));
        check(hunks, (12, 12), Some((13, 14)), Some((None, 12, false)));
    }

    #[test]
    fn two_suggestions_never_share_a_line() {
        let findings = [
            finding("a", (1, 1), Some((1, 3))),
            finding("b", (3, 3), Some((3, 3))),
            finding("c", (4, 4), Some((4, 5))),
        ];
        let anchors = prove(&[file(&[(1, "+++++")])], &findings, |_| false);
        let suggests: Vec<_> = findings.iter().map(|f| anchors[&f.fingerprint].suggestion).collect();
        assert_eq!(suggests, [true, false, true]);
        let known = findings[1].fingerprint.clone();
        let anchors = prove(&[file(&[(1, "+++++")])], &findings, |print| *print == known);
        let suggests: Vec<_> = findings.iter().map(|f| anchors[&f.fingerprint].suggestion).collect();
        assert_eq!(suggests, [false, true, true], "what is on GitHub already keeps its lines");
    }

    #[test]
    fn a_very_long_span_is_a_comment_on_one_line() {
        check(&[(1, &"+".repeat(100))], (5, 90), None, Some((None, 5, false)));
    }
}
