//! GitHub Actions workflow commands: each finding becomes an annotation of the run.

use super::{absent_lines, could_not, coverage_line, line, linted_line, misread_line, outcome_line, unlinted_lines};
use crate::app::local::Checked;
use crate::domain::{Finding, Outcome, Severity};

pub fn print(checked: &Checked) {
    lines(checked).iter().for_each(|text| line(text));
}

fn lines(checked: &Checked) -> Vec<String> {
    let Checked { findings, coverage, outcome, .. } = checked;
    let warning = |text: &str| format!("::warning title=octoswarm::{}", data(text));
    let mut lines: Vec<String> = findings.iter().map(command).collect();
    if let Outcome::CouldNotReview { reason } = outcome {
        lines.push(warning(&format!("{}: {reason}", could_not(checked))));
    }
    lines.push(format!("{}; {}", outcome_line(checked), coverage_line(coverage)));
    lines.extend(misread_line(coverage));
    lines.extend(linted_line(coverage));
    lines.extend(unlinted_lines(coverage).iter().map(|text| warning(text)));
    lines.extend(absent_lines(coverage).iter().map(|text| warning(text)));
    lines
}

fn command(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "notice",
    };
    format!(
        "::{level} file={},line={},endLine={},title={}::{}",
        property(&finding.path),
        finding.span.start_line,
        finding.span.end_line,
        property(&format!("{}: {}", finding.category, finding.rule)),
        data(&format!("{}\n{}", finding.message, finding.why)),
    )
}

/// A line break in a path or message would start a command of its own.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::tests::incomplete;
    use super::*;

    #[test]
    fn a_reviewer_that_failed_is_a_warning_of_the_run() {
        let told = lines(&incomplete());
        let want = "::warning title=octoswarm::the debt reviewer failed: 50%25 of it (API_001)";
        assert!(told.iter().any(|line| line == want), "{told:#?}");
    }

    #[test]
    fn no_text_can_smuggle_in_a_command() {
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
