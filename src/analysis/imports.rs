//! What a file takes from others: its import statements, read by the grammar of its language.
//!
//! Only lines that may hold such a statement are parsed: in a large repository they are a fiftieth of the text.

use super::Language;
use super::engine::{TreeNode, parse};

/// One import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Import {
    /// As it is written, without quotes: `crate::a::B`, `..pkg.mod`, `./cart`, `example.com/m/p`, `a.b.C`, `a.b.*`.
    pub target: String,
    /// Names that are taken from the target, where the grammar keeps them apart from it (Python).
    pub names: Vec<String>,
    /// It declares a part of this file (`mod a;` of Rust) rather than something that the file uses.
    pub part: bool,
}

/// Bytes of statements that are parsed, of one file.
const MAX_STATEMENTS: usize = 64 * 1024;
/// Lines of one statement.
const MAX_STATEMENT: usize = 300;
/// Longer lines were written by a program.
const MAX_LINE: usize = 2_000;
const MAX_IMPORTS: usize = 500;

/// The imports of a file in the order of its text; nothing for a file that is no code of a language known here.
pub fn imports(path: &str, text: &str) -> Vec<Import> {
    let Some(language) = Language::of_path(path) else { return Vec::new() };
    let statements = statements(language, text);
    if statements.is_empty() {
        return Vec::new();
    }
    let Ok(tree) = parse(language, &statements) else { return Vec::new() };
    let mut found = Vec::new();
    for node in tree.root().dfs() {
        read(&node, &mut found);
        if found.len() >= MAX_IMPORTS {
            break;
        }
    }
    found.truncate(MAX_IMPORTS);
    found
}

/// The lines that may be import statements, each statement whole.
fn statements(language: Language, text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(full) = lines.next() {
        if out.len() > MAX_STATEMENTS {
            break;
        }
        let line = full.trim_start();
        if line.is_empty() || full.len() > MAX_LINE {
            continue;
        }
        if !begins(language, line) {
            if is_web(language) {
                calls(line, &mut out);
            }
            continue;
        }
        let at = out.len();
        // In a module within the file, `super` is the file itself.
        match line.strip_prefix("use super::").filter(|_| language == Language::Rust && full.len() > line.len()) {
            Some(rest) => out.extend(["use self::", rest]),
            None => out.push_str(line),
        }
        let mut taken = 0;
        while taken < MAX_STATEMENT && is_open(language, &out[at..]) {
            let Some(next) = lines.next() else { break };
            out.push('\n');
            out.push_str(next);
            taken += 1;
        }
        out.push('\n');
    }
    out
}

fn begins(language: Language, line: &str) -> bool {
    let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    match language {
        Language::Rust => {
            let bare = line.strip_prefix("pub").map_or(line, |rest| {
                let rest = rest.trim_start();
                rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest).trim_start()
            });
            bare.starts_with("use ")
                || bare.starts_with("extern crate ")
                || bare.starts_with("mod ") && bare.contains(';')
        }
        Language::Python => line.starts_with("import ") || line.starts_with("from ") && line.contains("import"),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            starts(&["import ", "import{", "import\"", "import'", "export *", "export {", "export{", "export type {"])
        }
        Language::Go | Language::Java => line.starts_with("import ") || line.starts_with("import("),
    }
}

fn is_web(language: Language) -> bool {
    matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx)
}

/// Whether the statement goes on in the next line.
fn is_open(language: Language, statement: &str) -> bool {
    let count = |marks: &[char]| statement.matches(marks).count();
    let open = count(&['(', '[', '{']) > count(&[')', ']', '}']);
    match language {
        Language::Rust | Language::Java => !statement.contains(';'),
        Language::Python => open || statement.ends_with('\\'),
        Language::Go => open,
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            open || statement.starts_with("import") && !statement.contains(['"', '\'', ';'])
        }
    }
}

/// Calls of `require` and `import` with a literal, as statements of their own.
fn calls(line: &str, out: &mut String) {
    if line.starts_with("//") || line.starts_with('*') {
        return;
    }
    for call in ["require(", "import("] {
        for (at, _) in line.match_indices(call) {
            let inside = line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
            let argument = line[at + call.len()..].split(')').next().unwrap_or_default().trim();
            let literal = argument.len() > 2 && argument.starts_with(['"', '\'']);
            if !inside && literal && argument.ends_with(argument.chars().next().unwrap_or(' ')) {
                out.extend(["require(", argument, ");\n"]);
            }
        }
    }
}

fn read(node: &TreeNode<'_>, found: &mut Vec<Import>) {
    let mut add = |target: &str, names: Vec<String>| {
        let target = target.trim_matches(['"', '\'', '`']).to_owned();
        if !target.is_empty() {
            found.push(Import { target, names, part: false });
        }
    };
    match &*node.kind() {
        "use_declaration" => {
            if let Some(argument) = node.field("argument") {
                let mut paths = Vec::new();
                flatten("", &argument, &mut paths);
                paths.iter().for_each(|path| add(path, Vec::new()));
            }
        }
        "extern_crate_declaration" => {
            if let Some(name) = node.field("name") {
                add(&name.text(), Vec::new());
            }
        }
        "mod_item" if node.field("body").is_none() => {
            if let Some(name) = node.field("name") {
                found.push(Import { target: name.text().into_owned(), names: Vec::new(), part: true });
            }
        }
        // Python has the kind without a source, the web has the source.
        "import_statement" | "export_statement" | "import_require_clause" => match node.field("source") {
            Some(source) => add(&source.text(), Vec::new()),
            None => node.field_children("name").for_each(|name| add(&unaliased(&name), Vec::new())),
        },
        "import_from_statement" => {
            if let Some(module) = node.field("module_name") {
                let names = node.field_children("name").map(|name| unaliased(&name)).collect();
                add(&module.text(), names);
            }
        }
        "call_expression" => {
            let is_require = node.field("function").is_some_and(|f| matches!(&*f.text(), "require" | "import"));
            let argument = node.field("arguments").and_then(|all| all.named_children().next());
            if let Some(argument) = argument.filter(|a| is_require && a.kind() == "string") {
                add(&argument.text(), Vec::new());
            }
        }
        "import_spec" => {
            if let Some(path) = node.field("path") {
                add(&path.text(), Vec::new());
            }
        }
        "import_declaration" => {
            // Go has the same kind around its specs.
            let text = node.text();
            let bare = text.trim_start_matches("import").trim().trim_end_matches(';').trim();
            if bare.contains(['"', '(', '`']) {
                return;
            }
            match bare.strip_prefix("static ").map(str::trim) {
                Some(member) => add(member.rsplit_once('.').map_or(member, |(class, _)| class), Vec::new()),
                None => add(bare, Vec::new()),
            }
        }
        _ => {}
    }
}

/// `a.b as c` is `a.b`.
fn unaliased(node: &TreeNode<'_>) -> String {
    node.field("name").unwrap_or_else(|| node.clone()).text().into_owned()
}

/// The paths of a `use`, one each.
fn flatten(prefix: &str, node: &TreeNode<'_>, paths: &mut Vec<String>) {
    let join = |text: &str| if prefix.is_empty() { text.to_owned() } else { format!("{prefix}::{text}") };
    match &*node.kind() {
        "use_as_clause" => {
            if let Some(path) = node.field("path") {
                flatten(prefix, &path, paths);
            }
        }
        "scoped_use_list" => {
            let path = node.field("path").map(|path| join(&path.text())).unwrap_or_else(|| prefix.to_owned());
            if let Some(list) = node.field("list") {
                flatten(&path, &list, paths);
            }
        }
        "use_list" => node.named_children().for_each(|child| flatten(prefix, &child, paths)),
        "use_wildcard" => paths.push(join(&node.text())),
        "identifier" | "scoped_identifier" | "self" | "super" | "crate" => paths.push(join(&node.text())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        let got: Vec<String> = imports(path, text)
            .into_iter()
            .map(|import| {
                let part = if import.part { "part " } else { "" };
                let names =
                    if import.names.is_empty() { String::new() } else { format!(" {}", import.names.join(",")) };
                format!("{part}{}{names}", import.target)
            })
            .collect();
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn imports_are_read_in_every_language() {
        check(
            "src/a.rs",
            "pub mod b;\nmod c {\n    use super::*;\n}\nuse crate::x::{self, y::Z as W, *};\npub(crate) use super::q;\nfn f() { let used = 1; }\n",
            &["part b", "self::*", "crate::x::self", "crate::x::y::Z", "crate::x::*", "super::q"],
        );
        check(
            "a.py",
            "import os, a.b as c\nfrom . import x\nfrom ..p.q import (\n    one,\n    two as t,\n)\nif X:\n    from z import *\ntext = 'import nothing'\n",
            &["os", "a.b", ". x", "..p.q one,two", "z"],
        );
        check(
            "a.ts",
            "import type { A } from './a';\nimport {\n  b,\n} from \"../b\"\nimport './c.css'\nexport * from './d'\nconst e = require('./e'), f = await import('./f');\nexport { g };\n// require('./no')\n",
            &["./a", "../b", "./c.css", "./d", "./e", "./f"],
        );
        check(
            "a.go",
            "package a\n\nimport \"fmt\"\nimport (\n\t\"m/x\"\n\ty \"m/z\"\n)\n\nfunc F() {}\n",
            &["fmt", "m/x", "m/z"],
        );
        check(
            "A.java",
            "package a;\nimport a.b.C;\nimport static a.b.D.e;\nimport a.f.*;\nclass A {}\n",
            &["a.b.C", "a.b.D", "a.f.*"],
        );
        check("a.md", "import x\n", &[]);
    }

    #[test]
    fn a_file_of_imports_alone_is_read_up_to_the_limit() {
        let text: String = (0..3_000).map(|n| format!("import module_{n}\n")).collect();
        assert_eq!(imports("a.py", &text).len(), MAX_IMPORTS);
        assert!(imports("a.py", &"from (".repeat(200_000)).is_empty());
    }
}
