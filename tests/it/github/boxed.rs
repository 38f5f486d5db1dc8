//! The same calls against the GitHub in a box, which checks permissions, shapes and pages on its own terms.

use octoswarm::demo::{AppManifest, Change, GitHubBox, OpenPull, Options as BoxOptions, People};
use octoswarm::domain::{CommentId, IssueNumber};
use octoswarm::github::{NewPull, PullUpdate, Reaction, TreeEntry};

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
    let github = GitHubBox::start(crate::support::recorded(BoxOptions::new(manifest, "s3cret"))).await.unwrap();
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
    let identity = world.client.bot_identity(&app, world.repo.installation()).await.unwrap();
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

#[tokio::test]
async fn every_delivery_of_an_event_that_we_know_is_read() {
    let world = boxed().await;
    world.github.set_webhook_url("http://127.0.0.1:1/webhook");
    let number = world.people.open_issue("mona", REPO, "Title", "").await.unwrap();
    world.people.label("ada", REPO, number, "swarm").await.unwrap();
    world.people.comment("mona", REPO, number, "/swarm help").await.unwrap();
    let change = Change::new().write("a.py", "x = 1\n");
    let pull = world.people.open_pull(REPO, OpenPull::new("ada", "work", "Work", change)).await.unwrap();
    world.people.comment("mona", REPO, pull, "/swarm review").await.unwrap();
    world.people.suspend("octo").await;
    world.people.unsuspend("octo").await;
    world.people.uninstall("octo").await;
    world.people.install("octo").await;
    world.github.deliveries_settled().await;
    let mut told: Vec<String> = Vec::new();
    for delivery in world.client.deliveries(None).await.unwrap().deliveries {
        let content = world.client.delivery(delivery.id).await.unwrap();
        match octoswarm::github::payload::parse(&content.event, &content.payload) {
            octoswarm::github::Parsed::Events(_) => {
                told.push(format!("{} {}", delivery.event, delivery.action.unwrap_or_default()));
            }
            octoswarm::github::Parsed::Ignored(_) => {}
            octoswarm::github::Parsed::Malformed(reason) => panic!("{}: {reason}", content.event),
        }
    }
    told.sort();
    told.dedup();
    assert_eq!(
        told,
        [
            "installation created",
            "installation deleted",
            "installation suspend",
            "installation unsuspend",
            "issue_comment created",
            "issues labeled",
            "pull_request opened",
        ]
    );
}

#[tokio::test]
async fn a_suspended_installation_is_told_from_one_that_is_gone() {
    let world = boxed().await;
    world.people.suspend("octo").await;
    let error = world.repo.info().await.unwrap_err();
    assert!(error.hint().unwrap().contains("unsuspend"), "{error:?}");
    assert_eq!(error.class(), Class::Discard);
    assert!(world.client.installations().await.unwrap()[0].suspended);
    world.people.unsuspend("octo").await;
    world.repo.info().await.unwrap();
    world.people.uninstall("octo").await;
    assert!(world.client.installations().await.unwrap().is_empty());
    assert!(matches!(
        world.client.repositories(world.repo.installation()).await.unwrap_err().root(),
        Error::NotFound { .. }
    ));
}

#[tokio::test]
async fn labelled_issues_are_listed_with_who_labelled_them() {
    let world = boxed().await;
    let open = async |title: &str| world.people.open_issue("mona", REPO, title, "").await.unwrap();
    let (one, other) = (open("One").await, open("Other").await);
    let change = Change::new().write("a.py", "x = 1\n");
    let pull = world.people.open_pull(REPO, OpenPull::new("ada", "work", "Work", change)).await.unwrap();
    for number in [one, pull] {
        world.people.label("ada", REPO, number, "swarm").await.unwrap();
    }
    world.people.label("ada", REPO, other, "bug").await.unwrap();
    let listed = world.repo.issues_labeled("swarm").await.unwrap();
    assert_eq!(listed.iter().map(|issue| issue.number.0).collect::<Vec<_>>(), [one]);
    assert!(world.repo.issues_labeled("nobody's").await.unwrap().is_empty());
    let actor = world.repo.label_actor(IssueNumber(one), "swarm").await.unwrap().unwrap();
    assert_eq!((actor.login.as_str(), actor.bot), ("ada", false));
    assert_eq!(actor.id, world.repo.role_of("ada").await.unwrap().user_id);
    assert_eq!(world.repo.label_actor(IssueNumber(other), "swarm").await.unwrap(), None);
    world.end();
}

#[tokio::test]
async fn a_change_is_committed_put_on_a_branch_and_opened_without_git() {
    let world = boxed().await;
    let repo = &world.repo;
    let base = repo.branch_head("main").await.unwrap().unwrap();
    let base_tree = repo.commit(&base).await.unwrap().tree;
    let entry = |path: &str, mode: &'static str, content: Option<&[u8]>| TreeEntry {
        path: path.into(),
        mode,
        content: content.map(<[u8]>::to_vec),
    };
    let entries = [
        entry("docs/\u{fc}.md", "100644", Some("f\u{fc}r\r\n".as_bytes())),
        entry("run.sh", "100755", Some(b"#!/bin/sh\n")),
        entry("logo.bin", "100644", Some(b"\x00\xff\xfe")),
        entry("README.md", "100644", None),
    ];
    let tree = repo.create_tree(&base_tree, &entries).await.unwrap();
    let commit = repo.create_commit("Change\n\nOctoswarm-Task: x", &tree, &base).await.unwrap();
    repo.create_branch("swarm/issue-1", &commit).await.unwrap();
    assert_eq!(repo.branch_head("swarm/issue-1").await.unwrap(), Some(commit.clone()));
    let made = repo.commit(&commit).await.unwrap();
    assert_eq!((made.tree, made.parents, made.verified), (tree.clone(), vec![base.clone()], true));
    assert_eq!(made.author_login.as_deref(), Some("octoswarm[bot]"));
    let read = async |path: &str| repo.content(path, Some("swarm/issue-1")).await.unwrap();
    assert_eq!(read("docs/\u{fc}.md").await.as_deref(), Some("f\u{fc}r\r\n".as_bytes()));
    assert_eq!(read("logo.bin").await.as_deref(), Some(&b"\x00\xff\xfe"[..]));

    let next = repo.create_commit("More", &base_tree, &commit).await.unwrap();
    repo.move_branch("swarm/issue-1", &next).await.unwrap();
    assert!(!repo.needs_signatures("swarm/issue-1").await.unwrap());
    world.end();

    assert!(read("README.md").await.is_some(), "the second commit took the old tree");
    assert!(matches!(repo.move_branch("swarm/issue-1", &commit).await, Err(Error::Validation { .. })), "never back");
    assert!(matches!(repo.create_branch("swarm/issue-1", &commit).await, Err(Error::Validation { .. })));
    assert!(matches!(repo.move_branch("none", &commit).await, Err(Error::Validation { .. })));
    let missing = Sha::parse(&"9".repeat(40)).unwrap();
    assert!(matches!(repo.commit(&missing).await, Err(Error::NotFound { .. })));

    repo.move_branch("swarm/issue-1", &repo.create_commit("Last", &tree, &next).await.unwrap()).await.unwrap();
    let new = NewPull {
        title: "Fix".into(),
        body: "Closes #1".into(),
        head: "swarm/issue-1".into(),
        base: "main".into(),
        draft: true,
    };
    let pull = repo.create_pull(&new).await.unwrap();
    assert!(pull.draft && pull.author.bot && pull.head_ref == "swarm/issue-1" && pull.body == "Closes #1");
    assert_eq!(repo.pulls_of_head("swarm/issue-1").await.unwrap()[0].number, pull.number);
    assert!(matches!(repo.create_pull(&new).await, Err(Error::Validation { .. })));
}

#[tokio::test]
async fn a_workflow_file_cannot_be_written_whatever_asks_for_it() {
    let world = boxed().await;
    let base = world.repo.branch_head("main").await.unwrap().unwrap();
    let base_tree = world.repo.commit(&base).await.unwrap().tree;
    let path = ".github/workflows/ci.yml".to_owned();
    let entries = [TreeEntry { path, mode: "100644", content: Some(b"on: push\n".to_vec()) }];
    let written = async {
        let tree = world.repo.create_tree(&base_tree, &entries).await?;
        let commit = world.repo.create_commit("CI", &tree, &base).await?;
        world.repo.create_branch("ci", &commit).await
    };
    assert!(written.await.is_err());
    assert_eq!(world.repo.branch_head("ci").await.unwrap(), None);
}

#[tokio::test]
async fn a_pull_request_that_would_close_an_issue_is_linked_until_it_is_closed() {
    let world = boxed().await;
    let issue = world.people.open_issue("mona", REPO, "One", "").await.unwrap();
    assert!(world.repo.linked_pulls(IssueNumber(issue)).await.unwrap().is_empty());
    let change = Change::new().write("a.py", "x = 1\n");
    let pull = world.people.open_pull(REPO, OpenPull::new("ada", "work", "Work", change)).await.unwrap();
    world.people.edit_pull("ada", REPO, pull, "Work", &format!("Closes #{issue}")).await.unwrap();
    let linked = world.repo.linked_pulls(IssueNumber(issue)).await.unwrap();
    assert_eq!(linked.len(), 1);
    assert_eq!(
        (linked[0].number.0, linked[0].repository, linked[0].head_ref.as_str()),
        (pull, world.repo.id(), "work")
    );
    assert_eq!((linked[0].author_login.as_str(), linked[0].author_bot), ("ada", false));
    world.people.close_pull("ada", REPO, pull).await.unwrap();
    assert!(world.repo.linked_pulls(IssueNumber(issue)).await.unwrap().is_empty());
    world.end();
    assert!(matches!(world.repo.linked_pulls(IssueNumber(999)).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_rename_is_survived_and_an_archive_is_named() {
    let world = boxed().await;
    let issue = IssueNumber(world.people.open_issue("mona", REPO, "One", "").await.unwrap());
    world.people.rename_repo("octo", REPO, "sums").await.unwrap();
    let repo = &world.repo;
    assert_eq!(repo.info().await.unwrap().name.to_string(), "octo/sums");
    assert_eq!(repo.issue(issue).await.unwrap().number, issue);
    let comment = repo.create_comment(issue, "still here").await.unwrap();
    assert_eq!(repo.comments(issue).await.unwrap()[0].id, comment.id);
    assert!(repo.branch_head("main").await.unwrap().is_some());
    assert!(repo.linked_pulls(issue).await.unwrap().is_empty());
    assert!(repo.role_of("ada").await.unwrap().writes);

    world.people.archive_repo("octo", "octo/sums").await.unwrap();
    assert!(repo.info().await.unwrap().archived);
    let error = repo.create_comment(issue, "too late").await.unwrap_err();
    assert!(matches!(error, Error::Forbidden { .. }) && error.class() == Class::Discard, "{error:?}");
    assert!(error.hint().unwrap().contains("unarchive"), "{error:?}");
}

#[tokio::test]
async fn a_branch_that_takes_signed_commits_only_says_so() {
    let world = boxed().await;
    world.people.require_signatures(REPO, "main").await.unwrap();
    assert!(world.repo.needs_signatures("main").await.unwrap());
    assert!(!world.repo.needs_signatures("swarm/issue-1").await.unwrap());
    world.end();
}
