//! The two ways in which a repository on this machine is written to.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

const AT: i64 = 1_800_000_000_000;

/// Everything below a folder but objects and reflogs: what a write might have touched.
fn state(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = super::pull::tree_of(dir);
    let aside = |path: &Path| {
        let inside = path.strip_prefix(dir.join(".git")).ok();
        inside.is_some_and(|path| path.starts_with("objects") || path.starts_with("logs"))
    };
    files.into_iter().filter(|(path, _)| !aside(path)).collect()
}

fn mode(dir: &Path, path: &str) -> u32 {
    fs::metadata(dir.join(path)).unwrap().permissions().mode() & 0o777
}

fn names(dir: &Path) -> Vec<String> {
    let files = state(dir).into_keys().map(|path| path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned());
    files.filter(|path| !path.starts_with(".git/")).collect()
}

#[tokio::test]
async fn the_trees_of_a_repository_are_read_from_any_folder_of_it() {
    let (dir, head) = repository_of(&[("a.txt", "a\n"), ("src/lib.rs", "l\n")]);
    for path in ["", "src", "src/lib.rs"] {
        let path = dir.path().join(path);
        let (tree, head_tree) = (local::tree(&path).await.unwrap(), local::head_tree(&path).await.unwrap());
        assert_eq!((tree.commit(), tree.id()), (&head, head_tree.id()), "clean");
        assert_eq!(tree.read("a.txt").await.unwrap(), text("a\n"), "paths count from the root");
    }
    write(dir.path(), "a.txt", b"dirty\n");
    write(dir.path(), "new.txt", b"new\n");
    let (tree, head_tree) = (local::tree(&dir.path().join("src")).await, local::head_tree(dir.path()).await);
    let (tree, head_tree) = (tree.unwrap(), head_tree.unwrap());
    assert_eq!(tree.read("a.txt").await.unwrap(), text("dirty\n"));
    assert_eq!(tree.entry("new.txt").await.unwrap(), Some(EntryKind::Regular));
    assert_eq!(head_tree.read("a.txt").await.unwrap(), text("a\n"));
    assert_eq!(head_tree.entry("new.txt").await.unwrap(), None);
}

#[tokio::test]
async fn what_has_no_tree_says_why() {
    let outside = TempDir::new().unwrap();
    let error = local::tree(outside.path()).await.unwrap_err();
    assert!(matches!(error, Error::NotARepository { .. }), "{error:?}");
    let error = local::head_tree(&outside.path().join("gone")).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchPath { .. }), "{error:?}");
    git(outside.path(), &["init", "-q"]);
    for error in [local::tree(outside.path()).await.unwrap_err(), local::head_tree(outside.path()).await.unwrap_err()] {
        assert!(matches!(error, Error::Unborn { .. }), "{error:?}");
    }
    let (dir, head) = repository_of(&[("a.txt", "a\n")]);
    let bare = TempDir::new().unwrap();
    git(bare.path(), &["clone", "-q", "--bare", dir.path().to_str().unwrap(), "."]);
    let error = local::tree(bare.path()).await.unwrap_err();
    assert!(matches!(error, Error::Bare { .. }), "{error:?}");
    let tree = local::head_tree(bare.path()).await.unwrap();
    assert_eq!(tree.commit(), &head);
    let error = local::apply(bare.path(), &tree, &[edit("a.txt", "b\n")]).await.unwrap_err();
    assert!(matches!(error, Error::Bare { .. }), "{error:?}");
    let new = tree.with(&[edit("a.txt", "b\n")]).await.unwrap();
    let commit = local::create_branch(bare.path(), "topic", &new, "m", Some(&bot()), AT).await.unwrap();
    assert_eq!(git(bare.path(), &["rev-parse", "topic"]), commit.as_str());
}

#[tokio::test]
async fn a_new_branch_touches_nothing_else() {
    let (dir, head) = repository_of(&[("a.txt", "a\n"), ("src/lib.rs", "l\n")]);
    write(dir.path(), "a.txt", b"dirty\n");
    write(dir.path(), "staged.txt", b"s\n");
    git(dir.path(), &["add", "staged.txt"]);
    let tree = local::head_tree(dir.path()).await.unwrap();
    let new = tree.with(&[edit("src/new/x.rs", "x\n"), delete("src/lib.rs")]).await.unwrap();
    let before = state(dir.path());
    let commit = local::create_branch(dir.path(), "swarm/x", &new, "fix: x", Some(&bot()), AT).await.unwrap();
    let mut after = state(dir.path());
    assert_eq!(after.remove(&dir.path().join(".git/refs/heads/swarm/x")).unwrap(), format!("{commit}\n").as_bytes());
    assert!(before == after, "something else changed");
    assert_eq!(git(dir.path(), &["rev-parse", "swarm/x^"]), head.as_str());
    assert_eq!(git(dir.path(), &["rev-parse", "swarm/x^{tree}"]), new.id().as_str());
    assert_eq!(git(dir.path(), &["ls-tree", "-r", "--name-only", "swarm/x"]), "a.txt\nsrc/new/x.rs");
    git(dir.path(), &["fsck", "--full", "--strict"]);

    for (name, way) in [("swarm/x", "swarm/x"), ("swarm", "swarm/x"), ("swarm/x/y", "swarm/x"), ("main", "main")] {
        let error = local::create_branch(dir.path(), name, &new, "m", Some(&bot()), AT).await.unwrap_err();
        assert!(matches!(&error, Error::BranchExists { branch } if branch == way), "{name}: {error:?}");
    }
    for name in ["", "-d", "a b", "HEAD", "a..b"] {
        let error = local::create_branch(dir.path(), name, &new, "m", Some(&bot()), AT).await.unwrap_err();
        assert!(matches!(error, Error::BranchName { .. }), "{name}: {error:?}");
    }
    let again = local::create_branch(dir.path(), "again", &new, "fix: x", Some(&bot()), AT).await.unwrap();
    assert_eq!(again, commit, "the same work, the same commit");
}

#[tokio::test]
async fn a_branch_of_a_dirty_work_tree_brings_it_along_unless_it_cannot() {
    let (dir, _) = repository_of(&[("a.txt", "a\n")]);
    write(dir.path(), "new/b.txt", b"b\n");
    git(dir.path(), &["config", "user.name", "Grace"]);
    git(dir.path(), &["config", "user.email", "grace@example.test"]);
    assert_eq!(local::identity(dir.path()).await.unwrap().name, "Grace");
    assert_eq!(local::identity(&dir.path().join("nowhere")).await, None);
    let tree = local::tree(dir.path()).await.unwrap();
    let new = tree.with(&[edit("a.txt", "better\n")]).await.unwrap();
    local::create_branch(dir.path(), "one", &new, "m", None, AT).await.unwrap();
    assert_eq!(git(dir.path(), &["show", "one:new/b.txt"]), "b");
    assert_eq!(git(dir.path(), &["show", "-s", "--format=%an <%ae>", "one"]), "Grace <grace@example.test>");

    write(dir.path(), "big.txt", &b"big\n".repeat(400_000));
    let tree = local::tree(dir.path()).await.unwrap();
    let error = local::create_branch(dir.path(), "two", &tree, "m", None, AT).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { path, .. } if path == "big.txt"), "{error:?}");
    assert_eq!(git(dir.path(), &["branch", "--list", "two"]), "");

    let (other, _) = repository_of(&[("other.txt", "o\n")]);
    let error = local::create_branch(other.path(), "three", &new, "m", Some(&bot()), AT).await.unwrap_err();
    assert!(matches!(error, Error::UnknownRevision { .. }), "{error:?}");
}

#[tokio::test]
async fn edits_reach_the_files_and_nothing_else() {
    let (dir, _) = repository_of(&[("a.txt", "a\n"), ("run.sh", "r\n"), ("secret", "s\n"), ("only/one.txt", "1\n")]);
    fs::set_permissions(dir.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(dir.path().join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    write(dir.path(), "mine.txt", b"mine\n");
    let tree = local::tree(dir.path()).await.unwrap();
    let bits = |path: &str, on| Edit::Write { path: path.to_owned(), text: b"x\n".to_vec(), executable: Some(on) };
    let git_before: Vec<_> =
        state(dir.path()).into_iter().filter(|(path, _)| path.starts_with(dir.path().join(".git"))).collect();
    let edits = [
        edit("a.txt", "b\n"),
        edit("run.sh", "again\n"),
        edit("secret", "t\n"),
        edit("deep/er/new.txt", "n\n"),
        bits("tool", true),
        delete("only/one.txt"),
    ];
    local::apply(&dir.path().join("deep/.."), &tree, &edits[..0]).await.unwrap_err();
    local::apply(&dir.path().join("only"), &tree, &edits).await.unwrap();
    assert_eq!(names(dir.path()), ["a.txt", "deep/er/new.txt", "mine.txt", "run.sh", "secret", "tool"]);
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "b\n");
    assert_eq!(fs::read_to_string(dir.path().join("deep/er/new.txt")).unwrap(), "n\n");
    assert_eq!((mode(dir.path(), "run.sh"), mode(dir.path(), "secret")), (0o755, 0o600));
    assert_eq!(mode(dir.path(), "tool") & 0o100, 0o100);
    assert_eq!(mode(dir.path(), "deep/er/new.txt") & 0o111, 0);
    assert!(dir.path().join("only").is_dir(), "an emptied folder stays");
    let git_after: Vec<_> =
        state(dir.path()).into_iter().filter(|(path, _)| path.starts_with(dir.path().join(".git"))).collect();
    assert!(git_before == git_after, "something below .git changed");

    let tree = local::tree(dir.path()).await.unwrap();
    local::apply(dir.path(), &tree, &[bits("run.sh", false), bits("a.txt", true)]).await.unwrap();
    assert_eq!((mode(dir.path(), "run.sh"), mode(dir.path(), "a.txt") & 0o100), (0o644, 0o100));
}

#[tokio::test]
async fn a_file_that_is_not_as_it_was_read_stops_all_of_them() {
    let (dir, _) = repository_of(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("folder/d.txt", "d\n")]);
    let tree = local::tree(dir.path()).await.unwrap();
    let changed = async |edits: &[Edit], at: &str| {
        let before = state(dir.path());
        let error = local::apply(dir.path(), &tree, edits).await.unwrap_err();
        assert!(matches!(&error, Error::FileChanged { path } if path == at), "{error:?}");
        assert!(error.to_string().contains(at) && before == state(dir.path()));
    };
    write(dir.path(), "b.txt", b"user's\n");
    changed(&[edit("a.txt", "x\n"), edit("b.txt", "x\n")], "b.txt").await;
    changed(&[edit("a.txt", "x\n"), delete("b.txt")], "b.txt").await;
    fs::remove_file(dir.path().join("c.txt")).unwrap();
    changed(&[edit("a.txt", "x\n"), edit("c.txt", "x\n")], "c.txt").await;
    write(dir.path(), "new.txt", b"user's\n");
    changed(&[edit("a.txt", "x\n"), edit("new.txt", "x\n")], "new.txt").await;
    fs::create_dir(dir.path().join("c.txt")).unwrap();
    changed(&[edit("a.txt", "x\n"), edit("c.txt", "x\n")], "c.txt").await;
    symlink("a.txt", dir.path().join("linked")).unwrap();
    changed(&[edit("a.txt", "x\n"), edit("linked", "x\n")], "linked").await;
    local::apply(dir.path(), &tree, &[edit("a.txt", "x\n")]).await.unwrap();
}

#[tokio::test]
async fn no_edit_goes_through_a_link() {
    let (dir, _) = repository_of(&[("a.txt", "a\n"), ("d/secret", "mine\n")]);
    let tree = local::head_tree(dir.path()).await.unwrap();
    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret", b"mine\n");
    fs::remove_dir_all(dir.path().join("d")).unwrap();
    symlink(outside.path(), dir.path().join("d")).unwrap();
    for edits in [
        [edit("a.txt", "x\n"), edit("d/secret", "x\n")],
        [edit("a.txt", "x\n"), delete("d/secret")],
        [edit("a.txt", "x\n"), edit("d/new/x", "x\n")],
    ] {
        let error = local::apply(dir.path(), &tree, &edits).await.unwrap_err();
        assert!(matches!(&error, Error::Refused { why, .. } if why.contains("link")), "{error:?}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "a\n");
    assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "mine\n");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    for bad in ["../x", "/tmp/x", ".git/hooks/post-checkout", ".git/config"] {
        let error = local::apply(dir.path(), &tree, &[edit(bad, "x\n")]).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_work_tree_with_other_line_endings_keeps_them() {
    let (dir, _) = repository_of(&[(".gitattributes", "*.txt text eol=crlf\n"), ("a.txt", "one\ntwo\n")]);
    write(dir.path(), "a.txt", b"one\r\ntwo\r\n");
    let tree = local::tree(dir.path()).await.unwrap();
    assert_eq!(tree.read("a.txt").await.unwrap(), text("one\ntwo\n"));
    local::apply(dir.path(), &tree, &[edit("a.txt", "one\n2\n")]).await.unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("a.txt")).unwrap(), "one\r\n2\r\n");
}
