//! What the gate refuses, each for its own reason.

use std::os::unix::fs::symlink;

use super::*;

const OLD: &str = "def f(a):\n    return a\n";

fn modified(path: &str, old: &str, new: &str) -> FileChange {
    change(path, FileAction::Modified, patch::diff(Some(path), Some(path), old, new))
}

fn created(path: &str, text: &str) -> FileChange {
    change(path, FileAction::Created, patch::diff(None, Some(path), "", text))
}

fn change(path: &str, action: FileAction, diff: String) -> FileChange {
    FileChange { file: path.into(), action, diff, lines_changed: LinesChanged::default(), description: "Done.".into() }
}

fn changes(all: Vec<FileChange>) -> CodeChanges {
    CodeChanges {
        branch: "b".into(),
        changes: all,
        validation: Default::default(),
        summary: Default::default(),
        commit_ready: true,
        suggested_commit_message: "fix: it".into(),
    }
}

fn bench() -> Bench {
    Bench::of(&[("a.py", OLD), ("docs/a.md", "See [b](b.md).\n"), ("docs/b.md", "b\n"), ("notes.txt", "n\n")])
}

async fn reasons(bench: &Bench, all: Vec<FileChange>) -> String {
    match bench.gate(&changes(all)).await {
        Ok(gated) => panic!("let through: {gated:?}"),
        Err(reasons) => reasons.join("\n"),
    }
}

#[tokio::test]
async fn an_honest_change_passes_with_what_was_counted() {
    let bench = bench();
    let all = vec![created("z.txt", "new\n"), modified("a.py", OLD, "def f(a):\n    return a + 1\n")];
    let gated = bench.gate(&changes(all)).await.unwrap();
    let files: Vec<_> = gated.files.iter().map(|f| (f.path.as_str(), f.added, f.removed)).collect();
    assert_eq!(files, [("a.py", 1, 1), ("z.txt", 1, 0)]);
    let Edit::Write { text, executable, .. } = &gated.edits[0] else { panic!("{:?}", gated.edits) };
    assert_eq!((text.as_slice(), *executable), (&b"def f(a):\n    return a + 1\n"[..], None));
    assert!(gated.notes.iter().any(|note| note.contains("z.txt")), "{:?}", gated.notes);
    let deleted = change("notes.txt", FileAction::Deleted, patch::diff(Some("notes.txt"), None, "n\n", ""));
    let gated = bench.gate(&changes(vec![deleted])).await.unwrap();
    assert_eq!(gated.edits, [Edit::Delete { path: "notes.txt".into() }]);
}

#[tokio::test]
async fn protected_paths_are_refused_in_any_spelling_and_so_are_this_repositorys_own() {
    let mut bench = bench();
    bench.settings.protected = vec!["/docs".into()];
    bench.settings.ignore = vec!["*.txt".into()];
    for path in [
        ".github/workflows/x.yml",
        ".GITHUB/workflows/x.yml",
        ".github/Workflows/x.YML",
        "CODEOWNERS",
        "docs/codeowners",
        ".github/octoswarm.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        "docs/new.md",
        "DOCS/new.md",
        "new.txt",
    ] {
        let why = reasons(&bench, vec![created(path, "x\n")]).await;
        assert!(why.contains("no change may touch") || why.contains("configuration"), "{path}: {why}");
    }
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_is_refused() {
    let bench = bench();
    for path in [
        "../x",
        "/etc/x",
        "a/../../x",
        ".git/config",
        ".GIT/hooks/pre-commit",
        "git~1/config",
        "a\\b",
        "x/.git/y",
        "a.py/b",
        "x.",
    ] {
        let why = reasons(&bench, vec![created(path, "x\n")]).await;
        assert!(!why.is_empty(), "{path}");
    }
    assert_eq!(bench.gate(&changes(vec![created("x/y/z.txt", "x\n")])).await.unwrap().edits.len(), 1);
}

#[tokio::test]
async fn links_submodules_folders_and_bytes_are_not_written() {
    let bench = bench();
    symlink("/etc/passwd", bench.dir.path().join("link.py")).unwrap();
    symlink("docs", bench.dir.path().join("through")).unwrap();
    fs::write(bench.dir.path().join("image.dat"), b"\0\x01\x02").unwrap();
    fs::write(bench.dir.path().join("latin.txt"), b"\xe4\n").unwrap();
    bench.write("vendor/v.py", OLD);
    bench.write("Cargo.lock", "x\n");
    bench.write("gen/x.py", OLD);
    bench.write(".gitattributes", "gen/** linguist-generated\n");
    bench.commit();
    for (path, want) in [
        ("link.py", "link"),
        ("through/b.md", "link"),
        ("docs", "folder"),
        ("image.dat", "binary"),
        ("latin.txt", "UTF-8"),
    ] {
        let why = reasons(&bench, vec![modified(path, OLD, "x\n")]).await;
        assert!(why.contains(want), "{path}: {why}");
    }
    for (path, old, want) in
        [("vendor/v.py", OLD, "vendored"), ("Cargo.lock", "x\n", "lock file"), ("gen/x.py", OLD, "generated")]
    {
        let why = reasons(&bench, vec![modified(path, old, "y = 1\n")]).await;
        assert!(why.contains(want), "{path}: {why}");
    }
    assert!(reasons(&bench, vec![created("through/new.md", "x\n")]).await.contains("link"));
    assert!(reasons(&bench, vec![created("nul.txt", "a\0b\n")]).await.contains("`nul.txt`"));
}

#[tokio::test]
async fn limits_hold_and_nothing_is_no_change() {
    let mut bench = bench();
    bench.settings.max_files = 1;
    let two = vec![created("x.txt", "x\n"), created("y.txt", "y\n")];
    assert!(reasons(&bench, two).await.contains("2 files, more than the 1"));
    bench.settings = ContributeSettings { max_lines: 3, ..ContributeSettings::default() };
    assert!(reasons(&bench, vec![created("x.txt", "1\n2\n3\n4\n")]).await.contains("4 lines, more than the 3"));
    assert!(reasons(&bench, Vec::new()).await.contains("nothing to commit"));
    let not_ready = CodeChanges { commit_ready: false, ..changes(vec![created("x.txt", "x\n")]) };
    assert!(bench.gate(&not_ready).await.unwrap_err().join("").contains("nothing to commit"));
    bench.write("long.txt", &"line\n".repeat(9));
    bench.commit();
    let bare = "diff --git a/long.txt b/long.txt\ndeleted file mode 100644\n";
    let deleted = change("long.txt", FileAction::Deleted, bare.into());
    assert!(reasons(&bench, vec![deleted]).await.contains("9 lines, more than the 3"));
    let twice = vec![modified("a.py", OLD, "x = 1\n"), modified("A.py", OLD, "x = 2\n")];
    assert!(reasons(&bench, twice).await.contains("twice"));
}

#[tokio::test]
async fn a_diff_that_lies_is_refused() {
    let bench = bench();
    let honest = patch::diff(Some("a.py"), Some("a.py"), OLD, "x = 1\n");
    for (lie, want) in [
        (change("notes.txt", FileAction::Modified, honest.clone()), "another file"),
        (change("a.py", FileAction::Created, honest.clone()), "something else"),
        (
            change("a.py", FileAction::Modified, format!("{honest}{}", patch::diff(None, Some("b"), "", "x\n"))),
            "not one file's",
        ),
        (change("a.py", FileAction::Modified, String::new()), "not one file's"),
        (modified("a.py", "other\n", "x\n"), "does not apply"),
        (modified("gone.py", OLD, "x\n"), "not there"),
        (created("a.py", "x\n"), "there already"),
        (
            change(
                "l",
                FileAction::Created,
                "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n".into(),
            ),
            "more than text",
        ),
        (
            change(
                "a.py",
                FileAction::Modified,
                format!(
                    "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n{}",
                    honest.split_once('\n').unwrap().1
                ),
            ),
            "more than text",
        ),
    ] {
        let why = reasons(&bench, vec![lie]).await;
        assert!(why.contains(want), "{want}: {why}");
    }
}

#[tokio::test]
async fn a_change_that_makes_the_code_worse_is_refused() {
    let bench = bench();
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    for (new, want) in [
        ("def f(a:\n    return a\n".to_owned(), "parsed"),
        ("def f(a):\n    return eval(a)\n".to_owned(), "`eval-of-data`"),
        ("def f(a):\n    return eval(a)  # octoswarm-ignore: eval-of-data\n".to_owned(), "switches off a rule"),
        ("def f(a):\n    return eval(a)  # nosec\n".to_owned(), "`eval-of-data`"),
        ("def f(a):\n    # The input is trusted.\n    return eval(a)\n".to_owned(), "`eval-of-data`"),
        ("def f(a):\n    # This is by design.\n    return eval(a)\n".to_owned(), "`eval-of-data`"),
        ("def f(a):\n    # Not for security.\n    return eval(a)\n".to_owned(), "`eval-of-data`"),
        ("def f(a):\n    # Deliberately so.\n    return eval(a)\n".to_owned(), "`eval-of-data`"),
        (format!("def f(a):\n    return '{token}'\n"), "`github-token`"),
        (format!("def f(a):\n    return '{token}'  # nosec\n"), "`github-token`"),
        ("def f(a):\n    return a  # \u{202e}b\n".to_owned(), "reading order"),
        ("def f(a):\n    return a  # \u{3164}\n".to_owned(), "reading order"),
        ("def f(a):\n    return a  # b\rimport c\n".to_owned(), "reading order"),
        ("def f(a):\n    return a  # \u{1b}[2K\n".to_owned(), "reading order"),
    ] {
        let why = reasons(&bench, vec![modified("a.py", OLD, &new)]).await;
        assert!(why.contains(want), "{want}: {why}");
    }
    let why = reasons(&bench, vec![modified("docs/a.md", "See [b](b.md).\n", "See [b](c.md).\n")]).await;
    assert!(why.contains("`broken-link`"), "{why}");
    let mut off = bench;
    off.settings.disable = vec!["eval-of-data".into()];
    assert!(off.gate(&changes(vec![modified("a.py", OLD, "def f(a):\n    return eval(a)\n")])).await.is_ok());
}

#[tokio::test]
async fn every_reason_is_told_at_once() {
    let bench = bench();
    let all = vec![created("../x", "x\n"), created("CODEOWNERS", "x\n"), modified("a.py", OLD, "def f(\n")];
    assert_eq!(reasons(&bench, all).await.lines().count(), 3);
}
