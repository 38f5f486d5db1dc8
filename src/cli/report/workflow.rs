//! GitHub Actions workflow commands: each finding becomes an annotation of the run.

use super::{absent_lines, could_not, coverage_line, line, misread_line, outcome_line};
use crate::app::local::Checked;
use crate::domain::{Finding, Outcome, Severity};

pub fn print(checked: &Checked) {
    let Checked { findings, coverage, outcome, .. } = checked;
    findings.iter().for_each(|finding| line(&command(finding)));
    if let Outcome::CouldNotReview { reason } = outcome {
        line(&format!("::warning title=octoswarm::{}", data(&format!("{}: {reason}", could_not(checked)))));
    }
    line(&format!("{}; {}", outcome_line(checked), coverage_line(coverage)));
    misread_line(coverage).iter().for_each(|text| line(text));
    absent_lines(coverage).iter().for_each(|text| line(&format!("::warning title=octoswarm::{}", data(text))));
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
    use super::*;

    #[test]
    fn no_text_can_smuggle_in_a_command() {
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
