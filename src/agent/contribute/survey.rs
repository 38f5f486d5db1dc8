//! What lies where in a repository: every file's class and language, and paths of an issue found among them.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use futures::stream::{self, StreamExt, TryStreamExt};
use regex::Regex;

use super::words;
use crate::agent::{Context, Error};
use crate::analysis;
use crate::workspace::{self, Side, Tree};

/// Files that are read; beyond them a repository is known by its paths alone.
pub(super) const MAX_READ: usize = 20_000;
/// Batches under work at the same time, each on a blocking thread, and files in one.
const AT_ONCE: usize = 4;
const BATCH: usize = 16;

/// A repository's files, in the order of their paths.
pub(in crate::agent) struct Survey {
    pub(in crate::agent) files: Vec<Listed>,
    by_name: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agent) struct Listed {
    pub(in crate::agent) path: String,
    /// Bytes, where the tree was asked for them.
    pub(super) size: u64,
    pub(in crate::agent) class: Class,
    pub(in crate::agent) language: Option<&'static str>,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::agent) enum Class {
    Source,
    Test,
    /// Examples, benchmarks, scripts of the project itself: code that nobody ships.
    Aside,
    Docs,
    /// Settings, data, markup.
    Other,
    /// Other people's, or made by a program.
    Foreign,
}

impl Survey {
    /// Lists the tree; what is too large to be read is listed all the same.
    ///
    /// # Errors
    /// When git cannot be read, or the tree is beyond the limits.
    pub(super) async fn of(tree: &Tree) -> Result<Self, Error> {
        let sized: HashMap<String, u64> = tree.files().await?.into_iter().map(|file| (file.path, file.size)).collect();
        let mut survey = Self::new(sized.keys().cloned().collect());
        survey.files.iter_mut().for_each(|file| file.size = sized.get(&file.path).copied().unwrap_or(0));
        Ok(survey)
    }

    pub(in crate::agent) fn new(mut paths: Vec<String>) -> Self {
        paths.sort();
        let files: Vec<Listed> = paths
            .into_iter()
            .map(|path| {
                let language = language(&path);
                Listed { class: class(&path, language), language, path, size: 0 }
            })
            .collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, file) in files.iter().enumerate() {
            by_name.entry(name(&file.path).to_lowercase()).or_default().push(index);
        }
        Self { files, by_name }
    }

    /// Leaves files to others, as the repository's configuration wants it.
    pub(super) fn disown(&mut self, others: impl Fn(&str) -> bool) {
        self.files.iter_mut().filter(|file| others(&file.path)).for_each(|file| file.class = Class::Foreign);
    }

    pub(in crate::agent) fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    pub(super) fn get(&self, path: &str) -> Option<&Listed> {
        self.files.get(self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?)
    }

    /// The first of these paths that is there.
    pub(in crate::agent) fn first(&self, paths: &[&str]) -> Option<&str> {
        paths.iter().find_map(|path| self.find(path))
    }

    /// A path whatever its letters' case.
    pub(in crate::agent) fn find(&self, path: &str) -> Option<&str> {
        let known = self.by_name.get(&name(path).to_lowercase())?;
        known
            .iter()
            .filter_map(|index| self.files.get(*index))
            .map(|file| file.path.as_str())
            .find(|p| p.eq_ignore_ascii_case(path))
    }

    /// Files whose name is this, nearest to the root first.
    pub(in crate::agent) fn named(&self, file_name: &str) -> Vec<&str> {
        let found = self.by_name.get(&file_name.to_lowercase());
        let mut found: Vec<&str> =
            found.into_iter().flatten().filter_map(|i| self.files.get(*i)).map(|file| file.path.as_str()).collect();
        found.retain(|path| name(path) == file_name);
        found.sort_by_key(|path| (path.matches('/').count(), *path));
        found
    }

    /// What a mention in an issue stands for: the files that end as it does. A whole path wins; a bare name is only
    /// taken when it names one file.
    pub(super) fn resolve(&self, mention: &str) -> Option<&Listed> {
        let mention = mention.split_once("/blob/").map_or(mention, |(_, rest)| rest);
        let wanted: Vec<&str> = mention.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let last = wanted.last()?;
        let mut best: Option<(usize, &Listed)> = None;
        let mut ties = 0;
        for file in self.by_name.get(&last.to_lowercase())?.iter().filter_map(|index| self.files.get(*index)) {
            let own = file.path.split('/').rev();
            let alike = own.zip(wanted.iter().rev()).take_while(|(one, two)| one.eq_ignore_ascii_case(two)).count();
            let whole = alike == file.path.split('/').count();
            // A file at the root is only meant by a mention that could not mean another folder's.
            let score = alike * 2 + usize::from(whole && alike == wanted.len());
            match best {
                Some((known, _)) if known == score => ties += 1,
                Some((known, _)) if known > score => {}
                _ => (best, ties) = (Some((score, file)), 0),
            }
        }
        let (score, file) = best?;
        let enough =
            score >= 4 || wanted.len() == 1 || score % 2 == 1 || self.by_name.get(&last.to_lowercase())?.len() == 1;
        // One shared name is weak evidence when the mention has folders that are not there at all.
        let stranger = wanted.len() > 1 && score < 4 && file.path.contains('/');
        (ties == 0 && enough && !stranger && file.class != Class::Foreign).then_some(file)
    }
}

/// Reads files and makes something of each, on several threads and a batch at a time. In the order of the paths; a file
/// that has no text, or that nobody here wrote, gives nothing.
///
/// # Errors
/// When git cannot be read, or the work is cancelled.
pub(super) async fn read_all<T: Send + 'static>(
    cx: &Context,
    tree: &Tree,
    paths: Vec<String>,
    make: impl Fn(&str, &str) -> T + Clone + Send + Sync + 'static,
) -> Result<Vec<(String, T)>, Error> {
    let batches: Vec<Vec<String>> = paths.chunks(BATCH).map(<[String]>::to_vec).collect();
    let made: Vec<Vec<(String, T)>> = stream::iter(batches)
        .map(|batch| {
            let make = make.clone();
            async move {
                if cx.cancel.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                let sides = tree.texts(batch).await?.into_iter();
                let texts: Vec<(String, String)> = sides
                    .filter_map(|(path, side)| match side {
                        Side::Text(text) => Some((path, text)),
                        Side::Absent | Side::NotRead(_) => None,
                    })
                    .collect();
                let work = move || {
                    texts
                        .into_iter()
                        .filter(|(path, text)| analysis::skip_reason(path, text.as_bytes()).is_none())
                        .map(|(path, text)| {
                            let made = make(&path, &text);
                            (path, made)
                        })
                        .collect()
                };
                tokio::task::spawn_blocking(work).await.map_err(|_| Error::Workspace(workspace::Error::Interrupted))
            }
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await?;
    Ok(made.into_iter().flatten().collect())
}

/// The text of a file, if it has one.
///
/// # Errors
/// When git cannot be read.
pub(super) async fn text(tree: &Tree, path: &str) -> Result<Option<String>, Error> {
    Ok(match tree.read(path).await? {
        Side::Text(text) => Some(text),
        Side::Absent | Side::NotRead(_) => None,
    })
}

/// Whether a path stays within the tree it is said to be of.
pub(super) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= 4096
        && !path.contains(['\\', '\0'])
        && path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"))
}

/// What a file is for, by its path.
pub(super) fn class_of(path: &str) -> Class {
    class(path, language(path))
}

/// Whether a path is documentation.
pub(super) fn is_docs(path: &str) -> bool {
    class_of(path) == Class::Docs
}

/// Whether a path holds code that people wrote, tests and tools included.
pub(super) fn is_code(path: &str) -> bool {
    matches!(class(path, language(path)), Class::Source | Class::Test | Class::Aside)
}

/// Whether a path holds tests.
pub(super) fn is_test(path: &str) -> bool {
    class_of(path) == Class::Test
}

pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder that most of these paths lie in, among their first components; `.` when there is none.
pub(super) fn common_folder<'a>(paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        *counts.entry(path.split_once('/').map_or(".", |(folder, _)| folder)).or_default() += 1;
    }
    counts.into_iter().max_by(|one, two| one.1.cmp(&two.1).then(two.0.cmp(one.0))).map(|(folder, _)| folder.to_owned())
}

/// A file's language by its name.
pub(super) fn language(path: &str) -> Option<&'static str> {
    let name = name(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    Some(match extension.as_deref()? {
        "rs" => "Rust",
        "py" | "pyi" | "pyx" => "Python",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "ts" | "tsx" | "mts" | "cts" => "TypeScript",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "scala" | "sc" => "Scala",
        "groovy" | "gradle" => "Groovy",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" => "C++",
        "cs" => "C#",
        "fs" | "fsx" => "F#",
        "vb" => "Visual Basic",
        "rb" | "rake" | "gemspec" => "Ruby",
        "php" => "PHP",
        "swift" => "Swift",
        "m" | "mm" => "Objective-C",
        "ex" | "exs" => "Elixir",
        "erl" | "hrl" => "Erlang",
        "hs" => "Haskell",
        "clj" | "cljs" | "cljc" => "Clojure",
        "lua" => "Lua",
        "pl" | "pm" => "Perl",
        "r" => "R",
        "jl" => "Julia",
        "dart" => "Dart",
        "zig" => "Zig",
        "nim" => "Nim",
        "ml" | "mli" => "OCaml",
        "vue" => "Vue",
        "svelte" => "Svelte",
        "sol" => "Solidity",
        "sh" | "bash" | "zsh" | "fish" => "Shell",
        "ps1" => "PowerShell",
        "sql" => "SQL",
        "html" | "htm" => "HTML",
        "css" | "scss" | "sass" | "less" => "CSS",
        "tf" | "hcl" => "HCL",
        _ => return None,
    })
}

/// Languages that rarely are what a project is written in when there is another.
pub(in crate::agent) fn is_minor(language: &str) -> bool {
    matches!(language, "HTML" | "CSS" | "Shell" | "SQL" | "PowerShell" | "HCL" | "Groovy")
}

fn class(path: &str, language: Option<&'static str>) -> Class {
    static TEST: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?x)(^|/)(tests?|testing|testdata|test[_-]?data|test[_-]suites?|__tests__|__mocks__|__snapshots__|specs?|e2e|fixtures?|mocks?|[A-Za-z0-9.]+\.(?:Unit|Integration)?Tests?)/
            |(^|/)src/(test|integrationTest|androidTest|commonTest|jvmTest)/
            |(^|/)(test_[^/]*|conftest|tests)\.pyi?$
            |_(tests?|spec)\.(py|go|rs|rb|exs|dart|cc|cpp|c|lua|php)$
            |(^|/)tests?\.(rs|py|js|ts|rb|go)$
            |[._-](test|spec|e2e|stories|mock|cy)\.[cm]?[jt]sx?$
            |(Test|Tests|TestCase|IT|Spec|Specs)\.(java|kt|scala|groovy|php|cs|fs|swift)$",
        )
    });
    static ASIDE: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(^|/)(examples?|samples?|demos?|benches|bench|benchmarks?|playgrounds?|scripts?|tools|hack|contrib|ci|\.github|\.ci)/",
        )
    });
    static DOCS: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)(^|/)(docs?|documentation|website|wiki)/.*\.(md|mdx|markdown|rst|adoc|asciidoc|txt|html)$|\.(md|mdx|markdown|rst|adoc|asciidoc)$|(^|/)(readme|changes|changelog|history|news|authors|license|licence|copying|contributing|notice)(\.[a-z]+)?$",
        )
    });
    static FOREIGN: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(^|/)(node_modules|bower_components|vendor|vendored|_vendor|third_party|third-party|thirdparty|site-packages|\.venv|\.yarn|__pycache__|Pods|Carthage|\.git)/|\.min\.(js|css)$|\.(lock|snap|map|svg|png|jpe?g|gif|ico|pdf|zip|gz|jar|woff2?|ttf|eot|mp[34]|wasm|so|dll|exe|bin|class|pyc)$|(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$|\.pb\.(go|cc|h)$|_pb2(_grpc)?\.pyi?$",
        )
    });
    if FOREIGN.is_match(path) {
        Class::Foreign
    } else if DOCS.is_match(path) {
        Class::Docs
    } else if TEST.is_match(path) {
        Class::Test
    } else if language.is_none() {
        Class::Other
    } else if ASIDE.is_match(path) {
        Class::Aside
    } else {
        Class::Source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_class(path: &str, want: Class) {
        assert_eq!(class(path, language(path)), want, "{path}");
    }

    #[test]
    fn a_path_tells_what_a_file_is_for() {
        for path in ["src/a.py", "lib/contest.rb", "app/Http/Controller.php", "latest.go", "src/attestation.ts"] {
            check_class(path, Class::Source);
        }
        for path in [
            "tests/it/main.rs",
            "spec/a_spec.rb",
            "a/FooTest.kt",
            "x_test.exs",
            "src/test/java/A.java",
            "Shop.Tests/A.cs",
            "web/a.cy.ts",
            "tests/data/a.json",
        ] {
            check_class(path, Class::Test);
        }
        for path in ["README", "docs/a.txt", "CHANGES.rst", "src/ARCHITECTURE.md"] {
            check_class(path, Class::Docs);
        }
        for path in ["vendor/a.go", "Cargo.lock", "a.min.js", "x_pb2.py", "web/node_modules/a/i.js"] {
            check_class(path, Class::Foreign);
        }
        check_class("examples/a.py", Class::Aside);
        check_class("tsconfig.json", Class::Other);
    }

    fn survey() -> Survey {
        let paths = [
            "src/pkg/fields.py",
            "src/pkg/schema.py",
            "web/index.ts",
            "api/index.ts",
            "setup.cfg",
            "README.md",
            "docs/README.md",
        ];
        Survey::new(paths.map(str::to_owned).to_vec())
    }

    #[track_caller]
    fn check(mention: &str, want: Option<&str>) {
        assert_eq!(survey().resolve(mention).map(|file| file.path.as_str()), want, "{mention}");
    }

    #[test]
    fn a_mention_finds_its_file_and_never_guesses() {
        check("src/pkg/fields.py", Some("src/pkg/fields.py"));
        check("/home/x/site-packages/pkg/fields.py", Some("src/pkg/fields.py"));
        check("fields.py", Some("src/pkg/fields.py"));
        check("index.ts", None);
        check("web/index.ts", Some("web/index.ts"));
        check("/usr/lib/other/fields.py", None);
        check("https://github.com/o/r/blob/main/setup.cfg", Some("setup.cfg"));
        check("README.md", Some("README.md"));
        check("gone.py", None);
        check("", None);
    }

    #[test]
    fn only_a_path_within_the_tree_is_one() {
        for bad in ["", "/etc/passwd", "../a", "a/../b", "a//b", "a\\b", ".git/config", "a/.GIT/x", "a\0b", "./a"] {
            assert!(!is_inside(bad), "{bad:?}");
        }
        assert!(is_inside("src/[id]/page.tsx") && is_inside(".github/x.yml"));
    }
}
