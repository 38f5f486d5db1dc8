//! Which tasks a text comes to.

use std::collections::BTreeSet;

use octoswarm::agent::check_plan;
use octoswarm::artifact::plan::{Plan, Task, TaskKind};
use octoswarm::artifact::{Planned, Unplanned};
use proptest::prelude::*;

use super::*;

impl Bench {
    async fn planned(&self) -> Planned {
        let mut known = BTreeMap::new();
        for role in [Role::Scout, Role::Manager, Role::Analyst, Role::Explorer, Role::Planner] {
            let document = self.ask(role, &known).await.unwrap();
            known.insert(role.name(), document);
        }
        serde_json::from_value(known.remove("planner").unwrap()).unwrap()
    }

    async fn plan(&self) -> Plan {
        match self.planned().await {
            Planned::Plan(plan) => *plan,
            Planned::Unplanned(unplanned) => panic!("{unplanned:#?}"),
        }
    }

    async fn unplanned(&self) -> Unplanned {
        match self.planned().await {
            Planned::Plan(plan) => panic!("{plan:#?}"),
            Planned::Unplanned(unplanned) => unplanned,
        }
    }
}

fn tasks(plan: &Plan) -> Vec<&Task> {
    plan.milestones.iter().flat_map(|milestone| &milestone.tasks).collect()
}

#[track_caller]
fn task<'p>(plan: &'p Plan, words: &str) -> &'p Task {
    let all = tasks(plan);
    all.iter().find(|task| task.title.contains(words)).unwrap_or_else(|| panic!("no task \"{words}\": {all:#?}"))
}

/// What holds of every plan, whatever it was made of.
#[track_caller]
fn assert_sound(plan: &Plan, files: &[(&str, &str)]) {
    let checked = check_plan(&serde_json::to_value(plan).unwrap());
    assert!(checked.validation.is_valid, "{:?}", checked.validation.issues);
    assert_eq!(checked.validation.quality_score, 100);
    let known: BTreeSet<&str> = files.iter().map(|(path, _)| *path).collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for task in tasks(plan) {
        for before in &task.input_dependencies {
            assert!(done.contains(before.as_str()), "{} waits for {before}, which comes later", task.id);
        }
        assert!(!task.affected_modules.is_empty(), "{task:#?}");
        let new = task.affected_modules.iter().filter(|path| !known.contains(path.as_str())).count();
        assert!(new <= 1, "{:?} names files that are not there", task.affected_modules);
        let parts = task.effort_breakdown.unwrap();
        assert_eq!(parts.analysis + parts.implementation + parts.testing + parts.documentation, task.estimated_effort);
        assert!(task.estimated_effort > 0.0 && task.estimated_effort <= 40.0, "{}", task.estimated_effort);
        done.insert(&task.id);
    }
    assert!(!checked.validation.warnings.iter().any(|warning| warning.contains("which are more")));
}

/// The same three layers in one language: the store at the bottom, the service on it, the door on top.
fn layered(language: &str) -> Vec<(&'static str, &'static str)> {
    match language {
        "Python" => vec![
            ("inventory/__init__.py", ""),
            ("inventory/storage.py", "class Storage:\n    def persist(self, row):\n        return row\n"),
            (
                "inventory/warehouse.py",
                "from .storage import Storage\n\n\nclass Warehouse:\n    def restock(self, sku):\n        return Storage().persist(sku)\n",
            ),
            (
                "inventory/terminal.py",
                "from inventory.warehouse import Warehouse\n\n\ndef prompt(line):\n    return Warehouse().restock(line)\n",
            ),
            ("tests/test_warehouse.py", "from inventory.warehouse import Warehouse\n"),
            ("README.md", "# Inventory\n\nThe warehouse and its terminal.\n"),
        ],
        "TypeScript" => vec![
            ("src/storage.ts", "export class Storage {\n  persist(row: string) { return row; }\n}\n"),
            (
                "src/warehouse.ts",
                "import { Storage } from './storage';\n\nexport class Warehouse {\n  restock(sku: string) { return new Storage().persist(sku); }\n}\n",
            ),
            (
                "src/terminal.ts",
                "import { Warehouse } from './warehouse.js';\n\nexport const prompt = (line: string) => new Warehouse().restock(line);\n",
            ),
            ("package.json", "{\"name\": \"inventory\"}"),
            ("README.md", "# Inventory\n"),
        ],
        "Rust" => vec![
            ("Cargo.toml", "[package]\nname = \"inventory\"\n"),
            ("src/main.rs", "mod storage;\nmod terminal;\nmod warehouse;\nfn main() { terminal::prompt(\"a\"); }\n"),
            ("src/storage.rs", "pub struct Storage;\nimpl Storage {\n    pub fn persist(&self, row: &str) {}\n}\n"),
            (
                "src/warehouse.rs",
                "use crate::storage::Storage;\n\npub struct Warehouse;\nimpl Warehouse {\n    pub fn restock(&self, sku: &str) { Storage.persist(sku) }\n}\n",
            ),
            (
                "src/terminal.rs",
                "use crate::warehouse::Warehouse;\n\npub fn prompt(line: &str) { Warehouse.restock(line) }\n",
            ),
        ],
        "Go" => vec![
            ("go.mod", "module example.com/inventory\n"),
            ("storage/storage.go", "package storage\n\nfunc Persist(row string) string { return row }\n"),
            (
                "warehouse/warehouse.go",
                "package warehouse\n\nimport \"example.com/inventory/storage\"\n\nfunc Restock(sku string) string { return storage.Persist(sku) }\n",
            ),
            (
                "terminal/terminal.go",
                "package terminal\n\nimport (\n\t\"example.com/inventory/warehouse\"\n)\n\nfunc Prompt(line string) string { return warehouse.Restock(line) }\n",
            ),
        ],
        _ => vec![
            ("pom.xml", "<project></project>"),
            (
                "src/main/java/inv/Storage.java",
                "package inv;\n\npublic class Storage {\n    public String persist(String row) { return row; }\n}\n",
            ),
            (
                "src/main/java/inv/Warehouse.java",
                "package inv;\n\nimport inv.Storage;\n\npublic class Warehouse {\n    public String restock(String sku) { return new Storage().persist(sku); }\n}\n",
            ),
            (
                "src/main/java/inv/Terminal.java",
                "package inv;\n\nimport inv.Warehouse;\n\npublic class Terminal {\n    public String prompt(String line) { return new Warehouse().restock(line); }\n}\n",
            ),
        ],
    }
}

const UPSIDE_DOWN: &str = "We need three things:\n\n- The terminal prompt should accept a comma\n- The warehouse must restock several items at once\n- Persist every row twice in the storage\n";

#[tokio::test]
async fn s1_12_the_tasks_name_existing_files_and_an_acyclic_order_in_every_language() {
    for language in ["Python", "TypeScript", "Rust", "Go", "Java"] {
        let files = layered(language);
        let plan = Bench::new(&files).await.issue("Larger deliveries", UPSIDE_DOWN).plan().await;
        assert_sound(&plan, &files);
        let place = |words: &str| {
            let task = task(&plan, words);
            assert_eq!(task.kind, TaskKind::Feature, "{language}");
            (task.target_module.clone().unwrap().to_lowercase(), task.id.clone())
        };
        let (storage, warehouse, terminal) = (place("Persist"), place("warehouse"), place("terminal prompt"));
        for (found, stem) in [(&storage, "storage."), (&warehouse, "warehouse."), (&terminal, "terminal.")] {
            assert!(found.0.contains(stem), "{language}: {} is not {stem}*", found.0);
        }
        assert_eq!(
            task(&plan, "warehouse").input_dependencies,
            [storage.1],
            "{language}: what is imported comes first"
        );
        assert_eq!(task(&plan, "terminal prompt").input_dependencies, [warehouse.1], "{language}");
        let kinds: Vec<TaskKind> = tasks(&plan).iter().map(|task| task.kind).collect();
        assert!(kinds.contains(&TaskKind::Test), "{language}: {kinds:?}");
        let last_code = kinds.iter().rposition(|kind| *kind == TaskKind::Feature).unwrap();
        assert!(kinds[last_code + 1..].iter().all(|kind| *kind != TaskKind::Feature), "{language}");
    }
}

#[tokio::test]
async fn s1_12_milestones_are_layers_and_fit_their_days() {
    let files = layered("Python");
    let plan = Bench::new(&files).await.issue("Larger deliveries", UPSIDE_DOWN).plan().await;
    let titles: Vec<&str> = plan.milestones.iter().map(|milestone| milestone.title.as_str()).collect();
    let want = ["Code, layer 1 of 3", "Code, layer 2 of 3", "Code, layer 3 of 3", "Tests", "Documentation"];
    assert_eq!(titles, want);
    let ids: Vec<&str> = tasks(&plan).iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1.1", "2.1", "3.1", "4.1", "5.1"]);
    assert_eq!(tasks(&plan)[0].output_dependencies, ["2.1"], "the inverse of what waits for it");
    assert_eq!(plan.id, "P-7");
    let tests = &plan.milestones[3].tasks[0];
    assert!(tests.affected_modules.contains(&"tests/test_warehouse.py".to_owned()), "{:?}", tests.affected_modules);
}

#[tokio::test]
async fn s1_12_acceptance_criteria_go_to_the_task_that_they_speak_of() {
    let body = "## Tasks\n- [ ] add a `restock_many` function to the warehouse\n- [ ] keep a journal in the storage\n- [x] the old prompt is gone\n\n## Acceptance criteria\n- the journal of the storage survives a restart\n- restock_many with an empty list changes nothing\n";
    let files = layered("Python");
    let plan = Bench::new(&files).await.issue("Deliveries", body).plan().await;
    assert_sound(&plan, &files);
    let criteria = |words: &str| task(&plan, words).acceptance_criteria.join("\n");
    assert!(criteria("restock_many").contains("empty list") && !criteria("restock_many").contains("restart"));
    assert!(criteria("journal").contains("survives a restart"));
    assert!(!tasks(&plan).iter().any(|task| task.title.contains("old prompt")), "what is done is not planned");
}

#[tokio::test]
async fn s1_12_each_kind_of_work_has_its_kind_of_files() {
    let files = [
        ("shop/cart.py", "def total(items):\n    return sum(items)\n"),
        ("shop/exporters/json_exporter.py", "def export(cart):\n    return {}\n"),
        ("shop/exporters/xml_exporter.py", "def export(cart):\n    return ''\n"),
        ("shop/exporters/html_exporter.py", "def export(cart):\n    return ''\n"),
        ("tests/test_cart.py", "def test_total():\n    pass\n"),
        ("docs/cart.md", "# The cart\n\nHow totals are made.\n"),
        ("README.md", "# Shop\n"),
        ("Dockerfile", "FROM scratch\n"),
        ("setup.py", ""),
    ];
    let body = "- Fix the wrong total of an empty cart\n- Rename `total` in the cart to `sum_of`\n- Add a CSV exporter for the cart\n- Add tests for the cart\n- Update the documentation of the cart\n- Install curl in the Docker image\n";
    let plan = Bench::new(&files).await.issue("Next release", body).plan().await;
    assert_sound(&plan, &files);
    let found = |words: &str| (task(&plan, words).kind, task(&plan, words).target_module.clone().unwrap());
    let path = |path: &str| path.to_owned();
    assert_eq!(found("wrong total"), (TaskKind::Bugfix, path("shop/cart.py")));
    assert_eq!(found("Rename"), (TaskKind::Refactor, path("shop/cart.py")));
    assert_eq!(found("CSV exporter"), (TaskKind::Feature, path("shop/exporters/csv_exporter.py")));
    assert_eq!(found("Add tests"), (TaskKind::Test, path("tests/test_cart.py")));
    assert_eq!(found("documentation"), (TaskKind::Documentation, path("docs/cart.md")));
    assert_eq!(found("curl"), (TaskKind::Infrastructure, path("Dockerfile")));
    let order: Vec<TaskKind> = tasks(&plan).iter().map(|task| task.kind).collect();
    assert_eq!(order.first(), Some(&TaskKind::Infrastructure));
    assert_eq!(order.last(), Some(&TaskKind::Documentation));
}

#[tokio::test]
async fn s1_12_only_what_is_new_gets_a_new_file() {
    let files = [
        ("app/networking_module.py", "def send(request):\n    return request\n"),
        ("app/storage_module.py", "def keep(row):\n    return row\n"),
        ("app/page.html", "<p>networking</p>\n"),
    ];
    let target = async |title: &str| {
        let plan = Bench::new(&files).await.issue(title, "").plan().await;
        assert_sound(&plan, &files);
        tasks(&plan)[0].affected_modules.clone()
    };
    assert_eq!(target("Add a limit to the networking module").await, ["app/networking_module.py"]);
    assert_eq!(target("Add a billing module for the networking").await[0], "app/billing_module.py");
}

#[tokio::test]
async fn s1_12_risks_come_from_what_was_measured() {
    let mut files: Vec<(String, String)> =
        vec![("app/session.py".to_owned(), "def open_session(user):\n    return user\n".to_owned())];
    for n in 0..6 {
        files.push((format!("app/page{n}.py"), "from app.session import open_session\n".to_owned()));
    }
    let bench = Bench::new(&files).await.issue("Let a session expire", "The session must expire after an hour.");
    let plan = bench.plan().await;
    let risks: Vec<String> =
        task(&plan, "session").risk_factors.iter().flatten().map(|risk| risk.description.clone()).collect();
    for sign in ["security", "6 modules import app/session.py", "no test covers"] {
        assert!(risks.iter().any(|risk| risk.contains(sign)), "{sign}: {risks:?}");
    }
}

#[tokio::test]
async fn s1_12_wishes_that_exclude_each_other_become_a_question() {
    let files = layered("Python");
    let body = "- The storage must persist a row twice.\n- The storage must not persist a row twice.\n";
    let plan = Bench::new(&files).await.issue("Rows", body).plan().await;
    let questions = plan.clarifications.unwrap();
    assert!(questions.iter().any(|question| question.contains("exclude each other")), "{questions:?}");
}

#[tokio::test]
async fn s1_12_the_same_text_gives_the_same_plan() {
    let files = layered("Go");
    let one = Bench::new(&files).await.issue("Larger deliveries", UPSIDE_DOWN).plan().await;
    let two = Bench::new(&files).await.issue("Larger deliveries", UPSIDE_DOWN).plan().await;
    assert_eq!(one, two);
}

#[tokio::test]
async fn s1_21_a_text_too_thin_to_plan_from_is_answered_with_questions() {
    let files = layered("Python");
    for (title, body) in [
        ("", ""),
        ("Make it better", ""),
        ("Improve the performance", "It should be faster."),
        ("Fix the bug", "Please fix it."),
        ("How do I configure the warehouse?", "I did not find it."),
        ("Support quantum teleportation of llamas", ""),
        ("!!!", "???"),
    ] {
        let unplanned = Bench::new(&files).await.issue(title, body).unplanned().await;
        let error = unplanned.errors.first().unwrap();
        assert_eq!((error.code.as_str(), error.agent_name.as_str(), error.recoverable), ("PLAN_003", "planner", false));
        assert!(!unplanned.clarifications.is_empty(), "{title}");
        assert!(
            unplanned.clarifications.iter().all(|question| question.contains('?')),
            "{:?}",
            unplanned.clarifications
        );
    }
    let unplanned = Bench::new(&files).await.issue("Support quantum teleportation of llamas", "").unplanned().await;
    assert!(unplanned.clarifications.join(" ").contains("quantum"), "{:?}", unplanned.clarifications);
}

#[tokio::test]
async fn s1_21_a_repository_without_code_asks_rather_than_invents() {
    let bench =
        Bench::new(&[("notes.txt", "nothing\n")]).await.issue("Add a login page", "Users must be able to log in.");
    assert_eq!(bench.unplanned().await.errors[0].code, "PLAN_003");
}

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "add",
        "fix",
        "the",
        "warehouse",
        "storage",
        "terminal",
        "must",
        "not",
        "should",
        "test",
        "docs",
        "- ",
        "* ",
        "\n",
        "\n\n",
        "## Acceptance criteria\n",
        "- [ ] ",
        "- [x] ",
        "`persist`",
        "inventory/storage.py",
        "../etc",
        "it",
        "when",
        "then",
        "rename",
        "to",
        "exporter",
        ":",
        ".",
        "?",
        "```\n",
        "> ",
        "README",
        "module",
        "Äpfel",
        "\u{202e}",
        "'",
        "\"",
        "1. ",
        "#7",
        "@x",
    ]);
    prop_oneof![prop::collection::vec(word, 0..60).prop_map(|words| words.join(" ")), "\\PC{0,200}"]
}

#[test]
fn any_text_gives_a_sound_plan_or_a_question() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let files = layered("Python");
    let bench = std::cell::RefCell::new(Some(runtime.block_on(Bench::new(&files))));
    let config = ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(title in text(), body in text())| {
        let asked = bench.take().unwrap().issue(title.lines().next().unwrap_or_default(), &body);
        match runtime.block_on(asked.planned()) {
            Planned::Plan(plan) => assert_sound(&plan, &files),
            Planned::Unplanned(unplanned) => {
                prop_assert_eq!(&unplanned.errors[0].code, "PLAN_003");
                prop_assert!(!unplanned.clarifications.is_empty());
            }
        }
        bench.replace(Some(asked));
    });
}
