//! The only renderer of Markdown: comments, summaries, check texts, reports.
//!
//! What others wrote (paths, messages that quote code, reasons) goes through `neutral`; the rest are our own fixed words.

mod plan;
pub(super) mod pull;
pub(super) mod reply;
mod tested;

pub use plan::{kind_name, plan};

use super::neutral::{self, code, fenced, paragraphs, plain, prose};
use crate::domain::{Category, Coverage, Finding, Fix, NotRead, Outcome, Severity, Sha, Subject};
use crate::github::{Annotation, AnnotationLevel, Output};
use crate::stdx::text::count;

/// GitHub takes 65,536 characters (65,535 in a check run). Counted here in UTF-16 units, which are never fewer, with room left for the end.
const BUDGET: usize = 64_000;
/// So many paths are named in the coverage line; the others fold away.
const NAMED_PATHS: usize = 10;
const FOOTER: &str = "<sub>";

/// Where the code is shown, for links to lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) web_url: &'a str,
    pub(super) head: &'a Sha,
}

/// What a summary is made of.
pub(super) struct Summary<'a> {
    pub(super) place: Place<'a>,
    pub(super) outcome: &'a Outcome,
    pub(super) coverage: &'a Coverage,
    /// All findings, most important first.
    pub(super) findings: &'a [Finding],
    /// Those that have no comment of their own.
    pub(super) outside: &'a [&'a Finding],
    /// How many findings stand inline although their comment is older than this push.
    pub(super) inline: usize,
    pub(super) notices: &'a [String],
    pub(super) run: String,
    /// Hidden lines that end the body.
    pub(super) markers: Vec<String>,
}

/// Whether a fix can be offered as a suggestion at all.
pub(super) fn can_suggest(fix: &Fix) -> bool {
    neutral::is_honest(&fix.replacement)
}

/// An inline review comment.
pub(super) fn comment(finding: &Finding, suggestion: bool, marker: &str) -> String {
    let mut blocks = vec![format!("{}\n\n**{}**", badge(finding), prose(&finding.message))];
    blocks.push(paragraphs(&finding.why));
    if let Some(fix) = finding.fix.as_ref().filter(|_| suggestion) {
        blocks.push(fenced("suggestion", &fix.replacement));
    }
    let reference = finding.reference.as_deref().map(|text| format!("{} · ", reference(text))).unwrap_or_default();
    let rule = code(&finding.rule.0);
    blocks.push(format!(
        "<sub>{reference}rule {rule} · not useful here? Add {rule} to `disable` in `.github/octoswarm.yml`</sub>"
    ));
    close(blocks, &[marker.to_owned()])
}

/// The body of a review.
pub(super) fn summary(summary: &Summary<'_>) -> String {
    let mut blocks = vec![verdict(summary.outcome, summary.findings, Subject::Change)];
    if !summary.findings.is_empty() {
        blocks.push(table(summary.findings));
    }
    if summary.inline > 0 {
        let stand = if summary.inline == 1 { "stands" } else { "stand" };
        blocks.push(format!("{} {stand} next to the code.", count(summary.inline, "finding")));
    }
    blocks.extend(notices(summary.notices));
    if !summary.outside.is_empty() {
        blocks
            .push(format!("**Without a comment of {} own**", if summary.outside.len() == 1 { "its" } else { "their" }));
    }
    let mut end = vec![coverage(summary.coverage, Subject::Change)];
    end.extend(folded(summary.coverage));
    end.push(footer(summary.place.head, &summary.run));
    fill(blocks, summary.outside, |finding| item(finding, Some(summary.place)), end, &summary.markers)
}

/// Title, summary and text of the check run; annotations are added elsewhere.
pub(super) fn check(summary: &Summary<'_>, conclusion_note: Option<&str>) -> Output {
    let mut top = vec![verdict(summary.outcome, summary.findings, Subject::Change)];
    top.extend(conclusion_note.map(str::to_owned));
    if !summary.findings.is_empty() {
        top.push(table(summary.findings));
    }
    top.extend(notices(summary.notices));
    top.push(coverage(summary.coverage, Subject::Change));
    top.extend(folded(summary.coverage));
    top.push(footer(summary.place.head, &summary.run));
    let text = (!summary.findings.is_empty()).then(|| {
        let all: Vec<&Finding> = summary.findings.iter().collect();
        fill(Vec::new(), &all, |finding| item(finding, Some(summary.place)), Vec::new(), &[])
    });
    Output { title: title(summary.outcome, summary.findings), summary: close(top, &[]), text, annotations: Vec::new() }
}

/// One line about the outcome, without markup.
pub(super) fn title(outcome: &Outcome, findings: &[Finding]) -> String {
    match outcome {
        Outcome::Clean => "No findings".to_owned(),
        Outcome::NothingToReview { .. } => "Nothing to review".to_owned(),
        Outcome::CouldNotReview { .. } => "Could not review".to_owned(),
        Outcome::Findings { count: n } => format!("{} ({})", count(*n, "finding"), counts(findings)),
    }
}

/// A finding on a line of the check run.
pub(super) fn annotation(finding: &Finding) -> Annotation {
    let (start, end) = (finding.span.start_line.max(1), finding.span.end_line.max(finding.span.start_line).max(1));
    let message = format!("{}\n\n{}", finding.message, finding.why);
    let cut = |text: &str, max| crate::stdx::text::truncate_chars(&plain(text), max);
    Annotation {
        path: finding.path.clone(),
        start_line: start,
        end_line: end,
        annotation_level: match finding.severity {
            Severity::High => AnnotationLevel::Failure,
            Severity::Medium => AnnotationLevel::Warning,
            Severity::Low => AnnotationLevel::Notice,
        },
        message: cut(message.trim(), 4_000),
        title: Some(cut(&format!("{}: {}", finding.category, finding.rule), 200)),
    }
}

/// A whole report for people outside GitHub: every finding with its place and reason.
pub fn report(findings: &[Finding], coverage_of: &Coverage, outcome: &Outcome, subject: Subject) -> String {
    let mut blocks = vec![verdict(outcome, findings, subject)];
    if !findings.is_empty() {
        blocks.push(table(findings));
    }
    for finding in findings {
        blocks.push(format!("### {}\n\n{} · {}", prose(&finding.message), badge(finding), at(finding, None)));
        blocks.push(paragraphs(&finding.why));
        if let Some(fix) = &finding.fix {
            let lines = if fix.start_line == fix.end_line {
                format!("line {}", fix.start_line)
            } else {
                format!("lines {} to {}", fix.start_line, fix.end_line)
            };
            let instead =
                if fix.replacement.is_empty() { format!("Delete {lines}.") } else { format!("Instead of {lines}:") };
            blocks.push(instead);
            if !fix.replacement.is_empty() {
                blocks.push(fenced("", &crate::domain::redact(&fix.replacement, &[])));
            }
        }
        let reference = finding.reference.as_deref().map(|text| format!("{} · ", reference(text))).unwrap_or_default();
        blocks.push(format!("{reference}rule {}", code(&finding.rule.0)));
    }
    blocks.push(coverage(coverage_of, subject));
    blocks.extend(folded(coverage_of));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// Whether two bodies say the same: the footer names run and commit, which alone are no news.
pub(super) fn same(one: &str, other: &str) -> bool {
    let gist = |body: &str| {
        body.lines()
            .map(str::trim_end)
            .filter(|line| !line.starts_with(FOOTER))
            .collect::<Vec<_>>()
            .join("\n")
            .trim()
            .to_owned()
    };
    gist(one) == gist(other)
}

fn verdict(outcome: &Outcome, findings: &[Finding], subject: Subject) -> String {
    let (read, on, unread) = match subject {
        Subject::Change => ("on the changed lines", " on the changed lines", "This change could not be reviewed."),
        Subject::Files => ("in the files", "", "Nothing could be scanned:"),
    };
    match outcome {
        Outcome::Clean => format!("**Nothing to report.** No rule found anything {read} that were read."),
        Outcome::NothingToReview { reason } => format!("**No rule applies.** Here is {}.", prose(reason)),
        Outcome::CouldNotReview { reason } => format!("**{unread}** {}", prose(reason)),
        Outcome::Findings { count: n } => format!("**{}**{on}: {}.", count(*n, "finding"), counts(findings)),
    }
}

/// "2 high, 1 low".
fn counts(findings: &[Finding]) -> String {
    let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let all = [Severity::High, Severity::Medium, Severity::Low].map(|severity| (severity, of(severity)));
    all.iter().filter(|(_, n)| *n > 0).map(|(severity, n)| format!("{n} {severity}")).collect::<Vec<_>>().join(", ")
}

fn table(findings: &[Finding]) -> String {
    let mut rows = vec!["| | high | medium | low |".to_owned(), "| --- | ---: | ---: | ---: |".to_owned()];
    for category in Category::ALL {
        let of = |severity: Severity| match findings
            .iter()
            .filter(|f| f.category == category && f.severity == severity)
            .count()
        {
            0 => String::new(),
            n => n.to_string(),
        };
        let cells = [Severity::High, Severity::Medium, Severity::Low].map(of);
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push(format!("| {category} | {} |", cells.join(" | ")));
        }
    }
    rows.join("\n")
}

fn badge(finding: &Finding) -> String {
    let sign = match finding.severity {
        Severity::High => "🔴 **High**",
        Severity::Medium => "🟠 **Medium**",
        Severity::Low => "🔵 **Low**",
    };
    format!("{sign} · {}", finding.category)
}

fn item(finding: &Finding, place: Option<Place<'_>>) -> String {
    format!(
        "- {} · {} {} (rule {})",
        badge(finding),
        at(finding, place),
        prose(&finding.message),
        code(&finding.rule.0)
    )
}

/// Path and lines, linked where there is a place to link to.
fn at(finding: &Finding, place: Option<Place<'_>>) -> String {
    let (start, end) = (finding.span.start_line, finding.span.end_line);
    let lines = if end > start { format!("{start}-{end}") } else { start.to_string() };
    let label = code(&format!("{}:{lines}", finding.path));
    let Some(place) = place else { return label };
    let anchor = if end > start { format!("#L{start}-L{end}") } else { format!("#L{start}") };
    format!("[{label}]({}/blob/{}/{}{anchor})", place.web_url, place.head, encoded(&finding.path))
}

fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

/// A rule's reference as a link, if it is of a kind we know; else as text.
fn reference(text: &str) -> String {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let upper = text.trim().to_ascii_uppercase();
    if let Some(id) = upper.strip_prefix("CWE-").filter(|id| digits(id)) {
        return format!("[CWE-{id}](https://cwe.mitre.org/data/definitions/{id}.html)");
    }
    if upper.strip_prefix("CVE-").is_some_and(|rest| rest.split('-').all(digits)) {
        return format!("[{upper}](https://www.cve.org/CVERecord?id={upper})");
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || "/.-_~#=&%+?:".contains(c);
    match text.trim().strip_prefix("https://") {
        Some(rest) if rest.chars().all(safe) => format!("[reference](https://{rest})"),
        _ => prose(text),
    }
}

fn notices(notices: &[String]) -> Option<String> {
    let lines: Vec<_> = notices.iter().map(|notice| format!("> {}", prose(notice))).collect();
    (!lines.is_empty()).then(|| lines.join("\n>\n"))
}

/// "Read 37 of 41 changed files. Read for secrets and merge markers only: 2 (`.txt`). Not read: `x` (binary), …"
fn coverage(coverage: &Coverage, subject: Subject) -> String {
    let files = if coverage.total == 1 { "file" } else { "files" };
    let changed = match subject {
        Subject::Change => "changed ",
        Subject::Files => "",
    };
    let mut read = format!("Read {} of {} {changed}{files}.", coverage.read, coverage.total);
    if !coverage.text_only.is_empty() {
        let kinds: Vec<_> = coverage.text_only_kinds();
        let shown = kinds.iter().take(NAMED_PATHS).map(|(kind, files)| format!("{files} ({})", code(kind)));
        let rest: usize = kinds.iter().skip(NAMED_PATHS).map(|(_, files)| files).sum();
        let rest = (rest > 0).then(|| format!("{rest} of other kinds"));
        let list: Vec<String> = shown.chain(rest).collect();
        read.push_str(&format!(" Read for secrets and merge markers only: {}.", list.join(", ")));
    }
    if let Some(sentence) = coverage.misread() {
        let named: Vec<_> = coverage.syntax_errors.iter().take(NAMED_PATHS).map(|path| code(path)).collect();
        let more = coverage.syntax_errors.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        read.push_str(&format!(" {sentence}: {}{more}.", named.join(", ")));
    }
    for clause in coverage.unreviewed() {
        read.push_str(&format!(" Nobody looked for everything: {}.", prose(&clause)));
    }
    let linted = coverage.linted();
    if !linted.is_empty() {
        let linted: Vec<_> = linted.iter().map(|clause| prose(clause)).collect();
        read.push_str(&format!(" Linters asked: {}.", linted.join(", ")));
    }
    for clause in coverage.unlinted() {
        read.push_str(&format!(" Not asked: {}.", prose(&clause)));
    }
    if coverage.not_read.is_empty() {
        return read;
    }
    let named: Vec<_> = coverage.not_read.iter().take(NAMED_PATHS).map(unread).collect();
    let more = coverage.not_read.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{read} Not read: {}{more}.", named.join(", "))
}

fn unread(not_read: &NotRead) -> String {
    format!("{} ({})", code(&not_read.path), prose(&not_read.reason))
}

/// The paths beyond those that the coverage line names.
fn folded(coverage: &Coverage) -> Option<String> {
    let rest = coverage.not_read.get(NAMED_PATHS..).filter(|rest| !rest.is_empty())?;
    let mut lines = String::new();
    let mut shown = 0;
    for not_read in rest {
        let line = format!("- {}\n", unread(not_read));
        if units(&lines) + units(&line) > BUDGET / 4 {
            break;
        }
        lines.push_str(&line);
        shown += 1;
    }
    let cut = rest.len() - shown;
    let note = if cut > 0 { format!("- and {cut} more, left out for length\n") } else { String::new() };
    Some(format!("<details><summary>Other files that were not read</summary>\n\n{lines}{note}\n</details>"))
}

fn footer(head: &Sha, run: &str) -> String {
    format!("{FOOTER}Commit {} · run {}</sub>", head.short(), prose(run))
}

/// Blocks, then as many items as fit, a note about the rest, then the end; markers last of all.
fn fill<T>(
    start: Vec<String>,
    items: &[T],
    render: impl Fn(&T) -> String,
    end: Vec<String>,
    markers: &[String],
) -> String {
    let fixed: usize = start.iter().chain(&end).chain(markers).map(|block| units(block) + 2).sum();
    let mut left = BUDGET.saturating_sub(fixed + 100);
    let mut lines = Vec::new();
    for item in items {
        let line = render(item);
        let size = units(&line) + 1;
        if size > left {
            lines.push(format!("- and {} more, left out for length", items.len() - lines.len()));
            break;
        }
        left -= size;
        lines.push(line);
    }
    let mut blocks = start;
    blocks.push(lines.join("\n"));
    blocks.extend(end);
    close(blocks, markers)
}

/// Joins blocks within the budget; whatever is cut, the markers stay, or we would not know our own words again.
fn close(blocks: Vec<String>, markers: &[String]) -> String {
    let mut tail = markers.join("\n");
    if !tail.is_empty() {
        tail.insert_str(0, "\n\n");
    }
    fit(&blocks, BUDGET.saturating_sub(units(&tail))) + &tail
}

/// The blocks that there is room for, in UTF-16 units.
fn fit(blocks: &[String], room: usize) -> String {
    let mut body = String::new();
    let mut cut = false;
    for block in blocks.iter().filter(|block| !block.trim().is_empty()) {
        // A whole block goes: half a fence or half a fold would swallow what follows.
        let fits = units(&body) + units(block) + 2 <= room.saturating_sub(80);
        if !fits && cut {
            continue;
        }
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        body.push_str(if fits { block } else { "(Something was left out here: it was too long for GitHub.)" });
        cut |= !fits;
    }
    body
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
