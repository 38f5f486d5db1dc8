//! The same calls against the GitHub in a box, which checks permissions, shapes and pages on its own terms.

use octoswarm::demo::{AppManifest, Change, GitHubBox, OpenPull, Options as BoxOptions, People};
use octoswarm::domain::{CommentId, IssueNumber};
use octoswarm::github::{PullUpdate, Reaction};

use super::*;

const REPO: &str = "octo/calc";

struct Boxed {
    github: GitHubBox,
    people: People,
    client: Github,
    repo: Repo,
}

async fn boxed() -> Boxed {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let manifest = AppManifest::parse(include_str!("../../../app-manifest.yml")).unwrap();
    let github = GitHubBox::start(BoxOptions::new(manifest, "s3cret")).await.unwrap();
    let people = github.people();
    let id = people.create_repo(REPO, Change::new().write("README.md", "# calc\n")).await.unwrap();
    people.add_collaborator(REPO, "ada", "maintain").await.unwrap();
    let client = Github::new(Options {
        api_base: github.api_url(),
        web_base: github.web_url(),
        write_pace: Duration::ZERO,
        ..Options::new(github.app_id(), Secret::new(github.private_key_pem()))
    })
    .unwrap();
    let repo = client.repo(InstallationId(github.installation_id()), RepositoryId(id), REPO.parse().unwrap());
    Boxed { github, people, client, repo }
}

impl Boxed {
    /// Nothing that we sent was refused.
    #[track_caller]
    fn end(&self) {
        let refused = self.github.refusals();
        assert!(refused.is_empty(), "{refused:?}");
    }
}

#[tokio::test]
async fn an_issue_is_read_commented_and_reacted_to() {
    let world = boxed().await;
    let number = world.people.open_issue("mona", REPO, "Broken link", "see docs").await.unwrap();
    world.people.label("ada", REPO, number, "swarm").await.unwrap();
    let number = IssueNumber(number);
    let issue = world.repo.issue(number).await.unwrap();
    assert_eq!(
        (issue.title.as_str(), issue.body.as_str(), issue.author.login.as_str()),
        ("Broken link", "see docs", "mona")
    );
    assert!(issue.open && !issue.pull && issue.has_label("swarm"));
    let made = world.repo.create_comment(number, "hello").await.unwrap();
    assert!(made.author.bot);
    assert_eq!(world.repo.update_comment(made.id, "hello again").await.unwrap().body, "hello again");
    for _ in 0..2 {
        world.repo.react_to_issue(number, Reaction::Eyes).await.unwrap();
        world.repo.react_to_comment(made.id, Reaction::Rocket).await.unwrap();
    }
    assert_eq!(world.github.reactions(REPO).len(), 2);
    assert_eq!(world.repo.comments(number).await.unwrap().len(), 1);
    assert_eq!(world.repo.comment(made.id).await.unwrap().unwrap().body, "hello again");
    world.end();
    assert_eq!(world.repo.comment(CommentId(999_999)).await.unwrap(), None);
}

#[tokio::test]
async fn a_pull_request_is_listed_changed_commented_and_reacted_to() {
    let world = boxed().await;
    let change = Change::new().write("a.py", "x = 1\n");
    let number = world.people.open_pull(REPO, OpenPull::new("ada", "work/one", "Work", change)).await.unwrap();
    assert_eq!(world.repo.pulls_open().await.unwrap().len(), 1);
    assert_eq!(world.repo.pulls_of_head("work/one").await.unwrap()[0].number, PullNumber(number));
    assert!(world.repo.pulls_of_head("work").await.unwrap().is_empty());
    let update = PullUpdate { title: Some("Better".into()), body: None };
    assert_eq!(world.repo.update_pull(PullNumber(number), &update).await.unwrap().title, "Better");
    let comment = world.repo.create_comment(IssueNumber(number), "hello").await.unwrap();
    world.repo.react_to_comment(comment.id, Reaction::Eyes).await.unwrap();
    world.repo.react_to_issue(IssueNumber(number), Reaction::PlusOne).await.unwrap();
    let head = world.repo.branch_head("work/one").await.unwrap().unwrap();
    assert_eq!(world.repo.pull(PullNumber(number)).await.unwrap().head_sha, head);
    let commit = world.repo.commit(&head).await.unwrap();
    assert_eq!((commit.sha, commit.parents.len()), (head, 1));
    world.end();
    assert_eq!(world.repo.branch_head("gone").await.unwrap(), None);
}

#[tokio::test]
async fn roles_repositories_and_installations_are_told() {
    let world = boxed().await;
    let info = world.repo.info().await.unwrap();
    assert_eq!(
        (info.id, info.name.to_string().as_str(), info.default_branch.as_str()),
        (world.repo.id(), REPO, "main")
    );
    let ada = world.repo.role_of("ada").await.unwrap();
    assert!(ada.writes && ada.role == "maintain" && ada.permission == "write" && ada.user_id != 0);
    let installations = world.client.installations().await.unwrap();
    assert_eq!((installations[0].id, installations[0].account.as_str()), (world.repo.installation(), "octo"));
    let repositories = world.client.repositories(world.repo.installation()).await.unwrap();
    assert_eq!(repositories.iter().map(|repo| repo.name.to_string()).collect::<Vec<_>>(), [REPO]);
    let app = world.client.app().await.unwrap();
    let identity = world.client.bot_identity(&app).await.unwrap();
    assert!(identity.email.ends_with("+octoswarm[bot]@users.noreply.127.0.0.1"), "{}", identity.email);
    world.end();
    assert!(!world.repo.role_of("nobody-at-all").await.unwrap().writes);
}

#[tokio::test]
async fn the_delivery_log_of_failures_is_walked_to_its_end_and_read() {
    let world = boxed().await;
    world.github.set_webhook_url("http://127.0.0.1:1/webhook");
    let number = world.people.open_issue("mona", REPO, "Title", "").await.unwrap();
    for nth in 0..120 {
        world.people.comment("mona", REPO, number, &format!("comment {nth}")).await.unwrap();
    }
    world.github.deliveries_settled().await;
    let first = world.client.deliveries(None).await.unwrap();
    assert_eq!(first.deliveries.len(), 100);
    let second = world.client.deliveries(first.next.as_deref()).await.unwrap();
    assert_eq!(second.next, None);
    let all: Vec<_> = first.deliveries.iter().chain(&second.deliveries).collect();
    let comments: Vec<_> = all.iter().filter(|delivery| delivery.event == "issue_comment").collect();
    assert_eq!(comments.len(), 120);
    assert!(comments.iter().all(|delivery| !delivery.ok && delivery.repository == Some(world.repo.id())));
    let content = world.client.delivery(comments[0].id).await.unwrap();
    let parsed = octoswarm::github::payload::parse(&content.event, &content.payload);
    assert!(matches!(parsed, octoswarm::github::Parsed::Events(_)), "{parsed:?}");
    world.client.redeliver(comments[0].id).await.unwrap();
    world.end();
}
