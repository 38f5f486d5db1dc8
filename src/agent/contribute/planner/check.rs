//! Whether a plan may be used, whoever made it.

use serde_json::Value;

use crate::artifact::exchange::{AgentError, ErrorCode, ValidationResult};
use crate::artifact::plan::Plan;
use crate::artifact::{Fault, Form};

/// Faults that a message names.
const MAX_TOLD: usize = 5;

/// A plan that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPlan {
    pub validation: ValidationResult,
    /// The plan if it may be used; PLAN_001 for a document that is none, PLAN_002 when its dependencies do not hold,
    /// ERR_002 for what else is wrong (S1.21).
    pub plan: Result<Plan, AgentError>,
}

/// Looks at a document that should be a plan.
pub fn check_plan(document: &Value) -> CheckedPlan {
    let faults = Form::of::<Plan>().check(document);
    let errors: Vec<&Fault> = faults.iter().filter(|fault| fault.is_error()).collect();
    let refuse = |code: ErrorCode, why: &str| {
        let told: Vec<String> = errors.iter().take(MAX_TOLD).map(ToString::to_string).collect();
        Err(code.error("planner", format!("{why}: {}", told.join("; "))))
    };
    let plan = match serde_json::from_value(document.clone()) {
        Ok(plan) if errors.is_empty() => Ok(plan),
        Ok(plan) if errors.iter().any(|fault| is_of_dependencies(fault, &plan)) => {
            refuse(ErrorCode::PlanInvalidDependencies, "the plan's dependencies do not hold")
        }
        Ok(_) => refuse(ErrorCode::OutputValidationFailed, "the plan is not valid"),
        Err(_) => refuse(ErrorCode::PlanParseError, "the document is no plan"),
    };
    CheckedPlan { validation: ValidationResult::of(&faults), plan }
}

/// A circle is a fault of all milestones together; that there are none is one, too.
fn is_of_dependencies(fault: &Fault, plan: &Plan) -> bool {
    fault.path.contains("putDependencies[") || fault.path == "milestones" && !plan.milestones.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(id: &str, inputs: &[&str], outputs: &[&str]) -> Value {
        json!({
            "id": id, "title": "t", "description": "", "type": "feature", "estimatedEffort": 2.0,
            "acceptanceCriteria": ["it holds"], "inputDependencies": inputs, "outputDependencies": outputs,
            "affectedModules": ["a.py"], "status": "planned"
        })
    }

    fn plan(tasks: &[Value]) -> Value {
        json!({
            "id": "P-1", "title": "t", "description": "d",
            "milestones": [{ "id": "1", "title": "m", "description": "", "duration": 1.0, "tasks": tasks, "successCriteria": [] }]
        })
    }

    #[track_caller]
    fn check(document: &Value, code: &str, field: &str, score: u8) {
        let checked = check_plan(document);
        assert_eq!(checked.plan.unwrap_err().code, code);
        assert!(!checked.validation.is_valid);
        assert_eq!(checked.validation.quality_score, score, "{:?}", checked.validation.issues);
        let fields: Vec<_> = checked.validation.issues.iter().filter_map(|issue| issue.field.as_deref()).collect();
        assert!(fields.contains(&field), "{fields:?}");
    }

    #[test]
    fn a_good_plan_has_full_marks() {
        let checked = check_plan(&plan(&[task("1.1", &[], &["1.2"]), task("1.2", &["1.1"], &[])]));
        assert!(checked.plan.is_ok() && checked.validation.is_valid && checked.validation.warnings.is_empty());
        assert_eq!(checked.validation.quality_score, 100);
    }

    #[test]
    fn every_fault_has_its_code_its_field_and_its_price() {
        check(&json!({}), "PLAN_001", "milestones", 0);
        check(&json!({ "id": "P-1", "title": "t", "description": "d" }), "PLAN_001", "milestones", 75);
        let mut empty = plan(&[]);
        check(&empty, "ERR_002", "milestones[0].tasks", 95);
        empty["milestones"] = json!([]);
        check(&empty, "ERR_002", "milestones", 95);
        check(&plan(&[task("1.1", &["9.9"], &[])]), "PLAN_002", "milestones[0].tasks[0].inputDependencies[0]", 95);
        let round = [task("1.1", &["1.2"], &["1.2"]), task("1.2", &["1.1"], &["1.1"])];
        check(&plan(&round), "PLAN_002", "milestones", 95);
        check(&plan(&[task("1.1", &["1.1"], &["1.1"])]), "PLAN_002", "milestones", 95);
        let one_sided = [task("1.1", &[], &[]), task("1.2", &["1.1"], &[])];
        check(&plan(&one_sided), "PLAN_002", "milestones[0].tasks[1].inputDependencies[0]", 95);
        check(&plan(&[task("1.1", &[], &[]), task("1.1", &[], &[])]), "ERR_002", "milestones[0].tasks[1].id", 95);
        let mut outside = plan(&[task("1.1", &[], &[])]);
        outside["milestones"][0]["tasks"][0]["affectedModules"] = json!(["../a"]);
        check(&outside, "ERR_002", "milestones[0].tasks[0].affectedModules[0]", 95);
        outside["id"] = json!("7");
        check(&outside, "ERR_002", "id", 90);
    }

    #[test]
    fn what_is_large_is_a_warning() {
        let mut tasks: Vec<Value> = (1..=16).map(|n| task(&format!("1.{n}"), &[], &[])).collect();
        tasks[0]["estimatedEffort"] = json!(41.0);
        let checked = check_plan(&plan(&tasks));
        assert!(checked.plan.is_ok());
        assert_eq!(checked.validation.warnings.len(), 3, "{:?}", checked.validation.warnings);
    }
}
