//! A rule file: what it looks for in each language, why it matters, and the snippets that prove both.
//!
//! The keys are described in `docs/rules.md`; the file's folder is its category, its name is its id.

use std::collections::HashMap;

use ast_grep_config::{
    DenyUnknownKeys, GlobalRules, RuleConfig, SerializableRule, SerializableRuleConfig, SerializableRuleCore,
    Transformation,
};
use ast_grep_language::SupportLang;
use regex::Regex;
use rust_embed::Embed;
use serde::Deserialize;

use super::words::Needs;
use super::{Error, Language};
use crate::domain::{Category, RuleId, Severity};
use crate::stdx::hash;

#[derive(Embed)]
#[folder = "src/analysis/rules"]
struct Files;

/// One rule as its file says it.
#[derive(Debug, Clone)]
pub struct Rule {
    pub id: RuleId,
    pub category: Category,
    pub severity: Severity,
    pub message: String,
    pub why: String,
    /// How people who do not know the rule tell of what it finds.
    pub symptoms: Vec<String>,
    pub reference: Option<String>,
    /// Whether the rule also speaks about test code.
    pub in_tests: bool,
    pub languages: Vec<Language>,
    pub has_fix: bool,
    /// Must be found by this rule.
    pub flag: Vec<Snippet>,
    /// What its fixes may put into a text beside what they find there: the file itself, if it has any.
    pub(super) vocabulary: String,
    /// Must not be found by this rule.
    pub pass: Vec<Snippet>,
}

/// A piece of code that shows what a rule finds, or what it leaves alone.
#[derive(Debug, Clone)]
pub struct Snippet {
    pub languages: Vec<Language>,
    pub path: Option<String>,
    pub code: String,
    /// The code after the rule's fix.
    pub fixed: Option<String>,
}

/// What a rule looks for in one language, ready to match.
pub(super) struct Compiled {
    /// Index of its [`Rule`] in the engine.
    pub(super) rule: usize,
    pub(super) config: RuleConfig<SupportLang>,
    pub(super) dynamic: Vec<String>,
    pub(super) built: Vec<String>,
    pub(super) from_request: Vec<String>,
    /// What comes from the request must not have gone through unknown calls.
    pub(super) directly: bool,
    /// The literal parts of what is `built` must match.
    pub(super) built_text: Option<Regex>,
    /// Calls that make their argument safe for this rule.
    pub(super) safe_calls: Option<Regex>,
    /// Names whose unknown value is taken as safe for this rule.
    pub(super) safe_names: Option<Regex>,
    pub(super) not_in_paths: Option<Regex>,
    pub(super) not_in_files_with: Option<Regex>,
    pub(super) only_in_files_with: Option<Regex>,
    pub(super) not_in_functions_with: Option<Regex>,
    /// The metavariable that the finding points at, instead of the whole match.
    pub(super) at: Option<String>,
    /// The words without which it cannot match.
    pub(super) needs: Needs,
}

/// What a rule looks for in some languages, as its file says it: it is compiled when a file of such a language is read.
pub(super) struct Body {
    file: String,
    id: String,
    /// Index of its [`Rule`] in the engine.
    rule: usize,
    languages: Vec<Language>,
    wire: BodyWire,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleWire {
    id: String,
    severity: Severity,
    message: String,
    why: String,
    #[serde(default)]
    symptoms: Vec<String>,
    reference: Option<String>,
    #[serde(default)]
    tests: TestsWire,
    languages: Vec<BodyWire>,
    flag: Vec<SnippetWire>,
    pass: Vec<SnippetWire>,
}

#[derive(Deserialize, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum TestsWire {
    #[default]
    Skip,
    Include,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyWire {
    language: LanguagesWire,
    rule: SerializableRule,
    constraints: Option<HashMap<String, SerializableRule>>,
    utils: Option<HashMap<String, SerializableRule>>,
    transform: Option<HashMap<String, Transformation>>,
    fix: Option<serde_json::Value>,
    #[serde(default)]
    dynamic: Vec<String>,
    #[serde(default)]
    built: Vec<String>,
    #[serde(default)]
    from_request: Vec<String>,
    #[serde(default)]
    directly: bool,
    built_text: Option<String>,
    safe_calls: Option<String>,
    safe_names: Option<String>,
    not_in_paths: Option<String>,
    not_in_files_with: Option<String>,
    only_in_files_with: Option<String>,
    not_in_functions_with: Option<String>,
    at: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SnippetWire {
    language: LanguagesWire,
    path: Option<String>,
    code: String,
    fixed: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LanguagesWire {
    One(LanguageWire),
    Many(Vec<LanguageWire>),
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum LanguageWire {
    Rust,
    Python,
    /// JavaScript, TypeScript and TSX alike.
    Ecmascript,
    Javascript,
    Typescript,
    Tsx,
    Go,
    Java,
}

/// Reads every rule file of the program, ordered by category and id.
pub(super) fn load_embedded() -> Result<(Vec<Rule>, Vec<Body>), Error> {
    let mut names: Vec<_> = Files::iter().collect();
    names.sort();
    let mut rules = Vec::with_capacity(names.len());
    let mut bodies = Vec::new();
    for name in names {
        let Some(file) = Files::get(&name) else { continue };
        let text = String::from_utf8_lossy(&file.data).into_owned();
        let (rule, its) = parse(&name, &text, rules.len())?;
        rules.push(rule);
        bodies.extend(its);
    }
    Ok((rules, bodies))
}

/// One hash over this version of the program and every rule file.
pub(super) fn digest() -> String {
    let mut files: Vec<(String, String)> =
        Files::iter().filter_map(|name| Some((name.to_string(), hash::sha256(&Files::get(&name)?.data)))).collect();
    files.sort();
    let parts = files.iter().flat_map(|(name, digest)| [name.as_str(), digest.as_str()]);
    hash::sha256_parts(std::iter::once(env!("CARGO_PKG_VERSION")).chain(parts))
}

/// Reads one rule file. `name` is its path below `rules/`, `index` its place in the engine.
pub(super) fn parse(name: &str, text: &str, index: usize) -> Result<(Rule, Vec<Body>), Error> {
    let wire: RuleWire = ast_grep_config::from_str(text)
        .map_err(|source| Error::Parse { file: name.to_owned(), source: Box::new(source) })?;
    let value = |key, reason: String| Error::Value { file: name.to_owned(), key, reason };
    let (folder, stem) = name.trim_end_matches(".yml").split_once('/').unwrap_or(("", name));
    let category = match folder {
        "critical" => Category::Critical,
        "improvement" => Category::Improvement,
        "debt" => Category::Debt,
        _ => return Err(value("id", format!("`{folder}` is no folder of rules"))),
    };
    if wire.id != stem {
        return Err(value("id", format!("it says `{}`, and the file is named `{stem}`", wire.id)));
    }
    let has_fix = wire.languages.iter().any(|body| body.fix.is_some());
    let bodies: Vec<_> = wire
        .languages
        .into_iter()
        .map(|body| Body {
            file: name.to_owned(),
            id: wire.id.clone(),
            rule: index,
            languages: body.language.expand(),
            wire: body,
        })
        .collect();
    let rule = Rule {
        id: RuleId(wire.id),
        category,
        severity: wire.severity,
        message: fold(&wire.message),
        why: fold(&wire.why),
        symptoms: wire.symptoms,
        reference: wire.reference,
        in_tests: wire.tests == TestsWire::Include,
        languages: bodies.iter().flat_map(|body| body.languages.iter().copied()).collect(),
        has_fix,
        vocabulary: if has_fix { text.to_owned() } else { String::new() },
        flag: wire.flag.into_iter().map(Snippet::from).collect(),
        pass: wire.pass.into_iter().map(Snippet::from).collect(),
    };
    Ok((rule, bodies))
}

impl Body {
    pub(super) fn speaks(&self, language: Language) -> bool {
        self.languages.contains(&language)
    }

    /// Makes it ready to match in one of its languages.
    pub(super) fn compile(&self, language: Language) -> Result<Compiled, Error> {
        compile(&self.file, &self.id, self.rule, language, &self.wire)
    }
}

fn compile(name: &str, id: &str, rule: usize, language: Language, body: &BodyWire) -> Result<Compiled, Error> {
    let value = |key, reason: String| Error::Value { file: name.to_owned(), key, reason };
    let fix = match &body.fix {
        None => None,
        Some(fix) => serde_json::from_value(fix.clone()).map_err(|e| value("fix", e.to_string()))?,
    };
    let config = SerializableRuleConfig {
        core: SerializableRuleCore {
            rule: body.rule.clone(),
            constraints: body.constraints.clone(),
            utils: body.utils.clone(),
            transform: body.transform.clone(),
        },
        fix,
        rewriters: None,
        id: id.to_owned(),
        language: language.grammar(),
        message: String::new(),
        note: None,
        severity: ast_grep_config::Severity::Warning,
        labels: None,
        files: None,
        ignores: None,
        url: None,
        metadata: None,
        unknown_keys: DenyUnknownKeys,
    };
    let config = RuleConfig::try_from(config, &GlobalRules::default()).map_err(|source| Error::Compile {
        file: name.to_owned(),
        language: language.name(),
        source: Box::new(source),
    })?;
    let defined = config.matcher.defined_vars();
    for variable in body.dynamic.iter().chain(&body.built).chain(&body.from_request).chain(&body.at) {
        if !defined.contains(variable.as_str()) {
            return Err(value(
                "dynamic, built, from_request or at",
                format!("`{variable}` is no metavariable of the rule"),
            ));
        }
    }
    let regex =
        |key, text: &Option<String>| text.as_deref().map(Regex::new).transpose().map_err(|e| value(key, e.to_string()));
    let unwritten = |e: serde_json::Error| value("rule", e.to_string());
    let (written, utils) = (serde_json::to_value(&body.rule), serde_json::to_value(&body.utils));
    let needs = Needs::of_rule(&written.map_err(unwritten)?, &utils.map_err(unwritten)?, language.grammar());
    Ok(Compiled {
        rule,
        dynamic: body.dynamic.clone(),
        built: body.built.clone(),
        from_request: body.from_request.clone(),
        directly: body.directly,
        built_text: regex("built_text", &body.built_text)?,
        safe_calls: regex("safe_calls", &body.safe_calls)?,
        safe_names: regex("safe_names", &body.safe_names)?,
        not_in_paths: regex("not_in_paths", &body.not_in_paths)?,
        not_in_files_with: regex("not_in_files_with", &body.not_in_files_with)?,
        only_in_files_with: regex("only_in_files_with", &body.only_in_files_with)?,
        not_in_functions_with: regex("not_in_functions_with", &body.not_in_functions_with)?,
        at: body.at.clone(),
        needs: match &body.only_in_files_with {
            Some(regex) => needs.and(Needs::of_regex(regex)),
            None => needs,
        },
        config,
    })
}

/// YAML block text to one paragraph.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl From<SnippetWire> for Snippet {
    fn from(wire: SnippetWire) -> Self {
        Self { languages: wire.language.expand(), path: wire.path, code: wire.code, fixed: wire.fixed }
    }
}

impl LanguagesWire {
    fn expand(&self) -> Vec<Language> {
        match self {
            Self::One(one) => one.expand().to_vec(),
            Self::Many(many) => many.iter().flat_map(|one| one.expand()).copied().collect(),
        }
    }
}

impl LanguageWire {
    fn expand(self) -> &'static [Language] {
        match self {
            Self::Rust => &[Language::Rust],
            Self::Python => &[Language::Python],
            Self::Ecmascript => &[Language::JavaScript, Language::TypeScript, Language::Tsx],
            Self::Javascript => &[Language::JavaScript],
            Self::Typescript => &[Language::TypeScript],
            Self::Tsx => &[Language::Tsx],
            Self::Go => &[Language::Go],
            Self::Java => &[Language::Java],
        }
    }
}
