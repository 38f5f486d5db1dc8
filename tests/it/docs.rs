//! The documents stay true: every sample is classified, parsed and, where that is safe, executed; every link leads somewhere;
//! every setting, verb and quoted message exists.

mod requirements;
mod sample;
mod shell;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use octoswarm::domain::Clock;
use octoswarm::store::Store;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use sqlx::{ConnectOptions, Connection};

use sample::{Block, Sample};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn files_under(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
}

/// The documents that an operator or a reader is given, by path.
fn documents() -> BTreeMap<String, String> {
    let fixed = ["README.md", "SECURITY.md", "tests/conformance/README.md", "benches/README.md"];
    let paths = fixed.iter().map(|path| root().join(path)).chain(files_under(&root().join("docs"), "md"));
    paths.filter(|path| path.exists()).map(|path| (name_of(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

/// What the program is made of, without the tests at the feet of the files.
fn sources() -> String {
    let files = files_under(&root().join("src"), "rs").into_iter();
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    texts.map(|text| text.split("\n#[cfg(test)]\nmod ").next().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
}

fn matches(pattern: &str, text: &str) -> BTreeSet<String> {
    Regex::new(pattern).unwrap().captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// The variables that `config` reads.
fn variables() -> BTreeSet<String> {
    files_under(&root().join("src/config"), "rs")
        .into_iter()
        .flat_map(|path| matches(r#""(OCTOSWARM_[A-Z_]*[A-Z])""#, &std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// The keys that `octoswarm.toml` may have.
fn file_keys() -> BTreeSet<String> {
    let source = read("src/config/server.rs");
    let fields = source.split("struct FileWire {").nth(1).unwrap().split("\n}").next().unwrap();
    matches(r"(?m)^    (?:pub\(super\) )?([a-z_]+): ", fields)
}

/// What the server answers.
fn routes() -> BTreeSet<String> {
    matches(r#"\.route\(\s*"(/[^"]*)""#, &sources())
}

#[track_caller]
fn none(wrong: Vec<String>, what: &str) {
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[test]
fn every_sample_is_classified_and_holds() {
    let (variables, routes, verbs) = (variables(), routes(), help_pages());
    let known = Sample { variables: &variables, routes: &routes, root: root() };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (document, text) in documents() {
        for block in sample::blocks(&text) {
            seen += 1;
            let Block { line, language, .. } = &block;
            wrong.extend(
                known.faults(&block).into_iter().map(|fault| format!("{document}:{line} ({language}): {fault}")),
            );
        }
        for code in matches(r"(?m)`octoswarm ([a-z][^`\n]*)`", &text) {
            let words: Vec<_> =
                code.split_whitespace().take_while(|word| word.starts_with(char::is_lowercase)).collect();
            let named = (1..=words.len().min(2)).any(|count| verbs.contains_key(&words[..count].join(" ")));
            // A verb that is hidden from the help is one all the same.
            if !named && octoswarm::cli::parses(&words.iter().map(ToString::to_string).collect::<Vec<_>>()).is_err() {
                wrong.push(format!("{document}: `octoswarm {code}` is no verb"));
            }
        }
    }
    assert!(seen > 20, "only {seen} samples were found");
    none(wrong, "samples that do not hold");
}

#[test]
fn every_safe_command_of_the_documents_does_what_it_says() {
    let mut ran = 0;
    for (document, text) in documents() {
        let bench = shell::bench();
        for block in sample::blocks(&text).iter().filter(|block| block.language == "console") {
            for command in shell::commands(&block.text).unwrap() {
                if command.is_safe() {
                    ran += 1;
                    command.run(bench.path(), &format!("{document}:{}", block.line));
                }
            }
        }
    }
    assert!(ran >= 8, "only {ran} commands were executed");
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut pages = documents();
    for more in ["src/ARCHITECTURE.md", "CHANGELOG.md"] {
        pages.insert(more.to_owned(), read(more));
    }
    for (document, text) in &pages {
        let folder = Path::new(document).parent().unwrap();
        for event in Parser::new_ext(text, Options::all()) {
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
            if dest_url.contains("://") || dest_url.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = dest_url.split_once('#').map_or((&*dest_url, None), |(path, at)| (path, Some(at)));
            let target = if path.is_empty() { PathBuf::from(document) } else { plain(&folder.join(path)) };
            let name = target.to_str().unwrap().to_owned();
            if !root().join(&target).exists() {
                wrong.push(format!("{document}: {dest_url}: there is no {name}"));
            } else if let Some(anchor) = anchor
                && !anchors(&read(&name)).contains(anchor)
            {
                wrong.push(format!("{document}: {dest_url}: no heading of {name}"));
            }
        }
    }
    none(wrong, "links that lead nowhere");
}

/// Without `..`.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => assert!(plain.pop(), "{} leaves the project", path.display()),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The anchors that GitHub gives to headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let (mut found, mut heading) = (BTreeSet::new(), None::<String>);
    for event in Parser::new_ext(text, Options::all()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug: String = heading.take().unwrap().to_lowercase().replace(' ', "-");
                let slug: String = slug.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
                let again = (1..).map(|n| format!("{slug}-{n}")).find(|slug| !found.contains(slug));
                found.insert(if found.contains(&slug) { again.unwrap() } else { slug });
            }
            _ => {}
        }
    }
    found
}

#[test]
fn every_page_stands_in_the_index() {
    let index = read("docs/README.md");
    let missing = files_under(&root().join("docs"), "md").into_iter().map(|path| name_of(&path)).filter(|name| {
        let name = name.strip_prefix("docs/").unwrap();
        name != "README.md" && !index.contains(&format!("]({name})"))
    });
    none(missing.collect(), "pages that docs/README.md does not name");
}

#[test]
fn every_table_on_the_page_was_measured_by_a_benchmark() {
    let (page, manifest) = (read("docs/performance.md"), read("Cargo.toml"));
    let benches = matches(r#"(?m)^\[\[bench\]\]\nname = "([a-z]+)""#, &manifest);
    assert!(benches.len() >= 5, "{benches:?}");
    let tables = matches(r"(?s)<!-- bench:([a-z]+) -->\n\d+ processors[^|]*\| .*?<!-- /bench", &page);
    let places = matches(r"<!-- bench:([a-z]+) -->", &page);
    assert_eq!(tables, places, "`benches/run` writes the tables to target/bench");
    assert!(tables.len() >= 5 && tables.is_subset(&benches), "{tables:?}");
}

#[test]
fn every_setting_stands_in_the_table_and_nothing_else_does() {
    let page = read("docs/configuration.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with('|') && !line.contains("| --- |"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let column = |at: usize| rows.iter().filter_map(move |row| row.get(at)).copied().collect::<Vec<_>>().join("\n");
    assert_eq!(
        matches(r"`(OCTOSWARM_[A-Z_]+)`", &column(2)),
        variables(),
        "variables: left the table, right the source"
    );
    assert_eq!(matches(r"`([a-z_]+)`", &column(1)), file_keys(), "keys: left the table, right the source");
}

#[test]
fn what_the_program_and_the_documents_name_exists() {
    let (mut variables, keys, source) = (variables(), file_keys(), sources());
    // What only the checks read.
    for folder in ["tests/it/support", "benches"] {
        for file in files_under(&root().join(folder), "rs") {
            variables
                .extend(matches(r#"var(?:_os)?\("(OCTOSWARM_[A-Z_]+)"\)"#, &std::fs::read_to_string(file).unwrap()));
        }
    }
    let mut wrong = Vec::new();
    for (place, text) in documents().into_iter().chain([("the source".to_owned(), source)]) {
        for name in matches(r"\b(OCTOSWARM_[A-Z_]*[A-Z])\b", &text) {
            if !variables.contains(&name) {
                wrong.push(format!("{place}: nothing reads {name}"));
            }
        }
        for key in matches(r"`([a-z_]+)` in octoswarm\.toml", &text) {
            if !keys.contains(&key) {
                wrong.push(format!("{place}: octoswarm.toml has no `{key}`"));
            }
        }
        let paths = match place.as_str() {
            // Our own texts speak of other people's files as well.
            "the source" => matches(r"see (docs/[a-z/-]+\.md)", &text),
            _ => matches(r"[^/\w.:](docs/[a-z/-]+\.md|src/[A-Za-z_/]+\.(?:rs|md)|tests/[a-z_/]+\.rs)\b", &text),
        };
        for path in paths {
            if !root().join(&path).exists() {
                wrong.push(format!("{place}: there is no {path}"));
            }
        }
    }
    none(wrong, "names of nothing");
}

#[test]
fn messages_that_troubleshooting_quotes_are_in_the_source() {
    // Literals that go on in the next line are one text.
    let source = Regex::new(r"\\\n\s*").unwrap().replace_all(&sources(), "").into_owned();
    let said = |text: &str| {
        source.contains(text)
            || text
                .match_indices(' ')
                .any(|(at, _)| source.contains(&text[..at]) && source.contains(&format!("}}{}", &text[at..])))
    };
    let mut wrong = Vec::new();
    let mut quoted = 0;
    let page = read("docs/troubleshooting.md");
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.contains("| --- |")) {
        let symptom = row.split(" | ").next().unwrap();
        for message in matches("`([^`]+)`", symptom) {
            quoted += 1;
            let parts = message.split('…').map(|part| part.trim_matches([' ', ',', ';', '`']));
            wrong.extend(
                parts.filter(|part| !part.is_empty() && !said(part)).map(|part| format!("`{message}`: `{part}`")),
            );
        }
    }
    assert!(quoted > 20, "only {quoted} messages are quoted");
    none(wrong, "messages that the program does not print");
}

#[test]
fn the_story_that_the_readme_shows_is_the_one_that_the_demo_tells() {
    let story: String = files_under(&root().join("src/cli/demo"), "rs")
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let titles = matches(r"(?m)^\d+\. (.+)$", read("README.md").split("```text").nth(1).unwrap());
    assert!(titles.len() >= 3, "{titles:?}");
    none(titles.into_iter().filter(|title| !story.contains(title)).collect(), "scenarios that are not told");
}

/// The help of the program and of every verb, by verb; the program's own under the empty name.
fn help_pages() -> BTreeMap<String, String> {
    let (mut pages, mut open) = (BTreeMap::new(), vec![String::new()]);
    while let Some(verb) = open.pop() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octoswarm"));
        let output = command.args(verb.split_whitespace()).arg("--help").env_clear().output().unwrap();
        assert!(output.status.success(), "octoswarm {verb} --help");
        let page = String::from_utf8(output.stdout).unwrap();
        let verbs = page.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
        let verbs = matches(r"(?m)^  ([a-z-]+) ", verbs).into_iter().filter(|verb| verb != "help");
        open.extend(verbs.map(|next| format!("{verb} {next}").trim().to_owned()));
        pages.insert(verb, page);
    }
    pages
}

#[test]
fn the_command_line_page_is_what_the_program_says() {
    let mut fresh = "# Command line\n\nThe help of every verb, as the program prints it. Made by \
                     `UPDATE=1 cargo test --test it docs`; do not edit.\n"
        .to_owned();
    for (verb, help) in help_pages() {
        let title = format!("octoswarm {verb}");
        let help = help.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        fresh.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", title.trim(), help.trim()));
    }
    let path = root().join("docs/cli.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).unwrap();
    } else {
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page == fresh, "docs/cli.md is stale: run UPDATE=1 cargo test --test it docs");
    }
}

#[tokio::test]
async fn a_backup_as_the_documents_take_it_opens_again() {
    let page = read("docs/install.md");
    let sql = matches(r#"sqlite3 \S+ "(VACUUM INTO [^"]+)""#, &page).into_iter().next().unwrap();
    let (state, restored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let running = Store::open(state.path(), Clock::system()).await.unwrap();
    running.set_cursor("deliveries/read-to", "7").await.unwrap();
    let backup = restored.path().join("octoswarm.db");
    let sql = sql.replace("/var/backups/octoswarm/octoswarm.db", backup.to_str().unwrap());
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(state.path().join("octoswarm.db"));
    let mut connection = options.connect().await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let store = Store::open(restored.path(), Clock::system()).await.unwrap();
    assert_eq!(store.get_cursor("deliveries/read-to").await.unwrap().as_deref(), Some("7"));
}
