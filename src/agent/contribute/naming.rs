//! How things are named: the pattern that most names follow, and how a new one is written.

/// A way to write a name of several words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Casing {
    Snake,
    Kebab,
    Camel,
    Pascal,
    Upper,
}

impl Casing {
    const ALL: [Self; 5] = [Self::Snake, Self::Kebab, Self::Camel, Self::Pascal, Self::Upper];

    fn pattern(self) -> &'static str {
        match self {
            Self::Snake => "^_*[a-z][a-z0-9]*(_[a-z0-9]+)*_*$",
            Self::Kebab => "^[a-z][a-z0-9]*(-[a-z0-9]+)*$",
            Self::Camel => "^_?[a-z][a-zA-Z0-9]*$",
            Self::Pascal => "^[A-Z][a-zA-Z0-9]*$",
            Self::Upper => "^_*[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$",
        }
    }

    fn fits(self, name: &str) -> bool {
        let bare = name.trim_matches('_');
        let first = bare.chars().next().unwrap_or(' ');
        let all = |allowed: fn(char) -> bool| bare.chars().all(allowed);
        match self {
            Self::Snake => {
                first.is_ascii_lowercase() && all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            }
            Self::Kebab => {
                first.is_ascii_lowercase() && all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            }
            Self::Camel => first.is_ascii_lowercase() && all(|c| c.is_ascii_alphanumeric()),
            Self::Pascal => first.is_ascii_uppercase() && all(|c| c.is_ascii_alphanumeric()),
            Self::Upper => {
                first.is_ascii_uppercase() && all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            }
        }
    }

    /// The words, which are in lower case, as one name.
    pub(super) fn join(self, words: &[&str]) -> String {
        let capital = |word: &&str| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
        };
        match self {
            Self::Snake => words.join("_"),
            Self::Kebab => words.join("-"),
            Self::Upper => words.join("_").to_uppercase(),
            Self::Pascal => words.iter().map(capital).collect(),
            Self::Camel => {
                let rest: String = words.iter().skip(1).map(capital).collect();
                format!("{}{rest}", words.first().copied().unwrap_or_default())
            }
        }
    }
}

/// The casing that most of these names have; a name of one word in lower case has three. None for too few names.
pub(super) fn casing(names: &[&str]) -> Option<Casing> {
    const FEWEST: usize = 3;
    if names.len() < FEWEST {
        return None;
    }
    let fit = |casing: Casing| names.iter().filter(|name| casing.fits(name)).count();
    // The first of equals: what has no capitals is snake case until something says otherwise.
    let best = Casing::ALL.into_iter().rev().max_by_key(|casing| fit(*casing))?;
    (fit(best) * 10 >= names.len() * 6).then_some(best)
}

/// The regular expression that most of these names match; empty for too few names, or too many ways.
pub(super) fn pattern(names: &[&str]) -> String {
    casing(names).map_or_else(String::new, |casing| casing.pattern().to_owned())
}

/// How a test file is named: `test_*.py`, `*.spec.ts`; the bare extension where the name tells nothing.
pub(super) fn test_name(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.')?;
    let ends = ["_test", "_spec", ".test", ".spec", "-test", "-spec", "Test", "Tests", "Spec", "IT"];
    if stem.starts_with("test_") {
        return Some(format!("test_*.{extension}"));
    }
    Some(match ends.iter().find(|end| stem.ends_with(**end) && stem.len() > end.len()) {
        Some(end) => format!("*{end}.{extension}"),
        None => format!("*.{extension}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_matches_the_names_that_it_was_made_of() {
        for (names, want) in [
            (&["parse_it", "run", "to_text"][..], Some(Casing::Snake)),
            (&["parseIt", "run", "toText"], Some(Casing::Camel)),
            (&["Cart", "LineItem", "HTTPError"], Some(Casing::Pascal)),
            (&["MAX", "MIN_SIZE", "LIMIT"], Some(Casing::Upper)),
            (&["add-item", "cart", "line-item"], Some(Casing::Kebab)),
            (&["run", "go", "stop"], Some(Casing::Snake)),
            (&["run", "Go"], None),
            (&["a_b", "aB", "A", "B_C", "a-b"], None),
        ] {
            assert_eq!(casing(names), want, "{names:?}");
            if let Some(casing) = want {
                let regex = regex::Regex::new(casing.pattern()).unwrap();
                assert!(names.iter().all(|name| regex.is_match(name)), "{names:?}");
            }
        }
    }

    #[test]
    fn a_new_name_is_written_as_the_others_are() {
        let words = ["csv", "export", "job"];
        let all: Vec<String> = Casing::ALL.iter().map(|casing| casing.join(&words)).collect();
        assert_eq!(all, ["csv_export_job", "csv-export-job", "csvExportJob", "CsvExportJob", "CSV_EXPORT_JOB"]);
    }
}
