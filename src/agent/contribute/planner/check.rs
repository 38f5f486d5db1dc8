//! Whether a plan holds: ids that are its own, references that lead somewhere, no circle; and how good it is (S1.8).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::survey;
use crate::artifact::exchange::{AgentError, ErrorCode, IssueSeverity, ValidationIssue, ValidationResult};
use crate::artifact::plan::Plan;

const MAX_EFFORT: f64 = 40.0;
const HOURS_A_DAY: f64 = 8.0;
const MAX_TASKS: usize = 15;
const FIELDS: [&str; 4] = ["id", "title", "description", "milestones"];

/// A plan that was looked at, whoever made it.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPlan {
    pub validation: ValidationResult,
    /// The plan if it may be used; PLAN_001 for a document that is none, PLAN_002 when its dependencies do not hold,
    /// ERR_002 for what else is wrong.
    pub plan: Result<Plan, AgentError>,
}

/// Looks at a document that should be a plan.
pub fn check_plan(document: &Value) -> CheckedPlan {
    let missing: Vec<&str> = FIELDS.into_iter().filter(|field| is_empty(document.get(field))).collect();
    let mut found = Found::default();
    for field in &missing {
        found.fault((*field).to_owned(), "is missing".to_owned());
    }
    let plan = match serde_json::from_value::<Plan>(document.clone()) {
        Err(error) => {
            if missing.is_empty() {
                found.fault(String::new(), error.to_string());
            }
            let message = format!("the document is no plan: {}", found.list());
            Err(ErrorCode::PlanParseError.error("planner", message))
        }
        Ok(plan) => {
            let before = found.issues.len();
            found.dependencies(&plan);
            let broken = found.issues.len() > before;
            found.items(&plan);
            found.measures(&plan);
            match (found.issues.is_empty(), broken) {
                (true, _) => Ok(plan),
                (false, true) => {
                    let message = format!("the plan's dependencies do not hold: {}", found.list());
                    Err(ErrorCode::PlanInvalidDependencies.error("planner", message))
                }
                (false, false) => {
                    let message = format!("the plan is not valid: {}", found.list());
                    Err(ErrorCode::OutputValidationFailed.error("planner", message))
                }
            }
        }
    };
    let defects = found.issues.len() - missing.len();
    let score = 100_usize.saturating_sub(25 * missing.len()).saturating_sub(5 * defects);
    let validation = ValidationResult {
        is_valid: plan.is_ok(),
        issues: found.issues,
        warnings: found.warnings,
        quality_score: u8::try_from(score).unwrap_or(0),
    };
    CheckedPlan { validation, plan }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}

#[derive(Default)]
struct Found {
    issues: Vec<ValidationIssue>,
    warnings: Vec<String>,
}

impl Found {
    fn fault(&mut self, field: String, message: String) {
        let field = Some(field).filter(|field| !field.is_empty());
        self.issues.push(ValidationIssue { severity: IssueSeverity::Error, message, field, suggestion: None });
    }

    fn list(&self) -> String {
        let told = self.issues.iter().take(5).map(|issue| match &issue.field {
            Some(field) => format!("{field}: {}", issue.message),
            None => issue.message.clone(),
        });
        told.collect::<Vec<_>>().join("; ")
    }

    /// References that exist, in both directions, and no circle.
    fn dependencies(&mut self, plan: &Plan) {
        let tasks = || {
            plan.milestones.iter().enumerate().flat_map(|(m, milestone)| {
                milestone.tasks.iter().enumerate().map(move |(t, task)| (format!("milestones[{m}].tasks[{t}]"), task))
            })
        };
        let known: BTreeSet<&str> = tasks().map(|(_, task)| task.id.as_str()).collect();
        let pairs = |out: bool| -> BTreeSet<(&str, &str)> {
            let both = tasks().flat_map(|(_, task)| {
                let others = if out { &task.output_dependencies } else { &task.input_dependencies };
                others.iter().map(|other| (task.id.as_str(), other.as_str()))
            });
            both.map(|(own, other)| if out { (own, other) } else { (other, own) }).collect()
        };
        let (inputs, outputs) = (pairs(false), pairs(true));
        for (field, task) in tasks() {
            for (name, ids) in
                [("inputDependencies", &task.input_dependencies), ("outputDependencies", &task.output_dependencies)]
            {
                for (at, id) in ids.iter().enumerate() {
                    let field = || format!("{field}.{name}[{at}]");
                    let pair = match name {
                        "inputDependencies" => (id.as_str(), task.id.as_str()),
                        _ => (task.id.as_str(), id.as_str()),
                    };
                    if !known.contains(id.as_str()) {
                        self.fault(field(), format!("there is no task `{id}`"));
                    } else if *id == task.id {
                        self.fault(field(), "a task cannot wait for itself".to_owned());
                    } else if !(inputs.contains(&pair) && outputs.contains(&pair)) {
                        self.fault(field(), format!("`{id}` does not name this task in return"));
                    }
                }
            }
        }
        if let Some(circle) = circle(&known, &inputs) {
            self.fault("milestones".to_owned(), format!("tasks wait for each other: {}", circle.join(", ")));
        }
    }

    fn items(&mut self, plan: &Plan) {
        let number = plan.id.strip_prefix("P-").unwrap_or_default();
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            self.fault("id".to_owned(), format!("`{}` is not of the form P-1", plan.id));
        }
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for (m, milestone) in plan.milestones.iter().enumerate() {
            let at = format!("milestones[{m}]");
            self.unique(&mut seen, "milestone", &milestone.id, format!("{at}.id"));
            self.filled(&milestone.title, format!("{at}.title"));
            self.amount(milestone.duration, format!("{at}.duration"));
            if milestone.tasks.is_empty() {
                self.fault(format!("{at}.tasks"), "a milestone needs a task".to_owned());
            }
            for (t, task) in milestone.tasks.iter().enumerate() {
                let at = format!("{at}.tasks[{t}]");
                self.unique(&mut seen, "task", &task.id, format!("{at}.id"));
                self.filled(&task.title, format!("{at}.title"));
                self.amount(task.estimated_effort, format!("{at}.estimatedEffort"));
                if task.acceptance_criteria.is_empty() {
                    self.fault(format!("{at}.acceptanceCriteria"), "nothing tells when it is done".to_owned());
                }
                for (n, path) in task.affected_modules.iter().enumerate().filter(|(_, path)| !survey::is_inside(path)) {
                    self.fault(format!("{at}.affectedModules[{n}]"), format!("`{path}` is no path of the repository"));
                }
            }
        }
    }

    fn unique(&mut self, seen: &mut BTreeMap<String, String>, what: &str, id: &str, field: String) {
        if id.trim().is_empty() {
            self.fault(field, "is empty".to_owned());
        } else if let Some(first) = seen.insert(format!("{what} {id}"), field.clone()) {
            self.fault(field, format!("`{id}` is the id at {first}, too"));
        }
    }

    fn filled(&mut self, text: &str, field: String) {
        if text.trim().is_empty() {
            self.fault(field, "is empty".to_owned());
        }
    }

    fn amount(&mut self, amount: f64, field: String) {
        if !amount.is_finite() || amount < 0.0 {
            self.fault(field, "is no amount".to_owned());
        }
    }

    /// What is large, and allowed.
    fn measures(&mut self, plan: &Plan) {
        let mut tasks = 0;
        for milestone in &plan.milestones {
            tasks += milestone.tasks.len();
            let effort: f64 = milestone.tasks.iter().map(|task| task.estimated_effort).sum();
            if effort > milestone.duration * HOURS_A_DAY {
                self.warnings.push(format!(
                    "milestone {}: {effort} hours of work do not fit into {} days",
                    milestone.id, milestone.duration
                ));
            }
            let long = milestone.tasks.iter().filter(|task| task.estimated_effort > MAX_EFFORT);
            self.warnings.extend(long.map(|task| {
                format!("task {}: {} hours are more than {MAX_EFFORT}: split it", task.id, task.estimated_effort)
            }));
        }
        if tasks > MAX_TASKS {
            self.warnings.push(format!("{tasks} tasks are more than {MAX_TASKS}: split the plan"));
        }
    }
}

/// The tasks that are left when every task that waits for nothing is done, again and again.
fn circle<'p>(known: &BTreeSet<&'p str>, inputs: &BTreeSet<(&'p str, &'p str)>) -> Option<Vec<&'p str>> {
    let mut left = known.clone();
    loop {
        let waits =
            |id: &&str| inputs.iter().any(|(before, after)| after == id && left.contains(before) && before != id);
        let free: Vec<&str> = left.iter().copied().filter(|id| !waits(id)).collect();
        if free.is_empty() {
            break;
        }
        left.retain(|id| !free.contains(id));
    }
    (!left.is_empty()).then(|| left.into_iter().collect())
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
        check(&empty, "ERR_002", "milestones", 75);
        check(&plan(&[task("1.1", &["9.9"], &[])]), "PLAN_002", "milestones[0].tasks[0].inputDependencies[0]", 95);
        let round = [task("1.1", &["1.2"], &["1.2"]), task("1.2", &["1.1"], &["1.1"])];
        check(&plan(&round), "PLAN_002", "milestones", 95);
        check(&plan(&[task("1.1", &["1.1"], &["1.1"])]), "PLAN_002", "milestones[0].tasks[0].inputDependencies[0]", 90);
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
