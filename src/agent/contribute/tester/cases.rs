//! The tests in a file: their names, and of what kind they are.

use std::sync::LazyLock;

use regex::Regex;

use crate::agent::contribute::{survey, words};
use crate::analysis::Language;
use crate::artifact::swarm::TestKind;

/// The names of the tests of a file, in its order.
pub(super) fn names(path: &str, text: &str) -> Vec<String> {
    placed(path, text).into_iter().map(|(name, _)| name).collect()
}

/// The tests of a file, and the 1-based line at which each begins.
pub(super) fn placed(path: &str, text: &str) -> Vec<(String, u32)> {
    static PYTHON: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\("));
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r#"(?m)^[ \t]*(?:it|test)(?:\.(?:only|skip|concurrent|failing))*[ \t]*\([ \t\n]*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)"#,
        )
    });
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?m)^[ \t]*#\[(?:[a-z_]+::)*(?:test|rstest|test_case)\b[^\n]*\n(?:[ \t]*(?:#\[[^\n]*|//[^\n]*)?\n)*[ \t]*(?:pub(?:\([a-z]+\))?[ \t]+)?(?:async[ \t]+)?fn[ \t]+(\w+)",
        )
    });
    static GO: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"(?m)^func[ \t]+((?:Test|Benchmark|Fuzz|Example)\w*)[ \t]*\("));
    static JAVA: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?m)^[ \t]*@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b[^\n]*\n(?:[ \t]*(?:@|//)[^\n]*\n)*[ \t]*(?:(?:public|protected|private|static|final)[ \t]+)*[\w<>\[\], ]+[ \t]+(\w+)[ \t]*\(",
        )
    });
    let pattern = match Language::of_path(path) {
        Some(Language::Python) => &PYTHON,
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => &SCRIPT,
        Some(Language::Rust) => &RUST,
        Some(Language::Go) => &GO,
        Some(Language::Java) => &JAVA,
        None => return Vec::new(),
    };
    let (mut line, mut read) = (1, 0);
    let mut all = Vec::new();
    for found in pattern.captures_iter(text) {
        let Some(name) = found.iter().skip(1).flatten().next() else { continue };
        let start = found.get(0).map_or(0, |whole| whole.start());
        line += text.get(read..start).map_or(0, |gap| gap.matches('\n').count() as u32);
        read = start;
        all.push((name.as_str().to_owned(), line));
    }
    all
}

/// Whether a file may hold tests: one of its own, or code with tests beside it.
pub(super) fn may_hold(path: &str) -> bool {
    survey::is_test(path) && Language::of_path(path).is_some() || path.ends_with(".rs")
}

/// By where it lies.
pub(super) fn kind(path: &str) -> TestKind {
    let lower = path.to_ascii_lowercase();
    let part = |names: &[&str]| lower.split(['/', '.', '_', '-']).any(|part| names.contains(&part));
    let own_crate = lower.ends_with(".rs") && lower.split('/').any(|part| part == "tests") && !lower.contains("src/");
    if part(&["e2e", "cypress", "cy", "playwright"]) {
        TestKind::E2e
    } else if part(&["integration", "integrationtest", "it"]) || path.ends_with("IT.java") || own_crate {
        TestKind::Integration
    } else {
        TestKind::Unit
    }
}

/// What runs a file's tests, by its own words.
pub(super) fn framework(path: &str, text: &str) -> &'static str {
    let has = |word: &str| text.contains(word);
    match Language::of_path(path) {
        Some(Language::Python) if has("unittest.TestCase") || has("(TestCase)") => "unittest",
        Some(Language::Python) => "pytest",
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            let known = [
                ("vitest", "vitest"),
                ("node:test", "node:test"),
                ("bun:test", "bun test"),
                ("@playwright/test", "playwright"),
                ("@jest/globals", "jest"),
                ("jest.", "jest"),
                ("from 'ava'", "ava"),
                ("chai", "mocha"),
                ("cy.", "cypress"),
            ];
            known.into_iter().find(|(word, _)| has(word)).map_or("", |(_, name)| name)
        }
        Some(Language::Rust) => "cargo test",
        Some(Language::Go) => "go test",
        Some(Language::Java) if has("org.junit.jupiter") => "JUnit 5",
        Some(Language::Java) if has("org.testng") => "TestNG",
        Some(Language::Java) => "JUnit",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        assert_eq!(names(path, text), want, "{path}");
    }

    #[test]
    fn tests_are_found_by_the_words_of_their_language() {
        check(
            "tests/test_a.py",
            "def test_a():\n    pass\n\nclass T:\n    async def test_b(self):\n",
            &["test_a", "test_b"],
        );
        check("tests/test_a.py", "def helper():\n    # def test_no():\n    contest(1)\n", &[]);
        check("a.test.ts", "it('adds', () => {});\n  test.only(\"x 'y'\", f);\nedit('no');\n", &["adds", "x 'y'"]);
        let rust = "#[test]\nfn a() {}\n\n#[tokio::test(flavor = \"x\")]\n#[ignore]\nasync fn b() {}\n\nfn c() {}\n";
        check("src/a.rs", rust, &["a", "b"]);
        check("a_test.go", "func TestA(t *testing.T) {}\nfunc helper() {}\n", &["TestA"]);
        check("src/test/java/ATest.java", "  @Test\n  @Tag(\"x\")\n  void adds() {}\n  void no() {}\n", &["adds"]);
        check("tests/a.txt", "def test_a():\n", &[]);
    }

    #[test]
    fn a_path_tells_the_kind_of_its_tests() {
        for (path, want) in [
            ("tests/unit/test_a.py", TestKind::Unit),
            ("src/a.rs", TestKind::Unit),
            ("tests/a.rs", TestKind::Integration),
            ("tests/integration/test_a.py", TestKind::Integration),
            ("src/test/java/AIT.java", TestKind::Integration),
            ("web/cart.e2e.ts", TestKind::E2e),
            ("cypress/cart.cy.ts", TestKind::E2e),
        ] {
            assert_eq!(kind(path), want, "{path}");
        }
    }
}
