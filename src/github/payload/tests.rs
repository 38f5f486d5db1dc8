use proptest::prelude::*;
use serde_json::json;

use super::*;

const HEAD: &str = "1111111111111111111111111111111111111111";

/// A `pull_request` payload with the fields around ours that GitHub really sends.
fn pull(action: &str) -> Value {
    let repo = json!({
        "id": 7, "node_id": "R_7", "name": "calc", "full_name": "octo/calc", "private": false,
        "owner": { "login": "octo", "id": 1, "type": "Organization" }, "default_branch": "main",
        "html_url": "https://github.com/octo/calc", "topics": ["a"], "license": null,
    });
    json!({
        "action": action,
        "number": 3,
        "pull_request": {
            "url": "https://api.github.com/repos/octo/calc/pulls/3", "id": 99, "number": 3, "state": "open",
            "locked": false, "title": "Add", "user": { "login": "mona", "id": 5, "type": "User" }, "body": null,
            "draft": false, "merged": false, "labels": [], "milestone": null,
            "head": { "label": "mona:add", "ref": "add", "sha": HEAD, "user": null, "repo": null },
            "base": { "label": "octo:main", "ref": "main", "sha": "2".repeat(40), "repo": repo },
            "_links": { "self": { "href": "x" } }, "author_association": "NONE",
        },
        "repository": repo,
        "organization": { "login": "octo", "id": 1 },
        "installation": { "id": 11, "node_id": "x" },
        "sender": { "login": "mona", "id": 5, "type": "User" },
    })
}

fn check_run(external_id: Value, pulls: Value) -> Value {
    json!({
        "action": "rerequested",
        "check_run": { "id": 1, "name": "octoswarm", "head_sha": HEAD, "external_id": external_id, "pull_requests": pulls },
        "repository": { "id": 7, "full_name": "octo/calc", "default_branch": "main" },
        "installation": { "id": 11 },
        "sender": { "login": "mona", "id": 5, "type": "User" },
    })
}

fn parsed(name: &str, body: &Value) -> Parsed {
    parse(name, body.to_string().as_bytes())
}

#[track_caller]
fn one(name: &str, body: &Value) -> Event {
    match parsed(name, body) {
        Parsed::Events(mut events) if events.len() == 1 => events.remove(0),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn ignored_because(name: &str, body: &Value, part: &str) {
    match parsed(name, body) {
        Parsed::Ignored(reason) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn malformed_because(name: &str, body: &[u8], part: &str) {
    match parse(name, body) {
        Parsed::Malformed(reason) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_opened_pull_request_is_read_even_when_its_fork_is_gone() {
    let Event::Pull(event) = one("pull_request", &pull("opened")) else { panic!() };
    assert_eq!(event.action, Action::Opened);
    assert_eq!((event.installation.0, event.repository.0, event.number.0), (11, 7, 3));
    assert_eq!((event.repo.to_string().as_str(), event.head.as_str()), ("octo/calc", HEAD));
    assert_eq!((event.default_branch.as_str(), event.base_ref.as_str(), event.draft), ("main", "main", false));
    assert_eq!(event.author, Sender { id: 5, login: "mona".into(), bot: false });
}

#[test]
fn every_action_is_decided_or_ignored_with_its_name() {
    let mut edited = pull("edited");
    ignored_because("pull_request", &edited, "another base");
    edited["changes"] = json!({ "base": { "ref": { "from": "old" } } });
    let Event::Pull(event) = one("pull_request", &edited) else { panic!() };
    assert_eq!(event.action, Action::BaseChanged);
    for action in ["labeled", "a_new_one"] {
        ignored_because("pull_request", &pull(action), action);
    }
}

#[test]
fn ghosts_and_bots_are_told_from_people() {
    let mut body = pull("synchronize");
    body["pull_request"]["user"] = Value::Null;
    body.as_object_mut().unwrap().remove("sender");
    let Event::Pull(event) = one("pull_request", &body) else { panic!() };
    assert_eq!((event.author.login.as_str(), event.sender.id), ("ghost", 0));
    body["sender"] = json!({ "id": 9, "login": "octoswarm[bot]", "type": "Bot" });
    let Event::Pull(event) = one("pull_request", &body) else { panic!() };
    assert!(event.sender.bot);
}

#[test]
fn an_event_name_that_the_body_does_not_bear_out_is_malformed() {
    let opened = pull("opened").to_string();
    malformed_because("check_run", opened.as_bytes(), "the body holds `pull_request`");
    malformed_because("check_suite", opened.as_bytes(), "the body holds `pull_request`");
    let mut review = pull("edited");
    review["review"] = json!({ "id": 1 });
    malformed_because("pull_request", review.to_string().as_bytes(), "the body holds `review`");
    let mut review = pull("opened");
    review.as_object_mut().unwrap().remove("number");
    malformed_because("pull_request", review.to_string().as_bytes(), "`number`");
    let rerun = check_run(json!(""), json!([]));
    malformed_because("pull_request", rerun.to_string().as_bytes(), "the body holds `check_run`");
}

#[test]
fn what_is_always_delivered_or_unknown_is_ignored() {
    ignored_because("ping", &json!({ "zen": "x", "hook_id": 1 }), "`ping`");
    ignored_because("installation", &json!({ "action": "created" }), "`installation`");
    ignored_because("star", &json!({}), "not an event we subscribe to");
    let mut hook = pull("opened");
    hook.as_object_mut().unwrap().remove("installation");
    ignored_because("pull_request", &hook, "no `installation`");
}

#[test]
fn a_rerun_knows_its_pull_request_from_the_external_id_also_for_forks() {
    let body = check_run(json!(format!("review/7/3@{HEAD}")), json!([]));
    let Event::Rerequested { pull, head, .. } = one("check_run", &body) else { panic!() };
    assert_eq!((pull.0, head.as_str()), (3, HEAD));
}

#[test]
fn a_rerun_falls_back_to_the_listed_pull_requests_of_this_repository() {
    let foreign = json!({ "number": 8, "base": { "repo": { "id": 70 } } });
    let own = json!({ "number": 4, "base": { "repo": { "id": 7 } } });
    let body = check_run(Value::Null, json!([foreign, own]));
    let Event::Rerequested { pull, .. } = one("check_run", &body) else { panic!() };
    assert_eq!(pull.0, 4);
    ignored_because("check_run", &check_run(json!("other"), json!([foreign])), "no pull request");
}

#[test]
fn a_rerun_that_names_another_repository_is_refused() {
    let body = check_run(json!(format!("review/8/3@{HEAD}")), json!([]));
    malformed_because("check_run", body.to_string().as_bytes(), "another repository");
}

#[test]
fn a_suite_of_several_pull_requests_asks_for_each() {
    let mut body = check_run(Value::Null, json!([]));
    body["check_suite"] = body["check_run"].take();
    body.as_object_mut().unwrap().remove("check_run");
    body["check_suite"]["pull_requests"] = json!([{ "number": 4 }, { "number": 5 }]);
    let Parsed::Events(events) = parsed("check_suite", &body) else { panic!() };
    assert_eq!(events.len(), 2);
    body["check_suite"]["pull_requests"] = json!([]);
    ignored_because("check_suite", &body, "no pull request");
}

#[test]
fn odd_bytes_are_malformed_and_never_panic() {
    for bytes in [
        &b""[..],
        b"null",
        b"[]",
        b"\"x\"",
        b"{\"a\":\"\xff\"}",
        br#"{"action":"\ud800"}"#,
        br#"{"number":1e400}"#,
        b"{} trailing",
        b"{\"a\":\"\x00\"}",
        b"{",
    ] {
        assert!(matches!(parse("pull_request", bytes), Parsed::Malformed(_)), "{}", String::from_utf8_lossy(bytes));
    }
    for depth in [128, 100_000] {
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        malformed_because("pull_request", deep.as_bytes(), "recursion limit");
    }
    let mut fits = pull("opened").to_string();
    fits.truncate(fits.len() - 1);
    let fits = format!("{fits},\"x\":{}{}}}", "[".repeat(120), "]".repeat(120));
    assert!(matches!(parse("pull_request", fits.as_bytes()), Parsed::Events(_)));
    let numbers = pull("opened").to_string().replace("\"number\":3", "\"number\":99999999999999999999");
    malformed_because("pull_request", numbers.as_bytes(), "whole number");
}

#[test]
fn a_reason_never_carries_a_long_or_broken_name() {
    let name = format!("x\u{1b}[31m{}", "y".repeat(500));
    let Parsed::Ignored(reason) = parse(&name, b"{}") else { panic!() };
    assert!(reason.len() < 150 && !reason.contains('\u{1b}'), "{reason}");
}

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

/// Fields without which no review can be asked for.
const NEEDED: &[&str] = &[
    "/action",
    "/number",
    "/pull_request",
    "/pull_request/number",
    "/pull_request/head",
    "/pull_request/head/sha",
    "/pull_request/base",
    "/pull_request/base/ref",
    "/repository",
    "/repository/id",
    "/repository/full_name",
    "/repository/default_branch",
    "/installation",
    "/installation/id",
];

#[test]
fn each_field_dropped_or_nulled_either_does_not_matter_or_is_named() {
    let whole = pull("opened");
    let mut all = Vec::new();
    pointers(&whole, "", &mut all);
    assert!(all.len() > 40);
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
        // A person without id or login is half a person; one who is wholly absent is a ghost.
        let person = ["/sender/id", "/sender/login", "/pull_request/user/id", "/pull_request/user/login"];
        for body in [nulled, dropped] {
            let events = matches!(parsed("pull_request", &body), Parsed::Events(_));
            let needed = NEEDED.contains(&pointer.as_str()) || person.contains(&pointer.as_str());
            assert_eq!(events, !needed, "{pointer}: {:?}", parsed("pull_request", &body));
        }
    }
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
        name in prop_oneof![Just("pull_request"), Just("check_run"), Just("check_suite")],
    ) {
        let mut body = if name == "pull_request" { pull("opened") } else {
            let mut body = check_run(json!(format!("review/7/3@{HEAD}")), json!([{ "number": 3 }]));
            if name == "check_suite" {
                let run = body["check_run"].take();
                body.as_object_mut().unwrap().remove("check_run");
                body["check_suite"] = run;
            }
            body
        };
        let mut all = Vec::new();
        pointers(&body, "", &mut all);
        *body.pointer_mut(&all[which.index(all.len())]).unwrap() = value;
        let _ = parsed(name, &body);
    }

    #[test]
    fn bytes_never_panic(name in "[a-z_]{0,20}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&name, &bytes);
    }
}
