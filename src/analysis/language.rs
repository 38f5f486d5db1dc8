//! Which language a path holds, and which paths hold tests.

use std::path::Path;
use std::sync::LazyLock;

use ast_grep_language::SupportLang;
use regex::Regex;
use serde::{Deserialize, Serialize};

/// A language whose grammar is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Language {
    Rust,
    Python,
    /// Also JSX: its grammar reads both.
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
}

impl Language {
    pub const ALL: [Self; 7] =
        [Self::Rust, Self::Python, Self::JavaScript, Self::TypeScript, Self::Tsx, Self::Go, Self::Java];

    pub fn of_path(path: &str) -> Option<Self> {
        let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "rs" => Self::Rust,
            "py" | "pyi" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::Go => "go",
            Self::Java => "java",
        }
    }

    /// A path of this language for a snippet that names none.
    pub fn sample_path(self) -> &'static str {
        match self {
            Self::Rust => "src/sample.rs",
            Self::Python => "app/sample.py",
            Self::JavaScript => "src/sample.js",
            Self::TypeScript => "src/sample.ts",
            Self::Tsx => "src/sample.tsx",
            Self::Go => "sample/sample.go",
            Self::Java => "src/main/java/Sample.java",
        }
    }

    pub(super) fn grammar(self) -> SupportLang {
        match self {
            Self::Rust => SupportLang::Rust,
            Self::Python => SupportLang::Python,
            Self::JavaScript => SupportLang::JavaScript,
            Self::TypeScript => SupportLang::TypeScript,
            Self::Tsx => SupportLang::Tsx,
            Self::Go => SupportLang::Go,
            Self::Java => SupportLang::Java,
        }
    }
}

/// Whether a path holds tests, examples of use or benchmarks: code that runs on a developer's machine only.
pub(super) fn is_test(path: &str) -> bool {
    #[expect(clippy::expect_used, reason = "a literal pattern; every test of this file compiles it")]
    static TEST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?x)
            (^|/)(tests?|testing|testdata|test[_-]?data|__tests__|__mocks__|specs?|e2e|fixtures?|benches|benchmarks?|examples?|mocks?)/
            |^playgrounds?/
            |(^|/)t/(unit|integration|smoke|functional)/
            |(^|/)src/(test|jmh|integrationTest|androidTest)/
            |(^|/)(test_[^/]*|conftest|tests)\.pyi?$
            |_tests?\.(py|go|rs)$
            |(^|/)tests?\.rs$
            |[._-](test|spec|e2e|stories|bench|mock)\.[cm]?[jt]sx?$
            |(Test|Tests|TestCase|IT|Benchmark)\.java$
            ",
        )
        .expect("the pattern is valid")
    });
    TEST.is_match(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_languages() {
        assert_eq!(Language::of_path("a/b.RS"), Some(Language::Rust));
        assert_eq!(Language::of_path("a.jsx"), Some(Language::JavaScript));
        assert_eq!(Language::of_path("a.tsx"), Some(Language::Tsx));
        assert_eq!(Language::of_path("Makefile"), None);
        for language in Language::ALL {
            assert_eq!(Language::of_path(language.sample_path()), Some(language));
            assert!(!is_test(language.sample_path()));
        }
    }

    #[test]
    fn tests_are_told_by_their_path() {
        for path in [
            "tests/it/main.rs",
            "pkg/app_test.go",
            "test_app.py",
            "a/conftest.py",
            "web/app.spec.ts",
            "web/app.test.jsx",
            "src/test/java/AppIT.java",
            "core/AppTest.java",
            "t/unit/security/keys.py",
            "playground/hmr/main.js",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/contest.py", "src/latest.rs", "pkg/testable.go", "src/attestation.ts", "src/protest/a.js"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
