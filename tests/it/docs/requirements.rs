//! docs/requirements.md: every requirement has a row, every test that a row names exists, and none is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

/// How many requirements each of the specifications has.
const COUNTS: [(u32, u32); 5] = [(0, 16), (1, 25), (2, 27), (3, 32), (4, 10)];

struct Row {
    tests: Vec<String>,
    code: Vec<String>,
}

fn rows() -> BTreeMap<(u32, u32), Row> {
    let page = std::fs::read_to_string("docs/requirements.md").unwrap();
    let line = Regex::new(r"(?m)^\| S(\d)\.(\d+) \|(.*)$").unwrap();
    let (word, link) = (Regex::new(r"`([a-z0-9_]+)`").unwrap(), Regex::new(r"\]\(\.\./([^)]+)\)").unwrap());
    let mut rows = BTreeMap::new();
    for found in line.captures_iter(&page) {
        let cells: Vec<&str> = found[3].split(" | ").collect();
        assert_eq!(cells.len(), 3, "{}", &found[0]);
        let all = |pattern: &Regex, cell: &str| pattern.captures_iter(cell).map(|one| one[1].to_owned()).collect();
        let row = Row { tests: all(&word, cells[1]), code: all(&link, cells[2]) };
        let key = (found[1].parse().unwrap(), found[2].parse().unwrap());
        assert!(rows.insert(key, row).is_none(), "S{}.{} has two rows", key.0, key.1);
    }
    rows
}

/// The names of all test functions.
fn tests() -> BTreeSet<String> {
    fn read(folder: &Path, test: &Regex, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, test, names);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                names.extend(test.captures_iter(&text).map(|found| found[1].to_owned()));
            }
        }
    }
    let test = Regex::new(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn ([a-z0-9_]+)\(").unwrap();
    let mut names = BTreeSet::new();
    read(Path::new("src"), &test, &mut names);
    read(Path::new("tests"), &test, &mut names);
    names
}

#[test]
fn every_requirement_has_a_test_that_exists_and_a_place_in_the_code() {
    let (rows, tests) = (rows(), tests());
    let mut wrong = Vec::new();
    for (spec, count) in COUNTS {
        for number in 1..=count {
            match rows.get(&(spec, number)) {
                None => wrong.push(format!("S{spec}.{number} has no row")),
                Some(row) if row.tests.is_empty() || row.code.is_empty() => {
                    wrong.push(format!("S{spec}.{number} names no test or no code"));
                }
                Some(_) => {}
            }
        }
    }
    for ((spec, number), row) in &rows {
        wrong.extend(
            row.tests
                .iter()
                .filter(|test| !tests.contains(*test))
                .map(|test| format!("S{spec}.{number}: there is no test `{test}`")),
        );
        wrong.extend(
            row.code
                .iter()
                .filter(|path| !Path::new(path).exists())
                .map(|path| format!("S{spec}.{number}: there is no file {path}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_test_that_is_named_after_a_requirement_stands_in_its_row() {
    let rows = rows();
    let name = Regex::new(r"^s([0-4])_0*(\d+)_").unwrap();
    let forgotten: Vec<String> = tests()
        .into_iter()
        .filter(|test| {
            name.captures(test).is_some_and(|found| {
                let key = (found[1].parse().unwrap(), found[2].parse().unwrap());
                !rows.get(&key).is_some_and(|row| row.tests.contains(test))
            })
        })
        .collect();
    assert!(forgotten.is_empty(), "docs/requirements.md lacks {}", forgotten.join(", "));
}
