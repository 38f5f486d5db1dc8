//! What a repository says about other people's linters (`linters:` in its file).

use crate::domain::{LINTERS, Linters};
use crate::stdx::text::{did_you_mean, nearest};

/// # Errors
/// The first name that is none, in a sentence.
pub(super) fn check(linters: &Linters) -> Result<(), String> {
    faults(linters).into_iter().next().map_or(Ok(()), Err)
}

/// What keeps the file from being used.
pub(super) fn faults(linters: &Linters) -> Vec<String> {
    let Linters::Named(names) = linters else { return Vec::new() };
    let unknown = names.iter().filter(|name| !LINTERS.contains(&name.as_str()));
    let fault = |name: &String| {
        let near = did_you_mean(nearest(name, LINTERS.into_iter().chain(["auto", "off"])));
        let known = LINTERS.join(", ");
        match near.as_str() {
            "" => format!("`linters`: there is no linter `{}`: known are {known}", name.escape_debug()),
            near => format!("`linters`: there is no linter `{}`{near}", name.escape_debug()),
        }
    };
    unknown.map(fault).collect()
}

/// Whether an id is one of another tool's rules: `ruff/F401`.
pub(super) fn is_foreign(rule: &str) -> bool {
    rule.split_once('/').is_some_and(|(tool, rule)| !tool.is_empty() && !rule.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RepoConfig;

    #[test]
    fn a_word_or_a_list_of_known_names_is_taken() {
        let read = |text: &str| RepoConfig::parse(text).map(|config| config.linters);
        assert_eq!(read(""), Ok(Linters::Auto));
        assert_eq!(read("linters: off\n"), Ok(Linters::Off));
        assert_eq!(read("linters: [ruff, eslint]\n"), Ok(Linters::Named(vec!["ruff".into(), "eslint".into()])));
        assert_eq!(read("linters: shellcheck\n"), Ok(Linters::Named(vec!["shellcheck".into()])));
    }

    #[test]
    fn a_wrong_name_is_a_fault_with_its_place_and_the_nearest_right_one() {
        let remarks =
            RepoConfig::remarks("review: true\nlinters: [ruf, eslint]\ndisable: [ruff/F401, nonsense]\n", &[]);
        assert_eq!(remarks.faults.len(), 1);
        let fault = &remarks.faults[0];
        assert_eq!(fault.line, 2);
        assert!(fault.text.starts_with("`linters`: there is no linter `ruf`; did you mean `ruff`?"), "{}", fault.text);
        assert_eq!(remarks.warnings.len(), 1, "a rule of another tool is not ours to know");
        assert!(RepoConfig::parse("linters: [ruf]\n").is_err());
        assert!(RepoConfig::parse("linters: {ruff: true}\n").unwrap_err().contains("off, auto or a list"));
    }
}
