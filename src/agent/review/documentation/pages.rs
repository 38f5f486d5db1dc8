//! `README.md`, `CONTRIBUTING.md`, `CODE_OF_CONDUCT.md`, `ARCHITECTURE.md` and `API.md`.

use std::collections::BTreeMap;

use super::markdown::{block, code, failure, file, prose};
use super::modules::Graph;
use super::routes::Endpoint;
use super::source::Source;
use crate::agent::contribute::{Class, GUIDES, STYLE_SETTINGS};
use crate::stdx::text::count;

/// Rows of a table and items of a file that are shown; the rest is counted.
const MAX_ROWS: usize = 60;
const MAX_ITEMS: usize = 2_000;

pub(super) fn readme(source: &Source<'_>, endpoints: &[Endpoint], others: &[&str]) -> String {
    let mut out = format!("# {}\n", prose(&source.name));
    match (&source.description, opening(source)) {
        (Some(said), _) => out.push_str(&format!("\n{}\n", prose(said))),
        (None, Some((path, said))) => out.push_str(&format!("\n{} ({})\n", prose(&said), file(path))),
        (None, None) => {}
    }
    if let Some(path) = source.document(&["readme"]) {
        out.push_str(&format!(
            "\nThe codebase has a page of its own: {}. What follows was read from its sources.\n",
            file(path)
        ));
    }
    let languages = source.languages();
    if !languages.is_empty() {
        out.push_str("\n## What is here\n\n| language | files | lines |\n| --- | ---: | ---: |\n");
        for (language, files, lines) in languages.iter().take(MAX_ROWS) {
            out.push_str(&format!("| {language} | {files} | {lines} |\n"));
        }
        if !source.project.framework.is_empty() {
            out.push_str(&format!("\nIt is built with {}.\n", prose(&source.project.framework)));
        }
    }
    out.push_str(&folders(source));
    let commands = commands(source);
    if !commands.is_empty() {
        out.push_str("\n## Getting started\n");
        out.push_str(&commands);
    }
    let starts = starts(source);
    if !starts.is_empty() {
        out.push_str("\n## Where it starts\n\n");
        for path in starts.iter().take(MAX_ROWS) {
            out.push_str(&format!("- {}\n", file(path)));
        }
    }
    if !endpoints.is_empty() {
        out.push_str("\n## HTTP routes\n\nIn full in [`swagger.yaml`](./swagger.yaml).\n\n| method | path | says |\n| --- | --- | --- |\n");
        for endpoint in endpoints.iter().take(MAX_ROWS) {
            let method = endpoint.method.map_or_else(|| "any".to_owned(), str::to_uppercase);
            let said = endpoint.summary.as_deref().map(prose).unwrap_or_default();
            out.push_str(&format!("| {method} | {} | {said} |\n", code(&endpoint.path)));
        }
        if endpoints.len() > MAX_ROWS {
            out.push_str(&format!("\nand {} more.\n", endpoints.len() - MAX_ROWS));
        }
    }
    out.push_str("\n## Documents\n\n");
    for name in others {
        out.push_str(&format!("- {} (made from the sources)\n", file(name)));
    }
    let kinds: [(&str, &[&str]); 5] = [
        ("how to contribute", &["contributing", "hacking"]),
        ("what changed", &["changelog", "changes", "history", "news"]),
        ("security", &["security"]),
        ("running it", &["runbook", "operations"]),
        ("architecture", &["architecture", "design"]),
    ];
    for (what, stems) in kinds {
        if let Some(path) = source.document(stems) {
            out.push_str(&format!("- {what}: {} (the codebase's own)\n", file(path)));
        }
    }
    out.push_str("\n## Licence\n\n");
    let page = source.document(&["license", "licence", "copying", "license-mit", "license-apache", "unlicense"]);
    match (&source.licence, page) {
        (Some(said), Some(path)) => out.push_str(&format!("{}, see {}.\n", prose(said), file(path))),
        (Some(said), None) => out.push_str(&format!("{}, as the manifest says.\n", prose(said))),
        (None, Some(path)) => out.push_str(&format!("See {}.\n", file(path))),
        (None, None) => out.push_str("Neither a manifest nor a file of its own states one.\n"),
    }
    if let Some(url) = source.repo_url {
        out.push_str(&format!("\nSources: {}\n", code(url)));
    }
    out
}

/// The first paragraph of the codebase's own page.
fn opening<'a>(source: &Source<'a>) -> Option<(&'a str, String)> {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let path = source.document(&["readme"]).filter(|path| path.ends_with(".md"))?;
    let text = source.files.iter().find(|file| file.path == path)?.text;
    let (mut said, mut within) = (String::new(), false);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Paragraph) => within = true,
            Event::End(TagEnd::Paragraph) if said.trim().len() > 20 => break,
            Event::End(TagEnd::Paragraph) => {
                said.clear();
                within = false;
            }
            Event::Text(part) | Event::Code(part) if within => said.push_str(&part),
            Event::SoftBreak | Event::HardBreak if within => said.push(' '),
            _ => {}
        }
    }
    let said = crate::stdx::text::truncate_chars(said.trim(), 400);
    (said.len() > 20).then_some((path, said))
}

fn folders(source: &Source<'_>) -> String {
    let mut sums: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in source.files.iter().filter(|file| file.class != Class::Foreign) {
        let folder = file.path.split_once('/').map_or("", |(folder, _)| folder);
        let sum = sums.entry(folder).or_default();
        *sum = (sum.0 + 1, sum.1 + file.lines);
    }
    let mut out = String::from("\n## Layout\n\n| folder | files | lines |\n| --- | ---: | ---: |\n");
    for (folder, (files, lines)) in sums.iter().take(MAX_ROWS) {
        let folder = if folder.is_empty() { "(the root)".to_owned() } else { code(&format!("{folder}/")) };
        out.push_str(&format!("| {folder} | {files} | {lines} |\n"));
    }
    if sums.len() > MAX_ROWS {
        out.push_str(&format!("\nand {} more.\n", sums.len() - MAX_ROWS));
    }
    out
}

fn commands(source: &Source<'_>) -> String {
    let commands = &source.project.commands;
    let mut out = String::new();
    for (what, command) in [
        ("Install", &commands.install),
        ("Build", &commands.build),
        ("Test", &commands.test),
        ("Check", &commands.lint),
    ] {
        if !command.is_empty() {
            out.push_str(&format!("\n{what}:\n\n{}", block("console", command)));
        }
    }
    out
}

/// Files that a program starts with, by the names that the languages give them.
fn starts<'a>(source: &Source<'a>) -> Vec<&'a str> {
    source
        .of(Class::Source)
        .filter(|file| {
            let name = file.path.rsplit('/').next().unwrap_or(file.path);
            match name {
                "main.rs" | "main.py" | "__main__.py" | "manage.py" | "wsgi.py" | "asgi.py" => true,
                _ if file.path.ends_with(".rs") => file.path.contains("src/bin/"),
                _ if name.ends_with(".go") => file.text.contains("\nfunc main()") && file.text.contains("package main"),
                _ if name.ends_with(".java") => file.text.contains("public static void main("),
                "server.js" | "server.ts" | "app.js" | "app.ts" | "index.js" | "index.ts" | "main.ts" | "main.js" => {
                    file.path.matches('/').count() <= 1
                }
                _ => false,
            }
        })
        .map(|file| file.path)
        .collect()
}

pub(super) fn contributing(source: &Source<'_>) -> String {
    let mut out = String::from("# Contributing\n");
    match source.survey.first(GUIDES) {
        Some(path) => {
            out.push_str(&format!("\nThe codebase has its own guide, and it wins over this page: {}.\n", file(path)))
        }
        None => out.push_str(
            "\nThe codebase has no guide of its own. What follows was read from its manifests and sources.\n",
        ),
    }
    let commands = &source.project.commands;
    out.push_str("\n## Setting up\n\n");
    if commands.install.is_empty() && commands.build.is_empty() {
        out.push_str("No manifest says how it is installed or built.\n");
    } else {
        let steps: Vec<&str> = [&commands.install, &commands.build]
            .into_iter()
            .map(String::as_str)
            .filter(|step| !step.is_empty())
            .collect();
        let manager = &source.project.manager;
        let with = if manager.is_empty() { String::new() } else { format!("With {}:\n\n", prose(manager)) };
        out.push_str(&format!("{with}{}", block("console", &steps.join("\n"))));
    }
    out.push_str(
        "\n## Finding your way\n\nBegin with [`ARCHITECTURE.md`](./ARCHITECTURE.md), then [`API.md`](./API.md).\n",
    );
    out.push_str("\n## Testing\n\n");
    let tests: Vec<_> = source.of(Class::Test).filter(|file| file.language.is_some()).collect();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for test in &tests {
        *places.entry(test.path.rsplit_once('/').map_or("(the root)", |(folder, _)| folder)).or_default() += 1;
    }
    if tests.is_empty() {
        out.push_str(
            "No file is named as a test. Tests that stand beside the code in its own files are not counted here.\n",
        );
    } else {
        out.push_str(&format!("{} of tests:\n\n", count(tests.len(), "file")));
        for (folder, files) in places.iter().take(20) {
            out.push_str(&format!("- {}: {files}\n", code(folder)));
        }
        if places.len() > 20 {
            out.push_str(&format!("- and {} more folders\n", places.len() - 20));
        }
    }
    match commands.test.as_str() {
        "" => out.push_str("\nNo manifest says how they are run.\n"),
        command => out.push_str(&format!("\nThey are run with\n\n{}", block("console", command))),
    }
    out.push_str("\n## Style\n\n");
    let styles: Vec<String> =
        STYLE_SETTINGS.iter().filter(|name| source.survey.has(name)).map(|name| file(name)).collect();
    match (styles.as_slice(), commands.lint.as_str()) {
        ([], "") => out.push_str("No settings of a formatter or a linter were found.\n"),
        (styles, lint) => {
            if !styles.is_empty() {
                out.push_str(&format!("Set in {}.\n", styles.join(", ")));
            }
            if !lint.is_empty() {
                out.push_str(&format!("\nChecked with\n\n{}", block("console", lint)));
            }
        }
    }
    let templates: Vec<&str> = source
        .files
        .iter()
        .map(|file| file.path)
        .filter(|path| path.to_ascii_lowercase().contains("pull_request_template"))
        .collect();
    if !templates.is_empty() {
        let links: Vec<String> = templates.iter().map(|path| file(path)).collect();
        out.push_str(&format!("\n## Pull requests\n\nTheir text begins with {}.\n", links.join(", ")));
    }
    out
}

/// Only where there is one: a promise of how people are treated, and whom to write to, cannot be read from sources.
pub(super) fn conduct(source: &Source<'_>) -> String {
    match source.document(&["code_of_conduct", "code-of-conduct", "conduct"]) {
        Some(path) => format!("# Code of conduct\n\nThe codebase has one: {}.\n", file(path)),
        None => failure(
            "The code of conduct",
            "the codebase has none, and neither its rules nor whom to write to can be read from sources.",
            "choosing one, with an address that somebody reads, and adding it as `CODE_OF_CONDUCT.md`.",
        ),
    }
}

pub(super) fn architecture(source: &Source<'_>, graph: &Graph) -> String {
    if graph.nodes.is_empty() {
        return failure(
            "The description of the architecture",
            "no source file of a language that can be parsed was found.",
            "sources in Rust, Python, JavaScript, TypeScript, Go or Java outside the folders of tests, examples and vendored code.",
        );
    }
    let mut out =
        format!("# Architecture of {}\n\n![Modules and who needs whom](./diagram.svg)\n", prose(&source.name));
    out.push_str("\n## Modules\n\n| module | files | lines | needs | needed by |\n| --- | ---: | ---: | --- | --- |\n");
    let names = |ends: Vec<usize>| {
        let shown: Vec<String> =
            ends.iter().take(8).filter_map(|at| graph.nodes.get(*at)).map(|node| code(&node.name)).collect();
        let more = if ends.len() > 8 { format!(" and {} more", ends.len() - 8) } else { String::new() };
        if shown.is_empty() { "none".to_owned() } else { format!("{}{more}", shown.join(", ")) }
    };
    for (at, node) in graph.nodes.iter().enumerate() {
        let needs = graph.edges.keys().filter(|(from, _)| *from == at).map(|(_, to)| *to).collect();
        let needed = graph.edges.keys().filter(|(_, to)| *to == at).map(|(from, _)| *from).collect();
        let (name, needs, needed) = (code(&node.name), names(needs), names(needed));
        out.push_str(&format!("| {name} | {} | {} | {needs} | {needed} |\n", node.files, node.lines));
    }
    let mutual: Vec<String> = graph
        .edges
        .keys()
        .filter(|(from, to)| from < to && graph.edges.contains_key(&(*to, *from)))
        .filter_map(|(from, to)| {
            Some(format!("- {} and {}\n", code(&graph.nodes.get(*from)?.name), code(&graph.nodes.get(*to)?.name)))
        })
        .collect();
    if !mutual.is_empty() {
        out.push_str(&format!("\n## Modules that need each other\n\n{}", mutual.concat()));
    }
    out
}

pub(super) fn api(source: &Source<'_>) -> String {
    let mut out = format!("# Public items of {}\n", prose(&source.name));
    let (mut shown, mut left) = (0, 0);
    for file_of in source.of(Class::Source) {
        let items = file_of.outline.as_ref().map(|outline| outline.items.as_slice()).unwrap_or_default();
        if items.is_empty() {
            continue;
        }
        if shown >= MAX_ITEMS {
            left += items.len();
            continue;
        }
        out.push_str(&format!("\n## {}\n\n", file(file_of.path)));
        for item in items {
            shown += 1;
            let said = item.doc.as_deref().map(|doc| format!("\n  {}", prose(doc))).unwrap_or_default();
            out.push_str(&format!(
                "- {} {} (line {}): {}{said}\n",
                item.kind,
                code(&item.name),
                item.line,
                code(&item.signature)
            ));
        }
    }
    if left > 0 {
        out.push_str(&format!("\nand {left} more in other files.\n"));
    }
    if shown > 0 {
        return out;
    }
    failure(
        "The list of public items",
        "no source file offers anything to others that could be read: nothing is public, or no file is of a language that \
         can be parsed.",
        "public items in Rust, Python, JavaScript, TypeScript, Go or Java.",
    )
}
