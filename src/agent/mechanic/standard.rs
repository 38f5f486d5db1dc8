//! Files that repositories commonly have, made from what the repository itself tells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use globset::Glob;
use regex::Regex;

use super::Licence;
use super::text::{CODE_END, CODE_START};
use super::work::{Facts, File, Said, Step};

/// A file that is asked for because it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standard {
    /// The licences that the text names; one is needed.
    Licence(Vec<Licence>),
    Gitignore,
    Editorconfig,
    Gitattributes,
    Changelog,
    Contributing,
    Security,
}

impl Standard {
    /// Where it belongs.
    pub fn file(&self) -> &'static str {
        match self {
            Self::Licence(_) => "LICENSE",
            Self::Gitignore => ".gitignore",
            Self::Editorconfig => ".editorconfig",
            Self::Gitattributes => ".gitattributes",
            Self::Changelog => "CHANGELOG.md",
            Self::Contributing => "CONTRIBUTING.md",
            Self::Security => "SECURITY.md",
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Licence(named) if named.len() == 1 => {
                format!("Add a `LICENSE` file with the text of the {} licence", named[0].spdx())
            }
            Self::Licence(_) => "Add a `LICENSE` file".to_owned(),
            other => format!("Add a `{}` file", other.file()),
        }
    }

    /// The files that a sentence asks for. `everything` is the whole text: it may name the licence elsewhere.
    pub(super) fn asked_in(sentence: &str, is_title: bool, everything: &str) -> Vec<Self> {
        let text = sentence.replace([CODE_START, CODE_END], "");
        let polite = POLITE.is_match(&text);
        if !polite && (text.trim_end().ends_with('?') && !is_title || DOUBT.is_match(&text)) || NEGATED.is_match(&text)
        {
            return Vec::new();
        }
        let all = [
            Self::Licence(Vec::new()),
            Self::Gitignore,
            Self::Editorconfig,
            Self::Gitattributes,
            Self::Changelog,
            Self::Contributing,
            Self::Security,
        ];
        let asked = all.into_iter().filter(|standard| {
            let (wanted, missing) = standard.patterns();
            let fits = |pattern: &Regex| {
                pattern.find_iter(&text).any(|found| TAIL.is_match(text.get(found.end()..).unwrap_or_default()))
            };
            fits(wanted) || fits(missing)
        });
        asked
            .map(|standard| match standard {
                Self::Licence(_) => Self::Licence(licences(&text, everything)),
                other => other,
            })
            .collect()
    }

    fn patterns(&self) -> &'static (Regex, Regex) {
        static ALL: LazyLock<BTreeMap<&'static str, (Regex, Regex)>> = LazyLock::new(|| {
            [
                ("LICENSE", r"(?:open[ -]source )?licen[cs]e(?: file|\.(?:md|txt))?"),
                (".gitignore", r"(?:\.gitignore|git ?ignore)(?: file)?"),
                (".editorconfig", r"\.?editor ?config(?: file)?"),
                (".gitattributes", r"\.?git ?attributes(?: file)?"),
                ("CHANGELOG.md", r"change ?log(?:\.md)?(?: file)?"),
                ("CONTRIBUTING.md", r"contribut(?:ing|ion)(?:\.md|(?: guide(?:lines?)?)| file| docs?)"),
                ("SECURITY.md", r"security(?:\.md|(?: policy)| file)(?: file)?"),
            ]
            .into_iter()
            .map(|(file, name)| (file, (regex(&format!(r"(?i)\b{ASK}\s+{FILLER}{name}")), regex(&format!(r"(?i){name}\s+(?:(?:is|are|seems? to be|appears to be)\s+)?(?:still\s+|currently\s+)?(?:missing|absent|not there)\b")))))
            .collect()
        });
        static NONE: LazyLock<(Regex, Regex)> = LazyLock::new(|| (regex("$^"), regex("$^")));
        ALL.get(self.file()).unwrap_or(&NONE)
    }

    /// # Errors
    /// Why it is not made: it is there, or what it has to say is not known.
    pub(super) fn apply(&self, files: &[File], paths: &BTreeSet<String>, facts: &Facts) -> Result<Step, String> {
        if let Some(there) = self.existing(paths) {
            return Err(format!("`{there}` is there already"));
        }
        let mut step = Step::default();
        let (text, description) = match self {
            Self::Licence(named) => {
                let licence = licence(named, files, facts)?;
                let holder = holder(files, facts);
                let about = match licence {
                    Licence::Unlicense => "the Unlicense".to_owned(),
                    other => format!("the {} licence, held by {holder}", other.spdx()),
                };
                (licence.text(facts.year, &holder), format!("a new file with the text of {about}"))
            }
            Self::Gitignore => (
                gitignore(paths),
                "a new file, with what the languages and tools of this repository leave behind".to_owned(),
            ),
            Self::Editorconfig => {
                (super::measure::editorconfig(files, paths), "a new file, as measured from the sources".to_owned())
            }
            Self::Gitattributes => {
                if files.iter().any(|file| file.text.contains("\r\n")) {
                    return Err("some files have Windows line endings, which the usual content would change".to_owned());
                }
                (gitattributes(paths), "a new file: text files are normalised, binary ones left alone".to_owned())
            }
            Self::Changelog => (CHANGELOG.to_owned(), "a new file, ready for the next release".to_owned()),
            Self::Contributing => (
                contributing(files, paths, facts),
                "a new file, with the commands that this repository is built and tested with".to_owned(),
            ),
            Self::Security => {
                let (text, note) = security(facts);
                step.left.extend(note);
                (text, "a new file that says how to report a vulnerability".to_owned())
            }
        };
        step.write(self.file(), text, description);
        let kind = match self {
            Self::Gitignore | Self::Editorconfig | Self::Gitattributes => "chore",
            Self::Licence(_) | Self::Changelog | Self::Contributing | Self::Security => "docs",
        };
        step.said = Said { kind, subject: format!("add {}", self.file()) };
        Ok(step)
    }

    /// A file of that purpose, under whatever name.
    fn existing<'p>(&self, paths: &'p BTreeSet<String>) -> Option<&'p str> {
        let stems: &[&str] = match self {
            Self::Licence(_) => &["license", "licence", "copying", "unlicense", "license-mit", "license-apache"],
            Self::Gitignore => &[".gitignore"],
            Self::Editorconfig => &[".editorconfig"],
            Self::Gitattributes => &[".gitattributes"],
            Self::Changelog => &["changelog", "changes", "history", "news"],
            Self::Contributing => &["contributing"],
            Self::Security => &["security"],
        };
        let fits = |path: &&String| {
            let lower = path.to_lowercase();
            let name = lower.strip_prefix(".github/").or(lower.strip_prefix("docs/")).unwrap_or(&lower);
            let stem = [".md", ".txt", ".rst", ".adoc"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            stems.contains(&stem)
        };
        paths.iter().find(fits).map(String::as_str)
    }
}

/// What the text names; more than one is a choice that is not ours.
fn licences(sentence: &str, everything: &str) -> Vec<Licence> {
    let near = named_licences(sentence);
    if near.is_empty() { named_licences(everything) } else { near }
}

fn named_licences(text: &str) -> Vec<Licence> {
    let named = [
        (r"\bMIT\b", Licence::Mit),
        (r"\bISC\b", Licence::Isc),
        (r"(?i)\b(BSD[ -]2|2-clause BSD)", Licence::Bsd2),
        (r"(?i)\b(BSD[ -]3|3-clause BSD|new BSD|modified BSD)", Licence::Bsd3),
        (r"(?i)\b(0BSD|zero[ -]clause BSD)\b", Licence::Bsd0),
        (r"(?i)\bunlicense\b", Licence::Unlicense),
    ];
    named.into_iter().filter(|(pattern, _)| regex(pattern).is_match(text)).map(|(_, licence)| licence).collect()
}

fn licence(named: &[Licence], files: &[File], facts: &Facts) -> Result<Licence, String> {
    let declared: BTreeSet<String> = super::manifest::licences(files);
    let spdx: Vec<String> = declared.into_iter().collect();
    match (named, spdx.as_slice()) {
        ([one], []) => Ok(*one),
        ([one], declared) if declared.iter().all(|id| id.eq_ignore_ascii_case(one.spdx())) => Ok(*one),
        ([one], declared) => {
            Err(format!("the issue asks for {}, and the manifests say {}", one.spdx(), declared.join(", ")))
        }
        ([], [one]) if !facts.other_licence_named => {
            Licence::of_spdx(one).ok_or_else(|| format!("the manifests say {one}, whose text I do not carry"))
        }
        ([], _) => {
            Err("the issue names no licence whose text I carry (MIT, ISC, BSD-2-Clause, BSD-3-Clause, 0BSD, Unlicense)"
                .to_owned())
        }
        (_, _) => Err("the issue names several licences, and the choice is the maintainers'".to_owned()),
    }
}

fn holder(files: &[File], facts: &Facts) -> String {
    let authors = super::manifest::authors(files);
    match (authors.len(), facts.owner.as_str()) {
        (1..=3, _) => authors.join(", "),
        (_, "local" | "") => format!("The {} authors", facts.name),
        (_, owner) => owner.to_owned(),
    }
}

fn gitignore(paths: &BTreeSet<String>) -> String {
    let has = |names: &[&str]| paths.iter().any(|path| names.contains(&path.rsplit('/').next().unwrap_or_default()));
    let ext = |endings: &[&str]| paths.iter().any(|path| endings.iter().any(|end| path.ends_with(end)));
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    if has(&["Cargo.toml"]) {
        sections.push(("Rust", vec!["target/"]));
    }
    if ext(&[".py"]) {
        sections.push((
            "Python",
            vec![
                "__pycache__/",
                "*.py[cod]",
                ".venv/",
                "venv/",
                "*.egg-info/",
                "build/",
                "dist/",
                ".pytest_cache/",
                ".mypy_cache/",
                ".ruff_cache/",
                ".coverage",
            ],
        ));
    }
    if has(&["package.json"]) {
        sections.push(("Node", vec!["node_modules/", "dist/", "coverage/", "npm-debug.log*", "*.tsbuildinfo"]));
    }
    if has(&["go.mod"]) {
        sections.push(("Go", vec!["*.test", "*.out"]));
    }
    if ext(&[".java", ".kt"]) {
        sections.push(("Java", vec!["*.class", "target/", ".gradle/", "build/"]));
    }
    sections.push(("Editors and systems", vec![".idea/", ".vscode/", "*.swp", ".DS_Store", "Thumbs.db"]));
    sections.push(("Local settings", vec![".env"]));
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for (title, patterns) in sections {
        let kept: Vec<&str> =
            patterns.into_iter().filter(|pattern| !hides_tracked(pattern, paths) && seen.insert(*pattern)).collect();
        if !kept.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}# {title}\n{}\n", kept.join("\n")));
        }
    }
    text
}

/// A pattern that would hide what is in the repository is not for this repository.
fn hides_tracked(pattern: &str, paths: &BTreeSet<String>) -> bool {
    let globs: Vec<String> = match pattern.strip_suffix('/') {
        Some(folder) => vec![format!("{folder}/**"), format!("**/{folder}/**")],
        None => vec![pattern.to_owned(), format!("**/{pattern}")],
    };
    globs
        .iter()
        .filter_map(|glob| Glob::new(glob).ok())
        .map(|glob| glob.compile_matcher())
        .any(|glob| paths.iter().any(|path| glob.is_match(path)))
}

fn gitattributes(paths: &BTreeSet<String>) -> String {
    const BINARY: [&str; 14] =
        ["png", "jpg", "jpeg", "gif", "ico", "webp", "pdf", "zip", "gz", "woff", "woff2", "ttf", "jar", "mp4"];
    let mut text = String::from("* text=auto\n");
    for end in BINARY {
        if paths.iter().any(|path| path.ends_with(&format!(".{end}"))) {
            text.push_str(&format!("*.{end} binary\n"));
        }
    }
    text
}

const CHANGELOG: &str = "# Changelog

Every notable change to this project is written down in this file.

## Unreleased
";

fn contributing(files: &[File], paths: &BTreeSet<String>, facts: &Facts) -> String {
    let commands = super::manifest::commands(files, paths);
    let mut text = format!(
        "# Contributing to {}\n\nThank you for helping. Small pull requests that do one thing are the easiest to review; for\nlarger ones please open an issue first.\n",
        facts.name
    );
    if !commands.is_empty() {
        text.push_str("\n## Building and testing\n");
        for (folder, commands) in commands {
            let place =
                if folder.is_empty() { "At the root of the repository".to_owned() } else { format!("In `{folder}`") };
            text.push_str(&format!("\n{place}:\n\n```sh\n{}\n```\n", commands.join("\n")));
        }
    }
    text.push_str("\n## Pull requests\n\n1. Make a branch from the default branch.\n2. Add or change tests for what you change.\n3. Run the commands above, and say in the pull request why the change is needed.\n");
    if !text.contains("## Building") {
        text = text.replace("3. Run the commands above, and say", "3. Say");
    }
    text
}

fn security(facts: &Facts) -> (String, Option<String>) {
    let (how, note) = if facts.url.starts_with("https://") && facts.owner != "local" {
        (
            format!("Please report it privately, through <{}/security/advisories/new>.", facts.url.trim_end_matches('/')),
            Some("`SECURITY.md` points to private vulnerability reporting, which has to be enabled in the repository's settings".to_owned()),
        )
    } else {
        ("Please tell the maintainers privately.".to_owned(), None)
    };
    let text = format!(
        "# Security\n\nIf you have found a vulnerability, please do not open a public issue.\n\n{how} Say which version you use, what\nan attacker can do, and how to reproduce it.\n"
    );
    (text, note)
}

#[expect(clippy::expect_used, reason = "literal patterns; the tests of this room compile them")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is valid")
}

const ASK: &str = r"(?:add|create|include|provide|ship|write|put|have|needs?|want|wants|missing|lacks?|lacking|without|no|could use|should (?:have|contain)|(?:does|do)(?: not|n['’]t) (?:have|contain|include|ship)|set up|setup|introduce|commit)";
const FILLER: &str = r"(?:(?:an?|any|the|some|our|its|proper|basic|simple|standard|minimal|missing|sensible|explicit|valid|root|top-level|project|repo|repository|python|rust|node|go|java|following|file|files?:|MIT|ISC|0BSD|BSD(?:[ -][023](?:-clause)?)?|\d-clause BSD|unlicense|(?:\.?editorconfig|\.?gitignore|\.?gitattributes|licen[cs]e|change ?log(?:\.md)?|contributing(?:\.md)?|security(?:\.md)?)(?: file)?,?|and|&)\s+){0,8}";
/// What may follow the file's name: nothing that makes it about a part of the file, or about something else.
static TAIL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^[)]?(\s*$|\s*[.,;:!?)]|\s+(file|text)?\s*((to|in|into|at|for|of) (the |this |our |your |its )?(root|top|repo|repository|project|code ?base|tree)\b|(and|so|because|since|please|pls|as|but|yet|anywhere|at all|which|that|with the (usual|text|standard)|based on|under|or)\b))",
    )
});
static POLITE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(please|pls|(can|could|would|will) (you|we|someone|somebody|anyone|anybody))\b"));
static DOUBT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(how|why|if|when|whether|before|after|until|unless|once|users?|button|template|generat\w+|command|option|wizard|scaffold\w*|warn\w*|error|fails?|check(s|er)?|detect\w*|allow\w*|support\w*)\b",
    )
});
static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b((do not|don['’]?t|never|should not|shouldn['’]?t|must not|no need to|cannot|can['’]?t|not necessary to) (\w+ )?(add|create|include|need|want|put|ship|commit)|remove|delete|get rid)\b",
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let got: Vec<&str> = Standard::asked_in(text, false, text).iter().map(Standard::file).collect();
        assert_eq!(got, want, "{text}");
    }

    #[test]
    fn a_missing_file_is_asked_for_in_many_ways() {
        check("please add a license file", &["LICENSE"]);
        check("The repository has no LICENSE.", &["LICENSE"]);
        check("Could we have an MIT license for this project?", &["LICENSE"]);
        check("add an .editorconfig and a .gitignore", &[".gitignore", ".editorconfig"]);
        check("CONTRIBUTING.md is missing", &["CONTRIBUTING.md"]);
        check("We need a security policy.", &["SECURITY.md"]);
        check("There is no changelog, so nobody knows what is new", &["CHANGELOG.md"]);
    }

    #[test]
    fn a_part_of_a_file_is_not_the_file() {
        for text in [
            "add license headers to all files",
            "Please add a license badge",
            "add `.idea` to .gitignore",
            "the changelog is missing entries for 1.2",
            "missing changelog entry for the last release",
            "Do not add a license.",
            "How do I create a .gitignore?",
            "remove the .editorconfig",
            "The wizard should create a LICENSE when asked",
            "need a license key to start the app",
            "no license to kill",
        ] {
            check(text, &[]);
        }
    }
}
