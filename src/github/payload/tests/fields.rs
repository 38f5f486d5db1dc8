//! Every field of every body dropped, nulled and retyped.

use proptest::prelude::*;

use super::*;

/// All pointers into a value.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, child)| (key.clone(), child)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, child)| (i.to_string(), child)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{at}/{key}");
        pointers(child, &pointer, out);
        out.push(pointer);
    }
}

/// Drops and nulls each field in turn: either the event is still there, or one of these was missing.
#[track_caller]
fn only_these_are_needed(name: &str, whole: &Value, needed: &[&str]) {
    let mut all = Vec::new();
    pointers(whole, "", &mut all);
    for pointer in needed {
        assert!(all.iter().any(|known| known == pointer), "{pointer} is not in the body");
    }
    for pointer in &all {
        let mut nulled = whole.clone();
        *nulled.pointer_mut(pointer).unwrap() = Value::Null;
        let mut dropped = whole.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match dropped.pointer_mut(parent).unwrap() {
            Value::Object(map) => {
                map.remove(key);
            }
            other => *other = json!([]),
        }
        // An entry that is null is broken; a list without it is shorter.
        let entry = key.parse::<usize>().is_ok();
        for (body, list_cut) in [(nulled, false), (dropped, entry)] {
            let events = matches!(parsed(name, &body), Parsed::Events(_));
            let is_needed = needed.contains(&pointer.as_str()) && !list_cut;
            assert_eq!(events, !is_needed, "{name} {pointer}: {:?}", parsed(name, &body));
        }
    }
}

/// Every repository's event needs these.
const PLACE: &[&str] = &[
    "/action",
    "/repository",
    "/repository/id",
    "/repository/full_name",
    "/repository/default_branch",
    "/installation",
    "/installation/id",
    // A person without id or login is half a person; one who is wholly absent is a ghost.
    "/sender/id",
    "/sender/login",
];

const ISSUE: &[&str] = &[
    "/issue",
    "/issue/number",
    "/issue/state",
    "/issue/labels/0",
    "/issue/labels/0/name",
    "/issue/labels/1",
    "/issue/labels/1/name",
    "/issue/user/id",
    "/issue/user/login",
];

#[test]
fn each_field_dropped_or_nulled_either_does_not_matter_or_is_named() {
    let of_pull = [
        "/number",
        "/pull_request",
        "/pull_request/number",
        "/pull_request/head",
        "/pull_request/head/sha",
        "/pull_request/base",
        "/pull_request/base/ref",
        "/pull_request/user/id",
        "/pull_request/user/login",
    ];
    only_these_are_needed("pull_request", &pull("opened"), &[PLACE, &of_pull].concat());
    only_these_are_needed("issues", &issue("labeled"), &[PLACE, ISSUE, &["/label", "/label/name"]].concat());
    let of_comment = ["/comment", "/comment/id", "/comment/user/id", "/comment/user/login"];
    only_these_are_needed("issue_comment", &comment("created"), &[PLACE, ISSUE, &of_comment].concat());
    let of_activity = ["/pull_request", "/pull_request/number", "/pull_request/user/id", "/pull_request/user/login"];
    for (name, object) in [
        ("pull_request_review", "review"),
        ("pull_request_review_comment", "comment"),
        ("pull_request_review_thread", "thread"),
    ] {
        let action = match object {
            "review" => "submitted",
            "comment" => "created",
            _ => "resolved",
        };
        let whole = format!("/{object}");
        only_these_are_needed(name, &activity(object, action), &[PLACE, &of_activity, &[&whole]].concat());
    }
    let of_installation = [
        "/action",
        "/installation",
        "/installation/id",
        "/installation/account",
        "/installation/account/login",
        "/sender/id",
        "/sender/login",
    ];
    let listed = ["/repositories/0", "/repositories/0/id"];
    only_these_are_needed("installation", &installation("deleted"), &[&of_installation[..], &listed].concat());
    let listed = ["/repositories_added", "/repositories_added/0", "/repositories_added/0/full_name"];
    only_these_are_needed(
        "installation_repositories",
        &repositories("added"),
        &[&of_installation[..], &listed].concat(),
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_retyped_field_never_panics(
        which in any::<proptest::sample::Index>(),
        value in prop_oneof![
            Just(json!(-1)), Just(json!(1.5)), Just(json!("")), Just(json!("x")), Just(json!([])), Just(json!({})),
            Just(json!(true)), Just(json!(u64::MAX)),
        ],
        nth in 0..11_usize,
    ) {
        let mut suite = check_run(Value::Null, json!([{ "number": 3 }]));
        suite["check_suite"] = suite["check_run"].take();
        let (name, mut body) = match nth {
            0 => ("pull_request", pull("opened")),
            1 => ("check_run", check_run(json!(format!("review/7/3@{HEAD}")), json!([{ "number": 3 }]))),
            2 => ("check_suite", suite),
            3 => ("issues", issue("labeled")),
            4 => ("issue_comment", comment("created")),
            5 => ("installation", installation("deleted")),
            6 => ("installation_repositories", repositories("added")),
            7 => ("installation_repositories", repositories("removed")),
            8 => ("pull_request_review", activity("review", "submitted")),
            9 => ("check_suite", self::suite()),
            _ => ("ping", json!({ "zen": "x", "hook_id": 1, "hook": {} })),
        };
        let mut all = Vec::new();
        pointers(&body, "", &mut all);
        *body.pointer_mut(&all[which.index(all.len())]).unwrap() = value;
        match parsed(name, &body) {
            Parsed::Events(events) => prop_assert!(!events.is_empty()),
            Parsed::Ignored(reason) | Parsed::Malformed(reason) => {
                prop_assert!(!reason.is_empty() && reason.chars().count() < 300);
            }
        }
    }

    #[test]
    fn bytes_never_panic(name in "[a-z_]{0,20}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&name, &bytes);
    }
}
