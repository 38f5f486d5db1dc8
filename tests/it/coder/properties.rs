//! Replacements over made-up files: nothing is left, and nothing else is touched.

use proptest::prelude::*;

use super::*;

/// Lines in which the old name stands whole, or as a part of other words.
fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("old_name"),
        Just("old_name2"),
        Just("my_old_name"),
        Just("Old_Name"),
        Just("older"),
        Just("plain"),
        Just("(old_name)"),
        Just("old_name."),
        Just("\"old_name\""),
        Just("ä"),
        Just("old_nameä"),
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

fn file() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..12), any::<bool>(), any::<bool>()).prop_map(|(lines, crlf, last)| {
        let end = if crlf { "\r\n" } else { "\n" };
        lines.join(end) + if last { end } else { "" }
    })
}

/// Whole words, by a way of its own: cut at everything that is no part of a word.
fn whole(text: &str, word: &str) -> usize {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| *w == word).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn after_a_replacement_no_occurrence_is_left_and_nothing_else_has_changed(
        notes in file(), guide in file(), vendored in file(),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let files = [("notes.txt", notes.as_str()), ("docs/guide.md", &guide), ("vendor/x.txt", &vendored)];
            let bench = Bench::of(&files);
            let outcome = bench.solve("names", "Please replace `old_name` with `new_name`.").await;
            let there = whole(&notes, "old_name") + whole(&guide, "old_name");
            assert_eq!(outcome.is_untouched(), there == 0, "{:?}", outcome.changes.validation.errors);
            for (path, old) in files {
                let (old, new) = (old.to_owned(), outcome.after.get(path).cloned().unwrap_or_default());
                if path.starts_with("vendor/") {
                    assert_eq!(old, new);
                    continue;
                }
                assert_eq!(whole(&new, "old_name"), 0);
                assert_eq!(whole(&new, "new_name"), whole(&old, "old_name"));
                // Turned back, word by word, it is the old text.
                assert_eq!(new.replace("new_name", "old_name"), old);
            }
        });
    }
}

#[tokio::test]
async fn a_name_in_code_is_renamed_only_where_that_is_safe() {
    let a = "def load(path):\n    return path\n\n\nclass Box:\n    def open(self):\n        return load('x')\n";
    let b = "from a import load\n\nprint(load('y'))  # load it\n";
    let ask = "Please rename the function `load` to `read_path`.";
    let done = Bench::of(&[("a.py", a), ("b.py", b)]).solve("name", ask).await;
    assert_eq!(done.after["b.py"], "from a import read_path\n\nprint(read_path('y'))  # read_path it\n");
    for (why, files, ask) in [
        ("defined twice", vec![("a.py", a), ("b.py", "def load():\n    pass\n")], ask),
        ("taken in the same file", vec![("a.py", a), ("b.py", "from a import load\nread_path = load('x')\n")], ask),
        ("taken by a definition elsewhere", vec![("a.py", a), ("c.py", "def read_path():\n    pass\n")], ask),
        ("defined nowhere", vec![("b.py", b)], ask),
        ("no name", vec![("a.py", a)], "Please rename the function `load` to `read path`."),
        ("a keyword", vec![("a.py", a)], "Please rename the function `load` to `class`."),
        (
            "used outside the scope",
            vec![("a.py", a), ("b.py", b)],
            "Please rename the function `load` to `read_path` in a.py.",
        ),
        ("no such file", vec![("a.py", a)], "Please rename the function `load` to `read_path` in z.py."),
        ("not the case", vec![("a.py", a)], "Please rename the function `Load` to `read_path`."),
        ("not there any more", vec![("a.py", a)], "Please replace `load_all` by `read_path`."),
        (
            "brings an unknown name",
            vec![("a.py", "import json\nx = json\nprint(x)\n")],
            "Please replace `print` by `log.info`.",
        ),
    ] {
        let outcome = Bench::of(&files).solve("name", ask).await;
        assert!(outcome.is_untouched(), "{why}: {:#?}", outcome.lines());
    }
}

#[tokio::test]
async fn an_issue_that_is_huge_or_strange_is_answered() {
    let bench = Bench::of(&[("a.txt", "a\n")]);
    let long = "please `".repeat(20_000);
    for body in [
        long.as_str(),
        &"> ".repeat(5_000),
        &"- [ ] a\n".repeat(3_000),
        "\u{0}\u{1}\u{2}rename `\u{3}` to \u{202e}",
        "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n",
        &format!("please replace `{}` with `b`", "x".repeat(60_000)),
    ] {
        assert!(bench.solve("", body).await.is_untouched());
    }
}
