//! Work that a process may have done by workers of its own: C code that reads strangers' bytes.
//!
//! Whether there are workers is one setting of the whole process, made once by whoever starts it and never taken back: what is asked
//! deep in pure code needs no handle for it, and no caller can forget one.
//!
//! Promise: where workers were installed nobody does it in place, also not when they fail. Whatever runs such code wants a [`Here`],
//! and only this file makes one.
//! Never: an answer that was not looked at.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::text::binary_size;

/// Proof that this process is one that may do such work: it has no workers, or is one.
pub struct Here(());

/// Those who do the work.
pub trait Workers: Send + Sync {
    /// Has one of them answer. `accept` looks at the answer, of which nothing is certain, and says whether it can be one; who gives
    /// another is not asked again.
    ///
    /// # Errors
    /// There is no answer.
    fn ask(&self, question: &[u8], accept: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Failure>;
}

/// Why there is no answer. It costs what was asked about, nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    Crashed,
    /// It wanted more bytes of memory than this.
    Memory(u64),
    Time,
    /// What it answered cannot be.
    Nonsense,
    /// No worker could be had.
    Unavailable(String),
}

impl Failure {
    /// What happened to whom, as `the parser crashed`.
    pub fn of(&self, who: &str) -> String {
        match self {
            Self::Crashed => format!("{who} crashed"),
            Self::Memory(most) => format!("{who} wanted more than {}", binary_size(*most)),
            Self::Time => format!("{who} took too long"),
            Self::Nonsense => format!("{who} answered what cannot be"),
            Self::Unavailable(why) => format!("{who} could not be started: {why}"),
        }
    }
}

static INSTALLED: OnceLock<Arc<dyn Workers>> = OnceLock::new();

/// From here on this process asks these workers. The first who says so decides; `false` for all others.
pub fn install(workers: Arc<dyn Workers>) -> bool {
    INSTALLED.set(workers).is_ok()
}

/// An answer to the question of that name: by a worker, if it `holds`, or by `here` where there are none.
///
/// # Errors
/// The workers have none.
pub fn ask<Q: Serialize, A: DeserializeOwned>(
    name: &str,
    question: &Q,
    here: impl FnOnce(&Here) -> A,
    holds: impl Fn(&A) -> bool,
) -> Result<A, Failure> {
    #[cfg(test)]
    if let Some(workers) = told::INSTEAD.with(|instead| instead.borrow().clone()) {
        return ask_of(&*workers, name, question, holds);
    }
    match INSTALLED.get() {
        Some(workers) => ask_of(&**workers, name, question, holds),
        None => Ok(here(&Here(()))),
    }
}

/// The same about a text that may be the end of who reads it. One that was is not read again for some minutes, whatever is asked about
/// it: a file that hangs its parser costs its time once, not once a question.
///
/// # Errors
/// As [`ask`].
pub fn ask_about<Q: Serialize, A: DeserializeOwned>(
    text: &str,
    name: &str,
    question: &Q,
    here: impl FnOnce(&Here) -> A,
    holds: impl Fn(&A) -> bool,
) -> Result<A, Failure> {
    if let Some(failure) = feared::known(text) {
        return Err(failure);
    }
    ask(name, question, here, holds).inspect_err(|failure| feared::note(text, failure))
}

/// Texts that were the end of a worker.
mod feared {
    use std::collections::BTreeMap;
    use std::sync::{LazyLock, Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use super::Failure;
    use crate::stdx::hash::sha256;

    /// A machine that was too busy is not for ever.
    const MEMORY: Duration = Duration::from_secs(10 * 60);
    /// Texts that are remembered; with one more all others are forgotten.
    const MAX_TEXTS: usize = 4096;

    type Texts = BTreeMap<String, (Failure, Instant)>;
    static TEXTS: LazyLock<Mutex<Texts>> = LazyLock::new(Mutex::default);

    pub(super) fn known(text: &str) -> Option<Failure> {
        let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        // As good as always: nothing has to be counted then.
        if texts.is_empty() {
            return None;
        }
        texts.get(&sha256(text.as_bytes())).filter(|(_, at)| at.elapsed() < MEMORY).map(|(failure, _)| failure.clone())
    }

    pub(super) fn note(text: &str, failure: &Failure) {
        if !matches!(failure, Failure::Time | Failure::Crashed | Failure::Memory(_)) {
            return;
        }
        let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if texts.len() >= MAX_TEXTS {
            texts.clear();
        }
        texts.insert(sha256(text.as_bytes()), (failure.clone(), Instant::now()));
    }
}

fn ask_of<Q: Serialize, A: DeserializeOwned>(
    workers: &dyn Workers,
    name: &str,
    question: &Q,
    holds: impl Fn(&A) -> bool,
) -> Result<A, Failure> {
    let question = written(name, question)?;
    let mut taken = None;
    workers.ask(&question, &mut |answer| {
        taken = serde_json::from_slice(answer).ok().filter(|answer| holds(answer));
        taken.is_some()
    })?;
    taken.ok_or(Failure::Nonsense)
}

/// A question as workers read it.
///
/// # Errors
/// It cannot be written as JSON.
pub fn written<Q: Serialize>(name: &str, question: &Q) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(&(name, question)).map_err(|error| Failure::Unavailable(error.to_string()))
}

/// Who answers questions within a worker: none for a name that it does not know, or a question that it cannot read.
pub type Answers = fn(&Here, &str, &RawValue) -> Option<Vec<u8>>;

/// A worker's answer to a question.
pub fn answer(question: &[u8], rooms: &[Answers]) -> Option<Vec<u8>> {
    let (name, question): (String, &RawValue) = serde_json::from_slice(question).ok()?;
    rooms.iter().find_map(|room| room(&Here(()), &name, question))
}

/// What a worker does before its walls go up, with the code that it will run behind them.
pub fn prepare<T>(work: impl FnOnce(&Here) -> T) -> T {
    work(&Here(()))
}

#[cfg(test)]
pub(crate) mod told {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::{Failure, Here, Workers};

    thread_local! {
        pub(super) static INSTEAD: RefCell<Option<Arc<dyn Workers>>> = const { RefCell::new(None) };
    }

    impl Here {
        pub(crate) fn in_a_test() -> Self {
            Self(())
        }
    }

    /// Gives the same answer to every question.
    struct Liar(Vec<u8>);

    impl Workers for Liar {
        fn ask(&self, _: &[u8], accept: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Failure> {
            if accept(&self.0) { Ok(()) } else { Err(Failure::Nonsense) }
        }
    }

    /// Runs something in a process whose workers give this answer to whatever is asked.
    pub(crate) fn with_answer<T>(answer: &str, run: impl FnOnce() -> T) -> T {
        INSTEAD.with(|instead| *instead.borrow_mut() = Some(Arc::new(Liar(answer.as_bytes().to_vec()))));
        let ran = run();
        INSTEAD.with(|instead| *instead.borrow_mut() = None);
        ran
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Failure, Workers, ask_about, told};

    #[derive(Default)]
    struct Slow(AtomicUsize);

    impl Workers for Slow {
        fn ask(&self, _: &[u8], _: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Failure> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Err(Failure::Time)
        }
    }

    #[test]
    fn a_text_that_hung_a_worker_is_not_asked_about_again() {
        let slow = Arc::new(Slow::default());
        told::INSTEAD.with(|instead| *instead.borrow_mut() = Some(Arc::<Slow>::clone(&slow)));
        let about = |text: &str, name: &str| ask_about(text, name, &0, |_| 0, |_| true);
        for name in ["scan", "names", "outline"] {
            assert_eq!(about("a text that hangs", name), Err(Failure::Time));
        }
        assert_eq!(about("another text", "scan"), Err(Failure::Time));
        told::INSTEAD.with(|instead| *instead.borrow_mut() = None);
        assert_eq!(slow.0.load(Ordering::SeqCst), 2);
    }
}
