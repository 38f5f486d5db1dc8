//! The built-in checklists (A0.7): what each reviewer is asked, and which rules and measures answer it.

use super::measure;
use crate::artifact::server::ChecklistItem;
use crate::domain::Category;

/// One question, with what answers it.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    pub id: &'static str,
    pub title: &'static str,
    /// Ids of rules of the static engine.
    pub rules: &'static [&'static str],
    /// Ids of measures over whole files.
    pub measures: &'static [&'static str],
}

impl Question {
    /// Whether anything looks for it; what nothing looks for is not answered without a model.
    pub fn is_answered(&self) -> bool {
        !self.rules.is_empty() || !self.measures.is_empty()
    }
}

/// The checklist of a reviewer as its input has it.
pub fn checklist(category: Category) -> Vec<ChecklistItem> {
    let item = |question: &Question| ChecklistItem { id: question.id.to_owned(), title: question.title.to_owned() };
    questions(category).iter().map(item).collect()
}

/// The questions of a reviewer; the documentation agent has none.
pub fn questions(category: Category) -> &'static [Question] {
    match category {
        Category::Debt => DEBT,
        Category::Improvement => IMPROVEMENT,
        Category::Critical => CRITICAL,
        Category::Documentation => &[],
    }
}

const fn asked(id: &'static str, title: &'static str) -> Question {
    Question { id, title, rules: &[], measures: &[] }
}

const fn answered(id: &'static str, title: &'static str, rules: &'static [&'static str]) -> Question {
    Question { id, title, rules, measures: &[] }
}

const fn measured(id: &'static str, title: &'static str, measures: &'static [&'static str]) -> Question {
    Question { id, title, rules: &[], measures }
}

const DEBT: &[Question] = &[
    measured(
        "DEBT-01",
        "Functions and files too large to be read at once",
        &[measure::LONG_FUNCTION, measure::LONG_FILE],
    ),
    asked("DEBT-02", "The same code in several places"),
    asked("DEBT-03", "Names that do not say what they name"),
    asked("DEBT-04", "Code that needs a comment and has none"),
    asked("DEBT-05", "Values fixed in the code that belong into settings"),
    asked("DEBT-06", "Numbers without a name"),
    measured("DEBT-07", "Branches and loops nested too deeply", &[measure::DEEP_NESTING]),
    asked("DEBT-08", "State that everybody can change"),
    asked("DEBT-09", "Dependencies that are out of date"),
    answered(
        "DEBT-10",
        "Use of what its makers have deprecated",
        &[
            "boxed-constructor",
            "deprecated-buffer",
            "deprecated-ioutil",
            "deprecated-unittest-alias",
            "deprecated-warn",
            "finalize-override",
        ],
    ),
    answered(
        "DEBT-11",
        "Ways of writing that differ from what the language has for it",
        &[
            "compare-with-boolean",
            "empty-f-string",
            "errors-new-sprintf",
            "len-compared-to-zero",
            "not-in-order",
            "replace-with-minus-one",
            "time-now-sub",
        ],
    ),
    answered(
        "DEBT-12",
        "Dead, unfinished or forgotten code",
        &["dbg-macro", "debug-output-left", "debugger-left", "unfinished-code", "unreachable-code"],
    ),
    answered("DEBT-13", "Errors that nobody handles", &["print-stack-trace", "ts-ignore"]),
    asked("DEBT-14", "Parts that know too much of each other"),
    answered("DEBT-15", "Missing tests, and tests that do not run", &["focused-test", "skipped-test"]),
];

const IMPROVEMENT: &[Question] = &[
    answered(
        "IMPR-01",
        "More work than the result needs",
        &["collect-to-count", "filter-then-first", "keys-for-membership"],
    ),
    asked("IMPR-02", "Repetition that one function could take over"),
    answered(
        "IMPR-03",
        "Parts that could be clearer, or less tied to each other",
        &["compare-to-none", "equals-without-hash-code", "negated-left-of-in", "reference-to-owned-container"],
    ),
    answered(
        "IMPR-04",
        "Slow or heavy code, and resources that are held too long",
        &["blocking-call-in-async", "defer-in-loop", "file-not-closed", "shared-date-format"],
    ),
    asked("IMPR-05", "Queries that ask for too much, or too often"),
    measured("IMPR-06", "Public items without a comment", &[measure::UNCOMMENTED]),
    answered(
        "IMPR-07",
        "Errors that are handled in different ways, or swallowed",
        &[
            "async-effect",
            "bare-except",
            "error-not-wrapped",
            "error-text-compared",
            "interruption-swallowed",
            "request-without-timeout",
            "swallowed-exception",
            "task-not-kept",
            "unwrap-in-fallible-function",
        ],
    ),
    answered(
        "IMPR-08",
        "Values that are taken as they come",
        &["datetime-utcnow", "decimal-from-float", "map-parse-int", "split-on-regex-character"],
    ),
    asked("IMPR-09", "Dependencies that are not needed, or needed twice"),
    asked("IMPR-10", "Work done by hand that a machine could do"),
    answered("IMPR-11", "Documents that no longer say what is there", &["broken-link"]),
];

const CRITICAL: &[Question] = &[
    answered(
        "CRIT-01",
        "Data of strangers that becomes a command, a query, markup or code",
        &[
            "address-from-request",
            "command-built-from-text",
            "eval-of-data",
            "html-from-data",
            "ldap-filter-built-from-text",
            "markup-from-request",
            "redirect-from-request",
            "sql-built-from-text",
            "template-from-values",
            "unsafe-deserialisation",
            "unsafe-yaml-load",
            "xml-external-entities",
            "xpath-built-from-text",
        ],
    ),
    answered(
        "CRIT-02",
        "Data that can be lost, or changed by two at once",
        &[
            "closed-before-error-check",
            "deferred-lock",
            "lock-dropped-at-once",
            "mutable-default-argument",
            "result-ignored",
            "static-mut-reference",
            "waitgroup-add-inside-goroutine",
        ],
    ),
    answered(
        "CRIT-03",
        "Crashes, errors that nobody sees, conditions that cannot hold",
        &[
            "assert-on-tuple",
            "assignment-in-condition",
            "async-foreach",
            "async-promise-executor",
            "boxed-number-compared-by-identity",
            "compare-literal-by-identity",
            "comparison-with-itself",
            "comparison-with-nan",
            "comparison-with-new-object",
            "condition-asked-twice",
            "conflict-marker",
            "invalid-typeof",
            "length-never-negative",
            "raise-notimplemented",
            "return-in-finally",
            "same-branches",
            "self-assignment",
            "string-compared-by-identity",
            "thread-run-called",
            "uninitialized-memory",
        ],
    ),
    asked("CRIT-04", "Breaches of law, licences or policy"),
    answered(
        "CRIT-05",
        "Credentials in the sources",
        &[
            "aws-access-key",
            "github-token",
            "google-api-key",
            "hard-coded-secret",
            "model-api-key",
            "npm-token",
            "password-in-url",
            "private-key",
            "slack-token",
            "slack-webhook",
            "stripe-key",
        ],
    ),
    answered(
        "CRIT-06",
        "Endpoints that are open, or reached without protection",
        &["cookie-over-plain-http", "cors-any-origin-with-credentials", "debug-server", "tls-verification-off"],
    ),
    answered(
        "CRIT-07",
        "Who is asked for nothing, or whose answer is not proved",
        &["jwt-unverified", "session-from-request", "signature-compared-plainly"],
    ),
    answered(
        "CRIT-08",
        "Files that strangers can read, choose or replace",
        &["archive-extracted-anywhere", "path-from-request", "predictable-temp-file", "world-writable-file"],
    ),
    answered(
        "CRIT-09",
        "Insecure or outdated means of protection",
        &["broken-cipher", "weak-hash", "weak-random-for-secret"],
    ),
    asked("CRIT-10", "Events that matter and leave no trace"),
];
