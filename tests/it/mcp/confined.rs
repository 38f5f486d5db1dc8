//! Tools see what lies below the roots, and nothing else.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::{Client, repository};
use crate::support::git;

/// A repository beside the root, whose text must never be seen.
fn private(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("secret.py"), "def f(private_name):\n    return eval(private_name)\n").unwrap();
    git(dir, &["init", "-q", "-b", "main"]);
    git(dir, &["add", "."]);
    git(dir, &["commit", "-qm", "Private"]);
}

#[test]
fn no_path_leads_out_of_the_roots() {
    let outer = tempfile::tempdir().unwrap();
    let (root, other) = (outer.path().join("root"), outer.path().join("other"));
    private(&other);
    std::fs::create_dir_all(&root).unwrap();
    symlink(&other, root.join("link")).unwrap();
    symlink(other.join("secret.py"), root.join("file.py")).unwrap();
    let mut client = Client::over(&root);
    let absolute = other.to_str().unwrap().to_owned();
    for path in [
        "..",
        "../other",
        "../other/secret.py",
        "link",
        "link/secret.py",
        "file.py",
        &absolute,
        "/",
        "/etc/passwd",
        "./../root/../other",
        "~",
    ] {
        for (tool, arguments) in [
            ("scan", json!({ "paths": [path] })),
            ("review_diff", json!({ "path": path })),
            ("review_repository", json!({ "path": path })),
            ("apply_fix", json!({ "path": path, "rules": ["eval-of-data"] })),
            ("plan_issue", json!({ "path": path, "title": "Do it" })),
        ] {
            let said = client.refused(tool, arguments);
            assert!(!said.contains("private_name"), "{tool} {path}: {said}");
        }
    }
    for path in ["", "a\u{0}b", "-x", "--help", "a\nb", "\u{202e}x", &"x/".repeat(3_000)] {
        client.refused("scan", json!({ "paths": [path] }));
    }
    // What is outside is not even looked for: whether it is there cannot be learned.
    let (there, not) = (
        client.refused("scan", json!({ "paths": ["../other"] })),
        client.refused("scan", json!({ "paths": ["../othre"] })),
    );
    assert_eq!(there.replace("other", "X"), not.replace("othre", "X"));
    // A link below a folder that is scanned is not followed.
    std::fs::write(root.join("own.py"), "eval(x)\n").unwrap();
    let found = client.done("scan", json!({}));
    assert_eq!(found["total"], 1, "{found}");
}

#[test]
fn a_repository_that_lies_elsewhere_is_not_read_through_one_that_does_not() {
    let outer = tempfile::tempdir().unwrap();
    let (root, other) = (outer.path().join("root"), outer.path().join("other"));
    private(&other);
    std::fs::create_dir_all(root.join("lured")).unwrap();
    std::fs::create_dir_all(root.join("fake/worktrees/x")).unwrap();
    let git_dir = other.join(".git");
    // A `.git` file that points at somebody else's repository.
    std::fs::write(root.join("lured/.git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
    // One that pretends to be a linked work tree of it, with a back pointer of its own making.
    std::fs::create_dir_all(root.join("pretender")).unwrap();
    let made = root.join("fake/worktrees/x");
    std::fs::write(root.join("pretender/.git"), format!("gitdir: {}\n", made.display())).unwrap();
    std::fs::write(made.join("commondir"), git_dir.to_str().unwrap()).unwrap();
    std::fs::write(made.join("gitdir"), root.join("pretender/.git").to_str().unwrap()).unwrap();
    std::fs::write(made.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    // A repository whose configuration says that its files are elsewhere.
    let moved = root.join("moved");
    std::fs::create_dir_all(&moved).unwrap();
    git(&moved, &["init", "-q", "-b", "main"]);
    git(&moved, &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    git(&moved, &["config", "core.worktree", other.to_str().unwrap()]);
    let mut client = Client::over(&root);
    for path in ["lured", "pretender", "moved"] {
        let said = client.refused("review_diff", json!({ "path": path, "base": "HEAD", "head": "HEAD" }));
        assert!(said.contains("lies outside of the roots") || said.contains("cannot"), "{path}: {said}");
        client.refused("plan_issue", json!({ "path": path, "title": "Rename `f` in secret.py" }));
        client.refused("apply_fix", json!({ "path": path, "rules": ["eval-of-data"] }));
    }
}

#[test]
fn a_linked_work_tree_is_one_if_its_repository_says_so() {
    let outer = tempfile::tempdir().unwrap();
    let other = outer.path().join("other");
    private(&other);
    let root = outer.path().join("tree");
    git(&other, &["worktree", "add", "-q", "-b", "topic", root.to_str().unwrap()]);
    std::fs::write(root.join("new.py"), "eval(x)\n").unwrap();
    let mut client = Client::over(&root);
    assert_eq!(client.done("review_diff", json!({}))["total"], 1);
}

#[test]
fn a_folder_of_a_larger_repository_is_scanned_and_reviewing_it_needs_the_repository_as_a_root() {
    let dir = repository();
    let mut client = Client::over(&dir.path().join("src"));
    assert_eq!(client.done("scan", json!({}))["total"], 3);
    let said = client.refused("review_diff", json!({}));
    assert!(said.contains("work tree lies outside of the roots") && said.contains("--root"), "{said}");
    let whole = dir.path().to_str().unwrap().to_owned();
    let mut client = Client::with(dir.path(), &["--root", "src", "--root", &whole]);
    // Relative paths begin at the first root: only what changed below it is reviewed.
    assert_eq!(client.done("review_diff", json!({}))["total"], 2);
}

#[test]
fn a_root_that_is_no_folder_is_told_at_once() {
    let dir = repository();
    for root in ["nothing", "src/old.py"] {
        let mut client = Client::silent(dir.path(), &["--root", root]);
        assert_eq!(client.child.wait().unwrap().code(), Some(2), "{root}");
    }
}
