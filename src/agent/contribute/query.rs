//! What to look for in a repository, made of an issue: weighted stems, exact names, phrases, and places that it names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use super::brief::{Brief, Section, identifiers};
use super::survey::{Class, Survey, name};
use super::words;

/// Terms that are looked for in a ranking of the whole text; the lightest are left out first.
const MAX_TERMS: usize = 96;
/// Terms that are counted when files are read, for rankings by parts of the text.
const MAX_COUNTED: usize = 400;
const MAX_PHRASES: usize = 12;
const MAX_WEIGHT: f32 = 4.0;

/// Ready to be asked of many files, on many threads.
#[derive(Debug, Default, Clone)]
pub(super) struct Query {
    pub(super) terms: Vec<Term>,
    pub(super) stems: HashMap<String, usize>,
    pub(super) names: HashMap<String, usize>,
    pub(super) phrases: Vec<(usize, String)>,
    /// Of the title.
    pub(super) title: BTreeSet<String>,
    /// What the issue names as a place, by path: how strongly, and why.
    pub(super) places: BTreeMap<String, Place>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub(super) text: String,
    /// The word as somebody wrote it.
    pub(super) shown: String,
    pub(super) weight: f32,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A name as it is written in code.
    Name,
    Stem,
    /// Text that has to stand there literally: a message, a command.
    Phrase,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) weight: f32,
    pub(super) why: BTreeSet<&'static str>,
    pub(super) lines: BTreeSet<u32>,
}

impl Place {
    /// Why, each reason once: a file that is named needs no word on its module.
    pub(super) fn reasons(&self) -> impl Iterator<Item = &'static str> {
        self.why.iter().copied().filter(|why| *why != QUALIFIED || !self.why.contains(NAMED))
    }
}

/// The file is written out in the issue.
pub(super) const NAMED: &str = "named in the issue";
/// A frame of its stack trace.
pub(super) const TRACED: &str = "in the stack trace";
/// A module or class path ends in it.
pub(super) const QUALIFIED: &str = "its module is named in the issue";

impl Query {
    /// All that may be asked of a text, the weightiest terms first; [`Self::whole`] and [`Self::part`] are asked.
    pub(super) fn of(brief: &Brief, survey: &Survey) -> Self {
        let mut weights: BTreeMap<(Kind, String), f32> = BTreeMap::new();
        let mut add = |kind: Kind, text: String, weight: f32| {
            let known = weights.entry((kind, text)).or_default();
            // The tenth mention says less than the first.
            *known = (*known + weight / (1.0 + *known)).min(MAX_WEIGHT);
        };
        let stems = |text: &str| words::stems(text).collect::<BTreeSet<_>>();
        stems(&brief.title).into_iter().for_each(|stem| add(Kind::Stem, stem, 2.0));
        for sentence in brief.prose() {
            let weight = match (sentence.section, sentence.quoted) {
                (_, true) => 0.4,
                (Section::Wanted | Section::Body, false) => 0.9,
                (Section::Observed | Section::Aside, false) => 0.7,
            };
            stems(&sentence.text).into_iter().for_each(|stem| add(Kind::Stem, stem, weight));
        }
        for span in &brief.spans {
            stems(span).into_iter().for_each(|stem| add(Kind::Stem, stem, 0.6));
        }
        for name in brief.names().into_iter().filter(|name| !is_everywhere(name)) {
            add(Kind::Name, name, 2.0);
        }
        for block in &brief.code {
            stems(block).into_iter().for_each(|stem| add(Kind::Stem, stem, 0.25));
            let names: BTreeSet<&str> = identifiers(block).filter(|name| words::looks_like_code(name)).collect();
            names.into_iter().for_each(|name| add(Kind::Name, name.to_owned(), 0.5));
        }
        for phrase in phrases(brief) {
            add(Kind::Phrase, phrase, 2.0);
        }
        let texts = std::iter::once(&brief.title).chain(brief.prose().map(|s| &s.text)).chain(&brief.code);
        let mut words: HashMap<String, String> = HashMap::new();
        for (stem, word) in texts.flat_map(|text| words::stemmed(text)) {
            words.entry(stem).or_insert(word);
        }
        let terms = weights.into_iter().map(|((kind, text), weight)| Term {
            shown: words.get(&text).filter(|_| kind == Kind::Stem).unwrap_or(&text).clone(),
            text,
            weight,
            kind,
        });
        Self { title: stems(&brief.title), ..Self::new(terms.collect(), places(brief, survey)) }
    }

    fn new(mut terms: Vec<Term>, places: BTreeMap<String, Place>) -> Self {
        terms.sort_by(|one, two| two.weight.total_cmp(&one.weight).then_with(|| one.text.cmp(&two.text)));
        terms.truncate(MAX_COUNTED);
        let mut query = Self { places, ..Self::default() };
        for (index, term) in terms.iter().enumerate() {
            match term.kind {
                Kind::Stem => drop(query.stems.insert(term.text.clone(), index)),
                Kind::Name => drop(query.names.insert(term.text.clone(), index)),
                Kind::Phrase => query.phrases.push((index, term.text.clone())),
            }
        }
        query.terms = terms;
        query
    }

    /// What is asked for the text as a whole. Its terms keep their index.
    pub(super) fn whole(&self) -> Self {
        let mut whole = self.clone();
        whole.terms.truncate(MAX_TERMS);
        whole.stems.retain(|_, index| *index < MAX_TERMS);
        whole.names.retain(|_, index| *index < MAX_TERMS);
        whole.phrases.retain(|(index, _)| *index < MAX_TERMS);
        whole
    }

    /// What is asked for one part of the text: its own words, and the places that it names itself. Terms keep their
    /// index; those of the rest weigh nothing.
    pub(super) fn part(&self, text: &str) -> Self {
        let own: BTreeSet<String> = words::stems(text).collect();
        let names: BTreeSet<&str> = identifiers(text).collect();
        let mut part = self.clone();
        for term in &mut part.terms {
            let asked = match term.kind {
                Kind::Name => names.contains(term.text.as_str()),
                Kind::Stem => own.contains(&term.text),
                Kind::Phrase => text.contains(term.text.as_str()),
            };
            term.weight = match (asked, term.kind) {
                (false, _) => 0.0,
                (true, Kind::Stem) => 1.0,
                (true, Kind::Name | Kind::Phrase) => 2.0,
            };
        }
        part.places.retain(|path, _| text.contains(path.as_str()) || text.contains(name(path)));
        part.title = own;
        part
    }
}

/// Literal text that a source may hold: what stands in quotes, error messages, commands. Cut where values were put in.
fn phrases(brief: &Brief) -> BTreeSet<String> {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| words::regex(r#""([^"\n]+)"|“([^”\n]+)”|'([^'\n]+ [^'\n]+)'"#));
    static ERROR: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(r"(?mi)^[ \t]*[A-Za-z_.:]*(?:error|exception|panic|warning|fatal)\w*: ([^\n]+)$")
    });
    static VALUE: LazyLock<Regex> = LazyLock::new(|| words::regex(r#"'[^'\n]*'|"[^"\n]*"|`[^`\n]*`|\d+|[<>{}\[\]]"#));
    let text = format!("{}\n{}", brief.title, brief.body);
    let quoted = QUOTED.captures_iter(&text).filter_map(|c| c.iter().skip(1).flatten().next()).map(|m| m.as_str());
    let errors = ERROR.captures_iter(&text).filter_map(|c| c.get(1)).map(|m| m.as_str());
    let spans = brief.spans.iter().map(String::as_str).filter(|span| span.contains(' '));
    let all = quoted.chain(errors).chain(spans).take(200);
    let parts = all.flat_map(|text| VALUE.split(text).map(|part| part.trim_matches([' ', '.', ',', ':', ';', '!'])));
    let fit = parts.filter(|part| part.contains(' ') && (10..=120).contains(&part.len()));
    fit.map(str::to_owned).take(MAX_PHRASES).collect()
}

fn places(brief: &Brief, survey: &Survey) -> BTreeMap<String, Place> {
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    let mut add = |path: &str, weight: f32, why: &'static str, line: Option<u32>| {
        let place = places.entry(path.to_owned()).or_default();
        place.weight = place.weight.max(weight) + place.weight.min(weight) * 0.25;
        place.why.insert(why);
        place.lines.extend(line.filter(|line| *line > 0));
    };
    let bare = |path: &str| path.trim_start_matches('/').to_owned();
    let traced: BTreeSet<String> = brief.frames.iter().map(|frame| bare(&frame.path)).collect();
    for (mention, line) in brief.paths.iter().filter(|(path, _)| !traced.contains(&bare(path))) {
        if let Some(file) = survey.resolve(mention) {
            add(&file.path, if mention.contains('/') { 1.4 } else { 1.0 }, NAMED, *line);
        }
    }
    let mut met: BTreeSet<&str> = BTreeSet::new();
    let mut weight = 0.9;
    for frame in &brief.frames {
        let Some(file) = survey.resolve(&frame.path) else { continue };
        add(&file.path, if met.insert(&file.path) { weight } else { 0.0 }, TRACED, Some(frame.line));
        weight *= 0.65;
    }
    for (path, weight) in qualified(brief, survey) {
        add(&path, weight, QUALIFIED, None);
    }
    places
}

/// Files that dotted names lead to: `pkg.fields.List` to `pkg/fields.py`, `fields.List` to the only `fields.*` there is.
fn qualified(brief: &Brief, survey: &Survey) -> BTreeMap<String, f32> {
    static DOTTED: LazyLock<Regex> =
        LazyLock::new(|| words::regex(r"\b[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)+"));
    let mut by_stem: HashMap<&str, Vec<&str>> = HashMap::new();
    for file in survey.files.iter().filter(|file| file.class == Class::Source) {
        let (folder, stem) = (file.path.rsplit_once('/').map_or("", |(folder, _)| folder), stem_of(&file.path));
        let stem = if matches!(stem, "__init__" | "mod" | "index") { name(folder) } else { stem };
        by_stem.entry(stem).or_default().push(&file.path);
    }
    let text = [brief.title.as_str(), brief.body.as_str()].join("\n");
    let names: BTreeSet<&str> = DOTTED.find_iter(&text).take(400).map(|found| found.as_str()).collect();
    let mut found: BTreeMap<String, f32> = BTreeMap::new();
    for dotted in names {
        let parts: Vec<&str> = dotted.split(['.', ':']).filter(|part| !part.is_empty()).collect();
        for (at, part) in parts.iter().enumerate() {
            let Some(paths) = by_stem.get(part) else { continue };
            let folder_of = |path: &&str| {
                let folders = path.split('/').rev().skip(1);
                at > 0 && folders.take(2).any(|folder| Some(&folder) == parts.get(at - 1))
            };
            let exact: Vec<&&str> = paths.iter().filter(|path| folder_of(path)).collect();
            let (path, weight) = match (exact.as_slice(), paths.as_slice()) {
                ([path], _) => (**path, 0.5),
                (_, [path]) => (*path, 0.25),
                _ => continue,
            };
            let known = found.entry(path.to_owned()).or_default();
            *known = known.max(weight);
        }
    }
    found
}

/// Names that most files have, whatever they are about.
fn is_everywhere(name: &str) -> bool {
    matches!(
        name,
        "main" | "self" | "this" | "module" | "None" | "null" | "True" | "False" | "true" | "false" | "undefined"
    ) || name.starts_with("__") && name.ends_with("__")
}

fn stem_of(path: &str) -> &str {
    name(path).split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_gives_names_stems_phrases_and_places() {
        let survey = Survey::new(["shop/cart.py", "shop/mail.py", "README.md"].map(str::to_owned).to_vec());
        let body = "Calling `shop.cart.add_item` with nothing fails:\n\n```\nValueError: basket 'x' cannot be empty here\n```\n";
        let query = Query::of(&Brief::read("Adding nothing raises", body), &survey);
        assert!(query.names.contains_key("add_item") && query.stems.contains_key("add"), "{:?}", query.terms);
        assert_eq!(query.phrases.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["cannot be empty here"]);
        let place = &query.places["shop/cart.py"];
        assert!(place.why.contains(QUALIFIED) && query.places.len() == 1, "{:?}", query.places);
    }

    #[test]
    fn a_long_text_asks_for_no_more_than_the_limit() {
        let survey = Survey::new(Vec::new());
        let body: String = (0..4000).map(|n| format!("word{n}x some_name_{n}. ")).collect();
        let query = Query::of(&Brief::read("x", &body), &survey);
        assert!(query.terms.len() > MAX_TERMS && query.terms.len() <= MAX_COUNTED, "{}", query.terms.len());
        assert_eq!(query.whole().terms.len(), MAX_TERMS);
        assert!(query.terms.iter().all(|term| term.weight <= MAX_WEIGHT));
    }
}
