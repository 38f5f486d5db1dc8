//! Tests and documentation beside the coder's change, through the whole flow.

use octoswarm::agent::{Registry, gate};
use octoswarm::artifact::swarm::{CodeChanges, DocsChanges, TestChanges, WriteAction};
use octoswarm::artifact::{Document, Documented, Proposal, Tested};
use octoswarm::pipeline::{self, Crew, Journal};
use octoswarm::workspace::Side;
use proptest::prelude::*;

use super::*;

/// What came out of the flow, and of the gate behind it.
struct Came {
    coder: CodeChanges,
    tested: Tested,
    documented: Documented,
    proposal: Proposal,
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
}

impl Came {
    fn tests(&self) -> &TestChanges {
        self.tested.document.outcome.as_ref().unwrap()
    }

    fn docs(&self) -> &DocsChanges {
        self.documented.document.outcome.as_ref().unwrap()
    }

    /// Files that tester and docs changed.
    fn beside(&self) -> Vec<&str> {
        let ours = self.tested.edits.iter().chain(&self.documented.edits);
        ours.map(|edit| edit.file.as_str()).collect()
    }

    #[track_caller]
    fn has(&self, path: &str, text: &str) {
        assert_eq!(
            self.after.get(path).map(String::as_str),
            Some(text),
            "{}\n{}",
            self.tests().reason,
            self.docs().reason
        );
    }
}

async fn texts(tree: &Tree) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for file in tree.files().await.unwrap() {
        if let Side::Text(text) = tree.read(&file.path).await.unwrap() {
            all.insert(file.path, text);
        }
    }
    all
}

async fn run(bench: &Bench) -> Came {
    let cx = bench.context();
    let outputs = pipeline::contribute::run(&cx, &Journal::unkept(Crew::direct(Registry::builtin()))).await.unwrap();
    assert!(outputs.stopped.is_none(), "{:?}", outputs.stopped);
    let coder: Document<CodeChanges> = outputs.get(Role::Coder).unwrap();
    let proposal: Proposal = outputs.get(Role::Pr).unwrap();
    let before = texts(&bench.tree).await;
    let mut after = before.clone();
    if let Some(commit) = &proposal.commit {
        let settings = &cx.contributing().unwrap().facts.settings;
        let gated = gate::check(&cx.engine, &bench.tree, commit, settings).await.unwrap();
        if let Ok(gated) = gated {
            after = texts(&bench.tree.with(&gated.edits).await.unwrap()).await;
        }
    }
    Came {
        coder: coder.outcome.unwrap(),
        tested: outputs.get(Role::Tester).unwrap(),
        documented: outputs.get(Role::Docs).unwrap(),
        proposal,
        before,
        after,
    }
}

async fn came(files: &[(&str, &str)], title: &str, body: &str) -> Came {
    run(&Bench::new(files).await.issue(title, body)).await
}

fn patch(diff: &str) -> String {
    format!("This patch does it:\n\n```diff\n{diff}```\n")
}

const TEXT: &str = "def slug(text):\n    return text.strip()\n";
const TEXT_TEST: &str = "from shop.text import slug\n\n\ndef test_slug():\n    assert slug('a') == 'a'\n";
const TEXT_DIFF: &str = "--- a/shop/text.py\n+++ b/shop/text.py\n@@ -1,2 +1,2 @@\n def slug(text):\n-    return text.strip()\n+    return text.strip().lower()\n";

#[tokio::test]
async fn s2_15_a_bug_fix_wants_a_test_and_none_is_invented() {
    let files = [("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST)];
    let came = came(&files, "slug() keeps capitals", &patch(TEXT_DIFF)).await;
    let tests = came.tests();
    assert!(tests.tests_required && tests.test_files.is_empty() && came.tested.edits.is_empty(), "{tests:?}");
    assert!(tests.reason.contains("`tests/test_text.py` exercises"), "{}", tests.reason);
    assert!(came.proposal.draft.notes.contains(&"no test was added".to_owned()), "{:?}", came.proposal.draft.notes);
    assert!(came.tested.suite.is_none());
}

#[tokio::test]
async fn a2_4_what_did_not_run_is_never_claimed() {
    let files = [
        ("shop/text.py", TEXT),
        ("tests/test_text.py", TEXT_TEST),
        ("CHANGELOG.md", "# Log\n\n## Unreleased\n\n- a\n"),
    ];
    let came = came(&files, "slug() keeps capitals", &patch(TEXT_DIFF)).await;
    let (tests, docs) = (came.tests(), came.docs());
    assert!(!tests.validation.existing_tests_pass && !tests.validation.new_tests_pass);
    assert_eq!(
        (tests.validation.coverage_before.as_str(), tests.validation.coverage_after.as_str()),
        ("not measured", "not measured")
    );
    assert!(tests.reason.lines().any(|line| line.starts_with("not run: ")), "{}", tests.reason);
    assert!(docs.validation.links_valid && !docs.validation.examples_tested && !docs.validation.spelling_checked);
    assert!(docs.reason.lines().any(|line| line.starts_with("not run: ")), "{}", docs.reason);
    assert!(came.proposal.draft.draft);
}

#[tokio::test]
async fn s2_15_an_example_that_the_issue_states_becomes_a_regression_test() {
    let files = [("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST)];
    let body = format!("`slug('A b')` should return `'a b'`.\n\n{}", patch(TEXT_DIFF));
    let came = came(&files, "slug() keeps capitals", &body).await;
    let new = "\n\ndef test_slug_as_issue_7_expects():\n    assert slug('A b') == 'a b'\n";
    came.has("tests/test_text.py", &format!("{TEXT_TEST}{new}"));
    let tests = came.tests();
    assert_eq!((tests.summary.tests_added, tests.summary.tests_modified, tests.summary.total_test_files), (1, 0, 1));
    let added = &tests.test_files[0].tests_added[0];
    assert_eq!((added.name.as_str(), added.covers.as_str()), ("test_slug_as_issue_7_expects", "slug"));
    assert!(!came.proposal.draft.notes.contains(&"no test was added".to_owned()));
    assert!(came.proposal.draft.summary.contains("`test_slug_as_issue_7_expects`"), "{}", came.proposal.draft.summary);
}

#[tokio::test]
async fn s2_15_an_edit_of_a_file_that_the_coder_changed_stands_on_the_coder_s_result() {
    let more = "+\n+\n+def test_lower():\n+    assert slug('B') == 'b'\n";
    let diff = format!(
        "{TEXT_DIFF}--- a/tests/test_text.py\n+++ b/tests/test_text.py\n@@ -3,3 +3,7 @@\n \n def test_slug():\n     assert slug('a') == 'a'\n{more}"
    );
    let body = format!("`slug('A b')` should return `'a b'`.\n\n{}", patch(&diff));
    let files = [("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST)];
    let came = came(&files, "slug() keeps capitals", &body).await;
    let theirs = "\n\ndef test_lower():\n    assert slug('B') == 'b'\n";
    let ours = "\n\ndef test_slug_as_issue_7_expects():\n    assert slug('A b') == 'a b'\n";
    came.has("tests/test_text.py", &format!("{TEXT_TEST}{theirs}{ours}"));
    let commit = came.proposal.commit.as_ref().unwrap();
    assert_eq!((commit.summary.total_files_changed, commit.changes.len()), (2, 2));
    assert_eq!(came.tests().summary.tests_added, 2);
}

#[tokio::test]
async fn s2_15_an_example_in_javascript_is_written_as_its_file_is() {
    let source = "export function slug(text) {\n  return text.trim();\n}\n";
    let test = "import { slug } from './text.js';\n\ntest('trims', () => {\n  expect(slug(' a')).toBe('a');\n});\n";
    let diff = "--- a/web/text.js\n+++ b/web/text.js\n@@ -1,3 +1,3 @@\n export function slug(text) {\n-  return text.trim();\n+  return text.trim().toLowerCase();\n }\n";
    let body = format!("Expected:\n\n```js\nslug('A') === 'a'\n```\n\n{}", patch(diff));
    let came = came(&[("web/text.js", source), ("web/text.test.js", test)], "slug() keeps capitals", &body).await;
    let new = "\ntest('slug gives what issue 7 expects', () => {\n  expect(slug('A')).toBe('a');\n});\n";
    came.has("web/text.test.js", &format!("{test}{new}"));
}

#[tokio::test]
async fn s2_15_an_example_that_is_not_certain_becomes_none() {
    let twice = ("shop/other.py", "def slug(text):\n    return text\n");
    for (why, more, body) in [
        ("observed", None, "Currently `slug('A b')` returns `'A b'`."),
        ("not the function", None, "`other('A')` should return `'a'`."),
        ("two answers", None, "`slug('A')` should return `'a'`.\n`slug('A')` should return `'b'`."),
        ("two functions", Some(twice), "`slug('A')` should return `'a'`."),
        ("tested already", None, "`slug('a')` should return `'a'`."),
        ("no literal", None, "`slug(name)` should return `'a'`."),
    ] {
        let mut files = vec![("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST)];
        files.extend(more);
        let came = came(&files, "slug() keeps capitals", &format!("{body}\n\n{}", patch(TEXT_DIFF))).await;
        assert!(came.tested.edits.is_empty() && came.coder.commit_ready, "{why}: {:?}", came.tested.edits);
        assert!(came.tests().tests_required, "{why}");
    }
}

#[tokio::test]
async fn s2_15_tests_that_hold_the_old_fast_follow_in_every_language() {
    for (source, old, test, text, diff_old, diff_new, from, to) in [
        (
            "shop/text.py",
            "def load_all(x):\n    return x\n",
            "tests/test_text.py",
            "from shop.text import load_all\n\n\ndef test_all():\n    assert load_all(1) == 1\n",
            "def load_all(x):",
            "def read_all(x):",
            "load_all",
            "read_all",
        ),
        (
            "web/text.ts",
            "export function loadAll(x: number) {\n  return x;\n}\n",
            "web/text.test.ts",
            "import { loadAll } from './text';\n\nit('loads', () => {\n  expect(loadAll(1)).toBe(1);\n});\n",
            "export function loadAll(x: number) {",
            "export function readAll(x: number) {",
            "loadAll",
            "readAll",
        ),
        (
            "src/text.rs",
            "pub fn load_all(x: u8) -> u8 {\n    x\n}\n",
            "tests/all.rs",
            "use shop::text::load_all;\n\n#[test]\nfn all() {\n    assert_eq!(load_all(1), 1);\n}\n",
            "pub fn load_all(x: u8) -> u8 {",
            "pub fn read_all(x: u8) -> u8 {",
            "load_all",
            "read_all",
        ),
        (
            "shop/text.go",
            "package shop\n\nfunc LoadAll(x int) int {\n\treturn x\n}\n",
            "shop/text_test.go",
            "package shop\n\nimport \"testing\"\n\nfunc TestAll(t *testing.T) {\n\tif LoadAll(1) != 1 {\n\t\tt.Fatal(\"no\")\n\t}\n}\n",
            "func LoadAll(x int) int {",
            "func ReadAll(x int) int {",
            "LoadAll",
            "ReadAll",
        ),
        (
            "src/main/java/shop/Text.java",
            "package shop;\n\npublic class Text {\n    public static int loadAll(int x) {\n        return x;\n    }\n}\n",
            "src/test/java/shop/TextTest.java",
            "package shop;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\nimport org.junit.jupiter.api.Test;\n\nclass TextTest {\n    @Test\n    void all() {\n        assertEquals(1, Text.loadAll(1));\n    }\n}\n",
            "    public static int loadAll(int x) {",
            "    public static int readAll(int x) {",
            "loadAll",
            "readAll",
        ),
    ] {
        let diff = octoswarm::workspace::patch::diff(Some(source), Some(source), old, &old.replace(diff_old, diff_new));
        let came = came(&[(source, old), (test, text)], &format!("Call {from} {to}"), &patch(&diff)).await;
        came.has(test, &text.replace(from, to));
        let tests = came.tests();
        assert!(tests.tests_required && tests.summary.tests_modified == 1, "{source}: {tests:?}");
        assert_eq!(tests.test_files[0].action, WriteAction::Modified);
        assert_eq!(came.proposal.commit.as_ref().unwrap().summary.total_files_changed, 2);
    }
}

#[tokio::test]
async fn s2_15_a_test_is_left_where_one_place_is_not_certain() {
    let source = "def load_all(x):\n    return x\n";
    let diff = "--- a/shop/text.py\n+++ b/shop/text.py\n@@ -1,2 +1,2 @@\n-def load_all(x):\n+def read_all(x):\n     return x\n";
    for test in [
        "from other import load_all\n\n\ndef test_all():\n    assert load_all(1) == 1\n",
        "from shop.text import load_all\n\nNAME = 'load_all'\n\n\ndef test_all():\n    assert load_all(1) == 1\n",
        "from shop.text import load_all\n\n\ndef test_all():\n    read_all = load_all(1)\n    assert read_all\n",
    ] {
        let came =
            came(&[("shop/text.py", source), ("tests/test_text.py", test)], "Call it read_all", &patch(diff)).await;
        came.has("tests/test_text.py", test);
        assert!(came.tested.notes.iter().any(|note| note.contains("`load_all`")), "{:?}", came.tested.notes);
        assert!(came.after["shop/text.py"].contains("read_all"), "the change itself stays");
    }
}

#[tokio::test]
async fn s2_15_no_test_is_asked_for_where_none_belongs() {
    let test = ("tests/test_text.py", TEXT_TEST);
    for (why, files, title, body) in [
        (
            "documentation",
            vec![("README.md", "A speling of it.\n"), test],
            "Typo",
            "In README.md, replace `speling` by `spelling`.",
        ),
        (
            "settings",
            vec![("app.toml", "port = 8080\n"), test],
            "Wrong port",
            "In app.toml, replace `port = 8080` by `port = 9090`.",
        ),
        ("tests", vec![("shop/text.py", TEXT)], "slug() keeps capitals", &patch(TEXT_DIFF)),
        (
            "comments",
            vec![("shop/text.py", "# The speling of it.\nX = 1\n"), test],
            "Typo",
            "In shop/text.py, replace `speling` by `spelling`.",
        ),
    ] {
        let came = came(&files, title, body).await;
        assert!(came.coder.commit_ready, "{why}: {:?}", came.coder.validation.errors);
        let tests = came.tests();
        assert!(
            !tests.tests_required && tests.test_files.is_empty() && tests.reason.contains(why),
            "{why}: {}",
            tests.reason
        );
        assert!(!came.proposal.draft.notes.contains(&"no test was added".to_owned()), "{why}");
    }
}

#[tokio::test]
async fn s1_14_tests_that_a_patch_brings_are_counted_by_name_and_kind() {
    let more = "+\n+\n+def test_lower():\n+    assert slug('A') == 'a'\n";
    let diff = format!(
        "{TEXT_DIFF}--- a/tests/test_text.py\n+++ b/tests/test_text.py\n@@ -3,3 +3,7 @@\n \n def test_slug():\n     assert slug('a') == 'a'\n{more}"
    );
    let files = [("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST)];
    let came = came(&files, "slug() keeps capitals", &patch(&diff)).await;
    let tests = serde_json::to_value(came.tests()).unwrap();
    let want = json!([{ "path": "tests/test_text.py", "action": "modified",
        "tests_added": [{ "name": "test_lower", "type": "unit", "covers": "slug" }] }]);
    assert_eq!(tests["test_files"], want, "{:?}", came.coder.validation.errors);
    assert_eq!(tests["summary"], json!({ "tests_added": 1, "tests_modified": 0, "total_test_files": 1 }));
    let suite = came.tested.suite.as_ref().unwrap();
    assert_eq!(
        (suite.task_id.as_str(), suite.test_framework.as_str(), suite.summary.total_tests),
        ("ISSUE-7", "pytest", 2)
    );
    assert_eq!((suite.summary.passing_tests, suite.summary.failing_tests, &suite.coverage), (0, 0, &None));
    let limits = suite.metadata.known_limitations.as_ref().unwrap();
    assert!(limits.iter().any(|limit| limit.starts_with("not run")), "{limits:?}");
    assert_eq!(suite.test_files[0].content, came.after["tests/test_text.py"]);
}

const LOG: &str =
    "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Things\n\n## [1.0.0] - 2026-01-01\n\n### Fixed\n\n- Old things\n";

#[tokio::test]
async fn s2_16_a_fix_is_entered_in_the_changelog_under_unreleased() {
    let files = [("shop/text.py", TEXT), ("CHANGELOG.md", LOG)];
    let came = came(&files, "slug() keeps capitals", &patch(TEXT_DIFF)).await;
    came.has("CHANGELOG.md", &LOG.replacen("- Things\n", "- Things\n\n### Fixed\n\n- `slug()` keeps capitals\n", 1));
    let docs = came.docs();
    assert!(docs.docs_required && docs.validation.links_valid, "{}", docs.reason);
    assert_eq!((docs.summary.files_updated, docs.summary.sections_added, docs.summary.sections_modified), (1, 0, 1));
    assert!(came.proposal.draft.summary.contains("`CHANGELOG.md`"), "{}", came.proposal.draft.summary);
}

#[tokio::test]
async fn s2_16_a_changelog_that_a_program_writes_gets_no_entry() {
    for (file, text, word) in [
        ("release-please-config.json", "{}", "release-please"),
        (".releaserc", "{}", "semantic-release"),
        ("cliff.toml", "", "git-cliff"),
        ("pyproject.toml", "[tool.towncrier]\n", "towncrier"),
        ("package.json", "{\"devDependencies\": {\"standard-version\": \"1\"}}", "standard-version"),
    ] {
        let files = [("shop/text.py", TEXT), ("CHANGELOG.md", LOG), (file, text)];
        let came = came(&files, "slug() keeps capitals", &patch(TEXT_DIFF)).await;
        came.has("CHANGELOG.md", LOG);
        assert!(
            came.documented.edits.is_empty() && came.docs().reason.contains(word),
            "{file}: {}",
            came.docs().reason
        );
    }
}

#[tokio::test]
async fn s2_16_a_fragment_is_written_where_its_form_is_certain() {
    let towncrier = [
        ("shop/text.py", TEXT),
        ("pyproject.toml", "[tool.towncrier]\ndirectory = \"news\"\n"),
        ("news/3.bugfix.md", "Mended.\n"),
    ];
    let done = came(&towncrier, "slug() keeps capitals", &patch(TEXT_DIFF)).await;
    done.has("news/7.bugfix.md", "`slug()` keeps capitals.\n");
    let source = "export function slug(text) {\n  return text.trim();\n}\n";
    let diff = "--- a/src/text.js\n+++ b/src/text.js\n@@ -1,3 +1,3 @@\n export function slug(text) {\n-  return text.trim();\n+  return text.trim().toLowerCase();\n }\n";
    let changesets = [
        ("src/text.js", source),
        ("package.json", "{\"name\": \"@shop/text\"}"),
        (".changeset/config.json", "{\"ignore\": []}"),
        ("CHANGELOG.md", LOG),
    ];
    let done = came(&changesets, "slug() keeps capitals", &patch(diff)).await;
    done.has(".changeset/issue-7.md", "---\n\"@shop/text\": patch\n---\n\n`slug()` keeps capitals\n");
    done.has("CHANGELOG.md", LOG);
    let own = [
        towncrier[0],
        ("pyproject.toml", "[tool.towncrier]\ndirectory = \"news\"\n[[tool.towncrier.type]]\ndirectory = \"x\"\n"),
        towncrier[2],
    ];
    assert!(came(&own, "slug() keeps capitals", &patch(TEXT_DIFF)).await.documented.edits.is_empty());
}

#[tokio::test]
async fn s2_16_documents_follow_what_was_replaced() {
    let source = "def load_all(x):\n    return x\n";
    let diff = "--- a/shop/text.py\n+++ b/shop/text.py\n@@ -1,2 +1,2 @@\n-def load_all(x):\n+def read_all(x):\n     return x\n";
    let readme = "# Shop\n\n## Use\n\nCall `load_all(1)`.\n\n```python\nload_all(2)\n```\n";
    let history = "# 1.0\n\n`load_all` is new.\n";
    let files =
        [("shop/text.py", source), ("README.md", readme), ("HISTORY.md", history), ("docs/a.rst", "``load_all``\n")];
    let done = came(&files, "Call it read_all", &patch(diff)).await;
    done.has("README.md", &readme.replace("load_all", "read_all"));
    done.has("docs/a.rst", "``read_all``\n");
    done.has("HISTORY.md", history);
    let docs = done.docs();
    assert!(docs.docs_required && docs.reason.contains("`load_all` is now called `read_all`"), "{}", docs.reason);
    assert!(!docs.validation.links_valid, "links of reStructuredText are not read");
    // Where the old name is told of as history, it stays.
    let files = [("shop/text.py", source), ("README.md", "`load_all` was deprecated.\n")];
    let done = came(&files, "Call it read_all", &patch(diff)).await;
    assert!(done.documented.edits.is_empty() && !done.documented.notes.is_empty());
}

#[tokio::test]
async fn s2_16_no_document_is_touched_where_none_belongs() {
    for (why, files, title, body) in [
        (
            "documentation",
            vec![("README.md", "A speling of it.\n"), ("CHANGELOG.md", LOG)],
            "Typo",
            "In README.md, replace `speling` by `spelling`.".to_owned(),
        ),
        (
            "comments",
            vec![("a.py", "# The speling.\nX = 1\n"), ("CHANGELOG.md", LOG)],
            "Typo",
            "In a.py, replace `speling` by `spelling`.".to_owned(),
        ),
        (
            "shipped",
            vec![("app.toml", "port = 8080\n"), ("CHANGELOG.md", LOG)],
            "Port",
            "In app.toml, replace `port = 8080` by `port = 9090`.".to_owned(),
        ),
        (
            "released",
            vec![("shop/text.py", TEXT), ("CHANGELOG.md", "# Log\n\n## 1.0\n\n- a\n")],
            "slug() keeps capitals",
            patch(TEXT_DIFF),
        ),
    ] {
        let done = came(&files, title, &body).await;
        assert!(done.coder.commit_ready, "{why}: {:?}", done.coder.validation.errors);
        assert!(done.documented.edits.is_empty() && done.docs().reason.contains(why), "{why}: {}", done.docs().reason);
        assert!(!done.docs().docs_required, "{why}");
    }
}

#[tokio::test]
async fn s2_16_a_link_that_leads_nowhere_is_not_called_valid() {
    let log = LOG.replace("- Things", "- [Things](gone.md)");
    let files = [("shop/text.py", TEXT), ("CHANGELOG.md", log.as_str())];
    let done = came(&files, "slug() keeps capitals", &patch(TEXT_DIFF)).await;
    assert!(!done.documented.edits.is_empty() && !done.docs().validation.links_valid, "{}", done.docs().reason);
}

#[tokio::test]
async fn what_the_gate_refuses_beside_the_change_is_dropped_and_the_change_stays() {
    let files = [("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST), ("CHANGELOG.md", LOG)];
    let body = format!("`slug('A b')` should return `'a b'`.\n\n{}", patch(TEXT_DIFF));
    for (name, value, kept) in [
        ("protected", json!(["CHANGELOG.md"]), &["tests/test_text.py"][..]),
        ("ignore", json!(["tests"]), &["CHANGELOG.md"]),
        ("max_files", json!(1), &[]),
        ("max_files", json!(2), &["tests/test_text.py"]),
        ("max_lines", json!(2), &[]),
    ] {
        let mut bench = Bench::new(&files).await.issue("slug() keeps capitals", &body);
        bench.facts["settings"][name] = value.clone();
        let done = run(&bench).await;
        assert_ne!(done.after["shop/text.py"], TEXT, "{name} {value}");
        for path in ["tests/test_text.py", "CHANGELOG.md"] {
            let changed = done.before[path] != done.after[path];
            assert_eq!(changed, kept.contains(&path), "{name} {value} {path}");
            let told = done.proposal.draft.notes.iter().any(|note| note.contains(path));
            assert!(changed || told, "{name} {value} {path}: {:?}", done.proposal.draft.notes);
        }
        let shown: Vec<&str> = done.proposal.draft.changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(shown.len(), 1 + kept.len(), "{name} {value}: {shown:?}");
    }
}

#[tokio::test]
async fn a_stranger_s_words_reach_a_file_as_plain_words_only() {
    let files = [("shop/text.py", TEXT), ("CHANGELOG.md", LOG)];
    let title = "<img src=x> @octocat closes #12 [x](javascript:alert) <!-- hidden --> \u{202e}abc";
    let done = came(&files, title, &patch(TEXT_DIFF)).await;
    let log = &done.after["CHANGELOG.md"];
    let outside: String =
        log.lines().filter(|line| !LOG.contains(line)).flat_map(|line| line.split('`').step_by(2)).collect();
    assert!(!outside.contains(['<', '>', '@', '[', ']', '(', '\u{202e}']) && !outside.contains("#12"), "{log}");
}

#[tokio::test]
async fn nothing_changed_is_nothing_to_test_or_to_document() {
    let done =
        came(&[("a.py", "x = 1\n"), ("CHANGELOG.md", LOG)], "Add a dark mode", "It should follow the system.").await;
    assert!(!done.tests().tests_required && !done.docs().docs_required && done.beside().is_empty());
    assert!(done.proposal.commit.is_none());
}

#[tokio::test]
async fn the_same_issue_gives_the_same_tests_and_documents() {
    let files = [("shop/text.py", TEXT), ("tests/test_text.py", TEXT_TEST), ("CHANGELOG.md", LOG)];
    let bench = Bench::new(&files).await.issue("slug() keeps capitals", &patch(TEXT_DIFF));
    let (one, other) = (run(&bench).await, run(&bench).await);
    assert_eq!((one.tested, one.documented, one.proposal), (other.tested, other.documented, other.proposal));
}

#[test]
fn whatever_the_tree_only_tests_and_documents_are_edited_and_every_edit_applies() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let line = prop_oneof![
        Just("load_all(1)"),
        Just("`load_all`"),
        Just("from shop.text import load_all"),
        Just("assert load_all(1) == 1"),
        Just("## Unreleased"),
        Just("### Fixed"),
        Just("- load_all"),
        Just("```"),
        Just("def test_a():"),
        Just("    x = 'load_all'"),
        Just("Unreleased\n=========="),
        Just("ä ``load_all``"),
        Just(""),
    ];
    let text = (prop::collection::vec(line, 0..14), any::<bool>(), any::<bool>()).prop_map(|(lines, crlf, last)| {
        let end = if crlf { "\r\n" } else { "\n" };
        lines.join(end) + if last { end } else { "" }
    });
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let source = "def load_all(x):\n    return x\n";
    let diff = "--- a/shop/text.py\n+++ b/shop/text.py\n@@ -1,2 +1,2 @@\n-def load_all(x):\n+def read_all(x):\n     return x\n";
    runner
        .run(&(text.clone(), text.clone(), text), |(test, readme, log)| {
            let files = [
                ("shop/text.py", source),
                ("tests/test_text.py", &test),
                ("README.md", &readme),
                ("docs/a.rst", &readme),
                ("CHANGELOG.md", &log),
            ];
            let done = runtime.block_on(came(&files, "Call it read_all", &patch(diff)));
            let is_test = |path: &str| path.starts_with("tests/");
            prop_assert!(done.tested.edits.iter().all(|edit| is_test(&edit.file)));
            prop_assert!(done.documented.edits.iter().all(|edit| !is_test(&edit.file) && !edit.file.ends_with(".py")));
            for edit in done.tested.edits.iter().chain(&done.documented.edits) {
                prop_assert!(done.before[&edit.file] != done.after[&edit.file], "{}", edit.file);
                // Only what was replaced, or one entry.
                let (old, new) = (&done.before[&edit.file], &done.after[&edit.file]);
                let back = new.replace("read_all", "load_all");
                prop_assert!(edit.file == "CHANGELOG.md" || back == *old, "{} {}", old, new);
                let lines: Vec<&str> = new.lines().collect();
                prop_assert!(edit.file != "CHANGELOG.md" || old.lines().all(|line| lines.contains(&line)));
            }
            prop_assert!(done.after["shop/text.py"].contains("read_all"));
            Ok(())
        })
        .unwrap();
}
