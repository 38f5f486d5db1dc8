//! What the box does when it is asked properly.

use octoswarm::demo::{Change, OpenPull};
use serde_json::{Value, json};

use super::{Client, REPO, long_file};

#[tokio::test]
async fn an_app_mints_a_token_of_todays_shape_and_reads_a_pull_request() {
    let client = Client::start().await;
    let number = client.pull().await;
    let minted = client.mint(json!({"permissions": {"pull_requests": "read"}})).await.ok();
    let token = minted["token"].as_str().unwrap();
    assert!(token.starts_with(&format!("ghs_{}_", client.github.app_id())));
    assert!((480..=560).contains(&token.len()), "{}", token.len());
    assert_eq!(minted["permissions"], json!({"metadata": "read", "pull_requests": "read"}));
    let pull = client.send("GET", &format!("/repos/{REPO}/pulls/{number}"), Some(token), None).await.ok();
    assert_eq!(pull["title"], "Some work");
    assert_eq!(pull["head"]["sha"], client.head(number));
    assert_eq!(pull["mergeable"], true);
    assert_eq!((&pull["additions"], &pull["deletions"], &pull["changed_files"]), (&json!(5), &json!(2), &json!(2)));
    let files = client.call("GET", &format!("/pulls/{number}/files"), None).await.ok();
    let lib = files.as_array().unwrap().iter().find(|f| f["filename"] == "src/lib.rs").unwrap();
    assert!(lib["patch"].as_str().unwrap().starts_with("@@ -7,7 +7,8 @@ line 6\n line 7\n"), "{}", lib["patch"]);
}

#[tokio::test]
async fn lists_are_paged_with_absolute_links_and_capped_at_a_hundred() {
    let client = Client::start().await;
    let number = client.pull().await;
    for n in 0..103 {
        client.people.comment("mona", REPO, number, &format!("comment {n}")).await.unwrap();
    }
    let path = format!("/issues/{number}/comments");
    let first = client.call("GET", &path, None).await;
    assert_eq!(first.body.as_array().unwrap().len(), 30);
    let link = first.headers["link"].to_str().unwrap().to_owned();
    let next = link.split(", ").find(|l| l.contains("rel=\"next\"")).unwrap();
    let url = next.split(['<', '>']).nth(1).unwrap();
    assert!(url.starts_with(&client.github.api_url()), "{url}");
    let token = client.token(json!({})).await;
    let second = client.send("GET", url, Some(&token), None).await.ok();
    assert_eq!(second[0]["body"], "comment 30");
    let clamped = client.call("GET", &format!("{path}?per_page=500"), None).await;
    assert_eq!(clamped.body.as_array().unwrap().len(), 100);
    let last = client.call("GET", &format!("{path}?per_page=100&page=2"), None).await;
    assert_eq!(last.body.as_array().unwrap().len(), 3);
    assert!(!last.headers["link"].to_str().unwrap().contains("rel=\"next\""));
}

#[tokio::test]
async fn a_review_lands_on_its_lines_and_its_suggestions_apply_together() {
    let client = Client::start().await;
    let number = client.pull().await;
    let review = json!({
        "commit_id": client.head(number),
        "event": "COMMENT",
        "body": "two things",
        "comments": [
            {"path": "src/lib.rs", "line": 11, "start_line": 10, "side": "RIGHT", "start_side": "RIGHT",
             "body": "better:\n```suggestion\nbest 10\n```\n"},
            {"path": "new.rs", "line": 2, "body": "drop it\n```suggestion\n```\n"},
            {"path": "src/lib.rs", "line": 25, "side": "LEFT", "body": "why did this go?"},
        ],
    });
    let made = client.review(number, review).await.ok();
    assert_eq!((made["state"].as_str(), made["user"]["type"].as_str()), (Some("COMMENTED"), Some("Bot")));
    assert_eq!(client.github.unread().len(), 4, "one review and three comments");
    let comments = client.github.read_review_comments(REPO, number);
    assert_eq!(comments[0].diff_hunk.lines().last(), Some("+new 11"));
    assert_eq!(comments[2].diff_hunk.lines().last(), Some("-line 25"));
    assert_eq!(client.github.take_comments().len(), 1);
    assert!(client.github.unread().is_empty());
    let files = client.people.apply_suggestions("mona", REPO, number).await.unwrap();
    assert_eq!(files["new.rs"], "one\nthree\n");
    assert!(files["src/lib.rs"].contains("line 9\nbest 10\nline 11\n"), "{}", files["src/lib.rs"]);
    let after = client.github.threads(REPO, number);
    assert_eq!(after.iter().map(|t| t.outdated).collect::<Vec<_>>(), [true, true, false]);
}

#[tokio::test]
async fn comments_follow_their_line_when_the_head_moves_and_outlive_it_as_outdated() {
    let client = Client::start().await;
    let number = client.pull().await;
    let on = |line: u32| json!({"path": "src/lib.rs", "line": line, "body": "hm"});
    let comments = json!([on(10), on(11)]);
    client.review(number, json!({"event": "COMMENT", "body": "b", "comments": comments})).await.ok();
    let text = long_file().replace("line 10\n", "above\nabove\nchanged 10\n").replace("line 25\n", "");
    let moved = Change::new().write("src/lib.rs", text);
    client.people.push_to_pull("mona", REPO, number, "move", moved).await.unwrap();
    let found = client.github.read_review_comments(REPO, number);
    assert_eq!(found.iter().map(|c| (c.line, c.original_line)).collect::<Vec<_>>(), [(Some(12), 10), (None, 11)]);
    let json = client.call("GET", &format!("/pulls/{number}/comments"), None).await.ok();
    assert_eq!((&json[1]["line"], &json[1]["position"]), (&Value::Null, &Value::Null));
    let _ = client.github.take_comments();
}

#[tokio::test]
async fn a_check_run_is_made_concluded_found_and_annotated_in_batches() {
    let client = Client::start().await;
    let number = client.pull().await;
    let sha = client.head(number);
    let made = client
        .call("POST", "/check-runs", Some(json!({"name": "swarm", "head_sha": sha, "status": "in_progress"})))
        .await
        .ok();
    let id = made["id"].as_u64().unwrap();
    assert_eq!(made["pull_requests"][0]["number"], number);
    let one = |n: usize| {
        json!({"path": "new.rs", "start_line": 1, "end_line": 1, "annotation_level": "warning",
               "message": format!("m{n}")})
    };
    for half in [0..50, 50..60] {
        let output = json!({"title": "t", "summary": "s", "annotations": half.map(one).collect::<Vec<_>>()});
        client.call("PATCH", &format!("/check-runs/{id}"), Some(json!({"output": output}))).await.ok();
    }
    let done = json!({"status": "completed", "conclusion": "failure"});
    client.call("PATCH", &format!("/check-runs/{id}"), Some(done)).await.ok();
    let listed = client
        .call("GET", &format!("/commits/{sha}/check-runs?check_name=swarm&app_id={}", client.github.app_id()), None)
        .await
        .ok();
    assert_eq!((&listed["total_count"], &listed["check_runs"][0]["conclusion"]), (&json!(1), &json!("failure")));
    let annotations = client.call("GET", &format!("/check-runs/{id}/annotations?per_page=100"), None).await.ok();
    assert_eq!(annotations.as_array().unwrap().len(), 60);
    assert_eq!(client.github.check_runs(REPO, &sha)[0].annotations[59].message, "m59");
}

#[tokio::test]
async fn a_fork_sends_a_pull_request_and_may_vanish() {
    let client = Client::start().await;
    let change = Change::new().write("fork.rs", "x\n");
    let number =
        client.people.open_pull_from_fork(REPO, OpenPull::new("eve", "patch", "From afar", change)).await.unwrap();
    let pull = client.call("GET", &format!("/pulls/{number}"), None).await.ok();
    assert_eq!(pull["head"]["repo"]["full_name"], "eve/calc");
    assert_eq!(pull["head"]["repo"]["fork"], true);
    assert_eq!(pull["head"]["label"], "eve:patch");
    let head = client.call("GET", &format!("/git/ref/pull/{number}/head"), None).await.ok();
    assert_eq!(head["object"]["sha"], pull["head"]["sha"]);
    client.people.delete_fork(REPO, number).await.unwrap();
    let pull = client.call("GET", &format!("/pulls/{number}"), None).await.ok();
    assert_eq!(pull["head"]["repo"], Value::Null);
}

#[tokio::test]
async fn content_comparison_and_permission_are_answered() {
    let client = Client::start().await;
    let number = client.pull().await;
    let file = client.call("GET", "/contents/README.md?ref=main", None).await.ok();
    assert_eq!((&file["content"], &file["encoding"]), (&json!("Y2FsYwo=\n"), &json!("base64")));
    let sha = client.head(number);
    let compared = client.call("GET", &format!("/compare/main...{sha}"), None).await.ok();
    assert_eq!((&compared["status"], &compared["ahead_by"]), (&json!("ahead"), &json!(1)));
    let base = client.github.pull(REPO, number).unwrap().base_sha;
    assert_eq!(compared["merge_base_commit"]["sha"], base);
    client.people.add_collaborator(REPO, "mona", "maintain").await.unwrap();
    let role = client.call("GET", "/collaborators/mona/permission", None).await.ok();
    assert_eq!((&role["permission"], &role["role_name"]), (&json!("write"), &json!("maintain")));
}

#[tokio::test]
async fn another_terminal_plays_through_the_controls_when_it_knows_the_token() {
    let client = Client::start().await;
    let url = |what: &str| format!("{}/_box/{what}", client.github.web_url());
    let post = |what: &str, body: Value| {
        client.http.post(url(what)).header("X-Box-Token", client.github.control_token()).json(&body).send()
    };
    let push = json!({"repo": REPO, "branch": "b", "as": "ann", "path": "a.rs", "content": "a\n", "message": "m"});
    assert_eq!(post("push", push).await.unwrap().status(), 200);
    for path in ["../a.rs", "/a.rs", ".git/config", ""] {
        let push = json!({"repo": REPO, "branch": "b", "as": "ann", "path": path, "content": "a\n", "message": "m"});
        assert_eq!(post("push", push).await.unwrap().status(), 422, "{path}");
    }
    let open = json!({"repo": REPO, "branch": "b", "as": "ann", "title": "T"});
    let opened: Value = post("open", open).await.unwrap().json().await.unwrap();
    assert_eq!(client.github.pull(REPO, opened["number"].as_u64().unwrap()).unwrap().title, "T");
    let comment = json!({"repo": REPO, "number": opened["number"], "as": "ann", "body": "hello"});
    assert_eq!(post("comment", comment).await.unwrap().status(), 200);
    let issue = json!({"repo": REPO, "as": "ann", "title": "Broken"});
    let issue: Value = post("issue", issue).await.unwrap().json().await.unwrap();
    let label = json!({"repo": REPO, "number": issue["number"], "as": "ann", "label": "bug"});
    assert_eq!(post("label", label).await.unwrap().status(), 200);
    assert_eq!(client.github.labels(REPO, issue["number"].as_u64().unwrap()), ["bug"]);
    let refused = client.http.get(url("state")).header("X-Box-Token", "guess").send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let state = client.http.get(url("state")).header("X-Box-Token", client.github.control_token());
    let state: Value = state.send().await.unwrap().json().await.unwrap();
    assert!(state.to_string().contains("hello"));
}
