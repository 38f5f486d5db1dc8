//! What no change may do, whoever made it. Asked right before anything is written, and independent of who wrote it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::Regex;

use super::Error;
use crate::analysis::{Engine, Language, fix, links, secrets, skip_reason};
use crate::artifact::facts::ContributeSettings;
use crate::artifact::swarm::{CodeChanges, FileAction, FileChange};
use crate::domain::{LineKind, RuleId};
use crate::workspace::patch::{self, FilePatch};
use crate::workspace::{Edit, EntryKind, Side, Tree};

/// A change that may be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gated {
    /// One for each file, in order of path.
    pub edits: Vec<Edit>,
    pub files: Vec<GatedFile>,
    /// What was not checked, as sentences.
    pub notes: Vec<String>,
}

/// Counted from what will be written, not from what the coder says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatedFile {
    pub path: String,
    pub added: usize,
    pub removed: usize,
}

/// A larger file is not written.
const MOST_BYTES: usize = 1 << 20;
/// Git takes more, file systems do not.
const LONGEST_PATH: usize = 1_024;
const LONGEST_NAME: usize = 255;

/// The edits of a change, or every reason why it may not be made.
///
/// # Errors
/// When the tree cannot be read, or a glob of the settings is none.
pub async fn check(
    engine: &Arc<Engine>,
    tree: &Tree,
    changes: &CodeChanges,
    settings: &ContributeSettings,
) -> Result<Result<Gated, Vec<String>>, Error> {
    let protected = globs(&settings.protected)?;
    let ignored = globs(&settings.ignore)?;
    let mut reasons: BTreeSet<String> = BTreeSet::new();
    if !changes.commit_ready || changes.changes.is_empty() {
        reasons.insert("there is nothing to commit".to_owned());
    }
    if changes.changes.len() > settings.max_files {
        let (count, most) = (changes.changes.len(), settings.max_files);
        reasons.insert(format!("it changes {count} files, more than the {most} that this repository allows"));
    }
    let mut gated = Gated { edits: Vec::new(), files: Vec::new(), notes: Vec::new() };
    let mut seen = BTreeSet::new();
    let mut texts: Vec<Texts> = Vec::new();
    // What is beyond any limit is not looked at file by file.
    for change in changes.changes.iter().take(settings.max_files.max(1)) {
        let path = change.file.as_str();
        if !seen.insert(folded(path)) {
            reasons.insert(format!("`{}` is changed twice", shown(path)));
            continue;
        }
        if let Some(why) = path_fault(path).or_else(|| protection(path, &protected)) {
            reasons.insert(format!("`{}`: {why}", shown(path)));
            continue;
        }
        if ignored.is_match(path) {
            reasons.insert(format!("`{path}`: this repository's configuration says to leave it alone"));
            continue;
        }
        match applied(tree, change).await? {
            Err(why) => {
                reasons.insert(format!("`{path}`: {why}"));
            }
            Ok((text, counted)) => {
                gated.files.push(counted);
                texts.push(text);
            }
        }
    }
    let lines: usize = gated.files.iter().map(|file| file.added + file.removed).sum();
    if lines > settings.max_lines {
        let most = settings.max_lines;
        reasons.insert(format!("it changes {lines} lines, more than the {most} that this repository allows"));
    }
    let paths = Arc::new(paths_after(tree, &texts).await?);
    for text in texts {
        let (engine, paths, disabled) = (Arc::clone(engine), Arc::clone(&paths), settings.disable.clone());
        let path = text.path.clone();
        let (found, text) = tokio::task::spawn_blocking(move || (content(&engine, &text, &paths, &disabled), text))
            .await
            .map_err(|_| Error::Scanner { path })?;
        reasons.extend(found.into_iter().map(|why| format!("`{}`: {why}", text.path)));
        if text.new.is_some() && Language::of_path(&text.path).is_none() {
            gated
                .notes
                .push(format!("`{}` is in no language that is parsed here, so its syntax was not checked", text.path));
        }
        gated.edits.push(match text.new {
            Some(new) => Edit::Write { path: text.path, text: new.into_bytes(), executable: None },
            None => Edit::Delete { path: text.path },
        });
    }
    if !reasons.is_empty() {
        return Ok(Err(reasons.into_iter().collect()));
    }
    gated.edits.sort_by(|a, b| a.path().cmp(b.path()));
    gated.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Ok(gated))
}

/// Why no change may touch a path, if so: by the rules for all repositories, or by this one's.
pub(super) fn protection(path: &str, protected: &GlobSet) -> Option<&'static str> {
    let folded = folded(path);
    if ALWAYS.is_match(&folded) || ALWAYS.is_match(path) {
        return Some(
            "no change may touch what decides how a repository is built, checked or owned, and no setting lifts that",
        );
    }
    (protected.is_match(path) || protected.is_match(&folded))
        .then_some("this repository's configuration protects it (`protected` in `.github/octoswarm.yml`)")
}

/// Patterns of paths as people write them, without regard to case: one may begin with `/` or `./`, and one that names a
/// folder holds all below.
///
/// # Errors
/// When one is no glob.
pub(super) fn globs(patterns: &[String]) -> Result<GlobSet, Error> {
    let mut all = Vec::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        all.push(pattern.to_owned());
        if !pattern.ends_with("**") {
            all.push(format!("{pattern}/**"));
        }
    }
    set(all.iter().map(String::as_str))
}

fn set<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).case_insensitive(true).build();
        set.add(glob.map_err(|error| Error::Setting(error.to_string()))?);
    }
    set.build().map_err(|error| Error::Setting(error.to_string()))
}

/// A file before and after.
struct Texts {
    path: String,
    /// Empty for a new file.
    old: String,
    /// None: deleted.
    new: Option<String>,
    /// The lines that came, each with its ending.
    added: String,
}

async fn applied(tree: &Tree, change: &FileChange) -> Result<Result<(Texts, GatedFile), String>, Error> {
    let path = change.file.as_str();
    let patch = match the_patch(change) {
        Ok(patch) => patch,
        Err(why) => return Ok(Err(why)),
    };
    for (slash, _) in path.match_indices('/') {
        match tree.entry(&path[..slash]).await? {
            None | Some(EntryKind::Folder) => {}
            Some(EntryKind::Link) => return Ok(Err(format!("`{}` is a symbolic link", &path[..slash]))),
            Some(EntryKind::Submodule) => return Ok(Err(format!("`{}` is a submodule", &path[..slash]))),
            Some(EntryKind::Regular | EntryKind::Executable) => {
                return Ok(Err(format!("`{}` is a file", &path[..slash])));
            }
        }
    }
    let (entry, creates) = (tree.entry(path).await?, change.action == FileAction::Created);
    match entry {
        None if creates => {}
        None => return Ok(Err("it is not there".to_owned())),
        Some(EntryKind::Link) => return Ok(Err("it is a symbolic link".to_owned())),
        Some(EntryKind::Submodule) => return Ok(Err("it is a submodule".to_owned())),
        Some(EntryKind::Folder) => return Ok(Err("it is a folder".to_owned())),
        Some(EntryKind::Regular | EntryKind::Executable) if creates => {
            return Ok(Err("it is there already".to_owned()));
        }
        Some(EntryKind::Regular | EntryKind::Executable) => {}
    }
    let old = match tree.read(path).await? {
        Side::Text(text) => text,
        Side::Absent => String::new(),
        Side::NotRead(why) => return Ok(Err(format!("it is no text file that can be changed: {why}"))),
    };
    if tree.is_generated(path).await? {
        return Ok(Err("it is marked as generated or binary in .gitattributes".to_owned()));
    }
    let new = match patch::apply(&old, &patch) {
        Ok(new) => new,
        Err(error) => return Ok(Err(format!("the diff does not apply: {error}"))),
    };
    let deleted = change.action == FileAction::Deleted;
    if let Some(why) = [&old, &new].into_iter().find_map(|text| skip_reason(path, text.as_bytes())) {
        return Ok(Err(format!("it is no file for people to change: {why}")));
    }
    if !deleted && new == old && !creates {
        return Ok(Err("the diff changes nothing".to_owned()));
    }
    if new.len() > MOST_BYTES || new.contains('\0') {
        return Ok(Err("what would be written is no text, or too large".to_owned()));
    }
    if hidden_by(path, &new) > hidden_by(path, &old) {
        return Ok(Err("it would hide files from those who review a change".to_owned()));
    }
    let (added, mut removed) = patch.count();
    if deleted {
        // Its diff may leave the lines out.
        removed = old.split_inclusive('\n').count();
    }
    let lines = patch.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == LineKind::Added);
    let texts = Texts {
        path: path.to_owned(),
        old,
        new: (!deleted).then_some(new),
        added: lines.map(|line| line.text.as_str()).collect(),
    };
    Ok(Ok((texts, GatedFile { path: path.to_owned(), added, removed })))
}

/// How many rules of a `.gitattributes` take files out of diffs, of GitHub's and of ours.
fn hidden_by(path: &str, text: &str) -> usize {
    const HIDING: [&str; 5] = ["-diff", "binary", "-text", "linguist-generated", "linguist-vendored"];
    /// What nobody reads as text anyway.
    const MEDIA: [&str; 14] =
        ["png", "jpg", "jpeg", "gif", "ico", "webp", "pdf", "zip", "gz", "woff", "woff2", "ttf", "jar", "mp4"];
    let is_attributes = path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(".gitattributes"));
    let hides = |line: &&str| {
        let mut words = line.split_whitespace();
        let media = words.next().and_then(|glob| glob.strip_prefix("*.")).is_some_and(|ending| MEDIA.contains(&ending));
        !media && words.any(|word| HIDING.iter().any(|hiding| word.starts_with(hiding)))
    };
    if is_attributes { text.lines().filter(hides).count() } else { 0 }
}

/// The diff of that file and of no other, doing what the change says it does.
fn the_patch(change: &FileChange) -> Result<FilePatch, String> {
    let mut patches = patch::parse(&change.diff).map_err(|error| format!("the diff cannot be read: {error}"))?;
    let (Some(patch), true) = (patches.pop(), patches.is_empty()) else {
        return Err("its diff is not one file's".to_owned());
    };
    let (old, new) = (patch.old_path.as_deref(), patch.new_path.as_deref());
    let same = match change.action {
        FileAction::Created => old.is_none() && new == Some(&change.file),
        FileAction::Modified => old == Some(&change.file) && new == old,
        FileAction::Deleted => old == Some(&change.file) && new.is_none(),
    };
    if !same {
        return Err("its diff is about another file, or does something else than it says".to_owned());
    }
    if patch.binary {
        return Err("its diff is binary".to_owned());
    }
    let plain = |mode: Option<u32>| mode.is_none_or(|mode| mode == 0o100_644 || mode == 0o100_755);
    let moved = patch.old_mode.is_some() && patch.new_mode.is_some() && patch.old_mode != patch.new_mode;
    if patch.copy
        || moved
        || !plain(patch.old_mode)
        || !plain(patch.new_mode)
        || old.is_none() && patch.new_mode == Some(0o100_755)
    {
        return Err("its diff changes more than text".to_owned());
    }
    Ok(patch)
}

/// What is wrong with the new text itself.
fn content(engine: &Engine, text: &Texts, paths: &BTreeSet<String>, disabled: &[String]) -> Vec<String> {
    let Some(new) = &text.new else { return Vec::new() };
    let mut wrong = Vec::new();
    if fix::syntax_errors(&text.path, new) > fix::syntax_errors(&text.path, &text.old) {
        wrong.push("it could no longer be parsed as well as before".to_owned());
    }
    let before = tally(engine, &text.path, &text.old, paths);
    let mut after = tally(engine, &text.path, new, paths);
    let plain = unexcused(new, &text.added);
    if plain != *new {
        for (rule, found) in tally(engine, &text.path, &plain, paths) {
            let known = after.entry(rule).or_insert(found);
            *known = (*known).max(found);
        }
    }
    for (rule, (count, line)) in after {
        let known = before.get(&rule).map_or(0, |(count, _)| *count);
        if count > known && !disabled.contains(&rule.0) {
            wrong.push(format!("it would bring a new finding of `{rule}`, near line {line}"));
        }
    }
    let mut secret: Vec<&str> = secrets::names(&text.path, &text.added);
    secret.retain(|rule| !wrong.iter().any(|why| why.contains(&format!("`{rule}`"))));
    wrong.extend(secret.into_iter().map(|rule| format!("an added line looks like a secret (`{rule}`)")));
    if text.added.contains("octoswarm-ignore") {
        wrong.push("an added line switches off a rule".to_owned());
    }
    if text.added.chars().any(misleads) || text.added.replace("\r\n", "\n").chars().any(steers) {
        wrong.push(
            "an added line holds characters that cannot be seen or that turn the reading order around".to_owned(),
        );
    }
    wrong
}

/// The text, without the words by which an added line would excuse itself or the next one from a rule.
fn unexcused(new: &str, added: &str) -> String {
    #[expect(clippy::expect_used, reason = "a literal pattern; every test of this file compiles it")]
    static EXCUSE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)nosec|nosonar|noqa|nolint|pylint|eslint-disable|biome-ignore|intentional|purpose|deliberate|\bdesign\b|false\s+positive|\b(?:fine|safe|trusted|not\s+user|not\s+(?:used\s+)?for)\b",
        )
        .expect("the pattern is valid")
    });
    let added: BTreeSet<&str> = added.split_inclusive('\n').filter(|line| EXCUSE.is_match(line)).collect();
    let masked = |found: &regex::Captures<'_>| "x".repeat(found[0].len());
    let lines = new.split_inclusive('\n').map(|line| {
        let ours = added.iter().any(|other| other.trim_end() == line.trim_end());
        if ours { EXCUSE.replace_all(line, masked).into_owned() } else { line.to_owned() }
    });
    lines.collect()
}

/// How often each rule speaks, and where last.
fn tally(engine: &Engine, path: &str, text: &str, paths: &BTreeSet<String>) -> BTreeMap<RuleId, (usize, u32)> {
    let mut findings = engine.scan(path, text).findings;
    let lower = path.to_ascii_lowercase();
    if lower.ends_with(".md") || lower.ends_with(".markdown") {
        findings.extend(links::broken_links(path, text, &|target| paths.contains(target)));
    }
    let mut tally: BTreeMap<RuleId, (usize, u32)> = BTreeMap::new();
    for finding in findings {
        let entry = tally.entry(finding.rule).or_default();
        *entry = (entry.0 + 1, finding.span.start_line);
    }
    tally
}

/// Every path, folders too, once the change is made.
async fn paths_after(tree: &Tree, texts: &[Texts]) -> Result<BTreeSet<String>, Error> {
    let mut paths: BTreeSet<String> = tree.paths().await?.iter().cloned().collect();
    let by_new: HashMap<bool, Vec<&str>> = texts.iter().fold(HashMap::new(), |mut all, text| {
        all.entry(text.new.is_some()).or_insert_with(Vec::new).push(&text.path);
        all
    });
    paths.extend(by_new.get(&true).into_iter().flatten().map(|path| (*path).to_owned()));
    for gone in by_new.get(&false).into_iter().flatten() {
        paths.remove(*gone);
    }
    Ok(paths)
}

/// Why a path is none that we would write, if so.
fn path_fault(path: &str) -> Option<&'static str> {
    if path.is_empty() || path.len() > LONGEST_PATH {
        return Some("its path is empty or too long");
    }
    if path.starts_with('/') || path.contains('\\') || path.get(1..3).is_some_and(|at| at.starts_with(':')) {
        return Some("its path leads out of the repository");
    }
    if path.chars().any(|c| c.is_control() || misleads(c)) {
        return Some("its path holds characters that cannot be seen");
    }
    path.split('/').find_map(|part| match part {
        "" | "." | ".." => Some("its path leads out of the repository, or through nothing"),
        _ if part.len() > LONGEST_NAME => Some("a name in its path is too long"),
        _ if is_git(&folded(part)) => Some("its path leads into git's own folder"),
        _ if is_short(part) => Some("a name in its path is one that some systems take for another's short form"),
        _ if part.ends_with(['.', ' ']) => {
            Some("a name in its path ends in a full stop or a space, which some systems drop")
        }
        _ => None,
    })
}

fn is_git(part: &str) -> bool {
    part == ".git" || part.strip_prefix("git~").is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
}

/// `CODEOW~1`: what Windows calls a longer name.
fn is_short(part: &str) -> bool {
    let stem = part.split('.').find(|part| !part.is_empty()).unwrap_or_default();
    let number = stem.rsplit_once('~').map(|(_, number)| number);
    stem.len() <= 8 && number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// A path as the most forgiving file system takes it: without case, invisible characters, and full stops at the end.
fn folded(path: &str) -> String {
    let visible: String = path.chars().filter(|c| !misleads(*c)).map(|c| if c == '\\' { '/' } else { c }).collect();
    let parts = visible.split('/').map(|part| part.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']));
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("/").to_uppercase().to_lowercase()
}

/// Characters that a reader does not see, or that make him read in another order.
fn misleads(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Characters that move a terminal's cursor, or end a line for some readers and not for others.
fn steers(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t' | '\u{c}')
}

fn shown(path: &str) -> String {
    crate::stdx::text::visible_line(&crate::stdx::text::truncate_chars(path, 200))
}

/// What decides how a repository is built, checked and owned, and what runs on whoever opens it.
#[expect(clippy::expect_used, reason = "literal globs; every test of this file compiles them")]
static ALWAYS: LazyLock<GlobSet> = LazyLock::new(|| {
    let patterns = [
        "**/.github/{workflows,actions}/**",
        "**/.github/octoswarm.{yml,yaml}",
        "**/.github/{dependabot,settings}.{yml,yaml}",
        "**/codeowners",
        "**/.gitmodules",
        "**/.lfsconfig",
        "**/.github/codeql/**",
        "**/.git/**",
        "**/.gitlab-ci.{yml,yaml}",
        "**/.gitlab/ci/**",
        "**/.circleci/**",
        "**/.travis.{yml,yaml}",
        "**/{,.}appveyor.{yml,yaml}",
        "**/azure-pipelines*.{yml,yaml}",
        "**/.azure-pipelines/**",
        "**/jenkinsfile*",
        "**/.drone.{yml,yaml,star,jsonnet}",
        "**/bitbucket-pipelines.{yml,yaml}",
        "**/.buildkite/**",
        "**/.woodpecker/**",
        "**/.woodpecker.{yml,yaml}",
        "**/.semaphore/**",
        "**/cloudbuild.{yml,yaml,json}",
        "**/.cirrus.{yml,yaml,star}",
        "**/.teamcity/**",
        "**/.ci/**",
        "**/.husky/**",
        "**/.githooks/**",
        "**/lefthook.{yml,yaml}",
        "**/.pre-commit-config.{yml,yaml}",
        "**/{,.}renovate.json{,5}",
        "**/.renovaterc*",
        "**/{,.}mergify.{yml,yaml}",
        "**/.mergify/**",
        "**/.gitea/workflows/**",
        "**/.forgejo/workflows/**",
        "**/.devcontainer/**",
        "**/.devcontainer.json",
        "**/.vscode/{tasks,settings,launch,mcp}.json",
        "**/.cargo/config{,.toml}",
        "**/.idea/**",
        "**/{.npmrc,.yarnrc,.yarnrc.yml,.pypirc,.envrc,.netrc}",
    ];
    set(patterns.into_iter()).expect("the globs are valid")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_paths_are_known_in_any_spelling() {
        let none = globs(&[]).unwrap();
        for path in [
            ".github/workflows/ci.yml",
            ".GitHub/Workflows/CI.YML",
            ".github/workflows./ci.yml",
            "./.github//workflows/x",
            ".git\u{200b}hub/workflows/x.yml",
            ".github\\workflows\\x.yml",
            "CODEOWNERS",
            "docs/CodeOwners",
            ".github/octoswarm.yml",
            ".github/wor\u{212a}flows/ci.yml",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            ".circleci/config.yml",
            ".github/workflows::$INDEX_ALLOCATION/x.yml",
            "sub/.github/workflows/ci.yml",
            "azure-pipelines-nightly.yml",
            ".github/codeql/config.yml",
            ".cargo/config.toml",
        ] {
            assert!(protection(path, &none).is_some(), "{path}");
        }
        for path in ["src/workflows/a.rs", ".github/ISSUE_TEMPLATE/bug.md", "docs/ci.md", "codeowners.py", ".gitignore"]
        {
            assert!(protection(path, &none).is_none() && path_fault(path).is_none(), "{path}");
        }
        for pattern in ["db/**", "/db/**", "./db/**", "db/", "db", "/db", "**/db"] {
            let own = globs(&[pattern.to_owned()]).unwrap();
            assert!(protection("DB/schema.sql", &own).is_some(), "{pattern}");
            assert!(protection("dba/schema.sql", &own).is_none(), "{pattern}");
        }
    }

    #[test]
    fn attributes_that_hide_code_from_reviewers_are_counted() {
        assert_eq!(hidden_by(".gitattributes", "* text=auto\n*.png binary\n*.sh text eol=lf\n"), 0);
        assert_eq!(hidden_by("web/.gitattributes", "*.py binary\nsrc/** linguist-generated=true\n*.rs -diff\n"), 3);
        assert_eq!(hidden_by("notes.txt", "*.py binary\n"), 0);
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused() {
        for path in [
            "",
            "/etc/passwd",
            "../a",
            "a/../b",
            "a//b",
            "./a",
            "a\\b",
            "C:/a",
            ".git/config",
            ".GIT/config",
            "a/.git/hooks/x",
            "git~1/config",
            ".git./config",
            ".git /config",
            "a\nb",
            ".g\u{200c}it/config",
            "a/b.",
            "a/.git::$DATA/x",
            "CODEOW~1",
            ".GITHU~1/x.yml",
            "a\u{3164}.js",
        ] {
            assert!(path_fault(path).is_some(), "{path:?}");
        }
    }
}
