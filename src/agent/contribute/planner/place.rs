//! Where a wish would be fulfilled: files that its own words lead to, or a new one beside others of its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::explorer;
use super::super::library::Reading;
use super::super::naming::{self, Casing};
use super::super::resolve::folder;
use super::super::retrieval::{self, Hit};
use super::super::survey::{self, Class, name};
use super::super::words;
use super::wish;
use crate::analysis::Language;
use crate::artifact::plan::TaskKind;
use crate::stdx::path::join;

/// Files that a wish is said to touch; those that it names itself come beside them.
const MAX_FILES: usize = 3;
const MAX_NAMED: usize = 8;
/// A file whose score is a smaller share of the best one's is not the place.
const LEAST_SHARE: f32 = 0.6;
const MAX_NAME: usize = 40;

/// The files of a wish, the weightiest first. At least one of the two is there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Place {
    /// Each with the reason.
    pub(super) existing: Vec<(String, String)>,
    pub(super) new: Option<String>,
}

impl Place {
    /// The file that stands for the place: the new one, or the weightiest.
    pub(super) fn target(&self) -> Option<&str> {
        self.new.as_deref().or_else(|| self.existing.first().map(|(path, _)| path.as_str()))
    }

    pub(super) fn paths(&self) -> Vec<String> {
        self.new.iter().cloned().chain(self.existing.iter().map(|(path, _)| path.clone())).collect()
    }
}

/// Finds the place of a wish by its own words; nothing where they lead nowhere.
pub(super) fn find(reading: &Reading, text: &str, kind: TaskKind, to_be_made: &[String]) -> Option<Place> {
    let made: Vec<&String> = to_be_made.iter().filter(|path| text.contains(path.as_str())).collect();
    let hits = hits(reading, text);
    let fits = |class: Class, named: bool| match kind {
        TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor => {
            matches!(class, Class::Source | Class::Aside) || named && class != Class::Foreign
        }
        TaskKind::Test => class == Class::Test || named,
        TaskKind::Documentation => class == Class::Docs || named,
        TaskKind::Infrastructure => matches!(class, Class::Other | Class::Aside) || named,
    };
    let mut existing = best(hits.iter().filter(|hit| fits(hit.class, hit.named)));
    let by_name = hits.iter().any(|hit| hit.named);
    if matches!(kind, TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor)
        && !by_name
        && let Some((path, command)) = of_command(reading, text)
    {
        existing.retain(|(known, _)| known != path);
        existing.insert(0, (path.to_owned(), format!("holds the command {command}")));
        existing.truncate(MAX_FILES);
    }
    let standard = standard(text, kind);
    if let Some(path) = standard.and_then(|path| reading.survey.find(path))
        && !existing.iter().any(|(known, _)| known == path)
    {
        existing.insert(0, (path.to_owned(), "the file that this is kept in".to_owned()));
        existing.truncate(MAX_FILES);
    }
    let new = made.first().map(|path| (*path).clone()).or_else(|| {
        let missing = standard.filter(|path| reading.survey.find(path).is_none());
        match missing {
            Some(path) if existing.is_empty() || kind == TaskKind::Infrastructure => Some(path.to_owned()),
            _ => beside_its_kind(reading, text, kind, existing.first().map(|(path, _)| path.as_str())),
        }
    });
    let place = Place { existing, new };
    if place.target().is_some() {
        return Some(place);
    }
    match kind {
        // A test goes where the tests of the code lie that it is about.
        TaskKind::Test => {
            let code = best(hits.iter().filter(|hit| matches!(hit.class, Class::Source | Class::Aside)));
            let (path, _) = code.first()?;
            Some(tests_of(reading, path))
        }
        TaskKind::Documentation => {
            let readme = reading.survey.first(&["README.md", "README.rst", "README", "README.txt", "docs/index.md"]);
            let about = best(hits.iter().filter(|hit| hit.class == Class::Source));
            let path = readme.filter(|_| !about.is_empty() || text.to_lowercase().contains("readme"))?;
            Some(Place { existing: vec![(path.to_owned(), "what a reader opens first".to_owned())], new: None })
        }
        TaskKind::Infrastructure => {
            let code = best(hits.iter().filter(|hit| hit.class == Class::Source));
            (!code.is_empty()).then_some(Place { existing: code, new: None })
        }
        TaskKind::Feature | TaskKind::Bugfix | TaskKind::Refactor => {
            let other = best(hits.iter().filter(|hit| hit.class == Class::Other));
            (!other.is_empty()).then_some(Place { existing: other, new: None })
        }
    }
}

/// The file of a command of the program itself, where the text names one: `the scan command`. By its name, or else by what it
/// defines, beside the other commands.
fn of_command<'r>(reading: &'r Reading, text: &str) -> Option<(&'r str, String)> {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(r"(?i)\b([a-z][\w-]*)`?\s+(?:sub)?commands?\b|\b(?:sub)?commands?\s+`?([a-z][\w-]*)")
    });
    const DOORS: &[&str] = &["bin", "cli", "cmd", "cmds", "command", "commands", "subcommands"];
    let is_door = |part: &String| DOORS.contains(&part.as_str());
    let told = COMMAND.captures_iter(text).filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str()));
    let mut told = told.map(str::to_lowercase).filter(|word| !words::is_stop(word) && !is_door(word));
    told.find_map(|word| {
        let rank = |path: &str| {
            words::parts(path).iter().any(is_door).then_some(())?;
            if words::parts(name(path).split('.').next().unwrap_or_default()).contains(&word) {
                return Some(0);
            }
            let defines = |export: &String| {
                let parts = words::parts(export);
                parts.contains(&word) && (parts.len() == 1 || parts.iter().any(is_door))
            };
            reading.files.get(path)?.exports.iter().any(defines).then_some(1)
        };
        let sources = reading.survey.files.iter().filter(|file| file.class == Class::Source);
        let ranked = sources.filter_map(|file| Some((rank(&file.path)?, file.path.matches('/').count(), &file.path)));
        ranked.min().map(|(_, _, path)| (path.as_str(), word.clone()))
    })
}

/// The files that the text as a whole leads to: those that it names, else those that share the most words with it.
pub(super) fn of_whole(reading: &Reading, named: &[String]) -> Option<Place> {
    let why = || "where the text as a whole leads".to_owned();
    let mut existing: Vec<(String, String)> = named
        .iter()
        .filter(|path| reading.survey.has(path))
        .take(MAX_FILES)
        .map(|path| (path.clone(), why()))
        .collect();
    if existing.is_empty() {
        let hits = retrieval::rank(&reading.query.whole(), &reading.measured());
        existing = best(hits.iter().filter(|hit| matches!(hit.class, Class::Source | Class::Aside) && hit.words >= 2));
    }
    (!existing.is_empty()).then_some(Place { existing, new: None })
}

/// Where the tests of a file are, or would be.
pub(super) fn tests_of(reading: &Reading, path: &str) -> Place {
    let why = || format!("tests {path}");
    let language = survey::language(path);
    let named =
        explorer::beside(&reading.survey, &[path]).into_iter().filter(|test| survey::language(test) == language);
    let named = named.filter(|test| is_test_name(test));
    let mut existing: Vec<(String, String)> = named.take(2).map(|test| (test, why())).collect();
    if existing.is_empty()
        && let Some(unit) = reading.graph.unit(path)
    {
        let importers = reading.graph.used_by[unit].iter().map(|from| reading.graph.units[*from].as_str());
        let tests = importers.filter(|from| reading.survey.get(from).is_some_and(|file| file.class == Class::Test));
        let tests = tests.filter(|test| is_test_name(test));
        existing = tests.take(2).map(|test| (test.to_owned(), format!("imports {path}"))).collect();
    }
    let own = reading.files.get(path).is_some_and(|noted| noted.own_tests);
    if existing.is_empty() && own {
        existing.push((path.to_owned(), "holds its own tests".to_owned()));
    }
    let new = existing.is_empty().then(|| test_path(reading, path)).flatten();
    Place { existing, new }
}

/// Not a helper of tests that is called as what it stands in for, where the language's runner tells tests by their names.
fn is_test_name(path: &str) -> bool {
    let stem = name(path).split('.').next().unwrap_or_default();
    match Language::of_path(path) {
        Some(Language::Python) => stem.starts_with("test") || stem.ends_with("test") || stem.ends_with("tests"),
        _ => true,
    }
}

/// Files in the order in which they are about the words of a text.
fn hits(reading: &Reading, text: &str) -> Vec<Hit> {
    let query = reading.query.part(text);
    let mut objects: BTreeSet<String> = wish::objects(text).iter().map(|word| words::stem(word)).collect();
    objects.retain(|stem| query.stems.contains_key(stem));
    // Verbs of demand lead nowhere unless there is nothing else.
    let mut query = query;
    if !objects.is_empty() {
        for term in &mut query.terms {
            if term.kind == super::super::query::Kind::Stem && !objects.contains(&term.text) {
                term.weight = 0.0;
            }
        }
    }
    let measured = reading.measured();
    let hits = retrieval::rank(&query, &measured);
    let asked = objects.len();
    let needed = if asked <= 3 { 1 } else { 2 };
    hits.into_iter().filter(|hit| hit.named || asked > 0 && hit.words >= needed).collect()
}

fn best<'h>(hits: impl Iterator<Item = &'h Hit> + Clone) -> Vec<(String, String)> {
    let best = hits.clone().map(|hit| hit.score).fold(0.0_f32, f32::max);
    let named = hits.clone().filter(|hit| hit.named).take(MAX_NAMED);
    let mut chosen: Vec<(String, String)> = named.map(|hit| (hit.path.clone(), hit.why.clone())).collect();
    if chosen.is_empty() {
        let near = hits.filter(|hit| hit.score >= best * LEAST_SHARE).take(MAX_FILES);
        chosen.extend(near.map(|hit| (hit.path.clone(), hit.why.clone())));
    }
    chosen
}

/// The file that convention has for something.
fn standard(text: &str, kind: TaskKind) -> Option<&'static str> {
    static STANDARD: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        vec![
            (words::regex(r"(?i)\bdocker[ -]?compose|compose file\b"), "compose.yml"),
            (words::regex(r"(?i)\bdockerfile|\bdocker image|\bcontaineri[sz]e"), "Dockerfile"),
            (words::regex(r"(?i)\bmakefile\b"), "Makefile"),
            (words::regex(r"(?i)\bpre-commit\b"), ".pre-commit-config.yaml"),
            (words::regex(r"(?i)\bdependabot\b"), ".github/dependabot.yml"),
            (words::regex(r"(?i)\beditorconfig\b"), ".editorconfig"),
            (
                words::regex(r"(?i)\bgithub actions?\b|\b(?:in|on|to|the|a) ci\b|\bci (?:job|workflow|pipeline)\b"),
                ".github/workflows/ci.yml",
            ),
            (words::regex(r"(?i)\bchangelog\b"), "CHANGELOG.md"),
            (words::regex(r"(?i)\bcontributing (?:guide|file|docs?)\b|\bCONTRIBUTING\b"), "CONTRIBUTING.md"),
            (words::regex(r"(?i)\breadme\b"), "README.md"),
        ]
    });
    let meant = matches!(kind, TaskKind::Documentation | TaskKind::Infrastructure);
    STANDARD.iter().find(|(regex, _)| meant && regex.is_match(text)).map(|(_, path)| *path)
}

/// Kinds of things that usually have a file of their own.
const KINDS: &[&str] = &[
    "adapter",
    "backend",
    "client",
    "command",
    "component",
    "controller",
    "converter",
    "driver",
    "endpoint",
    "exporter",
    "formatter",
    "generator",
    "handler",
    "helper",
    "importer",
    "job",
    "loader",
    "middleware",
    "migration",
    "model",
    "module",
    "package",
    "page",
    "parser",
    "plugin",
    "provider",
    "reader",
    "renderer",
    "reporter",
    "repository",
    "scheduler",
    "screen",
    "script",
    "serializer",
    "service",
    "store",
    "subcommand",
    "validator",
    "view",
    "widget",
    "worker",
    "writer",
];

/// A path for something new, where others of its kind lie and as they are named.
fn beside_its_kind(reading: &Reading, text: &str, kind: TaskKind, near: Option<&str>) -> Option<String> {
    static MADE: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)\b(?:add|create|introduce|implement|write|provide|build|need|new)\s+(?:an?\s+|new\s+|own\s+|another\s+)*([^.,;:()]+)",
        )
    });
    if kind != TaskKind::Feature && kind != TaskKind::Infrastructure {
        return None;
    }
    let phrase = MADE.captures(text)?.get(1)?.as_str();
    // What comes after the preposition is not what is made: "a flag to the parser" makes no parser.
    const LINKS: &[&str] =
        &["at", "by", "for", "from", "in", "into", "of", "on", "so", "that", "to", "when", "which", "with"];
    let written = phrase.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    let told: Vec<String> = written.flat_map(words::parts).collect();
    if told.first().is_some_and(|word| word == "the") {
        return None;
    }
    let head = told.iter().take_while(|word| !LINKS.contains(&word.as_str())).count();
    let (at, noun) = told.iter().take(head).enumerate().find_map(|(at, word)| {
        let one = word.strip_suffix('s').unwrap_or(word);
        KINDS.binary_search(&one).is_ok().then(|| (at, one.to_owned()))
    })?;
    let telling = |word: &&String| word.len() > 1 && !words::is_stop(word) && !KINDS.contains(&word.as_str());
    let mut named: Vec<&str> = told[..at].iter().filter(telling).map(String::as_str).collect();
    if named.is_empty() {
        named = told[at + 1..].iter().filter(telling).take(2).map(String::as_str).collect();
    }
    let keep = named.len().saturating_sub(3);
    named.drain(..keep);
    if named.is_empty() {
        return None;
    }
    let home = home_of(reading, &noun, near)?;
    let siblings: Vec<&str> = siblings(reading, &home).collect();
    let stems: Vec<&str> = siblings.iter().map(|path| name(path).split('.').next().unwrap_or_default()).collect();
    let extension = name(siblings.first()?).split_once('.').map(|(_, extension)| extension)?;
    let plural = format!("{noun}s");
    let in_folder = home.rsplit('/').next().is_some_and(|last| last == noun || last == plural);
    let of_kind = stems.iter().any(|stem| words::parts(stem).last() == Some(&noun));
    if !in_folder || of_kind {
        named.push(&noun);
    }
    let casing = naming::casing(&stems).unwrap_or(match Language::of_path(siblings.first()?) {
        Some(Language::Java) => Casing::Pascal,
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => Casing::Kebab,
        _ => Casing::Snake,
    });
    let file = casing.join(&named);
    let path = join(&home, &format!("{file}.{extension}"));
    (file.len() <= MAX_NAME && survey::is_inside(&path) && !reading.survey.has(&path)).then_some(path)
}

/// The folder where things of a kind lie: one that is named so, one whose files are, or that of the nearest file.
fn home_of(reading: &Reading, noun: &str, near: Option<&str>) -> Option<String> {
    let plural = format!("{noun}s");
    let mut homes: BTreeMap<&str, usize> = BTreeMap::new();
    for file in reading.survey.files.iter().filter(|file| file.class == Class::Source && file.language.is_some()) {
        let home = folder(&file.path);
        let named = home.rsplit('/').next().is_some_and(|last| last == noun || last == plural);
        let stem = words::parts(name(&file.path).split('.').next().unwrap_or_default());
        if named || stem.last().is_some_and(|last| last == noun) {
            *homes.entry(home).or_default() += 1;
        }
    }
    let shares = |home: &str| near.is_some_and(|near| near.split('/').next() == home.split('/').next());
    let best = homes
        .into_iter()
        .max_by(|one, two| (shares(one.0), one.1).cmp(&(shares(two.0), two.1)).then_with(|| two.0.cmp(one.0)));
    let of_kind = best.map(|(home, _)| home.to_owned());
    of_kind.or_else(|| near.map(|near| folder(near).to_owned())).filter(|home| siblings(reading, home).next().is_some())
}

/// Sources that lie directly in a folder, those of its main language.
fn siblings<'r>(reading: &'r Reading, home: &str) -> impl Iterator<Item = &'r str> {
    let own = |file: &&survey::Listed| {
        folder(&file.path) == home && file.class == Class::Source && file.language.is_some_and(|l| !survey::is_minor(l))
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in reading.survey.files.iter().filter(own) {
        *counts.entry(file.language.unwrap_or_default()).or_default() += 1;
    }
    let main = counts.into_iter().max_by_key(|(_, count)| *count).map(|(language, _)| language);
    let home = home.to_owned();
    let files = reading.survey.files.iter();
    files
        .filter(move |file| folder(&file.path) == home && file.class == Class::Source && file.language == main)
        .filter(|file| file.language.is_some() && !matches!(name(&file.path), "__init__.py" | "mod.rs" | "lib.rs"))
        .map(|file| file.path.as_str())
}

/// A path for the tests of a file, as the others are named, or as its language has it.
fn test_path(reading: &Reading, path: &str) -> Option<String> {
    let language = survey::language(path).filter(|language| !survey::is_minor(language))?;
    let (stem, extension) = name(path).split_once('.')?;
    let stem = if matches!(stem, "__init__" | "mod" | "index") { name(folder(path)) } else { stem };
    let stem = if stem.is_empty() { "main" } else { stem };
    let found = match language {
        "Go" => join(folder(path), &format!("{stem}_test.go")),
        "Java" | "Kotlin" | "Scala" if path.contains("src/main/") => {
            let mirrored = folder(path).replacen("src/main/", "src/test/", 1);
            join(&mirrored, &format!("{stem}Test.{extension}"))
        }
        _ => {
            let others = || {
                let all = reading.survey.files.iter();
                all.filter(|file| file.class == Class::Test && file.language == Some(language))
                    .map(|file| file.path.as_str())
            };
            let mut ways: BTreeMap<(String, String), usize> = BTreeMap::new();
            for test in others() {
                if let Some(pattern) = naming::test_name(name(test)) {
                    let beside = reading.survey.files.iter().any(|file| {
                        file.class == Class::Source
                            && folder(&file.path) == folder(test)
                            && file.language == Some(language)
                    });
                    let home = if beside { folder(path).to_owned() } else { folder(test).to_owned() };
                    *ways.entry((home, pattern)).or_default() += 1;
                }
                // Enough to know the way.
                if ways.len() > 40 {
                    break;
                }
            }
            let usual = ways.into_iter().max_by(|one, two| one.1.cmp(&two.1).then_with(|| two.0.cmp(&one.0)));
            let (home, pattern) = usual.map_or_else(|| usual_test(language, extension), |(way, _)| way);
            join(&home, &pattern.replacen('*', stem, 1))
        }
    };
    (survey::is_inside(&found) && found != path).then_some(found)
}

fn usual_test(language: &str, extension: &str) -> (String, String) {
    let (home, pattern) = match language {
        "Python" => ("tests", "test_*"),
        "JavaScript" | "TypeScript" | "Vue" | "Svelte" => ("test", "*.test"),
        "Ruby" => ("spec", "*_spec"),
        "PHP" | "C#" | "Swift" => ("tests", "*Test"),
        _ => ("tests", "*"),
    };
    let pattern = if language == "Rust" { "*" } else { pattern };
    (home.to_owned(), format!("{pattern}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted_for_their_search() {
        assert!(KINDS.is_sorted());
    }
}
