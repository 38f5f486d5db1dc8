//! Whether a document is what it says it is: shape, meaning, and how good it is.

use serde_json::Value;

use super::exchange::{IssueSeverity, ValidationIssue, ValidationResult};
use super::fault::{Fault, faults};
use super::form::Form;
use super::place::Place;

/// Points that a missing top-level field costs (S1.8).
const MISSING: u64 = 25;
/// Points that any other defect costs.
const DEFECT: u64 = 5;

impl Form {
    /// Everything that is wrong with a document that we read. Fields that nobody knows are tolerated, with a warning, but in
    /// what a tool takes.
    pub fn check(&self, document: &Value) -> Vec<Fault> {
        self.faults(document, if self.closed { IssueSeverity::Error } else { IssueSeverity::Warning })
    }

    /// Everything that is wrong with a document that we want to write: there, a field that nobody knows is an error.
    pub fn check_own(&self, document: &Value) -> Vec<Fault> {
        self.faults(document, IssueSeverity::Error)
    }

    fn faults(&self, document: &Value, unknown: IssueSeverity) -> Vec<Fault> {
        let mut found = faults(self.validator(), document, unknown);
        self.judge(&Place::whole(document), &mut found);
        if !found.iter().any(Fault::is_error)
            && let Err(error) = self.read(document)
        {
            // For instance 5.0, which is a whole number to a schema.
            found.push(Fault::error(String::new(), format!("cannot be read: {error}")));
        }
        found
    }
}

/// Everything that a schema has against a document; a field that it does not name is an error.
pub fn against(validator: &jsonschema::Validator, document: &Value) -> Vec<Fault> {
    faults(validator, document, IssueSeverity::Error)
}

/// Everything that is wrong with a document of that form; `None`: there is no such form.
pub fn check(name: &str, document: &Value) -> Option<Vec<Fault>> {
    Form::find(name).map(|form| form.check(document))
}

impl ValidationResult {
    /// The verdict over what was found.
    pub fn of(faults: &[Fault]) -> Self {
        let issue = |fault: &Fault| ValidationIssue {
            severity: fault.severity,
            message: fault.message.clone(),
            field: (!fault.path.is_empty()).then(|| fault.path.clone()),
            suggestion: fault.suggestion.clone(),
        };
        let cost = |fault: &Fault| match fault.path.as_str() {
            "" => 100,
            path if fault.missing && !path.contains(['.', '[']) => MISSING,
            _ => DEFECT,
        };
        let lost: u64 = faults.iter().filter(|fault| fault.is_error()).map(cost).sum();
        Self {
            is_valid: !faults.iter().any(Fault::is_error),
            issues: faults.iter().map(issue).collect(),
            warnings: faults.iter().filter(|fault| !fault.is_error()).map(ToString::to_string).collect(),
            quality_score: u8::try_from(100_u64.saturating_sub(lost)).unwrap_or_default(),
        }
    }
}
