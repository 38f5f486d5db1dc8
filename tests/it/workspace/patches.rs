//! Our diffs in git's hands, and git's in ours.

use std::io::Write;
use std::process::Stdio;

use octoswarm::workspace::patch::{self, FilePatch};
use proptest::prelude::*;

use super::*;
use crate::support::git_server::command;

/// What git makes of a diff.
fn git_apply(dir: &Path, diff: &str) {
    let mut child = command(dir, &["apply", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{diff}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn git_applies_what_we_write() {
    for (old, new) in [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a", "b"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("x\n", "x\n\n\n"),
        ("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "1\n2\n3\n3b\n4\n5\n6\n7\n8\n9\n10\n12\n13\n"),
    ] {
        for path in ["plain.txt", "dir/with space.txt", "ümlaut \"q\".txt", "tab\tname"] {
            let dir = TempDir::new().unwrap();
            git(dir.path(), &["init", "-q"]);
            git_apply(dir.path(), &patch::diff(None, Some(path), "", old));
            assert_eq!(fs::read_to_string(dir.path().join(path)).unwrap(), old);
            git_apply(dir.path(), &patch::diff(Some(path), Some(path), old, new));
            assert_eq!(fs::read_to_string(dir.path().join(path)).unwrap(), new);
            git_apply(dir.path(), &patch::diff(Some(path), Some("moved to/here"), new, old));
            assert_eq!(fs::read_to_string(dir.path().join("moved to/here")).unwrap(), old);
            assert!(!dir.path().join(path).exists());
            git_apply(dir.path(), &patch::diff(Some("moved to/here"), Some("again"), old, old));
            git_apply(dir.path(), &patch::diff(Some("again"), None, old, ""));
            assert!(!dir.path().join("again").exists());
        }
    }
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q"]);
    git_apply(dir.path(), &patch::diff(None, Some("empty"), "", ""));
    assert!(dir.path().join("empty").exists());
    git_apply(dir.path(), &patch::diff(Some("empty"), None, "", ""));
    assert!(!dir.path().join("empty").exists());
}

#[test]
fn what_git_writes_is_read() {
    let (dir, _) = repository_of(&[
        ("edited.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        ("gone.txt", "g\n"),
        ("empty", ""),
        ("old name.txt", &"same\n".repeat(20)),
        ("run.sh", "r\n"),
        ("crlf.txt", "a\r\nb\r\n"),
        ("ümlaut\t.txt", "u\n"),
        ("image", "\0old"),
    ]);
    write(dir.path(), "edited.txt", b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9");
    fs::remove_file(dir.path().join("gone.txt")).unwrap();
    fs::remove_file(dir.path().join("empty")).unwrap();
    write(dir.path(), "new name.txt", format!("{}changed\n", "same\n".repeat(19)).as_bytes());
    fs::remove_file(dir.path().join("old name.txt")).unwrap();
    std::os::unix::fs::PermissionsExt::set_mode(
        &mut fs::metadata(dir.path().join("run.sh")).unwrap().permissions(),
        0o755,
    );
    git(dir.path(), &["update-index", "--chmod=+x", "run.sh"]);
    write(dir.path(), "crlf.txt", b"a\r\nB\r\n");
    write(dir.path(), "\u{fc}mlaut\t.txt", b"U\n");
    write(dir.path(), "image", b"\0new");
    write(dir.path(), "added", b"n\n");
    write(dir.path(), "added empty", b"");
    git(dir.path(), &["config", "core.fileMode", "false"]);
    git(dir.path(), &["add", "-A"]);
    for args in [
        &["diff", "--cached", "-M", "--no-rename-empty"][..],
        &["diff", "--cached", "-M", "--no-rename-empty", "--no-prefix"],
        &["-c", "diff.mnemonicPrefix=true", "diff", "--cached", "-M", "--no-rename-empty"],
        &["-c", "core.quotePath=false", "diff", "--cached", "-M", "--no-rename-empty", "-U0", "--inter-hunk-context=9"],
        &["diff", "--cached", "-M", "--no-rename-empty", "--binary", "--full-index", "--stat", "-p"],
    ] {
        let files = patch::parse(&format!("{}\n", git(dir.path(), args))).unwrap();
        let one =
            |path: &str| files.iter().find(|file| file.path() == path).unwrap_or_else(|| panic!("{path}: {files:#?}"));
        assert_eq!(files.len(), 10, "{args:?} {files:#?}");
        let sides = |file: &FilePatch| (file.old_path.is_some(), file.new_path.is_some());
        assert_eq!(sides(one("gone.txt")), (true, false));
        assert_eq!(sides(one("empty")), (true, false));
        assert_eq!(sides(one("added")), (false, true));
        assert_eq!(sides(one("added empty")), (false, true));
        assert_eq!(one("new name.txt").old_path.as_deref(), Some("old name.txt"));
        assert_eq!((one("run.sh").old_mode, one("run.sh").new_mode), (Some(0o100_644), Some(0o100_755)));
        assert!(one("image").binary && !one("edited.txt").binary);
        for path in ["edited.txt", "new name.txt", "crlf.txt", "ümlaut\t.txt", "added", "added empty"] {
            let file = one(path);
            let old = file.old_path.as_ref().map_or_else(String::new, |old| {
                String::from_utf8(command(dir.path(), &["show", &format!("HEAD:{old}")]).output().unwrap().stdout)
                    .unwrap()
            });
            let new = fs::read_to_string(dir.path().join(path)).unwrap();
            match patch::apply(&old, file) {
                Ok(found) => assert_eq!(found, new, "{path} {args:?}"),
                // Without context a line that is only added has no place.
                Err(patch::Error::NoContext { .. }) => assert!(args.contains(&"-U0"), "{path} {args:?}"),
                Err(error) => panic!("{error} {args:?}"),
            }
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![Just("a"), Just("b"), Just(""), Just("-c"), Just("d\r")];
    (proptest::collection::vec(line, 0..12), any::<bool>())
        .prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(25) })]

    #[test]
    fn git_and_we_make_the_same_of_each_others_diffs(old in text(), new in text()) {
        let dir = TempDir::new().unwrap();
        git(dir.path(), &["init", "-q"]);
        write(dir.path(), "a", old.as_bytes());
        write(dir.path(), "b", new.as_bytes());
        if old != new {
            let output = command(dir.path(), &["diff", "--no-index", "a", "b"]).output().unwrap();
            let files = patch::parse(&String::from_utf8(output.stdout).unwrap()).unwrap();
            prop_assert_eq!(files.len(), 1);
            prop_assert_eq!(patch::apply(&old, &files[0]).unwrap(), new.clone());
            git_apply(dir.path(), &patch::diff(Some("a"), Some("a"), &old, &new));
            prop_assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), new);
        }
    }
}
