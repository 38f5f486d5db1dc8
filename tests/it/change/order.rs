//! Each tool at its turn: what it needs to be there, what the state says afterwards, and what a second call does.

use octoswarm::change::{Error, Kind, Phase};
use octoswarm::domain::Millis;
use serde_json::{Value, json};

use super::{Bench, NOW, proposal, review, spec, tasks};

const LATER: Millis = NOW + 60_000;

#[track_caller]
fn out_of_turn(error: &Error, reason: &str, next: &str) {
    let Error::Sequence { reason: said, next: then, .. } = error else { panic!("{error}") };
    assert_eq!((said.as_str(), then.as_str()), (reason, next));
}

#[test]
fn s4_3_a_change_goes_from_proposal_over_specs_to_tasks_and_no_other_way() {
    let bench = Bench::new();
    for (kind, input) in
        [(Kind::Spec, spec("a", "one")), (Kind::Tasks, tasks("a")), (Kind::Review, review("a", "APPROVED", &[]))]
    {
        assert!(matches!(bench.refused(kind, &input), Error::Unknown { id } if id == "a"));
    }
    let made = bench.made(Kind::Proposal, &proposal("a", &[("two", &["one"]), ("one", &[])]));
    assert_eq!((made.phase, made.next.as_str()), (Phase::Drafting, "create_spec for `one`"));
    let told = bench.refused(Kind::Tasks, &tasks("a"));
    out_of_turn(
        &told,
        "specs that the proposal lists are missing or cannot be read: two, one",
        "create_spec for `one`",
    );
    let told = bench.refused(Kind::Spec, &spec("a", "two"));
    out_of_turn(&told, "spec `two` builds on `one`, which is missing or cannot be read", "create_spec for `one`");
    let told = bench.refused(Kind::Spec, &spec("a", "three"));
    assert!(told.to_string().contains("the proposal does not list the spec `three`"), "{told}");
    let made = bench.made(Kind::Spec, &spec("a", "one"));
    assert_eq!((made.phase, made.next.as_str()), (Phase::Drafting, "create_spec for `two`"));
    let made = bench.made(Kind::Spec, &spec("a", "two"));
    assert_eq!((made.phase, made.next.as_str()), (Phase::SpecsGenerated, "create_tasks"));
    let made = bench.made(Kind::Tasks, &tasks("a"));
    assert_eq!((made.phase, made.next.as_str()), (Phase::TasksGenerated, "do the tasks, then create_review"));
    let told = bench.refused(Kind::Proposal, &proposal("a", &[]));
    assert!(told.to_string().contains("the proposal is not revised once tasks were made of it"), "{told}");
}

#[test]
fn s4_3_a_spec_that_was_broken_since_holds_the_tasks_back_until_it_is_mended() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[("one", &[])]));
    bench.made(Kind::Spec, &spec("a", "one"));
    let valid = bench.text("a/specs/one.md");
    for broken in [
        String::new(),
        valid.replace("## Overview", "## Summary"),
        valid.replace("R1:", "R 1:"),
        valid.replace("---", ""),
    ] {
        bench.rewrite("a/specs/one.md", &broken);
        let told = bench.refused(Kind::Tasks, &tasks("a"));
        out_of_turn(&told, "specs that the proposal lists are missing or cannot be read: one", "create_spec for `one`");
    }
    // Changed, and valid as it is now.
    bench.rewrite("a/specs/one.md", &valid.replace("Checked documents", "Documents that were checked"));
    bench.made(Kind::Tasks, &tasks("a"));
    let read = bench.changes.read("a").unwrap();
    assert_eq!(read.specs[0].content.title, "Documents that were checked");
    let hash = |text: &str| format!("sha256:{}", octoswarm::stdx::hash::sha256(text.as_bytes()));
    assert_eq!(read.state.checksums["specs/one.md"].hash, hash(&bench.text("a/specs/one.md")));
}

#[test]
fn s4_3_a_broken_spec_is_written_anew_by_its_tool_and_the_call_says_so() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[("one", &[])]));
    bench.made(Kind::Spec, &spec("a", "one"));
    bench.rewrite("a/specs/one.md", "nothing");
    let made = bench.made(Kind::Spec, &spec("a", "one"));
    assert!(made.changed && made.warnings[0].contains("has no frontmatter"), "{made:?}");
    assert_eq!(made.phase, Phase::SpecsGenerated);
}

#[test]
fn what_tasks_say_of_specs_has_to_be_there() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[("one", &[])]));
    bench.made(Kind::Spec, &spec("a", "one"));
    let with = |first: &str, other: &str| {
        let mut input = tasks("a");
        input["tasks"][0]["spec_ref"] = json!(first);
        input["tasks"][1]["spec_ref"] = json!(other);
        input
    };
    let told = bench.refused(Kind::Tasks, &with("two", "one:R2")).to_string();
    // The tasks are told in the order of their layers.
    for fault in [
        "spec_ref: is `two`, but there is no spec `two`",
        "spec_ref: is `one:R2`, but that spec has no requirement `R2`",
    ] {
        assert!(told.contains(fault), "{told}");
    }
    bench.made(Kind::Tasks, &with("one", "one:R1"));
}

#[test]
fn a_proposal_may_be_revised_until_there_are_tasks_and_specs_stay() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[("one", &[]), ("two", &[])]));
    bench.made(Kind::Spec, &spec("a", "one"));
    let made = bench.changes.create(Kind::Proposal, &proposal("a", &[("two", &[])]), LATER).unwrap();
    assert_eq!(made.warnings, ["specs that the proposal does not list stay where they are: one"]);
    assert_eq!((made.phase, made.next.as_str()), (Phase::Drafting, "create_spec for `two`"));
    let read = bench.changes.read("a").unwrap();
    let head = &read.proposal.as_ref().unwrap().head;
    assert_eq!(
        (head.version, head.created_at.as_str(), head.updated_at.as_str()),
        (2, "2026-11-21T10:15:35Z", "2026-11-21T10:16:35Z")
    );
    assert_eq!(read.specs.len(), 1);
    assert_eq!(read.state.created_at, "2026-11-21T10:15:35Z");
}

#[test]
fn s4_3_the_same_call_twice_changes_nothing() {
    let bench = Bench::new();
    let calls = [
        (Kind::Proposal, proposal("a", &[("one", &[])])),
        (Kind::Spec, spec("a", "one")),
        (Kind::Tasks, tasks("a")),
        (Kind::Review, review("a", "NEEDS_FIX", &["Low"])),
    ];
    for (kind, input) in &calls {
        assert!(bench.made(*kind, input).changed);
    }
    let files = bench.files();
    // Every one of them, also those whose turn is over.
    for (kind, input) in &calls {
        let again = bench.changes.create(*kind, input, LATER).unwrap();
        assert!(!again.changed && again.message.starts_with("Unchanged: "), "{again:?}");
        assert_eq!(again.phase, Phase::Implementing);
    }
    assert_eq!(bench.files(), files);
}

#[test]
fn a_state_that_a_crash_left_behind_is_mended_by_the_same_call() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[("one", &[])]));
    bench.made(Kind::Spec, &spec("a", "one"));
    bench.made(Kind::Tasks, &tasks("a"));
    let input = review("a", "NEEDS_FIX", &["Low"]);
    let before = bench.text("a/STATE.yaml");
    bench.made(Kind::Review, &input);
    let (state, review) = (bench.text("a/STATE.yaml"), bench.text("a/REVIEW.md"));
    // The document was written, its state was not.
    bench.rewrite("a/STATE.yaml", &before);
    let again = bench.made(Kind::Review, &input);
    assert!(!again.changed && again.phase == Phase::Implementing, "{again:?}");
    assert_eq!((bench.text("a/STATE.yaml"), bench.text("a/REVIEW.md")), (state, review));
    // Without a state, the documents tell what it would say.
    std::fs::remove_file(bench.path("a/STATE.yaml")).unwrap();
    assert_eq!(bench.changes.read("a").unwrap().state.phase, Phase::TasksGenerated);
    assert_eq!(bench.made(Kind::Tasks, &tasks("a")).phase, Phase::TasksGenerated);
    assert_eq!(bench.changes.read("a").unwrap().state.checksums.len(), 4);
}

#[test]
fn s4_5_verdicts_lead_on_back_or_to_a_person() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[]));
    let early = bench.made(Kind::Review, &review("a", "APPROVED", &[]));
    assert_eq!(
        (early.phase, early.warnings),
        (Phase::SpecsGenerated, vec!["there are no tasks yet: the change stays `specs_generated`".to_owned()])
    );
    bench.made(Kind::Tasks, &tasks("a"));
    let at = || bench.changes.read("a").unwrap().state;
    for (round, severities) in [(1, &["Low"][..]), (2, &["Low", "Low"]), (2, &["Low", "Low", "Low"])] {
        let made = bench.made(Kind::Review, &review("a", "NEEDS_FIX", severities));
        assert_eq!((made.phase, at().iteration), (Phase::Implementing, round));
        assert_eq!(made.warnings.is_empty(), severities.len() < 3, "{:?}", made.warnings);
    }
    assert_eq!(bench.made(Kind::Review, &review("a", "MAJOR_ISSUES", &["High"])).phase, Phase::Rejected);
    let told = bench.refused(Kind::Tasks, &{
        let mut other = tasks("a");
        other["tasks"][0]["title"] = json!("Another");
        other
    });
    assert!(told.to_string().contains("the change is `rejected`"), "{told}");
    let made = bench.made(Kind::Review, &review("a", "APPROVED", &[]));
    assert_eq!((made.phase, made.next.as_str()), (Phase::Implemented, "nothing: the change is done"));
    let last =
        at().validations.into_iter().map(|entry| (entry.step, entry.result.high, entry.result.low)).collect::<Vec<_>>();
    assert_eq!(last[last.len() - 2], ("create_review".to_owned(), 1, 0));
}

#[test]
fn the_state_is_plain_yaml_and_names_of_an_older_form_are_read() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[]));
    bench.made(Kind::Tasks, &tasks("a"));
    let state: Value = serde_saphyr::from_str(&bench.text("a/STATE.yaml")).unwrap();
    assert_eq!(
        (&state["change_id"], &state["schema_version"], &state["phase"]),
        (&json!("a"), &json!("2.0"), &json!("tasks_generated"))
    );
    assert_eq!(state["last_action"], "create_tasks tasks.md");
    assert!(state["checksums"]["proposal.md"]["hash"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(state["validations"][1]["result"], json!({ "valid": true, "high": 0, "medium": 0, "low": 0 }));
    for (old, now) in [
        ("proposed", Phase::TasksGenerated),
        ("challenged", Phase::Planned),
        ("complete", Phase::Implemented),
        ("merging", Phase::Merging),
    ] {
        let text =
            bench.text("a/STATE.yaml").replace("phase: tasks_generated", &format!("phase: {old}\nsession_id: s-1"));
        bench.rewrite("a/STATE.yaml", &text);
        let read = bench.changes.read("a").unwrap().state;
        assert_eq!((read.phase, read.session_id.as_deref()), (now, Some("s-1")), "{old}");
        bench.rewrite(
            "a/STATE.yaml",
            &text.replace(&format!("phase: {old}\nsession_id: s-1"), "phase: tasks_generated"),
        );
    }
}

#[test]
fn tasks_that_stay_are_as_far_as_they_were() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[]));
    bench.made(Kind::Tasks, &tasks("a"));
    let done = bench.text("a/tasks.md").replacen("- Status: pending", "- Status: completed", 1);
    bench.rewrite("a/tasks.md", &done);
    assert!(!bench.made(Kind::Tasks, &tasks("a")).changed);
    let mut other = tasks("a");
    other["tasks"][0]["title"] = json!("Test all of it");
    assert!(bench.made(Kind::Tasks, &other).changed);
    let front: Value = serde_saphyr::from_str(bench.text("a/tasks.md").split("---\n").nth(1).unwrap()).unwrap();
    assert_eq!(
        (&front["summary"]["completed"], &front["summary"]["pending"], &front["version"]),
        (&json!(1), &json!(1), &json!(2))
    );
}

#[test]
fn calls_at_once_do_not_tear_each_others_documents() {
    let bench = Bench::new();
    let ids: Vec<String> = (0..8).map(|at| format!("s{at}")).collect();
    let listed: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), &[][..])).collect();
    bench.made(Kind::Proposal, &proposal("a", &listed));
    std::thread::scope(|scope| {
        for id in &ids {
            let bench = &bench;
            scope.spawn(move || bench.made(Kind::Spec, &spec("a", id)));
            scope.spawn(move || bench.changes.read("a").unwrap());
        }
    });
    let read = bench.changes.read("a").unwrap();
    assert_eq!((read.state.phase, read.state.checksums.len(), read.specs.len()), (Phase::SpecsGenerated, 9, 8));
    assert_eq!(read.state.validations.len(), 9);
}
