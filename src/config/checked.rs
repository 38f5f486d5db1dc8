//! A repository's file with every fault and doubt in it, each with its place: for a person who is writing one.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::linting;
use super::names::known_keys;
use super::repository::{Bar, RepoConfig};
use super::scouting::odd;
use super::words;
use crate::stdx::text::{did_you_mean, nearest};

/// A sentence about one place of the file; both count from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    pub line: u64,
    pub column: u64,
    pub text: String,
}

/// What there is to say about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remarks {
    /// With any of these the file is not used.
    pub faults: Vec<Remark>,
    /// It is used, and this in it has no effect.
    pub warnings: Vec<Remark>,
}

/// More faults than anybody reads.
const MOST: usize = 50;

/// The values that are judged one by one, with their places.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Places {
    ignore: Vec<Spanned<String>>,
    disable: Vec<Spanned<String>>,
    protected: Vec<Spanned<String>>,
    label: Option<Spanned<String>>,
    min_severity: Option<Spanned<String>>,
    commands: Option<super::checking::Places>,
    linters: Option<Spanned<serde::de::IgnoredAny>>,
    scout: super::scouting::Places,
    max_files: Option<Spanned<usize>>,
    max_lines: Option<Spanned<usize>>,
}

impl RepoConfig {
    /// Everything that is wrong with the file, or without effect in it. `rules` are the ids that there are.
    pub fn remarks(text: &str, rules: &[String]) -> Remarks {
        let mut remarks = Remarks::default();
        let mut lines: Vec<&str> = text.lines().collect();
        // Where one entry is at fault, it is taken out and the rest is read again: YAML's reader stops at the first.
        let config = loop {
            let text = lines.join("\n");
            let error = match Self::read(&text) {
                Ok(config) => break Some((config, text)),
                Err(error) => error,
            };
            let Some(at) = error.location() else {
                remarks.faults.push(Remark { line: 1, column: 1, text: error.what() });
                break None;
            };
            let (line, column) = (at.line(), at.column());
            let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
            let entry = entry_around(&lines, index);
            let key = entry.as_ref().and_then(|entry| key_of(lines[entry.start]));
            let unknown = key.filter(|key| !known_keys::<Self>().contains(key));
            remarks.faults.push(match (unknown, &entry) {
                (Some(key), Some(entry)) => {
                    let near = did_you_mean(nearest(key, known_keys::<Self>().iter().copied()));
                    let line = u64::try_from(entry.start + 1).unwrap_or(line);
                    Remark { line, column: 1, text: format!("there is no key `{key}`{near}") }
                }
                _ => {
                    let named = key.map_or_else(String::new, |key| format!("`{key}`: "));
                    Remark { line, column, text: format!("{named}{}", error.what()) }
                }
            });
            match entry {
                Some(entry) if remarks.faults.len() < MOST => lines[entry].fill(""),
                _ => break None,
            }
        };
        if let Some((config, text)) = config
            && let Ok(places) = serde_saphyr::from_str::<Option<Places>>(&text)
        {
            remarks.judge(&config, &places.unwrap_or_default(), rules);
        }
        remarks.faults.sort();
        remarks.warnings.sort();
        remarks
    }
}

impl Remarks {
    fn judge(&mut self, config: &RepoConfig, places: &Places, rules: &[String]) {
        for (key, globs) in [("ignore", &places.ignore), ("protected", &places.protected)] {
            for glob in globs {
                if let Err(error) = globset::Glob::new(&glob.value) {
                    self.faults.push(at(glob, format!("`{key}`: `{}` is not a glob: {}", glob.value, error.kind())));
                } else if glob.value.starts_with('/') || glob.value.starts_with("./") {
                    let text = format!(
                        "`{key}`: `{}` matches nothing: paths begin at the repository's root, without `/`",
                        glob.value
                    );
                    self.warnings.push(at(glob, text));
                }
            }
        }
        for rule in places.disable.iter().filter(|rule| !rules.contains(&rule.value)) {
            // Which rules another tool has, that tool alone knows.
            if linting::is_foreign(&rule.value) {
                continue;
            }
            let near = did_you_mean(nearest(&rule.value, rules.iter().map(String::as_str)));
            self.warnings.push(at(rule, format!("`disable`: there is no rule `{}`{near}", rule.value)));
        }
        if let Some(label) = &places.label {
            self.judge_label(label);
        }
        let fails_at = config.fail_on.severity();
        if let Some(place) = &places.min_severity
            && fails_at.is_some_and(|bar| bar < config.min_severity)
        {
            let text = format!(
                "`min_severity`: below {} nothing is reported, so `fail_on: {}` takes effect only from there",
                config.min_severity.name(),
                bar_name(config.fail_on)
            );
            self.warnings.push(at(place, text));
        }
        let remark =
            |(at, text): (serde_saphyr::Location, String)| Remark { line: at.line(), column: at.column(), text };
        let commands = places.commands.iter().flat_map(|commands| commands.faults(&config.commands));
        self.faults.extend(commands.map(remark));
        if let Some(place) = &places.linters {
            self.faults.extend(linting::faults(&config.linters).into_iter().map(|text| at(place, text)));
        }
        self.faults.extend(places.scout.faults(&config.scout).into_iter().map(remark));
        let idle = places.scout.warnings(&config.scout, config.contribute, &config.label);
        self.warnings.extend(idle.into_iter().map(remark));
        for (key, limit) in [("max_files", &places.max_files), ("max_lines", &places.max_lines)] {
            if let Some(place) = limit.as_ref().filter(|limit| limit.value == 0) {
                let text = format!("`{key}`: with 0 no change can be made; `contribute: false` says so plainly");
                self.warnings.push(at(place, text));
            }
        }
    }

    fn judge_label(&mut self, label: &Spanned<String>) {
        let name = label.value.as_str();
        if name.trim().is_empty() {
            return self.faults.push(at(label, "`label` is empty".to_owned()));
        }
        let Some(odd) = odd(name) else { return };
        self.warnings.push(at(label, format!("`label`: no issue can carry `{}`: {odd}", name.escape_debug())));
    }
}

fn bar_name(bar: Bar) -> &'static str {
    bar.severity().map_or("never", |severity| severity.name())
}

fn at<T>(place: &Spanned<T>, text: String) -> Remark {
    Remark { line: place.referenced.line(), column: place.referenced.column(), text }
}

/// The lines of the top-level entry that this line belongs to.
fn entry_around(lines: &[&str], index: usize) -> Option<std::ops::Range<usize>> {
    let index = index.min(lines.len().checked_sub(1)?);
    let start = (0..=index).rev().find(|at| key_of(lines[*at]).is_some())?;
    let end = (start + 1..lines.len()).find(|at| key_of(lines[*at]).is_some()).unwrap_or(lines.len());
    Some(start..end)
}

/// The key of a line that begins a top-level entry.
fn key_of(line: &str) -> Option<&str> {
    let starts = line.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '"' || c == '\'');
    let key = line.split_once(':').map(|(key, _)| key.trim().trim_matches(['"', '\'']));
    key.filter(|_| starts)
}

/// An error of the file's, before it is put into one sentence.
pub(super) enum ReadError {
    Size(String),
    Yaml(Box<serde_saphyr::Error>),
}

impl ReadError {
    fn location(&self) -> Option<serde_saphyr::Location> {
        match self {
            Self::Size(_) => None,
            Self::Yaml(error) => error.location(),
        }
    }

    /// What is wrong, without its place.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Size(text) => text.clone(),
            Self::Yaml(error) => words::of_yaml(error),
        }
    }

    /// What is wrong and where, in one sentence.
    pub(super) fn sentence(&self) -> String {
        match self.location() {
            Some(at) => format!("line {}, column {}: {}", at.line(), at.column(), self.what()),
            None => self.what(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, faults: &[&str], warnings: &[&str]) {
        let remarks = RepoConfig::remarks(text, &["eval-call".to_owned(), "dbg-macro".to_owned()]);
        let shown = |remarks: &[Remark]| -> Vec<String> {
            remarks.iter().map(|r| format!("{}:{} {}", r.line, r.column, r.text)).collect()
        };
        assert_eq!(
            (shown(&remarks.faults), shown(&remarks.warnings)),
            (
                faults.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(),
                warnings.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(),
            )
        );
        let parses = RepoConfig::parse(text).is_ok();
        assert_eq!(parses, faults.is_empty(), "both readers have to agree");
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        check("", &[], &[]);
        check("# nothing yet\n", &[], &[]);
        check("review: true\nlabel: robot\n", &[], &[]);
        check(
            "reviw: true\nfail_on: sometimes\nreview: true\nignore: ['a[']\n",
            &[
                "1:1 there is no key `reviw`; did you mean `review`?",
                "2:10 `fail_on`: `sometimes` is not one of low, medium, high, never",
                "4:10 `ignore`: `a[` is not a glob: unclosed character class; missing ']'",
            ],
            &[],
        );
    }

    #[test]
    fn what_has_no_effect_is_a_warning() {
        check(
            "disable: [eval-cal, dbg-macro]\nmax_files: 0\nlabel: ' x'\nignore:\n  - /vendor\n",
            &[],
            &[
                "1:11 `disable`: there is no rule `eval-cal`; did you mean `eval-call`?",
                "2:12 `max_files`: with 0 no change can be made; `contribute: false` says so plainly",
                "3:8 `label`: no issue can carry ` x`: it begins or ends with a space, which GitHub cuts off",
                "5:5 `ignore`: `/vendor` matches nothing: paths begin at the repository's root, without `/`",
            ],
        );
    }

    #[test]
    fn s2b_the_bounds_of_sweeps_are_hard() {
        check(
            "scout:\n  enabled: true\n  labels: [ok, 'a,b']\n  daily: 11\n  open: 4\n",
            &[
                "3:16 `scout`: no issue can carry the label `a,b`: a label cannot hold commas or control characters",
                "4:10 `scout`: `daily`: 11 is not between 1 and 10",
                "5:9 `scout`: `open`: 4 is not between 1 and 3",
            ],
            &[],
        );
        check(
            "scout:\n  enabled: true\n",
            &["2:12 `scout`: `labels` is missing: name the labels that say an issue may be taken up"],
            &[],
        );
        check("scout:\n  weekly: 1\n", &["2:3 `scout`: there is no key `weekly`"], &[]);
        check(
            "contribute: false\nscout:\n  enabled: true\n  labels: [swarm]\n",
            &[],
            &[
                "3:12 `scout`: with `contribute: false` nothing is taken up",
                "4:12 `scout`: the label `swarm` asks for work at once; sweeps leave its issues alone",
            ],
        );
    }

    #[test]
    fn whatever_the_file_holds_the_search_for_faults_ends() {
        for text in [
            "[",
            "review: [\n",
            "- a\n- b\n",
            "a: b: c\n",
            "\"",
            "x: &a [*a]\n",
            "{}",
            "review: {\n  x\n}\n",
            "label: ''\n",
        ] {
            let remarks = RepoConfig::remarks(text, &[]);
            assert_eq!(remarks.faults.is_empty(), RepoConfig::parse(text).is_ok(), "{text:?}: {remarks:?}");
        }
    }
}
