//! A change of ours leaves in the repository's own form: what its formatter makes of the files, and what it may not do.

use crate::contribute::{BODY, SAFE, TITLE, UNSAFE};
use crate::support::world::{REPO, World};
use crate::trial::{sandboxed, with_checks};

/// Wants a line at the end of every Python file, as a formatter wants its form; and puts it there.
const CHECK: &str =
    "bad=$(grep -L '# formatted' src/*.py); for f in $bad; do echo would reformat $f; done; test -z \"$bad\"";

/// The form of what is there before, so that only our change breaks it.
fn formatted(text: &str) -> String {
    format!("{text}# formatted\n")
}

/// A repository whose check fails over every file that says `safe_load`, and the command that makes it right.
fn config(reformat: &str) -> String {
    let check = "bad=$(grep -l safe_load src/*.py | xargs -r grep -L '# formatted'); for f in $bad; do echo \"would reformat $f\"; \
                 done; test -z \"$bad\"";
    format!("commands:\n  format: {check:?}\n  reformat: {reformat:?}\n")
}

async fn asked(reformat: &str) -> (World, octoswarm::demo::Pull, String) {
    let world =
        with_checks(&config(reformat), &[("src/z.py", "y = 2\n"), ("src/safe.py", "safe_load = 1\n# formatted\n")])
            .await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    let body = pull.body.clone().unwrap();
    (world, pull, body)
}

#[tokio::test]
async fn a_change_that_is_out_of_form_is_formatted_by_the_repositorys_own_command() {
    if !sandboxed().await {
        return;
    }
    let (world, pull, body) = asked("for f in src/*.py; do echo '# formatted' >> $f; done").await;
    let text = |path: &str| world.github.file(REPO, &pull.head_sha, path);
    assert_eq!(text("src/a.py"), Some(formatted(SAFE)));
    // What the change does not touch is not its business.
    assert_eq!(text("src/z.py").as_deref(), Some("y = 2\n"));
    assert!(body.contains("Formatting: `src/a.py` by `for f in src/"), "{body}");
    assert!(body.contains("src/a.py` (+2 −1)"), "{body}");
    assert!(!body.contains('❌') && !pull.draft, "{body}");
    world.end().await;
}

#[tokio::test]
async fn what_is_in_form_is_left_alone() {
    if !sandboxed().await {
        return;
    }
    let config = "commands:\n  format: grep -q safe_load src/a.py\n  reformat: echo '# formatted' >> src/a.py\n";
    let world = with_checks(config, &[]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    assert_eq!(world.github.file(REPO, &pull.head_sha, "src/a.py").as_deref(), Some(SAFE));
    assert!(!pull.body.clone().unwrap().contains("Formatting"));
    world.end().await;
}

#[tokio::test]
async fn what_was_out_of_form_before_is_nobodys_excuse_to_rewrite_it() {
    if !sandboxed().await {
        return;
    }
    let config = format!(
        "commands:\n  format: {CHECK:?}\n  reformat: 'for f in src/*.py; do echo \"# formatted\" >> $f; done'\n"
    );
    let world = with_checks(&config, &[]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    assert_eq!(world.github.file(REPO, &pull.head_sha, "src/a.py").as_deref(), Some(SAFE));
    let body = pull.body.clone().unwrap();
    assert!(body.contains("the same fails without the change"), "{body}");
    world.end().await;
}

/// The gate judges again: a formatter may not bring what a change may not.
#[tokio::test]
async fn what_the_gate_refuses_of_a_formatters_work_is_not_committed() {
    if !sandboxed().await {
        return;
    }
    let (world, pull, body) = asked("printf '# formatted\\ndef (:\\n' >> src/a.py").await;
    assert_eq!(world.github.file(REPO, &pull.head_sha, "src/a.py").as_deref(), Some(SAFE));
    assert!(body.contains("not everything is formatted") && body.contains("no longer be parsed"), "{body}");
    assert!(pull.draft && body.contains('❌') && body.contains("(+1 −1)"), "{body}");
    world.end().await;
}

#[tokio::test]
async fn a_formatter_that_fails_changes_nothing() {
    if !sandboxed().await {
        return;
    }
    let (world, pull, body) = asked("echo '# formatted' >> src/a.py; exit 3").await;
    assert_eq!(world.github.file(REPO, &pull.head_sha, "src/a.py").as_deref(), Some(SAFE));
    assert!(body.contains("not everything is formatted") && body.contains("exit code 3"), "{body}");
    world.end().await;
}

/// Each puts something else where our file was; what is read of it is nothing, and the checks see our text again.
#[tokio::test]
async fn a_formatter_that_leaves_no_text_file_is_not_followed() {
    if !sandboxed().await {
        return;
    }
    let cases = [
        ("rm src/a.py; ln -s /etc/passwd src/a.py", "no regular file"),
        ("rm -r src; ln -s /etc src", "no regular file"),
        ("rm src/a.py; mkfifo src/a.py", "no regular file"),
        ("rm src/a.py; mkdir src/a.py; touch src/a.py/b", "no regular file"),
        ("rm src/a.py", "is gone"),
        ("rm src/a.py; truncate -s 900M src/a.py", "larger than anything"),
        ("printf 'x\\0y' > src/a.py", "no text"),
        ("printf '\\377\\376' > src/a.py", "no text"),
    ];
    for (line, why) in cases {
        let (world, pull, body) = asked(line).await;
        let text = world.github.file(REPO, &pull.head_sha, "src/a.py");
        assert_eq!(text.as_deref(), Some(SAFE), "{line}");
        assert!(body.contains("not everything is formatted") && body.contains(why), "{line}: {body}");
        assert!(!body.contains("root:") && !body.contains("Formatting:") && pull.draft, "{line}: {body}");
        // The check is judged over what is committed, not over what the formatter left.
        assert!(body.contains("❌") && body.contains("src/a.py"), "{line}: {body}");
        world.end().await;
    }
}

#[tokio::test]
async fn the_other_checks_run_over_what_is_committed() {
    if !sandboxed().await {
        return;
    }
    let test = "test $(grep -c formatted src/a.py) = 1 && test $(cat src/z.py) = y && echo seen >&2; exit 0";
    let reformat = "for f in src/*.py; do echo '# formatted' >> $f; done; echo broken > src/z.py";
    let config = format!("{}  test: {test:?}\n  lint: \"test $(cat src/z.py) = y\"\n", config(reformat));
    let world = with_checks(&config, &[("src/z.py", "y\n")]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    let body = pull.body.clone().unwrap();
    assert!(!body.contains('❌') && !pull.draft, "{body}");
    assert_eq!(world.github.file(REPO, &pull.head_sha, "src/a.py"), Some(formatted(SAFE)));
    world.end().await;
}

#[tokio::test]
async fn of_the_files_of_a_change_those_that_were_out_of_form_before_stay_so() {
    if !sandboxed().await {
        return;
    }
    let check = "echo would reformat src/a.py; grep -q safe_load src/b.py && ! grep -q formatted src/b.py && \
                 echo would reformat src/b.py; exit 1";
    let reformat = "for f in src/*.py; do echo '# formatted' >> $f; done";
    let config = format!("commands:\n  format: {check:?}\n  reformat: {reformat:?}\n");
    let world = with_checks(&config, &[("src/b.py", UNSAFE)]).await;
    world.ask(TITLE, BODY).await;
    let pull = world.own_pulls().remove(0);
    let text = |path: &str| world.github.file(REPO, &pull.head_sha, path);
    assert_eq!(text("src/a.py").as_deref(), Some(SAFE));
    assert_eq!(text("src/b.py"), Some(formatted(SAFE)));
    let body = pull.body.clone().unwrap();
    assert!(body.contains("Formatting: `src/b.py` by"), "{body}");
    world.end().await;
}
