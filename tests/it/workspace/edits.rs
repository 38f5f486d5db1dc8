//! Trees of ours: what may be written onto one, and that the same work gives the same ids.

use std::collections::HashSet;
use std::os::unix::fs::{PermissionsExt, symlink};

use git2::Repository;

use super::*;

/// A tree with one of everything.
async fn everything() -> (TempDir, Tree) {
    let (dir, head) =
        repository_of(&[("a.txt", "a\n"), ("src/lib.rs", "l\n"), ("src/deep/x.rs", "x\n"), ("run.sh", "r\n")]);
    fs::set_permissions(dir.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("src", dir.path().join("linked")).unwrap();
    symlink("/etc/passwd", dir.path().join("passwd")).unwrap();
    git(dir.path(), &["add", "-A"]);
    git(dir.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{head},vendored")]);
    git(dir.path(), &["commit", "-q", "-m", "all"]);
    let tree = local::head_tree(dir.path()).await.unwrap();
    (dir, tree)
}

/// The tree id that git itself gives to the work tree after some change of it.
fn by_git(dir: &Path, change: impl Fn(&Path)) -> String {
    change(dir);
    git(dir, &["add", "-A", "--", ".", ":!vendored"]);
    let id = git(dir, &["write-tree"]);
    git(dir, &["reset", "-q", "--hard"]);
    id
}

#[tokio::test]
async fn edits_make_the_tree_that_git_would_make() {
    let (dir, tree) = everything().await;
    let new = tree
        .with(&[
            edit("a.txt", "b\r\n"),
            edit("src/deep/new/er.rs", "n\n"),
            edit("src/lib.rs.bak", "s\n"),
            edit("src-a", "s\n"),
            edit("run.sh", "again\n"),
            delete("src/lib.rs"),
        ])
        .await
        .unwrap();
    let want = by_git(dir.path(), |dir| {
        write(dir, "a.txt", b"b\r\n");
        write(dir, "src/deep/new/er.rs", b"n\n");
        write(dir, "src/lib.rs.bak", b"s\n");
        write(dir, "src-a", b"s\n");
        write(dir, "run.sh", b"again\n");
        fs::remove_file(dir.join("src/lib.rs")).unwrap();
    });
    assert_eq!(new.id().as_str(), want);
    assert_eq!(new.commit(), tree.commit());
    assert_eq!(new.entry("run.sh").await.unwrap(), Some(EntryKind::Executable), "an existing file stays what it is");
    assert_eq!(new.read("a.txt").await.unwrap(), text("b\r\n"));
    assert_eq!(tree.read("a.txt").await.unwrap(), text("a\n"), "the old tree is as it was");
    assert_eq!(new.read("src/lib.rs").await.unwrap(), Side::Absent);
    assert!(new.paths().await.unwrap().contains("src/deep/new"));

    let empty = new.with(&[delete("src/deep/new/er.rs"), delete("src/deep/x.rs")]).await.unwrap();
    assert_eq!(empty.entry("src/deep").await.unwrap(), None, "a folder without files is none");
    let bits = |path: &str, on| Edit::Write { path: path.to_owned(), text: b"x\n".to_vec(), executable: Some(on) };
    let bits = tree.with(&[bits("run.sh", false), bits("a.txt", true), bits("new", true)]).await.unwrap();
    for (path, kind) in
        [("run.sh", EntryKind::Regular), ("a.txt", EntryKind::Executable), ("new", EntryKind::Executable)]
    {
        assert_eq!(bits.entry(path).await.unwrap(), Some(kind), "{path}");
    }
}

#[tokio::test]
async fn the_same_work_gives_the_same_ids() {
    let (_dir, tree) = everything().await;
    let edits = [edit("a.txt", "b\n"), edit("new", "n\n")];
    let mut turned = edits.clone();
    turned.reverse();
    let (one, two) = (tree.with(&edits).await.unwrap(), tree.with(&turned).await.unwrap());
    assert_eq!(one.id(), two.id());
    assert_eq!(one.with(&edits).await.unwrap().id(), one.id(), "done already");
    assert_eq!(tree.with(&[]).await.unwrap().id(), tree.id());
    assert_eq!(tree.with(&[edit("a.txt", "a\n")]).await.unwrap().id(), tree.id(), "nothing changed");
    let commit = |tree: Tree, at| async move { tree.commit_on(tree.commit(), "t\n\nb\n", &bot(), at).await.unwrap() };
    let first = commit(one.clone(), 5_000).await;
    assert_eq!(first, commit(two, 5_999).await, "the time counts in seconds");
    assert_ne!(first, commit(one, 6_000).await);
}

#[tokio::test]
async fn what_no_edit_may_do_is_refused_with_its_path() {
    let (dir, tree) = everything().await;
    let refused = async |edits: &[Edit], at: &str, because: &str| {
        let error = tree.with(edits).await.unwrap_err();
        let Error::Refused { path, why } = &error else { panic!("{error:?}") };
        assert_eq!(path, at);
        assert!(why.contains(because), "{at}: {why}");
        assert!(!error.is_transient());
    };
    for bad in [
        "",
        "/etc/passwd",
        "../x",
        "src/../../x",
        "./a.txt",
        "src//lib.rs",
        "src/",
        ".git/config",
        ".GIT/hooks/pre-push",
        "src/.git/x",
        ".git /x",
        ".git./x",
        ".git::$INDEX_ALLOCATION/x",
        "git~1",
        "src\\lib.rs",
        "a\u{0}b",
    ] {
        let error = tree.with(&[edit("ok", "fine\n"), edit(bad, "x\n")]).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{bad:?}: {error:?}");
    }
    refused(&[edit("a\nb", "x\n")], "a\\nb", "control characters").await;
    refused(&[edit(".g\u{200c}it/config", "x\n")], ".g\u{200c}it/config", "git's own").await;
    for way in [edit as fn(&str, &str) -> Edit, |path, _| delete(path)] {
        refused(&[way("passwd", "x\n")], "passwd", "symbolic link").await;
        refused(&[way("linked/lib.rs", "x\n")], "linked", "symbolic link").await;
        refused(&[way("vendored", "x\n")], "vendored", "submodule").await;
        refused(&[way("vendored/x", "x\n")], "vendored", "submodule").await;
        refused(&[way("src", "x\n")], "src", "folder").await;
        refused(&[way("a.txt/x", "x\n")], "a.txt", "a file, not a folder").await;
        refused(&[way("a.txt", "x\n"), way("a.txt", "y\n")], "a.txt", "twice").await;
        refused(&[edit("n", "x\n"), way("n/x", "y\n")], "n/x", "changed as a file").await;
        refused(&[way("n/x", "y\n"), edit("n", "x\n")], "n", "twice").await;
    }
    refused(&[delete("gone")], "gone", "no such file").await;
    refused(&[delete("no/such/folder")], "no/such/folder", "no such file").await;
    refused(&[edit("A.txt", "x\n")], "A.txt", "only by case").await;
    refused(&[edit("SRC/x", "x\n")], "SRC", "only by case").await;
    refused(&[edit("new", "x\n"), edit("NEW", "x\n")], "NEW", "only by case").await;
    tree.with(&[delete("a.txt"), edit("A.txt", "x\n")]).await.unwrap();
    refused(&[edit("big", &"x".repeat((1 << 20) + 1))], "big", "larger than 1 MiB").await;
    let many: Vec<Edit> = (0..3_001).map(|n| edit(&n.to_string(), "")).collect();
    assert!(matches!(tree.with(&many).await.unwrap_err(), Error::TooLarge { .. }));
    assert_eq!(git(dir.path(), &["status", "--porcelain", "--ignore-submodules=all"]), "");
}

#[tokio::test]
async fn a_commit_says_what_it_was_told_and_nothing_else() {
    let (_dir, tree) = everything().await;
    for (message, name) in [("", "A"), ("\n \n", "A"), ("m", ""), ("m", "<>")] {
        let who = Identity { name: name.to_owned(), email: "a@example.test".to_owned() };
        assert!(tree.commit_on(tree.commit(), message, &who, 0).await.is_err(), "{message:?} {name:?}");
    }
    let who = Identity { name: "A <b>\ncommitter x".to_owned(), email: "a@example.test>\nparent y".to_owned() };
    let evil = tree.commit_on(tree.commit(), "m\u{0}\r\nparent z\n", &who, -1).await;
    evil.unwrap();
    assert!(tree.commit_on(tree.commit(), &"x".repeat(1 << 20), &bot(), 0).await.is_err());
}

#[tokio::test]
async fn what_stands_at_a_path_is_told() {
    let (_dir, tree) = everything().await;
    for (path, kind) in [
        ("a.txt", Some(EntryKind::Regular)),
        ("run.sh", Some(EntryKind::Executable)),
        ("passwd", Some(EntryKind::Link)),
        ("vendored", Some(EntryKind::Submodule)),
        ("src/deep", Some(EntryKind::Folder)),
        ("linked/lib.rs", None),
        ("../a.txt", None),
        (".git/config", None),
        ("gone", None),
    ] {
        assert_eq!(tree.entry(path).await.unwrap(), kind, "{path}");
    }
    let files = tree.files().await.unwrap();
    let named: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.size, file.kind)).collect();
    assert_eq!(
        named,
        [
            ("a.txt", 2, EntryKind::Regular),
            ("run.sh", 2, EntryKind::Executable),
            ("src/deep/x.rs", 2, EntryKind::Regular),
            ("src/lib.rs", 2, EntryKind::Regular),
        ]
    );
}

#[tokio::test]
async fn a_hundred_thousand_files_are_listed_and_written_between() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    {
        let repository = Repository::open(dir.path()).unwrap();
        let blob = repository.blob(b"x\n").unwrap();
        let mut folder = repository.treebuilder(None).unwrap();
        for n in 0..1_000 {
            folder.insert(format!("f{n:04}"), blob, 0o100_644).unwrap();
        }
        let folder = folder.write().unwrap();
        let mut root = repository.treebuilder(None).unwrap();
        for n in 0..100 {
            root.insert(format!("d{n:03}"), folder, 0o040_000).unwrap();
        }
        let root = repository.find_tree(root.write().unwrap()).unwrap();
        let who = git2::Signature::now("A", "a@example.test").unwrap();
        repository.commit(Some("HEAD"), &who, &who, "x", &root, &[]).unwrap();
    }
    let tree = local::head_tree(dir.path()).await.unwrap();
    let files = tree.files().await.unwrap();
    assert_eq!(files.len(), 100_000);
    assert!(files.is_sorted_by(|one, two| one.path < two.path));
    let new = tree.with(&[edit("d050/f0500", "y\n"), edit("d050/g", "z\n")]).await.unwrap();
    assert_eq!(new.files().await.unwrap().len(), 100_001);
    let old: HashSet<_> = tree.paths().await.unwrap().iter().cloned().collect();
    assert!(!old.contains("d050/g"));
}
