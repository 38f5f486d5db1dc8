//! The table of documents: what each is called, where it lies, the schema of its shape, and what it has to hold beyond that.

use std::sync::{LazyLock, OnceLock};

use jsonschema::{Draft, Validator};
use regex::Regex;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::activity::ReviewActivity;
use super::agentd::{CreateProposal, CreateReview, CreateSpec, CreateTasks};
use super::code_review::CodeReview;
use super::document::{Content, Document};
use super::exchange::{
    AgentConfig, AgentError, AgentInput, AgentOutput, PipelineOptions, PipelineResult, ValidationResult,
};
use super::fault::{Fault, is_time};
use super::generation::{CodeGeneration, TestSuite};
use super::place::Place;
use super::plan::{Plan, Task};
use super::project::{Project, ProjectContext};
use super::rules;
use super::server::{
    Aggregate, ChecklistInput, CriticalItem, DebtItem, DocumentationInput, DocumentationMap, ImprovementItem,
    ReviewRequest,
};
use super::status::SwarmStatus;
use super::swarm::{CodeChanges, CodebaseMap, CurrentIssue, DocsChanges, IssueAnalysis, PrCreated, TestChanges};

/// A type that is a whole document.
pub trait Typed: Serialize + DeserializeOwned + JsonSchema {
    /// Its form's name.
    const NAME: &'static str;
}

macro_rules! typed {
    ($($name:literal $type:ty;)*) => {
        $(impl Typed for $type {
            const NAME: &'static str = $name;
        })*
    };
}

typed! {
    "project-context" ProjectContext;
    "project" Project;
    "plan" Plan;
    "task" Task;
    "code-generation" CodeGeneration;
    "test-suite" TestSuite;
    "code-review" CodeReview;
    "agent-input" AgentInput;
    "agent-output" AgentOutput;
    "validation-result" ValidationResult;
    "agent-error" AgentError;
    "agent-config" AgentConfig;
    "pipeline-options" PipelineOptions;
    "pipeline-result" PipelineResult;
    "swarm-status" SwarmStatus;
    "review-request" ReviewRequest;
    "review-aggregate" Aggregate;
    "documentation-input" DocumentationInput;
    "documentation-map" DocumentationMap;
    "checklist-input" ChecklistInput;
    "debt" Vec<DebtItem>;
    "improvement" Vec<ImprovementItem>;
    "critical" Vec<CriticalItem>;
    "create-proposal" CreateProposal;
    "create-spec" CreateSpec;
    "create-tasks" CreateTasks;
    "create-review" CreateReview;
}

impl<T: Content> Typed for Document<T> {
    const NAME: &'static str = stem(T::FILE);
}

/// `current-issue` of `current-issue.json`.
const fn stem(file: &'static str) -> &'static str {
    file.split_at(file.len() - ".json".len()).0
}

/// What there is to know of one kind of document.
pub struct Form {
    /// As `octoswarm schema` takes it, for instance `plan`.
    pub name: &'static str,
    /// What it is and who writes it, in one line.
    pub about: &'static str,
    /// Its name in a run's folder, for those that lie there under one name.
    pub file: Option<&'static str>,
    /// The `agent` field of the swarm's documents.
    pub(super) agent: Option<&'static str>,
    /// A field that nobody knows is an error wherever it stands: what a tool takes is not read as if it said less.
    pub(super) closed: bool,
    schema: fn() -> Schema,
    read: fn(&Value) -> Result<(), serde_json::Error>,
    rules: fn(&Place, &mut Vec<Fault>),
    made: OnceLock<(Value, Validator)>,
}

type Rules = fn(&Place, &mut Vec<Fault>);

impl Form {
    const fn new<T: Typed>(file: Option<&'static str>, about: &'static str, rules: Rules) -> Self {
        Self {
            name: T::NAME,
            about,
            file,
            agent: None,
            closed: false,
            schema: schema::<T>,
            read: |value| T::deserialize(value).map(drop),
            rules,
            made: OnceLock::new(),
        }
    }

    const fn of_swarm<T: Content>(about: &'static str, rules: Rules) -> Self {
        let mut form = Self::new::<Document<T>>(Some(T::FILE), about, rules);
        form.agent = Some(T::AGENT);
        form
    }

    const fn of_tool<T: Typed>(about: &'static str, rules: Rules) -> Self {
        let mut form = Self::new::<T>(None, about, rules);
        form.closed = true;
        form
    }

    /// The form of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        FORMS.iter().find(|form| form.name == name)
    }

    /// The form of the document that has that name in a run's folder.
    pub fn of_file(file: &str) -> Option<&'static Self> {
        FORMS.iter().find(|form| form.file == Some(file))
    }

    /// The form of a type.
    pub fn of<T: Typed>() -> &'static Self {
        #[expect(clippy::expect_used, reason = "a test finds every type in the table")]
        Self::find(T::NAME).expect("a form for every type")
    }

    /// The published JSON Schema (draft 2020-12): what we write. What we read may have more fields.
    pub fn schema(&self) -> &Value {
        &self.made().0
    }

    pub(super) fn validator(&self) -> &Validator {
        &self.made().1
    }

    /// What a schema cannot say.
    pub(super) fn judge(&self, place: &Place, faults: &mut Vec<Fault>) {
        (self.rules)(place, faults);
    }

    /// # Errors
    /// The type's own reading refuses it.
    pub(super) fn read(&self, value: &Value) -> Result<(), serde_json::Error> {
        (self.read)(value)
    }

    /// The names of the fields that may never be missing.
    pub(super) fn required(&self) -> impl Iterator<Item = &str> {
        self.schema()["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    fn made(&self) -> &(Value, Validator) {
        self.made.get_or_init(|| {
            let mut schema = (self.schema)();
            schema.insert("$id".to_owned(), format!("urn:octoswarm:schema:{}", self.name).into());
            schema.insert("title".to_owned(), title(self.name).into());
            schema.insert("description".to_owned(), self.about.into());
            let schema = schema.to_value();
            let options = jsonschema::options()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true)
                .with_format("date-time", is_time);
            #[expect(clippy::expect_used, reason = "a test builds every one of them")]
            let validator = options.build(&schema).expect("our own schemas are valid");
            (schema, validator)
        })
    }
}

/// `Current issue` of `current-issue`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// Every document, in the order in which they are listed.
pub static FORMS: [Form; 35] = [
    Form::new::<ProjectContext>(
        Some("context.json"),
        "What a repository is, the manager's snapshot that every other agent starts from",
        rules::none,
    ),
    Form::new::<Project>(
        None,
        "The larger model of a repository: modules, their graph, how its code is written",
        rules::none,
    ),
    Form::new::<Plan>(
        Some("plan.json"),
        "The planner's result: milestones of tasks that build on each other without a circle",
        rules::plan,
    ),
    Form::new::<Task>(None, "One task of a plan, as the agents that work on it are given it", rules::task),
    Form::new::<CodeGeneration>(None, "The coder's result: whole files that it wants written", rules::code_generation),
    Form::new::<TestSuite>(
        None,
        "The tester's result: files of tests, and what running them came to",
        rules::test_suite,
    ),
    Form::new::<CodeReview>(
        Some("code-review.json"),
        "The reviewer's result: findings, counted and by category, and whether the work is ready",
        rules::code_review,
    ),
    Form::new::<AgentInput>(None, "All that an agent is given", rules::agent_input),
    Form::new::<AgentOutput>(None, "What an agent made: its document, and how it went", rules::agent_output),
    Form::new::<ValidationResult>(
        None,
        "What is wrong with an output or could be better, with a score from 0 to 100",
        rules::validation_result,
    ),
    Form::new::<AgentError>(None, "Why an agent has no output, or not all of it", rules::none),
    Form::new::<AgentConfig>(None, "Settings of one agent; what is absent is the agent's own", rules::none),
    Form::new::<PipelineOptions>(
        None,
        "How a pipeline runs: which agents, from the cache or not, what a failure ends",
        rules::none,
    ),
    Form::new::<PipelineResult>(
        Some("result.json"),
        "What a run came to: every agent's output in order, a summary, errors, paths",
        rules::pipeline_result,
    ),
    Form::of_swarm::<CurrentIssue>(
        "The scout's document: the issue that was chosen, and why others were not",
        rules::current_issue,
    ),
    Form::of_swarm::<IssueAnalysis>(
        "The analyst's document: what the issue asks for, and how it could be done",
        rules::issue_analysis,
    ),
    Form::of_swarm::<CodebaseMap>(
        "The explorer's document: how the repository is built, and which files matter",
        rules::codebase_map,
    ),
    Form::of_swarm::<CodeChanges>(
        "The coder's document: the change as diffs, and what checking it came to",
        rules::code_changes,
    ),
    Form::of_swarm::<TestChanges>(
        "The tester's document: tests that were written, and whether they pass",
        rules::test_changes,
    ),
    Form::of_swarm::<DocsChanges>("The docs agent's document: documentation that was written", rules::docs_changes),
    Form::of_swarm::<PrCreated>("The pull request agent's document: what was opened", rules::pr_created),
    Form::of_swarm::<ReviewActivity>(
        "The reviews agent's document: what happened to the pull request since",
        rules::review_activity,
    ),
    Form::new::<SwarmStatus>(
        Some("swarm-status.json"),
        "What a repository's swarm is at, and what it has done so far",
        rules::none,
    ),
    Form::new::<ReviewRequest>(None, "The master's input: which codebase to review, and how", rules::none),
    Form::new::<Aggregate>(
        None,
        "The master's output: what the four reviewers say, and which of them failed",
        rules::aggregate,
    ),
    Form::new::<DocumentationInput>(None, "The documentation agent's input: a codebase", rules::none),
    Form::new::<DocumentationMap>(
        None,
        "The documentation agent's output: file names with their content; PNG in base64",
        rules::documentation_map,
    ),
    Form::new::<ChecklistInput>(
        None,
        "The input of the debt, improvement and critical agents: files and a checklist",
        rules::none,
    ),
    Form::new::<Vec<DebtItem>>(None, "The debt agent's output: a list of items", rules::none),
    Form::new::<Vec<ImprovementItem>>(None, "The improvement agent's output: a list of items", rules::none),
    Form::new::<Vec<CriticalItem>>(
        None,
        "The critical agent's output: a list of items, each of high severity",
        rules::none,
    ),
    Form::of_tool::<CreateProposal>(
        "What `create_proposal` takes: what a change is for, and what it touches",
        rules::create_proposal,
    ),
    Form::of_tool::<CreateSpec>(
        "What `create_spec` takes: what has to hold once a change is made, and how one sees it",
        rules::create_spec,
    ),
    Form::of_tool::<CreateTasks>(
        "What `create_tasks` takes: the steps of a change, by layer, in an order that can be kept",
        rules::create_tasks,
    ),
    Form::of_tool::<CreateReview>(
        "What `create_review` takes: the verdict over a change, and the issues that led to it",
        rules::create_review,
    ),
];

/// What an [`AgentOutput`] may carry as its result (S1.6, A1.3).
pub(super) fn any_result(generator: &mut SchemaGenerator) -> Schema {
    let documents = [
        generator.subschema_for::<ProjectContext>(),
        generator.subschema_for::<Plan>(),
        generator.subschema_for::<CodeGeneration>(),
        generator.subschema_for::<TestSuite>(),
        generator.subschema_for::<CodeReview>(),
        generator.subschema_for::<Document<CurrentIssue>>(),
        generator.subschema_for::<Document<IssueAnalysis>>(),
        generator.subschema_for::<Document<CodebaseMap>>(),
        generator.subschema_for::<Document<CodeChanges>>(),
        generator.subschema_for::<Document<TestChanges>>(),
        generator.subschema_for::<Document<DocsChanges>>(),
        generator.subschema_for::<Document<PrCreated>>(),
        generator.subschema_for::<Document<ReviewActivity>>(),
        generator.subschema_for::<Aggregate>(),
        generator.subschema_for::<Vec<DebtItem>>(),
        generator.subschema_for::<Vec<ImprovementItem>>(),
        generator.subschema_for::<Vec<CriticalItem>>(),
        generator.subschema_for::<DocumentationMap>(),
        generator.subschema_for::<()>(),
    ];
    json_schema!({ "anyOf": documents })
}

/// The form that a result most probably has: its agent's, or the one whose fields it has.
pub(super) fn form_of_result(result: &Value) -> Option<&'static Form> {
    let fields = result.as_object()?;
    if let Some(agent) = fields.get("agent").and_then(Value::as_str) {
        return FORMS.iter().find(|form| form.agent == Some(agent));
    }
    let names = ["project-context", "plan", "code-generation", "test-suite", "code-review", "review-aggregate"];
    let shared = |form: &Form| form.required().filter(|name| fields.contains_key(*name)).count();
    let best = names.into_iter().filter_map(Form::find).max_by_key(|form| shared(form))?;
    (shared(best) * 2 > best.required().count()).then_some(best)
}

/// The published shape of a type: what we promise to write of it.
pub fn schema<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(Closed));
    settings.into_generator().into_root_schema_for::<T>()
}

/// The schema of what a tool takes, in one piece: many hosts follow no references.
pub fn closed_input<T: JsonSchema>() -> Value {
    in_one_piece::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a tool answers, in one piece.
pub fn closed_output<T: JsonSchema>() -> Value {
    in_one_piece::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn in_one_piece<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    let mut schema = settings.with_transform(RecursiveTransform(Closed)).into_generator().into_root_schema_for::<T>();
    // What a type is called in our code, and what it says of itself there, is nothing to a model.
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

/// Makes of what the derive says what we promise to write: no field that is not named, no null where a field may be left
/// out, none of the formats that only Rust knows, and one way to say that a word is one of several.
#[derive(Debug, Clone)]
struct Closed;

impl Transform for Closed {
    fn transform(&mut self, schema: &mut Schema) {
        let Some(fields) = schema.as_object_mut() else { return };
        words(fields);
        numbers(fields);
        if let Some(text) = fields.get("description").and_then(Value::as_str) {
            fields.insert("description".to_owned(), described(text).into());
        }
        let open = fields.contains_key("additionalProperties") || fields.get("type") != Some(&json!("object"));
        if !open && fields.contains_key("properties") {
            fields.insert("additionalProperties".to_owned(), false.into());
        }
        optional(fields);
    }
}

/// Of a list of words of which some are described, the derive makes `oneOf`.
fn words(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("oneOf") else { return };
    let words: Option<Vec<Vec<Value>>> = choices
        .iter()
        .map(|choice| match (choice.get("const"), choice.get("enum")) {
            (Some(word), _) => Some(vec![word.clone()]),
            (None, Some(Value::Array(words))) => Some(words.clone()),
            _ => None,
        })
        .collect();
    if let Some(words) = words {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), "string".into());
        fields.insert("enum".to_owned(), words.concat().into());
    }
}

fn numbers(fields: &mut Map<String, Value>) {
    let Some(format) = fields.get("format").and_then(Value::as_str) else { return };
    if format == "uint32" && !fields.contains_key("maximum") {
        fields.insert("maximum".to_owned(), u32::MAX.into());
    }
    if fields.get("format") != Some(&json!("date-time")) {
        fields.remove("format");
    }
}

/// Fields that may be left out are never null: they are left out. What has a default may be left out as well.
fn optional(fields: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = fields.get("properties") else { return };
    let defaults: Vec<&String> = properties
        .iter()
        .filter(|(_, schema)| schema.get("default").is_some_and(|default| !default.is_null()))
        .map(|(name, _)| name)
        .collect();
    let required: Vec<Value> = match fields.get("required") {
        Some(Value::Array(names)) => {
            names.iter().filter(|name| !defaults.iter().any(|default| *default == *name)).cloned().collect()
        }
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, schema) in properties {
            if let Some(schema) = schema.as_object_mut() {
                schema.retain(|key, value| !(key == "default" && value.is_null()));
                if !required.contains(&json!(name)) {
                    without_null(schema);
                }
            }
        }
    }
    if required.is_empty() {
        fields.remove("required");
    } else {
        fields.insert("required".to_owned(), required.into());
    }
}

fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type") != Some(&json!("null")));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            schema.remove("anyOf");
            schema.extend(one);
        }
    }
}

/// A description for those who do not have our requirements beside them, in one line.
fn described(text: &str) -> String {
    static NUMBERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r" \((?:[SA]\d+\.\d+(?:, | to )?)+\)").ok());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[`", "`").replace("`]", "`");
    match &*NUMBERS {
        Some(numbers) => numbers.replace_all(&line, "").into_owned(),
        None => line,
    }
}
