//! What the fixes of a rule did, in words: for one file, and for the commit.

use std::collections::BTreeSet;

use super::work::{Said, Step};
use crate::analysis::Engine;
use crate::domain::{Finding, RuleId};
use crate::stdx::text::count;

/// What a fix did to a file: the names that went and came, if that can be said in words; else the rule's message.
pub(super) fn described(old: &str, new: &str, rule: &RuleId, fixes: usize, findings: &[Finding]) -> String {
    /// More names make no sentence.
    const NAMES: usize = 3;
    let uses = |n: usize, (from, to): &(String, String)| {
        format!("{} of `{from}` {} now `{to}`", count(n, "use"), if n == 1 { "is" } else { "are" })
    };
    let pairs = swaps(old, new).unwrap_or_default();
    let mut each: Vec<(&(String, String), usize)> = Vec::new();
    for pair in &pairs {
        match each.iter_mut().find(|(known, _)| *known == pair) {
            Some((_, n)) => *n += 1,
            None => each.push((pair, 1)),
        }
    }
    match each.as_slice() {
        [(pair, _)] => uses(fixes, pair),
        // One line may hold two fixes; then the lines do not tell how often.
        several if (2..=NAMES).contains(&several.len()) && pairs.len() == fixes => {
            several.iter().map(|(pair, n)| uses(*n, pair)).collect::<Vec<_>>().join(", and ")
        }
        _ => {
            let message = findings.first().map(|f| f.message.trim_end_matches('.').to_owned()).unwrap_or_default();
            let places = count(fixes, "place");
            format!("{places} {} repaired: {} (`{rule}`)", if fixes == 1 { "is" } else { "are" }, lower_first(&message))
        }
    }
}

/// The name that became another, for every changed line; none if it is more than a name somewhere.
fn swaps(old: &str, new: &str) -> Option<Vec<(String, String)>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() != new.len() {
        return None;
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (a, b) in old.iter().zip(&new).filter(|(a, b)| a != b) {
        let start = a
            .char_indices()
            .zip(b.chars())
            .take_while(|((_, x), y)| x == y)
            .map(|((i, x), _)| i + x.len_utf8())
            .last()
            .unwrap_or(0);
        let rest = |text: &str| text.get(start..).unwrap_or_default().to_owned();
        let (ra, rb) = (rest(a), rest(b));
        let tail = ra
            .chars()
            .rev()
            .zip(rb.chars().rev())
            .take_while(|(x, y)| x == y)
            .map(|(x, _)| x.len_utf8())
            .sum::<usize>();
        let word = |text: &str, to: usize| -> Option<String> {
            let named = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            let from =
                text.get(..start)?.char_indices().rev().take_while(|(_, c)| named(*c)).last().map_or(start, |(i, _)| i);
            let end = to
                + text
                    .get(to..)?
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .map(char::len_utf8)
                    .sum::<usize>();
            let word = text.get(from..end)?;
            (!word.is_empty() && word.chars().all(named)).then(|| word.to_owned())
        };
        pairs.push((word(a, a.len() - tail)?, word(b, b.len() - tail)?));
    }
    Some(pairs)
}

pub(super) fn said(engine: &Engine, rule: &RuleId, step: &Step) -> Said {
    let pairs: BTreeSet<&str> = step.files.values().map(|file| file.description.as_str()).collect();
    let swap = pairs
        .iter()
        .next()
        .filter(|text| text.matches(" now `").count() == 1)
        .and_then(|text| text.split_once(" now `"))
        .map(|(from, to)| (from, to.trim_end_matches('`')));
    let same = swap.filter(|(_, to)| pairs.iter().all(|text| text.ends_with(&format!("now `{to}`"))));
    let subject = match same.and_then(|(from, to)| Some((from.split('`').nth(1)?, to))) {
        Some((from, to)) => format!("use {to} instead of {from}"),
        None => {
            /// Longer ones are cut in lists of commits.
            const SHORT: usize = 60;
            let known = engine.rule_files().iter().find(|known| known.id == *rule);
            let symptom = known.map(|rule| rule.message.trim_end_matches('.').replace('`', "")).unwrap_or_default();
            let whole = format!("repair {rule}: {}", lower_first(&symptom));
            if whole.chars().count() <= SHORT { whole } else { format!("repair {rule}") }
        }
    };
    Said { kind: "fix", subject }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let next_lower = text.chars().nth(1).is_some_and(char::is_lowercase);
    match chars.next() {
        Some(first) if next_lower || text.starts_with("A ") => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_fix_did_is_said_in_names_where_it_can_be() {
        let check = |old, new, want: Option<(&str, &str)>| {
            let got = swaps(old, new).and_then(|pairs| pairs.first().cloned());
            assert_eq!(got.as_ref().map(|(a, b)| (a.as_str(), b.as_str())), want);
        };
        check("x = yaml.load(a)\n", "x = yaml.safe_load(a)\n", Some(("yaml.load", "yaml.safe_load")));
        check("defer p.mu.Lock()", "defer p.mu.Unlock()", Some(("p.mu.Lock", "p.mu.Unlock")));
        check("a == \"b\"", "\"b\".equals(a)", None);
        check("a\nb", "a", None);
    }
}
