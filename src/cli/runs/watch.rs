//! `octoswarm runs watch`: what goes on, as it goes on. The rows are looked at four times a second; nothing is asked of the
//! server.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;

use super::args::RunsWatch;
use super::{failure, state, words};
use crate::app;
use crate::app::runs::{Archive, JobState, Run, RunFilter, RunState, Step, StepState};
use crate::cli::interrupt::Interrupts;
use crate::cli::{EXIT_UNFINISHED, Exit, Failure, report};
use crate::domain::{Millis, RunId};
use crate::stdx::text::visible_line;

const PAUSE: Duration = Duration::from_millis(250);
/// Runs that may begin between two looks.
const LATEST: usize = 50;
/// Lines of progress that are read at once.
const LINES: usize = 500;

pub async fn watch(args: RunsWatch) -> Exit {
    let (state, _) = state(args.place)?;
    let mut archive = Archive::open(&state).await.map_err(failure)?;
    let only = match &args.run {
        Some(typed) => Some(archive.find(typed).await.map_err(failure)?.id),
        None => None,
    };
    let mut interrupts = Interrupts::catch()?;
    let mut watched = Watched { only, since: archive.now(), runs: BTreeMap::new() };
    let mut view = View { terminal: std::io::stdout().is_terminal(), drawn: 0 };
    let mut waiting = false;
    loop {
        let (lines, block) = watched.look(&archive).await.map_err(failure)?;
        view.show(&lines, &block);
        if watched.is_over() {
            let done = watched.runs.values().all(|it| it.state == Some(RunState::Finished));
            watched.tell_of_attempts(&archive).await.map_err(failure)?;
            return Ok(if done { ExitCode::SUCCESS } else { ExitCode::from(EXIT_UNFINISHED) });
        }
        if !archive.is_served().map_err(failure)? {
            return Err(Failure::Failed(unserved(&watched)));
        }
        if watched.runs.is_empty() && !waiting {
            report::note("nothing runs now: waiting for the next run; Ctrl-C ends the waiting");
            waiting = true;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            told = interrupts.next() => {
                let goes_on = if watched.runs.is_empty() { "" } else { "; what runs goes on" };
                report::note(&format!("stopped watching{goes_on}"));
                return Ok(told.exit());
            }
        }
        archive.refresh().await.map_err(failure)?;
    }
}

fn unserved(watched: &Watched) -> anyhow::Error {
    match watched.runs.iter().find(|(_, it)| it.goes_on()) {
        Some((id, _)) => {
            anyhow!("run {id} was going on when its server ended: the next one that starts ends it, and begins anew")
        }
        None => anyhow!("no server works on this state, so nothing will run"),
    }
}

struct Watched {
    only: Option<RunId>,
    since: Millis,
    runs: BTreeMap<RunId, Followed>,
}

/// What was told of a run.
#[derive(Default)]
struct Followed {
    seq: i64,
    /// By the id of the step.
    steps: BTreeMap<i64, StepState>,
    state: Option<RunState>,
    job: Option<crate::domain::JobId>,
}

impl Followed {
    fn goes_on(&self) -> bool {
        self.state.is_none_or(|state| state == RunState::Running)
    }
}

impl Watched {
    fn is_over(&self) -> bool {
        !self.runs.is_empty() && !self.runs.values().any(Followed::goes_on)
    }

    /// What is new, as lines; and how what goes on stands, as a block.
    async fn look(&mut self, archive: &Archive) -> Result<(Vec<String>, Vec<String>), app::Error> {
        let (mut lines, mut block) = (Vec::new(), Vec::new());
        for run in self.wanted(archive).await? {
            // After the run's own row: once that has ended, nothing is added to these.
            let steps = archive.steps(run.id).await?;
            let followed = self.runs.entry(run.id).or_default();
            let progress = archive.progress(run.id, followed.seq, LINES).await?;
            let (id, first) = (words::short(&run), followed.state.is_none());
            if first {
                lines.push(format!("{id}  {} of {}: {}", run.kind, words::about(&run), RunState::Running));
            }
            // Steps and lines of progress come in the order of their times.
            let mut news: Vec<(Millis, String)> = Vec::new();
            for step in &steps {
                if followed.steps.insert(step.id.0, step.state) != Some(step.state) {
                    news.push((step.finished_at.unwrap_or(step.started_at), format!("{id}  {}", step_line(step))));
                }
            }
            for line in progress {
                followed.seq = line.seq;
                news.push((line.at, format!("{id}  | {}", visible_line(&line.text))));
            }
            news.sort_by_key(|(at, _)| *at);
            lines.extend(news.into_iter().map(|(_, line)| line));
            (followed.state, followed.job) = (Some(run.state), run.job);
            match run.finished_at {
                Some(at) => lines.push(ended(&id, &run, at)),
                None => block.extend(standing(&id, &run, &steps, archive.now())),
            }
        }
        Ok((lines, block))
    }

    /// Those that are followed and have not ended, and those that began meanwhile.
    async fn wanted(&self, archive: &Archive) -> Result<Vec<Run>, app::Error> {
        let ended = |id: &RunId| self.runs.get(id).is_some_and(|it| !it.goes_on());
        let mut wanted = match self.only {
            Some(id) => archive.run(id).await?.into_iter().collect(),
            None => {
                let mut wanted = archive.running().await?;
                let began = archive.list(&RunFilter::default(), LATEST).await?.into_iter().rev();
                wanted.extend(began.filter(|run| run.started_at >= self.since || self.runs.contains_key(&run.id)));
                wanted
            }
        };
        wanted.retain(|run| !ended(&run.id));
        // Twice the same run: the row that was read later.
        wanted.reverse();
        let mut seen = std::collections::BTreeSet::new();
        wanted.retain(|run| seen.insert(run.id));
        wanted.reverse();
        Ok(wanted)
    }

    /// A run that failed is not always the end of its job.
    async fn tell_of_attempts(&self, archive: &Archive) -> Result<(), app::Error> {
        for followed in self.runs.values().filter(|it| it.state != Some(RunState::Finished)) {
            let Some(id) = followed.job else { continue };
            let waits = |state| matches!(state, JobState::Available | JobState::Scheduled | JobState::Retryable);
            if archive.job(id).await?.is_some_and(|job| waits(job.state) && job.cancel_requested_at.is_none()) {
                report::note(&format!("job {id} waits for another attempt, which is another run"));
            }
        }
        Ok(())
    }
}

fn step_line(step: &Step) -> String {
    let took = words::step_took(step);
    let took = if took.is_empty() { took } else { format!(", {took}") };
    let why = step.detail.as_deref().map_or_else(String::new, |why| format!(": {}", visible_line(why)));
    format!("{} {}{took}{why}", visible_line(&step.name), words::step_state(step))
}

fn ended(id: &str, run: &Run, at: Millis) -> String {
    let outcome = words::outcome(run);
    let outcome = if outcome.is_empty() { outcome } else { format!(": {outcome}") };
    format!("{id}  {} after {}{outcome}", run.state, words::took(run.started_at, at))
}

/// Two lines for a run that goes on.
fn standing(id: &str, run: &Run, steps: &[Step], now: Millis) -> [String; 2] {
    let head = format!("{id}  {} of {}, {}", run.kind, words::about(run), words::took(run.started_at, now));
    let steps: Vec<String> =
        steps.iter().map(|step| format!("{} {}", visible_line(&step.name), words::step_state(step))).collect();
    let steps = if steps.is_empty() { "no agent has begun".to_owned() } else { steps.join(" · ") };
    [head, format!("  {steps}")]
}

/// On a terminal the block stands below the lines and is drawn again in its place; elsewhere there are lines alone.
struct View {
    terminal: bool,
    /// Lines of the block that stands there.
    drawn: usize,
}

impl View {
    fn show(&mut self, lines: &[String], block: &[String]) {
        if self.terminal {
            report::steer(&frame(self.drawn, lines, block));
            self.drawn = block.len();
        } else {
            lines.iter().for_each(|line| report::line(line));
        }
    }
}

/// What draws the next picture over the last one. Lines of the block are cut by the terminal instead of wrapped, so that as
/// many are taken back as were drawn.
fn frame(drawn: usize, lines: &[String], block: &[String]) -> String {
    let mut text = if drawn > 0 { format!("\u{1b}[{drawn}A\u{1b}[0J") } else { String::new() };
    lines.iter().for_each(|line| text.push_str(&format!("{}\n", line.trim_end())));
    if !block.is_empty() {
        text.push_str("\u{1b}[?7l");
        block.iter().for_each(|line| text.push_str(&format!("{}\n", line.trim_end())));
        text.push_str("\u{1b}[?7h");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn a_picture_replaces_the_last_one_and_lines_stay_above_it() {
        let text = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(frame(0, &text(&["a  "]), &[]), "a\n");
        assert_eq!(frame(0, &text(&["a"]), &text(&["x ", "y"])), "a\n\u{1b}[?7lx\ny\n\u{1b}[?7h");
        assert_eq!(frame(2, &text(&["b"]), &text(&["z"])), "\u{1b}[2A\u{1b}[0Jb\n\u{1b}[?7lz\n\u{1b}[?7h");
        assert_eq!(frame(1, &[], &[]), "\u{1b}[1A\u{1b}[0J", "nothing goes on any more");
    }
}
