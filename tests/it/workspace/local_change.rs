//! Repositories on this machine, and scans without git.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::SystemTime;

use super::*;

fn init() -> TempDir {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    dir
}

/// Every file of `.git` with its content and time of change.
fn fingerprint(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let files = super::pull::tree_of(&dir.join(".git"));
    files
        .into_iter()
        .map(|(path, bytes)| (path.clone(), (bytes, fs::metadata(&path).unwrap().modified().unwrap())))
        .collect()
}

#[tokio::test]
async fn a_dirty_work_tree_is_read_whole_and_its_repository_left_alone() {
    let dir = init();
    let files = [
        ("staged.txt", "s\n"),
        ("edited.txt", "e\n"),
        ("gone.txt", "g\n"),
        ("run.sh", "r\n"),
        ("deep/er/kept.txt", "k\n"),
    ];
    commit(dir.path(), &files);
    commit(dir.path(), &[(".gitignore", "ignored/\n*.log\n")]);
    let head = git(dir.path(), &["rev-parse", "HEAD"]);
    write(dir.path(), "staged.txt", b"staged\n");
    git(dir.path(), &["add", "staged.txt"]);
    write(dir.path(), "edited.txt", b"edited\n");
    fs::remove_file(dir.path().join("gone.txt")).unwrap();
    fs::set_permissions(dir.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    write(dir.path(), "new/untracked.txt", b"u\n");
    write(dir.path(), "ignored/x.txt", b"i\n");
    write(dir.path(), "x.log", b"l\n");
    write(dir.path(), "big.txt", &b"big\n".repeat(400_000));
    symlink("/etc/passwd", dir.path().join("passwd")).unwrap();
    symlink("/etc", dir.path().join("etc")).unwrap();
    git(dir.path(), &["init", "-q", "nested"]);
    let before = fingerprint(dir.path());

    let change = local::change(dir.path(), None, None).await.unwrap();
    assert!(change.work_tree);
    assert_eq!((change.base.as_str(), change.head.as_str()), (head.as_str(), head.as_str()));
    let diff = change.diff().await.unwrap();
    assert_eq!(
        paths(&diff),
        ["big.txt", "edited.txt", "etc", "gone.txt", "new/untracked.txt", "passwd", "run.sh", "staged.txt"]
    );
    assert_eq!(lines(file(&diff, "staged.txt")), ["-s", "+staged"]);
    assert_eq!(lines(file(&diff, "edited.txt")), ["-e", "+edited"]);
    assert_eq!(lines(file(&diff, "new/untracked.txt")), ["+u"]);
    assert_eq!(file(&diff, "gone.txt").kind, ChangeKind::Removed);
    assert_eq!(file(&diff, "run.sh").kind, ChangeKind::Mode);
    assert_eq!(lines(file(&diff, "passwd")), ["+/etc/passwd"], "the link, not the file behind it");
    assert_eq!(not_read(&diff, "big.txt"), "larger than 1 MiB");
    assert_eq!(reason(change.new_side("big.txt").await.unwrap()), "larger than 1 MiB");
    assert_eq!(change.new_side("deep/er/kept.txt").await.unwrap(), text("k\n"));
    assert_eq!(change.new_side("gone.txt").await.unwrap(), Side::Absent);
    let paths = change.new_paths().await.unwrap();
    assert!(paths.contains("deep/er") && !paths.contains("x.log") && !paths.contains("ignored"), "{paths:?}");

    assert!(before == fingerprint(dir.path()), "something below .git changed");
    let again = local::change(dir.path(), None, None).await.unwrap();
    assert_eq!(again.tree, change.tree);
}

#[tokio::test]
async fn the_snapshot_of_a_work_tree_is_the_tree_git_would_write() {
    let dir = init();
    commit(dir.path(), &[("a/b", "1\n"), ("a.b", "2\n"), ("a-b", "3\n"), ("a0/x", "4\n"), ("crlf.txt", "x\n")]);
    commit(dir.path(), &[(".gitattributes", "*.txt text\n")]);
    write(dir.path(), "a/c/d", b"5\n");
    write(dir.path(), "a0/x", b"6\n");
    write(dir.path(), "crlf.txt", b"x\r\ny\r\n");
    let change = local::change(dir.path(), None, None).await.unwrap();
    git(dir.path(), &["add", "-A"]);
    assert_eq!(change.tree.as_str(), git(dir.path(), &["write-tree"]));
}

#[tokio::test]
async fn a_clean_work_tree_is_the_head() {
    let dir = init();
    commit(dir.path(), &[("a", "a\n")]);
    let change = local::change(dir.path(), None, None).await.unwrap();
    assert_eq!(change.diff().await.unwrap(), Diff::default());
    assert_eq!(change.tree.as_str(), git(dir.path(), &["rev-parse", "HEAD^{tree}"]));
}

#[tokio::test]
async fn a_subfolder_limits_the_change() {
    let dir = init();
    commit(dir.path(), &[("src/a.rs", "a\n"), ("docs/b.md", "b\n")]);
    write(dir.path(), "src/a.rs", b"changed\n");
    write(dir.path(), "docs/b.md", b"changed\n");
    write(dir.path(), "docs/c.md", b"new\n");
    let change = local::change(&dir.path().join("src"), None, None).await.unwrap();
    assert_eq!(paths(&change.diff().await.unwrap()), ["src/a.rs"]);
    assert_eq!(change.new_side("docs/b.md").await.unwrap(), text("b\n"), "outside, what was committed");
    let change = local::change(&dir.path().join("docs/c.md"), None, None).await.unwrap();
    assert_eq!(paths(&change.diff().await.unwrap()), ["docs/c.md"]);
}

#[tokio::test]
async fn the_base_is_the_merge_base_with_the_default_branch() {
    let dir = init();
    let fork = commit(dir.path(), &[("a", "a\n")]);
    git(dir.path(), &["checkout", "-q", "-b", "topic"]);
    commit(dir.path(), &[("b", "b\n")]);
    git(dir.path(), &["checkout", "-q", "main"]);
    commit(dir.path(), &[("c", "c\n")]);
    git(dir.path(), &["checkout", "-q", "topic"]);
    write(dir.path(), "d", b"d\n");
    let change = local::change(dir.path(), None, None).await.unwrap();
    assert_eq!(change.base, fork);
    assert_eq!(paths(&change.diff().await.unwrap()), ["b", "d"]);

    git(dir.path(), &["checkout", "-q", "--detach"]);
    let change = local::change(dir.path(), None, None).await.unwrap();
    assert_eq!((&change.base, paths(&change.diff().await.unwrap())), (&fork, vec!["b", "d"]));

    let change = local::change(dir.path(), Some("main"), Some("topic")).await.unwrap();
    assert!(!change.work_tree);
    assert_eq!(paths(&change.diff().await.unwrap()), ["b"]);
}

#[tokio::test]
async fn on_the_default_branch_the_base_is_what_was_pushed() {
    let dir = init();
    let pushed = commit(dir.path(), &[("a", "a\n")]);
    let served = TempDir::new().unwrap();
    git(served.path(), &["init", "-q", "--bare", "-b", "main"]);
    git(dir.path(), &["remote", "add", "origin", served.path().to_str().unwrap()]);
    git(dir.path(), &["push", "-q", "-u", "origin", "main"]);
    commit(dir.path(), &[("b", "b\n")]);
    write(dir.path(), "c", b"c\n");
    let change = local::change(dir.path(), None, None).await.unwrap();
    assert_eq!((&change.base, paths(&change.diff().await.unwrap())), (&pushed, vec!["b", "c"]));
}

#[tokio::test]
async fn a_work_tree_of_a_linked_and_of_a_borrowing_repository_is_read() {
    let dir = init();
    commit(dir.path(), &[("a", "a\n")]);
    let other = TempDir::new().unwrap();
    let linked = other.path().join("linked");
    git(dir.path(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let borrowing = other.path().join("borrowing");
    git(other.path(), &["clone", "-q", "--shared", dir.path().to_str().unwrap(), "borrowing"]);
    for work in [linked, borrowing] {
        write(&work, "a", b"b\n");
        let change = local::change(&work, None, None).await.unwrap();
        assert_eq!(lines(file(&change.diff().await.unwrap(), "a")), ["-a", "+b"]);
    }
}

#[tokio::test]
async fn a_work_tree_reached_through_a_link_is_not_read() {
    let dir = init();
    commit(dir.path(), &[("d/secret", "mine\n"), ("e", "e\n")]);
    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret", b"theirs\n");
    fs::remove_dir_all(dir.path().join("d")).unwrap();
    symlink(outside.path(), dir.path().join("d")).unwrap();
    let change = local::change(dir.path(), None, None).await.unwrap();
    let diff = change.diff().await.unwrap();
    assert_eq!(paths(&diff), ["d", "d/secret"]);
    assert_eq!(file(&diff, "d/secret").kind, ChangeKind::Removed);
    assert_eq!(reason(change.new_side("d").await.unwrap()), "symbolic link");
    assert_eq!(change.new_side("d/secret").await.unwrap(), Side::Absent);
}

#[tokio::test]
async fn what_cannot_be_reviewed_says_so_and_what_to_do() {
    let outside = TempDir::new().unwrap();
    let error = local::change(outside.path(), None, None).await.unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("scan"));
    let error = local::change(&outside.path().join("nowhere"), None, None).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchPath { .. }), "{error:?}");

    let dir = init();
    let error = local::change(dir.path(), None, None).await.unwrap_err();
    assert!(matches!(error, Error::Unborn { .. }), "{error:?}");
    commit(dir.path(), &[("a", "a\n")]);
    git(dir.path(), &["branch", "feature/login"]);
    for (revision, near) in [("mian", vec!["main"]), ("login", vec!["feature/login"]), ("zzzzzz", vec![])] {
        let error = local::change(dir.path(), Some(revision), None).await.unwrap_err();
        let Error::UnknownRevision { nearest_names, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*nearest_names, near, "{error}");
    }

    let bare = TempDir::new().unwrap();
    git(bare.path(), &["clone", "-q", "--bare", dir.path().to_str().unwrap(), "."]);
    let error = local::change(bare.path(), None, None).await.unwrap_err();
    assert!(matches!(error, Error::Bare { .. }), "{error:?}");
    git(bare.path(), &["config", "--unset", "core.bare"]);
    let error = local::change(bare.path(), None, None).await.unwrap_err();
    assert!(matches!(error, Error::Bare { .. }), "{error:?}");
    commit(dir.path(), &[("b", "b\n")]);
    git(bare.path(), &["fetch", "-q", dir.path().to_str().unwrap(), "main:main"]);
    let change = local::change(bare.path(), Some("feature/login"), Some("main")).await.unwrap();
    assert_eq!(paths(&change.diff().await.unwrap()), ["b"]);
}

#[tokio::test]
async fn a_shallow_clone_without_a_common_ancestor_asks_for_more_history() {
    let dir = init();
    commit(dir.path(), &[("a", "a\n")]);
    git(dir.path(), &["checkout", "-q", "-b", "topic"]);
    commit(dir.path(), &[("b", "b\n")]);
    git(dir.path(), &["checkout", "-q", "main"]);
    commit(dir.path(), &[("c", "c\n")]);
    let url = format!("file://{}", dir.path().display());
    let clone = TempDir::new().unwrap();
    git(clone.path(), &["clone", "-q", "--depth", "1", "--no-single-branch", &url, "."]);
    let error = local::change(clone.path(), Some("origin/main"), Some("origin/topic")).await.unwrap_err();
    assert!(matches!(error, Error::NoMergeBase { shallow: true, .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("--unshallow"));
}

#[test]
fn a_scan_honours_ignore_files_and_follows_no_link() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), ".gitignore", b"target/\n");
    write(dir.path(), "target/x.rs", b"no\n");
    write(dir.path(), ".git/config", b"no\n");
    write(dir.path(), ".github/workflows/ci.yml", b"yes\n");
    write(dir.path(), "src/lib.rs", b"yes\n");
    write(dir.path(), "src/deep/mod.rs", b"yes\n");
    write(dir.path(), "logo.png", b"\x89PNG\0");
    write(dir.path(), "big.rs", &b"x\n".repeat(1 << 20));
    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret.rs", b"no\n");
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(outside.path().join("secret.rs"), dir.path().join("secret.rs")).unwrap();
    let root = dir.path().to_str().unwrap().to_owned();
    let found: BTreeMap<String, Side> = walk(&[dir.path().to_owned()], &Limits::default())
        .unwrap()
        .filter_map(Listed::read)
        .map(|found| (found.path.strip_prefix(&format!("{root}/")).unwrap().to_owned(), found.content))
        .collect();
    let expected = [
        (".github/workflows/ci.yml", text("yes\n")),
        (".gitignore", text("target/\n")),
        ("big.rs", Side::NotRead("larger than 1 MiB".to_owned())),
        ("logo.png", Side::NotRead("binary".to_owned())),
        ("out", Side::NotRead("symbolic link".to_owned())),
        ("secret.rs", Side::NotRead("symbolic link".to_owned())),
        ("src/deep/mod.rs", text("yes\n")),
        ("src/lib.rs", text("yes\n")),
    ];
    assert_eq!(found, expected.map(|(path, side)| (path.to_owned(), side)).into());

    let one: Vec<_> =
        walk(&[dir.path().join("src/lib.rs")], &Limits::default()).unwrap().filter_map(Listed::read).collect();
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].content, text("yes\n"));
    let Err(error) = walk(&[dir.path().join("nowhere")], &Limits::default()) else { panic!("it exists") };
    assert!(matches!(error, Error::NoSuchPath { .. }), "{error:?}");
}
