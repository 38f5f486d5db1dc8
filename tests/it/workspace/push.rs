//! Branches fetched alone, and commits of ours pushed onto them.

use std::os::unix::fs::PermissionsExt;

use super::*;

const AT: i64 = 1_800_000_000_123;

impl Bench {
    fn served(&self) -> PathBuf {
        self.dir.path().join("served/o/r.git")
    }

    /// Where a branch of the server is.
    fn served_at(&self, branch: &str) -> Option<Sha> {
        let output = crate::support::git_server::command(
            &self.served(),
            &["rev-parse", "-q", "--verify", &format!("refs/heads/{branch}")],
        );
        let output = { output }.output().unwrap();
        Sha::parse(String::from_utf8(output.stdout).unwrap().trim())
    }

    async fn send(&self, commit: &Sha, branch: &str, expected: Option<&Sha>) -> Result<(), Error> {
        self.mirrors().push(self.remote(), commit, branch, expected, &CancellationToken::new()).await
    }

    fn hook(&self, script: &str) {
        let path = self.served().join("hooks/pre-receive");
        write(&self.served(), "hooks/pre-receive", format!("#!/bin/sh\n{script}\n").as_bytes());
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `main` with a history of some length, its tip, and a commit of ours on top of it.
    async fn ready(&self) -> (Sha, Sha) {
        self.commit(&[("a.txt", "one\n"), ("docs/b.md", "b\n"), ("docs/deep/c.md", "c\n")]);
        for n in 0..5 {
            self.commit(&[("n.txt", &format!("{n}\n"))]);
        }
        let tip = self.push("main");
        let tree = self.branch("main").await.unwrap();
        assert_eq!(tree.commit(), &tip);
        (tip, ours(&tree, "docs/b.md", "ours\n").await)
    }
}

async fn ours(tree: &Tree, path: &str, text: &str) -> Sha {
    let new = tree.with(&[edit(path, text)]).await.unwrap();
    new.commit_on(tree.commit(), "docs: ours", &bot(), AT).await.unwrap()
}

#[tokio::test]
async fn a_branch_is_fetched_without_the_history_below_it() {
    let bench = Bench::new().await;
    let (tip, _) = bench.ready().await;
    assert_eq!(git(&bench.mirror(), &["rev-list", "--count", tip.as_str()]), "1");
    let tree = bench.branch("main").await.unwrap();
    assert_eq!(tree.read("n.txt").await.unwrap(), text("4\n"));
    assert_eq!(tree.id().as_str(), bench.git(&["rev-parse", "HEAD^{tree}"]));

    bench.server.seen();
    bench.branch("main").await.unwrap();
    assert_eq!(bench.server.seen().len(), 1, "nothing new, nothing fetched");
    bench.commit(&[("n.txt", "next\n")]);
    let next = bench.push("main");
    assert_eq!(bench.branch("main").await.unwrap().commit(), &next);
}

#[tokio::test]
async fn a_branch_and_a_pull_request_share_a_mirror() {
    let bench = Bench::new().await;
    let (base, head) = bench.simple();
    let tree = bench.branch("main").await.unwrap();
    assert_eq!(tree.commit(), &base);
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(lines(file(&change.diff().await.unwrap(), "a.txt")), ["-two", "+2"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.commit(&[("c.txt", "c\n")]);
    let next = bench.push("main");
    assert_eq!(bench.branch("main").await.unwrap().commit(), &next);
    let change = bench.pull(&head).await.unwrap();
    assert_eq!((&change.base, change.diff().await.unwrap().total_files), (&base, 1));
    let head_tree = change.head_tree();
    assert_eq!((head_tree.commit(), head_tree.read("a.txt").await.unwrap()), (&head, text("one\n2\nthree\n")));
}

#[tokio::test]
async fn a_repository_without_commits_and_a_branch_that_is_not_there_are_told_apart() {
    let bench = Bench::new().await;
    let error = bench.branch("main").await.unwrap_err();
    assert!(matches!(error, Error::Empty { .. }) && !error.is_transient(), "{error:?}");
    bench.simple();
    for name in ["gone", "ma", "main/x", "..", "a b", ""] {
        let error = bench.branch(name).await.unwrap_err();
        assert!(matches!(&error, Error::BaseGone { branch } if branch == name), "{error:?}");
    }
}

#[tokio::test]
async fn a_commit_of_ours_reaches_a_new_branch_and_moves_one_that_is_there() {
    let bench = Bench::new().await;
    let (tip, first) = bench.ready().await;
    bench.send(&first, "octoswarm/issue-7", None).await.unwrap();
    assert_eq!(bench.served_at("octoswarm/issue-7"), Some(first.clone()));
    assert_eq!(bench.served_at("main"), Some(tip.clone()));
    git(&bench.served(), &["fsck", "--full", "--strict"]);
    assert_eq!(git(&bench.served(), &["show", "octoswarm/issue-7:docs/b.md"]), "ours");
    assert_eq!(git(&bench.served(), &["rev-list", "--count", first.as_str()]), "7", "on top of all of its history");
    let who = git(&bench.served(), &["show", "-s", "--format=%an <%ae> %at %cn %ct|%B", first.as_str()]);
    let (name, email) = (bot().name, bot().email);
    assert_eq!(who.trim(), format!("{name} <{email}> 1800000000 {name} 1800000000|docs: ours"));

    let tree = bench.branch("octoswarm/issue-7").await.unwrap();
    let second = ours(&tree, "docs/b.md", "better\n").await;
    bench.send(&second, "octoswarm/issue-7", Some(&first)).await.unwrap();
    assert_eq!(bench.served_at("octoswarm/issue-7"), Some(second.clone()));

    bench.server.seen();
    bench.send(&second, "octoswarm/issue-7", Some(&first)).await.unwrap();
    let seen = bench.server.seen();
    assert_eq!(seen.len(), 1, "what is there is not sent again: {seen:?}");
    assert!(fs::read_dir(bench.mirror().join("refs")).unwrap().count() > 0);
    assert_eq!(git(&bench.mirror(), &["for-each-ref", "refs/heads"]), "", "no ref of the mirror names it");
}

#[tokio::test]
async fn only_what_the_server_lacks_is_sent() {
    let bench = Bench::new().await;
    let noise: String = (0..60_000_u32).map(|n| format!("{}\n", n.wrapping_mul(2_654_435_761))).collect();
    bench.commit(&[("big.txt", &noise)]);
    let (_, first) = bench.ready().await;
    // The base moved on, so that no tip of the server is here.
    bench.commit(&[("n.txt", "moved\n")]);
    bench.push("main");
    // What is larger than this is kept as a pack, so that its objects can be counted.
    git(&bench.served(), &["config", "receive.unpackLimit", "1"]);
    git(&bench.served(), &["repack", "-qad"]);
    bench.send(&first, "topic", None).await.unwrap();
    let packs = fs::read_dir(bench.served().join("objects/pack")).unwrap().map(|e| e.unwrap().path());
    let packs: Vec<_> = packs.filter(|path| path.extension().is_some_and(|e| e == "pack")).collect();
    let smallest = packs.iter().map(|path| fs::metadata(path).unwrap().len()).min().unwrap();
    assert!(packs.len() == 2 && smallest < 2_000, "a commit, two trees and a file, not {smallest} bytes");
    git(&bench.served(), &["fsck", "--full", "--strict"]);
}

#[tokio::test]
async fn a_commit_whose_parent_only_the_server_has_is_pushed() {
    let bench = Bench::new().await;
    let (_, _) = bench.ready().await;
    let tree = bench.branch("main").await.unwrap();
    bench.commit(&[("theirs.txt", "theirs\n")]);
    let theirs = bench.push("main");
    let new = tree.with(&[edit("a.txt", "ours\n"), edit("theirs.txt", "theirs\n")]).await.unwrap();
    let commit = new.commit_on(&theirs, "on top", &bot(), AT).await.unwrap();
    bench.send(&commit, "main", Some(&theirs)).await.unwrap();
    assert_eq!(bench.served_at("main"), Some(commit));
    git(&bench.served(), &["fsck", "--full", "--strict"]);

    let nobodys = Sha::parse(&"1".repeat(40)).unwrap();
    let orphan = new.commit_on(&nobodys, "on nothing", &bot(), AT).await.unwrap();
    let error = bench.send(&orphan, "other", None).await.unwrap_err();
    assert!(matches!(error, Error::PushRejected { .. }), "{error:?}");
    assert_eq!(bench.served_at("other"), None);
}

#[tokio::test]
async fn a_branch_that_is_elsewhere_is_not_moved() {
    let bench = Bench::new().await;
    let (tip, first) = bench.ready().await;
    bench.commit(&[("n.txt", "moved\n")]);
    let moved = bench.push("main");
    let is = |error: &Error, at: Option<&Sha>| matches!(error, Error::BranchMoved { now, .. } if now.as_ref() == at);

    let error = bench.send(&first, "main", Some(&tip)).await.unwrap_err();
    assert!(is(&error, Some(&moved)) && !error.is_transient(), "{error:?}");
    let error = bench.send(&first, "main", None).await.unwrap_err();
    assert!(is(&error, Some(&moved)), "it exists: {error:?}");
    let error = bench.send(&first, "gone", Some(&tip)).await.unwrap_err();
    assert!(is(&error, None), "it does not: {error:?}");
    let error = bench.send(&first, "main", Some(&moved)).await.unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "it does not follow: {error:?}");
    assert_eq!(bench.served_at("main"), Some(moved));
}

#[tokio::test]
async fn a_branch_that_moves_while_we_push_is_not_moved_back() {
    let bench = Bench::new().await;
    let (tip, first) = bench.ready().await;
    bench.commit(&[("n.txt", "meanwhile\n")]);
    let moved = bench.push("other");
    let run = |args: &[&str]| bench.server.behave(Manner::Meanwhile(args.iter().map(|a| (*a).to_owned()).collect()));
    let is = |error: &Error, at: Option<&Sha>| matches!(error, Error::BranchMoved { now, .. } if now.as_ref() == at);

    run(&["update-ref", "refs/heads/main", moved.as_str()]);
    let error = bench.send(&first, "main", Some(&tip)).await.unwrap_err();
    assert!(is(&error, Some(&moved)), "{error:?}");
    run(&["update-ref", "refs/heads/fresh", moved.as_str()]);
    let error = bench.send(&first, "fresh", None).await.unwrap_err();
    assert!(is(&error, Some(&moved)), "{error:?}");
    run(&["update-ref", "-d", "refs/heads/other"]);
    let child = bench.branch("other").await.unwrap();
    let child = ours(&child, "a.txt", "x\n").await;
    let error = bench.send(&child, "other", Some(&moved)).await.unwrap_err();
    assert!(is(&error, None), "{error:?}");
    assert_eq!((bench.served_at("main"), bench.served_at("other")), (Some(moved), None));
}

#[tokio::test]
async fn a_refusal_comes_with_the_servers_words_made_tame() {
    let bench = Bench::new().await;
    let (tip, first) = bench.ready().await;
    bench.hook("printf 'error: \\033[31mGH006\\033[0m: Protected branch\\n\\007see the rules\\n' >&2\nexit 1");
    for (branch, expected) in [("main", Some(&tip)), ("fresh", None)] {
        let error = bench.send(&first, branch, expected).await.unwrap_err();
        let Error::PushRejected { branch: named, reason } = &error else { panic!("{error:?}") };
        assert_eq!(named, branch);
        assert_eq!(reason, "pre-receive hook declined; error: GH006: Protected branch; see the rules");
        assert!(!error.is_transient() && error.hint().is_some());
    }
    bench.hook("yes remark | head -c 1000000 >&2; exit 1");
    let Error::PushRejected { reason, .. } = bench.send(&first, "fresh", None).await.unwrap_err() else { panic!() };
    assert!(reason.chars().count() <= 1_001, "{}", reason.len());
    assert_eq!((bench.served_at("main"), bench.served_at("fresh")), (Some(tip), None));
}

#[tokio::test]
async fn only_a_branch_with_a_proper_name_is_pushed() {
    let bench = Bench::new().await;
    let (_, first) = bench.ready().await;
    bench.server.seen();
    for name in ["", "-f", "a b", "a..b", "HEAD", "a\nb", "a.lock", "x~1", "a\u{200b}"] {
        let error = bench.send(&first, name, None).await.unwrap_err();
        assert!(matches!(&error, Error::BranchName { branch } if branch == name), "{error:?}");
    }
    assert_eq!(bench.server.seen().len(), 0);
    bench.send(&first, "refs/heads/x", None).await.unwrap();
    assert_eq!(bench.served_at("refs/heads/x"), Some(first), "below refs/heads, whatever it is called");
}

#[tokio::test]
async fn a_push_without_leave_is_tried_once_and_the_token_never_shown() {
    let bench = Bench::new().await;
    let (_, first) = bench.ready().await;
    let mut remote = bench.remote();
    if let Some(credential) = &mut remote.credential {
        credential.token = Secret::new("ghs_wrong_token");
    }
    bench.server.seen();
    let push = bench.mirrors().push(remote, &first, "topic", None, &CancellationToken::new()).await;
    let error = push.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("ghs_wrong_token"));
    assert_eq!(bench.server.seen().len(), 1);
    for (status, transient) in [(401, false), (403, false), (404, false), (429, true), (500, true)] {
        bench.server.behave(Manner::Status(status));
        let error = bench.send(&first, "topic", None).await.unwrap_err();
        assert_eq!(error.is_transient(), transient, "{error:?}");
        assert_eq!(matches!(error, Error::Unauthorized { .. }), matches!(status, 401 | 403), "{error:?}");
    }
}

#[tokio::test]
async fn a_push_is_not_redirected() {
    let bench = Bench::new().await;
    let (_, first) = bench.ready().await;
    let other = GitServer::start(&bench.dir.path().join("served"), None).await;
    bench.server.behave(Manner::Redirect(other.origin.clone()));
    let error = bench.send(&first, "topic", None).await.unwrap_err();
    assert!(matches!(error, Error::Redirected { .. }), "{error:?}");
    assert_eq!(other.seen().len(), 0);

    bench.server.behave(Manner::Honest);
    let mut remote = bench.remote();
    remote.url = format!("{}/o/r.git", other.origin);
    let push = bench.mirrors().push(remote, &first, "topic", None, &CancellationToken::new()).await;
    push.unwrap();
    assert!(other.seen().iter().all(|seen| seen.authorization.is_none()), "a token for another origin");
}

#[tokio::test]
async fn a_push_whose_answer_was_lost_is_found_when_looked_for() {
    let bench = Bench::new().await;
    let (_, first) = bench.ready().await;
    bench.server.behave(Manner::AnswerLost);
    let error = bench.send(&first, "topic", None).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    assert_eq!(bench.served_at("topic"), Some(first.clone()), "it had arrived");
    bench.server.behave(Manner::Honest);
    bench.send(&first, "topic", None).await.unwrap();
}

#[tokio::test]
async fn nonsense_in_answer_to_a_push_is_an_error_that_may_pass() {
    let bench = Bench::new().await;
    let (tip, first) = bench.ready().await;
    let head = b"001f# service=git-receive-pack\n0000".as_slice();
    let caps = format!("{tip} refs/heads/main\0report-status\n");
    let listed = format!("{:04x}{caps}", caps.len() + 4);
    let dumb = format!("{tip} refs/heads/main\0delete-refs\n");
    let sha256 = format!("{tip} refs/heads/main\0report-status object-format=sha256\n");
    let line = |text: &str| format!("{:04x}{text}0000", text.len() + 4);
    for (body, transient) in [
        (Vec::new(), true),
        (b"<html>".to_vec(), true),
        (head.to_vec(), true),
        ([head, b"0000"].concat(), true),
        ([head, b"zzzz"].concat(), true),
        ([head, b"0003"].concat(), true),
        ([head, b"00ffshort"].concat(), true),
        ([head, listed.as_bytes()].concat(), true),
        ([head, b"0008abcd0000"].concat(), true),
        ([head, line(&format!("{} refs/heads/main\0report-status\n", "z".repeat(40))).as_bytes()].concat(), true),
        ([head, line(&dumb).as_bytes()].concat(), true),
        ([head, line(&sha256).as_bytes()].concat(), false),
        ([head, line("ERR no writing today\n").as_bytes()].concat(), false),
    ] {
        bench.server.behave(Manner::Refs(body.clone()));
        let error = bench.send(&first, "topic", None).await.unwrap_err();
        assert_eq!(error.is_transient(), transient, "{error:?} for {:?}", String::from_utf8_lossy(&body));
    }
    let band =
        |number: u8, text: &str| [format!("{:04x}", text.len() + 5).as_bytes(), &[number], text.as_bytes()].concat();
    let report = "000eunpack ok\n0019ok refs/heads/topic\n0000";
    for body in [
        Vec::new(),
        b"garbage".to_vec(),
        b"0000".to_vec(),
        [band(1, "000eunpack"), b"0000".to_vec()].concat(),
        [band(9, report), b"0000".to_vec()].concat(),
        [band(3, "out of memory"), b"0000".to_vec()].concat(),
        band(1, &"0005a".repeat(13_000)).repeat(2),
        [band(1, report), b"00".to_vec()].concat(),
    ] {
        bench.server.behave(Manner::Pack(body.clone()));
        let error = bench.send(&first, "topic", None).await.unwrap_err();
        assert!(error.is_transient(), "{error:?} for {:?}", String::from_utf8_lossy(&body));
    }
    bench.server.behave(Manner::Honest);
    assert_eq!(bench.served_at("topic"), None);
    bench.send(&first, "topic", None).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_silent_or_never_ends_is_left_in_time() {
    let mut bench = Bench::new().await;
    let (_, first) = bench.ready().await;
    bench.limits.idle = Duration::from_millis(200);
    bench.server.behave(Manner::Stall);
    let error = bench.send(&first, "topic", None).await.unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }) && error.is_transient(), "{error:?}");
    bench.limits = Limits { advertisement: 1 << 20, ..Limits::default() };
    bench.server.behave(Manner::Endless);
    let error = bench.send(&first, "topic", None).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
    bench.server.behave(Manner::Stall);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = bench.mirrors().push(bench.remote(), &first, "topic", None, &cancel).await.unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error:?}");
}

#[tokio::test]
async fn a_push_larger_than_its_limit_is_not_begun() {
    let mut bench = Bench::new().await;
    let (_, first) = bench.ready().await;
    bench.limits.push_bytes = 100;
    bench.server.seen();
    let error = bench.send(&first, "topic", None).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
    assert_eq!(bench.server.seen().len(), 0);
}

#[tokio::test]
async fn a_commit_that_is_in_no_mirror_is_made_again_by_who_asks_again() {
    let bench = Bench::new().await;
    let (tip, first) = bench.ready().await;
    bench.mirrors().purge(REPOSITORY).await.unwrap();
    let error = bench.send(&first, "topic", None).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let tree = bench.branch("main").await.unwrap();
    assert_eq!(tree.commit(), &tip);
    assert_eq!(ours(&tree, "docs/b.md", "ours\n").await, first, "the same work gives the same commit");
    bench.send(&first, "topic", None).await.unwrap();
}

#[tokio::test]
async fn the_box_takes_our_pushes_and_refuses_who_may_only_read() {
    let client = crate::demo::Client::start().await;
    let dir = TempDir::new().unwrap();
    let mirrors = Mirrors::new(dir.path().join("mirrors"), Limits::default()).unwrap();
    let url = client.github.clone_url(crate::demo::REPO);
    let remote = |user: &str, token: &str| {
        let origin = client.github.web_url();
        let credential = Credential { origin, user: user.to_owned(), token: Secret::new(token) };
        Remote { repository: REPOSITORY, url: url.clone(), credential: Some(credential) }
    };
    let cancel = CancellationToken::new();
    let writer = remote("mona", octoswarm::demo::PASSWORD);
    let tree = mirrors.branch(writer.clone(), "main", &cancel).await.unwrap();
    let commit = ours(&tree, "from-us.txt", "ours\n").await;
    let reader = client.token(serde_json::json!({"permissions": {"contents": "read"}})).await;
    let push = mirrors.push(remote("x-access-token", &reader), &commit, "octoswarm/x", None, &cancel).await;
    assert!(matches!(push, Err(Error::Unauthorized { .. })), "{push:?}");
    mirrors.push(writer.clone(), &commit, "octoswarm/x", None, &cancel).await.unwrap();
    let fetched = mirrors.branch(writer, "octoswarm/x", &cancel).await.unwrap();
    assert_eq!((fetched.commit(), fetched.read("from-us.txt").await.unwrap()), (&commit, text("ours\n")));
}
