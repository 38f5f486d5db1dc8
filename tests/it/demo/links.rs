//! Which pull requests close an issue, asked over GraphQL.

use octoswarm::demo::{Change, OpenPull};
use serde_json::{Value, json};

use super::{Client, REPO};

const LINKED: &str = "
query($owner: String!, $name: String!, $number: Int!, $after: String, $closed: Boolean) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      closedByPullRequestsReferences(first: 2, after: $after, includeClosedPrs: $closed) {
        nodes { number url state body headRefName author { login __typename } repository { databaseId } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}";

fn linked(answer: &Value) -> Vec<u64> {
    let nodes = &answer["data"]["repository"]["issue"]["closedByPullRequestsReferences"]["nodes"];
    nodes.as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(|n| n["number"].as_u64().unwrap()).collect()
}

async fn open(client: &Client, repo: &str, branch: &str, base: &str, body: &str) -> u64 {
    let mut pull = OpenPull::new("mona", branch, "T", Change::new().write(&format!("{branch}.rs"), "x\n"));
    body.clone_into(&mut pull.body);
    base.clone_into(&mut pull.base);
    client.people.open_pull(repo, pull).await.unwrap()
}

fn ask(number: u64, closed: bool) -> Value {
    json!({"owner": "octo", "name": "calc", "number": number, "closed": closed})
}

#[tokio::test]
async fn closing_keywords_link_and_everything_else_does_not() {
    let client = Client::full().await;
    let issue = client.people.open_issue("mona", REPO, "Broken", "").await.unwrap();
    client.people.push("mona", REPO, "next", "m", Change::new().write("n.rs", "n\n")).await.unwrap();
    let cases = [
        (format!("Fixes #{issue}"), true),
        (format!("this closes: octo/CALC#{issue}."), true),
        (format!("RESOLVED {}/octo/calc/issues/{issue}", client.github.web_url()), true),
        (format!("close #{issue}0"), false),
        (format!("see #{issue}"), false),
        (format!("prefixes #{issue}"), false),
        (format!("`fixes #{issue}`"), false),
        (format!("<!-- fixes #{issue} -->"), false),
        (format!("fixes octo/other#{issue}"), false),
    ];
    let token = client.token(json!({})).await;
    for (at, (body, links)) in cases.iter().enumerate() {
        let number = open(&client, REPO, &format!("b{at}"), "main", body).await;
        let answer = client.graphql(&token, LINKED, ask(issue, false)).await;
        let want: &[u64] = if *links { &[number] } else { &[] };
        assert_eq!(linked(&answer), want, "{body}");
        client.people.close_pull("mona", REPO, number).await.unwrap();
    }
    open(&client, REPO, "elsewhere", "next", &format!("fixes #{issue}")).await;
    assert!(
        linked(&client.graphql(&token, LINKED, ask(issue, false)).await).is_empty(),
        "not aimed at the default branch"
    );
}

#[tokio::test]
async fn links_are_paged_and_tell_closed_ones_only_when_asked() {
    let client = Client::full().await;
    client.people.create_repo("octo/other", Change::new().write("a", "a")).await.unwrap();
    let issue = client.people.open_issue("mona", REPO, "Broken", "").await.unwrap();
    let body = format!("fixes octo/calc#{issue}");
    let one = open(&client, REPO, "one", "main", &body).await;
    let two = open(&client, REPO, "two", "main", &body).await;
    open(&client, "octo/other", "far", "main", &body).await;
    client.people.close_pull("mona", REPO, one).await.unwrap();
    let token = client.token(json!({})).await;
    let all = client.graphql(&token, LINKED, ask(issue, true)).await;
    assert_eq!(linked(&all), [one, two]);
    let found = &all["data"]["repository"]["issue"]["closedByPullRequestsReferences"];
    assert_eq!((&found["nodes"][0]["state"], &found["nodes"][1]["state"]), (&json!("CLOSED"), &json!("OPEN")));
    assert_eq!(found["nodes"][1]["author"], json!({"login": "mona", "__typename": "User"}));
    assert_eq!(found["pageInfo"]["hasNextPage"], true);
    let mut next = ask(issue, true);
    next["after"] = found["pageInfo"]["endCursor"].clone();
    let rest = client.graphql(&token, LINKED, next).await;
    let far = &rest["data"]["repository"]["issue"]["closedByPullRequestsReferences"]["nodes"][0];
    let other = client.github.repos().into_iter().find(|r| r.name == "other").unwrap().id;
    assert_eq!((&far["repository"]["databaseId"], &far["headRefName"]), (&json!(other), &json!("far")));
    let narrow = client.token(json!({"repositories": ["calc"]})).await;
    assert_eq!(
        linked(&client.graphql(&narrow, LINKED, ask(issue, false)).await),
        [two],
        "what it does not reach is hidden"
    );
}

#[tokio::test]
async fn links_ask_for_both_permissions_and_a_boolean() {
    let client = Client::full().await;
    let issue = client.people.open_issue("mona", REPO, "Broken", "").await.unwrap();
    for held in ["issues", "pull_requests"] {
        let token = client.token(json!({"permissions": {held: "read"}})).await;
        let answer = client.graphql(&token, LINKED, ask(issue, false)).await;
        assert_eq!(answer["errors"][0]["type"], "FORBIDDEN", "{held}: {answer}");
    }
    let token = client.token(json!({})).await;
    let mut odd = ask(issue, false);
    odd["closed"] = json!("yes");
    assert!(client.graphql(&token, LINKED, odd).await["errors"][0]["message"].as_str().unwrap().contains("Boolean"));
    let pull = client.pull().await;
    assert_eq!(client.graphql(&token, LINKED, ask(pull, false)).await["errors"][0]["type"], "NOT_FOUND");
}
