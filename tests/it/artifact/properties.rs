//! Whatever the input: nothing breaks, circles are found exactly where there are any, and what passes can be read.

use octoswarm::artifact::{FORMS, Form};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{full, golden, pointers};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["completed", "failed", "agent-4-coder", "planned", "2026-11-21T10:15:35Z", "../x"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        let names = prop::sample::select(vec![
            "agent",
            "status",
            "errors",
            "result",
            "plan",
            "milestones",
            "tasks",
            "id",
            "findings",
            "summary",
            "pr",
            "x/y~",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_document_is_too_strange_to_be_checked(document in any_json()) {
        for form in &FORMS {
            form.check(&document);
        }
    }

    #[test]
    fn what_is_put_anywhere_is_refused_or_can_be_read_and_written_again(
        file in 0..1000_usize, place in 0..1000_usize, new in any_json(),
    ) {
        let all = golden();
        let (form, name, mut document) = all[file % all.len()].clone();
        let mut places = Vec::new();
        pointers(&document, "", &mut places);
        *document.pointer_mut(&places[place % places.len()]).unwrap() = new;
        if form.check_own(&document).iter().all(|fault| !fault.is_error()) {
            let again = super::door::through_the_type(form.name, &document);
            prop_assert!(form.check_own(&again).iter().all(|fault| !fault.is_error()), "{}: {}", name, document);
        }
    }

    #[test]
    fn a_circle_is_found_exactly_where_a_task_waits_for_itself(
        edges in prop::collection::btree_set((0..7_usize, 0..7_usize), 0..14),
    ) {
        let mut plan = full("plan");
        let named = |of: &dyn Fn(&(usize, usize)) -> Option<usize>| {
            edges.iter().filter_map(of).map(|other| other.to_string()).collect::<Vec<_>>()
        };
        let tasks: Vec<Value> = (0..7)
            .map(|id| {
                let mut task = full("task");
                task["id"] = json!(id.to_string());
                task["inputDependencies"] = json!(named(&|(from, to)| (*to == id).then_some(*from)));
                task["outputDependencies"] = json!(named(&|(from, to)| (*from == id).then_some(*to)));
                task
            })
            .collect();
        plan["milestones"] = json!([plan["milestones"][0]]);
        plan["milestones"][0]["tasks"] = json!(tasks);
        let mut reach = [[false; 7]; 7];
        edges.iter().for_each(|(from, to)| reach[*from][*to] = true);
        for via in 0..7 {
            for from in 0..7 {
                for to in 0..7 {
                    reach[from][to] |= reach[from][via] && reach[via][to];
                }
            }
        }
        let faults = Form::find("plan").unwrap().check(&plan);
        let circles: Vec<_> = faults.iter().filter(|fault| fault.is_error()).collect();
        prop_assert_eq!(circles.is_empty(), (0..7).all(|id| !reach[id][id]), "{:?}", circles);
        for circle in circles {
            let names: Vec<usize> =
                circle.message.split(": ").nth(1).unwrap().split(" → ").map(|name| name.parse().unwrap()).collect();
            prop_assert!(names.windows(2).all(|pair| edges.contains(&(pair[0], pair[1]))), "{}", circle);
            prop_assert_eq!(names.first(), names.last());
        }
    }
}
