//! Links and images in Markdown whose target is not in the tree.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;

use super::engine::{Hit, finish};
use super::lines::Lines;
use super::{RuleInfo, language};
use crate::domain::{Category, Finding, Fingerprint, RuleId, Severity};
use crate::stdx::path::normal;

/// Extensions that site generators add or take away.
const PAGES: &[&str] = &["md", "mdx", "markdown", "rst", "html", "adoc", "txt"];
/// Folders that site generators serve as the root.
const ROOTS: &[&str] = &["static", "public", "docs", "assets", "src", "content"];

/// Relative links of one Markdown file that lead nowhere. `exists` answers for files and folders of the same tree, by
/// their path from its root; what lies outside the tree is never asked about.
pub fn broken_links(path: &str, markdown: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    if is_template(path) || language::is_test(path) {
        return Vec::new();
    }
    let lines = Lines::new(markdown);
    let info = info();
    let mut hits = Vec::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        let targets: Vec<String> = match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => vec![dest_url.into_string()],
            Event::Html(html) | Event::InlineHtml(html) => in_html(&html),
            _ => continue,
        };
        for target in targets {
            if leads_somewhere(path, &target, exists) {
                continue;
            }
            let finding = Finding {
                category: info.category,
                severity: info.severity,
                rule: info.id.clone(),
                path: path.to_owned(),
                span: lines.span(range.clone()),
                message: format!("`{target}` is not in the repository."),
                why: info.why.clone(),
                fix: None,
                reference: info.reference.clone(),
                fingerprint: Fingerprint::new(&info.id, path, "", 0),
            };
            hits.push(Hit { start: range.start, end: range.end, matched: target, finding });
        }
    }
    finish(path, markdown, &lines, hits)
}

/// What this rule says about itself.
pub(super) fn info() -> RuleInfo {
    RuleInfo {
        id: RuleId("broken-link".to_owned()),
        category: Category::Documentation,
        severity: Severity::Medium,
        languages: Vec::new(),
        message: "A link leads to a file that is not in the repository.".to_owned(),
        why: "Whoever follows the link gets an error page. Correct the path, add the file, or drop the link."
            .to_owned(),
        reference: None,
        has_fix: false,
    }
}

/// Templates are shown under another address than their own.
fn is_template(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.contains("template") || lower.contains("cookiecutter")
}

/// `src` and `href` of raw HTML.
fn in_html(html: &str) -> Vec<String> {
    #[expect(clippy::expect_used, reason = "a literal pattern; the tests of this file compile it")]
    static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)<(?:img|a|source|video)\b[^>]*?\s(?:src|href)\s*=\s*["']([^"']+)["']"#)
            .expect("the pattern is valid")
    });
    ATTRIBUTE.captures_iter(html).filter_map(|found| found.get(1)).map(|m| m.as_str().to_owned()).collect()
}

fn leads_somewhere(path: &str, target: &str, exists: &dyn Fn(&str) -> bool) -> bool {
    let target = target.trim();
    let plain = target.split(['#', '?']).next().unwrap_or_default();
    let foreign = plain.is_empty()
        || target.starts_with("//")
        || has_scheme(target)
        // An item of a Rust crate, resolved by rustdoc.
        || target.contains("::")
        || matches!(plain, "crate" | "self" | "super" | "Self")
        || target.contains(['{', '}', '<', '>', '$', '*', '|', '\\', '@', '%']) && percent_decode(target).is_none()
        || plain.contains(['{', '}', '<', '>', '$', '*', '|', '\\', ' ', '@']);
    if foreign {
        return true;
    }
    let Some(decoded) = percent_decode(plain) else { return true };
    let decoded = decoded.trim_end_matches('/');
    if decoded.contains(['{', '}', '<', '>']) {
        return true;
    }
    let extension = decoded.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    if let Some(rest) = decoded.strip_prefix('/') {
        // Pages of a site have addresses of their own; only files can be looked up.
        let page = extension.is_none_or(|e| PAGES.contains(&e) && e != "md");
        return page || from_root(path, rest, exists);
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    match normal(&format!("{folder}/{decoded}")) {
        // Above the root are GitHub's own pages, `../../issues`.
        None => true,
        // Below a folder of documentation, pages have the addresses that a generator gives them.
        Some(_) if extension.is_none() && (!decoded.contains('/') || in_docs(folder)) => true,
        Some(found) => there(&found, extension, exists),
    }
}

fn in_docs(folder: &str) -> bool {
    folder.split('/').any(|part| matches!(part, "docs" | "doc" | "content" | "website" | "site" | "pages" | "book"))
}

fn there(found: &str, extension: Option<&str>, exists: &dyn Fn(&str) -> bool) -> bool {
    if found.is_empty() || exists(found) {
        return true;
    }
    match extension {
        // Pages are made from something else.
        Some("html" | "htm") => true,
        Some(_) => false,
        None => PAGES.iter().any(|page| {
            exists(&format!("{found}.{page}"))
                || exists(&format!("{found}/index.{page}"))
                || exists(&format!("{found}/README.{page}"))
        }),
    }
}

/// `/x` is the root of the repository on GitHub, and the root of the site for a generator.
fn from_root(path: &str, rest: &str, exists: &dyn Fn(&str) -> bool) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    (0..folders.len()).any(|depth| {
        let base = folders.get(..depth).unwrap_or_default().join("/");
        let at = |middle: &str| normal(&format!("{base}/{middle}/{rest}")).is_some_and(|found| exists(&found));
        at("") || ROOTS.iter().any(|root| at(root))
    })
}

fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

/// `None` when it is no percent-encoded UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &[&str] =
        &["README.md", "docs", "docs/a.md", "docs/b c.md", "docs/img/x.png", "static/logo.svg", "src/lib.rs"];

    #[track_caller]
    fn check(path: &str, markdown: &str, want: &[(u32, &str)]) {
        let found = broken_links(path, markdown, &|p| TREE.contains(&p));
        let got: Vec<(u32, &str)> =
            found.iter().map(|f| (f.span.start_line, f.message.split('`').nth(1).unwrap_or_default())).collect();
        assert_eq!(got, want, "{markdown}");
    }

    #[test]
    fn a_relative_link_to_nothing_is_found_where_it_stands() {
        check("README.md", "# x\n\nSee [a](docs/a.md) and [z](docs/z.md#top).\n", &[(3, "docs/z.md#top")]);
        check("docs/a.md", "![x](img/x.png) ![y](img/y.png) [up](../README.md)\n", &[(1, "img/y.png")]);
        check("docs/a.md", "[b](b%20c.md) [l](/src/lib.rs) [m](/src/main.rs)\n", &[(1, "/src/main.rs")]);
        check("docs/a.md", "[r][1]\n\n[1]: gone.md\n", &[(1, "gone.md")]);
        check("README.md", "<p><img width=1 src=\"docs/none.png\"></p>\n", &[(1, "docs/none.png")]);
    }

    #[test]
    fn what_is_no_file_of_the_tree_is_left_alone() {
        for markdown in [
            "[a](#top) [b](https://example.org/x) [c](mailto:a@example.org) [d](//cdn/x)",
            "[e]({{ site.url }}/x) [f](<docs/a.md>) [g]($HOME/x)",
            "`[a](gone.md)`\n\n```\n[a](gone.md)\n```\n",
            "[up](../../issues/1) [wiki](../../wiki)",
            "[folder](docs/) [page](docs/a) [html](docs/a.html) ![logo](/logo.svg) [page](/guide/start)",
            "[Type](crate::Engine) [x](docs/a.md?plain=1#L3)",
            "<!-- octoswarm-ignore: broken-link -->\n[a](gone.md)",
        ] {
            check("README.md", markdown, &[]);
        }
        check(".github/ISSUE_TEMPLATE/bug.md", "[a](gone.md)", &[]);
        check("tests/fixtures/a.md", "[a](gone.md)", &[]);
    }
}
