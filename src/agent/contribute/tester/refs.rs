//! Which tests exercise a file: those that import it, name its type, or lie in its package.

use std::sync::LazyLock;

use regex::Regex;

use crate::agent::contribute::{substitution, survey, words};
use crate::agent::mechanic::places;
use crate::analysis::Language;

/// Whether a test file refers to a source file by the means of its language.
pub(super) fn refers(test: &str, text: &str, source: &str) -> bool {
    match (Language::of_path(test), Language::of_path(source)) {
        (Some(Language::Python), Some(Language::Python)) => python(test, text, source),
        (
            Some(Language::JavaScript | Language::TypeScript | Language::Tsx),
            Some(Language::JavaScript | Language::TypeScript | Language::Tsx),
        ) => script(test, text, source),
        (Some(Language::Rust), Some(Language::Rust)) => test == source || rust(text, source),
        (Some(Language::Go), Some(Language::Go)) => go(test, text, source),
        (Some(Language::Java), Some(Language::Java)) => java(test, text, source),
        _ => false,
    }
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn stem(path: &str) -> &str {
    survey::name(path).split('.').next().unwrap_or_default()
}

/// `src/shop/cart.py` is the module `src.shop.cart`, and is imported by any end of that.
fn python(test: &str, text: &str, source: &str) -> bool {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?m)^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+([\w., \t]+))",
        )
    });
    let mut own: Vec<&str> = folder(source).split('/').filter(|part| !part.is_empty()).collect();
    if stem(source) != "__init__" {
        own.push(stem(source));
    }
    if own.is_empty() {
        return false;
    }
    let is = |dotted: &str| {
        let named: Vec<&str> = dotted.split('.').filter(|part| !part.is_empty()).collect();
        // The whole of a package's path, or the whole of it below a folder of sources.
        let rest = own.len().checked_sub(named.len()).map(|n| &own[..n]);
        !named.is_empty() && own.ends_with(&named) && rest.is_some_and(|rest| named.len() > 1 || rest.len() <= 1)
    };
    IMPORT.captures_iter(text).any(|found| {
        if let Some(plain) = found.get(3) {
            return plain.as_str().split(',').any(|one| is(one.split_whitespace().next().unwrap_or_default()));
        }
        let from = found.get(1).map_or("", |m| m.as_str());
        let dots = from.chars().take_while(|c| *c == '.').count();
        let base = if dots == 0 {
            from.to_owned()
        } else {
            let mut parts: Vec<&str> = folder(test).split('/').filter(|part| !part.is_empty()).collect();
            parts.truncate(parts.len().saturating_sub(dots - 1));
            format!("{}.{}", parts.join("."), &from[dots..])
        };
        let names = found.get(2).map_or("", |m| m.as_str()).trim_matches(['(', ')']);
        let each = names.split(',').filter_map(|one| one.split_whitespace().next());
        is(&base) || each.into_iter().any(|name| is(&format!("{base}.{name}")))
    })
}

/// An import of a relative path that leads to the file.
fn script(test: &str, text: &str, source: &str) -> bool {
    let plain = |path: &str| {
        let path = [".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"]
            .iter()
            .find_map(|end| path.strip_suffix(end))
            .unwrap_or(path);
        path.strip_suffix("/index").unwrap_or(path).to_owned()
    };
    let wanted = plain(source);
    let lines =
        text.lines().filter(|line| ["import", "require", "from", "mock("].iter().any(|word| line.contains(word)));
    lines.flat_map(substitution::literals).filter(|target| target.starts_with('.')).any(|target| {
        let mut parts: Vec<&str> = folder(test).split('/').filter(|part| !part.is_empty()).collect();
        for part in target.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return false;
                    }
                }
                part => parts.push(part),
            }
        }
        plain(&parts.join("/")) == wanted
    })
}

/// A path through the module's name; the crate's own for its root.
fn rust(text: &str, source: &str) -> bool {
    let module = match stem(source) {
        "lib" | "main" | "mod" => survey::name(folder(source).trim_end_matches("/src")),
        stem => stem,
    };
    let module = module.replace('-', "_");
    let alone = !module.is_empty() && module != "src";
    alone
        && places(text, &module, false).into_iter().any(|at| {
            let (before, after) = (&text[..at], &text[at + module.len()..]);
            after.starts_with("::") || before.ends_with("::")
        })
}

fn go(test: &str, text: &str, source: &str) -> bool {
    let (own, other) = (folder(source), folder(test));
    let imported = || substitution::literals(text).any(|path| path.ends_with(&format!("/{own}")));
    own == other || !own.is_empty() && imported()
}

fn java(test: &str, text: &str, source: &str) -> bool {
    let package = |path: &str| {
        let folder = folder(path);
        folder.split_once("/java/").map_or(folder, |(_, rest)| rest).to_owned()
    };
    let name = stem(source);
    let imported = format!("{}.{name};", package(source).replace('/', "."));
    text.contains(&imported) || package(test) == package(source) && !places(text, name, false).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(test: &str, text: &str, source: &str, want: bool) {
        assert_eq!(refers(test, text, source), want, "{test}: {text}");
    }

    #[test]
    fn an_import_refers_and_a_mention_does_not() {
        check("tests/test_cart.py", "from shop.cart import Cart\n", "src/shop/cart.py", true);
        check("tests/test_cart.py", "from shop import (\n    cart,\n)\n", "src/shop/cart.py", true);
        check("tests/test_cart.py", "import os, shop.cart as c\n", "shop/cart.py", true);
        check("shop/tests/test_cart.py", "from ..cart import Cart\n", "shop/cart.py", true);
        check("tests/test_cart.py", "from shop import Cart\n", "shop/__init__.py", true);
        check("tests/test_cart.py", "# shop.cart is nice\nfrom other.cart import Cart\n", "shop/cart.py", false);
        check("tests/test_a.py", "from cart import x\n", "a/b/cart.py", false);
        check("web/a.test.ts", "import { f } from './a';\n", "web/a.ts", true);
        check("tests/a.test.js", "const { f } = require('../src/a.js');\n", "src/a.js", true);
        check("tests/a.test.js", "import f from '../lib';\n", "lib/index.js", true);
        check("tests/a.test.js", "import f from 'a';\nimport g from './a';\n", "src/a.js", false);
        check("tests/it.rs", "use depot::price::gross;\n", "src/price.rs", true);
        check("core/tests/it.rs", "use core_lib::gross;\n", "core-lib/src/lib.rs", true);
        check("tests/it.rs", "// the price is right\n", "src/price.rs", false);
        check("a/b_test.go", "package a\n", "a/c.go", true);
        check("x/b_test.go", "import \"m.example/a\"\n", "a/c.go", true);
        check("x/b_test.go", "package x\n", "a/c.go", false);
        check("src/test/java/d/LabelsTest.java", "new Labels();\n", "src/main/java/d/Labels.java", true);
        check("src/test/java/e/XTest.java", "import d.Labels;\n", "src/main/java/d/Labels.java", true);
        check("src/test/java/e/XTest.java", "new Labels();\n", "src/main/java/d/Labels.java", false);
        check("tests/test_cart.py", "from shop.cart import Cart\n", "shop/cart.rs", false);
    }
}
