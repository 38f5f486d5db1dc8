//! Fenced blocks: what each language has to hold.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use octoswarm::analysis::Engine;
use octoswarm::config::{Error, Overrides, RepoConfig, Resolution};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use serde_json::Value;

use super::shell;

/// One fenced block of a document.
pub struct Block {
    pub line: usize,
    pub language: String,
    pub text: String,
}

/// The fenced blocks, in their order.
pub fn blocks(document: &str) -> Vec<Block> {
    let (mut found, mut open) = (Vec::new(), None::<Block>);
    for (event, range) in Parser::new_ext(document, Options::all()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let line = document[..range.start].matches('\n').count() + 1;
                open = Some(Block { line, language, text: String::new() });
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

/// What samples may name.
pub struct Sample<'a> {
    pub variables: &'a BTreeSet<String>,
    pub routes: &'a BTreeSet<String>,
    pub root: &'a Path,
}

impl Sample<'_> {
    /// Everything that is wrong with a block.
    pub fn faults(&self, block: &Block) -> Vec<String> {
        match block.language.as_str() {
            "console" => self.console(&block.text),
            "toml" => match ::toml::from_str::<Value>(&block.text) {
                Ok(value) if value.get("mcp_servers").is_some() => self.host(&value),
                _ => toml(&block.text),
            },
            "yaml" => self.yaml(&block.text),
            "json" => match serde_json::from_str::<Value>(&block.text) {
                Ok(value) => self.host(&value),
                Err(error) => vec![error.to_string()],
            },
            "ini" => self.unit(&block.text),
            "nginx" => self.nginx(&block.text),
            "caddy" => self.caddy(&block.text),
            // What a program printed, a comment's text, a diff: nothing that a reader would type.
            "text" | "diff" | "markdown" | "http" => Vec::new(),
            "python" => muted(&block.text),
            "js" | "promql" => balanced(&block.text).err().into_iter().collect(),
            other => vec![format!("a sample in `{other}` is not classified: tests/it/docs/sample.rs has to know it")],
        }
    }

    fn console(&self, text: &str) -> Vec<String> {
        let commands = match shell::commands(text) {
            Ok(commands) => commands,
            Err(fault) => return vec![fault],
        };
        let mut faults = Vec::new();
        for command in &commands {
            faults.extend(command.faults(self));
            if command.program() == "cat" && command.words.last().is_some_and(|file| file.ends_with(".toml")) {
                faults.extend(toml(&command.output));
            }
            if command.output.starts_with('{') {
                faults.extend(serde_json::from_str::<Value>(&command.output).err().map(|e| e.to_string()));
            }
        }
        faults
    }

    fn yaml(&self, text: &str) -> Vec<String> {
        let value: Value = match serde_saphyr::from_str(text) {
            Ok(value) => value,
            Err(error) => return vec![error.to_string()],
        };
        if let Some(jobs) = value.get("jobs").and_then(Value::as_object) {
            let mut faults = Vec::new();
            if value.get("on").is_none() {
                faults.push("the workflow has no `on`".to_owned());
            }
            let expression = Regex::new(r"\$\{\{[^}]*\}\}").unwrap();
            for step in jobs.values().filter_map(|job| job["steps"].as_array()).flatten() {
                let Some(run) = step["run"].as_str() else { continue };
                let typed = expression.replace_all(run, "main").into_owned();
                let typed: String = typed.lines().map(|line| format!("$ {line}\n")).collect();
                faults.extend(self.console(&typed));
            }
            return faults;
        }
        if let Some(services) = value.get("services").and_then(Value::as_object) {
            return services.values().flat_map(|service| self.service(service)).collect();
        }
        if value.get("scrape_configs").is_some() || value.get("groups").is_some() {
            return Vec::new();
        }
        if value.get("languages").is_some() {
            return rule(&value);
        }
        if value.get("extensions").is_some() {
            return self.host(&value);
        }
        RepoConfig::parse(text).err().into_iter().collect()
    }

    /// What an MCP host is told to start: every command of ours in it.
    fn host(&self, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let command = value.get("command").or_else(|| value.get("cmd")).and_then(Value::as_str);
        if let (Some("octoswarm"), Some(words)) = (command, value.get("args").and_then(Value::as_array)) {
            let words: Vec<&str> =
                words.iter().filter_map(Value::as_str).map(|word| word.trim_start_matches('$')).collect();
            faults.extend(self.console(&format!("$ octoswarm {}\n", words.join(" "))));
        }
        let inner: Vec<&Value> = match value {
            Value::Object(fields) => fields.values().collect(),
            Value::Array(entries) => entries.iter().collect(),
            _ => Vec::new(),
        };
        faults.extend(inner.into_iter().flat_map(|inner| self.host(inner)));
        faults
    }

    /// One service of a compose file.
    fn service(&self, service: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        if service.get("image").or(service.get("build")).is_none() {
            faults.push("a service has neither image nor build".to_owned());
        }
        let command = match &service["command"] {
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
            text => text.as_str().unwrap_or_default().to_owned(),
        };
        if !command.is_empty() && command.starts_with(char::is_lowercase) {
            faults.extend(self.console(&format!("$ octoswarm {command}\n")));
        }
        let names = match &service["environment"] {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(list) => {
                list.iter().filter_map(|item| Some(item.as_str()?.split('=').next()?.to_owned())).collect()
            }
            _ => Vec::new(),
        };
        faults.extend(names.iter().filter_map(|name| self.variable(name)));
        faults
    }

    fn unit(&self, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                if !["[Unit]", "[Service]", "[Install]", "[Timer]", "[Socket]"].contains(&line) {
                    faults.push(format!("`{line}` is no section of a unit"));
                }
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                faults.push(format!("`{line}` is no setting"));
                continue;
            };
            match key {
                "ExecStart" => faults.extend(self.console(&format!("$ {value}\n"))),
                "Environment" => faults.extend(self.variable(value.split('=').next().unwrap())),
                _ => {}
            }
        }
        faults
    }

    fn nginx(&self, text: &str) -> Vec<String> {
        let mut faults: Vec<_> = balanced(text).err().into_iter().collect();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if !line.ends_with([';', '{', '}']) {
                faults.push(format!("`{line}` does not end"));
            }
            if let Some(place) = line.strip_prefix("location ") {
                faults.extend(self.route(place.trim_end_matches('{').trim().split(' ').next_back().unwrap()));
            }
            if let Some(address) = line.strip_prefix("proxy_pass ") {
                faults.extend(default_address(address.trim_end_matches(';').trim_start_matches("http://")));
            }
        }
        faults
    }

    fn caddy(&self, text: &str) -> Vec<String> {
        let mut faults: Vec<_> = balanced(text).err().into_iter().collect();
        for line in text.lines().map(str::trim) {
            if let Some(place) = line.strip_prefix("handle /") {
                faults.extend(
                    self.route(&format!("/{}", place.trim_end_matches('{').trim().trim_end_matches(['/', '*']))),
                );
            }
            if let Some(address) = line.strip_prefix("reverse_proxy ") {
                faults.extend(default_address(address));
            }
        }
        faults
    }

    /// A path that is asked for from outside.
    pub fn route(&self, path: &str) -> Option<String> {
        let bare = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let fits = |route: &String| {
            let (mut words, mut given) = (route.split('/'), bare.split('/'));
            let all = words.by_ref().zip(given.by_ref()).all(|(word, given)| word == given || word.starts_with('{'));
            all && route.split('/').count() == bare.split('/').count()
        };
        let served = path == "/" || self.routes.iter().any(fits);
        (!served).then(|| format!("the server does not answer `{path}`"))
    }

    pub fn variable(&self, name: &str) -> Option<String> {
        let ours = name.starts_with("OCTOSWARM_");
        (ours && !self.variables.contains(name)).then(|| format!("nothing reads {name}"))
    }
}

/// A rule file: what it flags is found by the rule of that name, what it passes is not.
fn rule(sample: &Value) -> Vec<String> {
    let id = sample["id"].as_str().unwrap_or_default();
    let mut faults = Vec::new();
    for (part, wanted) in [("flag", true), ("pass", false)] {
        for snippet in sample[part].as_array().into_iter().flatten() {
            let code = snippet["code"].as_str().unwrap_or_default();
            let found = found(code).iter().any(|rule| rule == id);
            if found != wanted {
                faults.push(format!("`{id}` does not {part} `{}`", code.trim()));
            }
        }
    }
    faults
}

/// A line with a mute holds back the rule that it names, and the rule speaks without it.
fn muted(code: &str) -> Vec<String> {
    let Some((line, ids)) = code.split_once("octoswarm-ignore:") else { return Vec::new() };
    let id = ids.trim();
    let bare = line.trim_end().trim_end_matches('#');
    let shown =
        |code: &str| found(&format!("def shown(command):\n    {}\n", code.trim())).iter().any(|rule| rule == id);
    let mut faults = Vec::new();
    if !shown(bare) {
        faults.push(format!("`{id}` says nothing about `{bare}`"));
    }
    if shown(code) {
        faults.push(format!("`{id}` is not muted"));
    }
    faults
}

fn found(python: &str) -> Vec<String> {
    static ENGINE: LazyLock<Arc<Engine>> = LazyLock::new(|| Engine::embedded().unwrap());
    ENGINE.scan("src/sample.py", python).findings.into_iter().map(|finding| finding.rule.0.to_string()).collect()
}

/// Whatever the server's own parser finds: unknown keys and wrong values are faults, files that are only named are not.
fn toml(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("octoswarm.toml");
    std::fs::write(&file, text).unwrap();
    let overrides = Overrides { file: Some(file), state: Some(folder.path().to_owned()), ..Overrides::default() };
    let faults = Resolution::load(&overrides).faults.into_iter();
    faults
        .filter(|fault| matches!(fault, Error::Invalid { .. } | Error::Empty { .. }))
        .map(|fault| fault.to_string())
        .collect()
}

#[test]
fn every_wrong_setting_of_a_sample_is_noticed() {
    let faults = toml("app_id = 7\nprivate_key_file = \"/nowhere\"\naccounts = [\"a b\"]\nlisten = \"here\"\n");
    let named = |name: &str| faults.iter().any(|fault| fault.contains(name));
    assert!(faults.len() == 2 && named("accounts") && named("listen"), "{faults:?}");
    assert_eq!(toml("app_id = 7\nwebhook_secret_files = [\"/nowhere\"]\n"), Vec::<String>::new());
}

fn balanced(text: &str) -> Result<(), String> {
    let mut open = Vec::new();
    for c in text.chars() {
        match c {
            '{' | '(' | '[' => open.push(c),
            '}' | ')' | ']' => {
                let pair = open.pop().map(|open| format!("{open}{c}"));
                if !matches!(pair.as_deref(), Some("{}" | "()" | "[]")) {
                    return Err(format!("`{c}` closes nothing"));
                }
            }
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err("something is not closed".to_owned()) }
}

/// Where the server listens unless it is told otherwise.
fn default_address(address: &str) -> Option<String> {
    (address != "127.0.0.1:3000").then(|| format!("{address} is not where the server listens by default"))
}
