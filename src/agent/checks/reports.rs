//! Where test runners leave reports in the XML of JUnit.

use globset::{GlobBuilder, GlobMatcher};

/// Below the folder of a project, by what it is built with. The first that anything fits counts: the same result often lies in
/// two places.
const OWN: &[(&str, &[&str])] = &[
    ("cargo", &["target/nextest/*/junit.xml"]),
    ("maven", &["**/target/{surefire,failsafe}-reports/**/TEST-*.xml"]),
    ("gradle", &["**/build/test-results/**/TEST-*.xml"]),
    ("ruby", &["spec/reports/*.xml", "test/reports/*.xml", "rspec.xml"]),
    ("composer", &["build/logs/junit.xml"]),
    ("dotnet", &["**/TestResults/**/*.xml"]),
    ("mix", &["_build/test/lib/*/*junit*.xml"]),
    ("native", &["build/**/*junit*.xml"]),
];
/// Wherever a runner was told to write one.
const ANY: &[&str] =
    &["junit.xml", "reports/junit/**/*.xml", "{test-results,test-reports}/**/*.xml", "{reports,build}/*junit*.xml"];

/// The places to look at, in that order, as patterns of paths below the project's folder. A line of the repository's own may call
/// any runner.
pub fn reports(ecosystem: &str) -> Vec<GlobMatcher> {
    let own = OWN.iter().filter(|(name, _)| ecosystem == "repository" || *name == ecosystem);
    let all = own.flat_map(|(_, globs)| globs.iter()).chain(ANY);
    all.filter_map(|glob| Some(GlobBuilder::new(glob).literal_separator(true).build().ok()?.compile_matcher()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        let all = OWN.iter().map(|(_, globs)| globs.len()).sum::<usize>() + ANY.len();
        assert_eq!(reports("repository").len(), all);
    }

    #[test]
    fn a_report_is_found_where_its_runner_leaves_it() {
        let place = |ecosystem: &str, path: &str| reports(ecosystem).iter().position(|glob| glob.is_match(path));
        assert_eq!(place("maven", "target/surefire-reports/TEST-a.B.xml"), Some(0));
        assert_eq!(place("maven", "core/target/failsafe-reports/TEST-a.B.xml"), Some(0));
        assert_eq!(place("maven", "target/surefire-reports/TESTS-TestSuites.xml"), None);
        assert_eq!(place("gradle", "app/build/test-results/test/TEST-a.xml"), Some(0));
        assert_eq!(place("node", "junit.xml"), Some(0));
        assert!(place("node", "test-results/unit/a.xml").is_some() && place("python", "reports/junit/a.xml").is_some());
        for (ecosystem, path) in
            [("node", "src/junit.xml"), ("node", "target/surefire-reports/TEST-a.xml"), ("go", "a.xml")]
        {
            assert_eq!(place(ecosystem, path), None, "{path}");
        }
    }
}
