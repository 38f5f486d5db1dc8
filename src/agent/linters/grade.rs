//! What a linter's rules weigh here: their reviewer, and their severity where the linter's own word says nothing.

use super::table::Linter;
use crate::analysis::told::Told;
use crate::domain::{Category, Severity};

/// Rules whose name begins alike.
#[derive(Debug)]
pub struct Grade {
    /// Letters and digits of a code, whose letters have to be the same ones: `S1` is no part of `SIM1`. Else how a name begins.
    pub rules: &'static str,
    /// These alone, if any are named.
    pub only: &'static [&'static str],
    /// Nothing: improvement.
    pub category: Option<Category>,
    pub severity: Severity,
}

impl Grade {
    pub(super) const fn of(rules: &'static str, category: Option<Category>, severity: Severity) -> Self {
        Self { rules, only: &[], category, severity }
    }

    pub(super) const fn only(mut self, only: &'static [&'static str]) -> Self {
        self.only = only;
        self
    }

    fn fits(&self, rule: &str) -> bool {
        if !self.only.is_empty() {
            return self.only.contains(&rule);
        }
        let letters = |text: &str| text.bytes().take_while(u8::is_ascii_uppercase).count();
        let is_code = |text: &str| letters(text) > 0 && text.bytes().skip(letters(text)).all(|b| b.is_ascii_digit());
        if is_code(self.rules) {
            return is_code(rule) && letters(rule) == letters(self.rules) && rule.starts_with(self.rules);
        }
        rule.starts_with(self.rules)
    }
}

/// Gives what a linter says its weight, and an address where it has none.
pub(super) fn weigh(linter: &Linter, told: &mut Told) {
    if told.help.is_none() && !linter.help.is_empty() && !told.rule.is_empty() {
        told.help = Some(format!("{}{}", linter.help, told.rule));
    }
    let Some(grade) = linter.grades.iter().find(|grade| grade.fits(&told.rule)) else { return };
    told.category = grade.category.unwrap_or(Category::Improvement);
    // Ruff calls everything an error.
    if linter.levels_are_empty {
        told.severity = grade.severity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, rule: &str, want: (Category, Severity)) {
        let mut told = Told {
            tool: name.into(),
            rule: rule.into(),
            severity: Severity::High,
            category: Category::Improvement,
            message: "m".into(),
            about: String::new(),
            help: None,
            cwes: Vec::new(),
            path: "a".into(),
            region: None,
            edits: Vec::new(),
        };
        weigh(Linter::named(name).unwrap(), &mut told);
        assert_eq!((told.category, told.severity), want, "{name}/{rule}");
    }

    #[test]
    fn security_and_documentation_go_to_their_reviewers_and_the_rest_is_improvement() {
        use Category::{Critical, Documentation, Improvement};
        use Severity::{High, Low, Medium};
        check("ruff", "S307", (Critical, Medium));
        check("ruff", "S101", (Improvement, Low));
        check("ruff", "SIM118", (Improvement, Low));
        check("ruff", "D100", (Documentation, Low));
        check("ruff", "DTZ003", (Improvement, Medium));
        check("ruff", "F401", (Improvement, Medium));
        check("ruff", "F821", (Improvement, High));
        check("ruff", "FBT001", (Improvement, Low));
        check("ruff", "invalid-syntax", (Improvement, High));
        check("eslint", "security/detect-child-process", (Critical, High));
        check("eslint", "jsdoc/require-jsdoc", (Documentation, High));
        check("eslint", "no-undef", (Improvement, High));
        check("golangci-lint", "gosec/G401", (Critical, High));
        check("golangci-lint", "errcheck", (Improvement, High));
    }
}
