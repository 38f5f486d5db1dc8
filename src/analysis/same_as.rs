//! Which rules of other tools say what one of ours says, so that a defect is told once.

/// Our rule, and those of others. A rule of others whose last part is missing stands for all of that part: `errcheck`.
pub const SAME_AS: &[(&str, &[&str])] = &[
    ("address-from-request", &["golangci-lint/gosec/G107"]),
    ("archive-extracted-anywhere", &["ruff/S202", "golangci-lint/gosec/G305"]),
    ("assert-on-tuple", &["ruff/F631"]),
    ("assignment-in-condition", &["eslint/no-cond-assign"]),
    ("async-promise-executor", &["eslint/no-async-promise-executor"]),
    ("bare-except", &["ruff/E722"]),
    (
        "blocking-call-in-async",
        &[
            "ruff/ASYNC210",
            "ruff/ASYNC212",
            "ruff/ASYNC220",
            "ruff/ASYNC221",
            "ruff/ASYNC222",
            "ruff/ASYNC230",
            "ruff/ASYNC251",
        ],
    ),
    ("boxed-constructor", &["eslint/no-new-wrappers"]),
    (
        "broken-cipher",
        &["ruff/S304", "ruff/S305", "golangci-lint/gosec/G405", "golangci-lint/gosec/G502", "golangci-lint/gosec/G503"],
    ),
    ("closed-before-error-check", &["golangci-lint/staticcheck/SA5001"]),
    ("collect-to-count", &["clippy/needless_collect"]),
    (
        "command-built-from-text",
        &[
            "ruff/S602",
            "ruff/S604",
            "ruff/S605",
            "ruff/S609",
            "eslint/security/detect-child-process",
            "golangci-lint/gosec/G204",
        ],
    ),
    ("compare-literal-by-identity", &["ruff/F632"]),
    ("compare-to-none", &["ruff/E711"]),
    (
        "compare-with-boolean",
        &[
            "ruff/E712",
            "clippy/bool_comparison",
            "golangci-lint/staticcheck/S1002",
            "golangci-lint/gosimple/S1002",
            "golangci-lint/revive/bool-literal-in-expr",
        ],
    ),
    (
        "comparison-with-itself",
        &["ruff/PLR0124", "eslint/no-self-compare", "clippy/eq_op", "golangci-lint/staticcheck/SA4000"],
    ),
    (
        "comparison-with-nan",
        &[
            "ruff/PLW0177",
            "eslint/use-isnan",
            "clippy/cmp_nan",
            "clippy/invalid_nan_comparisons",
            "golangci-lint/staticcheck/SA4012",
        ],
    ),
    ("comparison-with-new-object", &["eslint/no-constant-binary-expression"]),
    ("condition-asked-twice", &["eslint/no-dupe-else-if", "clippy/ifs_same_cond", "golangci-lint/staticcheck/SA4014"]),
    ("datetime-utcnow", &["ruff/DTZ003"]),
    ("dbg-macro", &["clippy/dbg_macro"]),
    ("debug-output-left", &["ruff/T201", "ruff/T203", "eslint/no-console", "clippy/print_stdout"]),
    ("debug-server", &["ruff/S201"]),
    ("debugger-left", &["ruff/T100", "eslint/no-debugger"]),
    ("decimal-from-float", &["ruff/RUF032"]),
    ("defer-in-loop", &["golangci-lint/gocritic/deferInLoop", "golangci-lint/revive/defer"]),
    ("deferred-lock", &["golangci-lint/staticcheck/SA2003"]),
    ("deprecated-buffer", &["eslint/n/no-deprecated-api", "eslint/node/no-deprecated-api"]),
    ("deprecated-ioutil", &["golangci-lint/staticcheck/SA1019"]),
    ("deprecated-unittest-alias", &["ruff/UP005"]),
    ("deprecated-warn", &["ruff/G010", "ruff/PGH002"]),
    ("empty-f-string", &["ruff/F541"]),
    ("error-not-wrapped", &["golangci-lint/errorlint", "golangci-lint/wrapcheck"]),
    ("error-text-compared", &["golangci-lint/errorlint"]),
    (
        "errors-new-sprintf",
        &["golangci-lint/staticcheck/S1028", "golangci-lint/gosimple/S1028", "golangci-lint/revive/errorf"],
    ),
    (
        "eval-of-data",
        &[
            "ruff/S102",
            "ruff/S307",
            "ruff/PGH001",
            "eslint/no-eval",
            "eslint/no-implied-eval",
            "eslint/no-new-func",
            "eslint/security/detect-eval-with-expression",
            "eslint/@typescript-eslint/no-implied-eval",
        ],
    ),
    ("file-not-closed", &["ruff/SIM115"]),
    ("filter-then-first", &["clippy/filter_next", "ruff/RUF015"]),
    (
        "focused-test",
        &[
            "eslint/jest/no-focused-tests",
            "eslint/vitest/no-focused-tests",
            "eslint/mocha/no-exclusive-tests",
            "eslint/no-only-tests/no-only-tests",
        ],
    ),
    ("hard-coded-secret", &["ruff/S105", "ruff/S106", "ruff/S107", "golangci-lint/gosec/G101"]),
    (
        "html-from-data",
        &[
            "ruff/S308",
            "ruff/S704",
            "eslint/react/no-danger",
            "eslint/no-unsanitized/property",
            "eslint/no-unsanitized/method",
            "golangci-lint/gosec/G203",
        ],
    ),
    ("invalid-typeof", &["eslint/valid-typeof"]),
    ("keys-for-membership", &["ruff/SIM118"]),
    ("len-compared-to-zero", &["ruff/PLC1802", "clippy/len_zero", "clippy/comparison_to_empty"]),
    (
        "length-never-negative",
        &["clippy/absurd_extreme_comparisons", "clippy/unused_comparisons", "golangci-lint/staticcheck/SA4003"],
    ),
    ("lock-dropped-at-once", &["clippy/let_underscore_lock", "golangci-lint/staticcheck/SA2001"]),
    ("mutable-default-argument", &["ruff/B006"]),
    ("negated-left-of-in", &["eslint/no-unsafe-negation"]),
    ("not-in-order", &["ruff/E713", "ruff/E714"]),
    ("path-from-request", &["eslint/security/detect-non-literal-fs-filename", "golangci-lint/gosec/G304"]),
    ("predictable-temp-file", &["ruff/S108", "ruff/S306", "golangci-lint/gosec/G303"]),
    ("raise-notimplemented", &["ruff/F901"]),
    ("reference-to-owned-container", &["clippy/ptr_arg"]),
    ("replace-with-minus-one", &["golangci-lint/staticcheck/QF1004", "golangci-lint/gocritic/wrapperFunc"]),
    ("request-without-timeout", &["ruff/S113", "golangci-lint/noctx"]),
    (
        "result-ignored",
        &[
            "golangci-lint/errcheck",
            "golangci-lint/gosec/G104",
            "golangci-lint/staticcheck/SA4017",
            "clippy/let_underscore_must_use",
            "clippy/unused_must_use",
        ],
    ),
    ("return-in-finally", &["ruff/B012", "eslint/no-unsafe-finally"]),
    (
        "same-branches",
        &[
            "ruff/RUF034",
            "clippy/if_same_then_else",
            "golangci-lint/gocritic/dupBranchBody",
            "golangci-lint/revive/identical-branches",
        ],
    ),
    (
        "self-assignment",
        &["ruff/PLW0127", "eslint/no-self-assign", "clippy/self_assignment", "golangci-lint/staticcheck/SA4018"],
    ),
    ("signature-compared-plainly", &["eslint/security/detect-possible-timing-attacks"]),
    (
        "skipped-test",
        &[
            "eslint/jest/no-disabled-tests",
            "eslint/vitest/no-disabled-tests",
            "eslint/mocha/no-skipped-tests",
            "clippy/ignore_without_reason",
        ],
    ),
    ("sql-built-from-text", &["ruff/S608", "golangci-lint/gosec/G201", "golangci-lint/gosec/G202"]),
    ("static-mut-reference", &["clippy/static_mut_refs"]),
    ("swallowed-exception", &["ruff/S110", "ruff/S112", "ruff/BLE001", "ruff/SIM105", "eslint/no-empty"]),
    ("task-not-kept", &["ruff/RUF006"]),
    ("template-from-values", &["ruff/S702"]),
    ("time-now-sub", &["golangci-lint/staticcheck/S1012", "golangci-lint/gosimple/S1012"]),
    ("tls-verification-off", &["ruff/S323", "ruff/S501", "golangci-lint/gosec/G402"]),
    ("ts-ignore", &["eslint/@typescript-eslint/ban-ts-comment"]),
    ("unfinished-code", &["clippy/todo", "clippy/unimplemented"]),
    ("uninitialized-memory", &["clippy/uninit_assumed_init", "clippy/uninit_vec", "clippy/invalid_value"]),
    (
        "unreachable-code",
        &["ruff/PLW0101", "eslint/no-unreachable", "clippy/unreachable_code", "golangci-lint/govet/unreachable"],
    ),
    ("unsafe-deserialisation", &["ruff/S301", "ruff/S302"]),
    ("unsafe-yaml-load", &["ruff/S506"]),
    ("unwrap-in-fallible-function", &["clippy/unwrap_in_result", "clippy/unwrap_used", "clippy/expect_used"]),
    ("waitgroup-add-inside-goroutine", &["golangci-lint/staticcheck/SA2000"]),
    (
        "weak-hash",
        &["ruff/S303", "ruff/S324", "golangci-lint/gosec/G401", "golangci-lint/gosec/G501", "golangci-lint/gosec/G505"],
    ),
    ("weak-random-for-secret", &["ruff/S311", "golangci-lint/gosec/G404"]),
    (
        "world-writable-file",
        &["ruff/S103", "golangci-lint/gosec/G301", "golangci-lint/gosec/G302", "golangci-lint/gosec/G306"],
    ),
    (
        "xml-external-entities",
        &["ruff/S313", "ruff/S314", "ruff/S315", "ruff/S316", "ruff/S317", "ruff/S318", "ruff/S319", "ruff/S320"],
    ),
];

/// Whether two rules, of whichever tools, say the same.
pub fn same(one: &str, other: &str) -> bool {
    one == other || SAME_AS.iter().any(|(ours, others)| speaks(ours, others, one) && speaks(ours, others, other))
}

fn speaks(ours: &str, others: &[&str], rule: &str) -> bool {
    let covers = |known: &str| rule.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    rule == ours || others.iter().any(|known| covers(known))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::analysis::Engine;
    use crate::domain::LINTERS;

    #[test]
    fn every_rule_of_ours_exists_and_is_named_once() {
        let engine = Engine::embedded().unwrap();
        let known: HashSet<&str> = engine.rules().iter().map(|rule| rule.id.0.as_str()).collect();
        let mut seen = HashSet::new();
        for (ours, _) in SAME_AS {
            assert!(known.contains(ours), "there is no rule {ours}");
            assert!(seen.insert(ours), "{ours} twice");
        }
    }

    #[test]
    fn every_rule_of_others_has_the_shape_that_its_linter_gives_it() {
        let shapes = [
            ("ruff", "^[A-Z]+[0-9]{3,4}$"),
            ("eslint", "^(@?[a-z-]+/)?[a-z-]+$"),
            ("clippy", "^[a-z_]+$"),
            ("golangci-lint", "^[a-z]+(/[A-Za-z0-9-]+)?$"),
            ("shellcheck", "^SC[0-9]{4}$"),
            ("hadolint", "^(DL|SC)[0-9]{4}$"),
            ("semgrep", "^[A-Za-z0-9._-]+$"),
        ];
        assert_eq!(shapes.map(|(linter, _)| linter).iter().collect::<HashSet<_>>(), LINTERS.iter().collect());
        for (ours, others) in SAME_AS {
            for other in *others {
                let (linter, rule) = other.split_once('/').unwrap();
                let (_, shape) = shapes.iter().find(|(name, _)| *name == linter).unwrap_or_else(|| panic!("{other}"));
                assert!(regex::Regex::new(shape).unwrap().is_match(rule), "{ours}: {other}");
            }
        }
    }

    #[test]
    fn two_rules_are_the_same_through_one_of_ours() {
        assert!(same("eval-of-data", "ruff/S307") && same("ruff/S307", "eval-of-data"));
        assert!(same("golangci-lint/gosec/G104", "golangci-lint/errcheck"));
        assert!(same("golangci-lint/errorlint/comparison", "error-text-compared"));
        assert!(!same("ruff/S307", "ruff/S608") && !same("ruff/S3071", "eval-of-data"));
    }
}
