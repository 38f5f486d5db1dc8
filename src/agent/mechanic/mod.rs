//! What an issue asks for, and doing it, without a model.
//!
//! A wrong change costs a maintainer more than none. So what is unclear, contradictory, a question or a wish is declined,
//! and each mechanic does either exactly what was asked for or nothing.

mod defect;
mod licence;
mod manifest;
mod measure;
mod mood;
mod paste;
mod phrase;
mod reading;
mod replace;
mod rule;
mod scope;
mod standard;
mod text;
mod told;
mod work;

pub use defect::Defect;
pub use licence::Licence;
pub use paste::Pasted;
pub use reading::understand;
pub use replace::{Replacement, Wish};
pub(super) use replace::{is_name, places};
pub use scope::Scope;
pub use standard::Standard;
pub use work::{Done, Work, carry_out};

use crate::analysis::{Engine, Language};
use crate::domain::RuleId;

/// The rule that knows a described defect, whatever languages a repository holds. Whether it finds the defect there is
/// another question.
pub fn rule_of(engine: &Engine, defect: &Defect) -> Option<RuleId> {
    rule::find(engine, defect, &Language::ALL.into()).ok().map(|found| found.rule)
}

/// What a text asks for, as far as it can be told mechanically.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Understanding {
    /// In the order of the text, each once.
    pub asks: Vec<Ask>,
    /// What seems to be asked for and is not clear enough to be done, as sentences.
    pub unclear: Vec<String>,
    /// Why nothing of it may be done: the text asks for nothing, or for two things that exclude each other.
    pub refusal: Option<String>,
}

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// A diff in the text is to be applied.
    Patch(Pasted),
    /// One text is to become another.
    Replace(Replacement),
    /// A defect is described; a rule may know it.
    Repair(Defect),
    /// A file that repositories commonly have is missing.
    Add(Standard),
}

impl Understanding {
    /// Whether there is anything to try.
    pub fn is_actionable(&self) -> bool {
        self.refusal.is_none() && !self.asks.is_empty()
    }
}

impl Ask {
    /// What is asked for, as a sentence for people, without a full stop.
    pub fn describe(&self) -> String {
        match self {
            Self::Patch(pasted) => pasted.describe(),
            Self::Replace(replacement) => replacement.describe(),
            Self::Repair(defect) => defect.describe(),
            Self::Add(standard) => standard.describe(),
        }
    }
}
