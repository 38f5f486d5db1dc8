//! Console samples: what is typed, by whom it is understood, and what may be run here.

use std::path::Path;
use std::process::{Command as Process, Stdio};

use super::sample::Sample;
use crate::support::git;

/// Programs that the documents may use beside ours; each has to be there for a reader of these pages.
const KNOWN: [&str; 24] = [
    "echo",
    "gh",
    "shasum",
    "tar",
    "cat",
    "cd",
    "chmod",
    "chown",
    "cp",
    "export",
    "git",
    "install",
    "journalctl",
    "ls",
    "mkdir",
    "openssl",
    "python3",
    "rm",
    "sqlite3",
    "systemctl",
    "tee",
    "umask",
    "useradd",
    "mv",
];
/// Verbs that end by themselves, need no GitHub and change nothing outside the folder they run in.
const SAFE: [&str; 8] = ["review", "scan", "audit", "rules", "schema", "fix", "plan", "--version"];

/// One command that a reader types, with what stands below it.
#[derive(Debug)]
pub struct Command {
    pub words: Vec<String>,
    assigned: Vec<String>,
    pub output: String,
}

/// The commands of a block: lines that begin with `$`.
///
/// # Errors
/// A line before the first `$`, or a quote that does not end.
pub fn commands(text: &str) -> Result<Vec<Command>, String> {
    let mut found: Vec<Command> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(typed) = line.strip_prefix("$ ") else {
            let last = found.last_mut().ok_or(format!("`{line}` stands before the first command"))?;
            last.output.push_str(line);
            last.output.push('\n');
            continue;
        };
        let mut typed = typed.to_owned();
        while let Some(whole) = typed.strip_suffix('\\') {
            typed = format!("{whole}{}", lines.next().unwrap_or_default().trim_start());
        }
        for part in split(&typed)? {
            found.push(command(part));
        }
    }
    Ok(found)
}

/// Words of a line by shell's rules as far as the documents need them; pipes and `&&` part commands.
fn split(line: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut parts, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None::<String>, None);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | ';') => {
                words.extend(word.take());
                parts.push(std::mem::take(&mut words));
                while rest.next_if(|next| "|&".contains(*next)).is_some() {}
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote of `{line}` does not end"));
    }
    words.extend(word);
    parts.push(words);
    Ok(parts.into_iter().filter(|words| !words.is_empty()).collect())
}

fn command(words: Vec<String>) -> Command {
    let assigns = |word: &String| word.split_once('=').is_some_and(|(name, _)| name.starts_with(char::is_uppercase));
    let take_assigned = |words: &mut Vec<String>| {
        let count = words.iter().take_while(|word| assigns(word)).count();
        words.drain(..count).map(|word| word.split('=').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut words = words;
    let mut assigned = take_assigned(&mut words);
    while words.first().is_some_and(|word| word == "sudo") {
        words.remove(0);
        while words.first().is_some_and(|word| word.starts_with('-')) {
            let takes_a_value = words.remove(0) == "-u";
            if takes_a_value {
                words.remove(0);
            }
        }
    }
    if words.first().is_some_and(|word| word == "env") {
        words.remove(0);
        assigned.extend(take_assigned(&mut words));
    }
    if let Some(at) = words.iter().position(|word| word.starts_with('>') || word == "2>&1") {
        words.truncate(at);
    }
    Command { words, assigned, output: String::new() }
}

impl Command {
    pub fn program(&self) -> &str {
        self.words.first().map_or("", |program| program.rsplit('/').next().unwrap())
    }

    /// The arguments that our own parser gets.
    fn ours(&self) -> Option<Vec<String>> {
        match self.program() {
            "octoswarm" => Some(self.words[1..].to_vec()),
            "cargo" if self.words.get(1).is_some_and(|verb| verb == "run") => {
                let at = self.words.iter().position(|word| word == "--")?;
                Some(self.words[at + 1..].to_vec())
            }
            _ => None,
        }
    }

    pub fn faults(&self, known: &Sample<'_>) -> Vec<String> {
        let typed = self.words.join(" ");
        let mut faults: Vec<String> = self.assigned.iter().filter_map(|name| known.variable(name)).collect();
        if let Some(arguments) = self.ours() {
            faults.extend(octoswarm::cli::parses(&arguments).err().map(|error| format!("`{typed}`: {error}")));
            return faults;
        }
        let arguments = self.words.get(1..).unwrap_or_default();
        let exists = |path: &str| known.root.join(path).exists();
        let wrong = match self.program() {
            "" => (self.assigned.is_empty()).then_some("nothing is typed"),
            "cargo" => cargo(arguments, &std::fs::read_to_string(known.root.join("Cargo.toml")).unwrap()),
            "export" => {
                let names = arguments.iter().filter_map(|word| word.split('=').next());
                faults.extend(names.filter_map(|name| known.variable(name)));
                None
            }
            "curl" => {
                let flags =
                    ["-s", "-S", "-f", "-i", "-X", "-H", "-d", "-o", "-fsS", "-sS", "-sSf", "-w", "-N", "-F", "--json"];
                for path in arguments.iter().filter_map(|word| word.split_once("://")?.1.split_once('/')) {
                    faults.extend(known.route(&format!("/{}", path.1)));
                }
                arguments
                    .iter()
                    .any(|word| word.starts_with('-') && !flags.contains(&word.as_str()))
                    .then_some("unknown flag")
            }
            "systemctl" => {
                let verbs =
                    ["daemon-reload", "edit", "enable", "disable", "start", "stop", "restart", "status", "reload"];
                let words: Vec<_> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
                let fits = words.first().is_some_and(|verb| verbs.contains(&verb.as_str()))
                    && words.get(1).is_none_or(|unit| unit.starts_with("octoswarm"));
                (!fits).then_some("no verb or unit that is known")
            }
            "journalctl" => (!arguments.iter().any(|word| word == "octoswarm")).then_some("not our unit"),
            "openssl" => {
                (!matches!(arguments, [rand, hex, _] if rand == "rand" && hex == "-hex")).then_some("not known")
            }
            "sh" if arguments.first().is_some_and(|flag| flag == "-c") => {
                match commands(&format!("$ {}", arguments.get(1).map_or("", String::as_str))) {
                    Ok(inner) => faults.extend(inner.iter().flat_map(|command| command.faults(known))),
                    Err(fault) => faults.push(fault),
                }
                None
            }
            "bash" | "sh" | "node" | "python3" => {
                let script = arguments.iter().find(|word| !word.starts_with('-'));
                (!script.is_some_and(|script| exists(script.trim_start_matches("./"))))
                    .then_some("there is no such script")
            }
            "npm" => arguments
                .first()
                .is_none_or(|verb| !["ci", "run", "test"].contains(&verb.as_str()))
                .then_some("not known"),
            "docker" | "podman" => {
                let names = arguments.iter().filter_map(|word| word.split('=').next());
                faults.extend(names.filter_map(|name| known.variable(name)));
                // What stands after our image is for our own program.
                if let Some(at) =
                    arguments.iter().rposition(|word| word.starts_with("octoswarm") && !word.contains('/'))
                    && arguments.first().is_some_and(|verb| ["run", "exec"].contains(&verb.as_str()))
                    && at + 1 < arguments.len()
                {
                    let ours = octoswarm::cli::parses(&arguments[at + 1..]);
                    faults.extend(ours.err().map(|error| format!("`{typed}`: {error}")));
                }
                let builds = arguments.first().is_some_and(|verb| verb == "build");
                (builds && !exists("Dockerfile")).then_some("there is no Dockerfile")
            }
            _ if self.words[0].contains('/') => {
                (!exists(self.words[0].trim_start_matches("./"))).then_some("there is no such script")
            }
            program => (!KNOWN.contains(&program)).then_some("not classified: tests/it/docs/shell.rs has to know it"),
        };
        faults.extend(wrong.map(|wrong| format!("`{typed}`: {wrong}")));
        faults
    }

    pub fn is_safe(&self) -> bool {
        self.program() == "octoswarm" && self.words.get(1).is_some_and(|verb| SAFE.contains(&verb.as_str()))
            || ["doctor --offline", "config check ."].iter().any(|typed| self.words.join(" ").contains(typed))
    }

    /// Runs it in `folder`: what it does there must be neither wrong use nor a failure.
    #[track_caller]
    pub fn run(&self, folder: &Path, place: &str) {
        let typed = self.words.join(" ");
        let mut process = Process::new(env!("CARGO_BIN_EXE_octoswarm"));
        process.args(&self.words[1..]).current_dir(folder).env_clear().env("HOME", folder).env("NO_COLOR", "1");
        let issue = std::fs::File::open(folder.join("issue.md")).unwrap();
        let output = process.stdin(Stdio::from(issue)).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        let wanted: &[i32] = if ["rules", "fix", "plan"].contains(&self.words[1].as_str()) { &[0] } else { &[0, 1] };
        assert!(code.is_some_and(|code| wanted.contains(&code)), "{place}: `{typed}` ended with {code:?}:\n{told}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!printed.trim().is_empty() || !told.trim().is_empty(), "{place}: `{typed}` says nothing");
    }
}

/// Verbs, flags and targets that this package has.
fn cargo(arguments: &[String], manifest: &str) -> Option<&'static str> {
    let verbs = ["build", "test", "run", "install", "bench", "fmt", "clippy", "doc", "deny", "check"];
    let flags =
        ["--release", "--locked", "--path", "--git", "--test", "--bench", "--bin", "--", "--check", "--all-targets"];
    let Some((verb, rest)) = arguments.split_first() else { return Some("no verb") };
    if !verbs.contains(&verb.as_str()) {
        return Some("no verb of cargo that is known");
    }
    let before = rest.iter().take_while(|word| *word != "--");
    if before.clone().any(|word| word.starts_with('-') && !flags.contains(&word.as_str())) {
        return Some("a flag of cargo that is not known");
    }
    let words: Vec<_> = before.collect();
    let named = words.windows(2).filter(|pair| ["--test", "--bench", "--bin"].contains(&pair[0].as_str()));
    let all_there = named.into_iter().all(|pair| manifest.contains(&format!("name = \"{}\"", pair[1])));
    (!all_there).then_some("Cargo.toml has no such target")
}

/// A repository with what the documents name: `v1.2` and `v1.3`, `src`, an issue that a mechanic solves.
pub fn bench() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    git(dir.path(), &["init", "-q", "-b", "main"]);
    git(dir.path(), &["config", "user.name", "Ada"]);
    git(dir.path(), &["config", "user.email", "ada@example.com"]);
    write("src/load.py", "import yaml\n\n\ndef load(text):\n    return yaml.load(text)\n");
    write(
        "issue.md",
        "Unsafe YAML loading\n\n`src/load.py` calls `yaml.load`, which can build any object. Please fix `unsafe-yaml-load`.\n",
    );
    write(".github/octoswarm.yml", "review_drafts: true\n");
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Begin"]);
    git(dir.path(), &["tag", "v1.2"]);
    write("src/shown.py", "def shown(x):\n    return x\n");
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "Show"]);
    git(dir.path(), &["tag", "v1.3"]);
    write("src/shown.py", "def shown(x):\n    return x == x\n");
    dir
}
