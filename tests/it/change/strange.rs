//! What lies in the way: links, other people's hands, and documents that are too large.

use std::os::unix::fs::symlink;

use octoswarm::change::{Error, Kind, Phase};
use serde_json::{Value, json};

use super::{Bench, proposal, review, spec, tasks};

#[test]
fn no_link_below_the_root_is_followed_wherever_it_stands() {
    let outside = tempfile::tempdir().unwrap();
    let ready = || {
        let bench = Bench::new();
        bench.made(Kind::Proposal, &proposal("a", &[]));
        bench.made(Kind::Spec, &spec("a", "one"));
        bench.made(Kind::Tasks, &tasks("a"));
        bench.made(Kind::Review, &review("a", "APPROVED", &[]));
        bench
    };
    let places = [
        "agentd",
        "agentd/changes",
        "agentd/changes/a",
        "agentd/changes/a/specs",
        "agentd/changes/a/proposal.md",
        "agentd/changes/a/specs/one.md",
        "agentd/changes/a/tasks.md",
        "agentd/changes/a/REVIEW.md",
        "agentd/changes/a/STATE.yaml",
    ];
    for place in places {
        let bench = ready();
        let at = bench.dir.path().join(place);
        let aside = outside.path().join(place.replace('/', "_"));
        std::fs::rename(&at, &aside).unwrap();
        symlink(&aside, &at).unwrap();
        let copy = |path: &std::path::Path| if path.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
        let before = copy(&aside);
        let calls: [(Kind, Value); 4] = [
            (Kind::Proposal, proposal("a", &[("two", &[])])),
            (Kind::Spec, spec("a", "two")),
            (Kind::Tasks, tasks("a")),
            (Kind::Review, review("a", "NEEDS_FIX", &["Low"])),
        ];
        for (kind, input) in calls {
            let told = bench.create(kind, &input).unwrap_err();
            assert!(
                matches!(&told, Error::Strange { path, what } if path == place && what.contains("symbolic link")),
                "{place}: {told}"
            );
        }
        let told = bench.changes.read("a").unwrap_err();
        assert!(matches!(&told, Error::Strange { path, .. } if path == place), "{place}: {told}");
        assert_eq!(copy(&aside), before);
    }
    // A link that leads nowhere is one too.
    let bench = Bench::new();
    symlink(outside.path().join("none"), bench.dir.path().join("agentd")).unwrap();
    assert!(matches!(bench.create(Kind::Proposal, &proposal("a", &[])).unwrap_err(), Error::Strange { .. }));
    assert!(!outside.path().join("none").exists());
}

#[test]
fn a_document_that_is_too_large_or_no_text_is_told_and_left() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[]));
    for (bytes, what) in [(vec![b'x'; (1 << 20) + 1], "larger than 1 MiB"), (vec![0xff, 0xfe], "no UTF-8")] {
        std::fs::write(bench.path("a/tasks.md"), bytes).unwrap();
        let told = bench.refused(Kind::Tasks, &tasks("a"));
        assert!(told.to_string().contains(what), "{told}");
    }
    std::fs::remove_file(bench.path("a/tasks.md")).unwrap();
    std::fs::create_dir(bench.path("a/tasks.md")).unwrap();
    assert!(bench.refused(Kind::Tasks, &tasks("a")).to_string().contains("no plain file"));
}

#[test]
fn what_a_person_wrote_by_hand_is_read() {
    let bench = Bench::new();
    bench.made(Kind::Proposal, &proposal("a", &[]));
    bench.made(Kind::Tasks, &tasks("a"));
    // Another order, fields of another program, Windows line ends, bold names, bullets of another kind, no head at all.
    let by_hand = "---\nverdict: MAJOR_ISSUES\nreviewer: somebody\nid: a\n---\n\n# Review\n\nThis was not approved: NEEDS_FIX, APPROVED.\n\n\
        ## Issues\n\n### Low\n\n#### Slow\n\n* **File**: src/check.rs\n* **Line:** 7\n\nTakes long.\n\n##### See\n\nthe log\n\n## Summary\n\nOf **two** parts.\n\n## Verdict\n\nAPPROVED\n";
    bench.rewrite("a/REVIEW.md", &by_hand.replace('\n', "\r\n"));
    let read = bench.changes.read("a").unwrap().review.unwrap();
    let want = json!({
        "change_id": "a", "verdict": "MAJOR_ISSUES", "summary": "Of **two** parts.", "iteration": 0,
        "issues": [{ "title": "Slow", "severity": "Low", "description": "Takes long.\n\n##### See\n\nthe log", "file": "src/check.rs", "line": 7 }],
    });
    assert_eq!(serde_json::to_value(&read.content).unwrap(), want);
    let without_head = "# Work\n\n## 2. Logic Layer\n\n### 2.1: Check it\n- File: src/check.rs (MODIFY)\n- Depends: none\n\nA check.\n";
    for front in ["", "---\nid: a\n---\n", "---\nchange_id: a\nversion: \"1.0\"\n---\n"] {
        bench.rewrite("a/tasks.md", &format!("{front}{without_head}"));
        let read = bench.changes.read("a").unwrap().tasks.unwrap().content;
        assert_eq!((read.list.tasks[0].id(), read.list.tasks[0].title.as_str()), ("2.1".to_owned(), "Check it"));
    }
    for (front, fault) in [
        ("---\nid: b\n---\n", "id: is `b`"),
        ("---\ntype: tasks\n---\n", "neither `change_id` nor `id`"),
        ("---\nid: [\n---\n", "its frontmatter:"),
    ] {
        bench.rewrite("a/tasks.md", &format!("{front}{without_head}"));
        let told = bench.changes.read("a").unwrap_err();
        assert!(matches!(&told, Error::Unreadable { path, .. } if path == "agentd/changes/a/tasks.md"), "{told}");
        assert!(told.to_string().contains(fault), "{told}");
    }
}

#[test]
fn changes_are_listed_with_what_is_wrong_with_them() {
    let bench = Bench::new();
    assert!(bench.changes.list().unwrap().is_empty());
    assert!(matches!(bench.changes.read("none"), Err(Error::Unknown { .. })));
    bench.made(Kind::Proposal, &proposal("b", &[("one", &[])]));
    bench.made(Kind::Proposal, &proposal("a", &[]));
    bench.made(Kind::Review, &review("a", "APPROVED", &[]));
    for name in ["Not an id", ".hidden", "empty"] {
        std::fs::create_dir(bench.path(name)).unwrap();
    }
    bench.made(Kind::Proposal, &proposal("torn", &[]));
    bench.rewrite("torn/STATE.yaml", "phase: nowhere\nchange_id: torn\n");
    let listed = bench.changes.list().unwrap();
    let told: Vec<_> = listed.iter().map(|one| (one.id.as_str(), one.phase, one.problem.is_some())).collect();
    let want = [
        ("a", Some(Phase::SpecsGenerated), false),
        ("b", Some(Phase::Drafting), false),
        ("empty", None, true),
        ("torn", None, true),
    ];
    assert_eq!(told, want);
    assert_eq!(listed[0].summary.as_deref(), Some("Check what each step hands on."));
    for id in ["../a", "a/..", "", "A", "\u{1b}[2J"] {
        let told = bench.changes.read(id).unwrap_err();
        assert!(matches!(told, Error::Unknown { .. }) && !told.to_string().contains('\u{1b}'));
    }
}

#[test]
fn a_rule_of_each_kind_is_kept() {
    let bench = Bench::new();
    let refused = |kind: Kind, mut input: Value, pointer: &str, new: Value, fault: &str| {
        *input.pointer_mut(pointer).unwrap() = new;
        let told = bench.refused(kind, &input);
        assert!(told.faults().iter().any(|one| one.to_string().contains(fault)), "{fault}: {told}");
    };
    let listed = proposal("a", &[("one", &["two"]), ("two", &[])]);
    let specs = "/impact/affected_specs";
    refused(
        Kind::Proposal,
        listed.clone(),
        specs,
        json!([{ "id": "x" }, { "id": "x" }]),
        "affected_specs[1].id: is `x`, and so is",
    );
    refused(Kind::Proposal, listed.clone(), &format!("{specs}/1/depends"), json!(["one"]), "wait for each other: ");
    refused(
        Kind::Proposal,
        listed.clone(),
        &format!("{specs}/0/depends"),
        json!(["one"]),
        "wait for each other: one → one",
    );
    refused(
        Kind::Proposal,
        listed.clone(),
        &format!("{specs}/0/depends"),
        json!(["six"]),
        "depends[0]: is `six`, which is the id of no spec",
    );
    refused(Kind::Proposal, listed.clone(), "/what_changes", json!([]), "what_changes: has 0 entries");
    refused(Kind::Proposal, listed.clone(), "/why", json!(format!("{}{}", "y".repeat(49), " ".repeat(9))), "why: is ");
    refused(Kind::Proposal, listed.clone(), "/impact/scope", json!("huge"), "impact.scope: is `huge`");
    refused(Kind::Proposal, listed, "/impact/affected_files", json!(0), "impact.affected_files: is 0");
    let one = spec("a", "one");
    refused(Kind::Spec, one.clone(), "/requirements/0/id", json!("MSX1"), "requirements[0].id: is `MSX1`");
    refused(Kind::Spec, one.clone(), "/requirements/0/priority", json!("High"), "requirements[0].priority: is `High`");
    let twice = json!([one["requirements"][0], one["requirements"][0]]);
    refused(Kind::Spec, one.clone(), "/requirements", twice, "requirements[1].id: is `R1`, and so is");
    let twice = json!([one["scenarios"][0], one["scenarios"][0]]);
    refused(Kind::Spec, one.clone(), "/scenarios", twice, "scenarios[1].name: is `Too short`, and so is");
    refused(Kind::Spec, one.clone(), "/title", json!("a\nb"), "title: has a line break");
    refused(Kind::Spec, one.clone(), "/scenarios/0/when", json!("  \n "), "scenarios[0].when: is ");
    refused(
        Kind::Spec,
        one,
        "/overview",
        json!(format!("{}\u{1b}[2J", "y".repeat(50))),
        "overview: holds the control character U+001B",
    );
    let list = tasks("a");
    let path = "/tasks/0/file/path";
    for bad in ["/etc/passwd", "../a", "a/../../b", "a\\b", "C:/a", "a\nb", " "] {
        refused(Kind::Tasks, list.clone(), path, json!(bad), "tasks[0].file.path: ");
    }
    refused(
        Kind::Tasks,
        list.clone(),
        "/tasks/1/layer",
        json!("testing"),
        "tasks[1].number: is 1, and so is the one of tasks[0]",
    );
    let mut circle = list;
    circle["tasks"][1]["depends"] = json!(["4.1"]);
    refused(Kind::Tasks, circle, "/tasks/0/depends", json!(["2.1"]), "tasks: has tasks that wait for each other: ");
}
