//! What we answer people, as Markdown. Whatever they, their code or GitHub wrote is shown and does nothing else.

use super::{BUDGET, FOOTER, fit, tested, units};
use crate::artifact::Reply;
use crate::artifact::reply::{FixNote, Stalled, Status, StatusLine};
use crate::domain::{Conversation, RunId, Sha, Verb};
use crate::publish::neutral::{code, prose};
use crate::stdx::text::{count, truncate_chars};

/// A comment answers so many things; a person who asks for more in one comment is testing us.
pub(in crate::publish) const SECTIONS: usize = 20;
/// So many lines of a list are shown.
const LISTED: usize = 20;
/// So many fixes are shown.
const FIXES: usize = 50;
/// Characters of one sentence or list item that somebody else wrote.
const SENTENCE: usize = 1_000;
/// Characters of a name: a login, a word, a path.
const NAME: usize = 300;

/// The whole comment: a section for each reply, the run that spoke, the marker at the very end. `slug` is the App's.
pub(in crate::publish) fn reply(replies: &[Reply], slug: &str, run: Option<RunId>, marker: &str) -> String {
    let shown = &replies[..replies.len().min(SECTIONS)];
    let room = BUDGET / shown.len().max(1) - 10;
    let mut sections: Vec<String> = shown.iter().map(|reply| fit(&said(reply, slug), room)).collect();
    if replies.len() > shown.len() {
        sections.push(format!("({} more in one comment than are answered.)", replies.len() - shown.len()));
    }
    let mut body = sections.join("\n\n---\n\n");
    if let Some(run) = run {
        body.push_str(&format!("\n\n{FOOTER}run {run}</sub>"));
    }
    debug_assert!(units(&body) + units(marker) < 65_000);
    format!("{body}\n\n{marker}")
}

/// The blocks of one section.
fn said(reply: &Reply, slug: &str) -> Vec<String> {
    match reply {
        Reply::Help { on } => help(*on, slug),
        Reply::Unknown { word, nearest } => vec![unknown(word, *nearest)],
        Reply::Refused { login, what, has } => vec![format!(
            "**Not done.** {} takes write access to this repository; GitHub says that {} has {}. \
             Somebody who may write here can ask instead.",
            phrase(what),
            name(login),
            if matches!(has.trim(), "" | "none") { "none".to_owned() } else { format!("{} access", name(has)) },
        )],
        Reply::TooMany { minutes } => vec![format!(
            "**That was a lot of commands.** For the next {} no command in this conversation is obeyed. \
             Ask again after that.",
            count(usize::try_from(*minutes).unwrap_or(usize::MAX), "minute")
        )],
        Reply::NotHere { verb, why } => vec![format!("**{} does nothing here.** {}", command(*verb), sentence(why))],
        Reply::Status(status) => self::status(status),
        Reply::Cancelled { jobs: 0 } => vec!["Nothing was running here, so nothing was cancelled.".to_owned()],
        Reply::Cancelled { jobs } => {
            vec![format!("**Cancelled:** {}.", count(usize::try_from(*jobs).unwrap_or(usize::MAX), "job"))]
        }
        Reply::Retried { what } => vec![format!("**Trying again:** {}", sentence(what))],
        Reply::NothingToRetry => vec!["Nothing has failed here, so there is nothing to try again.".to_owned()],
        Reply::ReviewAsked { head, already: false } => vec![format!(
            "**A review of {} is on its way.** Its outcome will stand in the check run and, if there is something to \
             say, in a review.",
            commit(head)
        )],
        Reply::ReviewAsked { head, already: true } => {
            vec![format!("A review of {} is under way already.", commit(head))]
        }
        Reply::Working { what } => {
            vec![format!("**Working on it:** {}", sentence(what)), "The outcome will stand here.".to_owned()]
        }
        Reply::Fixed { commit, files, fixes, left } => fixed(commit, *files, fixes, *left),
        Reply::NothingToFix { why } => vec![format!("**Nothing was changed.** {}", sentence(why))],
        Reply::NameTheHead { head, named, fork } => vec![tested::name_the_head(head, named.as_deref(), *fork)],
        Reply::Tested { head, moved, checks } => tested::tested(head, moved.as_deref(), checks),
        Reply::PullOpened { number, adopted, draft } => {
            let found = if *adopted { " It was open already." } else { "" };
            let next = if *draft {
                "It is a draft, because not everything could be checked: it says what was and what was not. \
                 Please look at it before you mark it as ready."
            } else {
                "Please review it as you would anybody's."
            };
            vec![format!("**Pull request #{number} makes the change.**{found} {next}")]
        }
        Reply::AlreadyAddressed { number, author } => vec![format!(
            "**Nothing was changed:** #{number} by {} addresses this already. If it should not, close it and ask again.",
            name(author)
        )],
        Reply::CannotSolve { understood, plan, files, why } => cannot_solve(understood, plan, files, why),
        Reply::Declined { why } => vec![format!("**This is not worked on.** {}", sentence(why))],
        Reply::Escalated { stalled, days } => escalated(stalled, *days),
        Reply::Failed { what, why, hint } => {
            let mut blocks = vec![format!("**This did not work out:** {}", sentence(what)), sentence(why)];
            blocks.extend(hint.as_ref().map(|hint| format!("**What to do:** {}", sentence(hint))));
            blocks
        }
    }
}

/// What can be asked for where the asker is; of the other kind of conversation one line.
fn help(on: Conversation, slug: &str) -> Vec<String> {
    let mut table = vec!["| Comment | What happens |".to_owned(), "| --- | --- |".to_owned()];
    let here = Verb::ALL.into_iter().filter_map(|verb| Some((verb, verb.about(on)?)));
    table.extend(here.map(|(verb, about)| format!("| {} | {about} |", command(verb))));
    let (example, label, others) = match on {
        Conversation::Pull => (
            Verb::Review,
            None,
            format!("Issues have another {}, which makes the change that the issue asks for.", command(Verb::Fix)),
        ),
        Conversation::Issue => (
            Verb::Fix,
            Some(
                "Setting the label on this issue asks for the same as `/swarm fix`. The label is `swarm`, unless \
                 `.github/octoswarm.yml` on the default branch names another."
                    .to_owned(),
            ),
            format!(
                "Pull requests have {} and {}, too, and another {}, which commits mechanical fixes.",
                command(Verb::Review),
                command(Verb::Test),
                command(Verb::Fix)
            ),
        ),
    };
    let mut blocks = vec![
        "**What octoswarm does when asked here.** Write one of these in a comment, alone on its line:".to_owned(),
        table.join("\n"),
        format!("A mention does the same as the prefix: {}.", name(&format!("@{slug} {example}"))),
    ];
    blocks.extend(label);
    blocks.push(others);
    blocks.push(
        "Only people who may write to this repository can ask. Anything else in a comment is ignored, and so are \
         commands in quotes and in code, and whatever bots say."
            .to_owned(),
    );
    blocks
}

fn unknown(word: &str, nearest: Option<Verb>) -> String {
    let meant = nearest.map(|verb| format!(" Did you mean {}?", command(verb))).unwrap_or_default();
    let word = name(word);
    let subject = if word.is_empty() { "That".to_owned() } else { word };
    format!("{subject} is not a command.{meant} {} shows what can be asked for.", command(Verb::Help))
}

fn status(status: &Status) -> Vec<String> {
    let line = |line: &StatusLine| {
        let head = line.head.as_deref().map(|head| format!(" of {}", commit(head))).unwrap_or_default();
        let detail =
            if line.detail.trim().is_empty() { String::new() } else { format!(": {}", sentence(&line.detail)) };
        format!("**{}**{head} · {} · {}{detail}", prose(&line.what), prose(&line.state), prose(&line.at))
    };
    let lines = |lines: &[StatusLine]| items(&lines.iter().map(line).collect::<Vec<_>>(), LISTED);
    let mut blocks = Vec::new();
    if status.running.is_empty() {
        blocks.push("Nothing is running here.".to_owned());
    } else {
        blocks.push("Running:".to_owned());
        blocks.push(lines(&status.running));
    }
    if status.recent.is_empty() {
        blocks.push("Nothing was finished here yet.".to_owned());
    } else {
        blocks.push("Before:".to_owned());
        blocks.push(lines(&status.recent));
    }
    blocks
}

fn fixed(head: &str, files: usize, fixes: &[FixNote], left: usize) -> Vec<String> {
    let line = |fix: &FixNote| format!("{} · rule {}", name(&format!("{}:{}", fix.path, fix.line)), name(&fix.rule));
    let lines: Vec<_> = fixes.iter().map(line).collect();
    let left = match left {
        0 => "No finding with a mechanical fix is left.".to_owned(),
        1 => "One finding is left that has no mechanical fix, or whose fix could not be proved.".to_owned(),
        n => format!("{n} findings are left that have no mechanical fix, or whose fix could not be proved."),
    };
    vec![
        format!(
            "**{} in {}**, pushed as {}.",
            count_of(fixes.len(), "fix", "fixes"),
            count(files, "file"),
            commit(head)
        ),
        items(&lines, FIXES),
        left,
    ]
}

fn cannot_solve(understood: &[String], plan: &[String], files: &[String], why: &[String]) -> Vec<String> {
    let sentences = |all: &[String]| all.iter().map(|text| sentence(text)).collect::<Vec<_>>();
    let mut blocks = vec![
        "**Nothing was changed: this server has no mechanic that solves this issue.** \
                           What it made of the issue may help whoever does."
            .to_owned(),
    ];
    let mut part = |title: &str, list: String| {
        if !list.is_empty() {
            blocks.push(format!("**{title}**"));
            blocks.push(list);
        }
    };
    part("What was understood", items(&sentences(understood), LISTED));
    part("How it could be done", numbered(&sentences(plan), LISTED));
    part("Files it would touch", items(&files.iter().map(|path| name(path)).collect::<Vec<_>>(), LISTED));
    part("Why nothing was changed", items(&sentences(why), LISTED));
    part(
        "What would help",
        [
            "- Paste a patch into the issue's text, as `git diff` writes it, in a fenced block.",
            "- Or say there what to replace: \"replace `old text` by `new text` in `path/of/the/file`\".",
            "- Or name a rule whose fix is wanted, and the file. `octoswarm rules` lists the rules.",
            "- Then ask again with `/swarm fix`. The issue's title and text are read for that, not the comments.",
            "- For whoever runs this server: no language model is set up, so only such mechanical changes are made.",
        ]
        .join("\n"),
    );
    blocks
}

fn escalated(stalled: &[Stalled], days: u32) -> Vec<String> {
    let day = |time: &str| prose(time.split('T').next().unwrap_or(time));
    let line = |stalled: &Stalled| match stalled {
        Stalled::ChangesRequested { by, since } => format!("{} asked for changes on {}.", name(by), day(since)),
        Stalled::ChecksFailed { checks, since } => {
            let names: Vec<_> = checks.iter().take(LISTED).map(|check| name(check)).collect();
            format!("Checks have failed since {}: {}.", day(since), names.join(", "))
        }
    };
    let days = usize::try_from(days).unwrap_or(usize::MAX);
    vec![
        format!("**This pull request waits for a person.** For {} nobody has answered this:", count(days, "day")),
        items(&stalled.iter().map(line).collect::<Vec<_>>(), LISTED),
        "The mechanics that made the change cannot answer it. Push to the branch to finish it by hand, or close the pull \
         request; setting the label on the issue again begins anew. Nothing more is said here about it."
            .to_owned(),
    ]
}

/// `/swarm review`. In a code span, so that it is no command of ours or of another bot.
pub(super) fn command(verb: Verb) -> String {
    format!("`/swarm {verb}`")
}

/// A commit: the seven digits that people read, if it is one.
pub(super) fn commit(text: &str) -> String {
    match Sha::parse(text) {
        Some(sha) => code(sha.short()),
        None => name(text),
    }
}

/// A name that somebody else chose.
pub(super) fn name(text: &str) -> String {
    code(&truncate_chars(text.trim(), NAME))
}

pub(super) fn sentence(text: &str) -> String {
    prose(&truncate_chars(text.trim(), SENTENCE))
}

/// A command stays in one piece; anything else is a sentence.
fn phrase(text: &str) -> String {
    if text.trim_start().starts_with('/') { name(text) } else { sentence(text) }
}

fn count_of(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Lines that are Markdown already.
pub(super) fn items(lines: &[String], most: usize) -> String {
    list(lines, most, |_| "- ".to_owned())
}

fn numbered(lines: &[String], most: usize) -> String {
    list(lines, most, |nth| format!("{}. ", nth + 1))
}

fn list(lines: &[String], most: usize, sign: impl Fn(usize) -> String) -> String {
    let lines: Vec<_> = lines.iter().filter(|line| !line.is_empty()).collect();
    let mut shown: Vec<_> =
        lines.iter().take(most).enumerate().map(|(nth, line)| format!("{}{line}", sign(nth))).collect();
    if lines.len() > most {
        shown.push(format!("{}and {} more", sign(most), lines.len() - most));
    }
    shown.join("\n")
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
