//! The whole model of a repository: its modules, who imports whom, and how its code is written. Measured, within limits.

use std::collections::{BTreeMap, BTreeSet};

use super::explorer;
use super::graph::Graph;
use super::library::{ABORTED, RAISED, RETURNED, Reading};
use super::naming;
use super::resolve::folder;
use super::survey::{self, Class};
use crate::artifact::project::{
    CodePatterns, CommentPatterns, DependencyEdge, DependencyGraph, EdgeKind, Level, Module, ModuleKind,
    NamingPatterns, Project, ProjectContext, ProjectMetadata,
};
use crate::artifact::swarm::{BuildCommands, CodeStyle, RepositoryContext};
use crate::stdx::text::count;

/// Modules that are told; with more files, modules are folders.
const MAX_MODULES: usize = 250;
const MAX_EDGES: usize = 1_500;
const MAX_CYCLES: usize = 50;
/// Importers that make a module a core of its project, and a change of it a risk.
const MANY: usize = 8;
const SOME: usize = 3;
const LONG: u64 = 600;

/// Everything that the manager learned beside the reading.
pub(super) struct Learned<'l> {
    pub(super) context: &'l ProjectContext,
    pub(super) customs: &'l RepositoryContext,
    pub(super) style: &'l CodeStyle,
    pub(super) commands: &'l BuildCommands,
}

/// The whole model.
pub(super) fn project(reading: &Reading, learned: &Learned<'_>) -> Project {
    let ProjectContext { project, analysis, generated_at, .. } = learned.context;
    let (graph, by_folder) = drawn_together(&reading.graph);
    let cycles = graph.cycles();
    let modules = modules(reading, &graph, &cycles);
    let named = |unit: &usize| graph.units[*unit].clone();
    let edges = graph.uses.iter().enumerate().flat_map(|(from, uses)| uses.iter().map(move |to| (from, *to)));
    let total_edges = graph.uses.iter().map(BTreeSet::len).sum::<usize>();
    let edges: Vec<DependencyEdge> = edges
        .take(MAX_EDGES)
        .map(|(from, to)| DependencyEdge { from: named(&from), to: named(&to), kind: EdgeKind::Import })
        .collect();
    let mut left = Vec::new();
    if by_folder {
        left.push("modules are folders, since there are too many files to name each".to_owned());
    }
    if total_edges > edges.len() {
        left.push(format!("{} beyond the first {MAX_EDGES} are left out", count(total_edges - edges.len(), "import")));
    }
    if cycles.len() > MAX_CYCLES {
        left.push(format!("{} beyond the first {MAX_CYCLES} are left out", count(cycles.len() - MAX_CYCLES, "circle")));
    }
    if reading.left > 0 {
        left.push(format!("{} beyond the first {} were not read", count(reading.left, "file"), survey::MAX_READ));
    }
    if reading.unlinked > 0 {
        left.push(format!("the imports of {} were not read", count(reading.unlinked, "file")));
    }
    if reading.packages.left > 0 {
        left.push(format!("{} were not read", count(reading.packages.left, "manifest")));
    }
    Project {
        name: project.name.clone(),
        root_path: project.root_path.clone(),
        description: project.description.clone(),
        analyzed_at: generated_at.clone(),
        modules,
        dependencies: DependencyGraph {
            edges,
            cycles: cycles.iter().take(MAX_CYCLES).map(|cycle| cycle.iter().map(named).collect()).collect(),
            nodes: graph.units.clone(),
        },
        code_patterns: patterns(reading, &left),
        metadata: ProjectMetadata {
            total_loc: analysis.total_loc.unwrap_or_default(),
            file_count: analysis.file_count,
            languages: analysis.languages.clone(),
            conventions: conventions(learned),
        },
    }
}

/// Lines by language, largest first; the languages with the most lines are first.
pub(super) fn languages(reading: &Reading) -> (Vec<String>, u64) {
    let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
    for file in &reading.survey.files {
        if let Some(language) = file.language {
            *lines.entry(language).or_default() += reading.lines(&file.path);
        }
    }
    let total = lines.values().sum();
    (largest_first(lines), total)
}

/// The names with the largest shares first; those with none are left out.
pub(super) fn largest_first(shares: BTreeMap<&str, u64>) -> Vec<String> {
    let mut shares: Vec<(&str, u64)> = shares.into_iter().filter(|(_, share)| *share > 0).collect();
    shares.sort_by(|one, two| two.1.cmp(&one.1).then(one.0.cmp(two.0)));
    shares.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Files as they are while they are few; else folders, as deep as the limit allows.
fn drawn_together(graph: &Graph) -> (Graph, bool) {
    if graph.units.len() <= MAX_MODULES {
        return (graph.grouped(str::to_owned), false);
    }
    let is_folder: BTreeSet<&str> =
        graph.files().filter(|(path, unit)| graph.units[*unit] != *path).map(|f| folder(f.0)).collect();
    let at_depth = |unit: &str, depth: usize| {
        let folder = if is_folder.contains(unit) { unit } else { folder(unit) };
        let kept: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).take(depth).collect();
        if kept.is_empty() { ".".to_owned() } else { kept.join("/") }
    };
    let names = |depth: usize| graph.units.iter().map(|unit| at_depth(unit, depth)).collect::<BTreeSet<_>>().len();
    let depth = (1..=12).rev().find(|depth| names(*depth) <= MAX_MODULES).unwrap_or(0);
    (graph.grouped(|unit| at_depth(unit, depth)), true)
}

fn modules(reading: &Reading, graph: &Graph, cycles: &[Vec<usize>]) -> Vec<Module> {
    let mut members: Vec<Vec<&str>> = vec![Vec::new(); graph.units.len()];
    graph.files().for_each(|(path, unit)| members[unit].push(path));
    members.iter_mut().for_each(|paths| paths.sort_unstable());
    let circular: BTreeSet<usize> = cycles.iter().flatten().copied().collect();
    let kinds: Vec<ModuleKind> =
        members.iter().enumerate().map(|(unit, paths)| kind(reading, graph, unit, paths)).collect();
    let test_names = test_names(reading);
    (0..graph.units.len())
        .map(|unit| {
            let paths = &members[unit];
            let lines = paths.iter().map(|path| reading.lines(path)).sum();
            let mut exports: Vec<String> = Vec::new();
            for name in paths.iter().filter_map(|path| reading.files.get(*path)).flat_map(|noted| &noted.exports) {
                if exports.len() < 20 && !exports.contains(name) {
                    exports.push(name.clone());
                }
            }
            let tested = is_tested(reading, graph, unit, paths, &kinds, &test_names);
            Module {
                name: graph.units[unit].clone(),
                path: graph.units[unit].clone(),
                kind: kinds[unit],
                exports,
                dependencies: graph.uses[unit].iter().take(40).map(|to| graph.units[*to].clone()).collect(),
                estimated_loc: lines,
                risk_level: risk(kinds[unit], graph.used_by[unit].len(), lines, circular.contains(&unit), tested),
            }
        })
        .collect()
}

fn kind(reading: &Reading, graph: &Graph, unit: usize, paths: &[&str]) -> ModuleKind {
    let of =
        |class: Class| paths.iter().filter(|p| reading.survey.get(p).is_some_and(|file| file.class == class)).count();
    let has = |names: &[&str]| graph.units[unit].split('/').any(|part| names.contains(&part));
    let stem = survey::name(&graph.units[unit]).split('.').next().unwrap_or_default();
    let imported = graph.used_by[unit].len();
    if of(Class::Test) * 2 > paths.len() {
        ModuleKind::Test
    } else if matches!(stem, "config" | "conf" | "settings" | "configuration" | "setup" | "build" | "webpack" | "vite")
        || has(&["config", "conf", "settings"])
        || graph.units[unit].contains(".config.")
    {
        ModuleKind::Config
    } else if imported >= MANY || matches!(stem, "main" | "lib" | "__main__") {
        ModuleKind::Core
    } else if has(&["lib", "libs", "pkg", "util", "utils", "common", "shared", "helpers", "vendor", "packages"]) {
        ModuleKind::Library
    } else {
        ModuleKind::Feature
    }
}

/// What the test files are named after.
pub(super) fn test_names(reading: &Reading) -> BTreeSet<String> {
    let tests = reading.survey.files.iter().filter(|file| file.class == Class::Test && file.language.is_some());
    tests.map(|file| explorer::tested_stem(&file.path)).filter(|stem| stem.len() > 2).collect()
}

/// Whether a test imports the module, lies in it, or has its name.
fn is_tested(
    reading: &Reading,
    graph: &Graph,
    unit: usize,
    paths: &[&str],
    kinds: &[ModuleKind],
    test_names: &BTreeSet<String>,
) -> bool {
    let own = paths.iter().any(|path| {
        let test = reading.survey.get(path).is_some_and(|file| file.class == Class::Test);
        test || reading.files.get(*path).is_some_and(|noted| noted.own_tests)
    });
    own || graph.used_by[unit].iter().any(|from| kinds[*from] == ModuleKind::Test)
        || matches!(paths, [path] if test_names.contains(&explorer::tested_stem(path)))
}

fn risk(kind: ModuleKind, imported: usize, lines: u64, circular: bool, tested: bool) -> Level {
    if kind == ModuleKind::Test {
        return Level::Low;
    }
    let signs = [imported >= MANY, imported >= SOME, lines >= LONG, circular, !tested];
    match signs.into_iter().filter(|sign| *sign).count() {
        0 | 1 => Level::Low,
        2 => Level::Medium,
        _ => Level::High,
    }
}

fn patterns(reading: &Reading, left: &[String]) -> CodePatterns {
    let main = reading.language().unwrap_or_default();
    let sampled = reading.survey.files.iter().filter(|file| file.language == Some(main.as_str()));
    let sampled: Vec<_> = sampled.filter_map(|file| reading.files.get(&file.path)?.sampled.as_ref()).collect();
    let declared = || sampled.iter().flat_map(|sampled| &sampled.declared);
    let named = |kind| declared().filter(|d| d.kind == kind).map(|d| d.name.as_str()).collect::<Vec<_>>();
    let sources = reading.survey.files.iter().filter(|f| f.class == Class::Source && f.language == Some(main.as_str()));
    let stems: Vec<&str> = sources.map(|f| survey::name(&f.path).split('.').next().unwrap_or_default()).collect();
    use crate::analysis::DeclaredKind::{Constant, Function, Type};
    let public = declared().filter(|d| d.public).count();
    let told = declared().filter(|d| d.public && d.documented).count();
    CodePatterns {
        naming: NamingPatterns {
            functions: naming::pattern(&named(Function)),
            types: naming::pattern(&named(Type)),
            constants: naming::pattern(&named(Constant)),
            files: naming::pattern(&stems),
        },
        error_handling: error_handling(sampled.iter().map(|sampled| sampled.errors)),
        structure: structure(reading, left),
        comments: CommentPatterns {
            format: comment_format(&main).to_owned(),
            coverage: if public == 0 { 0.0 } else { (told as f64 * 100.0 / public as f64).round() / 100.0 },
        },
        test_organization: tests(reading),
    }
}

fn error_handling(counts: impl Iterator<Item = [u32; 3]>) -> String {
    let sum = counts.fold([0_u64; 3], |mut sum, own| {
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += u64::from(own));
        sum
    });
    let ways = [(sum[RAISED], "exceptions"), (sum[RETURNED], "returned errors"), (sum[ABORTED], "ends of the program")];
    let mut ways: Vec<(u64, &str)> = ways.into_iter().filter(|(used, _)| *used > 0).collect();
    ways.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
    match ways.as_slice() {
        [] => "none seen".to_owned(),
        [(_, first), rest @ ..] => {
            let rest: Vec<String> = rest.iter().map(|(used, way)| format!("{way} ({used} times)")).collect();
            if rest.is_empty() { (*first).to_owned() } else { format!("{first}, and {}", rest.join(", ")) }
        }
    }
}

fn comment_format(language: &str) -> &'static str {
    match language {
        "Python" => "docstrings",
        "Rust" => "///",
        "JavaScript" | "TypeScript" => "JSDoc",
        "Java" | "Kotlin" | "Scala" => "Javadoc",
        "Go" => "// before the declaration",
        "Ruby" => "#",
        "C#" => "/// <summary>",
        "PHP" => "PHPDoc",
        "Elixir" => "@doc",
        "" => "none",
        _ => "comments before the declaration",
    }
}

fn structure(reading: &Reading, left: &[String]) -> String {
    let home = |class: Class| {
        let own = reading.survey.files.iter().filter(|file| file.class == class && file.language.is_some());
        survey::common_folder(own.map(|file| file.path.as_str())).map(|folder| match folder.as_str() {
            "." => "the root".to_owned(),
            folder => format!("{folder}/"),
        })
    };
    let told = match (home(Class::Source), home(Class::Test)) {
        (Some(sources), Some(tests)) if sources == tests => format!("sources and tests in {sources}"),
        (Some(sources), Some(tests)) => format!("sources in {sources}, tests in {tests}"),
        (Some(sources), None) => format!("sources in {sources}, no tests of their own"),
        (None, Some(tests)) => format!("tests in {tests}"),
        (None, None) => "no sources".to_owned(),
    };
    std::iter::once(told).chain(left.iter().cloned()).collect::<Vec<_>>().join("; ")
}

/// How tests are named and where they lie, for instance `tests/test_*.py`.
fn tests(reading: &Reading) -> String {
    let mut ways: BTreeMap<String, usize> = BTreeMap::new();
    let sources: BTreeSet<&str> =
        reading.survey.files.iter().filter(|f| f.class == Class::Source).map(|f| folder(&f.path)).collect();
    for file in reading.survey.files.iter().filter(|f| f.class == Class::Test && f.language.is_some()) {
        let place = if sources.contains(folder(&file.path)) {
            "beside the sources: ".to_owned()
        } else {
            file.path.split_once('/').map_or_else(String::new, |(first, _)| format!("{first}/"))
        };
        if let Some(pattern) = naming::test_name(survey::name(&file.path)) {
            *ways.entry(format!("{place}{pattern}")).or_default() += 1;
        }
    }
    let usual = ways.into_iter().max_by(|one, two| one.1.cmp(&two.1).then(two.0.cmp(&one.0))).map(|(way, _)| way);
    let inside = reading.files.values().filter(|noted| noted.own_tests).count();
    match (usual, inside) {
        (Some(way), 0) => way,
        (Some(way), inside) => format!("{way}; test modules within {}", count(inside, "source")),
        (None, 0) => "no tests found".to_owned(),
        (None, inside) => format!("test modules within {}", count(inside, "source")),
    }
}

/// What the repository asks of whoever changes it, one sentence each.
fn conventions(learned: &Learned<'_>) -> Vec<String> {
    let Learned { customs, style, commands, .. } = learned;
    let mut said = Vec::new();
    if customs.contributing_guidelines != "none found" {
        said.push(format!("Guidelines: {}", customs.contributing_guidelines));
    }
    said.push(format!("Code style: {}", customs.code_style));
    let quotes = match style.quotes {
        crate::artifact::swarm::Quotes::Single => "single",
        crate::artifact::swarm::Quotes::Double => "double",
    };
    said.push(format!(
        "Indentation of {}, {quotes} quotes, lines of up to {} characters.",
        style.indent, style.line_length
    ));
    for (what, tool) in [("Formatter", &style.formatter), ("Linter", &style.linter)] {
        if tool != "none found" {
            said.push(format!("{what}: {tool}"));
        }
    }
    said.push(format!("Branches: {}", customs.branch_naming));
    said.push(format!("Commits: {}", customs.commit_convention));
    if customs.pr_template_exists {
        said.push("Pull requests follow the repository's template.".to_owned());
    }
    if !commands.test.is_empty() {
        said.push(format!("Tests run with `{}`.", commands.test));
    }
    said
}
