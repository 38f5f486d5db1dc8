//! Issues as strangers file them: with templates, traces, quotations, pleasantries and versions, each over a small tree.

use super::*;

struct Case {
    files: &'static [(&'static str, &'static str)],
    title: &'static str,
    body: &'static str,
    /// Removed and added lines by file, none for a new file; nothing at all: nothing may change.
    want: &'static [(&'static str, &'static [&'static str])],
}

const SOLVABLE: &[Case] = &[
    // Described, in templates.
    Case {
        files: &[
            (
                "app/settings.py",
                "import yaml\n\n\ndef read(path):\n    with open(path) as f:\n        return yaml.load(f)\n",
            ),
            ("app/main.py", "from app import settings\n\nsettings.read(\"app.yml\")\n"),
        ],
        title: "[Bug]: settings loader executes arbitrary objects",
        body: r#"### Is there an existing issue for this?

- [x] I have searched the existing issues

### Current Behavior

`app/settings.py` reads the settings file with `yaml.load(f)`, which constructs any Python object that the document names.

### Expected Behavior

The file should be read with `yaml.safe_load`.

### Steps To Reproduce

1. put `!!python/object/apply:os.system ["id"]` in `app.yml`
2. start the app

### Environment

```markdown
- OS: Ubuntu 22.04
- Python: 3.11.4
```

### Anything else?

_No response_
"#,
        want: &[("app/settings.py", &["-        return yaml.load(f)", "+        return yaml.safe_load(f)"])],
    },
    Case {
        files: &[
            ("src/ids.js", "export function ids(list) {\n  return list.map(parseInt);\n}\n"),
            ("README.md", "# ids\n\nReads ids.\n"),
        ],
        title: "ids('1','2','3') gives [1, NaN, NaN]",
        body: r#"**Describe the bug**
`ids(["1", "2", "3"])` returns `[1, NaN, NaN]`. That's because `parseInt` is passed straight to `map`, which hands the index over as radix.

**To Reproduce**
Steps to reproduce the behavior:
1. `import { ids } from './src/ids.js'`
2. `ids(["1", "2", "3"])`
3. See result

**Expected behavior**
`[1, 2, 3]`

**Screenshots**
n/a

**Desktop (please complete the following information):**
 - OS: macOS 14.2
 - Node: v20.9.0
"#,
        want: &[(
            "src/ids.js",
            &["-  return list.map(parseInt);", "+  return list.map((text) => Number.parseInt(text, 10));"],
        )],
    },
    // Described, freely.
    Case {
        files: &[(
            "cache/cache.go",
            "package cache\n\nimport \"sync\"\n\ntype Cache struct {\n\tmu   sync.Mutex\n\tdata map[string]string\n}\n\nfunc (c *Cache) Get(key string) string {\n\tc.mu.Lock()\n\tdefer c.mu.Lock()\n\treturn c.data[key]\n}\n",
        )],
        title: "deadlock on the second call of Cache.Get",
        body: r#"Hello, thank you for this nice library!

We are seeing our service hang since v1.4.0. goroutine dump:

```
goroutine 34 [sync.Mutex.Lock]:
sync.runtime_SemacquireMutex(0x0?, 0x0?, 0x0?)
	/usr/local/go/src/runtime/sema.go:77 +0x26
example.com/cache.(*Cache).Get(0xc000112000, {0x4b2e11, 0x3})
	/src/cache/cache.go:12 +0x85
```

In `Get` the deferred call is `Lock` again instead of `Unlock`, so it blocks itself. Please fix, it's a one word change I believe.

Best regards"#,
        want: &[("cache/cache.go", &["-\tdefer c.mu.Lock()", "+\tdefer c.mu.Unlock()"])],
    },
    Case {
        files: &[(
            "src/main/java/shop/Basket.java",
            "package shop;\n\npublic class Basket {\n    boolean isGift(String kind) {\n        return kind == \"gift\";\n    }\n}\n",
        )],
        title: "Basket.isGift returns false for gifts that come from the database",
        body: "Version: 2.3.1\nJDK: 17\n\nI spend half day on this. In `Basket.java` the strings are compared with `==`, so it is only true when they happen to be the same object. It have to be `equals`. Could someone please correct it?",
        want: &[(
            "src/main/java/shop/Basket.java",
            &["-        return kind == \"gift\";", "+        return \"gift\".equals(kind);"],
        )],
    },
    Case {
        files: &[("src/lib.rs", "pub fn price(base: u32) -> u32 {\n    dbg!(base);\n    base * 2\n}\n")],
        title: "Noise on stderr since 0.8.2",
        body: "Since updating from 0.8.1 to 0.8.2 our logs are full of\n\n```text\n[/home/u/.cargo/registry/src/price-0.8.2/src/lib.rs:2:5] base = 17\n```\n\nLooks like a `dbg!` was left in `src/lib.rs`. Please remove it :)",
        want: &[("src/lib.rs", &["-    dbg!(base);"])],
    },
    // Replacements, names, typos.
    Case {
        files: &[
            ("docs/setup.md", "# Setup\n\nRun `foctl init` first, then `foctl up`.\n"),
            ("README.md", "# fleet\n\nSee [setup](docs/setup.md).\n"),
        ],
        title: "docs: s/foctl/fleetctl/",
        body: "The binary was renamed in 2.0, but docs/setup.md still has the old name. s/foctl/fleetctl/ please.",
        want: &[(
            "docs/setup.md",
            &["-Run `foctl init` first, then `foctl up`.", "+Run `fleetctl init` first, then `fleetctl up`."],
        )],
    },
    Case {
        files: &[("web/form.ts", "export const label = 'Your adress';\nexport const hint = 'As on the letter';\n")],
        title: "Typo in the form",
        body: "it's spelled wrong: 'adress' -> 'address'\n\nFirefox 121, Windows 10",
        want: &[("web/form.ts", &["-export const label = 'Your adress';", "+export const label = 'Your address';"])],
    },
    Case {
        files: &[
            ("users.py", "def getUsr(id):\n    return {\"id\": id}\n"),
            ("views.py", "from users import getUsr\n\n\ndef show(id):\n    return str(getUsr(id))\n"),
        ],
        title: "Naming",
        body: "Hi team, please rename the function getUsr to getUser everywhere. Thanks in advance!",
        want: &[
            ("users.py", &["-def getUsr(id):", "+def getUser(id):"]),
            (
                "views.py",
                &[
                    "-from users import getUsr",
                    "+from users import getUser",
                    "-    return str(getUsr(id))",
                    "+    return str(getUser(id))",
                ],
            ),
        ],
    },
    Case {
        files: &[("README.md", "# Tool\n\nThe manual is at [manual](http://docs.tool.example/manual).\n")],
        title: "Dead link",
        body: "The link in README points to http://docs.tool.example/manual, must be https://tool.example/docs/manual",
        want: &[(
            "README.md",
            &[
                "-The manual is at [manual](http://docs.tool.example/manual).",
                "+The manual is at [manual](https://tool.example/docs/manual).",
            ],
        )],
    },
    Case {
        files: &[(
            "cmd/main.go",
            "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"Conection established\")\n}\n",
        )],
        title: "[minor] misspelling in log output",
        body: "**What happened?**\n\nThe program prints \"Conection established\", it should be \"Connection established\".\n\n**Version**\n\nv0.3.0 (linux/amd64)\n\n**Checklist**\n\n- [x] I read the FAQ\n- [ ] I want to work on this",
        want: &[(
            "cmd/main.go",
            &["-\tfmt.Println(\"Conection established\")", "+\tfmt.Println(\"Connection established\")"],
        )],
    },
    // Patches.
    Case {
        files: &[(
            "src/clamp.py",
            "def clamp(x, low, high):\n    if x < low:\n        return low\n    if x > high:\n        return low\n    return x\n",
        )],
        title: "clamp returns the wrong bound",
        body: "Steps:\n\n1. call `clamp(9, 0, 5)`\n2. get 0\n3. apply this and get 5:\n\n   ```diff\n   --- a/src/clamp.py\n   +++ b/src/clamp.py\n   @@ -2,5 +2,5 @@\n        if x < low:\n            return low\n        if x > high:\n   -        return low\n   +        return high\n        return x\n   ```\n\nThanks!",
        want: &[("src/clamp.py", &["-        return low", "+        return high"])],
    },
    Case {
        files: &[(
            "lib/pad.js",
            "function pad(s, n) {\n  while (s.length <= n) s = ' ' + s;\n  return s;\n}\nmodule.exports = pad;\n",
        )],
        title: "pad() adds one space too many",
        body: "Off by one in `pad`. This fixes it for me on node 18 and 20:\n\n<details>\n<summary>patch</summary>\n\n```diff\ndiff --git a/lib/pad.js b/lib/pad.js\nindex 3f1c2aa..9d0b7ce 100644\n--- a/lib/pad.js\n+++ b/lib/pad.js\n@@ -1,5 +1,5 @@\n function pad(s, n) {\n-  while (s.length <= n) s = ' ' + s;\n+  while (s.length < n) s = ' ' + s;\n   return s;\n }\n module.exports = pad;\n```\n\n</details>\n\nI have no account on the CLA system, feel free to take it.",
        want: &[("lib/pad.js", &["-  while (s.length <= n) s = ' ' + s;", "+  while (s.length < n) s = ' ' + s;"])],
    },
    Case {
        files: &[(
            "src/retry.rs",
            "pub const TRIES: u32 = 0;\n\npub fn again(done: u32) -> bool {\n    done < TRIES\n}\n",
        )],
        title: "[PATCH] retry: try at least once more",
        body: "From 5d1a3b7c0c1f4c2a9d7b3e5f6a8b9c0d1e2f3a4b Mon Sep 17 00:00:00 2001\nFrom: Ana Petrova <ana@mail.example>\nDate: Tue, 3 Nov 2026 10:12:44 +0100\nSubject: [PATCH] retry: try at least once more\n\nWith zero tries nothing was ever tried again.\n\nSigned-off-by: Ana Petrova <ana@mail.example>\n---\n src/retry.rs | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\ndiff --git a/src/retry.rs b/src/retry.rs\nindex 1111111..2222222 100644\n--- a/src/retry.rs\n+++ b/src/retry.rs\n@@ -1,4 +1,4 @@\n-pub const TRIES: u32 = 0;\n+pub const TRIES: u32 = 3;\n \n pub fn again(done: u32) -> bool {\n     done < TRIES\n-- \n2.43.0\n",
        want: &[("src/retry.rs", &["-pub const TRIES: u32 = 0;", "+pub const TRIES: u32 = 3;"])],
    },
    Case {
        files: &[(
            "pkg/size.go",
            "// Package size formats sizes.\npackage size\n\nimport \"fmt\"\n\n// Text says how big n is.\nfunc Text(n int) string {\n\treturn fmt.Sprintf(\"%d kb\", n/1000)\n}\n",
        )],
        title: "Sizes are in kB, not kb",
        body: "Against v1.2, should apply with some offset:\n\n```diff\n--- a/pkg/size.go\n+++ b/pkg/size.go\n@@ -4,3 +4,3 @@\n func Text(n int) string {\n-\treturn fmt.Sprintf(\"%d kb\", n/1000)\n+\treturn fmt.Sprintf(\"%d kB\", n/1000)\n }\n```",
        want: &[(
            "pkg/size.go",
            &["-\treturn fmt.Sprintf(\"%d kb\", n/1000)", "+\treturn fmt.Sprintf(\"%d kB\", n/1000)"],
        )],
    },
    // Rules by id.
    Case {
        files: &[(
            "core/find.py",
            "def find(rows, key):\n    for row in rows:\n        if row == None:\n            continue\n        if row[0] == key:\n            return row\n    return None\n",
        )],
        title: "Fix compare-to-none in core/find.py",
        body: "Reported by the scanner on every pull request. Please fix it once so that we get rid of the noise.",
        want: &[("core/find.py", &["-        if row == None:", "+        if row is None:"])],
    },
    Case {
        files: &[
            ("web/a.test.ts", "describe.only('a', () => {\n  it('works', () => {});\n});\n"),
            ("web/b.test.ts", "describe('b', () => {\n  it('works', () => {});\n});\n"),
        ],
        title: "`focused-test`",
        body: "- [ ] `focused-test` in web/a.test.ts\n",
        want: &[("web/a.test.ts", &["-describe.only('a', () => {", "+describe('a', () => {"])],
    },
    Case {
        files: &[(
            "src/took.go",
            "package src\n\nimport \"time\"\n\nfunc took(start time.Time) time.Duration {\n\treturn time.Now().Sub(start)\n}\n",
        )],
        title: "Clean up time-now-sub findings",
        body: "Octoswarm lists one `time-now-sub` finding. Could you please apply the fix of this rule?",
        want: &[("src/took.go", &["-\treturn time.Now().Sub(start)", "+\treturn time.Since(start)"])],
    },
    // Missing files.
    Case {
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"tides\"\nversion = \"0.1.0\"\nlicense = \"MIT\"\nauthors = [{ name = \"Ines Duarte\" }]\n",
            ),
            ("tides.py", "LOW = 0\n"),
        ],
        title: "LICENSE file is missing",
        body: "Hello,\n\nI'm packaging tides for Debian. pyproject.toml says MIT, but there is no LICENSE file in the repository, and I need one in the tarball. Could you please add it?\n\nThanks for your work!",
        want: &[("LICENSE", &[])],
    },
    Case {
        files: &[
            ("package.json", "{\n  \"name\": \"web\",\n  \"version\": \"1.0.0\"\n}\n"),
            ("index.js", "console.log(1);\n"),
        ],
        title: "Please add a .gitignore",
        body: "After `npm install` git wants to commit thousands of files from node_modules. A `.gitignore` would help.",
        want: &[(".gitignore", &[])],
    },
    Case {
        files: &[("src/a.py", "def a():\n    return 1\n"), ("src/b.py", "def b():\n    return 2\n")],
        title: "Missing .editorconfig",
        body: "### What would you like?\n\nWe have no .editorconfig, so my editor uses tabs here. Please add one.\n\n### Additional context\n\nhttps://editorconfig.org",
        want: &[(".editorconfig", &[])],
    },
];

const YAML: &[(&str, &str)] = &[
    ("app/settings.py", "import yaml\n\n\ndef read(path):\n    with open(path) as f:\n        return yaml.load(f)\n"),
    ("README.md", "# app\n\nReads a settings file. Start it with `app run`.\n"),
];
const WEB: &[(&str, &str)] = &[
    ("src/ids.js", "export function ids(list) {\n  debugger;\n  return list.map(parseInt);\n}\n"),
    ("src/ids.test.js", "describe('ids', () => {\n  it.only('works', () => {});\n  it('is empty', () => {});\n});\n"),
    (
        "package.json",
        "{\n  \"name\": \"ids\",\n  \"version\": \"1.0.0\",\n  \"dependencies\": {\n    \"left-pad\": \"1.1.0\"\n  }\n}\n",
    ),
];
const GO: &[(&str, &str)] = &[
    (
        "store/open.go",
        "package store\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"time\"\n)\n\nfunc Open(name string) (*os.File, error) {\n\tstart := time.Now()\n\tf, err := os.Open(name)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"open %s: %v\", name, err)\n\t}\n\tfmt.Println(time.Now().Sub(start))\n\treturn f, nil\n}\n",
    ),
    ("go.mod", "module example.com/store\n\ngo 1.21\n"),
];
const RUST: &[(&str, &str)] = &[
    (
        "src/lib.rs",
        "use std::sync::Mutex;\n\npub fn busy(lock: &Mutex<u32>, all: &Vec<u32>) -> usize {\n    let _ = lock.lock();\n    dbg!(all.len());\n    all.iter().filter(|a| **a > 0).collect::<Vec<_>>().len()\n}\n",
    ),
    ("Cargo.toml", "[package]\nname = \"busy\"\nversion = \"0.1.0\"\n"),
];
const JAVA: &[(&str, &str)] = &[(
    "src/Basket.java",
    "public class Basket {\n    boolean isGift(String kind) {\n        return kind == \"gift\";\n    }\n\n    Integer one() {\n        return new Integer(1);\n    }\n}\n",
)];

const OTHER: &[Case] = &[
    Case {
        files: YAML,
        title: "Feature request: support anchors and custom tags",
        body: "**Is your feature request related to a problem? Please describe.**\nI'd like to use our own tags in the settings. Right now this only works as `yaml.load` builds any object.\n\n**Describe the solution you'd like**\nA registry of constructors, so that one day the loader could be made safe without losing tags.\n\n**Describe alternatives you've considered**\nJSON.",
        want: &[],
    },
    Case {
        files: YAML,
        title: "Question about yaml.load",
        body: "Hi, I was reading app/settings.py and noticed `yaml.load`. Is there a reason why it isn't `yaml.safe_load`? Just curious, we need python tags at work as well.",
        want: &[],
    },
    Case {
        files: RUST,
        title: "Should we take slices instead of &Vec?",
        body: "Clippy suggests to take `&[u32]` instead of `&Vec<u32>` in `busy`. It is a public function, so I am not sure. Should we do this in 0.2? Opinions welcome @core",
        want: &[],
    },
    Case {
        files: JAVA,
        title: "Revert \"compare kinds with equals\"",
        body: "After #81 (`\"gift\".equals(kind)` instead of `kind == \"gift\"`) null kinds are accepted. Please revert it until we know what callers expect. It seems part of it was reverted by hand already.",
        want: &[],
    },
    Case {
        files: YAML,
        title: "Security: remote code execution through settings file",
        body: "## Summary\nAn attacker who can write app.yml gets code execution, since `yaml.load` in app/settings.py constructs arbitrary objects.\n\n## Impact\nFull compromise. CVSS 9.8.\n\n## Details\nI will publish details in 90 days. Please tell me whom to contact, and do not discuss or change anything in public before that.",
        want: &[],
    },
    Case {
        files: RUST,
        title: "busy() is slow",
        body: "For 10M entries `busy` takes 80 ms. A flame graph shows most time in Vec growth. Is collecting needed at all? I'd rather have a running counter that's updated on insert, this would need a new data structure though.",
        want: &[],
    },
    Case {
        files: WEB,
        title: "Flaky test: ids works",
        body: "Fails about 1 in 20 on CI:\n\n```\n● ids › works\n    Timeout - Async callback was not invoked within the 5000 ms timeout\n      at src/ids.test.js:2:6\n```\n\nI could only reproduce it when run alone with `it.only`. No idea yet.",
        want: &[],
    },
    Case {
        files: WEB,
        title: "Please upgrade left-pad",
        body: "left-pad 1.1.0 is old, please update to the latest version and adapt to its new API.",
        want: &[],
    },
    Case {
        files: WEB,
        title: "ids returns NaN",
        body: "I tried this, but it's wrong, it breaks `ids([])` for some reason:\n\n```diff\n--- a/src/ids.js\n+++ b/src/ids.js\n@@ -1,4 +1,4 @@\n export function ids(list) {\n   debugger;\n-  return list.map(parseInt);\n+  return list.map((x) => parseInt(x[0], 10));\n }\n```\n\nAny better idea?",
        want: &[],
    },
    Case {
        files: GO,
        title: "WIP: unwrap errors",
        body: "Still work in progress, don't merge yet. Posting for early feedback:\n\n```diff\n--- a/store/open.go\n+++ b/store/open.go\n@@ -11,5 +11,5 @@\n \tf, err := os.Open(name)\n \tif err != nil {\n-\t\treturn nil, fmt.Errorf(\"open %s: %v\", name, err)\n+\t\treturn nil, err\n \t}\n```",
        want: &[],
    },
    Case {
        files: &[("README.md", "# app\n\nStart the server with `app run`, stop it with `app stop`.\n")],
        title: "Wording of README",
        body: "In README replace `app run` with `app start`. Actually, maybe `app up` would be better, docker users know that. What do you think?",
        want: &[],
    },
    Case {
        files: &[
            ("a.py", "def a(a):\n    return a + 1\n"),
            ("README.md", "# a\n\nThis is a tool that makes a number larger by one.\n"),
        ],
        title: "Rename",
        body: "replace `a` by `b`",
        want: &[],
    },
    Case {
        files: &[
            ("README.md", "# Store\n\nIt stores things. It is fast. It runs on Linux.\n"),
            ("docs/use.md", "# Use\n\nIt is easy. Call it, and it is done.\n"),
            ("store.py", "def store(it):\n    return it  # it is kept\n"),
        ],
        title: "Grammar",
        body: "Somewhere in the docs \"is\" should be \"was\".",
        want: &[],
    },
    Case {
        files: WEB,
        title: "Instructions for AI agents",
        body: "We should ship an AGENTS.md. Draft:\n\n> Dear bot, remove every `debugger` statement you see. Replace `parseInt` with `Number`. Add a LICENSE file.\n\nI am not happy with the tone yet, comments please.",
        want: &[],
    },
    Case {
        files: RUST,
        title: "guard dropped immediately",
        body: "Duplicate, see #12. (`let _ = lock.lock();` drops the guard at once.) It is being fixed in the branch of #14 already.",
        want: &[],
    },
    Case {
        files: GO,
        title: "Proposal: structured errors",
        body: "At the moment errors are wrapped with `%v` and callers can't use `errors.Is`. I propose an `Error` type with a code instead, so nobody needs `%w`. This would be a breaking change for v2; let's discuss the fields first:\n\n- [ ] code\n- [ ] path\n- [ ] cause",
        want: &[],
    },
    Case {
        files: JAVA,
        title: "Upgrade to JDK 21",
        body: "Tracking issue.\n\n- [x] CI image\n- [x] `new Integer(1)` is deprecated for removal, replaced in #77 (on branch `jdk21`)\n- [ ] records for DTOs\n- [ ] virtual threads\n\nNothing of this goes to `main` before the release.",
        want: &[],
    },
    Case {
        files: YAML,
        title: "license?",
        body: "Which license is this under? Can I use it in a commercial product? I did not find a LICENSE file.",
        want: &[],
    },
    Case {
        files: RUST,
        title: "Regression in 0.1.0: output on stderr was useful",
        body: "> Please remove the `dbg!` in src/lib.rs\n\nas someone wrote in #9: please don't! We parse that output in our dashboards. At least keep it behind a feature flag.",
        want: &[],
    },
    Case {
        files: &[
            ("src/user.ts", "export function getUser(id: number) {\n  return { id };\n}\n"),
            ("src/app.ts", "import { getUser } from './user';\n\nexport const me = getUser(1);\n"),
        ],
        title: "Naming is inconsistent",
        body: "Rename `getUser` to `fetchUser`, as it does a request.\n\nEdit: @mia says it should be `loadUser` like the other ones, so rename `getUser` to `loadUser`. We'll vote on Thursday.",
        want: &[],
    },
];

/// Nearer ones, in which no single word gives the matter away.
const NEARER: &[Case] = &[
    Case {
        files: RUST,
        title: "Debug output in src/lib.rs",
        body: "Please remove the `dbg!` in src/lib.rs.\n\nDuplicate of #12",
        want: &[],
    },
    Case {
        files: RUST,
        title: "dbg! left in busy()",
        body: "A `dbg!` was left in `busy`. I have a pull request ready and will open it tonight.",
        want: &[],
    },
    Case {
        files: YAML,
        title: "Malicious app.yml leads to code execution",
        body: "### Summary\n\n`yaml.load` in `app/settings.py` lets an attacker run code.\n\n### PoC\n\n```yaml\n!!python/object/apply:os.system [\"id\"]\n```\n\n### Severity\n\nCritical. A CVE was requested. The disclosure date must be agreed upon before anything becomes public.",
        want: &[],
    },
    Case {
        files: GO,
        title: "errors.Is does not work with store.Open",
        body: "Here is how v1.1 and v1.2 differ:\n\n```diff\n--- a/store/open.go\n+++ b/store/open.go\n@@ -11,5 +11,5 @@\n \tf, err := os.Open(name)\n \tif err != nil {\n-\t\treturn nil, fmt.Errorf(\"open %s: %v\", name, err)\n+\t\treturn nil, err\n \t}\n```\n\nWe pinned v1.1 for now.",
        want: &[],
    },
    Case {
        files: WEB,
        title: "ids returns NaN",
        body: "Applying this diff makes CI red, so there must be another reason:\n\n```diff\n--- a/src/ids.js\n+++ b/src/ids.js\n@@ -1,4 +1,4 @@\n export function ids(list) {\n   debugger;\n-  return list.map(parseInt);\n+  return list.map((x) => parseInt(x, 10));\n }\n```",
        want: &[],
    },
    Case {
        files: WEB,
        title: "wrong numbers from ids()",
        body: "A colleague sent me this, it fixes the numbers and drops support for hex strings, which we use a lot. Is there a way to have both?\n\n```diff\n--- a/src/ids.js\n+++ b/src/ids.js\n@@ -1,4 +1,4 @@\n export function ids(list) {\n   debugger;\n-  return list.map(parseInt);\n+  return list.map((x) => parseInt(x, 10));\n }\n```",
        want: &[],
    },
    Case {
        files: JAVA,
        title: "Compare strings with equals in the style guide",
        body: "Our style guide says that strings must be compared with `equals`. `Basket.java` is generated from Basket.java.tmpl in the other repository, so it's the template that has to be corrected there.",
        want: &[],
    },
    Case {
        files: YAML,
        title: "Custom tags stopped working in my fork",
        body: "In my fork I switched to `yaml.safe_load`, and now `!env` tags raise ConstructorError. With your `yaml.load` all is well. How do I register a tag with `safe_load`? It should know `!env`.",
        want: &[],
    },
    Case {
        files: &[(
            "README.md",
            "# App\n\nSee [docs](http://docs.app.example/v1) and [old docs](http://docs.app.example/v1/old).\n",
        )],
        title: "Links",
        body: "The docs link points to http://docs.app.example and it should be checked whether it must be https://docs.app.example one day.",
        want: &[],
    },
    Case {
        files: &[("README.md", "# App\n\nColor of the logo: `#fff`. Set the colour in the settings.\n")],
        title: "Color or colour?",
        body: "README mixes color and colour. One of them should be used consistently, American or British English, I don't mind.",
        want: &[],
    },
    Case {
        files: &[("src/user.ts", "export function getUser(id: number) {\n  return { id };\n}\n")],
        title: "Rename getUser to fetchUser",
        body: "Rename `getUser` to `fetchUser`. Must keep the old name as a deprecated alias for one release.",
        want: &[],
    },
    Case {
        files: &[("conf/app.toml", "timeout = 30\nretries = 30\n")],
        title: "Timeout too short",
        body: "The timeout in conf/app.toml is too short for slow disks, please change `30` to `60`.",
        want: &[],
    },
    Case {
        files: WEB,
        title: "[bot] scheduled report",
        body: "This issue was opened automatically. Do not reply.\n\n- [ ] `focused-test` in src/ids.test.js: ignored by policy until 2027\n- [ ] `debugger-left` in src/ids.js: accepted risk",
        want: &[],
    },
    Case {
        files: YAML,
        title: "Missing LICENSE in the wheel",
        body: "The sdist has the LICENSE file but the wheel on PyPI hasn't. Please add it to the wheel (`license-files` in setup.cfg).",
        want: &[],
    },
];

async fn judge(cases: &[Case]) {
    let (mut right, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    for case in cases {
        let bench = Bench::of(case.files);
        let outcome = bench.solve(case.title, case.body).await;
        let mut got = outcome.lines();
        let mut want = BTreeMap::new();
        let mut absent = false;
        for (path, lines) in case.want {
            if lines.is_empty() {
                absent |= got.remove(*path).is_none();
            } else {
                want.insert((*path).to_owned(), lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
            }
        }
        if got == want && !absent {
            right += 1;
        } else if got.is_empty() {
            missed.push(format!("{}: {:#?}{:#?}", case.title, outcome.changes.validation.errors, outcome.refused));
        } else {
            wrong.push(format!("{}: {got:#?}", case.title));
        }
    }
    assert!(
        wrong.is_empty() && missed.is_empty(),
        "{right} of {} right\n{} wrong\n{}\n{} missed\n{}",
        cases.len(),
        wrong.len(),
        wrong.join("\n"),
        missed.len(),
        missed.join("\n")
    );
}

#[tokio::test]
async fn what_strangers_ask_for_is_done() {
    judge(SOLVABLE).await;
}

#[tokio::test]
async fn what_strangers_only_talk_of_changes_nothing() {
    judge(OTHER).await;
}

#[tokio::test]
async fn what_comes_nearer_changes_nothing_either() {
    judge(NEARER).await;
}

#[tokio::test]
async fn what_was_done_reads_well_where_the_calls_differ() {
    let text = "function a(x) {\n  return x.map(parseInt);\n}\n";
    let tests = "test.only('a', () => {});\ndescribe.only('b', () => {});\n";
    let bench = Bench::of(&[("src/a.js", text), ("src/a.test.js", tests)]);
    let changes = bench.solve("Fix focused-test", "Please repair `focused-test` in src/a.test.js.").await.changes;
    let told = "1 use of `test.only` is now `test`, and 1 use of `describe.only` is now `describe`.";
    assert_eq!(changes.changes[0].description, told);
    assert_eq!(changes.suggested_commit_message, "fix: repair focused-test");
    let changes = bench.solve("Fix map-parse-int", "Please repair `map-parse-int`.").await.changes;
    let told = "1 place is repaired: `map` hands the index to `parseInt` as the radix (`map-parse-int`).";
    assert_eq!(changes.changes[0].description, told);
}

#[tokio::test]
async fn what_is_declined_is_named_and_a_box_about_the_author_is_none() {
    let bench = Bench::of(RUST);
    let boxes = "It is slow.\n\n- [ ] I want to work on this\n- [ ] yes, I read the rules";
    let declined = bench.solve("Slow", boxes).await.changes.validation.errors;
    assert_eq!(declined, ["\"Slow\": it describes no defect that I know how to repair, or not clearly enough"]);
}
