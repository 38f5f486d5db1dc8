//! The table of tools: names, schemas, what each may do, and the way from arguments to an answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;

use jsonschema::Validator;
use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Answer, Call, Trouble};
use crate::artifact::{check, form};

/// What a tool does to the world, for hosts that ask their user before some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// Adds something with each call.
    AddsAgain,
    /// Changes or ends what is there; the same call again changes nothing more.
    Changes,
}

/// One tool, as its author writes it.
pub(super) trait Tool {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// What it does, when to use it, and what it answers: all that a model knows of it.
    const ABOUT: &'static str;
    const EFFECT: Effect;
    type Input: DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + JsonSchema;

    fn run(input: Self::Input, call: &Call) -> impl Future<Output = Result<Answer, Trouble>> + Send;
}

pub(super) type Running<'a> = Pin<Box<dyn Future<Output = Result<Answer, Trouble>> + Send + 'a>>;

type Run = for<'a> fn(Value, &'a Call) -> Running<'a>;

/// A tool whose arguments are judged by whoever does the work: the schema is for its callers.
pub(super) struct Judged {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) effect: Effect,
    pub(super) input: fn() -> Value,
    pub(super) output: fn() -> Value,
    pub(super) run: Run,
}

/// One tool, as the door sees it.
pub(super) struct Definition {
    pub(super) name: &'static str,
    title: &'static str,
    about: &'static str,
    effect: Effect,
    input: fn() -> Value,
    output: fn() -> Value,
    run: Run,
    /// Whoever does the work judges the arguments.
    judged_there: bool,
    made: OnceLock<Made>,
}

struct Made {
    listed: Listed,
    validator: Validator,
}

impl Definition {
    pub(super) const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            about: T::ABOUT,
            effect: T::EFFECT,
            input: form::closed_input::<T::Input>,
            output: form::closed_output::<T::Output>,
            run: |arguments, call| {
                Box::pin(async move {
                    let input = T::Input::deserialize(arguments)
                        .map_err(|error| Trouble::new(format!("the arguments cannot be read: {error}")))?;
                    T::run(input, call).await
                })
            },
            judged_there: false,
            made: OnceLock::new(),
        }
    }

    pub(super) const fn judged_by_whoever_works(tool: Judged) -> Self {
        let Judged { name, title, about, effect, input, output, run } = tool;
        Self { name, title, about, effect, input, output, run, judged_there: true, made: OnceLock::new() }
    }

    pub(super) fn listed(&self) -> &Listed {
        &self.made().listed
    }

    /// Checks the arguments, and works.
    ///
    /// # Errors
    /// Whatever is wrong with the arguments, all of it, before anything is done; or why the work could not be done.
    pub(super) async fn call(&self, arguments: Option<JsonObject>, call: &Call) -> Result<Answer, Trouble> {
        let mut arguments = arguments.unwrap_or_default();
        // Many hosts write null for what they leave out.
        arguments.retain(|_, value| !value.is_null());
        let arguments = Value::Object(arguments);
        if self.judged_there {
            return (self.run)(arguments, call).await;
        }
        let faults = check::against(&self.made().validator, &arguments);
        if faults.is_empty() { (self.run)(arguments, call).await } else { Err(Trouble::arguments(&faults)) }
    }

    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let (input, output) = ((self.input)(), (self.output)());
            #[expect(clippy::expect_used, reason = "a test lists every tool")]
            let validator = jsonschema::draft202012::new(&input).expect("our own schemas are valid");
            let annotations = ToolAnnotations::with_title(self.title)
                .read_only(self.effect == Effect::Reads)
                .destructive(self.effect == Effect::Changes)
                .idempotent(self.effect != Effect::AddsAgain)
                .open_world(false);
            let mut listed =
                Listed::new(self.name, self.about, object(input)).with_title(self.title).annotate(annotations);
            listed.output_schema = Some(object(output));
            Made { listed, validator }
        })
    }
}

fn object(schema: Value) -> Arc<JsonObject> {
    Arc::new(match schema {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    })
}
