//! Our hunks and renames are git's.

use octoswarm::domain::LineKind;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// A change as `git diff` prints it: path, old path, hunks as header and lines.
type Printed = BTreeMap<String, (Option<String>, Vec<String>)>;

fn from_git(dir: &Path, base: &str, head: &str) -> Printed {
    let args = ["diff", "-U3", "--find-renames", "--no-color", "--no-ext-diff", "--no-textconv", base, head];
    let output = crate::support::git_server::command(dir, &args).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut printed = Printed::new();
    let (mut path, mut from, mut hunks) = (String::new(), None, Vec::new());
    let mut in_hunk = (0, 0);
    for line in text.split_terminator('\n') {
        if in_hunk != (0, 0) {
            match line.as_bytes().first() {
                Some(b'+') => in_hunk.1 -= 1,
                Some(b'-') => in_hunk.0 -= 1,
                Some(b' ') => in_hunk = (in_hunk.0 - 1, in_hunk.1 - 1),
                _ => continue,
            }
            hunks.push(line.strip_suffix('\r').unwrap_or(line).to_owned());
        } else if let Some(rest) = line.strip_prefix("diff --git ") {
            if !path.is_empty() {
                printed.insert(std::mem::take(&mut path), (from.take(), std::mem::take(&mut hunks)));
            }
            path = rest.split_once(" b/").unwrap().1.to_owned();
        } else if let Some(old) = line.strip_prefix("rename from ") {
            from = Some(old.to_owned());
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            let header = rest.split(" @@").next().unwrap();
            let (old, new) = header.split_once(' ').unwrap();
            let count = |side: &str| side.split_once(',').map_or(1, |(_, n)| n.parse().unwrap());
            in_hunk = (count(old), count(new));
            hunks.push(format!("@@ {header}"));
        }
    }
    if !path.is_empty() {
        printed.insert(path, (from, hunks));
    }
    printed
}

fn ours(diff: &Diff) -> Printed {
    let range = |start: u32, lines: u32| if lines == 1 { start.to_string() } else { format!("{start},{lines}") };
    let print = |file: &FileDiff| {
        let mut printed = Vec::new();
        for hunk in &file.hunks {
            let (old, new) = (range(hunk.old_start, hunk.old_lines), range(hunk.new_start, hunk.new_lines));
            printed.push(format!("@@ -{old} +{new}"));
            let (mut at_old, mut at_new) = (hunk.old_start, hunk.new_start);
            for line in &hunk.lines {
                let sign = match line.kind {
                    LineKind::Context => ' ',
                    LineKind::Added => '+',
                    LineKind::Removed => '-',
                };
                assert_eq!(line.old, (sign != '+').then_some(at_old), "old line number");
                assert_eq!(line.new, (sign != '-').then_some(at_new), "new line number");
                at_old += u32::from(sign != '+');
                at_new += u32::from(sign != '-');
                printed.push(format!("{sign}{}", line.text));
            }
        }
        (file.path.clone(), (file.old_path.clone(), printed))
    };
    diff.files.iter().map(print).collect()
}

#[derive(Debug, Clone)]
enum Edit {
    Replace(usize, String),
    Insert(usize, String),
    Remove(usize),
    Move(u8),
    Delete,
    DropLastNewline,
}

#[derive(Debug, Clone)]
struct Document {
    lines: Vec<String>,
    crlf: bool,
    edits: Vec<Edit>,
}

fn line() -> impl Strategy<Value = String> {
    // Few different lines, so that there is more than one way to tell what changed.
    prop_oneof!["[abc]", "[{}]", Just(String::new()), Just("    x".to_owned()), "[a-z]{4,30}"]
}

fn document() -> impl Strategy<Value = Document> {
    let edit = prop_oneof![
        4 => (any::<usize>(), line()).prop_map(|(at, text)| Edit::Replace(at, text)),
        4 => (any::<usize>(), line()).prop_map(|(at, text)| Edit::Insert(at, text)),
        4 => any::<usize>().prop_map(Edit::Remove),
        2 => (0..4_u8).prop_map(Edit::Move),
        1 => Just(Edit::Delete),
        1 => Just(Edit::DropLastNewline),
    ];
    (prop::collection::vec(line(), 0..40), any::<bool>(), prop::collection::vec(edit, 0..8))
        .prop_map(|(lines, crlf, edits)| Document { lines, crlf, edits })
}

/// The document before and after: path and content, nothing if deleted.
fn sides(n: usize, document: &Document) -> [Option<(String, String)>; 2] {
    let ending = if document.crlf { "\r\n" } else { "\n" };
    let render = |lines: &[String]| lines.iter().fold(String::new(), |text, line| text + line + ending);
    let old = Some((format!("d{n}/f{n}.txt"), render(&document.lines)));
    let (mut lines, mut path, mut newline) = (document.lines.clone(), format!("d{n}/f{n}.txt"), true);
    for edit in &document.edits {
        let length = lines.len();
        match edit {
            Edit::Replace(at, text) if length > 0 => lines[at % length] = text.clone(),
            Edit::Insert(at, text) => lines.insert(at % (length + 1), text.clone()),
            Edit::Remove(at) if length > 0 => drop(lines.remove(at % length)),
            Edit::Move(to) => path = if *to == 0 { format!("moved/f{n}.txt") } else { format!("moved/{n}-{to}.txt") },
            Edit::Delete => return [old, None],
            Edit::DropLastNewline => newline = false,
            Edit::Replace(..) | Edit::Remove(_) => {}
        }
    }
    let mut text = render(&lines);
    if !newline {
        text.truncate(text.trim_end_matches(['\r', '\n']).len());
    }
    [old, Some((path, text))]
}

#[test]
fn hunks_and_renames_are_those_of_git() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let documents = prop::collection::vec(document(), 1..6);
    runner
        .run(&documents, |documents| {
            let dir = TempDir::new().unwrap();
            git(dir.path(), &["init", "-q", "-b", "main"]);
            let sides: Vec<_> = documents.iter().enumerate().map(|(n, document)| sides(n, document)).collect();
            let [base, head] = [0, 1].map(|side| {
                for item in ["moved", "d0", "d1", "d2", "d3", "d4", "d5"] {
                    let _ = fs::remove_dir_all(dir.path().join(item));
                }
                for (path, content) in sides.iter().filter_map(|both| both[side].as_ref()) {
                    write(dir.path(), path, content.as_bytes());
                }
                commit(dir.path(), &[])
            });
            let theirs = from_git(dir.path(), base.as_str(), head.as_str());
            let diff = runtime.block_on(async {
                let change = local::change(dir.path(), Some(base.as_str()), Some(head.as_str())).await.unwrap();
                change.diff().await.unwrap()
            });
            prop_assert!(diff.not_read.is_empty());
            prop_assert_eq!(ours(&diff), theirs);
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn renames_are_found_as_git_finds_them() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let body = |tag: &str| (0..30).map(|n| format!("{tag} line {n}\n")).collect::<String>();
    let base = commit(
        dir.path(),
        &[
            ("same.txt", &body("s")),
            ("edited.txt", &body("e")),
            ("rewritten.txt", &body("r")),
            ("empty", ""),
            ("x/twin", "t\n"),
            ("y/twin", "t\n"),
        ],
    );
    for path in ["same.txt", "edited.txt", "rewritten.txt", "empty", "x/twin", "y/twin"] {
        fs::remove_file(dir.path().join(path)).unwrap();
    }
    let edited = body("e").replace("e line 3\n", "changed\n");
    let head = commit(
        dir.path(),
        &[
            ("a/same.txt", &body("s")),
            ("b.txt", &edited),
            ("rewritten2.txt", &body("other")),
            ("void", ""),
            ("z/twin", "t\n"),
            ("w/other", "t\n"),
        ],
    );
    let change = local::change(dir.path(), Some(base.as_str()), Some(head.as_str())).await.unwrap();
    let diff = change.diff().await.unwrap();
    assert_eq!(ours(&diff), from_git(dir.path(), base.as_str(), head.as_str()));
    let edited = file(&diff, "b.txt");
    assert_eq!((edited.kind, edited.old_path.as_deref()), (ChangeKind::Renamed, Some("edited.txt")));
    assert_eq!(lines(edited), ["-e line 3", "+changed"]);
    assert_eq!(file(&diff, "rewritten2.txt").kind, ChangeKind::Added);
    assert_eq!(file(&diff, "rewritten.txt").kind, ChangeKind::Removed);
}
