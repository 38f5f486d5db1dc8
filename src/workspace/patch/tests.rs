use proptest::prelude::*;

use super::*;

#[track_caller]
fn one(text: &str) -> FilePatch {
    let mut files = parse(text).unwrap();
    assert_eq!(files.len(), 1, "{files:#?}");
    files.remove(0)
}

#[track_caller]
fn applied(old: &str, text: &str) -> String {
    apply(old, &one(text)).unwrap()
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let error = parse(text).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

fn numbered(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|n| format!("{n}\n")).collect()
}

/// `5` becomes `five`, said to be at that line.
fn five(at: u32) -> String {
    format!("--- a/n\n+++ b/n\n@@ -{at},3 +{at},3 @@\n 4\n-5\n+five\n 6\n")
}

#[test]
fn a_plain_diff_and_one_of_git_say_the_same() {
    let hunk = "@@ -1,2 +1,2 @@ fn f\n a\n-b\n+c\n";
    for head in [
        "--- a/x.rs\n+++ b/x.rs\n",
        "--- x.rs\n+++ x.rs\n",
        "--- x.rs\t2024-01-01 10:00:00\n+++ x.rs\t2024-01-02 10:00:00\n",
        "--- old/x.rs\n+++ new/x.rs\n",
        "--- x.rs.orig\n+++ x.rs\n",
        "--- \"a/x.rs\"\n+++ \"b/x.rs\"\n",
        "diff --git a/x.rs b/x.rs\nindex 0123..4567 100644\n--- a/x.rs\n+++ b/x.rs\n",
        "diff --git i/x.rs w/x.rs\nindex 0123..4567 100644\n--- i/x.rs\n+++ w/x.rs\n",
        "diff --git x.rs x.rs\n--- x.rs\n+++ x.rs\n",
        "Some words.\n\n---\n\n- a list\n+ another\n```diff\n--- a/x.rs\n+++ b/x.rs\n",
    ] {
        let file = one(&format!("{head}{hunk}"));
        assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (Some("x.rs"), Some("x.rs")), "{head}");
        assert_eq!(file.count(), (1, 1), "{head}");
        assert_eq!(apply("a\nb\n", &file).unwrap(), "a\nc\n", "{head}");
    }
}

#[test]
fn a_folder_named_like_a_prefix_stays() {
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(one(&format!("diff --git b/x b/x\n--- b/x\n+++ b/x\n{hunk}")).path(), "b/x");
    assert_eq!(one(&format!("diff --git a/a/x b/a/x\n--- a/a/x\n+++ b/a/x\n{hunk}")).path(), "a/x");
    assert_eq!(one("diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n").path(), "x b/x");
    let new = "diff --git b/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n";
    assert_eq!(one(new).path(), "b/x");
}

#[test]
fn what_is_not_a_change_of_lines_is_told_too() {
    let file = one("diff --git a/r b/r\nold mode 100644\nnew mode 100755\n");
    assert_eq!((file.old_mode, file.new_mode), (Some(0o100_644), Some(0o100_755)));
    let file = one("diff --git a/x y/o b/n\nsimilarity index 100%\nrename from x y/o\nrename to n\n");
    assert_eq!((file.old_path.as_deref(), file.new_path.as_deref(), file.copy), (Some("x y/o"), Some("n"), false));
    assert_eq!(apply("same\n", &file).unwrap(), "same\n");
    let file = one("diff --git a/o b/n\nsimilarity index 100%\ncopy from o\ncopy to n\n");
    assert!(file.copy);
    let file = one(
        "diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n",
    );
    assert_eq!((file.old_path, file.new_mode), (None, Some(0o120_000)));
    let file = one("diff --git a/i.png b/i.png\nindex 0..1 100644\nBinary files a/i.png and b/i.png differ\n");
    assert!(file.binary);
    assert_eq!(apply("", &file), Err(Error::Binary { path: "i.png".to_owned() }));
    let bytes =
        "diff --git a/i b/i\nindex 0..1 100644\nGIT binary patch\nliteral 3\nKcmZQzVB}?#\n\nliteral 0\nHcmV?d00001\n\n";
    assert!(one(bytes).binary);
    let file = one("diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n");
    assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (None, Some("e")));
    let file = one("diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n");
    assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (Some("e"), None));
}

#[test]
fn quoted_names_are_read_and_written() {
    let text = "--- \"a/\\303\\244 \\\"q\\\"\\t\"\n+++ \"b/\\303\\244 \\\"q\\\"\\t\"\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(one(text).path(), "ä \"q\"\t");
    for path in ["ä \"q\"\t", "a b/c d", "back\\slash", " ", "b/b", "-", "x\u{1}y", "tab\tname", "a/a"] {
        for (old, new) in [("a\n", "b\n"), ("", "b\n"), ("a\n", "")] {
            assert_eq!(one(&diff(Some(path), Some(path), old, new)).path(), path);
        }
        for (from, to) in
            [(None, Some(path)), (Some(path), None), (Some(path), Some("other")), (Some("other"), Some(path))]
        {
            for text in ["", "t\n"] {
                let old = if from.is_none() { "" } else { text };
                let new = if to.is_none() { "" } else { text };
                let file = one(&diff(from, to, old, new));
                assert_eq!((file.old_path.as_deref(), file.new_path.as_deref()), (from, to), "{file:?}");
            }
        }
    }
    assert_eq!(diff(Some("a"), Some("a"), "x", "x"), "");
    refused("--- \"a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "name cannot be read");
    refused("--- \"a/\\377\"\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "name cannot be read");
}

#[test]
fn a_hunk_that_moved_is_found_where_it_is_alone() {
    let want = |text: String| text.replace("5\n", "five\n");
    for at in [1, 4, 9, 4_000_000_000] {
        assert_eq!(applied(&numbered(1..=9), &five(at)), want(numbered(1..=9)), "{at}");
    }
    let twice = format!("{0}{0}", numbered(1..=9));
    // Said exactly: there it goes, however often the lines come again.
    assert_eq!(applied(&twice, &five(13)), format!("{}{}", numbered(1..=9), want(numbered(1..=9))));
    let error = apply(&twice, &one(&five(8))).unwrap_err();
    assert_eq!(error, Error::Ambiguous { path: "n".to_owned(), hunk: 1, line: 8 });
    let error = apply("1\n2\n", &one(&five(4))).unwrap_err();
    assert_eq!(error, Error::NotFound { path: "n".to_owned(), hunk: 1, line: 4 });
    let mixed = format!("{}{}", numbered(1..=9).replace('\n', "\r\n"), numbered(1..=9));
    assert!(matches!(apply(&mixed, &one(&five(8))), Err(Error::Ambiguous { .. })), "two places, but for line endings");
    assert!(applied(&mixed, &five(4)).starts_with("1\r\n2\r\n3\r\n4\r\nfive\r\n6\r\n"));
    // The second hunk moved as far as the first, and so it needs no search.
    let block = format!("head\n{0}{0}", "x\ny\nz\n");
    let text = "--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n-head\n+HEAD\n x\n@@ -5,3 +5,3 @@\n x\n-y\n+Y\n z\n";
    assert_eq!(applied(&format!("new\n{block}"), text), "new\nHEAD\nx\ny\nz\nx\nY\nz\n");
}

#[test]
fn lines_without_any_around_them_are_not_placed_by_number() {
    let error = apply("a\nb\n", &one("--- a/n\n+++ b/n\n@@ -1,0 +2 @@\n+x\n")).unwrap_err();
    assert_eq!(error, Error::NoContext { path: "n".to_owned(), hunk: 1 });
}

#[test]
fn files_are_made_and_removed_whole() {
    let new = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    assert_eq!(applied("", new), "a\nb\n");
    assert_eq!(apply("a\n", &one(new)), Err(Error::Exists { path: "n".to_owned() }));
    let gone = "--- a/n\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
    assert_eq!(applied("a\nb\n", gone), "");
    assert_eq!(apply("a\nb\nc\n", &one(gone)), Err(Error::NotAll { path: "n".to_owned() }));
    assert!(matches!(apply("a\nc\n", &one(gone)), Err(Error::NotFound { .. })));
}

#[test]
fn line_endings_and_the_final_one_are_the_files_own() {
    let lf = "--- a/n\n+++ b/n\n@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n";
    assert_eq!(applied("a\r\nb\r\n", lf), "a\r\nB\r\nc\r\n", "a diff that lost its carriage returns");
    assert_eq!(applied("a\nb", lf), "a\nB\nc", "a diff without the note on the final newline");
    assert_eq!(applied("a\r\nb", lf), "a\r\nB\r\nc");
    assert_eq!(applied("a\r\nb\r\nz\n", lf), "a\r\nB\r\nc\r\nz\n");
    let sent = lf.replace('\n', "\r\n");
    assert_eq!(applied("a\nb\n", &sent), "a\nB\nc\n", "a diff that was sent with carriage returns");
    assert_eq!(applied("a\r\nb\r\n", &sent), "a\r\nB\r\nc\r\n");
    let converts = "--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n-a\r\n-b\r\n+a\n+b\n";
    assert_eq!(applied("a\r\nb\r\n", converts), "a\nb\n", "a change of the endings themselves");
    let adds = "--- a/n\n+++ b/n\n@@ -1 +1,2 @@\n a\n+b\n";
    assert_eq!(applied("a", adds), "a\nb");
    let adds_empty = "--- a/n\n+++ b/n\n@@ -1 +1,2 @@\n a\n+\n";
    assert_eq!(applied("a", adds_empty), "a\n");
    let ends = "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n";
    assert_eq!(applied("a", ends), "a\n");
    let unends = "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
    assert_eq!(applied("a\r\n", unends), "b");
    let removes = "--- a/n\n+++ b/n\n@@ -1,2 +1 @@\n a\n-b\n";
    assert_eq!(applied("a\nb", removes), "a\n");
}

#[test]
fn a_diff_that_was_trimmed_is_read() {
    let text = "--- a/n\n+++ b/n\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\n@@ -9,2 +9,2 @@\n x\n-y\n+z";
    assert_eq!(applied("a\n\nb\n4\n5\n6\n7\n8\nx\ny\n", text), "a\n\nc\n4\n5\n6\n7\n8\nx\nz\n");
    let mail = "Subject: x\n\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n-- \n2.47.0\n";
    assert_eq!(applied("a\n", mail), "b\n");
}

#[test]
fn a_diff_that_lies_is_refused_at_its_line() {
    let head = "--- a/n\n+++ b/n\n";
    refused(&format!("{head}@@ -1,9 +1,9 @@\n a\n"), "line 5 of the diff: the hunk holds fewer lines");
    refused(&format!("{head}@@ -1,2 +1,2 @@\n a\nb\n"), "line 5 of the diff: the hunk holds fewer lines");
    refused(&format!("{head}@@ -1 +1 @@\n-a\n+b\n+c\n"), "line 6 of the diff: the hunk holds more lines");
    refused(&format!("{head}@@ -1,2 +1 @@\n a\n+b\n"), "not as many on each side");
    refused(&format!("{head}@@ -1,4294967295 +1,4294967295 @@\n a\n"), "fewer lines");
    refused(&format!("{head}@@ -1,4294967296 +1 @@\n a\n"), "a hunk header that is none");
    refused(&format!("{head}@@ -x +1 @@\n a\n"), "a hunk header that is none");
    refused(
        &format!("{head}@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n"),
        "a note on a line that is not there",
    );
    refused(&format!("{head}@@ -5 +5 @@\n-a\n+b\n@@ -2 +2 @@\n-a\n+b\n"), "begins before the end of the one above");
    refused("@@ -1 +1 @@\n-a\n+b\n", "without a file's name");
    refused("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "neither side is a file");
    refused("diff --git a/x b/x\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "named otherwise");
    refused(
        "diff --git a/x b/x\nnew file mode 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        "a new file has an old side",
    );
    refused("diff --git a/x b/x\nold mode 99\n", "a file mode that is none");
    refused("diff --git a/x b/x\nrename from x\n", "names one side only");
    refused("diff --git nonsense\n", "name cannot be read");
    refused("diff --cc x\nindex 1,2..3\n", "combined diff");
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse("no diff\n---\n+++\n").unwrap(), []);
}

#[test]
fn a_hostile_diff_ends_quickly() {
    assert_eq!(parse(&"+".repeat(10 << 20)), Err(Error::TooLarge));
    assert_eq!(parse(&"diff --git a/x b/x\nold mode 100644\n".repeat(MOST_FILES + 1)), Err(Error::TooManyFiles));
    let hunk = "@@ -1 +1 @@\n-a\n+b\n";
    assert!(parse(&format!("--- a/x\n+++ b/x\n{}", hunk.repeat(200_000))).is_err());
    assert_eq!(parse(&"\n".repeat(MOST_BYTES)).unwrap(), []);
    assert_eq!(parse(&"--- x\n".repeat(MOST_BYTES / 6)).unwrap(), []);
    // Half a million equal lines, and a hunk of a quarter million that fits nowhere.
    let body = format!("{}-b\n", " a\n".repeat(250_000));
    let text = format!("--- a/x\n+++ b/x\n@@ -9,250001 +9,250000 @@\n{body}");
    assert!(matches!(apply(&"a\n".repeat(500_000), &one(&text)), Err(Error::NotFound { .. })));
    // Every hunk out of place, each unique: the search is bounded, not the hunks.
    let hunks: String = (0..50_000).map(|n| format!("@@ -{0} +{0} @@\n-{1}\n+x\n", n * 9 + 7, n * 3)).collect();
    let old: String = (0..160_000).map(|n| format!("{n}\n")).collect();
    let _ = apply(&old, &one(&format!("--- a/x\n+++ b/x\n{hunks}")));
}

#[test]
fn texts_that_share_little_are_compared_in_bounded_work() {
    let noise = |seed: u32, kinds: u32| {
        let mut state = seed;
        let lines = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{}\n", (state >> 16) % kinds)
        });
        lines.take(20_000).collect::<String>()
    };
    for kinds in [2, 1_000, 60_000] {
        let (old, new) = (noise(1, kinds), noise(2, kinds));
        assert!(applied(&old, &diff(Some("x"), Some("x"), &old, &new)) == new, "{kinds}");
    }
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just(""),
        Just("a"),
        Just("b"),
        Just("-a"),
        Just("+b"),
        Just("@@ -1 +1 @@"),
        Just("\\ x"),
        Just("--- a/x"),
        Just("é\u{0}"),
        Just(" c\r")
    ];
    let ending = prop_oneof![6 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r")];
    let lines = proptest::collection::vec((line, ending), 0..30);
    (lines, any::<bool>()).prop_map(|(lines, ends)| {
        let mut text: String = lines.into_iter().flat_map(|(line, ending)| [line, ending]).collect();
        if !ends {
            text.pop();
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn what_was_written_is_read_and_applied(old in text(), new in text()) {
        let patch = diff(Some("p"), Some("p"), &old, &new);
        if old == new {
            prop_assert_eq!(patch, "");
        } else {
            let files = parse(&patch).unwrap();
            prop_assert_eq!(files.len(), 1, "{}", patch);
            prop_assert_eq!(apply(&old, &files[0]).unwrap(), new.clone(), "{}", patch);
        }
        let made = parse(&diff(None, Some("p"), "", &new)).unwrap();
        prop_assert_eq!(apply("", &made[0]).unwrap(), new.clone());
        let gone = parse(&diff(Some("p"), None, &new, "")).unwrap();
        prop_assert_eq!(apply(&new, &gone[0]).unwrap(), "");
    }

    #[test]
    fn a_moved_change_is_applied_where_it_belongs_or_not_at_all(old in text(), new in text(), above in 1_usize..20) {
        let head: String = (0..above).map(|n| format!("unique {n}\n")).collect();
        if old != new && !old.is_empty() {
            let files = parse(&diff(Some("p"), Some("p"), &old, &new)).unwrap();
            if let Ok(found) = apply(&format!("{head}{old}"), &files[0]) {
                // Texts of few kinds of lines repeat: then the line named may fit too, but never what stands above.
                prop_assert!(found.starts_with(&head));
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(---|\\+\\+\\+|@@|diff --git|rename from|[ab/ ,0-9+-]|\"|\\\\|\n|\r\n|é){0,60}") {
        if let Ok(files) = parse(&text) {
            for file in files {
                let _ = apply("a\nb\n", &file);
            }
        }
    }
}
