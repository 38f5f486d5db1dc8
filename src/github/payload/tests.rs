mod fields;

use serde_json::json;

use super::*;
use crate::domain::{Action, CommentAction, InstallationAction, IssueAction, Sender, Untrusted};

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

/// An `issues` payload with the fields around ours that GitHub really sends.
fn issue(action: &str) -> Value {
    json!({
        "action": action,
        "issue": {
            "url": "https://api.github.com/repos/octo/calc/issues/9", "repository_url": "https://api.github.com/repos/octo/calc",
            "html_url": "https://github.com/octo/calc/issues/9", "id": 900, "number": 9, "title": "Broken link",
            "user": { "login": "mona", "id": 5, "type": "User" },
            "labels": [{ "id": 1, "name": "swarm", "color": "ededed", "default": false, "description": null }, { "id": 2, "name": "bug" }],
            "state": "open", "locked": false, "assignee": null, "milestone": null, "comments": 2,
            "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T09:00:00Z", "closed_at": null,
            "author_association": "OWNER", "active_lock_reason": null, "body": "see docs", "state_reason": null,
        },
        "label": { "id": 1, "name": "swarm", "color": "ededed" },
        "repository": {
            "id": 7, "name": "calc", "full_name": "octo/calc", "default_branch": "main", "owner": { "login": "octo", "id": 1 },
        },
        "organization": { "login": "octo", "id": 1 },
        "installation": { "id": 11, "node_id": "x" },
        "sender": { "login": "hubot", "id": 6, "type": "User" },
    })
}

fn comment(action: &str) -> Value {
    let mut body = issue(action);
    body.as_object_mut().unwrap().remove("label");
    body["comment"] = json!({
        "id": 77, "html_url": "https://github.com/octo/calc/issues/9#issuecomment-77", "body": "/swarm fix",
        "user": { "login": "lisa", "id": 8, "type": "User" }, "author_association": "OWNER",
        "created_at": "2027-01-15T08:00:00Z", "updated_at": "2027-01-15T10:30:00Z", "performed_via_github_app": null,
    });
    body
}

fn installation(action: &str) -> Value {
    json!({
        "action": action,
        "installation": {
            "id": 11, "account": { "login": "octo", "id": 1, "type": "Organization" }, "repository_selection": "selected",
            "app_id": 42, "permissions": { "issues": "write" }, "events": ["issues"], "suspended_at": null,
        },
        "repositories": [{ "id": 7, "name": "calc", "full_name": "octo/calc", "private": false }],
        "requester": null,
        "sender": { "login": "mona", "id": 5, "type": "User" },
    })
}

fn repositories(action: &str) -> Value {
    let mut body = installation(action);
    body.as_object_mut().unwrap().remove("repositories");
    body["repository_selection"] = json!("selected");
    body["repositories_added"] = json!([]);
    body["repositories_removed"] = json!([]);
    let list = if action == "added" { "repositories_added" } else { "repositories_removed" };
    body[list] = json!([{ "id": 7, "name": "calc", "full_name": "octo/calc", "private": true }]);
    body
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
    ignored_because("github_app_authorization", &json!({ "action": "revoked" }), "asks nothing");
    ignored_because("star", &json!({}), "not an event we subscribe to");
    let mut hook = pull("opened");
    hook.as_object_mut().unwrap().remove("installation");
    ignored_because("pull_request", &hook, "no `installation`");
    for (name, mut body) in [("issues", issue("labeled")), ("issue_comment", comment("created"))] {
        body.as_object_mut().unwrap().remove("installation");
        ignored_because(name, &body, "no `installation`");
    }
}

#[test]
fn a_label_on_an_issue_is_read_with_the_issue_as_it_stood() {
    let Event::Issue(event) = one("issues", &issue("labeled")) else { panic!() };
    assert_eq!(event.action, IssueAction::Labeled { label: "swarm".into() });
    assert_eq!((event.place.installation.0, event.place.repository.0), (11, 7));
    assert_eq!((event.place.repo.to_string().as_str(), event.place.default_branch.as_str()), ("octo/calc", "main"));
    assert_eq!((event.sender.id, event.issue.author.id), (6, 5));
    let issue = event.issue;
    assert_eq!((issue.number.0, issue.title.open(), issue.body.open()), (9, "Broken link", "see docs"));
    assert_eq!((issue.labels, issue.comments), (vec!["swarm".to_owned(), "bug".to_owned()], 2));
    assert_eq!((issue.open, issue.locked, issue.pull), (true, false, false));
    assert_eq!(
        (issue.created_at.as_str(), issue.url.as_str()),
        ("2027-01-15T08:00:00Z", "https://github.com/octo/calc/issues/9")
    );
}

#[test]
fn every_action_of_an_issue_is_decided_or_ignored_with_its_name() {
    for (action, want) in [
        ("unlabeled", IssueAction::Unlabeled { label: "swarm".into() }),
        ("closed", IssueAction::Closed),
        ("reopened", IssueAction::Reopened),
    ] {
        let Event::Issue(event) = one("issues", &issue(action)) else { panic!() };
        assert_eq!(event.action, want);
    }
    for action in ["opened", "edited", "deleted", "transferred", "pinned", "typed", "a_new_one"] {
        ignored_because("issues", &issue(action), action);
    }
    for action in ["deleted", "pinned", "a_new_one"] {
        ignored_because("issue_comment", &comment(action), action);
    }
}

#[test]
fn a_label_that_is_gone_is_ignored_and_one_without_a_name_is_malformed() {
    for action in ["labeled", "unlabeled"] {
        let mut body = issue(action);
        body["label"] = Value::Null;
        ignored_because("issues", &body, "without a label");
        body.as_object_mut().unwrap().remove("label");
        ignored_because("issues", &body, action);
        body["label"] = json!({ "id": 1 });
        malformed_because("issues", body.to_string().as_bytes(), "`label.name`");
    }
}

#[test]
fn a_pull_requests_number_is_told_from_an_issues() {
    let links = json!({ "url": "https://api.github.com/repos/octo/calc/pulls/9", "merged_at": null });
    for (name, mut body) in [("issues", issue("closed")), ("issue_comment", comment("created"))] {
        for (value, want) in [(links.clone(), true), (Value::Null, false)] {
            body["issue"]["pull_request"] = value;
            let got = match one(name, &body) {
                Event::Issue(event) => event.issue.pull,
                Event::Comment(event) => event.issue.pull,
                other => panic!("{other:?}"),
            };
            assert_eq!(got, want);
        }
    }
}

#[test]
fn a_comment_is_its_authors_whoever_sends_it() {
    let Event::Comment(event) = one("issue_comment", &comment("created")) else { panic!() };
    assert_eq!((event.action, event.comment.0, event.body.open()), (CommentAction::Created, 77, "/swarm fix"));
    assert_eq!((event.author.id, event.sender.id, event.issue.author.id), (8, 6, 5));
    assert_eq!(event.written_at, 1_800_009_000_000);
    let mut body = comment("created");
    body["comment"]["user"] = Value::Null;
    body["sender"] = json!({ "id": 9, "login": "octoswarm[bot]", "type": "Bot" });
    body["comment"]["updated_at"] = Value::Null;
    let Event::Comment(event) = one("issue_comment", &body) else { panic!() };
    assert_eq!(event.author, Sender { id: 0, login: "ghost".into(), bot: false });
    assert!(event.sender.bot);
    assert_eq!(event.written_at, 1_800_000_000_000);
    body["comment"]["created_at"] = json!("yesterday");
    malformed_because("issue_comment", body.to_string().as_bytes(), "not a time");
}

#[test]
fn an_edit_tells_what_stood_there_before() {
    let mut body = comment("edited");
    body["changes"] = json!({ "body": { "from": "/swarm status" } });
    let before = |body: &Value| match one("issue_comment", body) {
        Event::Comment(event) => event.action,
        other => panic!("{other:?}"),
    };
    assert_eq!(before(&body), CommentAction::Edited { before: Some(Untrusted::new("/swarm status")) });
    body["changes"]["body"]["from"] = json!("");
    assert_eq!(before(&body), CommentAction::Edited { before: Some(Untrusted::new("")) });
    for changes in [json!({}), Value::Null, json!({ "body": null })] {
        body["changes"] = changes;
        assert_eq!(before(&body), CommentAction::Edited { before: None });
    }
    body["changes"] = json!({ "body": { "from": 3 } });
    malformed_because("issue_comment", body.to_string().as_bytes(), "`changes.body.from`");
}

#[test]
fn what_an_installation_gains_and_loses_is_read() {
    let id = crate::domain::RepositoryId(7);
    for (name, body, want) in [
        ("installation", installation("created"), InstallationAction::Created),
        ("installation", installation("deleted"), InstallationAction::Deleted { repositories: vec![id] }),
        ("installation", installation("suspend"), InstallationAction::Suspended),
        ("installation", installation("unsuspend"), InstallationAction::Unsuspended),
        ("installation", installation("new_permissions_accepted"), InstallationAction::PermissionsAccepted),
        (
            "installation_repositories",
            repositories("added"),
            InstallationAction::Added { repositories: vec!["octo/calc".parse().unwrap()] },
        ),
        ("installation_repositories", repositories("removed"), InstallationAction::Removed { repositories: vec![id] }),
    ] {
        let Event::Installation(event) = one(name, &body) else { panic!() };
        assert_eq!(
            (event.action, event.installation.0, event.account.as_str(), event.sender.id),
            (want, 11, "octo", 5)
        );
    }
    ignored_because("installation", &installation("moved"), "`moved`");
    ignored_because("installation_repositories", &repositories("sorted"), "`sorted`");
    let mut enterprise = installation("created");
    enterprise["installation"]["account"] = json!({ "id": 3, "slug": "big", "name": "Big" });
    let Event::Installation(event) = one("installation", &enterprise) else { panic!() };
    assert_eq!(event.account, "big");
}

/// The event name is not signed: one signed body under another name must not purge, revive or command.
#[test]
fn no_body_passes_under_another_events_name() {
    let bodies = [
        ("pull_request", pull("closed")),
        ("check_run", check_run(json!(""), json!([]))),
        ("issues", issue("labeled")),
        ("issue_comment", comment("created")),
        ("installation", installation("deleted")),
        ("installation_repositories", repositories("removed")),
    ];
    for (own, body) in &bodies {
        for action in
            ["created", "deleted", "labeled", "closed", "opened", "removed", "added", "suspend", "rerequested"]
        {
            let mut body = body.clone();
            body["action"] = json!(action);
            for name in bodies.iter().map(|(name, _)| *name).chain(["check_suite"]).filter(|name| name != own) {
                let result = parsed(name, &body);
                assert!(!matches!(result, Parsed::Events(_)), "{own} `{action}` under `{name}`: {result:?}");
            }
        }
    }
    let mut review = comment("created");
    review["pull_request"] = json!({ "number": 9 });
    malformed_because("issue_comment", review.to_string().as_bytes(), "the body holds `pull_request`");
    let mut gone = installation("deleted");
    gone["repository"] = json!({ "id": 7 });
    malformed_because("installation", gone.to_string().as_bytes(), "the body holds `repository`");
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

/// What is told of a pull request under another event's name: `review`, `comment` or `thread`.
fn activity(object: &str, action: &str) -> Value {
    let mut body = pull(action);
    body.as_object_mut().unwrap().remove("number");
    body[object] =
        json!({ "id": 5, "user": { "login": "lisa", "id": 8, "type": "User" }, "state": "approved", "body": "x" });
    body
}

/// A completed suite of somebody else's App.
fn suite() -> Value {
    json!({
        "action": "completed",
        "check_suite": {
            "id": 1, "head_sha": HEAD, "status": "completed", "conclusion": "failure", "app": { "id": 99, "slug": "ci" },
            "pull_requests": [{ "number": 3, "base": { "repo": { "id": 7 } } }, { "number": 4, "base": { "repo": { "id": 8 } } }],
        },
        "repository": { "id": 7, "full_name": "octo/calc", "default_branch": "main" },
        "installation": { "id": 11 },
        "sender": { "login": "octoswarm[bot]", "id": 6, "type": "Bot" },
    })
}

#[test]
fn what_happens_to_a_pull_request_is_told_with_who_opened_it() {
    for (name, object, action) in [
        ("pull_request_review", "review", "submitted"),
        ("pull_request_review", "review", "dismissed"),
        ("pull_request_review_comment", "comment", "created"),
        ("pull_request_review_thread", "thread", "resolved"),
    ] {
        let Event::Activity(event) = one(name, &activity(object, action)) else { panic!("{name}") };
        assert_eq!((event.number.0, event.place.repository.0, event.checks_of), (3, 7, None));
        assert_eq!(event.author, Some(Sender { id: 5, login: "mona".into(), bot: false }));
        ignored_because(name, &activity(object, "odd"), "action `odd`");
        malformed_because(name, pull(action).to_string().as_bytes(), object);
    }
}

#[test]
fn a_completed_suite_tells_of_its_own_repositorys_pull_requests_and_whose_checks_they_are() {
    let Event::Activity(event) = one("check_suite", &suite()) else { panic!() };
    assert_eq!((event.number.0, event.author, event.checks_of), (3, None, Some(99)));
    let mut nobodys = suite();
    nobodys["check_suite"]["app"] = Value::Null;
    let Event::Activity(event) = one("check_suite", &nobodys) else { panic!() };
    assert_eq!(event.checks_of, Some(0));
    let mut alone = suite();
    alone["check_suite"]["pull_requests"] = json!([]);
    ignored_because("check_suite", &alone, "no pull request");
}
