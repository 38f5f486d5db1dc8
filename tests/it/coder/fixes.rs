//! The coder on a pull request: the fixes that the review proved, and nothing else.

use octoswarm::agent::{Pack, Registry, Reviewing};
use octoswarm::artifact::ReviewFacts;
use octoswarm::artifact::facts::ReviewSettings;
use octoswarm::pipeline::{Crew, Journal, fix};

use super::*;

const OLD: &str = "import yaml\n\n\ndef old(f):\n    return yaml.load(f)\n";
const NEW: &str = "import yaml\n\n\ndef old(f):\n    return yaml.load(f)\n\n\ndef new(f, x=[]):\n    if f == None:\n        return x\n    return yaml.load(f)\n";

async fn fixed(bench: &Bench) -> (CodeChanges, octoswarm::workspace::Change) {
    let change = local::change(bench.dir.path(), Some("main"), Some("topic")).await.unwrap();
    let diff = change.diff().await.unwrap();
    let facts = ReviewFacts {
        repo: "local/depot".into(),
        base: change.base.clone(),
        head: change.head.clone(),
        files: diff.files,
        not_read: diff.not_read,
        watched: Vec::new(),
        settings: ReviewSettings::default(),
        linted: Default::default(),
    };
    let cx = Context {
        engine: Arc::clone(&bench.engine),
        cancel: CancellationToken::new(),
        clock: Clock::manual(NOW),
        scene: Scene::Review(Reviewing {
            change: change.clone(),
            facts: Arc::new(facts),
            pack: Arc::new(Pack::default()),
        }),
    };
    let fixed = fix::run(&cx, &Journal::unkept(Crew::direct(Registry::builtin()))).await.unwrap();
    (fixed.changes.outcome.unwrap(), change)
}

#[tokio::test]
async fn every_proven_fix_of_the_change_is_made_and_what_was_there_before_stays() {
    let bench = Bench::of(&[("a.py", OLD)]);
    git(bench.dir.path(), &["checkout", "-q", "-b", "topic"]);
    bench.write("a.py", NEW);
    bench.write(".ci/check.py", "def check(a):\n    return a == None\n");
    bench.commit();
    let (changes, change) = fixed(&bench).await;
    let gated = gate::check(&bench.engine, &change.head_tree(), &changes, &bench.settings).await.unwrap().unwrap();
    let Edit::Write { path, text, .. } = &gated.edits[0] else { panic!("{:?}", gated.edits) };
    let want = NEW.replace("f == None", "f is None").replace("x\n    return yaml.load", "x\n    return yaml.safe_load");
    assert_eq!((path.as_str(), String::from_utf8_lossy(text).as_ref(), gated.edits.len()), ("a.py", want.as_str(), 1));
    assert_eq!(changes.suggested_commit_message, "fix: apply 2 proven fixes of the review");
    assert!(
        changes.validation.errors.iter().any(|line| line.contains(".ci/check.py")),
        "{:?}",
        changes.validation.errors
    );
}

#[tokio::test]
async fn a_review_without_a_fix_is_declined_with_a_reason() {
    let bench = Bench::of(&[("a.py", OLD)]);
    git(bench.dir.path(), &["checkout", "-q", "-b", "topic"]);
    bench.write("a.py", &format!("{OLD}\n\ndef fresh():\n    return 1\n"));
    bench.commit();
    let (changes, _) = fixed(&bench).await;
    assert!(!changes.commit_ready && changes.changes.is_empty() && !changes.validation.errors.is_empty());
}
