//! How long to wait after a failure: doubling, capped, and drawn anew each time so that failures do not march in step.

use std::time::Duration;

use rand::Rng;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// Upper bound of the first wait.
    pub base: Duration,
    /// Upper bound of every wait.
    pub max: Duration,
    /// Draw evenly between nothing and the bound; without it the bound itself is the wait.
    pub jitter: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(5), max: Duration::from_secs(30 * 60), jitter: true }
    }
}

impl Backoff {
    /// The wait after the attempt of that number, counted from 1.
    pub fn after(&self, attempt: u32) -> Duration {
        let bound = self.bound(attempt);
        if self.jitter { bound.mul_f64(rand::rng().random::<f64>()) } else { bound }
    }

    fn bound(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap() {
        let backoff = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(10), jitter: false };
        let waits: Vec<u64> = [1, 2, 3, 4, 5, 60, u32::MAX].map(|n| backoff.after(n).as_secs()).to_vec();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10, 10]);
    }

    #[test]
    fn jitter_draws_from_the_whole_range() {
        let backoff = Backoff { base: Duration::from_secs(8), max: Duration::from_secs(8), jitter: true };
        let waits: Vec<Duration> = (0..200).map(|_| backoff.after(1)).collect();
        assert!(waits.iter().all(|wait| *wait <= backoff.max));
        assert!(waits.iter().any(|wait| *wait < Duration::from_secs(2)), "never short");
        assert!(waits.iter().any(|wait| *wait > Duration::from_secs(6)), "never long");
    }
}
