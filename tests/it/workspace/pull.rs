//! Mirrors and servers.

use super::*;

#[tokio::test]
async fn a_pull_request_from_a_fork_is_read_through_its_ref() {
    let bench = Bench::new().await;
    let (base, head) = bench.simple();
    let change = bench.pull(&head).await.unwrap();
    assert_eq!((&change.base, &change.head, change.work_tree), (&base, &head, false));
    let diff = change.diff().await.unwrap();
    assert_eq!(diff.total_files, 1);
    assert_eq!(lines(file(&diff, "a.txt")), ["-two", "+2"]);
    assert_eq!(change.new_side("a.txt").await.unwrap(), text("one\n2\nthree\n"));
    assert_eq!(change.old_side("a.txt").await.unwrap(), text("one\ntwo\nthree\n"));
    assert_eq!(change.new_side("docs/nothing.md").await.unwrap(), Side::Absent);
    assert_eq!(change.new_side("docs").await.unwrap(), Side::Absent);
    let paths = change.new_paths().await.unwrap();
    assert_eq!(paths.len(), 3);
    assert!(paths.contains("docs") && paths.contains("docs/b.md"), "{paths:?}");
}

#[tokio::test]
async fn only_the_newest_history_is_fetched_and_a_second_time_only_what_is_new() {
    let mut bench = Bench::new().await;
    bench.limits.first_depth = 5;
    for n in 0..40 {
        bench.commit(&[("a.txt", &format!("{n}\n"))]);
    }
    let base = bench.push("main");
    bench.git(&["checkout", "-q", "-b", "topic"]);
    bench.commit(&[("a.txt", "topic\n")]);
    let head = bench.push("refs/pull/1/head");
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(change.base, base);
    let count = git(&bench.mirror(), &["rev-list", "--count", base.as_str()]);
    assert_eq!(count, "5");

    bench.server.seen();
    bench.pull(&head).await.unwrap();
    let seen = bench.server.seen();
    assert_eq!(seen.len(), 1, "nothing new, nothing fetched: {seen:?}");

    bench.commit(&[("a.txt", "again\n")]);
    let head = bench.push("refs/pull/1/head");
    let packs = || fs::read_dir(bench.mirror().join("objects/pack")).unwrap().count();
    let before = packs();
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(change.new_side("a.txt").await.unwrap(), text("again\n"));
    assert_eq!(packs(), before + 2, "one more pack and its index");
    let newest = newest_pack(&bench.mirror());
    let listed = git(&bench.mirror(), &["verify-pack", "-v", newest.to_str().unwrap()]);
    let objects = listed.lines().filter(|line| line.split(' ').next().is_some_and(|id| id.len() == 40)).count();
    assert!(objects <= 6, "a commit, its tree and its file, hardly more:\n{listed}");
}

fn newest_pack(mirror: &Path) -> PathBuf {
    let packs = fs::read_dir(mirror.join("objects/pack")).unwrap().map(|e| e.unwrap().path());
    packs
        .filter(|path| path.extension().is_some_and(|e| e == "idx"))
        .max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap())
        .unwrap()
}

#[tokio::test]
async fn a_merge_base_older_than_the_first_depth_is_found_by_deepening() {
    let bench = Bench::new().await;
    bench.commit(&[("a.txt", "old\n"), ("base.txt", "0\n")]);
    let fork = bench.push("main");
    bench.git(&["checkout", "-q", "-b", "topic"]);
    for n in 0..70 {
        bench.commit(&[("a.txt", &format!("topic {n}\n"))]);
    }
    let head = bench.push("refs/pull/1/head");
    bench.git(&["checkout", "-q", "main"]);
    for n in 0..65 {
        bench.commit(&[("base.txt", &format!("main {n}\n"))]);
    }
    bench.push("main");
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(change.base, fork);
    let diff = change.diff().await.unwrap();
    assert_eq!(paths(&diff), ["a.txt"]);
    assert_eq!(lines(file(&diff, "a.txt")), ["-old", "+topic 69"]);
}

#[tokio::test]
async fn unrelated_histories_have_no_change_to_review() {
    let bench = Bench::new().await;
    bench.commit(&[("a.txt", "a\n")]);
    bench.push("main");
    bench.git(&["checkout", "-q", "--orphan", "other"]);
    bench.commit(&[("b.txt", "b\n")]);
    let head = bench.push("refs/pull/1/head");
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(error, Error::NoMergeBase { .. }), "{error:?}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_force_push_is_followed_and_an_old_head_is_still_read_if_it_is_here() {
    let bench = Bench::new().await;
    let (base, first) = bench.simple();
    bench.pull(&first).await.unwrap();
    bench.git(&["reset", "-q", "--hard", base.as_str()]);
    bench.commit(&[("a.txt", "one\nTWO\nthree\n")]);
    let second = bench.push("refs/pull/1/head");
    let change = bench.pull(&second).await.unwrap();
    assert_eq!(lines(file(&change.diff().await.unwrap(), "a.txt")), ["-two", "+TWO"]);
    let change = bench.pull(&first).await.unwrap();
    assert_eq!(lines(file(&change.diff().await.unwrap(), "a.txt")), ["-two", "+2"]);
}

#[tokio::test]
async fn a_head_that_is_neither_here_nor_given_has_moved() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let wanted = Sha::parse(&"1".repeat(40)).unwrap();
    let error = bench.pull(&wanted).await.unwrap_err();
    assert!(matches!(&error, Error::HeadMoved { now: Some(now), .. } if *now == head), "{error:?}");
    let served = bench.dir.path().join("served/o/r.git");
    git(&served, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let error = bench.pull(&wanted).await.unwrap_err();
    assert!(matches!(&error, Error::HeadMoved { .. }), "{error:?}");
}

#[tokio::test]
async fn a_head_ahead_of_its_ref_is_fetched_by_its_id_where_the_server_allows_it() {
    let bench = Bench::new().await;
    bench.simple();
    bench.commit(&[("a.txt", "one\nahead\nthree\n")]);
    let head = bench.push("refs/heads/topic");
    git(&bench.dir.path().join("served/o/r.git"), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(lines(file(&change.diff().await.unwrap(), "a.txt")), ["-two", "+ahead"]);
}

#[tokio::test]
async fn a_deleted_base_branch_is_named() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    for branch in ["gone", "bad name", "a*b", "x:refs/heads/y", ""] {
        let pulled = bench.mirrors().pull(bench.remote(), PULL, &head, branch, &CancellationToken::new()).await;
        let error = pulled.unwrap_err();
        assert!(matches!(&error, Error::BaseGone { branch: b } if b == branch), "{error:?}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_tried_once_and_never_shown() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let mut remote = bench.remote();
    remote.credential.as_mut().unwrap().token = Secret::new("ghs_wrong_canary");
    let error = bench.pull_from(remote, &head).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
    assert!(error.hint().is_some() && !error.is_transient());
    let seen = bench.server.seen();
    let [only] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((only.method.as_str(), only.path.as_str(), only.status), ("GET", "/o/r.git/info/refs", 401));
    assert!(!format!("{error} {error:?}").contains("canary"));
}

#[tokio::test]
async fn the_token_leaves_no_trace_in_the_mirror() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.pull(&head).await.unwrap();
    for (path, bytes) in tree_of(&bench.root()) {
        let held = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!held.contains(TOKEN) && !held.contains(&bench.server.origin), "{path:?}");
    }
}

#[tokio::test]
async fn a_token_of_another_origin_is_not_sent() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let mut remote = bench.remote();
    remote.credential.as_mut().unwrap().origin = bench.server.origin.replace("127.0.0.1", "localhost");
    let error = bench.pull_from(remote, &head).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
    assert!(bench.server.seen().iter().all(|seen| seen.authorization.is_none()));
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let other = GitServer::start(&bench.dir.path().join("served"), None).await;
    bench.server.behave(Manner::Redirect(other.origin.clone()));
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(&error, Error::Redirected { to, .. } if *to == other.origin), "{error:?}");
    assert_eq!(other.seen().len(), 0);
    assert_eq!(bench.server.seen().len(), 1);
}

#[tokio::test]
async fn plain_http_leaves_the_machine_for_nobody() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    for url in ["http://example.test/o/r.git", "file:///etc", "https://user:pass@example.test/r.git"] {
        let remote = Remote { url: url.to_owned(), ..bench.remote() };
        let error = bench.pull_from(remote, &head).await.unwrap_err();
        assert!(matches!(error, Error::Address { .. }), "{error:?}");
        assert!(!error.to_string().contains("pass@"));
    }
}

#[tokio::test]
async fn a_silent_server_is_left_in_time() {
    let mut bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.limits.idle = Duration::from_millis(200);
    bench.server.behave(Manner::Stall);
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error:?}");
    assert!(error.is_transient());

    bench.limits.idle = Duration::from_secs(60);
    bench.limits.total = Duration::from_millis(300);
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
}

#[tokio::test]
async fn a_cancelled_pull_ends_though_the_server_is_silent() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.server.behave(Manner::Stall);
    let cancel = CancellationToken::new();
    let mirrors = bench.mirrors();
    let pull = mirrors.pull(bench.remote(), PULL, &head, "main", &cancel);
    let stop = async {
        while bench.server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(pull, stop);
    assert!(matches!(result.unwrap_err(), Error::Cancelled));
    bench.server.behave(Manner::Honest);
    bench.pull(&head).await.unwrap();
}

#[tokio::test]
async fn nonsense_from_the_server_is_an_error_and_the_next_pull_works() {
    let mut bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.limits.idle = Duration::from_secs(5);
    let nonsense: &[Manner] = &[
        Manner::Refs(Vec::new()),
        Manner::Refs(b"<html>hello</html>".to_vec()),
        Manner::Refs(b"001e# service=git-upload-pack\n00000000".to_vec()),
        Manner::Refs(b"001e# service=git-upload-pack\n0000fff0abc".to_vec()),
        Manner::Pack(Vec::new()),
        Manner::Pack(b"garbage, no packet at all".to_vec()),
        Manner::Pack(b"0008NAK\n0011\x02PACK\0\0\0\x02\xff\xff\xff\xff".to_vec()),
        Manner::Pack(b"0008NAK\n0021\x02PACK\0\0\0\x02\0\0\0\x000123456789abcdef0000".to_vec()),
        Manner::Pack(b"0008NAK\n0009\x03bad\n0000".to_vec()),
        Manner::Status(500),
        Manner::Status(404),
    ];
    for manner in nonsense {
        bench.server.behave(manner.clone());
        let started = Instant::now();
        let error = bench.pull(&head).await.expect_err(&format!("{manner:?}"));
        assert!(started.elapsed() < Duration::from_secs(5), "{manner:?}: {error}");
        assert!(!format!("{error:?}").contains(TOKEN));
        match manner {
            Manner::Status(404) => assert!(matches!(error, Error::RepositoryGone { .. }), "{error:?}"),
            Manner::Status(_) => assert!(error.is_transient(), "{error:?}"),
            Manner::Refs(body) if body.ends_with(b"00000000") => {
                assert!(matches!(error, Error::BaseGone { .. }), "no refs at all: {error:?}");
            }
            _ => assert!(error.is_transient(), "{manner:?}: {error:?}"),
        }
    }
    bench.server.behave(Manner::Honest);
    bench.pull(&head).await.unwrap();
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let mut bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.limits.pack_bytes = 1 << 20;
    bench.server.behave(Manner::Endless);
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. } | Error::Git { .. } | Error::Protocol { .. }), "{error:?}");
    bench.limits.advertisement = 10;
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_pack_of_too_many_objects_is_refused() {
    let mut bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.limits.pack_objects = 3;
    let error = bench.pull(&head).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_damaged_mirror_is_fetched_anew() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let whole = |change: Change| async move { lines(file(&change.diff().await.unwrap(), "a.txt")).join(" ") };
    assert_eq!(whole(bench.pull(&head).await.unwrap()).await, "-two +2");
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let damage: [Damage<'_>; 6] = [
        ("no HEAD", &|mirror| fs::remove_file(mirror.join("HEAD")).unwrap()),
        ("garbage packs", &|mirror| garble(&mirror.join("objects/pack"))),
        ("no objects", &|mirror| fs::remove_dir_all(mirror.join("objects")).unwrap()),
        ("a file in its place", &|mirror| {
            fs::remove_dir_all(mirror).unwrap();
            fs::write(mirror, "?").unwrap();
        }),
        ("foreign objects", &|mirror| fs::write(mirror.join("objects/info/alternates"), "/etc\n").unwrap()),
        ("left by a killed process", &|mirror| {
            fs::write(mirror.join("shallow.lock"), "").unwrap();
            fs::write(mirror.join("HEAD.lock"), "").unwrap();
            fs::write(mirror.join("objects/pack/pack_git2_abc"), "PACK").unwrap();
        }),
    ];
    for (name, spoil) in damage {
        spoil(&bench.mirror());
        let change = bench.pull(&head).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(whole(change).await, "-two +2", "{name}");
        assert!(!bench.mirror().join("shallow.lock").exists());
    }
    assert_eq!(fs::read_dir(bench.root()).unwrap().count(), 2, "the mirror and its lock");
}

#[tokio::test]
async fn damage_that_a_reader_meets_is_mended_by_the_next_pull() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let change = bench.pull(&head).await.unwrap();
    let pack = newest_pack(&bench.mirror()).with_extension("pack");
    // Past the header and the commits: what the refs need is whole, a file is not.
    let mut bytes = fs::read(&pack).unwrap();
    let from = bytes.len() / 2;
    let to = bytes.len() - 20;
    bytes[from..to].fill(0x5a);
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
    let error = change.diff().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(lines(file(&change.diff().await.unwrap(), "a.txt")), ["-two", "+2"]);
}

fn garble(dir: &Path) {
    for item in fs::read_dir(dir).unwrap() {
        let path = item.unwrap().path();
        let length = fs::metadata(&path).unwrap().len();
        fs::remove_file(&path).unwrap();
        fs::write(&path, vec![0xa5; usize::try_from(length).unwrap()]).unwrap();
    }
}

#[tokio::test]
async fn a_mirror_that_has_grown_too_large_starts_anew() {
    let mut bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.limits.mirror_packs = 1;
    bench.pull(&head).await.unwrap();
    for n in 0..4 {
        bench.commit(&[("a.txt", &format!("{n}\n"))]);
        let head = bench.push("refs/pull/1/head");
        let change = bench.pull(&head).await.unwrap();
        assert_eq!(change.new_side("a.txt").await.unwrap(), text(&format!("{n}\n")));
    }
    let files = fs::read_dir(bench.mirror().join("objects/pack")).unwrap().count();
    assert!(files <= 4, "two packs and their indices, not {files} files");
}

#[tokio::test]
async fn a_mirror_that_holds_too_many_objects_of_ours_starts_anew() {
    let mut bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.limits.mirror_loose = 2;
    let mirrors = bench.mirrors();
    let pull = async || mirrors.pull(bench.remote(), PULL, &head, "main", &CancellationToken::new()).await.unwrap();
    let change = pull().await;
    let before = bench.mirror();
    for n in 1..4 {
        let edit = Edit::Write { path: format!("{n}.txt"), text: vec![b'x'; n], executable: None };
        change.head_tree().with(&[edit]).await.unwrap();
    }
    pull().await;
    assert_eq!(bench.mirror(), before, "somebody is reading it");
    drop(change);
    pull().await;
    let after = bench.mirror();
    assert_ne!(after, before);
    pull().await;
    assert_eq!(bench.mirror(), after, "nothing of ours lies there");
}

#[tokio::test]
async fn many_pulls_at_once_take_turns() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let (one, other) = (bench.mirrors(), bench.mirrors());
    let cancel = CancellationToken::new();
    let pulls = (0..6).map(|n| {
        let mirrors = if n % 2 == 0 { &one } else { &other };
        mirrors.pull(bench.remote(), PULL, &head, "main", &cancel)
    });
    for change in futures::future::join_all(pulls).await {
        assert_eq!(change.unwrap().diff().await.unwrap().total_files, 1);
    }
}

#[tokio::test]
async fn a_purged_repository_leaves_nothing_to_read() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    let mirrors = bench.mirrors();
    mirrors.pull(bench.remote(), PULL, &head, "main", &CancellationToken::new()).await.unwrap();
    mirrors.purge(REPOSITORY).await.unwrap();
    mirrors.purge(RepositoryId(999)).await.unwrap();
    assert!(!bench.root().join("7").exists());
    bench.pull(&head).await.unwrap();
}

#[tokio::test]
async fn a_poisoned_mirror_config_is_not_heard() {
    let bench = Bench::new().await;
    let (_, head) = bench.simple();
    bench.pull(&head).await.unwrap();
    let other = GitServer::start(&bench.dir.path().join("served"), None).await;
    let config = format!(
        "[core]\n\tbare = true\n\trepositoryformatversion = 0\n\tworktree = /tmp\n[url \"{}/o/r.git\"]\n\tinsteadOf = octoswarm://remote\n[http]\n\tproxy = {}\n",
        other.origin, other.origin
    );
    fs::write(bench.mirror().join("config"), config).unwrap();
    bench.commit(&[("a.txt", "new\n")]);
    let head = bench.push("refs/pull/1/head");
    let change = bench.pull(&head).await.unwrap();
    assert_eq!(change.new_side("a.txt").await.unwrap(), text("new\n"));
    assert_eq!(other.seen().len(), 0);
}

pub(super) fn tree_of(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}
