//! The imports of a file without the rest of it: only lines that may hold such a statement are parsed. In a large repository
//! they are a fiftieth of the text.

use super::imports::{self, Import};
use crate::analysis::Language;
use crate::analysis::tree::parse;
use crate::analysis::worker::{self, Bounds, Code};
use crate::stdx::workers::Here;

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
    let code = Code::new(language, &statements);
    let holds = |found: &Vec<Import>| {
        let bounds = Bounds::new(&statements);
        found.len() <= MAX_IMPORTS && found.iter().all(|import| import.holds(&bounds))
    };
    worker::ask(worker::IMPORTS, &code, |here| of(here, &code), holds).unwrap_or_default()
}

/// What import statements import.
pub(in crate::analysis) fn of(here: &Here, code: &Code<'_>) -> Vec<Import> {
    let Ok(tree) = parse(here, code.language, &code.text) else { return Vec::new() };
    let mut found = imports::read(code.language, &tree.root());
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
            Some(rest) => out.extend(["use ", if rest.starts_with("super") { "" } else { "self::" }, rest]),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, want: &[&str]) {
        let got: Vec<String> = imports(path, text)
            .into_iter()
            .map(|import| {
                let part = if import.part { "part " } else { "" };
                let members =
                    if import.members.is_empty() { String::new() } else { format!(" {}", import.members.join(",")) };
                format!("{part}{}{members}", import.from)
            })
            .collect();
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn imports_are_read_in_every_language() {
        check(
            "src/a.rs",
            "pub mod b;\nmod c {\n    use super::*;\n}\nuse crate::x::{self, y::Z as W, *};\npub(crate) use super::q;\nfn f() { let used = 1; }\n",
            &["part self::b", "self", "crate::x", "crate::x::y::Z", "super::q"],
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
            &["a.b.C", "a.b.D.e", "a.f.*"],
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
