//! What somebody probably meant.

use crate::domain::Verb;
use crate::stdx::text::edits;

/// Longer words are not compared.
const MAX_CHARS: usize = 40;

/// What other bots and people call our verbs.
const ALIASES: [(&str, Verb); 39] = [
    ("re-review", Verb::Review),
    ("rereview", Verb::Review),
    ("recheck", Verb::Review),
    ("check", Verb::Review),
    ("start-review", Verb::Review),
    ("scan", Verb::Review),
    ("autofix", Verb::Fix),
    ("fixes", Verb::Fix),
    ("fixup", Verb::Fix),
    ("repair", Verb::Fix),
    ("apply", Verb::Fix),
    ("solve", Verb::Fix),
    ("resolve", Verb::Fix),
    ("implement", Verb::Fix),
    ("contribute", Verb::Fix),
    ("retest", Verb::Test),
    ("verify", Verb::Test),
    ("ci", Verb::Test),
    ("info", Verb::Status),
    ("state", Verb::Status),
    ("progress", Verb::Status),
    ("stop", Verb::Cancel),
    ("abort", Verb::Cancel),
    ("end", Verb::Cancel),
    ("halt", Verb::Cancel),
    ("kill", Verb::Cancel),
    ("pause", Verb::Cancel),
    ("rerun", Verb::Retry),
    ("re-run", Verb::Retry),
    ("redo", Verb::Retry),
    ("again", Verb::Retry),
    ("restart", Verb::Retry),
    ("rebuild", Verb::Retry),
    ("try", Verb::Retry),
    ("docs", Verb::Help),
    ("doc", Verb::Help),
    ("usage", Verb::Help),
    ("commands", Verb::Help),
    ("man", Verb::Help),
];

/// The verb that was probably meant by a word that is none: another name of it, or a misspelling. For a suggestion only;
/// nothing is obeyed by it. Of several words the first counts.
pub fn nearest(word: &str) -> Option<Verb> {
    let first = word.split_whitespace().next()?;
    if first.chars().all(|c| c == '?') {
        return Some(Verb::Help);
    }
    let bare = first.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let letters = bare.chars().take(MAX_CHARS + 1).count();
    if !(1..=MAX_CHARS).contains(&letters) {
        return None;
    }
    let alias = ALIASES.iter().find(|(name, _)| *name == bare).map(|(_, verb)| *verb);
    alias.or_else(|| {
        let misspelt = Verb::ALL.into_iter().map(|verb| (edits(&bare, verb.name()), verb));
        // A third of the letters may be wrong. Of equals the first in the list of verbs.
        let near = |far: usize, verb: Verb| far <= (letters.min(verb.name().len()) / 3).clamp(1, 2);
        misspelt.filter(|(far, verb)| near(*far, *verb)).min_by_key(|(far, _)| *far).map(|(_, verb)| verb)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(want: Option<Verb>, words: &[&str]) {
        for word in words {
            assert_eq!(nearest(word), want, "{word}");
        }
    }

    #[test]
    fn misspellings_and_other_names_lead_to_the_verb() {
        check(
            Some(Verb::Review),
            &["review", "REVIEW", "reviw", "reveiw", "revew", "rview", "re-review", "reviews", "review!!"],
        );
        check(Some(Verb::Fix), &["fix", "fxi", "fx", "fixx", "autofix", "Contribute", "fix,"]);
        check(Some(Verb::Status), &["statsu", "staus", "stats", "state", "info"]);
        check(Some(Verb::Cancel), &["cancle", "cancell", "canel", "stop", "abort", "ABORT."]);
        check(Some(Verb::Retry), &["rerun", "redo", "rtery", "retrry", "re-run", "again"]);
        check(Some(Verb::Help), &["?", "??", "docs", "halp", "hlep", "--help", "-help", "/help", "help …"]);
    }

    #[test]
    fn words_that_are_far_lead_nowhere() {
        check(
            None,
            &[
                "",
                " ",
                "dance",
                "lgtm",
                "merge",
                "thanks",
                "please",
                "…",
                "-",
                "\u{442}\u{435}\u{441}\u{442}",
                "r",
                "re",
            ],
        );
        check(None, &[&"review".repeat(5000), &"\u{e9}".repeat(100_000)]);
    }

    #[test]
    fn every_alias_is_small_unique_and_no_verb() {
        for (at, (name, _)) in ALIASES.iter().enumerate() {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && name.parse::<Verb>().is_err(),
                "{name}"
            );
            assert!(ALIASES[..at].iter().all(|(other, _)| other != name), "{name} twice");
        }
    }
}
