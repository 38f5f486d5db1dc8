use super::*;

/// Passed, failed, skipped, and the names of what failed.
#[track_caller]
fn check(output: &str, want: (u64, u64, u64), failing: &[&str]) {
    let found = counts(output).unwrap_or_else(|| panic!("no result in:\n{output}"));
    assert_eq!((found.passed, found.failed, found.skipped), want, "{output}");
    assert_eq!(found.failing, failing, "{output}");
    // Colours and line ends of another system change nothing.
    let other = output.replace('\n', "\r\n");
    assert_eq!(counts(&other), Some(found), "{output}");
}

#[track_caller]
fn check_none(output: &str) {
    assert_eq!(counts(output), None, "{output}");
}

const LIBTEST: &str = "
running 3 tests
test tests::adds ... ok
test tests::divides - should panic ... FAILED
test tests::slow ... ignored

failures:

---- tests::divides stdout ----
note: test did not panic as expected

failures:
    tests::divides

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

#[test]
fn rusts_harness_is_summed_over_its_binaries() {
    check(LIBTEST, (1, 1, 1), &["tests::divides"]);
    let older = "\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    check(&format!("{older}{LIBTEST}"), (3, 1, 1), &["tests::divides"]);
    check(
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n",
        (0, 0, 0),
        &[],
    );
    check_none("error[E0425]: cannot find value `x` in this scope\nerror: could not compile `a` (lib test)\n");
    // A binary that was killed has no result, and so the sum has none.
    check_none(&format!(
        "{older}\nrunning 9 tests\nerror: test failed\n  process didn't exit successfully (signal: 6)\n"
    ));
}

#[test]
fn nextest_tells_one_summary() {
    check(
        "    Starting 4 tests across 2 binaries\n        PASS [   0.005s] calc tests::adds\n        FAIL [   0.006s] calc tests::divides\n──────\n     Summary [   0.010s] 4 tests run: 3 passed (1 slow, 1 leaky), 1 failed, 2 skipped\n        FAIL [   0.006s] calc tests::divides\nerror: test run failed\n",
        (3, 1, 2),
        &["calc tests::divides"],
    );
    check(
        "        FAIL [   0.006s] (1/5) calc::it tests::a\n     Summary [   0.010s] 2/5 tests run: 1 passed, 1 failed, 0 skipped\n",
        (1, 1, 3),
        &["calc::it tests::a"],
    );
    check(
        "     Summary [  60.010s] 3 tests run: 1 passed, 1 failed, 1 timed out, 0 skipped\n     TIMEOUT [  60.000s] calc slow\n",
        (1, 2, 0),
        &["calc slow"],
    );
    check("     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped\nerror: no tests to run\n", (0, 0, 0), &[]);
}

#[test]
fn pytest_in_its_forms() {
    check(
        "F.sx\n=========================== short test summary info ============================\nFAILED tests/test_a.py::test_x[a b] - assert 1 == 2\nERROR tests/test_b.py - ImportError: no\n======= 1 failed, 2 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 warning, 1 error in 0.12s (0:00:00) =======\n",
        (3, 2, 2),
        &["tests/test_a.py::test_x[a b]", "tests/test_b.py"],
    );
    check("...\n3 passed in 0.01s\n", (3, 0, 0), &[]);
    check("===== 12 passed, 1 deselected in 125.03s (0:02:05) =====\n", (12, 0, 0), &[]);
    check("==== 2 passed, 1 warnings in 0.05 seconds ====\n", (2, 0, 0), &[]);
    check("1 failed, 3 passed, 2 subtests passed in 0.05s\n", (3, 1, 0), &[]);
    check("============================ no tests ran in 0.00s =============================\n", (0, 0, 0), &[]);
    check("3 deselected in 0.01s\n", (0, 0, 0), &[]);
    check_none("INTERNALERROR> Traceback\n");
    check_none("compiled 3 files in 0.12s\n3 files in 0.12s\n");
}

#[test]
fn unittest_tells_what_ran_and_then_how() {
    check(
        "F.s\n======\nFAIL: test_a (t.T.test_a)\n------\nERROR: test_b (t.T)\n------\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1, expected failures=1)\n",
        (1, 2, 2),
        &["t.T.test_a", "t.T.test_b"],
    );
    check("...\n------\nRan 3 tests in 0.000s\n\nOK\n", (3, 0, 0), &[]);
    check("Ran 1 test in 0.000s\n\nOK (skipped=1)\nRan 2 tests in 0.1s\n\nOK\n", (2, 0, 1), &[]);
    check("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0), &[]);
    check_none("Ran 3 tests in 0.000s\n");
}

#[test]
fn go_counts_the_innermost_tests_and_without_their_names_the_packages() {
    check(
        "=== RUN   TestAdd\n--- PASS: TestAdd (0.00s)\n=== RUN   TestDiv\n=== RUN   TestDiv/zero\n    a_test.go:9: no\n--- FAIL: TestDiv (0.00s)\n    --- FAIL: TestDiv/zero (0.00s)\n    --- PASS: TestDiv/one (0.00s)\n=== RUN   TestNet\n--- SKIP: TestNet (0.00s)\nFAIL\nFAIL\texample.com/calc\t0.003s\n?   \texample.com/doc\t[no test files]\nok  \texample.com/b\t(cached)\nFAIL\n",
        (2, 1, 1),
        &["TestDiv/zero"],
    );
    check(
        "--- FAIL: TestDiv (0.00s)\n    a_test.go:9: no\nFAIL\nFAIL\texample.com/calc\t0.003s\nok  \texample.com/b\t0.01s\tcoverage: 50.0% of statements\nFAIL\n",
        (1, 1, 0),
        &["TestDiv"],
    );
    check(
        "# example.com/c\nc.go:3: syntax error\nFAIL\texample.com/c [build failed]\nok  \texample.com/b\t0.01s\n",
        (1, 1, 0),
        &["example.com/c"],
    );
    check("ok  \texample.com/b\t0.01s [no tests to run]\n?   \texample.com/d\t[no test files]\n", (0, 0, 0), &[]);
    // A panic ends the package: the test that it was in is named.
    check(
        "=== RUN   TestA\n--- FAIL: TestA (0.00s)\npanic: no [recovered]\nFAIL\texample.com/a\t0.01s\nFAIL\n",
        (0, 1, 0),
        &["TestA"],
    );
    check_none("=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n");
}

#[test]
fn go_as_events() {
    check(
        "{\"Time\":\"2026-01-01T00:00:00Z\",\"Action\":\"start\",\"Package\":\"e/a\"}\n{\"Action\":\"output\",\"Package\":\"e/a\",\"Test\":\"TestA\",\"Output\":\"--- FAIL: TestA (0.00s)\\n\"}\n{\"Action\":\"fail\",\"Package\":\"e/a\",\"Test\":\"TestA/x\",\"Elapsed\":0}\n{\"Action\":\"fail\",\"Package\":\"e/a\",\"Test\":\"TestA\",\"Elapsed\":0}\n{\"Action\":\"pass\",\"Package\":\"e/a\",\"Test\":\"TestB\",\"Elapsed\":0}\n{\"Action\":\"skip\",\"Package\":\"e/a\",\"Test\":\"TestC\"}\n{\"Action\":\"fail\",\"Package\":\"e/a\",\"Elapsed\":0.1}\n{\"Action\":\"skip\",\"Package\":\"e/none\"}\n",
        (1, 1, 1),
        &["TestA/x"],
    );
    check(
        "{\"ImportPath\":\"e/b\",\"Action\":\"build-fail\"}\n{\"Action\":\"fail\",\"Package\":\"e/b\",\"Elapsed\":0,\"FailedBuild\":\"e/b\"}\n",
        (0, 1, 0),
        &["e/b"],
    );
    check_none("{\"Action\":\"pass\",\"Package\":\"e/a\",\"Test\":\"TestB\"}\n");
}

#[test]
fn jest_counts_a_suite_that_could_not_run() {
    check(
        "FAIL src/a.test.js (5.2 s)\n  calc\n    ✕ divides (2 ms)\n\n  ● calc › divides\n\n    expect(received)\n\n  ● Console\n\nPASS src/b.test.js\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 2 todo, 4 passed, 8 total\nSnapshots:   0 total\nTime:        1.2 s\n",
        (4, 1, 3),
        &["calc › divides"],
    );
    check(
        "FAIL src/a.test.js\n  ● Test suite failed to run\n\nTest Suites: 1 failed, 1 total\nTests:       0 total\n",
        (0, 1, 0),
        &["src/a.test.js"],
    );
    check(
        "FAIL src/a.test.js\n  ● divides\n\nFAIL src/b.test.js\n  ● Test suite failed to run\n\nSummary of all failing tests\nFAIL src/b.test.js\n  ● Test suite failed to run\n\nTest Suites: 2 failed, 2 total\nTests:       1 failed, 1 passed, 2 total\n",
        (1, 2, 0),
        &["divides", "src/b.test.js"],
    );
    check("Test Suites: 2 passed, 2 total\nTests:       3 passed, 3 total\n", (3, 0, 0), &[]);
    check("No tests found, exiting with code 1\n", (0, 0, 0), &[]);
    check_none("PASS src/b.test.js\n");
}

#[test]
fn vitest_in_its_forms() {
    check(
        " FAIL  src/a.test.ts > calc > divides\nAssertionError: no\n FAIL  |web| src/b.test.ts > x\n\n Test Files  1 failed | 1 passed (2)\n      Tests  2 failed | 2 passed | 1 skipped | 1 todo (6)\n   Start at  10:00:00\n",
        (2, 2, 2),
        &["src/a.test.ts > calc > divides", "src/b.test.ts > x"],
    );
    check(
        " FAIL  src/a.test.ts [ src/a.test.ts ]\nError: no\n Test Files  1 failed (1)\n      Tests  no tests\n",
        (0, 1, 0),
        &["src/a.test.ts"],
    );
    check(
        "\u{1b}[2m Test Files \u{1b}[22m \u{1b}[1m\u{1b}[32m1 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (1)\u{1b}[39m\n\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m3 passed\u{1b}[39m\u{1b}[22m\u{1b}[90m (3)\u{1b}[39m\n",
        (3, 0, 0),
        &[],
    );
    check(
        " FAIL  v/b.test.mjs [ v/b.test.mjs ]\nError: no\n FAIL  v/a.test.mjs > calc > divides\n\n Test Files  2 failed (2)\n      Tests  1 failed | 1 passed | 1 skipped | 1 todo (4)\n",
        (1, 2, 2),
        &["v/b.test.mjs", "v/a.test.mjs > calc > divides"],
    );
    check("No test files found, exiting with code 1\n", (0, 0, 0), &[]);
}

#[test]
fn mocha_names_what_failed_over_several_lines() {
    check(
        "\n  calc\n    ✔ adds\n    1) divides\n\n  1 passing (5ms)\n  1 pending\n  2 failing\n\n  1) calc\n       divides:\n\n      AssertionError: no\n  2) \"before all\" hook:\n     Error\n",
        (1, 2, 1),
        &["calc divides", "\"before all\" hook"],
    );
    check("\n  2 passing (1s)\n\n\n  3 passing (2m)\n", (5, 0, 0), &[]);
    check("\n  0 passing (1ms)\n", (0, 0, 0), &[]);
}

#[test]
fn other_runners_of_javascript() {
    check(
        "  ✔ adds\n  ✘ [fail]: divides\n  ─\n\n  divides\n\n  1 test passed\n  1 test failed\n  1 test skipped\n  1 unhandled rejection\n",
        (1, 2, 1),
        &["divides"],
    );
    // Where one failed, the others are only ticked off.
    check(
        "\n  - [skip] net\n  - [todo] later\n  ✔ adds\n  ✘ [fail]: divides\n  ─\n\n  divides\n\n  ─\n\n  1 test failed\n  1 test skipped\n  1 test todo\n",
        (1, 1, 2),
        &["divides"],
    );
    check("  ✔ adds\n  ✔ divides\n  ✔ net\n  ─\n\n  3 tests passed\n", (3, 0, 0), &[]);
    check(
        "bun test v1.1\n\na.test.ts:\n(pass) adds [0.1ms]\n(fail) calc > divides [0.2ms]\n\n 1 pass\n 1 skip\n 1 fail\n 2 expect() calls\nRan 3 tests across 1 file. [10.00ms]\n",
        (1, 1, 1),
        &["calc > divides"],
    );
    check(
        "running 2 tests from ./a.ts\nadds ... ok (1ms)\ndivides ... FAILED (1ms)\n\n FAILURES \n\ndivides => ./a.ts:3:6\n\nFAILED | 1 passed (2 steps) | 1 failed | 1 ignored (12ms)\n",
        (1, 1, 1),
        &["divides"],
    );
    check("ok | 3 passed | 0 failed (5ms)\n", (3, 0, 0), &[]);
}

#[test]
fn tap_needs_as_many_points_as_were_planned() {
    check(
        "TAP version 13\nok 1 - adds\nnot ok 2 - divides\n  ---\n  at: a.js\n  ...\nok 3 - net # SKIP no network\nnot ok 4 - later # TODO\n1..4\n",
        (1, 1, 2),
        &["divides"],
    );
    check(
        "TAP version 14\n1..2\n# Subtest: a\n    1..1\n    not ok 1 - inner\nnot ok 1 - a\nok 2\n",
        (1, 1, 0),
        &["a"],
    );
    check("1..1\nnot ok 1\nTAP version 12\n1..1\nok\n", (1, 1, 0), &["1"]);
    check("1..0 # skip nothing here\n", (0, 0, 0), &[]);
    check("1..3\nok 1\nBail out! no database\n", (1, 1, 0), &["Bail out! no database"]);
    check_none("1..3\nok 1\nok 2\n");
    check_none("ok 1 - adds\n");
    check_none("ok then\nnot ok at all\n");
    // Programs that leave what is to be done later out of their totals, or count it as failed.
    check(
        "ok 1 calc adds\nnot ok 2 calc divides\n  1 == 2\nok 3 calc net # SKIP -\nok 4 calc later # SKIP -\n# tests 2\n# pass 1\n# fail 1\n1..4\n",
        (1, 1, 2),
        &["calc divides"],
    );
    check(
        "TAP version 13\nok 1 - net # SKIP\nnot ok 2 - later # TODO\nok 3 - adds\nnot ok 4 - divides\n  ---\n    name: AssertionError\n  ...\n\n1..4\n# tests 3\n# pass 1\n# skip 1\n# fail 2\n",
        (1, 1, 2),
        &["divides"],
    );
    // Node's runner, and tape.
    check(
        "TAP version 13\n# Subtest: a\n    ok 1 - x\n    not ok 2 - y\n    1..2\nnot ok 1 - a\n1..1\n# tests 4\n# suites 1\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 1\n# duration_ms 5\n",
        (1, 1, 2),
        &["y"],
    );
    check(
        "✔ a (1ms)\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n",
        (2, 0, 0),
        &[],
    );
    check(
        "TAP version 13\n# adds\nok 1 should be equal\nok 2 should be equal\n\n1..2\n# tests 2\n# pass  2\n\n# ok\n",
        (2, 0, 0),
        &[],
    );
}

const JUNIT: &str = "<?xml version=\"1.0\"?><testsuites><testsuite name=\"a\" tests=\"4\"><testcase classname=\"a.B\" name=\"x &lt;1&gt;\"><failure message=\"no\">&unknown; <b/></failure></testcase><testcase name=\"y\"/><testcase name=\"z\"><skipped/></testcase><testcase name=\"w\"><rerunFailure/><system-out><![CDATA[<failure/>]]></system-out></testcase></testsuite></testsuites>";

#[test]
fn a_report_in_xml_is_read_from_bytes_and_in_an_output() {
    let found = junit(JUNIT.as_bytes()).unwrap();
    assert_eq!((found.passed, found.failed, found.skipped), (2, 1, 1));
    assert_eq!(found.failing, ["a.B.x <1>"]);
    check(
        &format!("running\n{JUNIT}\nand\n<testsuite><testcase name=\"q\"><error/></testcase></testsuite>\n"),
        (2, 2, 1),
        &["a.B.x <1>", "q"],
    );
    // Where a program told its result in words, the report is the same result once more.
    check(&format!("{JUNIT}\n=== 1 failed, 2 passed, 1 skipped in 0.1s ===\n"), (2, 1, 1), &[]);
    assert_eq!(junit(b"<testsuites/>"), Some(Counts::default()));
    for other in
        ["", "<html></html>", "<testsuite><testcase name='a'>", "<testsuite></b>", "no", "<testsuite", "\u{feff}"]
    {
        assert_eq!(junit(other.as_bytes()), None, "{other}");
    }
    assert_eq!(junit(b"\xff\xfe<testsuite/>"), None);
    check_none(&format!("{JUNIT}<testsuite><testcase"));
}

#[test]
fn a_report_that_grows_or_goes_deep_is_harmless() {
    let bomb = "<!DOCTYPE t [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]><testsuite><testcase name=\"&b;&c;\"><failure>&b;</failure></testcase></testsuite>";
    assert_eq!(junit(bomb.as_bytes()).unwrap().failing, ["&b;&c;"]);
    assert_eq!(junit(format!("<testsuite>{}", "<a>".repeat(1_000_000)).as_bytes()), None);
    let wide = format!("<testsuite><testcase {}/></testsuite>", "a='1' ".repeat(200_000));
    assert_eq!(junit(wide.as_bytes()).unwrap().passed, 1);
    check_none(&"<testsuite ".repeat(500_000));
    check_none(&"<testsuite>".repeat(500_000));
}

#[test]
fn mavens_totals_are_those_of_the_modules() {
    check(
        "[INFO] Running a.BTest\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! -- in a.BTest\n[ERROR] a.BTest.divides -- Time elapsed: 0.003 s <<< FAILURE!\n[INFO] Results:\n[ERROR] Failures: \n[ERROR]   BTest.divides:12 expected: <1>\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n",
        (3, 1, 1),
        &["a.BTest.divides"],
    );
    check(
        "Tests run: 1, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 0.1 sec <<< FAILURE!\ndivides(a.BTest)  Time elapsed: 0.003 sec  <<< ERROR!\n\nResults :\n\nTests run: 1, Failures: 0, Errors: 1, Skipped: 0\n",
        (0, 1, 0),
        &["a.BTest.divides"],
    );
    check("[WARNING] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1\n", (4, 0, 0), &[]);
    check("[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\n", (0, 0, 0), &[]);
    check_none("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in a.BTest\n");
}

#[test]
fn gradle_tells_only_where_it_tells() {
    check(
        "BTest > divides() FAILED\n    org.opentest4j.AssertionFailedError at BTest.java:12\n\n3 tests completed, 1 failed, 1 skipped\n\n> Task :test FAILED\n",
        (1, 1, 1),
        &["BTest > divides()"],
    );
    check(
        "BTest > adds() PASSED\nBTest > net() SKIPPED\nBTest > divides(int) > [1] 0 FAILED\n\n3 tests completed, 1 failed, 1 skipped\n",
        (1, 1, 1),
        &["BTest > divides(int) > [1] 0"],
    );
    check_none("> Task :test\n\nBUILD SUCCESSFUL in 3s\n4 actionable tasks: 4 executed\n");
}

#[test]
fn rubys_runners() {
    check(
        "Finished in 0.01 seconds\n5 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec ./spec/a_spec.rb:3 # Calc divides\n",
        (3, 1, 1),
        &["Calc divides"],
    );
    check("0 examples, 0 failures, 1 error occurred outside of examples\n", (0, 1, 0), &[]);
    check("1 example, 0 failures\n2 examples, 0 failures\n", (3, 0, 0), &[]);
    check("0 examples, 0 failures\n", (0, 0, 0), &[]);
    check(
        "  1) Failure:\nTestCalc#test_divides [test/a.rb:9]:\nExpected: 1\n\n  2) Error:\nTestCalc#test_net:\nRuntimeError\n\n4 runs, 5 assertions, 1 failures, 1 errors, 1 skips\n",
        (1, 2, 1),
        &["TestCalc#test_divides", "TestCalc#test_net"],
    );
    check(
        "Failure:\nCalcTest#test_divides [test/a.rb:9]:\nno\n\n3 tests, 4 assertions, 1 failures, 0 errors, 0 skips\n",
        (2, 1, 0),
        &["CalcTest#test_divides"],
    );
    check(
        "Failure: test_divides(TestCalc)\nt.rb:3\n2 tests, 2 assertions, 1 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications\n",
        (0, 1, 1),
        &["TestCalc#test_divides"],
    );
    check("0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n", (0, 0, 0), &[]);
}

#[test]
fn phps_runners() {
    check("OK (3 tests, 5 assertions)\n", (3, 0, 0), &[]);
    check(
        "There was 1 failure:\n\n1) App\\CalcTest::testDivides with data set #0 (1)\nFailed asserting\n\nFAILURES!\nTests: 5, Assertions: 6, Errors: 1, Failures: 1, Skipped: 1, Incomplete: 1.\n",
        (1, 2, 2),
        &["App\\CalcTest::testDivides with data set #0 (1)"],
    );
    check("OK, but there were issues!\nTests: 2, Assertions: 2, PHPUnit Deprecations: 1.\n", (2, 0, 0), &[]);
    check("No tests executed!\n", (0, 0, 0), &[]);
    check(
        "   FAILED  Tests\\Unit\\CalcTest > it divides   \n\n  Tests:    1 failed, 1 skipped, 2 passed (3 assertions)\n  Duration: 0.1s\n",
        (2, 1, 1),
        &["Tests\\Unit\\CalcTest > it divides"],
    );
}

#[test]
fn dotnet_in_its_three_forms() {
    check(
        "  Failed Calc.Tests.Divides(1) [12 ms]\n  Error Message:\n\nFailed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 10 ms - A.dll (net8.0)\nPassed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: < 1 ms - B.dll (net8.0)\n",
        (5, 1, 1),
        &["Calc.Tests.Divides(1)"],
    );
    check("Total tests: 4\n     Passed: 2\n     Failed: 1\n    Skipped: 1\n Total time: 1.2 Seconds\n", (2, 1, 1), &[]);
    check(
        "Test summary: total: 3, failed: 1, succeeded: 2, skipped: 0, duration: 1.2s\nBuild failed with 1 error(s)\n",
        (2, 1, 0),
        &[],
    );
    check(
        "failed Calc.Divides (12ms)\n\nTest run summary: Failed!\n  total: 3\n  failed: 1\n  succeeded: 1\n  skipped: 1\n  duration: 1s\n",
        (1, 1, 1),
        &["Calc.Divides"],
    );
    check_none("Build succeeded.\n    0 Warning(s)\n");
}

#[test]
fn the_other_languages() {
    check(
        "  1) test divides (CalcTest)\n     test/calc_test.exs:9\n\nFinished in 0.03 seconds\n2 doctests, 1 property, 4 tests, 1 failure, 1 excluded, 1 skipped\n",
        (4, 1, 2),
        &["test divides (CalcTest)"],
    );
    check("1 test, 0 failures\n3 tests, 0 failures\n", (4, 0, 0), &[]);
    check("2 tests, 0 failures, 2 invalid\n", (0, 2, 0), &[]);
    check(
        "67% tests passed, 1 tests failed out of 3\n\nTotal Test time (real) =   0.01 sec\n\nThe following tests did not run:\n\t  3 - net (Skipped)\n\nThe following tests FAILED:\n\t  2 - divides (Failed)\nErrors while running CTest\n",
        (1, 1, 1),
        &["divides"],
    );
    check("100% tests passed, 0 tests failed out of 5\n", (5, 0, 0), &[]);
    check("No tests were found!!!\n", (0, 0, 0), &[]);
    check(
        "Test Suite 'All tests' started at 2026\nTest Case 'CalcTests.testDivides' failed (0.1 seconds)\nTest Suite 'CalcTests' failed at 2026\n\t Executed 3 tests, with 2 failures (0 unexpected) in 0.1 (0.1) seconds\nTest Suite 'All tests' failed at 2026\n\t Executed 3 tests, with 1 test skipped and 2 failures (0 unexpected) in 0.1 (0.1) seconds\n",
        (1, 1, 1),
        &["CalcTests.testDivides"],
    );
    check(
        "Test Suite 'All tests' passed at 2026\n\t Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds\n◇ Test run started.\n✘ Test divides() failed after 0.001 seconds with 1 issue.\n✘ Test run with 3 tests in 1 suite failed after 0.001 seconds with 1 issue.\n",
        (2, 1, 0),
        &["divides()"],
    );
    check("✔ Test run with 3 tests passed after 0.001 seconds.\n", (3, 0, 0), &[]);
    check(
        "00:00 +0: loading a.dart\r00:01 +1: adds\r00:01 +1 -1: divides [E]\n  no\n00:02 +2 ~1 -1: Some tests failed.\n",
        (2, 1, 1),
        &["divides"],
    );
    check("00:01 +3: All tests passed!\n", (3, 0, 0), &[]);
    check("No tests ran.\n", (0, 0, 0), &[]);
    check_none("00:00 +0: loading a.dart\n00:01 +1: adds\n");
}

#[test]
fn several_programs_in_one_output_are_added() {
    check(&format!("{LIBTEST}\n3 passed in 0.01s\nOK (2 tests, 2 assertions)\n"), (6, 1, 1), &["tests::divides"]);
    assert!(!counts("1 failed, 1 passed in 0.01s\n").unwrap().is_passed());
    let none = counts("no tests ran in 0.01s\n").unwrap();
    assert!(!none.is_passed() && none.total() == 0, "no tests are not passed tests");
    check_none("");
    check_none("hello\nworld\n");
}

#[test]
fn a_gap_leaves_only_what_one_summary_after_it_tells() {
    let gap = "[… 12000 bytes left out …]\n";
    check(
        &format!("FAILED a.py::gone\n{gap}FAILED a.py::b - x\n== 1 failed, 2 passed in 0.1s ==\n"),
        (2, 1, 0),
        &["a.py::b"],
    );
    check(&format!("{gap}Tests:       1 failed, 2 passed, 3 total\n"), (2, 1, 0), &[]);
    check_none(&format!("test session starts\n{gap}FAILED a.py::b - x\n"));
    check_none(&format!("== 2 passed in 0.1s ==\n{gap}== 2 passed in 0.1s ==\n"));
    check_none(&format!("== 2 passed in 0.1s ==\n{gap}done\n"));
    // These tell a result for each of several parts, any of which may be gone.
    check_none(&format!("{gap}{LIBTEST}"));
    check_none(&format!("{gap}ok  \texample.com/b\t0.01s\n"));
    check_none(&format!("{gap}[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\n"));
    check_none(&format!("{gap}== 2 passed in 0.1s ==\n== 2 passed in 0.1s ==\n"));
    check_none(&format!("{JUNIT}\n{gap}"));
}

#[test]
fn hostile_output_costs_little_and_gives_no_panic() {
    check_none(&"x".repeat(10_000_000));
    check_none(&"ok ".repeat(3_500_000));
    check_none(&"\u{1b}[31m".repeat(2_000_000));
    check_none(&"test result: ok. ".repeat(600_000));
    check_none(&"1 passed, ".repeat(1_000_000));
    check_none(&format!("{}é", "a".repeat(LONGEST - 1)));
    check_none("test result: ok. 99999999999999999999999 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
    check_none("99999999999999999999999 passed in 0.1s\n");
    check_none("Ran 99999999999999999999999 tests in 0.1s\n\nOK\n");
    check_none("1..99999999999999999999999\nok 1\n");
    let many = "999999999999 passed in 0.1s\n".repeat(50_000);
    assert_eq!(counts(&many).unwrap().passed, 999_999_999_999 * 50_000);
    // Fewer tests than failures: the rest is not negative.
    check("Ran 1 test in 0.1s\n\nFAILED (failures=3, errors=99999999999999999999999)\n", (0, 3, 0), &[]);
    check("5 runs, 1 assertions, 999999999999 failures, 0 errors, 0 skips\n", (0, 999_999_999_999, 0), &[]);
    let deep = format!("--- PASS: {} (0.00s)\nok  \te/a\t0.1s\n", "a/".repeat(900));
    check(&deep, (1, 0, 0), &[]);
    let named = counts(&format!("FAILED a.py::x\u{1b}[31m\u{7}{} - y\n1 failed in 0.1s\n", "n".repeat(500))).unwrap();
    assert!(named.failing[0].starts_with("a.py::xn") && named.failing[0].chars().count() == 200);
    let names: String = (0..50).map(|at| format!("FAILED a.py::t{at}\n")).collect();
    assert_eq!(counts(&format!("{names}50 failed in 0.1s\n")).unwrap().failing.len(), 20);
}
