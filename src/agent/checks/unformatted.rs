//! The files that a formatter would change.

use std::sync::LazyLock;

use regex::Regex;

use super::counts::plain;

/// More files than anybody reads.
const MOST: usize = 1_000;

/// The files that a formatter's check named, each once, as it printed them: `rustfmt` prints the whole path. Nothing where
/// the output names none.
pub fn unformatted(output: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let mut known = std::collections::HashSet::new();
    // Newer ones of ruff name the file on the line below.
    let mut below = false;
    for line in output.split(['\n', '\r']) {
        if files.len() >= MOST {
            break;
        }
        let line = plain(line);
        let line = line.trim_end();
        let announced = std::mem::replace(&mut below, line.starts_with("unformatted: "));
        let Some(file) = named(line).or_else(|| pointed(line).filter(|_| announced)) else { continue };
        let file: String = file.trim().chars().filter(|c| !c.is_control()).collect();
        if !file.is_empty() && known.insert(file.clone()) {
            files.push(file);
        }
    }
    files
}

/// The file that a line names.
fn named(line: &str) -> Option<&str> {
    // rustfmt: `Diff in /a/src/b.rs:12:`, once `Diff in /a/src/b.rs at line 12:`.
    static DIFF: LazyLock<Regex> = LazyLock::new(|| pattern(r"^Diff in (.+?)(?: at line \d+:|:\d+:)?$"));
    // biome: `src/a.ts format ━━━━`.
    static BIOME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\S+) format ━+$"));
    // dotnet format: `/a/B.cs(1,2): error WHITESPACE: …`.
    static DOTNET: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^\s*(.+?)\(\d+,\d+\): error (?:WHITESPACE|FINALNEWLINE|ENDOFLINE|CHARSET|IMPORTS):")
    });
    // ruff in its short form.
    static RUFF: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(.+?):\d+:\d+: unformatted: "));
    static CLANG: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(.+?):\d+:\d+: (?:error|warning): code should be clang-formatted"));
    for start in ["would reformat ", "Would reformat: ", "Changed "] {
        // black, ruff, dart: their summaries speak of `3 files`.
        if let Some(file) = line.strip_prefix(start).filter(|file| is_a_path(file)) {
            return Some(file);
        }
    }
    if let Some(rest) = line.strip_prefix("[warn] ") {
        // prettier ends with a sentence under the same mark.
        return Some(rest).filter(|rest| is_a_path(rest) && !rest.starts_with("Code style issues"));
    }
    if line.starts_with("Diff in ") {
        return DIFF.captures(line).and_then(|found| found.get(1)).map(|file| file.as_str());
    }
    if let Some(file) = line.strip_prefix("  * ") {
        // mix format lists what it would change.
        return Some(file).filter(|file| [".ex", ".exs", ".heex"].iter().any(|end| file.ends_with(end)));
    }
    // gofmt and rustfmt with `-l` print nothing else.
    if [".go", ".rs"].iter().any(|end| line.ends_with(end)) && !line.contains([' ', '\t', ':']) {
        return Some(line);
    }
    let found = [&*BIOME, &*DOTNET, &*RUFF, &*CLANG].into_iter().find_map(|regex| regex.captures(line));
    found.and_then(|found| found.get(1)).map(|file| file.as_str())
}

/// The file of ` --> src/a.py:3:1`.
fn pointed(line: &str) -> Option<&str> {
    let (path, place) = line.trim_start().strip_prefix("--> ")?.rsplit_once(':')?;
    Some(path.rsplit_once(':').filter(|_| place.parse::<u32>().is_ok()).map_or(path, |(path, _)| path))
}

/// A name with a folder or an ending, rather than words of a sentence.
fn is_a_path(text: &str) -> bool {
    text.contains(['/', '\\', '.']) && !text.ends_with(['.', '!', '?'])
}

fn pattern(text: &str) -> Regex {
    super::counts::regex(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, want: &[&str]) {
        assert_eq!(unformatted(output), want, "{output}");
    }

    #[test]
    fn formatters_name_the_files_that_they_would_change() {
        check("cmd/main.go\ninternal/a b.go\nx.go\n", &["cmd/main.go", "x.go"]);
        check(
            "Checking formatting...\n[warn] src/a.js\n[warn] README.md\n[warn] Code style issues found in 2 files. Run Prettier with --write to fix.\n",
            &["src/a.js", "README.md"],
        );
        check(
            "Checking formatting...\n[warn] a b/c.ts\n[warn] Code style issues found in the above file. Forgot to run Prettier?\n",
            &["a b/c.ts"],
        );
        check("Checking formatting...\nAll matched files use Prettier code style!\n", &[]);
        check(
            "would reformat src/a.py\nwould reformat setup.py\n\nOh no! 💥 💔 💥\n2 files would be reformatted, 3 files would be left unchanged.\n",
            &["src/a.py", "setup.py"],
        );
        check("All done! ✨ 🍰 ✨\n3 files would be left unchanged.\n", &[]);
        check(
            "Would reformat: src/a.py\nWould reformat: b.py\n2 files would be reformatted, 1 file already formatted\n",
            &["src/a.py", "b.py"],
        );
        check(
            "unformatted: File would be reformatted\n --> tests/a b.py:3:1\n  |\n3 +\n\n1 file would be reformatted\n --> other.py:1:1\n",
            &["tests/a b.py"],
        );
        check(
            "Diff in /w/src/main.rs:1:\n-fn  main() {}\n+fn main() {}\nDiff in /w/src/main.rs:9:\nDiff in /w/src/a b.rs:3:\n",
            &["/w/src/main.rs", "/w/src/a b.rs"],
        );
        check("Diff in /w/src/lib.rs at line 12:\n \n", &["/w/src/lib.rs"]);
        check("Diff in C:\\w\\lib.rs:2:\n", &["C:\\w\\lib.rs"]);
        check("Changed lib/a.dart\nFormatted 2 files (1 changed) in 0.10 seconds.\n", &["lib/a.dart"]);
        check(
            "** (Mix) mix format failed due to --check-formatted.\nThe following files are not formatted:\n\n  * lib/a.ex\n  * mix.exs\n",
            &["lib/a.ex", "mix.exs"],
        );
        check("tests/a.py:3:1: unformatted: File would be reformatted\n", &["tests/a.py"]);
        check("src/a.ts format ━━━━━━━━━━\n", &["src/a.ts"]);
        check("/w/B.cs(1,1): error WHITESPACE: Fix whitespace formatting. [/w/B.csproj]\n", &["/w/B.cs"]);
        check("a.c:3:5: error: code should be clang-formatted [-Wclang-format-violations]\n", &["a.c"]);
        check("\u{1b}[33m[warn]\u{1b}[39m src/a.js\r\n", &["src/a.js"]);
        check("", &[]);
    }

    #[test]
    fn what_is_hostile_stays_small() {
        let many: String = (0..5_000).map(|at| format!("f{at}.go\n")).collect();
        assert_eq!(unformatted(&many).len(), MOST);
        let long = unformatted(&format!("would reformat {}.py", "x/".repeat(5_000_000)));
        assert!(long.iter().all(|file| file.len() <= 2_000));
        check("would reformat a\u{7}.py\n", &["a.py"]);
    }
}
