//! What whoever does a step says while it works, for the record of the run: seldom enough that nobody can fill it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::words;

/// Between two lines of one step; of what is said meanwhile the last word counts.
const PACE: Duration = Duration::from_secs(2);
/// Of one step.
const MOST_LINES: usize = 100;
/// Of one line, in characters.
const LONGEST: usize = 200;

/// Where to say how far a step is. Without anybody who listens it is said to nobody.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<watch::Sender<String>>);

/// What was said, as lines that may be kept. There are no more once every [`Progress`] is gone.
#[derive(Debug)]
pub struct Lines {
    said: watch::Receiver<String>,
    kept: usize,
    next: Instant,
}

impl Progress {
    pub fn channel() -> (Self, Lines) {
        let (say, said) = watch::channel(String::new());
        (Self(Some(say)), Lines { said, kept: 0, next: Instant::now() })
    }

    /// What a program outside says of itself: text of a stranger, made one short line that steers no terminal.
    pub(super) fn say(&self, percent: f64, message: &str) {
        if let Some(say) = &self.0 {
            let line = format!("{percent:.0} %, {}", words::line(message.trim(), LONGEST));
            say.send_replace(line.trim_end_matches(", ").to_owned());
        }
    }
}

impl Lines {
    /// The next line, at its time; none once nothing more can be said.
    pub async fn next(&mut self) -> Option<String> {
        if self.kept == MOST_LINES {
            // Heard to its end, and not kept.
            self.ended().await;
            return None;
        }
        self.said.changed().await.ok()?;
        tokio::select! {
            () = sleep_until(self.next) => {}
            // The step has ended: its last word need not wait.
            () = self.ended() => {}
        }
        (self.kept, self.next) = (self.kept + 1, Instant::now() + PACE);
        let line = self.said.borrow_and_update().clone();
        Some(if self.kept == MOST_LINES { format!("{line} (no more of this is kept)") } else { line })
    }

    async fn ended(&self) {
        let mut said = self.said.clone();
        while said.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is kept of a program that says something so often, for so long.
    async fn kept(every: Duration, times: u32) -> (Vec<String>, Duration) {
        let (progress, mut lines) = Progress::channel();
        let began = Instant::now();
        let talk = async move {
            for nth in 1..=times {
                progress.say(50.0, &nth.to_string());
                tokio::time::sleep(every).await;
            }
        };
        let hear = async {
            let mut kept = Vec::new();
            while let Some(line) = lines.next().await {
                kept.push(line);
            }
            kept
        };
        let ((), kept) = tokio::join!(talk, hear);
        (kept, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_word_now_and_then_is_kept_as_it_is_and_the_last_one_does_not_wait() {
        let (lines, took) = kept(Duration::from_secs(3), 3).await;
        assert_eq!((lines, took.as_secs()), (vec!["50 %, 1".into(), "50 %, 2".into(), "50 %, 3".into()], 9));
        let (lines, took) = kept(Duration::from_millis(1), 2).await;
        assert_eq!((lines, took.as_secs()), (vec!["50 %, 1".into(), "50 %, 2".into()], 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_leaves_a_line_in_two_seconds_and_a_hundred_in_all() {
        let (lines, _) = kept(Duration::from_millis(10), 1000).await;
        assert!((5..=7).contains(&lines.len()) && lines.last().unwrap() == "50 %, 1000", "{lines:?}");
        let (lines, _) = kept(Duration::from_secs(1), 1000).await;
        assert_eq!(lines.len(), MOST_LINES);
        assert!(lines.last().unwrap().ends_with("(no more of this is kept)"), "{lines:?}");
    }
}
