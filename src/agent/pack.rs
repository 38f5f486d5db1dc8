//! The fact pack: every planned file is read and scanned once, and all reviewers look at the same result.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

use super::{Context, Error, Reviewing, linters};
use crate::analysis::{self, Engine, Scan};
use crate::artifact::FilePlan;
use crate::domain::{FileDiff, Finding, Reading, RuleId};
use crate::workspace::{self, Side};

/// Files read at the same time; each is parsed on a blocking thread.
const AT_ONCE: usize = 4;

/// Filled by whoever asks first.
#[derive(Default)]
pub struct Pack(OnceCell<BTreeMap<String, ReadFile>>);

/// One file's new side, as far as it could be read.
pub struct ReadFile {
    pub text: Option<Arc<str>>,
    pub reading: Reading,
    /// The parser did not understand the file.
    pub syntax_errors: bool,
    /// The file is gone on the new side.
    pub absent: bool,
    /// All findings of our own rules in the file, wherever they stand.
    pub all: Vec<Finding>,
    /// Those that the change itself brought, and what other people's linters tell of it beside them.
    pub fresh: Vec<Finding>,
}

impl Pack {
    /// Reads what the plan names, or returns what was read before.
    ///
    /// # Errors
    /// When git cannot be read. A file that cannot be scanned is an entry with its reason, not an error.
    pub async fn read(&self, cx: &Context, plan: &FilePlan) -> Result<&BTreeMap<String, ReadFile>, Error> {
        self.0.get_or_try_init(|| read_all(cx, plan)).await
    }

    /// The text of a file that was read.
    pub fn text(&self, path: &str) -> Option<Arc<str>> {
        self.0.get()?.get(path)?.text.clone()
    }
}

async fn read_all(cx: &Context, plan: &FilePlan) -> Result<BTreeMap<String, ReadFile>, Error> {
    let planned = plan.read.iter().map(|file| (file.path.clone(), file.old_path.clone()));
    let watched = plan.watched.iter().map(|path| (path.clone(), None));
    let jobs: Vec<_> = planned.chain(watched).collect();
    stream::iter(jobs)
        .map(|(path, old_path)| async move {
            let file = read_one(cx, &path, old_path.as_deref()).await?;
            Ok::<_, Error>((path, file))
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

async fn read_one(cx: &Context, path: &str, old_path: Option<&str>) -> Result<ReadFile, Error> {
    let Reviewing { change, facts, .. } = cx.reviewing()?;
    if cx.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let nothing = |reading, absent| ReadFile {
        text: None,
        reading,
        syntax_errors: false,
        absent,
        all: Vec::new(),
        fresh: Vec::new(),
    };
    let text: Arc<str> = match change.new_side(path).await? {
        Side::Text(text) => text.into(),
        Side::Absent => return Ok(nothing(Reading::Whole, true)),
        Side::NotRead(reason) => return Ok(nothing(analysis::unread(path, reason), false)),
    };
    let mut scan = scan(&cx.engine, path, &text).await?;
    if is_markdown(path) {
        match change.new_paths().await {
            Ok(paths) => {
                let links = analysis::links::broken_links(path, &text, &|target| paths.contains(target));
                scan.findings.extend(links);
                scan.reading = Reading::Whole;
            }
            Err(workspace::Error::TooLarge { .. }) => {
                let reason = "the repository has too many files to check links against";
                scan.reading = Reading::Failed(reason.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    scan.findings.retain(|finding| !facts.settings.disable.contains(&finding.rule.0));
    let Some(diff) = facts.files.iter().find(|file| file.path == path) else {
        return Ok(file(text, scan, Vec::new()));
    };
    let old = match old_path.filter(|_| !scan.findings.is_empty()) {
        Some(old_path) => old_findings(cx, path, old_path).await?,
        None => HashMap::new(),
    };
    let mut fresh = fresh(diff, &text, &scan.findings, old);
    // What is left alone on purpose is left alone by whoever else reads it.
    if !matches!(scan.reading, Reading::LeftOut(_)) {
        let theirs = facts.linted.fresh.iter().filter(|one| one.finding.path == path);
        let news = theirs.filter(|one| !scan.findings.iter().any(|ours| linters::is_same(ours, one)));
        fresh.extend(news.map(|one| one.finding.clone()));
    }
    Ok(file(text, scan, fresh))
}

fn file(text: Arc<str>, scan: Scan, fresh: Vec<Finding>) -> ReadFile {
    let Scan { findings: all, reading, syntax_errors, .. } = scan;
    ReadFile { text: Some(text), reading, syntax_errors, absent: false, all, fresh }
}

fn is_markdown(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.ends_with(".md") || lower.ends_with(".markdown")
}

async fn scan(engine: &Arc<Engine>, path: &str, text: &Arc<str>) -> Result<Scan, Error> {
    let (engine, owned, text) = (Arc::clone(engine), path.to_owned(), Arc::clone(text));
    tokio::task::spawn_blocking(move || engine.scan(&owned, &text))
        .await
        .map_err(|_| Error::Scanner { path: path.to_owned() })
}

/// What a finding looks like, wherever it stands.
type Look = (RuleId, String);

/// How often each look stood on the old side. The old text is scanned under the new path, so that a rename brings nothing new.
async fn old_findings(cx: &Context, path: &str, old_path: &str) -> Result<HashMap<Look, usize>, Error> {
    let Side::Text(text) = cx.reviewing()?.change.old_side(old_path).await? else { return Ok(HashMap::new()) };
    let text: Arc<str> = text.into();
    let mut counts = HashMap::new();
    for finding in scan(&cx.engine, path, &text).await?.findings {
        *counts.entry(look(&text, &finding)).or_insert(0) += 1;
    }
    Ok(counts)
}

/// Findings on lines that the change wrote, less those that stood on the old side and merely moved.
fn fresh(diff: &FileDiff, text: &str, all: &[Finding], mut old: HashMap<Look, usize>) -> Vec<Finding> {
    let (on_added, untouched): (Vec<_>, Vec<_>) =
        all.iter().partition(|finding| diff.first_added(finding.span.start_line, finding.span.end_line).is_some());
    for finding in untouched {
        if let Some(count) = old.get_mut(&look(text, finding)) {
            *count = count.saturating_sub(1);
        }
    }
    on_added
        .into_iter()
        .filter(|finding| match old.get_mut(&look(text, finding)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .cloned()
        .collect()
}

fn look(text: &str, finding: &Finding) -> Look {
    let span = finding.span;
    let lines = text
        .lines()
        .skip(span.start_line.saturating_sub(1) as usize)
        .take((span.end_line.saturating_sub(span.start_line) + 1) as usize);
    (finding.rule.clone(), lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Category, ChangeKind, DiffLine, Fingerprint, Hunk, LineKind, Severity, Span};

    fn finding(line: u32) -> Finding {
        let rule = RuleId("eval-call".into());
        Finding {
            category: Category::Critical,
            severity: Severity::High,
            path: "a.py".into(),
            span: Span { start_line: line, start_column: 1, end_line: line, end_column: 8 },
            message: String::new(),
            why: String::new(),
            fix: None,
            reference: None,
            fingerprint: Fingerprint::new(&rule, "a.py", "eval(x)", line as usize),
            rule,
        }
    }

    /// A diff of one hunk whose listed new-side lines are added, the others context.
    fn diff(lines: u32, added: &[u32]) -> FileDiff {
        let lines_of = (1..=lines)
            .map(|n| DiffLine {
                kind: if added.contains(&n) { LineKind::Added } else { LineKind::Context },
                old: (!added.contains(&n)).then_some(n),
                new: Some(n),
                text: String::new(),
            })
            .collect();
        FileDiff {
            path: "a.py".into(),
            old_path: None,
            kind: ChangeKind::Modified,
            binary: false,
            hunks: vec![Hunk { old_start: 1, old_lines: lines, new_start: 1, new_lines: lines, lines: lines_of }],
        }
    }

    #[track_caller]
    fn check(text: &str, added: &[u32], old: usize, want: &[u32]) {
        let at: Vec<u32> = (1u32..).zip(text.lines()).filter(|(_, l)| l.contains("eval")).map(|(n, _)| n).collect();
        let all: Vec<_> = at.iter().map(|n| finding(*n)).collect();
        let old = HashMap::from([((RuleId("eval-call".into()), "eval(x)".to_owned()), old)]);
        let lines = u32::try_from(text.lines().count()).unwrap();
        let got: Vec<u32> = fresh(&diff(lines, added), text, &all, old).iter().map(|f| f.span.start_line).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn an_old_finding_on_an_untouched_line_is_not_ours() {
        check("eval(x)\npass\n", &[2], 1, &[]);
    }

    #[test]
    fn a_moved_line_brings_nothing_new() {
        check("pass\neval(x)\n", &[2], 1, &[]);
    }

    #[test]
    fn a_twin_above_the_old_one_is_new() {
        check("eval(x)\neval(x)\n", &[1], 1, &[1]);
    }

    #[test]
    fn a_new_file_is_all_new() {
        check("eval(x)\neval(x)\n", &[1, 2], 0, &[1, 2]);
    }
}
