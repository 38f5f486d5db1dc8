//! For people: source lines, the marked place, why, and the fix as it would look.

use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use owo_colors::OwoColorize;

use super::{absent_lines, coverage_line, line, linted_line, misread_line, outcome_line, unlinted_lines};
use crate::app::local::{Checked, Compared};
use crate::domain::{Category, Finding, Fix, Severity, Span};
use crate::stdx::text::{visible, visible_line, visible_source};

pub fn print(checked: &Checked) {
    let Checked { findings, sources, .. } = checked;
    for finding in findings {
        line(&render(finding, sources.get(&finding.path).map(|text| &**text)));
        line("");
    }
    sum(checked).iter().for_each(|text| line(text));
}

/// What it comes to, and what that rests on.
fn sum(checked: &Checked) -> Vec<String> {
    let Checked { findings, coverage, compared, .. } = checked;
    let mut lines = vec![outcome_line(checked).bold().to_string()];
    if findings.iter().any(|finding| finding.category == Category::Critical) {
        let kind =
            "(critical is a kind of finding, wrong or exploitable code; high, medium and low are the severities)";
        lines.push(kind.to_owned());
    }
    lines.push(coverage_line(coverage));
    lines.extend(misread_line(coverage));
    lines.extend(linted_line(coverage));
    lines.extend(unlinted_lines(coverage));
    lines.extend(absent_lines(coverage));
    lines.extend(compared.iter().map(compared_line));
    lines
}

/// `compared 1a2b3c4 (merge base with `main`) with the work tree on 5d6e7f8`.
fn compared_line(compared: &Compared) -> String {
    let short = |id: &str| id.chars().take(7).collect::<String>();
    let tree = if compared.work_tree { "the work tree on " } else { "" };
    let (base, head, since) = (short(&compared.base), short(&compared.head), visible_line(&compared.since));
    format!("compared {base} (merge base with `{since}`) with {tree}{head}")
}

/// One finding with its lines; without them when the source is not at hand.
pub fn render(finding: &Finding, source: Option<&str>) -> String {
    let level = match finding.severity {
        Severity::High => Level::ERROR,
        Severity::Medium => Level::WARNING,
        Severity::Low => Level::NOTE,
    };
    // Names and code are a stranger's: they are shown, not obeyed.
    let (path, source) = (visible_line(&finding.path), source.map(visible_source));
    let (message, category) = (visible_line(&finding.message), finding.category.name());
    let id = format!("{category}/{}", finding.rule);
    let title = level.with_name(Some(finding.severity.name())).primary_title(&message).id(&id);
    let Some(source) = source.as_deref() else {
        let place = format!("{path}:{}", finding.span.start_line);
        return Renderer::styled().render(&[Group::with_title(title).element(Level::NOTE.message(place))]);
    };
    let why = visible(&match &finding.reference {
        Some(reference) => format!("{} ({reference})", finding.why),
        None => finding.why.clone(),
    });
    let snippet =
        Snippet::source(source).path(&path).annotation(AnnotationKind::Primary.span(byte_range(source, finding.span)));
    let mut groups = vec![title.element(snippet).element(Level::NOTE.with_name(Some("why")).message(&why))];
    if let Some(fix) = &finding.fix {
        let (range, replacement) = patch(source, fix);
        groups.push(
            Level::HELP
                .with_name(Some("fix"))
                .secondary_title("apply this change")
                .element(Snippet::source(source).path(&path).patch(Patch::new(range, replacement))),
        );
    }
    Renderer::styled().render(&groups)
}

/// Bytes of a span; a span that reaches beyond the text is cut to it.
fn byte_range(source: &str, span: Span) -> std::ops::Range<usize> {
    let start = offset(source, span.start_line, span.start_column);
    // Several lines would fill the screen: the first is marked, the rest can be read in the file.
    let end = if span.end_line > span.start_line {
        line_end(source, span.start_line)
    } else {
        offset(source, span.end_line, span.end_column)
    };
    start..end.max(start)
}

fn line_start(source: &str, line: u32) -> usize {
    source.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum::<usize>().min(source.len())
}

fn line_end(source: &str, line: u32) -> usize {
    let start = line_start(source, line);
    source[start..].find('\n').map_or(source.len(), |at| start + at)
}

fn offset(source: &str, line: u32, column: u32) -> usize {
    let start = line_start(source, line);
    let text = &source[start..line_end(source, line)];
    start + text.chars().take(column.saturating_sub(1) as usize).map(char::len_utf8).sum::<usize>()
}

/// The fix as a byte range and its new text; deleting whole lines takes their line break along.
fn patch(source: &str, fix: &Fix) -> (std::ops::Range<usize>, String) {
    let start = line_start(source, fix.start_line);
    let end = line_end(source, fix.end_line);
    if fix.replacement.is_empty() {
        return (start..(end + 1).min(source.len()), String::new());
    }
    (start..end, visible_source(&fix.replacement))
}

#[cfg(test)]
mod tests {
    use super::super::tests::incomplete;
    use super::*;

    #[test]
    fn a_reviewer_that_failed_is_told_of_below_what_was_read() {
        let told = sum(&incomplete());
        assert_eq!(told.last().map(String::as_str), Some("the debt reviewer failed: 50% of it (API_001)"), "{told:#?}");
    }

    #[test]
    fn columns_count_characters_and_ranges_stay_inside() {
        let source = "äö = 1\nx\n";
        let span = |a, b, c, d| Span { start_line: a, start_column: b, end_line: c, end_column: d };
        assert_eq!(&source[byte_range(source, span(1, 1, 1, 3))], "äö");
        assert_eq!(&source[byte_range(source, span(1, 1, 2, 2))], "äö = 1");
        assert_eq!(byte_range(source, span(9, 1, 9, 9)), source.len()..source.len());
    }
}
