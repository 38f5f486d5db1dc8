//! GraphQL: what REST lacks.

use serde_json::{Value, json};

use super::{Client, REPO};

const THREADS: &str = "
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 1, after: $after) {
        nodes {
          id isResolved isOutdated path line startLine
          resolvedBy { login }
          comments(first: 10) { nodes { databaseId author { login __typename ... on Bot { url } } body createdAt pullRequestReview { databaseId } } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}";

const RESOLVE: &str = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }";

async fn two_threads(client: &Client) -> u64 {
    let number = client.pull().await;
    let on = |line: u32| json!({"path": "new.rs", "line": line, "body": format!("on {line}")});
    client.review(number, json!({"event": "COMMENT", "body": "b", "comments": [on(1), on(2)]})).await.ok();
    let _ = client.github.take_comments();
    number
}

fn page(answer: &Value) -> &Value {
    &answer["data"]["repository"]["pullRequest"]["reviewThreads"]
}

#[tokio::test]
async fn threads_are_read_page_by_page_answered_and_resolved() {
    let client = Client::start().await;
    let number = two_threads(&client).await;
    let token = client.token(json!({})).await;
    let mut variables = json!({"owner": "octo", "name": "calc", "number": number});
    let first = client.graphql(&token, THREADS, variables.clone()).await;
    assert_eq!(page(&first)["pageInfo"]["hasNextPage"], true, "{first}");
    let comment = &page(&first)["nodes"][0]["comments"]["nodes"][0];
    assert_eq!((&comment["body"], &comment["author"]["login"]), (&json!("on 1"), &json!("swarm")));
    assert_eq!(comment["author"]["__typename"], "Bot");
    variables["after"] = page(&first)["pageInfo"]["endCursor"].clone();
    let second = client.graphql(&token, THREADS, variables.clone()).await;
    assert_eq!(page(&second)["nodes"][0]["line"], 2);
    assert_eq!(page(&second)["pageInfo"]["hasNextPage"], false);
    let id = page(&second)["nodes"][0]["id"].clone();
    let reply = "mutation($i: AddPullRequestReviewThreadReplyInput!) { addPullRequestReviewThreadReply(input: $i) { comment { databaseId body } } }";
    let input = json!({"i": {"pullRequestReviewThreadId": id, "body": "fixed"}});
    let replied = client.graphql(&token, reply, input).await;
    assert_eq!(replied["data"]["addPullRequestReviewThreadReply"]["comment"]["body"], "fixed");
    let resolved = client.graphql(&token, RESOLVE, json!({"id": id})).await;
    assert_eq!(resolved["data"]["resolveReviewThread"]["thread"]["isResolved"], true, "{resolved}");
    let again = client.graphql(&token, THREADS, variables).await;
    assert_eq!(page(&again)["nodes"][0]["resolvedBy"]["login"], "swarm");
    assert_eq!(page(&again)["nodes"][0]["comments"]["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(client.github.take_comments()[0].body, "fixed");
}

#[tokio::test]
async fn resolving_without_contents_write_is_forbidden_with_200() {
    let client = Client::start().await;
    let number = two_threads(&client).await;
    let id = client.github.threads(REPO, number)[0].node_id.clone();
    let token = client.token(json!({"permissions": {"pull_requests": "write", "contents": "read"}})).await;
    let answer = client.graphql(&token, RESOLVE, json!({"id": id})).await;
    assert_eq!((&answer["data"], &answer["errors"][0]["type"]), (&Value::Null, &json!("FORBIDDEN")));
    assert!(client.github.threads(REPO, number)[0].resolved_by.is_none());
}

#[tokio::test]
async fn a_wrong_node_id_is_not_found_with_200() {
    let client = Client::start().await;
    let token = client.token(json!({})).await;
    let answer = client.graphql(&token, RESOLVE, json!({"id": "PRRT_nothing"})).await;
    assert_eq!((&answer["data"], &answer["errors"][0]["type"]), (&Value::Null, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn unknown_fields_arguments_and_variables_are_refused() {
    let client = Client::start().await;
    let number = two_threads(&client).await;
    let token = client.token(json!({})).await;
    let ask = |inner: &str| {
        format!("{{ repository(owner: \"octo\", name: \"calc\") {{ pullRequest(number: {number}) {{ {inner} }} }} }}")
    };
    for (inner, part) in [
        ("reviewThreads(first: 1) { nodes { resolved } }", "Field 'resolved' doesn't exist"),
        ("reviewThreads(first: 1, open: true) { nodes { id } }", "doesn't accept argument 'open'"),
        ("reviewThreads { nodes { id } }", "You must provide a `first` or `last`"),
        ("reviewThreads(first: 101) { nodes { id } }", "between 1 and 100"),
        ("reviewThreads(first: 1)", "empty"),
        ("title { x }", "Selections can't be made on scalars"),
    ] {
        let answer = client.graphql(&token, &ask(inner), json!({})).await;
        let text = answer["errors"].to_string();
        assert!(text.contains(part) || inner.ends_with("1)") && !text.is_empty(), "{inner}: {answer}");
    }
    let answer = client.graphql(&token, &ask("id"), json!({"spare": 1})).await;
    assert!(answer["errors"].to_string().contains("not declared"), "{answer}");
    let unused = "query($spare: Int) { repository(owner: \"octo\", name: \"calc\") { id } }";
    let answer = client.graphql(&token, unused, json!({"spare": 1})).await;
    assert!(answer["errors"].to_string().contains("not used"), "{answer}");
}

#[tokio::test]
async fn a_comment_is_hidden() {
    let client = Client::start().await;
    let number = client.pull().await;
    client.call("POST", &format!("/issues/{number}/comments"), Some(json!({"body": "old news"}))).await.ok();
    let listed = client.call("GET", &format!("/issues/{number}/comments"), None).await.ok();
    let token = client.token(json!({})).await;
    let hide = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }";
    let answer = client.graphql(&token, hide, json!({"id": listed[0]["node_id"]})).await;
    assert_eq!(answer["data"]["minimizeComment"]["minimizedComment"]["isMinimized"], true, "{answer}");
    assert_eq!(client.github.read_comments(REPO, number)[0].minimized.as_deref(), Some("OUTDATED"));
}

#[tokio::test]
async fn a_mutation_that_asks_for_an_unknown_field_has_no_effect() {
    let client = Client::start().await;
    let number = two_threads(&client).await;
    let id = client.github.threads(REPO, number)[0].node_id.clone();
    let token = client.token(json!({})).await;
    let wrong = RESOLVE.replace("isResolved", "resolved");
    let answer = client.graphql(&token, &wrong, json!({"id": id})).await;
    assert!(answer["errors"].to_string().contains("Field 'resolved' doesn't exist"), "{answer}");
    assert!(client.github.threads(REPO, number)[0].resolved_by.is_none());
}

#[tokio::test]
async fn verdicts_are_given_and_dismissed_by_those_who_may() {
    let client = Client::start().await;
    let number = client.pull().await;
    let people = &client.people;
    assert!(people.review("mona", REPO, number, "APPROVE", "").await.is_err(), "it is her own");
    assert!(people.review("mona", REPO, number, "REQUEST_CHANGES", "No.").await.is_err());
    let said = people.review("lisa", REPO, number, "COMMENT", "Hm.").await.unwrap();
    let asked = people.review("lisa", REPO, number, "REQUEST_CHANGES", "Please.").await.unwrap();
    assert!(people.dismiss_review("lisa", REPO, asked).await.is_err(), "she may not write");
    people.add_collaborator(REPO, "lisa", "write").await.unwrap();
    people.dismiss_review("lisa", REPO, asked).await.unwrap();
    assert!(people.dismiss_review("lisa", REPO, asked).await.is_err(), "once");
    assert!(people.dismiss_review("lisa", REPO, said).await.is_err(), "a comment has no weight");
    let state = client.github.reviews(REPO, number).into_iter().find(|review| review.id == asked).unwrap().state;
    assert_eq!(state, "DISMISSED");
}
