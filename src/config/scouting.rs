//! What a repository says about the scout's sweeps (`scout:` in its file).

use serde::Deserialize;
use serde_saphyr::Spanned;

/// The hard upper bounds: no repository can ask for more.
const MOST_A_DAY: u64 = 10;
const MOST_OPEN: u64 = 3;
const MOST_LABELS: usize = 10;
/// GitHub's limit for the name of a label.
const LONGEST_LABEL: usize = 50;

/// Whether, and how much, the scout takes up issues that nobody asked for one by one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scouting {
    /// Search this repository's issues for work, on a schedule.
    pub enabled: bool,
    /// Only issues that carry one of these labels count.
    pub labels: Vec<String>,
    /// Issues that are taken up in 24 hours, 1 to 10.
    pub daily: u64,
    /// With so many pull requests of the App open no further issue is taken up, 1 to 3.
    pub open: u64,
}

impl Default for Scouting {
    fn default() -> Self {
        Self { enabled: false, labels: Vec::new(), daily: 1, open: 3 }
    }
}

impl Scouting {
    /// # Errors
    /// The first value that cannot be used, in a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        for label in &self.labels {
            if let Some(why) = odd(label) {
                return Err(no_label(label, why));
            }
        }
        for (key, given, most) in [("daily", self.daily, MOST_A_DAY), ("open", self.open, MOST_OPEN)] {
            if let Some(why) = beyond(key, given, most) {
                return Err(why);
            }
        }
        self.labels_missing().or_else(|| self.too_many_labels()).map_or(Ok(()), Err)
    }

    fn labels_missing(&self) -> Option<String> {
        let missing = self.enabled && self.labels.is_empty();
        missing.then(|| "`scout`: `labels` is missing: name the labels that say an issue may be taken up".to_owned())
    }

    fn too_many_labels(&self) -> Option<String> {
        (self.labels.len() > MOST_LABELS).then(|| format!("`scout`: `labels` has more than {MOST_LABELS} entries"))
    }
}

fn no_label(label: &str, why: &str) -> String {
    format!("`scout`: no issue can carry the label `{}`: {why}", label.escape_debug())
}

fn beyond(key: &str, given: u64, most: u64) -> Option<String> {
    (!(1..=most).contains(&given)).then(|| format!("`scout`: `{key}`: {given} is not between 1 and {most}"))
}

/// Why GitHub has no label of that name.
pub(super) fn odd(label: &str) -> Option<&'static str> {
    if label.trim().is_empty() {
        Some("it is empty")
    } else if label.trim() != label {
        Some("it begins or ends with a space, which GitHub cuts off")
    } else if label.chars().any(|c| c.is_control() || c == ',') {
        Some("a label cannot hold commas or control characters")
    } else if label.chars().count() > LONGEST_LABEL {
        Some("a label has at most 50 characters")
    } else {
        None
    }
}

/// The values that are judged one by one, with their places.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Places {
    enabled: Option<Spanned<bool>>,
    labels: Vec<Spanned<String>>,
    daily: Option<Spanned<u64>>,
    open: Option<Spanned<u64>>,
}

/// A sentence about a place.
type Said = (serde_saphyr::Location, String);

impl Places {
    /// What keeps the file from being used, each with its place.
    pub(super) fn faults(&self, scouting: &Scouting) -> Vec<Said> {
        let mut faults: Vec<Said> = Vec::new();
        for label in &self.labels {
            faults.extend(odd(&label.value).map(|why| (label.referenced, no_label(&label.value, why))));
        }
        for (key, given, most) in [("daily", &self.daily, MOST_A_DAY), ("open", &self.open, MOST_OPEN)] {
            let Some(given) = given else { continue };
            faults.extend(beyond(key, given.value, most).map(|why| (given.referenced, why)));
        }
        let enabled = self.enabled.as_ref().map(|enabled| enabled.referenced);
        faults.extend(enabled.zip(scouting.labels_missing()));
        let last = self.labels.last().map(|label| label.referenced);
        faults.extend(last.zip(scouting.too_many_labels()));
        faults
    }

    /// What has no effect.
    pub(super) fn warnings(&self, scouting: &Scouting, contribute: bool, trigger: &str) -> Vec<Said> {
        let mut warnings: Vec<Said> = Vec::new();
        if let Some(enabled) = self.enabled.as_ref().filter(|_| scouting.enabled && !contribute) {
            let text = "`scout`: with `contribute: false` nothing is taken up".to_owned();
            warnings.push((enabled.referenced, text));
        }
        for label in self.labels.iter().filter(|label| label.value.to_lowercase() == trigger.to_lowercase()) {
            let text = format!("`scout`: the label `{trigger}` asks for work at once; sweeps leave its issues alone");
            warnings.push((label.referenced, text));
        }
        warnings
    }
}
