//! A change is run through the repository's own checks before anybody sees it.

use octoswarm::demo::Change;

use crate::contribute::{BODY, TITLE, UNSAFE};
use crate::sandbox;
use crate::support::world::{REPO, World};

/// A repository with that configuration, a defect, and what its checks need.
pub(crate) async fn with_checks(config: &str, files: &[(&str, &str)]) -> World {
    let world = World::start().await;
    let mut change = Change::new().write("src/a.py", UNSAFE).write(".github/octoswarm.yml", config);
    for (path, text) in files {
        change = change.write(path, text);
    }
    world.people().push("ada", REPO, "main", "Read settings", change).await.unwrap();
    world.settle().await;
    world
}

/// Whether this machine has a sandbox; says so aloud where it has none.
pub(crate) async fn sandboxed() -> bool {
    sandbox::place().await.is_some()
}

const PASSES: &str = "grep -q safe_load src/a.py && echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; \
                      0 filtered out; finished in 0.01s'";

#[tokio::test]
async fn what_passed_is_told_with_its_numbers_and_the_pull_request_is_ready() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks(&format!("commands:\n  format: test ! -e .git\n  test: {PASSES:?}\n"), &[]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    let body = pull.body.clone().unwrap();
    assert!(body.contains("3 passed, 1 skipped") && !body.contains('❌'), "{body}");
    assert!(!body.contains("tests, linters and builds"), "{body}");
    assert!(!pull.draft, "{body}");
    world.end().await;
}

#[tokio::test]
async fn a_check_that_fails_is_named_and_makes_a_draft() {
    if !sandboxed().await {
        return;
    }
    let test = "grep -q safe_load src/a.py && { echo 'test settings::reads ... FAILED'; echo; echo failures:; \
                echo '    settings::reads'; echo; \
                echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s'; exit 101; }; exit 0";
    let config = format!("commands:\n  lint: sh lint.sh\n  test: {test:?}\n");
    let world = with_checks(&config, &[("lint.sh", "echo @ada fine\n")]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    let body = pull.body.clone().unwrap();
    assert!(body.contains("2 passed, 1 failed") && body.contains("exit code 101"), "{body}");
    assert!(body.contains("settings::reads") && !body.contains("fails without the change"), "{body}");
    assert!(pull.draft && !body.contains("@ada fine"), "{body}");
    world.end().await;
}

#[tokio::test]
async fn what_failed_before_the_change_too_is_not_laid_at_its_door() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("commands:\n  build: exit 3\n", &[]).await;
    world.ask(TITLE, BODY).await;
    let body = world.own_pulls().remove(0).body.clone().unwrap();
    assert!(body.contains("exit code 3; the same fails without the change"), "{body}");
    world.end().await;
}

#[tokio::test]
async fn where_checks_are_required_and_fail_the_issue_is_told_and_nothing_is_opened() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("checks: require\ncommands:\n  test: echo no; exit 7\n", &[]).await;
    let number = world.ask(TITLE, BODY).await;
    assert!(world.own_pulls().is_empty());
    let said = world.said(number);
    assert!(said.len() == 1 && said[0].contains("exit code 7"), "{said:?}");
    world.end().await;
}

#[tokio::test]
async fn checks_that_are_switched_off_do_not_run() {
    let world = with_checks("checks: off\ncommands:\n  test: exit 9\n", &[]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    let body = pull.body.clone().unwrap();
    assert!(body.contains("switched them off") && !body.contains("exit code"), "{body}");
    assert!(pull.draft);
    world.end().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_no_failure_of_the_change() {
    if !sandboxed().await {
        return;
    }
    let world = with_checks("commands:\n  lint: no-such-linter --strict\n", &[]).await;
    world.ask(TITLE, BODY).await;
    let body = world.own_pulls().remove(0).body.clone().unwrap();
    assert!(body.contains("`no-such-linter` cannot be started where octoswarm runs") && !body.contains('❌'), "{body}");
    world.end().await;
}

/// What a runner writes, three cases of which one fails.
const REPORT: &str = "<testsuite name='a'><testcase classname='calc' name='adds'/><testcase name='skips'><skipped/></testcase>\
                      <testcase classname='calc' name='divides'><failure>no</failure></testcase></testsuite>";

/// A repository whose test command runs that script; what the pull request says of it.
async fn reported(script: &str, files: &[(&str, &str)]) -> String {
    let all: Vec<(&str, &str)> = files.iter().copied().chain([("test.sh", script), ("report.txt", REPORT)]).collect();
    let world = with_checks("commands:\n  test: sh test.sh\n", &all).await;
    world.ask(TITLE, BODY).await;
    let body = world.own_pulls().remove(0).body.clone().unwrap();
    world.end().await;
    body
}

#[tokio::test]
async fn where_the_output_tells_no_numbers_a_report_that_was_left_does() {
    if !sandboxed().await {
        return;
    }
    let script = "mkdir -p target/surefire-reports; echo talk\n\
                  for n in a b; do cp report.txt target/surefire-reports/TEST-$n.xml; done; cp report.txt junit.xml; exit 1\n";
    // What was there before the command is nobody's result, and the same again elsewhere is not counted twice.
    let body = reported(script, &[("target/surefire-reports/TEST-old.xml", REPORT)]).await;
    assert!(body.contains("2 passed, 2 failed, 2 skipped") && body.contains("calc.divides"), "{body}");
    let body = reported("mkdir -p test-results; cp report.txt test-results/all.xml; exit 1\n", &[]).await;
    assert!(body.contains("1 passed, 1 failed, 1 skipped"), "{body}");
    let body = reported("exit 1\n", &[("junit.xml", REPORT)]).await;
    assert!(!body.contains("1 passed") && body.contains("exit code 1"), "{body}");
}

/// One of them that cannot be read leaves the numbers unknown; the check is judged by its exit code all the same.
#[tokio::test]
async fn a_report_that_is_hostile_costs_its_numbers_alone() {
    if !sandboxed().await {
        return;
    }
    let bomb = "<?xml version='1.0'?><!DOCTYPE r [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
                <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]>\
                <testsuite><testcase name='&c;'><failure/></testcase></testsuite>";
    let body = reported("cp bomb.txt junit.xml; exit 1\n", &[("bomb.txt", bomb)]).await;
    assert!(body.contains("0 passed, 1 failed") && !body.contains("aaaaaaaaaa"), "{body}");
    let cases = [
        "ln -s /etc/passwd junit.xml",
        "ln -s report.txt junit.xml",
        "mkfifo junit.xml",
        "mkdir -p test-results; cp report.txt test-results/a.xml; ln -s ../report.txt test-results/b.xml; head -c 40 report.txt > test-results/c.xml",
        "{ cat report.txt; } > junit.xml; truncate -s 900M junit.xml",
        "ln -s . reports; { printf '<testsuite>'; yes '<a>' | head -n 100000; } > junit.xml",
    ];
    for line in cases {
        let body = reported(&format!("{line}; exit 1\n"), &[]).await;
        assert!(body.contains("exit code 1") && !body.contains(" passed, "), "{line}: {body}");
        assert!(!body.contains("root:"), "{line}: {body}");
    }
}

/// The App's key, the webhook's secret, tokens, the state: a build script has looked for them.
#[tokio::test]
async fn a_build_script_finds_neither_keys_nor_the_servers_state() {
    if !sandboxed().await {
        return;
    }
    let script = "env; cat /proc/*/environ; ls -R / 2>/dev/null | grep -E 'octoswarm.db|webhook|mirrors'; \
                  grep -rl 'PRIVATE KEY' / --include='*.pem' --exclude-dir=usr --exclude-dir=proc 2>/dev/null; \
                  ls .git ../.git; (echo > /dev/tcp/127.0.0.1/80) 2>&1; exit 5\n";
    let world = with_checks(
        "commands:\n  build: bash ./build.sh > /work/out 2>&1; cat /work/out; exit 5\n",
        &[("build.sh", script)],
    )
    .await;
    world.ask(TITLE, BODY).await;
    let body = world.own_pulls().remove(0).body.clone().unwrap();
    assert!(body.contains("exit code 5"), "{body}");
    for secret in ["PRIVATE KEY", "ghs_", "OCTOSWARM", "octoswarm.db"] {
        assert!(!body.contains(secret), "{secret}: {body}");
    }
    world.end().await;
}

/// The operator's proxy is asked for the registry by its name, and what it says is no fault of the change.
#[tokio::test]
async fn an_installation_goes_through_the_proxy_that_the_operator_has_named() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    if !sandboxed().await {
        return;
    }
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.unwrap();
        String::from_utf8(head).unwrap()
    });
    let install = format!("{} http://packages.invalid:8443/a", crate::sandbox::proxy::CURL);
    let mut world = with_checks(&format!("commands:\n  install: {install:?}\n  test: exit 0\n"), &[]).await;
    world
        .restart_with(|config| {
            config.sandbox.proxy = Some(at.to_string());
            config.sandbox.registries = vec!["packages.invalid:8443".to_owned()];
        })
        .await;
    world.ask(TITLE, BODY).await;
    assert!(asked.await.unwrap().starts_with("CONNECT packages.invalid:8443 HTTP/1.1\r\n"));
    let body = world.own_pulls().remove(0).body.clone().unwrap();
    assert!(body.contains("its dependencies are not there"), "{body}");
    world.end().await;
}
