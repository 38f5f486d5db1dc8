//! Where in the repository: its structure and habits, and the files that the issue is about.

use serde::Deserialize;

use super::brief::Brief;
use super::convention;
use super::library::Reading;
use super::manifest::{self, Manifests};
use super::query::Query;
use super::retrieval::{self, Hit};
use super::style::{self, Habits};
use super::survey::{self, Class, Survey};
use super::words;
use crate::agent::{Agent, Context, Contributing, Error, Role, gate};
use crate::analysis::secrets;
use crate::artifact::swarm::{
    CodebaseMap, CurrentIssue, Insights, IssueAnalysis, Kind, MappedRepository, ReferenceFile, RelevantFile,
    RelevantFiles, Structure,
};
use crate::artifact::{ContributeFacts, Document};

/// Files that are said to be the place of the work, and those that are worth a look beside them.
const MAX_MODIFY: usize = 10;
const MAX_REFERENCE: usize = 10;
const MAX_LISTED: usize = 10;
/// Of the place of the work, so many are shown with lines and an excerpt.
const MAX_SHOWN: usize = 5;
/// A file whose score is a smaller share of the best one's is no candidate.
const LEAST_SHARE: f32 = 0.2;
/// Files whose `.gitattributes` are asked for.
const MAX_ASKED: usize = 60;

pub struct Explorer;

#[derive(Debug, Deserialize)]
pub struct ExplorerInput {
    facts: ContributeFacts,
    scout: Document<CurrentIssue>,
    analyst: Document<IssueAnalysis>,
}

/// The repository as it was read, and what is looked for in it.
struct Search<'r> {
    reading: &'r Reading,
    survey: &'r Survey,
    query: Query,
}

impl Agent for Explorer {
    const VERSION: &'static str = "1";
    type Input = ExplorerInput;
    type Output = Document<CodebaseMap>;

    fn role(&self) -> Role {
        Role::Explorer
    }

    async fn run(&self, cx: &Context, input: ExplorerInput) -> Result<Document<CodebaseMap>, Error> {
        let (Ok(issue), Ok(analysis)) = (&input.scout.outcome, &input.analyst.outcome) else {
            let why = "there is no issue or no analysis to explore for";
            return Ok(Document::failed(cx.timestamp(), "nothing-to-explore", why));
        };
        let brief = Brief::read(&issue.selected_issue.title, &issue.selected_issue.body);
        let Contributing { tree, library, .. } = cx.contributing()?;
        let reading = library.read(cx, &brief).await?;
        let search = Search { reading, survey: &reading.survey, query: reading.query.whole() };
        let language = reading.language().or_else(|| input.facts.repository.language.clone()).unwrap_or_default();
        let language = words::line(&language, 60);
        let manifests = Manifests::read(tree, &reading.survey).await?;
        let project = manifest::project(&manifests, &language);
        let habits = reading.habits.get(language.as_str()).cloned().unwrap_or_default();
        let hits = search.rank(cx, analysis).await?;
        let relevant = search.relevant(cx, hits, analysis).await?;
        let facts = &input.facts;
        let naming = &analysis.repository_context.branch_naming;
        let insights = search.insights(&habits, &manifests, &relevant, analysis);
        let map = CodebaseMap {
            repository: MappedRepository {
                owner: words::line(&facts.repository.owner, 100),
                name: words::line(&facts.repository.name, 200),
                // A mirror has nothing checked out: its trees are read from the object database.
                local_path: facts.repository.work_tree.clone().unwrap_or_default(),
                branch: {
                    let word = convention::commit_type(analysis.analysis.kind);
                    convention::branch(word, facts.issue.number, &brief.title, naming)
                },
                default_branch: words::line(&facts.repository.default_branch, 255),
            },
            structure: Structure {
                framework: project.framework,
                package_manager: project.manager,
                monorepo: project.monorepo,
                source_dir: search.folder(Class::Source),
                test_dir: search.folder(Class::Test),
                docs_dir: search.folder(Class::Docs),
                language: language.clone(),
            },
            relevant_files: relevant,
            code_style: style::style(&habits, &manifests, &language),
            build_commands: project.commands,
            insights,
        };
        Ok(Document::completed(cx.timestamp(), map))
    }

    fn faults(&self, _cx: &Context, document: &Document<CodebaseMap>) -> Vec<String> {
        let Ok(map) = &document.outcome else { return Vec::new() };
        let files = &map.relevant_files;
        let paths = files.to_modify.iter().map(|file| &file.path);
        let paths =
            paths.chain(files.to_reference.iter().map(|file| &file.path)).chain(&files.tests).chain(&files.docs);
        let mut faults: Vec<String> = paths
            .filter(|path| !survey::is_inside(path))
            .map(|path| format!("relevant_files: `{}` is no path of the tree", words::line(path, 200)))
            .collect();
        for file in &files.to_modify {
            if file.line_numbers.as_ref().is_some_and(|lines| lines.contains(&0)) {
                faults.push(format!("{}: lines are counted from 1", words::line(&file.path, 200)));
            }
        }
        faults
    }

    fn line(&self, document: &Document<CodebaseMap>) -> Option<String> {
        Some(match &document.outcome {
            Ok(map) => match map.relevant_files.to_modify.first() {
                Some(file) => {
                    let more = map.relevant_files.to_modify.len() - 1;
                    let others = if more > 0 { format!(", and {}", files(more, "other file")) } else { String::new() };
                    format!("looks like {}{others}", words::line(&file.path, 120))
                }
                None => "no file of the repository speaks of this".to_owned(),
            },
            Err(faults) => faults.first().map_or_else(|| "not explored".to_owned(), |fault| fault.message.clone()),
        })
    }
}

impl Search<'_> {
    /// Ranks every file; what is marked as generated is left out.
    async fn rank(&self, cx: &Context, analysis: &IssueAnalysis) -> Result<Vec<Hit>, Error> {
        let Contributing { tree, .. } = cx.contributing()?;
        let mut hits = retrieval::rank(&self.query, &self.reading.measured());
        let wanted = &analysis.analysis.files_to_modify;
        hits.sort_by_key(|hit| !(hit.named && wanted.iter().any(|file| file.path == hit.path)));
        let mut kept = Vec::new();
        for (at, hit) in hits.into_iter().enumerate() {
            if at >= MAX_ASKED || !tree.is_generated(&hit.path).await? {
                kept.push(hit);
            }
        }
        Ok(kept)
    }

    async fn relevant(&self, cx: &Context, hits: Vec<Hit>, analysis: &IssueAnalysis) -> Result<RelevantFiles, Error> {
        let Contributing { tree, facts, .. } = cx.contributing()?;
        let protected = gate::globs(&facts.settings.protected)?;
        let ignored = gate::globs(&facts.settings.ignore)?;
        // What no change may touch is worth a look, no more.
        let barred = |hit: &&Hit| gate::protection(&hit.path, &protected).is_some() || ignored.is_match(&hit.path);
        let docs_are_the_work = analysis.analysis.kind == Kind::Documentation;
        let tests_are_the_work = analysis.analysis.kind == Kind::Test;
        let is_work = |hit: &&Hit| match hit.class {
            Class::Source | Class::Aside | Class::Other => true,
            Class::Test => tests_are_the_work || hit.named,
            Class::Docs => docs_are_the_work || hit.named,
            Class::Foreign => false,
        };
        let best = hits.iter().filter(is_work).map(|hit| hit.score).fold(0.0_f32, f32::max);
        let work: Vec<&Hit> = hits
            .iter()
            .filter(is_work)
            .filter(|hit| !barred(hit))
            .take_while(|hit| hit.named || hit.score >= best * LEAST_SHARE)
            .take(MAX_MODIFY)
            .collect();
        let mut to_modify = Vec::new();
        for (at, hit) in work.iter().enumerate() {
            let mut file = RelevantFile {
                path: hit.path.clone(),
                purpose: hit.why.clone(),
                line_numbers: None,
                content_preview: None,
            };
            if at < MAX_SHOWN
                && let Some(text) = survey::text(tree, &hit.path).await?
            {
                let (lines, excerpt) = retrieval::locate(&self.query, hit, &hit.path, &text);
                // What stands in the document may be read by many.
                let safe = secrets::scan(&hit.path, &excerpt).is_empty();
                file.content_preview = Some(excerpt).filter(|text| safe && !text.is_empty());
                file.line_numbers = Some(lines).filter(|lines| !lines.is_empty());
            }
            to_modify.push(file);
        }
        let to_reference = hits
            .iter()
            .filter(is_work)
            .filter(|hit| !work.iter().any(|chosen| chosen.path == hit.path))
            .take(MAX_REFERENCE)
            .map(|hit| ReferenceFile { path: hit.path.clone(), purpose: hit.why.clone() })
            .collect();
        let modified: Vec<&str> = to_modify.iter().map(|file| file.path.as_str()).collect();
        let listed = |class: Class| -> Vec<String> {
            let of_class = hits.iter().filter(|hit| hit.class == class && !modified.contains(&hit.path.as_str()));
            let top = of_class.clone().map(|hit| hit.score).fold(0.0_f32, f32::max);
            of_class.filter(|hit| hit.score >= top * LEAST_SHARE).take(MAX_LISTED).map(|hit| hit.path.clone()).collect()
        };
        let mut tests = beside(self.survey, &modified);
        tests.extend(listed(Class::Test).into_iter().filter(|path| !tests.contains(path)).collect::<Vec<_>>());
        tests.truncate(MAX_LISTED);
        let docs = listed(Class::Docs);
        Ok(RelevantFiles { to_modify, to_reference, tests, docs })
    }

    /// The folder that most files of a class lie in.
    fn folder(&self, class: Class) -> String {
        let of_class = || self.survey.files.iter().filter(|file| file.class == class).map(|file| file.path.as_str());
        let wanted: &[&str] = match class {
            Class::Docs => &["docs", "doc", "documentation", "website"],
            Class::Test => &["tests", "test", "spec", "__tests__"],
            Class::Source | Class::Aside | Class::Other | Class::Foreign => &["src", "lib"],
        };
        let usual = wanted.iter().find(|folder| {
            let prefix = format!("{folder}/");
            let inside = of_class().filter(|path| path.starts_with(&prefix)).count();
            inside > 0 && (class != Class::Source || inside * 2 >= of_class().count())
        });
        let found = usual.map(|folder| (*folder).to_owned()).or_else(|| survey::common_folder(of_class()));
        found.map_or_else(String::new, |folder| words::line(&folder, 200))
    }

    fn insights(&self, habits: &Habits, m: &Manifests, found: &RelevantFiles, analysis: &IssueAnalysis) -> Insights {
        let mut patterns = Vec::new();
        let count = |class: Class| self.survey.files.iter().filter(|file| file.class == class).count();
        let (sources, tests) = (count(Class::Source), count(Class::Test));
        patterns.push(format!("{} beside {}", files(sources, "source file"), files(tests, "test file")));
        if let Some(changelog) = self.survey.first(&[
            "CHANGELOG.md",
            "CHANGES.md",
            "CHANGES.rst",
            "CHANGELOG.rst",
            "CHANGELOG",
            "HISTORY.md",
            "NEWS.md",
            "docs/changelog.rst",
        ]) {
            patterns.push(format!("changes are told in {changelog}"));
        }
        if m.has("", &[".pre-commit-config.yaml"]) {
            patterns.push("hooks of pre-commit check every commit".to_owned());
        }
        if m.folder("", ".github/workflows") {
            patterns.push("workflows of GitHub Actions build it".to_owned());
        }
        let mut gotchas = Vec::new();
        if self.reading.left > 0 {
            gotchas.push(format!(
                "{} beyond the first {} were not read",
                files(self.reading.left, "file"),
                survey::MAX_READ
            ));
        }
        if habits.crlf > 0 {
            gotchas
                .push(format!("{} with CRLF line endings", files(usize::try_from(habits.crlf).unwrap_or(0), "file")));
        }
        let foreign = count(Class::Foreign);
        if foreign > 0 {
            gotchas.push(format!("{} by others or by programs, left out of the search", files(foreign, "file")));
        }
        if found.to_modify.is_empty() && found.to_reference.is_empty() {
            gotchas.push("no file shares a word with the issue".to_owned());
        }
        let gone = analysis.analysis.files_to_modify.iter().filter(|file| !self.survey.has(&file.path)).take(5);
        gotchas.extend(gone.map(|file| format!("{} does not exist yet", words::line(&file.path, 200))));
        Insights { patterns_observed: patterns, potential_gotchas: gotchas }
    }
}

/// A file's name without what makes it a test's: `test_cart.py`, `cart_test.go`, `Cart.java` and `CartTest.java` share theirs.
pub(super) fn tested_stem(path: &str) -> String {
    let name = survey::name(path).split('.').next().unwrap_or_default().to_lowercase();
    name.trim_start_matches("test_").trim_end_matches("_test").trim_end_matches("_spec").replace("test", "")
}

/// Test files that are named after these.
pub(super) fn beside(survey: &Survey, paths: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths.iter().take(MAX_SHOWN) {
        let wanted = tested_stem(path);
        if wanted.len() < 3 || matches!(wanted.as_str(), "index" | "main" | "mod" | "__init__" | "lib") {
            continue;
        }
        let own = survey.files.iter().filter(|file| file.class == Class::Test && file.language.is_some());
        for file in own.filter(|file| tested_stem(&file.path) == wanted).take(3) {
            if !found.contains(&file.path) && !paths.contains(&file.path.as_str()) {
                found.push(file.path.clone());
            }
        }
    }
    found
}

fn files(n: usize, noun: &str) -> String {
    crate::stdx::text::count(n, noun)
}
