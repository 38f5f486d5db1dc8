//! A second set of issues, written after the mechanics and without a look at them; each over a small tree of its own.

use super::*;

struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    title: &'static str,
    body: &'static str,
    /// Removed and added lines by file; none: nothing may change.
    want: &'static [(&'static str, &'static [&'static str])],
}

const CASES: &[Case] = &[
    Case {
        name: "tests that do not run",
        files: &[
            ("src/sum.js", "export const sum = (a, b) => a + b;\n"),
            (
                "test/sum.test.js",
                "describe('sum', () => {\n  it.only('adds', () => {});\n  it('is empty', () => {});\n});\n",
            ),
        ],
        title: "Coverage dropped to 12% after the last merge",
        body: "I was wondering why codecov went red. Turns out that in the jest output there's just *one* test executed, everything else is reported as skipped. \
               Somebody must have left an `it.only` in there. Please remove it so that the whole suite runs again.",
        want: &[("test/sum.test.js", &["-  it.only('adds', () => {});", "+  it('adds', () => {});"])],
    },
    Case {
        name: "python 3.12",
        files: &[(
            "tests/test_a.py",
            "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEquals(1, 1)\n",
        )],
        title: "test suite broken w/ Python 3.12",
        body: "```\nAttributeError: 'A' object has no attribute 'assertEquals'. Did you mean: 'assertEqual'?\n```\n\nWorks on 3.11. The old aliases in unittest were removed, should be easy to fix?",
        want: &[("tests/test_a.py", &["-        self.assertEquals(1, 1)", "+        self.assertEqual(1, 1)"])],
    },
    Case {
        name: "error chain",
        files: &[(
            "store/open.go",
            "package store\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc Open(name string) (*os.File, error) {\n\tf, err := os.Open(name)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"open %s: %v\", name, err)\n\t}\n\treturn f, nil\n}\n",
        )],
        title: "errors.Is(err, os.ErrNotExist) is never true for errors of store.Open",
        body: "Hi! In our program we do\n\n```go\nif errors.Is(err, os.ErrNotExist) {\n    return create(name)\n}\n```\n\nbut that never triggers, since the cause is formatted with `%v` and so the chain is lost. It needs to be wrapped with `%w`.",
        want: &[(
            "store/open.go",
            &[
                "-\t\treturn nil, fmt.Errorf(\"open %s: %v\", name, err)",
                "+\t\treturn nil, fmt.Errorf(\"open %s: %w\", name, err)",
            ],
        )],
    },
    Case {
        name: "left over breakpoint",
        files: &[("web/app.js", "export function go(x) {\n  debugger;\n  return x + 1;\n}\n")],
        title: "Page freezes when devtools are open",
        body: "With the console open the tab just stops at a `debugger` statement in app.js. I suppose that wasn't meant to be committed. Can you remove that?",
        want: &[("web/app.js", &["-  debugger;"])],
    },
    Case {
        name: "address moved",
        files: &[
            ("README.md", "Docs: https://old.docs.example/start\n"),
            ("src/help.py", "URL = \"https://old.docs.example/start\"\n"),
            ("package-lock.json", "{\"u\": \"https://old.docs.example/start\"}\n"),
        ],
        title: "Update documentation URL",
        body: "The documentation has moved. Please change `https://old.docs.example` to `https://docs.example` everywhere.\n\nThank you",
        want: &[
            ("README.md", &["-Docs: https://old.docs.example/start", "+Docs: https://docs.example/start"]),
            ("src/help.py", &["-URL = \"https://old.docs.example/start\"", "+URL = \"https://docs.example/start\""]),
        ],
    },
    Case {
        name: "typo in a message",
        files: &[(
            "cli/main.go",
            "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"sucessfully uploaded\")\n}\n",
        )],
        title: "Typo in success message: sucessfully -> successfully",
        body: "As the title says, when the upload is done it prints \"sucessfully uploaded\".",
        want: &[(
            "cli/main.go",
            &["-\tfmt.Println(\"sucessfully uploaded\")", "+\tfmt.Println(\"successfully uploaded\")"],
        )],
    },
    Case {
        name: "raw patch",
        files: &[("lib/a.rs", "// head\n// more\npub fn a(n: usize) -> usize {\n    let m = n;\n    m / 2\n}\n")],
        title: "[PATCH] round up",
        body: "half of an odd number loses one. patch below, signed off by me\n\ndiff --git a/lib/a.rs b/lib/a.rs\n--- a/lib/a.rs\n+++ b/lib/a.rs\n@@ -1,4 +1,4 @@\n pub fn a(n: usize) -> usize {\n     let m = n;\n-    m / 2\n+    m.div_ceil(2)\n }\n-- \n2.43.0\n",
        want: &[("lib/a.rs", &["-    m / 2", "+    m.div_ceil(2)"])],
    },
    Case {
        name: "ignore file",
        files: &[("main.py", "print(1)\n")],
        title: "please add a .gitignore",
        body: "I keep committing `__pycache__` by accident :(",
        want: &[(
            ".gitignore",
            &[
                "+# Python",
                "+__pycache__/",
                "+*.py[cod]",
                "+.venv/",
                "+venv/",
                "+*.egg-info/",
                "+build/",
                "+dist/",
                "+.pytest_cache/",
                "+.mypy_cache/",
                "+.ruff_cache/",
                "+.coverage",
                "+",
                "+# Editors and systems",
                "+.idea/",
                "+.vscode/",
                "+*.swp",
                "+.DS_Store",
                "+Thumbs.db",
                "+",
                "+# Local settings",
                "+.env",
            ],
        )],
    },
    Case {
        name: "mutex guard",
        files: &[(
            "src/lib.rs",
            "use std::sync::Mutex;\n\npub fn run(m: &Mutex<u32>, work: impl Fn()) {\n    let _ = m.lock().unwrap();\n    work();\n}\n",
        )],
        title: "Race: two workers are in the critical section together",
        body: "Took me two days... `let _ = m.lock()` does not keep the guard, it is dropped on the very same line, so the mutex is free again before the work starts. It has to be bound to a real variable.",
        want: &[("src/lib.rs", &["-    let _ = m.lock().unwrap();", "+    let _guard = m.lock().unwrap();"])],
    },
    Case {
        name: "class name",
        files: &[
            (
                "src/shop/Basket.java",
                "package shop;\n\nclass Basket {\n    private PriceCalulator prices = new PriceCalulator();\n}\n",
            ),
            ("src/shop/Prices.java", "package shop;\n\nclass PriceCalulator {\n}\n"),
        ],
        title: "Misspelled class",
        body: "The class 'PriceCalulator' should be called 'PriceCalculator'.",
        want: &[
            (
                "src/shop/Basket.java",
                &[
                    "-    private PriceCalulator prices = new PriceCalulator();",
                    "+    private PriceCalculator prices = new PriceCalculator();",
                ],
            ),
            ("src/shop/Prices.java", &["-class PriceCalulator {", "+class PriceCalculator {"]),
        ],
    },
    // Nothing may change below.
    Case {
        name: "only tests",
        files: &[("test/sum.test.js", "describe('sum', () => {\n  it.only('adds', () => {});\n});\n")],
        title: "Document how to run a single test",
        body: "New contributors don't know about `it.only`. Could CONTRIBUTING mention that one may use it to run only one test, and that it must not be committed?",
        want: &[],
    },
    Case {
        name: "keeps the old",
        files: &[("a.py", "import yaml\nx = yaml.load(f)\n")],
        title: "yaml.safe_load breaks our custom tags",
        body: "Since 2.1 our plugin uses yaml.safe_load and can't read `!point` any more. In the core you still have yaml.load(f), which works. Please keep it.",
        want: &[],
    },
    Case {
        name: "value",
        files: &[("conf.py", "timeout = 5\nretries = timeout\n")],
        title: "timeout too short",
        body: "`timeout` should be `30`, 5 seconds are not enough on slow links.",
        want: &[],
    },
    Case {
        name: "someone else's words",
        files: &[("a.py", "def fetch():\n    pass\n")],
        title: "Confusing advice from the linter",
        body: "pylint tells me to rename `fetch` to `_fetch`. Is that right?",
        want: &[],
    },
    Case {
        name: "blamed diff",
        files: &[("a.py", "x = 2\ny = x\n")],
        title: "x is wrong since 1.4",
        body: "bisected it to this change:\n\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 2\n+x = 1\n y = x\n```\n\nPlease have a look.",
        want: &[],
    },
    Case {
        name: "large",
        files: &[("a.py", "def f(x):\n    if x == None:\n        return\n"), ("b.py", "print('x')\n")],
        title: "Move to async",
        body: "We should rewrite the HTTP layer on top of asyncio. All functions in a.py need to become coroutines, None checks have to go and print should be replaced by proper logging.",
        want: &[],
    },
    Case {
        name: "log in prose",
        files: &[("a.txt", "foo\n")],
        title: "Upgrade prints nonsense",
        body: "While upgrading, it prints: please replace `foo` by `bar` in a.txt. I don't understand what I should do.",
        want: &[],
    },
    Case {
        name: "which one",
        files: &[("a.py", "def get():\n    pass\n"), ("b.py", "def get():\n    pass\n")],
        title: "Rename get",
        body: "Rename `get` to `fetch`, please.",
        want: &[],
    },
    Case {
        name: "licence choice",
        files: &[("a.py", "x = 1\n")],
        title: "Add a license",
        body: "There is no license. Maybe MIT or BSD-3-Clause? Or GPL? Let's discuss.",
        want: &[],
    },
    Case {
        name: "slow strings",
        files: &[("A.java", "class A {\n    boolean f(String a) {\n        return a == \"x\";\n    }\n}\n")],
        title: "Performance: interning strings",
        body: "In A.java the strings are interned beforehand, so comparing them by reference with == is fine and faster than equals. Could we do the same in other classes?",
        want: &[],
    },
];

/// Title, body, and the removed and added lines by file.
type Told = (&'static str, &'static str, &'static [(&'static str, &'static [&'static str])]);

/// A third set, over the shared tree: mostly what comes near to a request and is none.
const NEAR: &[Told] = &[
    (
        "YAML parse error in depot.yml",
        "I get `yaml.scanner.ScannerError: mapping values are not allowed here` when starting the server, my depot.yml is attached. What is wrong with it?",
        &[],
    ),
    (
        "Deadlock?",
        "Under load the gateway hangs sometimes, I could not find out why. `go test -race` shows nothing. Any ideas what to look at?",
        &[],
    ),
    (
        "Board shows NaN km",
        "Since yesterday the distance column is NaN for the first driver. Probably the stop has no coordinates.",
        &[],
    ),
    (
        "Strings in labels should be translated",
        "Labels.java has hard coded strings like \"express\". They should come from a resource bundle, so that equals works with every language.",
        &[],
    ),
    (
        "Remove debug output of the printer",
        "The printer driver prints debug macros on every page (ESC/P). Can we remove them in the printer's settings?",
        &[],
    ),
    (
        "Add .editorconfig support to the importer",
        "The importer should respect an .editorconfig of the partner when it writes files.",
        &[],
    ),
    ("Update LICENSE year", "LICENSE still says 2023. Please update.", &[]),
    (
        "`colour` vs `color`",
        "The API says `colour` in one place and `color` in another one. We need to be consistent. What do people prefer?",
        &[],
    ),
    ("replace polling", "Please replace the polling with websockets.", &[]),
    (
        "Rename project to Harbourmaster",
        "We should rename the project from Depot to Harbourmaster, including the repository.",
        &[],
    ),
    (
        "Please rename things",
        "- rename `calc_route`\n- rename `total_length`\n\nto something that says what they do",
        &[],
    ),
    (
        "calc_route",
        "As discussed: `calc_route` will be renamed to `order_stops` in 0.6, until then plugins must use the old name.",
        &[],
    ),
    (
        "docs: `calc_price`",
        "In docs/operations.md it should say `price_of` instead of `calc_price`, once #41 is merged.",
        &[],
    ),
    (
        "Bump python",
        "Please change `requires-python = \">=3.11\"` to `requires-python = \">=3.12\"`, except for the docs build.",
        &[],
    ),
    ("mutex", "We use a mutex for `last`, a `sync.Map` would be faster. Replace `sync.Mutex` with `sync.Map`?", &[]),
    (
        "Safe loader?",
        "Someone on the forum claims that yaml.load(stream) allows remote code execution. We only load our own file so I think that is fine, right?",
        &[],
    ),
    ("Wrong word", "In the README, \"parcel\" should be \"package\".", &[]),
    ("Grüße", "Bitte `calc_route` in `order_stops` umbenennen, danke!", &[]),
    (
        "Labels test",
        "Please add a test that `code == \"EXP\"` is recognised as express even if the string is not interned.",
        &[],
    ),
    (
        "http",
        "Could you replace http://localhost:8080 in our customers' configuration with https? The README is fine as it is.",
        &[],
    ),
    (
        "gateway: wrong position after two updates",
        "Not a deadlock, but when two drivers report at the same time p.mu.Lock() is taken twice and the last one wins. That is by design I guess?",
        &[],
    ),
    // These are clear.
    (
        "Min python is 3.12 now",
        "Please change `requires-python = \">=3.11\"` to `requires-python = \">=3.12\"` in pyproject.toml.",
        &[("pyproject.toml", &["-requires-python = \">=3.11\"", "+requires-python = \">=3.12\""])],
    ),
    (
        "README: open the right page",
        "Hey there,\n\nin README.md, http://localhost:8080/board should be http://localhost:8080/today (the old page is gone).",
        &[],
    ),
    (
        "Greeting",
        "`\"Good morning, \"` should be changed to `\"Hello, \"`, drivers start at noon, too.",
        &[(
            "api/server.py",
            &["-    return \"Good morning, \" + driver.name", "+    return \"Hello, \" + driver.name"],
        )],
    ),
    (
        "Constant",
        "rename HTTP_TIMEOUT to ROUTING_TIMEOUT please",
        &[("api/routing.py", &["-HTTP_TIMEOUT = 30", "+ROUTING_TIMEOUT = 30"])],
    ),
    (
        "Safe YAML",
        "bandit B506: yaml.load without SafeLoader can instantiate arbitrary objects, found twice in api/. Let's use yaml.safe_load.",
        &[
            ("api/imports.py", &["-    batch = yaml.load(upload)", "+    batch = yaml.safe_load(upload)"]),
            ("api/settings.py", &["-        return yaml.load(stream)", "+        return yaml.safe_load(stream)"]),
        ],
    ),
    (
        "dbg! left in release",
        "Running the binary prints `[src/lib.rs:6] base = 340` for each parcel to stderr. That's a forgotten dbg!().",
        &[(
            "core/src/lib.rs",
            &["-    dbg!(base);", "-    let surcharge = dbg!(steps * 40);", "+    let surcharge = steps * 40;"],
        )],
    ),
    (
        "Deadlock in positions.set",
        "go vet is silent, but `defer p.mu.Lock()` in `set` is obviously a typo and should be `defer p.mu.Unlock()`. Every second request blocks forever.",
        &[("gateway/main.go", &["-\tdefer p.mu.Lock()", "+\tdefer p.mu.Unlock()"])],
    ),
    (
        "No contributing guide",
        "I would like to help but there is no CONTRIBUTING.md in the repository. Could you add a contributing guide?",
        &[("CONTRIBUTING.md", &[])],
    ),
];

/// A fourth set, over the shared tree: what people do ask for, in other forms.
const ASKED: &[Told] = &[
    (
        "[Bug]: express zone",
        "### What happened?\n\nZone is unknown for EXP parcels which I read from a file.\n\n### Analysis\n\n`code == \"EXP\"` compares references in Java, strings have to be compared with `.equals`.\n\n### Version\n\n0.4.1",
        &[(
            "service/src/main/java/depot/Labels.java",
            &["-        if (code == \"EXP\") {", "+        if (\"EXP\".equals(code)) {"],
        )],
    ),
    (
        "NaN on the board with more than one parcel",
        "**Steps**\n1. have 2 parcels\n2. open the board\n\n**Result**\n`(3/NaN)`\n\nparseInt is handed to map directly, so the index arrives as radix.",
        &[(
            "web/board.ts",
            &[
                "-  const floors = parcels.map((parcel) => parcel.floor).map(parseInt);",
                "+  const floors = parcels.map((parcel) => parcel.floor).map((text) => Number.parseInt(text, 10));",
            ],
        )],
    ),
    (
        "Remove dbg!",
        "Two `dbg!` calls were left in core/src/lib.rs.",
        &[(
            "core/src/lib.rs",
            &["-    dbg!(base);", "-    let surcharge = dbg!(steps * 40);", "+    let surcharge = steps * 40;"],
        )],
    ),
    (
        "unsafe-yaml-load in api/",
        "octoswarm reports unsafe-yaml-load twice. Please fix.",
        &[
            ("api/imports.py", &["-    batch = yaml.load(upload)", "+    batch = yaml.safe_load(upload)"]),
            ("api/settings.py", &["-        return yaml.load(stream)", "+        return yaml.safe_load(stream)"]),
        ],
    ),
    (
        "Please replace yaml.load with yaml.safe_load",
        "(title)",
        &[
            ("api/imports.py", &["-    batch = yaml.load(upload)", "+    batch = yaml.safe_load(upload)"]),
            ("api/settings.py", &["-        return yaml.load(stream)", "+        return yaml.safe_load(stream)"]),
        ],
    ),
    (
        "Wording of the README",
        "Change \"Quick start\" to \"Getting started\" in README.md, that's what the other projects have.",
        &[("README.md", &["-## Quick start", "+## Getting started"])],
    ),
    (
        "Typo",
        "operations.md: \"every ten seconds\" should read \"every 10 seconds\".",
        &[(
            "docs/operations.md",
            &[
                "-The gateway listens on localhost:8080 and the board polls localhost:8080/board every ten seconds.",
                "+The gateway listens on localhost:8080 and the board polls localhost:8080/board every 10 seconds.",
            ],
        )],
    ),
    (
        "rename total_length => route_length",
        "It is only used in api/, see title.",
        &[
            ("api/routing.py", &["-def total_length(route):", "+def route_length(route):"]),
            (
                "api/server.py",
                &[
                    "-from api.routing import calc_route, total_length",
                    "+from api.routing import calc_route, route_length",
                    "-    return {\"stops\": route, \"length\": total_length(route)}",
                    "+    return {\"stops\": route, \"length\": route_length(route)}",
                ],
            ),
        ],
    ),
    (
        "TypeScript: rename `fetchParcels`",
        "It loads, it does not only fetch. So: `fetchParcels` → `loadParcels`, please.",
        &[
            (
                "web/board.ts",
                &[
                    "-import { fetchParcels } from './client';",
                    "+import { loadParcels } from './client';",
                    "-  const parcels = await fetchParcels(day);",
                    "+  const parcels = await loadParcels(day);",
                ],
            ),
            (
                "web/client.ts",
                &[
                    "-export async function fetchParcels(day: string): Promise<Parcel[]> {",
                    "+export async function loadParcels(day: string): Promise<Parcel[]> {",
                ],
            ),
        ],
    ),
    (
        "Missing security policy",
        "GitHub's community page complains that SECURITY.md is missing. Please add one.",
        &[("SECURITY.md", &[])],
    ),
    (
        "Chores",
        "* [ ] please add a CHANGELOG.md\n* [ ] rename `base_price` to `starting_price` in the Rust code\n* [x] rename `calc_price`",
        &[
            (
                "core/src/lib.rs",
                &[
                    "-    let base = base_price(grams);",
                    "+    let base = starting_price(grams);",
                    "-fn base_price(grams: u32) -> u32 {",
                    "+fn starting_price(grams: u32) -> u32 {",
                ],
            ),
            ("CHANGELOG.md", &[]),
        ],
    ),
    (
        "weights",
        "Small patch for weight_of, please apply it (made in the api folder):\n```diff\n--- imports.py\n+++ imports.py\n@@ -18,3 +18,3 @@\n def weight_of(parcel):\n     grams = parcel[\"grams\"]\n-    return grams / 1000\n+    return round(grams / 1000, 3)\n```",
        &[("api/imports.py", &["-    return grams / 1000", "+    return round(grams / 1000, 3)"])],
    ),
    // And some that are not clear.
    (
        "Rename Parcel",
        "The interface `Parcel` should be renamed to `Package` in client.ts, but the API has to stay as it is.",
        &[],
    ),
    ("Spelling", "Colour or color? British or American? `colour` -> `color` or the other way round.", &[]),
    ("replace all the things", "replace `a` with `b`", &[]),
    ("yaml", "yaml.load", &[]),
    ("Question about defer", "Is `defer p.mu.Lock()` valid Go? The vet tool says nothing.", &[]),
    ("Label colours", "`'red'` should be `'#c00'` for late parcels, or something darker.", &[]),
    ("Translate", "Please translate the README, e.g. \"Quick start\" to \"Schnellstart\".", &[]),
    ("Rename", "rename `calc_route` to `order_stops`; actually, wait with this until 0.6 is out", &[]),
];

/// A fifth set: texts that talk of what could be changed, in every mood but the one that asks for it.
const MOODS: &[Told] = &[
    ("I renamed `calc_route` to `order_stops` in my fork", "and everything still works. Just so you know.", &[]),
    ("Renaming `calc_route` to `order_stops` broke our plugin", "After the update the import fails.", &[]),
    ("Is it possible to replace `calc_route` with my own function?", "I'd like to plug in another algorithm.", &[]),
    (
        "Support for replacing 'depot' with another start",
        "It would be great to be able to change `settings[\"depot\"]` to another key.",
        &[],
    ),
    ("README", "The README says \"Depot keeps track of parcels\". Nice!", &[]),
    ("`calc_route` should be faster", "It sorts the list in every step. `calc_route` should be `O(n log n)`.", &[]),
    (
        "The new loader is too strict",
        "Since you switched to `yaml.safe_load` in the plugin, tags like `!stop` raise ConstructorError. Could you use yaml.load there as in settings.py?",
        &[],
    ),
    (
        "parseInt vs Number",
        "Why do you use `map(parseInt)` instead of `map(Number)`? Curious about the reasoning.",
        &[],
    ),
    (
        "Add lint against dbg!",
        "Could we forbid the macro in CI, so that `dbg!` calls are found before they are merged?",
        &[],
    ),
    (
        "Explain == in Labels.java",
        "I am new to Java. Why does `code == \"EXP\"` compare references? A comment would help.",
        &[],
    ),
    (
        "Locks",
        "Please document which lock protects what; `defer p.mu.Unlock()` and `defer p.mu.Lock()` look so similar.",
        &[],
    ),
    (
        "ConstructorError in settings",
        "could not determine a constructor for the tag '!env'. With yaml.load it used to work, did something change in PyYAML?",
        &[],
    ),
    ("LICENSE", "Which license is this under? I could not find a LICENSE file.", &[]),
    ("gitignore", "My global gitignore hides `web/`, so I missed the folder. No action needed.", &[]),
    ("Security", "Do you have a security policy? I found something and would like to report it.", &[]),
    (
        "crash",
        "```\nthread 'main' panicked at src/lib.rs:6: attempt to multiply with overflow\n```\nHappens with express parcels over 2 tons. dbg! output attached.",
        &[],
    ),
    ("Go 1.23", "Please change `go 1.22` to `go 1.23` in go.mod once the runners have it.", &[]),
    ("Old text", "Replace `Good morning` by whatever fits the time of day.", &[]),
    ("Typos", "There are several typos, for example recieve. Please fix all of them.", &[]),
    ("Port", "It should be possible to run on a port other than `localhost:8080`, like `localhost:8081`.", &[]),
    ("feat(api): batches", "`batch[\"parcels\"]` should be `batch[\"items\"]` if the partner's version is 2.", &[]),
    ("Translation of labels", "In the German version \"express\" must be \"Express\".", &[]),
    ("Test data", "The name `driver` appears in real data, e.g. `driver=7`. Anonymise it: change `7` to `x`.", &[]),
    (
        "The bot was wrong",
        "#12 replaced `left` with `remaining`. Wrong place. Please do that in `total_length` instead.",
        &[],
    ),
];

/// A sixth set, as the fifth.
const AGAIN: &[Told] = &[
    (
        "Custom loader",
        "We subclass SafeLoader. Is yaml.load(stream, Loader=Ours) going to be flagged as unsafe? Our loader is registered in api/plugins.",
        &[],
    ),
    (
        "PyYAML warning in tests",
        "YAMLLoadWarning: calling yaml.load() without Loader=... is deprecated. I know, we pinned PyYAML<6 for that, so please don't open PRs about it.",
        &[],
    ),
    (
        "NaN in CSV export",
        "The export writes NaN for empty floors. It should write an empty field. parseInt of '' is NaN of course.",
        &[],
    ),
    (
        "Deadlock in tests only",
        "TestPositions deadlocks since it calls p.mu.Lock() itself before p.set. The test should not do that.",
        &[],
    ),
    (
        "Compare zones case-insensitively",
        "Codes like `exp` should be treated as `EXP`, so equalsIgnoreCase would be needed instead of ==.",
        &[],
    ),
    (
        "dbg output wanted",
        "When DEBUG=1 is set I would like to see the base price. At the moment dbg! prints it always, which I actually find handy.",
        &[],
    ),
    (
        "calc_route",
        "`calc_route` is called `calc_route` because it calculates a route. Somebody asked in #30 to rename `calc_route` to `order_stops`. I am against it.",
        &[],
    ),
    (
        "Documentation of calc_price",
        "The docs say see `calc_price`. They should rather explain what express costs.",
        &[],
    ),
    (
        "Wrong port in my installation",
        "I changed `localhost:8080` to `localhost:9090` in gateway/main.go and now the board is empty. What else do I have to change?",
        &[],
    ),
    (
        "Weird sentence",
        "\"Drivers recieve a list of stops\", is that really what is meant? I thought the office receives it.",
        &[],
    ),
    ("s/parcel/package/", "would be more American, but I do not really care.", &[]),
    (
        "README: http vs https",
        "`http://localhost:8080/board` -> `https://localhost:8080/board` does not work, the gateway has no TLS. Can that be added?",
        &[],
    ),
    (
        "Rename the repository `depot` to `harbour`",
        "Please rename the repository, GitHub redirects the old address.",
        &[],
    ),
    (
        "Add LICENSE to the wheel",
        "The wheel lacks the license file of pyyaml that we bundle. Please include the license file in the package.",
        &[],
    ),
    ("Unlicensed fonts", "We ship fonts without a license file, please remove them.", &[]),
    ("gitignore'd file", "depot.yml should be added to .gitignore", &[]),
    ("Which is right: `recieve` or `receive`?", "I am not a native speaker.", &[]),
    (
        "Backport",
        "Please apply the patch from #99 to the 0.3 branch:\n\n```diff\n--- a/api/imports.py\n+++ b/api/imports.py\n@@ -19,2 +19,2 @@\n     grams = parcel[\"grams\"]\n-    return grams / 1000\n+    return grams / 1000.0\n```",
        &[],
    ),
    (
        "Regression",
        "This is what 0.4.1 changed and what made the weights wrong, please have a look at the diff:\n\n```diff\n--- a/api/imports.py\n+++ b/api/imports.py\n@@ -19,2 +19,2 @@\n     grams = parcel[\"grams\"]\n-    return grams / 1000\n+    return grams // 1000\n```",
        &[],
    ),
    ("Let users rename stops", "In the app a user can't rename `yard` to `depot`. Please make that possible.", &[]),
];

/// A seventh set: both kinds.
const LAST: &[Told] = &[
    ("yaml.load is deprecated?", "pip prints a warning about the loader. What is the plan? I can send a patch.", &[]),
    (
        "Slow startup",
        "Loading depot.yml takes 2 s with yaml.load, CSafeLoader would be ten times faster. Should be easy to switch.",
        &[],
    ),
    ("gateway blocks", "When the network is down the gateway blocks in http.Get. Please use a timeout.", &[]),
    ("Typo?", "`recieve`", &[]),
    ("Express parcels: price", "Please change the factor for express parcels from `2` to `3`.", &[]),
    ("NaN", "Please make the board show a dash instead of NaN when the floor is empty.", &[]),
    ("equals", "Labels should override equals and hashCode, we put them into a HashSet.", &[]),
    ("We rename `Depot` to `Harbour` next year", "so please do not print new stickers.", &[]),
    (
        "mutex never released in gateway",
        "Second report blocks: `set` takes p.mu with Lock and defers another Lock, so it never unlocks. Must be Unlock of course.",
        &[("gateway/main.go", &["-\tdefer p.mu.Lock()", "+\tdefer p.mu.Unlock()"])],
    ),
    (
        "small typo in the docs",
        "docs/operations.md: s/Operations/Operating Depot/",
        &[("docs/operations.md", &["-# Operations", "+# Operating Depot"])],
    ),
    (
        "`weight_of` -> `kilograms_of`",
        "Can you rename `weight_of` to `kilograms_of`? The unit is not obvious.",
        &[("api/imports.py", &["-def weight_of(parcel):", "+def kilograms_of(parcel):"])],
    ),
    ("ISC license please", "Please add an ISC license to the repository.", &[("LICENSE", &[])]),
];

/// An eighth set.
const EIGHTH: &[Told] = &[
    ("server.py greets in English only", "Please make \"Good morning, \" configurable.", &[]),
    (
        "Unsafe yaml in vendor/",
        "vendor/labels/labels.py uses yaml.load without SafeLoader, that allows code execution. Please fix it there.",
        &[],
    ),
    ("calc_route and calc_price", "Both should lose the prefix. Please rename accordingly.", &[]),
    ("Java strings", "Please use equals in new code instead of ==, see the style guide. Existing code can stay.", &[]),
    (
        "Lock ordering",
        "p.mu.Lock() must always be taken before the store's lock, otherwise there is a deadlock. Please add that to the docs.",
        &[],
    ),
    (
        "remove debug output?",
        "dbg!(base) prints to stderr. Is somebody using that output? If not we could remove it.",
        &[],
    ),
    ("Invalid LICENSE header", "Add the MIT license header to board.ts please.", &[]),
    ("Change of address", "Please replace `localhost:8080` by the real host name.", &[]),
    ("Rename `Labels` -> `ZoneFinder`", "The class does not make labels. Please rename it everywhere.", &[]),
    (
        "Copy editing",
        "In the README replace \"sees where every parcel is\" with \"knows where every parcel is\", thanks!",
        &[(
            "README.md",
            &[
                "-Depot keeps track of parcels. Drivers recieve a list of stops each morning, and the office sees where every parcel is.",
                "+Depot keeps track of parcels. Drivers recieve a list of stops each morning, and the office knows where every parcel is.",
            ],
        )],
    ),
];

#[tokio::test]
async fn an_eighth_set() {
    judge(EIGHTH).await;
}

#[tokio::test]
async fn a_last_set_of_both_kinds() {
    judge(LAST).await;
}

#[tokio::test]
async fn what_is_talked_of_in_another_mood_changes_nothing_again() {
    judge(AGAIN).await;
}

#[tokio::test]
async fn what_is_talked_of_in_another_mood_changes_nothing() {
    judge(MOODS).await;
}

#[tokio::test]
async fn what_people_ask_for_in_other_forms_is_done() {
    judge(ASKED).await;
}

#[tokio::test]
async fn what_comes_near_to_a_request_is_told_from_one() {
    judge(NEAR).await;
}

async fn judge(cases: &[Told]) {
    let bench = Bench::depot();
    let (mut missed, mut wrong) = (Vec::new(), Vec::new());
    for (title, body, want) in cases {
        let outcome = bench.solve(title, body).await;
        let mut got = outcome.lines();
        let mut wanted = BTreeMap::new();
        for (path, lines) in *want {
            // A new file is only asked to be there.
            if lines.is_empty() && got.remove(*path).is_none() {
                missed.push(format!("{title}: no {path}"));
            } else if !lines.is_empty() {
                wanted.insert((*path).to_owned(), lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
            }
        }
        if got != wanted && got.is_empty() {
            missed.push(format!("{title}: {:#?}{:#?}", outcome.changes.validation.errors, outcome.refused));
        } else if got != wanted {
            wrong.push(format!("{title}: {got:#?}"));
        }
    }
    assert!(
        wrong.is_empty() && missed.is_empty(),
        "{} wrong\n{}\n{} missed\n{}",
        wrong.len(),
        wrong.join("\n"),
        missed.len(),
        missed.join("\n")
    );
}

#[tokio::test]
async fn a_second_set_that_the_mechanics_were_not_made_for() {
    let (mut right, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    for case in CASES {
        let bench = Bench::of(case.files);
        let outcome = bench.solve(case.title, case.body).await;
        let want: BTreeMap<String, Vec<String>> = case
            .want
            .iter()
            .map(|(path, lines)| ((*path).to_owned(), lines.iter().map(|line| (*line).to_owned()).collect()))
            .collect();
        let got = outcome.lines();
        if got == want {
            right += 1;
        } else if got.is_empty() {
            missed.push(format!("{}: {:#?}{:#?}", case.name, outcome.changes.validation.errors, outcome.refused));
        } else {
            wrong.push(format!("{}: {got:#?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(missed.is_empty(), "{right} of {} right, missed:\n{}", CASES.len(), missed.join("\n"));
}
