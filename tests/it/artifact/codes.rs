//! S1.21 to S1.25: each code as it goes on the wire, and whether trying again may help (A1.8).

use octoswarm::artifact::ErrorCode::{self, *};

#[track_caller]
fn check(codes: &[(ErrorCode, &str, bool)]) {
    for (code, word, recoverable) in codes {
        assert_eq!((code.as_str(), code.recoverable()), (*word, *recoverable));
        let error = code.error("coder", "m");
        let wire = serde_json::to_value(&error).unwrap();
        assert_eq!((wire["code"].as_str(), wire["recoverable"].as_bool()), (Some(*word), Some(*recoverable)));
        assert!(octoswarm::artifact::check("agent-error", &wire).unwrap().is_empty());
    }
}

#[test]
fn s1_21_planning() {
    check(&[
        (PlanParseError, "PLAN_001", false),
        (PlanInvalidDependencies, "PLAN_002", false),
        (PlanInsufficientContext, "PLAN_003", false),
    ]);
}

#[test]
fn s1_22_code() {
    check(&[
        (CodeSyntaxError, "CODE_001", true),
        (CodeInvalidLanguage, "CODE_002", false),
        (CodeModuleNotFound, "CODE_003", true),
        (CodeCircularDependency, "CODE_004", false),
    ]);
}

#[test]
fn s1_23_tests_and_reviews() {
    check(&[
        (TestGenerationFailed, "TEST_001", true),
        (TestExecutionFailed, "TEST_002", true),
        (TestCoverageInsufficient, "TEST_003", false),
        (ReviewAnalysisFailed, "REVIEW_001", true),
    ]);
}

#[test]
fn s1_24_the_api() {
    check(&[
        (ApiTimeout, "API_001", true),
        (ApiRateLimit, "API_002", true),
        (ApiAuthenticationFailed, "API_003", false),
    ]);
}

#[test]
fn s1_25_the_rest_and_git() {
    check(&[
        (InvalidInput, "ERR_001", false),
        (OutputValidationFailed, "ERR_002", true),
        (CacheError, "ERR_003", true),
        (GitFetch, "GIT_001", false),
        (GitPush, "GIT_002", false),
        (GitRefused, "GIT_003", false),
    ]);
    assert_eq!(ErrorCode::ALL.len(), 20, "every code has its row");
}
