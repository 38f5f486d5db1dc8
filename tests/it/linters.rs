//! Other people's linters in a review: what they say of changed lines is told once, with their name, as long as it holds.
//! The linters here are stand-ins that print what the true ones print.

use std::os::unix::fs::PermissionsExt;

use octoswarm::demo::{Change, OpenPull};

use crate::support::world::{REPO, World};
use crate::trial::sandboxed;

mod local;
mod page;

/// Says what ruff says of every line that holds `F401`, `S307` or `HOSTILE`, as JSON with places.
const RUFF: &str = r##"#!/bin/sh
case "$*" in *--output-format\ json*) ;; *) echo "error: unexpected arguments: $*" >&2; exit 2;; esac
find . -name '*.py' | sort | while read -r file; do
  awk -v file="$PWD/${file#./}" '
    function say(code, message) {
      printf "%s{\"cell\":null,\"code\":\"%s\",\"end_location\":{\"column\":%d,\"row\":%d},\"filename\":\"%s\",\"fix\":null,\"location\":{\"column\":1,\"row\":%d},\"message\":\"%s\",\"noqa_row\":1,\"url\":\"https://docs.astral.sh/ruff/rules/%s\"}\n", "", code, length($0) + 1, NR, file, NR, message, code
    }
    /F401/ { say("F401", "`os` imported but unused") }
    /eval\(/ { say("S307", "Use of possibly insecure function") }
    /HOSTILE/ { say("E501", "Ping @ada, <img src=x>, fixes #1\\n/approve\\n![x](https://evil.example/p.png) ghp_abcdefghijklmnopqrstuvwxyz0123456789") }
  ' "$file"
done > /tmp/answers
echo '['; sed '$!s/$/,/' /tmp/answers; echo ']'
test ! -s /tmp/answers
"##;
const BROKEN: &str = "#!/bin/sh\necho 'thread main panicked: @ada <b>look</b>' >&2\nexit 2\n";
/// Runs until it is stopped.
const ENDLESS: &str = "#!/bin/sh\nsleep 100\n";

/// Programs in a folder that everybody may read.
fn tools(programs: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, text) in programs {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

/// A repository that has set up its linters, on a server that has these programs.
async fn with_linters(config: &str, programs: &[(&str, &str)]) -> (World, tempfile::TempDir) {
    let dir = tools(programs);
    let mut world = World::start().await;
    let folder = dir.path().to_owned();
    world.restart_with(|config| config.sandbox.tools = vec![folder]).await;
    let change = Change::new()
        .write("ruff.toml", "line-length = 100\n")
        .write("src/app.py", "import old  # F401\n\n\ndef f():\n    return 1\n")
        .write(".github/octoswarm.yml", config);
    world.people().push("ada", REPO, "main", "Set up", change).await.unwrap();
    world.settle().await;
    (world, dir)
}

fn summary(world: &World, number: u64) -> String {
    world.check(number).summary.unwrap()
}

#[tokio::test]
async fn what_a_linter_says_of_changed_lines_is_told_with_its_name_and_what_ours_says_too_only_once() {
    if !sandboxed().await {
        return;
    }
    let (world, _tools) = with_linters("", &[("ruff", RUFF)]).await;
    let text = "import old  # F401\nimport new  # F401\n\n\ndef f(x):\n    return eval(x)\n";
    let number = world.open("src/app.py", text).await;
    assert_eq!(world.comment_places(number), ["src/app.py:2", "src/app.py:6"]);
    let comments = world.comments(number);
    let theirs = &comments.iter().find(|comment| comment.original_line == 2).unwrap().body;
    assert!(theirs.contains("rule `ruff/F401`") && theirs.contains("`os` imported but unused"), "{theirs}");
    assert!(theirs.contains("https://docs.astral.sh/ruff/rules/F401"), "{theirs}");
    let ours = &comments.iter().find(|comment| comment.original_line == 6).unwrap().body;
    assert!(ours.contains("eval-of-data") && !ours.contains("S307"), "{ours}");
    assert!(summary(&world, number).contains("Linters asked: ruff."), "{}", summary(&world, number));
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_linters_finding_is_told_once_across_pushes_and_resolved_when_it_is_fixed() {
    if !sandboxed().await {
        return;
    }
    let (world, _tools) = with_linters("", &[("ruff", RUFF)]).await;
    let number = world.open("src/new.py", "import a  # F401\n").await;
    assert_eq!(world.comment_places(number), ["src/new.py:1"]);
    world.push(number, "src/new.py", "# A word.\n\nimport a  # F401\n").await;
    assert_eq!(world.comments(number).len(), 1, "the same on another line is the same");
    assert!(world.resolved_places(number).is_empty());
    world.push(number, "src/new.py", "# A word.\n").await;
    assert_eq!(world.comments(number).len(), 1);
    assert_eq!(world.resolved_places(number).len(), 1);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_linter_that_broke_fails_no_review_resolves_nothing_and_is_named() {
    if !sandboxed().await {
        return;
    }
    let (world, tools) = with_linters("", &[("ruff", RUFF)]).await;
    let number = world.open("src/new.py", "import a  # F401\n").await;
    std::fs::write(tools.path().join("ruff"), BROKEN).unwrap();
    world.push(number, "src/new.py", "import a  # F401\n\nx = 1\n").await;
    let told = summary(&world, number);
    assert!(told.contains("Not asked: ruff: it ended with exit code 2:"), "{told}");
    assert!(told.contains("`@ada`") && told.contains("`<b>look</b>`"), "shown, and nothing else: {told}");
    assert!(world.resolved_places(number).is_empty(), "nobody has looked whether it is gone");
    assert_eq!(world.conclusion(number), "success");
    world.reviews(number);
    world.comments(number);
    world.end().await;
}

#[tokio::test]
async fn what_a_linter_quotes_acts_on_nobody() {
    if !sandboxed().await {
        return;
    }
    let (world, _tools) = with_linters("", &[("ruff", RUFF)]).await;
    let number = world.open("src/new.py", "x = 'HOSTILE'\n").await;
    let body = world.comments(number).remove(0).body;
    assert!(body.contains("ruff/E501"), "{body}");
    for acts in ["Ping @ada,", "<img src=x>,", "\n/approve", "ghp_abcdefghijklmnopqrstuvwxyz", " #1", "\n!["] {
        assert!(!body.contains(acts), "{acts}: {body}");
    }
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_linter_that_runs_the_repositorys_code_never_sees_a_forks_change() {
    if !sandboxed().await {
        return;
    }
    let config = "linters: [ruff, eslint]\n";
    let (world, _tools) = with_linters(config, &[("ruff", RUFF)]).await;
    let change = Change::new()
        .write("src/new.py", "import a  # F401\n")
        .write("web/a.js", "const a = 1;\n")
        .write("eslint.config.js", "require('fs')\n");
    let pull = OpenPull::new("eve", "idea", "An idea", change);
    let number = world.people().open_pull_from_fork(REPO, pull).await.unwrap();
    world.settle().await;
    let told = summary(&world, number);
    assert!(told.contains("Linters asked: ruff."), "{told}");
    assert!(
        told.contains("Not asked: eslint: it runs the repository's code, and this change comes from a fork"),
        "{told}"
    );
    assert_eq!(world.comment_places(number), ["src/new.py:1"]);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_linter_that_nobody_named_and_that_is_not_there_is_not_spoken_of() {
    let (world, _tools) = with_linters("", &[]).await;
    let number = world.open("src/new.py", "import a  # F401\n").await;
    assert!(!summary(&world, number).contains("asked"), "{}", summary(&world, number));
    assert!(world.comments(number).is_empty());
    world.end().await;
}

#[tokio::test]
async fn a_linter_that_is_named_and_cannot_be_asked_is_told_of_with_the_reason() {
    let (world, _tools) = with_linters("linters: [ruff, semgrep]\n", &[("semgrep", RUFF)]).await;
    let number = world.open("src/new.py", "import a  # F401\n").await;
    let told = summary(&world, number);
    assert!(told.contains("Not asked: ruff: `ruff` is not installed where octoswarm runs."), "{told}");
    assert!(told.contains("Not asked: semgrep: the repository has no rules of its own for it"), "{told}");
    world.end().await;
}

#[tokio::test]
async fn rules_of_linters_are_switched_off_and_files_left_alone_as_ours_are() {
    if !sandboxed().await {
        return;
    }
    let (world, _tools) = with_linters("disable: [ruff/F401]\nignore: ['gen/**']\n", &[("ruff", RUFF)]).await;
    let change = Change::new().write("src/new.py", "import a  # F401\n").write("gen/a.py", "x = 'HOSTILE'\n");
    let number = world.people().open_pull(REPO, OpenPull::new("ada", "quiet", "Quiet", change)).await.unwrap();
    world.settle().await;
    assert!(world.comments(number).is_empty());
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn linters_that_are_switched_off_are_not_asked() {
    let (world, _tools) = with_linters("linters: off\n", &[("ruff", RUFF)]).await;
    let number = world.open("src/new.py", "import a  # F401\n").await;
    assert!(world.comments(number).is_empty() && !summary(&world, number).contains("Linters"));
    world.end().await;
}

#[tokio::test]
async fn a_change_cannot_switch_its_own_linters_off() {
    if !sandboxed().await {
        return;
    }
    let (world, _tools) = with_linters("", &[("ruff", RUFF)]).await;
    let change = Change::new()
        .write("src/new.py", "import a  # F401\n")
        .write(".github/octoswarm.yml", "linters: off\n")
        .write("ruff.toml", "exclude = ['*']\n");
    let number = world.people().open_pull(REPO, OpenPull::new("ada", "sly", "Sly", change)).await.unwrap();
    world.settle().await;
    assert_eq!(world.comment_places(number), ["src/new.py:1"]);
    world.reviews(number);
    world.end().await;
}

#[tokio::test]
async fn a_push_stops_the_linters_of_the_review_that_it_overtakes() {
    if !sandboxed().await {
        return;
    }
    let (world, tools) = with_linters("", &[("ruff", ENDLESS)]).await;
    let pull = OpenPull::new("ada", "late", "Late", Change::new().write("src/new.py", "import a  # F401\n"));
    let number = world.people().open_pull(REPO, pull).await.unwrap();
    let began = std::time::Instant::now();
    while world.app.store().runs(10).await.unwrap().iter().all(|run| run.kind != "review") {
        assert!(began.elapsed().as_secs() < 20, "no review has begun");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    std::fs::write(tools.path().join("ruff"), RUFF).unwrap();
    world.push(number, "src/new.py", "import b  # F401\n").await;
    assert!(began.elapsed().as_secs() < 60, "it waited for the linter");
    assert_eq!(world.comment_places(number), ["src/new.py:1"]);
    world.reviews(number);
    world.end().await;
}
