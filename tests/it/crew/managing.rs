//! What the repository is.

use std::collections::BTreeSet;

use octoswarm::artifact::project::{EdgeKind, Level, ModuleKind, Project, ProjectContext};

use super::*;

const POLYGLOT: &[(&str, &str)] = &[
    ("CONTRIBUTING.md", "# Contributing\n\nPlease run the tests and make sure that they pass before you commit.\n"),
    (".editorconfig", "root = true\n[*]\nindent_style = space\nindent_size = 4\n"),
    (
        "pyproject.toml",
        "[project]\nname = \"shop\"\ndescription = \"Sells things.\"\ndependencies = [\"Flask>=2\", \"requests\"]\n[tool.ruff]\nline-length = 99\n",
    ),
    ("web/package.json", "{\"name\": \"web\", \"dependencies\": {\"react\": \"18\"}}"),
    ("core/Cargo.toml", "[package]\nname = \"core\"\n[dependencies]\nserde = \"1\"\n"),
    ("gate/go.mod", "module example.com/gate\n\nrequire github.com/gin-gonic/gin v1.9.0\n"),
    (
        "service/pom.xml",
        "<project><dependencies><dependency><groupId>j</groupId><artifactId>junit</artifactId></dependency></dependencies></project>",
    ),
    ("shop/__init__.py", ""),
    (
        "shop/store.py",
        "\"\"\"Keeps things.\"\"\"\n\nMAX_ITEMS = 3\nMIN_ITEMS = 1\nMAX_AGE = 9\n\n\ndef load_item(key):\n    \"\"\"Loads one.\"\"\"\n    if not key:\n        raise KeyError(key)\n    return key\n\n\ndef save_item(key):\n    \"\"\"Saves one.\"\"\"\n    return key\n\n\ndef drop_item(key):\n    return key\n",
    ),
    (
        "shop/cart.py",
        "from shop.store import load_item\nfrom . import price\n\n\nclass ShopCart:\n    \"\"\"A cart.\"\"\"\n\n    def add_item(self, key):\n        return load_item(key)\n",
    ),
    ("shop/price.py", "from .cart import ShopCart\n\n\ndef price_of(cart: ShopCart):\n    return 1\n"),
    (
        "tests/test_cart.py",
        "from shop.cart import ShopCart\n\n\ndef test_add():\n    assert ShopCart().add_item('a') == 'a'\n",
    ),
    ("tests/test_store.py", "from shop import store\n\n\ndef test_load():\n    assert store.load_item('a')\n"),
    ("web/src/cart.ts", "import { total } from './total';\nexport function show() { return total(); }\n"),
    ("web/src/total.ts", "export const total = () => 1;\n"),
    ("core/src/lib.rs", "pub mod tax;\nuse crate::tax::rate;\npub fn all() -> u8 { rate() }\n"),
    ("core/src/tax.rs", "pub fn rate() -> u8 { 1 }\n"),
    ("gate/main.go", "package main\n\nimport \"example.com/gate/proxy\"\n\nfunc main() { proxy.Run() }\n"),
    ("gate/proxy/proxy.go", "package proxy\n\nfunc Run() {}\n"),
    (
        "service/src/main/java/shop/Invoice.java",
        "package shop;\n\nimport shop.money.Sum;\n\npublic class Invoice { Sum sum; }\n",
    ),
    ("service/src/main/java/shop/money/Sum.java", "package shop.money;\n\npublic class Sum {}\n"),
];

async fn snapshot(files: &[(&str, &str)]) -> ProjectContext {
    let bench = Bench::new(files).await.issue("Show the cart", "It should show the cart.");
    serde_json::from_value(bench.ask(Role::Manager, &BTreeMap::new()).await.unwrap()).unwrap()
}

async fn model(files: &[(&str, &str)]) -> Project {
    snapshot(files).await.model.unwrap()
}

fn edges(project: &Project) -> BTreeSet<(&str, &str)> {
    project.dependencies.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect()
}

#[tokio::test]
async fn s1_11_the_snapshot_counts_what_is_there() {
    let context = snapshot(POLYGLOT).await;
    let analysis = &context.analysis;
    assert_eq!(analysis.file_count, POLYGLOT.len() as u64);
    assert_eq!(analysis.languages.first().map(String::as_str), Some("Python"));
    assert_eq!(analysis.languages.len(), 5, "{:?}", analysis.languages);
    let is_code = |path: &str| [".py", ".ts", ".rs", ".go", ".java"].iter().any(|end| path.ends_with(end));
    let code = POLYGLOT.iter().filter(|(path, _)| is_code(path));
    let lines = code.flat_map(|(_, text)| text.lines()).filter(|line| !line.trim().is_empty()).count();
    assert_eq!(analysis.total_loc, Some(lines as u64));
    let dependencies = ["flask", "github.com/gin-gonic/gin", "junit", "react", "requests", "serde"];
    assert_eq!(analysis.dependencies, dependencies);
    let frameworks = analysis.frameworks.clone().unwrap();
    assert!(["Flask", "Gin", "React"].iter().all(|name| frameworks.iter().any(|own| own == name)), "{frameworks:?}");
    assert_eq!((context.project.name.as_str(), context.project.description.as_deref()), ("r", Some("Sells things.")));
    assert!(context.generated_at.ends_with('Z'));
}

#[tokio::test]
async fn s1_11_imports_become_edges_in_every_language() {
    let project = model(POLYGLOT).await;
    let edges = edges(&project);
    for edge in [
        ("shop/cart.py", "shop/store.py"),
        ("shop/price.py", "shop/cart.py"),
        ("tests/test_cart.py", "shop/cart.py"),
        ("tests/test_store.py", "shop/store.py"),
        ("web/src/cart.ts", "web/src/total.ts"),
        ("core/src/lib.rs", "core/src/tax.rs"),
        ("gate", "gate/proxy"),
        ("service/src/main/java/shop/Invoice.java", "service/src/main/java/shop/money/Sum.java"),
    ] {
        assert!(edges.contains(&edge), "{edge:?} is not in {edges:#?}");
    }
    assert!(project.dependencies.edges.iter().all(|edge| edge.kind == EdgeKind::Import));
    let names: BTreeSet<&str> = project.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!(names, project.dependencies.nodes.iter().map(String::as_str).collect());
    assert!(edges.iter().all(|(from, to)| names.contains(from) && names.contains(to)));
}

#[tokio::test]
async fn s1_11_modules_that_import_each_other_are_told_as_a_circle() {
    let project = model(POLYGLOT).await;
    assert_eq!(project.dependencies.cycles, [["shop/cart.py", "shop/price.py"]]);
}

#[tokio::test]
async fn s1_11_a_module_tells_its_kind_its_exports_and_its_risk() {
    let project = model(POLYGLOT).await;
    let module = |name: &str| project.modules.iter().find(|module| module.name == name).unwrap();
    assert_eq!(module("tests/test_cart.py").kind, ModuleKind::Test);
    assert_eq!(
        module("shop/store.py").exports,
        ["MAX_ITEMS", "MIN_ITEMS", "MAX_AGE", "load_item", "save_item", "drop_item"]
    );
    assert_eq!(module("core/src/tax.rs").exports, ["rate"]);
    assert_eq!(module("gate/proxy").exports, ["Run"]);
    assert_eq!(module("shop/cart.py").dependencies, ["shop/price.py", "shop/store.py"]);
    assert!(module("shop/price.py").risk_level > Level::Low, "in a circle and without a test");
    assert_eq!(module("shop/store.py").risk_level, Level::Low);
}

#[tokio::test]
async fn s1_11_patterns_are_measured_and_match_what_they_were_measured_on() {
    let project = model(POLYGLOT).await;
    let patterns = &project.code_patterns;
    let matches = |pattern: &str, name: &str| regex::Regex::new(pattern).unwrap().is_match(name);
    assert!(matches(&patterns.naming.functions, "load_item") && !matches(&patterns.naming.functions, "loadItem"));
    assert!(matches(&patterns.naming.constants, "MAX_ITEMS") && !matches(&patterns.naming.constants, "max"));
    assert_eq!((patterns.comments.format.as_str(), patterns.comments.coverage > 0.3), ("docstrings", true));
    assert!(patterns.comments.coverage < 0.7, "{}", patterns.comments.coverage);
    assert_eq!(patterns.error_handling, "exceptions");
    assert_eq!(patterns.test_organization, "tests/test_*.py");
    assert!(patterns.structure.contains("tests/"), "{}", patterns.structure);
    let conventions = project.metadata.conventions.join("\n");
    for said in ["CONTRIBUTING.md", "make sure that they pass", ".editorconfig", "4 spaces", "ruff", "pytest"] {
        assert!(conventions.contains(said), "{said}: {conventions}");
    }
}

#[tokio::test]
async fn s1_11_the_same_tree_gives_the_same_snapshot() {
    assert_eq!(snapshot(POLYGLOT).await, snapshot(POLYGLOT).await);
}

#[tokio::test]
async fn s1_11_a_tree_without_code_has_a_snapshot_too() {
    for files in [&[][..], &[("README.md", "# Notes\n")], &[("a.bin", "\0\0"), ("package.json", "{ not json")]] {
        let context = snapshot(files).await;
        let project = context.model.unwrap();
        assert_eq!((context.analysis.file_count, context.analysis.total_loc), (files.len() as u64, Some(0)));
        assert!(project.modules.is_empty() && project.dependencies.edges.is_empty());
    }
}

#[tokio::test]
async fn s1_11_a_large_tree_is_told_by_folders_and_says_so() {
    let mut files: Vec<(String, String)> = Vec::new();
    for folder in 0..40 {
        for file in 0..10 {
            let text =
                format!("from part{}.file{file} import run\n\n\ndef run():\n    return {file}\n", (folder + 1) % 40);
            files.push((format!("part{folder}/file{file}.py"), text));
        }
    }
    let bench = Bench::new(&files).await.issue("Show the parts", "");
    let context: ProjectContext =
        serde_json::from_value(bench.ask(Role::Manager, &BTreeMap::new()).await.unwrap()).unwrap();
    let project = context.model.unwrap();
    assert_eq!(project.modules.len(), 40);
    assert_eq!(project.dependencies.cycles.len(), 1, "one circle through all");
    assert!(edges(&project).contains(&("part3", "part4")));
    assert!(project.code_patterns.structure.contains("modules are folders"), "{}", project.code_patterns.structure);
}
