//! The documentation agent (S0.5 to S0.7): pages, an OpenAPI document and a drawing, made from a codebase alone.
//!
//! Nothing is made up: every name, command and number stands in the codebase. A page for which there is nothing to say is
//! an error message in Markdown, with what would help.

mod dependencies;
mod diagram;
mod draw;
mod font;
mod markdown;
mod modules;
mod openapi;
mod pages;
mod routes;
mod source;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::artifact::server::{Codebase, DocumentationMap};
use source::Source;

pub(super) const AGENT: &str = "documentation";

/// File name to content. Of an empty codebase, one page that says so.
pub(super) fn document(codebase: &Codebase) -> DocumentationMap {
    if codebase.files.iter().all(|file| file.content.trim().is_empty()) {
        let page = markdown::failure(
            "Documentation",
            "the codebase holds no file with text.",
            "a folder with sources; files that are ignored by `.gitignore`, binary or too large are not read.",
        );
        return DocumentationMap::from([("README.md".to_owned(), page)]);
    }
    let source = Source::read(codebase);
    let endpoints = routes::endpoints(&source);
    let graph = modules::graph(&source);
    let mut map = DocumentationMap::new();
    let mut add = |name: &str, content: String| {
        map.insert(name.to_owned(), content);
    };
    add("API.md", pages::api(&source));
    add("ARCHITECTURE.md", pages::architecture(&source, &graph));
    add("CODE_OF_CONDUCT.md", pages::conduct(&source));
    add("CONTRIBUTING.md", pages::contributing(&source));
    add("DEPENDENCIES.md", dependencies::page(&source));
    if !graph.nodes.is_empty() {
        let layout = diagram::layout(&graph, &source.name);
        add("diagram.svg", draw::svg(&layout));
        add("diagram.png", STANDARD.encode(draw::png(&layout)));
    }
    match openapi::yaml(&source, &endpoints) {
        Ok(None) => {}
        Ok(Some(yaml)) => add("swagger.yaml", yaml),
        Err(why) => add(
            "swagger.md",
            markdown::failure(
                "`swagger.yaml`",
                &markdown::prose(&why),
                "the other pages, which name the routes as well.",
            ),
        ),
    }
    let others: Vec<&str> = map.keys().map(String::as_str).collect();
    let readme = pages::readme(&source, &endpoints, &others);
    map.insert("README.md".to_owned(), readme);
    map
}

/// What is wrong with a map; nothing when it may be handed out.
pub(super) fn faults(map: &DocumentationMap) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, content) in map {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            faults.push(format!("{name}: no name of a file"));
        }
        if content.trim().is_empty() {
            faults.push(format!("{name}: empty"));
        }
        let is_png = || STANDARD.decode(content).is_ok_and(|bytes| bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
        if name.ends_with(".png") && !is_png() {
            faults.push(format!("{name}: no PNG in base64"));
        }
        if name.ends_with(".yaml") && serde_saphyr::from_str::<serde_json::Value>(content).is_err() {
            faults.push(format!("{name}: no YAML"));
        }
    }
    if !map.contains_key("README.md") {
        faults.push("README.md: missing".to_owned());
    }
    faults
}
