//! What can be read: rules, schemas, runs and their documents.

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::call::{Call, Trouble};
use super::tools::{explain_rule, runs};
use crate::app::local;
use crate::app::runs::RunFilter;
use crate::artifact::{FORMS, Form};

const SCHEME: &str = "octoswarm://";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
/// Runs that are listed: older ones are found by `run_status`.
const RUNS: usize = 50;
/// A larger document is not sent.
const LARGEST: u64 = 4 << 20;

/// What a resource's name leads to.
#[derive(Debug, PartialEq, Eq)]
enum Named<'a> {
    Rules,
    Rule(&'a str),
    Schemas,
    Schema(&'a str),
    Runs,
    Run(&'a str),
    Document(&'a str, &'a str),
}

impl<'a> Named<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        let mut parts = uri.strip_prefix(SCHEME)?.split('/');
        let named = match (parts.next()?, parts.next(), parts.next()) {
            ("rules", None, None) => Self::Rules,
            ("rules", Some(id), None) => Self::Rule(id),
            ("schemas", None, None) => Self::Schemas,
            ("schemas", Some(name), None) => Self::Schema(name),
            ("runs", None, None) => Self::Runs,
            ("runs", Some(id), None) => Self::Run(id),
            ("runs", Some(id), Some(file)) => Self::Document(id, file),
            _ => return None,
        };
        parts.next().is_none().then_some(named)
    }
}

/// Everything that has a name of its own, in a fixed order; the newest runs last.
pub(super) async fn list(call: &Call) -> Vec<Resource> {
    let resource = |uri: &str, name: &str, about: &str, mime: &str| {
        Resource::new(format!("{SCHEME}{uri}"), name).with_description(about).with_mime_type(mime)
    };
    let mut all = vec![
        resource("rules", "rules", "All static rules: id, category, severity, what they find", JSON),
        resource("schemas", "schemas", "The kinds of documents that agents hand to each other", JSON),
        resource("runs", "runs", "The newest runs of the server", JSON),
    ];
    all.extend(FORMS.iter().map(|form| resource(&format!("schemas/{}", form.name), form.name, form.about, JSON)));
    // Without a state there are none, and that is no failure of a list.
    if let Ok(archive) = runs::archive(call).await
        && let Ok(rows) = archive.list(&RunFilter::default(), RUNS).await
    {
        all.extend(rows.iter().map(|row| {
            let run = runs::Listed::from(row);
            resource(&format!("runs/{}", run.id), &run.id, &run.text(), JSON)
        }));
    }
    all
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, about: &str, mime: &str| {
        ResourceTemplate::new(format!("{SCHEME}{uri}"), name).with_description(about).with_mime_type(mime)
    };
    vec![
        template("rules/{id}", "rule", "What a static rule looks for, why, and what to do", MARKDOWN),
        template("schemas/{name}", "schema", "The JSON Schema of a kind of document", JSON),
        template("runs/{id}", "run", "A run: its steps, what it said, the names of its documents", JSON),
        template("runs/{id}/{file}", "run document", "A document that an agent left in a run", JSON),
    ]
}

/// The content of a resource.
///
/// # Errors
/// There is none of that name, or it cannot be read.
pub(super) async fn read(uri: &str, call: &Call) -> Result<ResourceContents, Trouble> {
    let named = Named::parse(uri).ok_or_else(|| {
        Trouble::new(format!("there is no resource `{}`", super::roots::shown(uri)))
            .hint("resources/list and resources/templates/list tell what there is")
    })?;
    let json = |value: &Value| text(uri, JSON, serde_json::to_string_pretty(value).unwrap_or_default());
    Ok(match named {
        Named::Rules => {
            let rules: Vec<Value> = local::rules()?
                .iter()
                .map(|rule| json!({ "id": rule.id, "category": rule.category, "severity": rule.severity, "message": rule.message }))
                .collect();
            json(&rules.into())
        }
        Named::Rule(id) => text(uri, MARKDOWN, explain_rule::rule(id)?.text()),
        Named::Schemas => {
            let forms = FORMS.iter().map(|form| json!({ "name": form.name, "about": form.about, "file": form.file }));
            json(&forms.collect::<Vec<_>>().into())
        }
        Named::Schema(name) => {
            let form = Form::find(name).ok_or_else(|| {
                Trouble::new(format!("there is no schema `{}`", super::roots::shown(name)))
                    .hint("the resource octoswarm://schemas lists them")
            })?;
            json(form.schema())
        }
        Named::Runs => {
            let rows = runs::archive(call).await?.list(&RunFilter::default(), RUNS).await?;
            let listed: Vec<runs::Listed> = rows.iter().map(runs::Listed::from).collect();
            json(&serde_json::to_value(listed).unwrap_or_default())
        }
        Named::Run(id) => {
            let mut detail = runs::detail(call, id).await?;
            // The documents are resources of their own.
            detail.documents.iter_mut().for_each(|document| document.content = None);
            json(&serde_json::to_value(&detail).unwrap_or_default())
        }
        Named::Document(id, file) => {
            let detail = runs::detail(call, id).await?;
            let found = detail.documents.into_iter().find(|document| document.file == file);
            let document = found.ok_or_else(|| {
                Trouble::new(format!("run {} left no `{}`", detail.run.id, super::roots::shown(file)))
                    .hint(format!("octoswarm://runs/{} names its documents", detail.run.id))
            })?;
            if document.bytes > LARGEST {
                return Err(Trouble::new(format!(
                    "`{}` has {} bytes, too many to send",
                    document.file, document.bytes
                )));
            }
            let content =
                document.content.ok_or_else(|| Trouble::new(format!("`{}` cannot be read", document.file)))?;
            text(uri, JSON, content.get().to_owned())
        }
    })
}

fn text(uri: &str, mime: &str, text: String) -> ResourceContents {
    ResourceContents::TextResourceContents { uri: uri.to_owned(), mime_type: Some(mime.to_owned()), text, meta: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_one_thing_or_nowhere() {
        assert_eq!(Named::parse("octoswarm://rules/eval-call"), Some(Named::Rule("eval-call")));
        assert_eq!(Named::parse("octoswarm://runs/a/b.json"), Some(Named::Document("a", "b.json")));
        for none in [
            "octoswarm:/rules",
            "file:///etc/passwd",
            "octoswarm://",
            "octoswarm://runs/a/b/c",
            "octoswarm://x",
            "rules",
        ] {
            assert_eq!(Named::parse(none), None, "{none}");
        }
    }
}
