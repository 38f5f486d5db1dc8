//! Which part of a codebase needs which, from the imports as they are written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::source::{File, Source};
use crate::agent::contribute::Class;
use crate::analysis::{Import, Language};
use crate::stdx::path::{join, normal};

/// A drawing of more says less.
const MAX_NODES: usize = 24;

/// Modules and who needs whom.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// How many imports lead from one module to another, by their places in `nodes`.
    pub(super) edges: BTreeMap<(usize, usize), usize>,
}

#[derive(Debug)]
pub(super) struct Node {
    /// A file or a folder, as its path; `(other)` for what was put together.
    pub(super) name: String,
    pub(super) files: usize,
    pub(super) lines: usize,
}

/// Where an import of a file leads, for every file of the codebase.
pub(super) struct Resolver<'a> {
    paths: HashSet<&'a str>,
    /// Folders of Rust sources by the names of their crates.
    crates: HashMap<String, String>,
    /// Folders by the paths of their Go modules.
    modules: Vec<(String, String)>,
    java: HashMap<&'a str, Vec<&'a str>>,
    go: HashMap<&'a str, &'a str>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(source: &Source<'a>) -> Self {
        let (mut crates, mut modules) = (HashMap::new(), Vec::new());
        let (mut java, mut go): (HashMap<&str, Vec<&str>>, HashMap<&str, &str>) = (HashMap::new(), HashMap::new());
        for file in &source.files {
            let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", file.path));
            match name {
                "Cargo.toml" => {
                    let table: toml::Table = file.text.parse().unwrap_or_default();
                    let package = table.get("package").and_then(|package| package.get("name"));
                    if let Some(package) = package.and_then(toml::Value::as_str) {
                        crates.insert(package.replace('-', "_"), join(folder, "src"));
                    }
                }
                "go.mod" => {
                    let module = file.text.lines().find_map(|line| line.trim().strip_prefix("module "));
                    modules.extend(module.map(|module| (module.trim().to_owned(), folder.to_owned())));
                }
                _ if name.ends_with(".java") => java.entry(name).or_default().push(file.path),
                _ if name.ends_with(".go") && !name.ends_with("_test.go") => {
                    go.entry(folder).or_insert(file.path);
                }
                _ => {}
            }
        }
        Self { paths: source.files.iter().map(|file| file.path).collect(), crates, modules, java, go }
    }

    /// The file that an import means, if it is one of the codebase.
    pub(super) fn resolve(&self, file: &File<'a>, from: &str) -> Option<&'a str> {
        let found = match file.outline.as_ref()?.language? {
            Language::Rust => self.rust(file.path, from),
            Language::Python => self.python(file.path, from),
            Language::JavaScript | Language::TypeScript | Language::Tsx => self.ecma(file.path, from),
            Language::Go => {
                let (module, folder) = self.modules.iter().find(|(module, _)| {
                    from.strip_prefix(module.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })?;
                let rest = from.strip_prefix(module.as_str())?.trim_start_matches('/');
                self.go.get(join(folder, rest).as_str()).copied()
            }
            Language::Java => self.java(from),
        };
        found.filter(|found| *found != file.path)
    }

    fn first(&self, paths: impl IntoIterator<Item = String>) -> Option<&'a str> {
        paths.into_iter().find_map(|path| self.paths.get(path.as_str()).copied())
    }

    fn rust(&self, path: &str, from: &str) -> Option<&'a str> {
        let at = path.rfind("src/").filter(|at| *at == 0 || path.as_bytes().get(at - 1) == Some(&b'/'));
        let root = at.map_or("", |at| path.get(..at + 3).unwrap_or_default());
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The folder of a file's own children.
        let own = match name {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
            name => join(folder, name.trim_end_matches(".rs")),
        };
        let mut parts = from.split("::");
        let mut base = match parts.next()? {
            "crate" => root.to_owned(),
            "self" => own,
            "super" => own.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned()),
            name => match self.crates.get(name) {
                Some(folder) => folder.clone(),
                None => join(&own, name),
            },
        };
        let child = !matches!(from.split("::").next(), Some("crate" | "self" | "super")) && !base.ends_with("src");
        let mut rest: Vec<&str> = parts.collect();
        while rest.first() == Some(&"super") {
            rest.remove(0);
            base = base.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned());
        }
        for length in (0..=rest.len()).rev() {
            let module = rest.iter().take(length).fold(base.clone(), |path, part| join(&path, part));
            let mut tried = vec![format!("{module}.rs"), join(&module, "mod.rs")];
            if length == 0 && !child {
                tried.extend([join(&module, "lib.rs"), join(&module, "main.rs")]);
            }
            if let Some(found) = self.first(tried) {
                return Some(found);
            }
        }
        None
    }

    fn python(&self, path: &str, from: &str) -> Option<&'a str> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let dots = from.chars().take_while(|c| *c == '.').count();
        let parts: Vec<&str> = from.trim_start_matches('.').split('.').filter(|part| !part.is_empty()).collect();
        let mut bases = Vec::new();
        if dots > 0 {
            let mut base = folder;
            for _ in 1..dots {
                base = base.rsplit_once('/').map_or("", |(above, _)| above);
            }
            bases.push(base.to_owned());
        } else {
            bases.extend([String::new(), "src".to_owned()]);
            // Programs put their own folder, or one above it, on the path.
            let mut base = folder;
            while !base.is_empty() {
                bases.push(base.to_owned());
                base = base.rsplit_once('/').map_or("", |(above, _)| above);
            }
        }
        for base in bases {
            for length in (usize::from(dots == 0)..=parts.len()).rev() {
                let module = parts.iter().take(length).fold(base.clone(), |path, part| join(&path, part));
                let tried = [format!("{module}.py"), join(&module, "__init__.py")];
                if let Some(found) = self.first(tried) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn ecma(&self, path: &str, from: &str) -> Option<&'a str> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let base = match from.strip_prefix("@/").or_else(|| from.strip_prefix("~/")) {
            Some(rest) => join("src", rest),
            None if from.starts_with('.') => normal(&join(folder, from))?,
            None => return None,
        };
        const ENDS: [&str; 8] = ["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"];
        let stem = ["js", "mjs", "cjs", "jsx"].iter().find_map(|end| base.strip_suffix(&format!(".{end}")));
        let with = |stem: &str| ENDS.map(|end| format!("{stem}.{end}")).to_vec();
        let index = ENDS.map(|end| join(&base, &format!("index.{end}")));
        self.first([base.clone()].into_iter().chain(with(&base)).chain(stem.map(with).unwrap_or_default()).chain(index))
    }

    fn java(&self, from: &str) -> Option<&'a str> {
        let parts: Vec<&str> = from.split('.').collect();
        (1..=parts.len()).rev().find_map(|length| {
            let wanted = format!("{}.java", parts.get(..length)?.join("/"));
            let name = wanted.rsplit('/').next()?;
            let known = self.java.get(name)?;
            known.iter().copied().find(|path| *path == wanted || path.ends_with(&format!("/{wanted}")))
        })
    }
}

/// The modules of the sources: files while these are few, then folders, then folders nearer to the root.
pub(super) fn graph(source: &Source<'_>) -> Graph {
    let files: Vec<&File<'_>> = source.of(Class::Source).filter(|file| file.outline.is_some()).collect();
    let (names, other) = names(&files);
    let mut graph = Graph::default();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for name in names.values().collect::<BTreeSet<_>>() {
        place.insert(name, graph.nodes.len());
        graph.nodes.push(Node { name: name.clone(), files: 0, lines: 0 });
    }
    let node_of = |path: &str| names.get(path).and_then(|name| place.get(name.as_str())).copied();
    let resolver = Resolver::new(source);
    for file in &files {
        let Some(from) = node_of(file.path) else { continue };
        if let Some(node) = graph.nodes.get_mut(from) {
            node.files += 1;
            node.lines += file.lines;
        }
        let imports = file.outline.iter().flat_map(|outline| &outline.imports);
        let targets: BTreeSet<&str> =
            imports.flat_map(Import::targets).filter_map(|target| resolver.resolve(file, &target)).collect();
        for to in targets.into_iter().filter_map(node_of).filter(|to| *to != from) {
            *graph.edges.entry((from, to)).or_default() += 1;
        }
    }
    if other > 0
        && let Some(node) = graph.nodes.iter_mut().find(|node| node.name == OTHER)
    {
        node.name = format!("(other: {other} folders)");
    }
    graph
}

/// Sorts before every path.
const OTHER: &str = "(other)";

/// The module of each file, and how many folders were put together because there are too many.
fn names<'a>(files: &[&File<'a>]) -> (BTreeMap<&'a str, String>, usize) {
    if files.len() <= MAX_NODES {
        return (files.iter().map(|file| (file.path, file.path.to_owned())).collect(), 0);
    }
    let deepest = files.iter().map(|file| file.path.matches('/').count()).max().unwrap_or(0);
    let cut = |path: &str, depth: usize| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let parts: Vec<&str> = folder.split('/').take(depth).collect();
        if folder.is_empty() { "./".to_owned() } else { format!("{}/", parts.join("/")) }
    };
    let named = |depth: usize| -> BTreeMap<&'a str, String> {
        files.iter().map(|file| (file.path, cut(file.path, depth))).collect()
    };
    let count = |names: &BTreeMap<&str, String>| names.values().collect::<BTreeSet<_>>().len();
    for depth in (1..=deepest.max(1)).rev() {
        let names = named(depth);
        // One folder would be a drawing of nothing: its subfolders are put together instead.
        if count(&names) <= MAX_NODES && (count(&names) > 1 || depth == deepest.max(1)) {
            return (names, 0);
        }
        if count(&names) <= 1 {
            return largest(named(depth + 1));
        }
    }
    largest(named(1))
}

/// The modules with the most files keep their names.
fn largest(mut names: BTreeMap<&str, String>) -> (BTreeMap<&str, String>, usize) {
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    for name in names.values() {
        *sizes.entry(name.clone()).or_default() += 1;
    }
    let mut order: Vec<(usize, String)> = sizes.into_iter().map(|(name, size)| (size, name)).collect();
    order.sort_by_key(|(size, name)| (std::cmp::Reverse(*size), name.clone()));
    let dropped: BTreeSet<String> = order.into_iter().skip(MAX_NODES - 1).map(|(_, name)| name).collect();
    for name in names.values_mut().filter(|name| dropped.contains(*name)) {
        OTHER.clone_into(name);
    }
    (names, dropped.len())
}
