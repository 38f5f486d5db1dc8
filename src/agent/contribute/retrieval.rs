//! Finds the files that an issue is about: BM25 over fields (path, defined symbols, code, comments), and what the issue
//! names outright. Only what the query asks for is counted, so that a large repository costs little memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::query::{Kind, Query};
use super::survey::{Class, Listed};
use super::words;

const FIELDS: usize = 4;
const PATH: usize = 0;
const SYMBOL: usize = 1;
const CODE: usize = 2;
const COMMENT: usize = 3;
/// How much an occurrence counts in each field, and how much the field's length takes back.
const WEIGHT: [f32; FIELDS] = [3.0, 2.5, 1.0, 1.0];
const LENGTH: [f32; FIELDS] = [0.3, 0.6, 0.75, 0.75];
const K1: f32 = 1.2;
/// Files that define a named symbol, beyond which the name says nothing.
const MAX_DEFINERS: usize = 8;
/// The share of the best score that a file gets for a name that the title spells out.
const BY_TITLE: f32 = 0.25;
const MAX_LINES: usize = 5;
const MAX_PREVIEW: usize = 900;
const PREVIEW_BEFORE: usize = 3;
const PREVIEW_LINES: usize = 14;

/// What one file has of what the query asks for.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Measured {
    counts: BTreeMap<usize, [u32; FIELDS]>,
    lengths: [u32; FIELDS],
    /// Names of the query that are defined here.
    pub(super) defines: BTreeSet<usize>,
}

/// A file with its rank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) class: Class,
    pub(super) score: f32,
    /// In plain words, the strongest reason first.
    pub(super) why: String,
    pub(super) lines: BTreeSet<u32>,
    /// The issue names the file itself, or its trace does.
    pub(super) named: bool,
    /// How many of the terms that were asked for it has.
    pub(super) words: usize,
}

/// Counts what the query asks for in one file that defines these symbols.
pub(super) fn measure(query: &Query, path: &str, text: &str, symbols: &[(usize, &str)]) -> Measured {
    let mut measured = Measured::default();
    for stem in words::stems(path) {
        measured.add(query.stems.get(&stem).copied(), PATH);
        measured.lengths[PATH] += 1;
    }
    let mut memo: HashMap<&str, Word> = HashMap::new();
    let mut state = Comments::of(path);
    for line in text.lines() {
        let field = if state.is_comment(line) { COMMENT } else { CODE };
        for word in line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
            let known = memo.entry(word).or_insert_with(|| Word::of(query, word));
            measured.lengths[field] += known.length;
            if field == CODE && is_keyword(word) {
                continue;
            }
            for index in &known.terms {
                measured.add(Some(*index), field);
            }
        }
    }
    for (_, symbol) in symbols {
        let word = Word::of(query, symbol);
        measured.lengths[SYMBOL] += word.length;
        word.terms.iter().for_each(|index| measured.add(Some(*index), SYMBOL));
        measured.defines.extend(query.names.get(*symbol));
    }
    for (index, phrase) in &query.phrases {
        if text.contains(phrase.as_str()) {
            measured.add(Some(*index), CODE);
        }
    }
    measured
}

/// Ranks what was measured, best first; equal scores by path. Files that share nothing with the issue are left out.
pub(super) fn rank(query: &Query, files: &[(&Listed, &Measured)]) -> Vec<Hit> {
    let count = files.len().max(1) as f32;
    let mut averages = [0.0_f32; FIELDS];
    for (_, measured) in files {
        averages.iter_mut().zip(measured.lengths).for_each(|(sum, length)| *sum += length as f32 / count);
    }
    let asked = |index: &usize| query.terms.get(*index).is_some_and(|term| term.weight > 0.0);
    let mut found_in = vec![0_usize; query.terms.len()];
    for (_, measured) in files {
        measured.counts.keys().filter_map(|index| found_in.get_mut(*index).map(|found| *found += 1)).for_each(drop);
    }
    let rarity: Vec<f32> =
        found_in.iter().map(|found| (1.0 + (count - *found as f32 + 0.5) / (*found as f32 + 0.5)).ln()).collect();
    let mut definers = vec![0_usize; query.terms.len()];
    for (_, measured) in files.iter().filter(|(file, _)| file.class == Class::Source) {
        measured.defines.iter().filter_map(|index| definers.get_mut(*index).map(|known| *known += 1)).for_each(drop);
    }
    let scored: Vec<(f32, Vec<(f32, usize)>)> = files
        .iter()
        .map(|(file, measured)| {
            let mut parts = Vec::new();
            for (index, counts) in measured.counts.iter().filter(|(index, _)| asked(index)) {
                let mut frequency = 0.0;
                for field in 0..FIELDS {
                    let share = measured.lengths[field] as f32 / averages[field].max(1.0);
                    let length = 1.0 - LENGTH[field] + LENGTH[field] * share;
                    frequency += WEIGHT[field] * counts[field] as f32 / length.max(0.1);
                }
                let weight = query.terms.get(*index).map_or(0.0, |term| term.weight);
                let rare = rarity.get(*index).copied().unwrap_or(0.0);
                parts.push((weight * rare * frequency / (K1 + frequency), *index));
            }
            let sum: f32 = parts.iter().map(|(score, _)| score).sum();
            (sum * by_class(file.class), parts)
        })
        .collect();
    let best = scored.iter().map(|(score, _)| *score).fold(0.0_f32, f32::max).max(1.0);
    let mut hits: Vec<Hit> = files
        .iter()
        .zip(scored)
        .filter_map(|((file, measured), (score, parts))| {
            let place = query.places.get(&file.path);
            let words = parts.len();
            let defined: Vec<usize> = measured
                .defines
                .iter()
                .copied()
                .filter(asked)
                .filter(|index| definers.get(*index).is_some_and(|known| *known <= MAX_DEFINERS))
                .collect();
            let by_symbol: f32 = defined
                .iter()
                .map(|index| {
                    let weight = query.terms.get(*index).map_or(0.0, |term| term.weight);
                    0.12 * weight / definers.get(*index).copied().unwrap_or(1).max(1) as f32
                })
                .sum();
            let named_so = if is_titled(query, &file.path) { BY_TITLE } else { 0.0 };
            let boost = place.map_or(0.0, |place| place.weight) + by_symbol.min(0.6) + named_so;
            let score = score + best * boost * by_class(file.class).max(0.6);
            (score > 0.0).then(|| Hit {
                path: file.path.clone(),
                class: file.class,
                score,
                why: why(query, place, &defined, parts),
                lines: place.map(|place| place.lines.clone()).unwrap_or_default(),
                named: place.is_some_and(|place| place.weight >= 0.9),
                words,
            })
        })
        .collect();
    hits.sort_by(|one, two| two.score.total_cmp(&one.score).then_with(|| one.path.cmp(&two.path)));
    hits
}

/// Whether every word of a file's name is in the title.
fn is_titled(query: &Query, path: &str) -> bool {
    let name = super::survey::name(path).split('.').next().unwrap_or_default();
    let mut words = words::stems(name).peekable();
    words.peek().is_some() && words.all(|stem| query.title.contains(&stem))
}

/// The lines of a file that are most about the query, and an excerpt around the best of them.
pub(super) fn locate(query: &Query, hit: &Hit, path: &str, text: &str) -> (Vec<u32>, String) {
    let lines: Vec<&str> = text.lines().collect();
    let defined: BTreeSet<usize> =
        symbols(path, text).filter(|(_, name)| query.names.contains_key(*name)).map(|(line, _)| line).collect();
    let mut scored: Vec<(f32, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut met: BTreeSet<usize> = BTreeSet::new();
        for word in line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
            met.extend(Word::of(query, word).terms);
        }
        met.extend(query.phrases.iter().filter(|(_, phrase)| line.contains(phrase.as_str())).map(|(index, _)| *index));
        let mut score: f32 = met.iter().filter_map(|index| query.terms.get(*index)).map(|term| term.weight).sum();
        if defined.contains(&at) {
            score = score * 1.5 + 1.0;
        }
        if u32::try_from(at + 1).is_ok_and(|number| hit.lines.contains(&number)) {
            score += 6.0;
        }
        if score > 0.0 {
            scored.push((score, at));
        }
    }
    scored.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
    let mut chosen: Vec<u32> = scored.iter().take(MAX_LINES).filter_map(|(_, at)| u32::try_from(at + 1).ok()).collect();
    chosen.sort_unstable();
    let best = scored.first().map_or(0, |(_, at)| *at);
    let from = best.saturating_sub(PREVIEW_BEFORE);
    let excerpt: Vec<&str> = lines.iter().skip(from).take(PREVIEW_LINES).copied().collect();
    (chosen, words::block(&excerpt.join("\n"), MAX_PREVIEW))
}

impl Measured {
    fn add(&mut self, term: Option<usize>, field: usize) {
        if let Some(count) = term.and_then(|index| self.counts.entry(index).or_default().get_mut(field)) {
            *count = count.saturating_add(1);
        }
    }
}

/// A word of a file, looked up once.
struct Word {
    terms: Vec<usize>,
    /// In parts: `as_string` is two.
    length: u32,
}

impl Word {
    fn of(query: &Query, word: &str) -> Self {
        /// Longer runs of letters are data.
        const LONGEST: usize = 120;
        if word.len() > LONGEST {
            return Self { terms: Vec::new(), length: 1 };
        }
        let parts = words::parts(word);
        let mut terms: Vec<usize> =
            parts.iter().filter_map(|part| query.stems.get(&words::stem(part)).copied()).collect();
        terms.extend(query.names.get(word));
        Self { terms, length: u32::try_from(parts.len()).unwrap_or(1) }
    }
}

/// Words of a language's own grammar and its simplest types: in code they say nothing, however often they stand there.
fn is_keyword(word: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "abstract",
        "any",
        "array",
        "as",
        "assert",
        "async",
        "await",
        "begin",
        "bool",
        "boolean",
        "break",
        "byte",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "continue",
        "def",
        "default",
        "delete",
        "do",
        "double",
        "dyn",
        "else",
        "end",
        "enum",
        "except",
        "export",
        "extends",
        "final",
        "finally",
        "float",
        "fn",
        "for",
        "from",
        "func",
        "function",
        "goto",
        "if",
        "impl",
        "implements",
        "import",
        "in",
        "instanceof",
        "int",
        "interface",
        "let",
        "long",
        "loop",
        "match",
        "mod",
        "module",
        "mut",
        "namespace",
        "new",
        "nil",
        "null",
        "number",
        "object",
        "package",
        "pass",
        "private",
        "protected",
        "pub",
        "public",
        "raise",
        "require",
        "return",
        "self",
        "short",
        "static",
        "str",
        "string",
        "struct",
        "super",
        "switch",
        "then",
        "this",
        "throw",
        "throws",
        "trait",
        "try",
        "type",
        "typeof",
        "unsafe",
        "unsigned",
        "use",
        "using",
        "var",
        "void",
        "where",
        "while",
        "with",
        "yield",
    ];
    KEYWORDS.binary_search(&word).is_ok()
}

/// Which lines are comments, told by how they begin. Strings over several lines count as comments where they document.
struct Comments {
    all: bool,
    python: bool,
    hash: bool,
    inside: bool,
}

impl Comments {
    fn of(path: &str) -> Self {
        let extension = path.rsplit('.').next().unwrap_or_default();
        Self {
            all: matches!(extension, "md" | "mdx" | "markdown" | "rst" | "adoc" | "txt"),
            python: matches!(extension, "py" | "pyi" | "pyx"),
            hash: !matches!(extension, "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "rs"),
            inside: false,
        }
    }

    fn is_comment(&mut self, line: &str) -> bool {
        let line = line.trim();
        if self.all {
            return true;
        }
        let was_inside = self.inside;
        if self.python {
            let marks = line.matches("\"\"\"").count() + line.matches("'''").count();
            self.inside ^= marks % 2 == 1;
            return was_inside || self.inside || line.starts_with('#') || line.starts_with("\"\"\"");
        }
        if was_inside {
            self.inside = !line.contains("*/");
            return true;
        }
        self.inside = line.starts_with("/*") && !line.contains("*/");
        line.starts_with("//") || line.starts_with("/*") || line.starts_with("--") || self.hash && line.starts_with('#')
    }
}

/// Names that a file defines, with the index of their line. By how definitions look in the usual languages: a name too many
/// costs little here.
pub(super) fn symbols<'t>(path: &str, text: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
    static WORDED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"^[ \t]*(?:(?:export|default|pub(?:\([a-z:]+\))?|public|private|protected|internal|static|final|abstract|async|unsafe|const|inline|virtual|override|open|data|sealed|partial|extern|declare|local|suspend|companion) +)*(?:def|class|fn|func|function\*?|fun|struct|enum|trait|interface|type|module|mod|object|record|protocol|extension|macro_rules!|const|let|var|val|sub|defmodule|defp?|defmacro|namespace) +(?:\([^)]*\) *)?(?:self\.)?([A-Za-z_$][A-Za-z0-9_$]*)",
        )
    });
    static TYPED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"^[ \t]*(?:(?:public|private|protected|internal|static|final|abstract|async|virtual|override|synchronized|inline|const|unsigned) +)*[A-Za-z_][A-Za-z0-9_:.<>\[\],?*& ]*[ *&]([A-Za-z_][A-Za-z0-9_]*)\([^;]*$",
        )
    });
    static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"^(?:[A-Za-z_.]+\.)?([A-Za-z_$][A-Za-z0-9_$]*) *(?::[^=\n]{1,60})?= *[^=\n]|^[ \t]+([A-Za-z_$][A-Za-z0-9_$]*)(?: *[:=] *(?:async *)?(?:function|\([^)]*\) *=>)|\([^)]*\) *\{$)",
        )
    });
    let extension = path.rsplit('.').next().unwrap_or_default();
    let typed = matches!(extension, "java" | "cs" | "c" | "h" | "cc" | "cpp" | "hpp" | "cxx" | "dart" | "kt" | "scala");
    let assigned = matches!(extension, "py" | "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "rb" | "vue");
    let prose = Comments::of(path).all;
    const CONTROL: &[&str] = &["if", "for", "while", "switch", "return", "catch", "else", "new", "throw"];
    text.lines().enumerate().take(if prose { 0 } else { usize::MAX }).filter_map(move |(at, line)| {
        /// Longer lines are data.
        const LONGEST: usize = 400;
        if line.len() > LONGEST || line.trim_start().is_empty() {
            return None;
        }
        let worded = WORDED.captures(line).and_then(|c| c.get(1));
        let found = worded
            .or_else(|| TYPED.captures(line).filter(|_| typed).and_then(|c| c.get(1)))
            .or_else(|| ASSIGNED.captures(line).filter(|_| assigned).and_then(|c| c.get(1).or_else(|| c.get(2))))?;
        (!CONTROL.contains(&found.as_str())).then_some((at, found.as_str()))
    })
}

fn by_class(class: Class) -> f32 {
    match class {
        Class::Source | Class::Test | Class::Docs => 1.0,
        Class::Aside => 0.6,
        Class::Other => 0.45,
        Class::Foreign => 0.0,
    }
}

fn why(query: &Query, place: Option<&super::query::Place>, defined: &[usize], mut parts: Vec<(f32, usize)>) -> String {
    let mut reasons: Vec<String> = place.into_iter().flat_map(|place| place.reasons()).map(str::to_owned).collect();
    let text = |index: &usize| query.terms.get(*index).map(|term| term.shown.as_str());
    let names: Vec<String> = defined.iter().filter_map(text).take(3).map(|name| format!("`{name}`")).collect();
    if !names.is_empty() {
        reasons.push(format!("defines {}", names.join(", ")));
    }
    parts.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
    let mut told = BTreeSet::new();
    let words: Vec<&str> = parts
        .iter()
        .filter(|(_, index)| query.terms.get(*index).is_some_and(|term| term.kind != Kind::Phrase))
        .filter_map(|(_, index)| text(index))
        .filter(|word| told.insert(word.to_lowercase()))
        .take(4)
        .collect();
    if !words.is_empty() {
        reasons.push(format!("speaks of {}", words.join(", ")));
    }
    words::line(&reasons.join("; "), 240)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        let got: Vec<&str> = symbols(path, text).map(|(_, name)| name).collect();
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn definitions_are_known_in_many_languages() {
        check(
            "a.py",
            "class A(B):\n    async def run(self):\n        if x: pass\nLIMIT = 3\nx == 1\n",
            &["A", "run", "LIMIT"],
        );
        check("a.rs", "pub(crate) async fn go() {\nimpl X {\npub struct Y;\nlet z = 1;", &["go", "Y", "z"]);
        check("a.go", "func (s *Server) Close() error {\ntype Server struct {\nreturn f(x)", &["Close", "Server"]);
        check(
            "a.ts",
            "export default class Cart {\n  total(x: number) {\nexport const sum = (a) => a\n  if (x) {",
            &["Cart", "total", "sum"],
        );
        check("a.js", "  add(item) {\nmodule.exports.run = function () {\n", &["add", "run"]);
        check(
            "A.java",
            "public final class A {\n    private List<String> names(int x) {\n        return names(x);\n",
            &["A", "names"],
        );
        check("a.rb", "module M\n  def self.call(x)\n", &["M", "call"]);
        check("a.c", "static int parse_it(const char *s)\n{\n  if (x)\n  parse(x);\n", &["parse_it"]);
        check("a.md", "class is a word\n", &[]);
    }

    #[test]
    fn a_keyword_is_none_when_it_is_part_of_a_name() {
        assert!(is_keyword("abstract") && is_keyword("number") && is_keyword("yield") && !is_keyword("typeName"));
    }

    #[test]
    fn comments_are_told_from_code() {
        let mut python = Comments::of("a.py");
        let lines = [
            "def f():",
            "    \"\"\"Doc.",
            "    more",
            "    \"\"\"",
            "    return 1  # x",
            "# y",
            "\"\"\"one line\"\"\"",
        ];
        let got: Vec<bool> = lines.iter().map(|line| python.is_comment(line)).collect();
        assert_eq!(got, [false, true, true, true, false, true, true]);
        let mut c = Comments::of("a.c");
        let lines = ["/* a", " b */", "int x;", "#include <x>", "// y"];
        let got: Vec<bool> = lines.iter().map(|line| c.is_comment(line)).collect();
        assert_eq!(got, [true, true, false, false, true]);
    }
}
