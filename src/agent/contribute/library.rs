//! The repository, read once for all who contribute to it: whoever asks first has it read, and the others look at the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::brief::Brief;
use super::graph::Graph;
use super::manager;
use super::packages::{self, Packages};
use super::query::Query;
use super::resolve::Resolver;
use super::retrieval::{self, Measured};
use super::style::Habits;
use super::survey::{self, Class, Listed, Survey};
use crate::agent::{Context, Contributing, Error};
use crate::analysis::{self, Declared, Import, Language};

/// Files whose imports are read, sources first.
const MAX_LINKED: usize = 12_000;
/// Files that are parsed whole, to learn how the code is written: spread evenly, so that no folder speaks for all.
const MAX_SAMPLED: usize = 160;
const MAX_SAMPLED_BYTES: u64 = 1_500_000;
const MAX_SAMPLED_FILE: u64 = 128 * 1024;
/// A last guard: after this, files are only counted and searched.
const MAX_TIME: Duration = Duration::from_secs(60);
const MAX_EXPORTS: usize = 20;

/// Filled by whoever asks first.
#[derive(Default)]
pub struct Library(OnceCell<Reading>);

/// What was read.
pub(super) struct Reading {
    pub(super) survey: Survey,
    /// All that the issue may be asked for.
    pub(super) query: Query,
    pub(super) files: BTreeMap<String, Noted>,
    pub(super) habits: BTreeMap<&'static str, Habits>,
    pub(super) packages: Packages,
    pub(super) graph: Graph,
    /// Files that were too many to be read.
    pub(super) left: usize,
    /// Files of a language whose imports could be read, and were not.
    pub(super) unlinked: usize,
}

/// What one file has.
pub(super) struct Noted {
    pub(super) measured: Measured,
    pub(super) bytes: u64,
    /// That are not blank.
    pub(super) lines: u64,
    /// Names that others may use.
    pub(super) exports: Vec<String>,
    /// The file holds tests of its own (Rust).
    pub(super) own_tests: bool,
    /// Of the sample only.
    pub(super) sampled: Option<Sampled>,
}

/// How a file of the sample is written.
pub(super) struct Sampled {
    pub(super) declared: Vec<Declared>,
    /// How often each way to tell of an error is used.
    pub(super) errors: [u32; 3],
}

/// Raised values, returned values, and ends of the program.
pub(super) const RAISED: usize = 0;
pub(super) const RETURNED: usize = 1;
pub(super) const ABORTED: usize = 2;

impl Library {
    /// Reads the repository for the issue, or returns what was read before.
    ///
    /// # Errors
    /// When git cannot be read, there is too much of it, or the work is cancelled.
    pub(super) async fn read(&self, cx: &Context, brief: &Brief) -> Result<&Reading, Error> {
        self.0.get_or_try_init(|| Reading::of(cx, brief)).await
    }

    /// Every path of the tree, where somebody has read it.
    pub(super) fn paths(&self) -> Option<impl Iterator<Item = &str>> {
        Some(self.0.get()?.survey.files.iter().map(|file| file.path.as_str()))
    }
}

impl Reading {
    /// What the repository has beside what its configuration leaves out.
    async fn of(cx: &Context, brief: &Brief) -> Result<Self, Error> {
        let Contributing { tree, facts, .. } = cx.contributing()?;
        let ignored = manager::globs(&facts.settings.ignore)?;
        let mut survey = Survey::of(tree).await?;
        survey.disown(|path| ignored.is_match(path));
        let packages = packages::read(tree, &survey).await?;
        let query = Arc::new(Query::of(brief, &survey));
        let (paths, left) = worth_reading(&survey);
        let (linked, unlinked) = linked(&survey, &paths);
        let sampled = sampled(&survey, &paths);
        let asked = Arc::clone(&query);
        let until = Instant::now() + MAX_TIME;
        let read = survey::read_all(cx, tree, paths, move |path, text| {
            let symbols: Vec<(usize, &str)> = retrieval::symbols(path, text).collect();
            let in_time = Instant::now() < until;
            let noted = Noted {
                measured: retrieval::measure(&asked, path, text, &symbols),
                bytes: text.len() as u64,
                lines: text.lines().filter(|line| !line.trim_start().is_empty()).count() as u64,
                exports: exports(path, text, &symbols),
                own_tests: path.ends_with(".rs") && text.contains("#[cfg(test)]"),
                sampled: (in_time && sampled.contains(path)).then(|| Sampled::of(path, text)).flatten(),
            };
            let habits = survey::language(path).map(|_| Habits::of(text));
            let imports = (in_time && linked.contains(path)).then(|| analysis::imports(path, text));
            (noted, habits, imports)
        })
        .await?;
        let (mut files, mut habits) = (BTreeMap::new(), BTreeMap::<&'static str, Habits>::new());
        let mut imports: Vec<(String, Vec<Import>)> = Vec::new();
        let mut late = 0;
        for (path, (noted, own, taken)) in read {
            if let (Some(language), Some(own)) = (survey::language(&path), own) {
                habits.entry(language).or_default().add(&own);
            }
            late += usize::from(taken.is_none() && Language::of_path(&path).is_some());
            imports.push((path.clone(), taken.unwrap_or_default()));
            files.insert(path, noted);
        }
        let resolver = Resolver::new(&survey, &packages);
        let graph = Graph::of(&survey, &resolver, &imports);
        let unlinked = unlinked.max(late);
        Ok(Self { query: (*query).clone(), survey, files, habits, packages, graph, left, unlinked })
    }

    /// The language with the most bytes; markup, shell and queries only where there is nothing else.
    pub(super) fn language(&self) -> Option<String> {
        let mut bytes: BTreeMap<&'static str, u64> = BTreeMap::new();
        for file in
            self.survey.files.iter().filter(|file| matches!(file.class, Class::Source | Class::Test | Class::Aside))
        {
            if let (Some(language), Some(noted)) = (file.language, self.files.get(&file.path)) {
                let share = if file.class == Class::Source { noted.bytes } else { noted.bytes / 4 };
                *bytes.entry(language).or_default() += share;
            }
        }
        let best = bytes.into_iter().max_by_key(|(language, size)| (!survey::is_minor(language), *size));
        best.map(|(language, _)| language.to_owned())
    }

    /// Every file that was read, with what was measured.
    pub(super) fn measured(&self) -> Vec<(&Listed, &Measured)> {
        let files = self.survey.files.iter();
        files.filter_map(|file| Some((file, &self.files.get(&file.path)?.measured))).collect()
    }

    /// Lines of a file that are not blank.
    pub(super) fn lines(&self, path: &str) -> u64 {
        self.files.get(path).map_or(0, |noted| noted.lines)
    }
}

impl Sampled {
    fn of(path: &str, text: &str) -> Option<Self> {
        let declared = analysis::declarations(path, text)?;
        let signs: [&[&str]; 3] = match Language::of_path(path)? {
            Language::Rust => [&[], &["Result<", "Err("], &["panic!(", ".unwrap()"]],
            Language::Python => [&["raise ", "except "], &[], &["sys.exit("]],
            Language::Go => [&[], &["err != nil", "errors.New(", "fmt.Errorf("], &["panic(", "log.Fatal"]],
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                [&["throw ", "catch ", ".catch("], &[], &["process.exit("]]
            }
            Language::Java => [&["throw ", "throws ", "catch ("], &[], &["System.exit("]],
        };
        let count = |signs: &[&str]| signs.iter().map(|sign| text.matches(sign).count()).sum::<usize>();
        Some(Self { declared, errors: signs.map(|signs| u32::try_from(count(signs)).unwrap_or(u32::MAX)) })
    }
}

/// Paths in the order in which they are worth reading, and how many had to be left.
fn worth_reading(survey: &Survey) -> (Vec<String>, usize) {
    let mut files: Vec<&Listed> = survey.files.iter().filter(|file| file.class != Class::Foreign).collect();
    files.sort_by_key(|file| file.class);
    let left = files.len().saturating_sub(survey::MAX_READ);
    files.truncate(survey::MAX_READ);
    (files.into_iter().map(|file| file.path.clone()).collect(), left)
}

/// The files whose imports are read, and how many others of their languages there are.
fn linked(survey: &Survey, paths: &[String]) -> (BTreeSet<String>, usize) {
    let code = paths.iter().filter(|path| Language::of_path(path).is_some());
    let chosen: BTreeSet<String> = code.take(MAX_LINKED).cloned().collect();
    let all =
        survey.files.iter().filter(|file| file.class != Class::Foreign && Language::of_path(&file.path).is_some());
    let left = all.count().saturating_sub(chosen.len());
    (chosen, left)
}

/// Every nth source, as many as the limits allow.
fn sampled(survey: &Survey, paths: &[String]) -> BTreeSet<String> {
    let own = |path: &&String| {
        survey.get(path).is_some_and(|file| file.class == Class::Source && file.size <= MAX_SAMPLED_FILE)
            && Language::of_path(path).is_some()
    };
    let sources: Vec<&String> = paths.iter().filter(own).collect();
    let step = sources.len().div_ceil(MAX_SAMPLED).max(1);
    let mut bytes = 0;
    let mut chosen = BTreeSet::new();
    for path in sources.into_iter().step_by(step) {
        bytes += survey.get(path).map_or(0, |file| file.size);
        if bytes > MAX_SAMPLED_BYTES {
            break;
        }
        chosen.insert(path.clone());
    }
    chosen
}

/// Names that a file offers to others, as its language marks them.
fn exports(path: &str, text: &str, symbols: &[(usize, &str)]) -> Vec<String> {
    let Some(language) = Language::of_path(path) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    let mut lines = text.lines().enumerate();
    for (at, name) in symbols {
        if found.len() >= MAX_EXPORTS {
            break;
        }
        let Some((_, line)) = lines.find(|(number, _)| number == at) else { break };
        let offered = match language {
            Language::Rust => line.trim_start().starts_with("pub "),
            Language::Python => !line.starts_with([' ', '\t']) && !name.starts_with('_'),
            Language::Go => name.starts_with(char::is_uppercase),
            Language::JavaScript | Language::TypeScript | Language::Tsx => line.contains("export"),
            Language::Java => line.contains("public "),
        };
        if offered && !found.iter().any(|known| known == name) {
            found.push((*name).to_owned());
        }
    }
    found
}
