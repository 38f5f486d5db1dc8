//! docs/linters.md shows the table of linters as it is.

use octoswarm::agent::linters::{Over, TABLE};

/// The table of docs/linters.md.
fn page_table() -> String {
    let mut lines = vec![
        "| linter | reads | shown by | runs code | asked as |".to_owned(),
        "| --- | --- | --- | --- | --- |".to_owned(),
    ];
    let code = |text: &str| format!("`{}`", text.trim_start_matches("**/"));
    for linter in TABLE {
        let mut reads: Vec<String> = linter.reads.iter().take(4).map(|glob| code(glob)).collect();
        if linter.reads.len() > 4 {
            reads.push("and others".to_owned());
        }
        if !linter.interpreters.is_empty() {
            reads.push("scripts by their first line".to_owned());
        }
        let shown = linter.shown_by.iter().map(|(glob, text)| match *text {
            "" => code(glob),
            text => format!("{} with `{text}`", code(glob)),
        });
        let way = linter.ways.last().map(|way| way.command.join(" ")).unwrap_or_default();
        let files = if linter.ways.iter().all(|way| way.over == Over::Files) { " …" } else { "" };
        lines.push(format!(
            "| {} | {} | {} | {} | `{way}{files}` |",
            linter.name,
            reads.join(", "),
            shown.collect::<Vec<_>>().join(", "),
            if linter.runs_code { "yes" } else { "no" },
        ));
    }
    lines.join("\n")
}

#[test]
fn the_page_shows_the_table() {
    const BEGIN: &str = "<!-- linters: generated, UPDATE=1 cargo test --test it linters::page -->\n";
    const END: &str = "\n<!-- end -->";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/linters.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END.trim_start()).unwrap();
    let fresh = format!("{before}{BEGIN}{}{END}{after}", page_table());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/linters.md is stale: run UPDATE=1 cargo test --test it linters::page");
    }
}
