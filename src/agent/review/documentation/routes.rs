//! The HTTP routes of a codebase, with the prefixes under which their routers hang, also across files.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::modules::Resolver;
use super::source::{File, Source};
use crate::analysis::{Mount, Parameter, Place, Route, path_template};

/// Routers in routers; deeper ones are not followed.
const MAX_DEPTH: usize = 8;
/// A router may be hung in at several places; more than these are not told apart.
const MAX_PLACES: usize = 16;

/// One route as it is reached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endpoint {
    /// As OpenAPI writes it.
    pub(super) path: String,
    /// In lower case; none where the handler decides.
    pub(super) method: Option<&'static str>,
    pub(super) parameters: Vec<(String, Kind)>,
    pub(super) handler: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) file: String,
    pub(super) line: u32,
}

/// The type of a path parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) format: Option<&'static str>,
    pub(super) pattern: Option<String>,
}

/// Every route, by path and method; of two declarations of one, the first in the order of the files stays.
pub(super) fn endpoints(source: &Source<'_>) -> Vec<Endpoint> {
    let hung = Hung::new(source);
    let docs = docs(source);
    let mut found: BTreeMap<(String, Option<&'static str>), Endpoint> = BTreeMap::new();
    let mut templates: HashMap<String, Vec<String>> = HashMap::new();
    for (at, file) in source.files.iter().enumerate() {
        for route in file.outline.iter().flat_map(|outline| &outline.routes) {
            for prefix in hung.prefixes(at, route) {
                let Some((path, parameters)) = whole(&prefix, route) else { continue };
                let parameters = typed(route, parameters);
                let (path, parameters) = renamed(path, parameters, &mut templates);
                let handler = route.handler.clone();
                let known = || docs.get(handler.as_deref()?.rsplit(['.', ':']).next()?)?.clone();
                let endpoint = Endpoint {
                    summary: route.doc.clone().or_else(known),
                    method: route.method,
                    parameters,
                    handler: handler.clone(),
                    file: file.path.to_owned(),
                    line: route.line,
                    path: path.clone(),
                };
                found.entry((path, route.method)).or_insert(endpoint);
            }
        }
    }
    found.into_values().collect()
}

/// Prefix and path as one template.
fn whole(prefix: &str, route: &Route) -> Option<(String, Vec<Parameter>)> {
    if !route.is_regex {
        return path_template(&slashed(prefix, &route.path), false);
    }
    let (path, mut own) = path_template(&route.path, true)?;
    let (prefix, mut parameters) = path_template(prefix, false)?;
    // A name that both have is told apart in the plain form only.
    own.retain(|parameter| parameters.iter().all(|known| known.name != parameter.name));
    parameters.append(&mut own);
    Some((slashed(&prefix, &path), parameters))
}

/// Two templates that differ in their names alone are one for OpenAPI: the first one's names are taken.
fn renamed(
    path: String,
    parameters: Vec<(String, Kind)>,
    templates: &mut HashMap<String, Vec<String>>,
) -> (String, Vec<(String, Kind)>) {
    let shape = parameters.iter().fold(path.clone(), |path, (name, _)| path.replacen(&format!("{{{name}}}"), "{}", 1));
    let names =
        templates.entry(shape.clone()).or_insert_with(|| parameters.iter().map(|(name, _)| name.clone()).collect());
    let (mut out, mut rest) = (String::new(), shape.as_str());
    for name in names.iter() {
        let Some((before, after)) = rest.split_once("{}") else { break };
        out.push_str(&format!("{before}{{{name}}}"));
        rest = after;
    }
    out.push_str(rest);
    let parameters = names.iter().cloned().zip(parameters.into_iter().map(|(_, kind)| kind)).collect();
    (out, parameters)
}

fn typed(route: &Route, parameters: Vec<Parameter>) -> Vec<(String, Kind)> {
    let several = parameters.len() > 1;
    parameters
        .into_iter()
        .enumerate()
        .map(|(at, parameter)| {
            let ordered = route.ordered_types.get(at).filter(|_| several || route.ordered_types.len() == 1);
            let written = parameter.kind.as_ref().or_else(|| route.types.get(&parameter.name)).or(ordered);
            let kind = written.map(|written| kind(written)).unwrap_or_default();
            let name = if kind.name.is_empty() { "string" } else { kind.name };
            (parameter.name, Kind { name, pattern: parameter.pattern, ..kind })
        })
        .collect()
}

/// What a type of any of the languages is in JSON Schema; a string where nothing better is known.
fn kind(written: &str) -> Kind {
    let plain = written.trim().trim_start_matches(['&', '*']).rsplit("::").next().unwrap_or_default();
    let plain = plain.rsplit('.').next().unwrap_or(plain).to_ascii_lowercase();
    let (name, format) = match plain.as_str() {
        "int" | "integer" | "isize" | "usize" | "i8" | "i16" | "u8" | "u16" | "u32" | "short" | "biginteger"
        | "slong" => ("integer", None),
        "i32" => ("integer", Some("int32")),
        "i64" | "u64" | "long" => ("integer", Some("int64")),
        "float" | "f32" | "f64" | "double" | "decimal" | "number" => ("number", None),
        "bool" | "boolean" => ("boolean", None),
        "uuid" => ("string", Some("uuid")),
        "date" | "localdate" => ("string", Some("date")),
        "datetime" | "localdatetime" | "instant" => ("string", Some("date-time")),
        _ => ("string", None),
    };
    Kind { name, format, pattern: None }
}

/// The comments of functions whose names are the only ones of their kind.
fn docs<'a>(source: &'a Source<'_>) -> HashMap<&'a str, Option<String>> {
    let mut docs: HashMap<&str, Option<String>> = HashMap::new();
    for item in source.files.iter().filter_map(|file| file.outline.as_ref()).flat_map(|outline| &outline.items) {
        let name = item.name.rsplit(['.', ':']).next().unwrap_or(&item.name);
        docs.entry(name).and_modify(|doc| *doc = None).or_insert_with(|| item.doc.clone());
    }
    docs
}

/// Routers and functions that something belongs to, and where it stands.
type Here<'r> = (&'r [String], &'r [String], &'r Place);

/// Who hangs in whom.
struct Hung<'s, 'a> {
    files: &'s [File<'a>],
    /// By the place of the file that is hung in: where the mount stands, and the mount.
    into: HashMap<usize, Vec<(usize, &'s Mount)>>,
}

impl<'s, 'a> Hung<'s, 'a> {
    fn new(source: &'s Source<'a>) -> Self {
        let resolver = Resolver::new(source);
        let places: HashMap<&str, usize> = source.files.iter().enumerate().map(|(at, file)| (file.path, at)).collect();
        let mut into: HashMap<usize, Vec<(usize, &Mount)>> = HashMap::new();
        for (at, file) in source.files.iter().enumerate() {
            for mount in file.outline.iter().flat_map(|outline| &outline.mounts) {
                let from = mount.from.as_deref();
                let meant =
                    from.and_then(|from| resolver.resolve(file, from)).and_then(|path| places.get(path)).copied();
                // What is imported from elsewhere is nobody's here.
                if let Some(target) = meant.or(Some(at).filter(|_| from.is_none())) {
                    into.entry(target).or_default().push((at, mount));
                }
            }
        }
        Self { files: &source.files, into }
    }

    /// Every prefix under which a route of a file is reached; one that is empty when nothing is known.
    fn prefixes(&self, at: usize, route: &Route) -> BTreeSet<String> {
        let above = self.above(at, (&route.owners, &route.functions, &route.place), &mut Vec::new());
        if above.is_empty() {
            return BTreeSet::from([route.base.clone()]);
        }
        let takes = |prefix: &str| route.base_yields && !prefix.trim_matches('/').is_empty();
        above
            .into_iter()
            .take(MAX_PLACES)
            .map(|prefix| if takes(&prefix) { prefix } else { slashed(&prefix, &route.base) })
            .collect()
    }

    /// The prefixes of what hangs these routers in, with what hangs that in.
    fn above(&self, at: usize, (owners, functions, place): Here<'_>, seen: &mut Vec<usize>) -> Vec<String> {
        if seen.len() >= MAX_DEPTH {
            return Vec::new();
        }
        let all = self.into.get(&at).map(Vec::as_slice).unwrap_or_default();
        let named = |(file, mount): &&(usize, &Mount)| {
            let sees = *file != at || mount.place.sees(place);
            functions.contains(&mount.target) || owners.contains(&mount.target) && sees
        };
        // A file that is hung in as a whole: what it exports has no name, or another one there.
        let whole = |(file, mount): &&(usize, &Mount)| *file != at && !self.offers(at, &mount.target);
        let own: Vec<&(usize, &Mount)> = all.iter().filter(named).collect();
        let chosen = if own.is_empty() { all.iter().filter(whole).collect() } else { own };
        let mut prefixes = Vec::new();
        for (file, mount) in chosen {
            let key = std::ptr::from_ref::<Mount>(mount).addr();
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let above = self.above(*file, (&mount.owners, &mount.functions, &mount.place), seen);
            seen.pop();
            if above.is_empty() {
                prefixes.push(mount.prefix.clone());
            }
            prefixes.extend(above.into_iter().map(|above| slashed(&above, &mount.prefix)));
        }
        prefixes
    }

    /// Whether a file has routes on a router, or in a function, of that name.
    fn offers(&self, at: usize, name: &str) -> bool {
        let routes = self.files.get(at).and_then(|file| file.outline.as_ref()).map(|outline| &outline.routes);
        !name.is_empty()
            && routes
                .into_iter()
                .flatten()
                .any(|route| route.owners.iter().chain(&route.functions).any(|known| known == name))
    }
}

fn slashed(prefix: &str, path: &str) -> String {
    match (prefix.trim_end_matches('/'), path.trim_start_matches('/')) {
        ("", rest) => format!("/{rest}"),
        (prefix, "") => prefix.to_owned(),
        (prefix, rest) => format!("{prefix}/{rest}"),
    }
}
