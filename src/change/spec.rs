//! `specs/<spec id>.md`: Overview, Requirements, Acceptance Criteria, and where there are any a diagram and a model of the data.

use serde::{Deserialize, Serialize};

use super::Error;
use super::document::{Head, front, missing, normal, normal_option, read_front, required, same, valid};
use super::markdown::{Section, beneath, code, each, fenced, fields, find, item, items, prose, sections, split, text};
use crate::artifact::Fault;
use crate::artifact::agentd::{CreateSpec, Requirement, Scenario};
use crate::artifact::project::Level;

#[derive(Serialize)]
struct Front<'a> {
    id: &'a str,
    change_id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    requirements: usize,
    scenarios: usize,
}

#[derive(Deserialize)]
struct FrontWire {
    id: String,
    change_id: String,
}

pub(super) fn normalize(mut input: CreateSpec) -> CreateSpec {
    [&mut input.title, &mut input.overview].into_iter().for_each(normal);
    for requirement in &mut input.requirements {
        [&mut requirement.title, &mut requirement.description].into_iter().for_each(normal);
    }
    for scenario in &mut input.scenarios {
        [&mut scenario.name, &mut scenario.when, &mut scenario.then].into_iter().for_each(normal);
        normal_option(&mut scenario.given);
    }
    [&mut input.flow_diagram, &mut input.data_model].into_iter().for_each(normal_option);
    input
}

pub(super) fn write(input: &CreateSpec, head: &Head) -> Result<String, Error> {
    let mut out = front(&Front {
        id: &input.spec_id,
        change_id: &input.change_id,
        kind: "spec",
        head,
        requirements: input.requirements.len(),
        scenarios: input.scenarios.len(),
    })?;
    out.push_str(&format!("\n# {}\n\n## Overview\n\n{}\n\n## Requirements\n", input.title, text(&input.overview)));
    for requirement in &input.requirements {
        let Requirement { id, title, description, priority } = requirement;
        out.push_str(&format!("\n### {id}: {title}\n\n- Priority: {}\n\n{}\n", word(*priority), text(description)));
    }
    if let Some(diagram) = &input.flow_diagram {
        out.push_str(&format!("\n## Flow Diagram\n\n{}\n", fenced("mermaid", diagram)));
    }
    if let Some(model) = &input.data_model {
        let language = if serde_json::from_str::<serde::de::IgnoredAny>(model).is_ok() { "json" } else { "" };
        out.push_str(&format!("\n## Data Model\n\n{}\n", fenced(language, model)));
    }
    out.push_str("\n## Acceptance Criteria\n");
    for scenario in &input.scenarios {
        out.push_str(&format!("\n### Scenario: {}\n\n", scenario.name));
        let steps =
            [("GIVEN", scenario.given.as_ref()), ("WHEN", Some(&scenario.when)), ("THEN", Some(&scenario.then))];
        for (step, said) in steps {
            if let Some(said) = said {
                out.push_str(&item(&format!("**{step}** {said}")));
            }
        }
    }
    Ok(out)
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Low => "low",
        Level::Medium => "medium",
        Level::High => "high",
    }
}

pub(super) fn read(document: &str, change_id: &str, spec_id: &str) -> Result<(CreateSpec, Head), Vec<Fault>> {
    let (yaml, body) = required(split(document))?;
    let (front, head): (FrontWire, Head) = read_front(yaml)?;
    same("id", &front.id, spec_id)?;
    same("change_id", &front.change_id, change_id)?;
    let sections = sections(body);
    let part = |title: &str| find(&sections, 2, title).ok_or_else(|| missing(&format!("has no section `## {title}`")));
    let title = sections.iter().find(|section| section.level == 1).map(|section| section.title.to_owned());
    let block = |title: &str| find(&sections, 2, title).map(|part| code(&part[0].lines).unwrap_or_else(|| prose(part)));
    let content = CreateSpec {
        change_id: front.change_id,
        spec_id: front.id,
        title: title.ok_or_else(|| missing("has no title `# …`"))?,
        overview: prose(part("Overview")?),
        requirements: each(part("Requirements")?, 3).map(requirement).collect::<Result<_, _>>()?,
        scenarios: each(part("Acceptance Criteria")?, 3).map(scenario).collect::<Result<_, _>>()?,
        flow_diagram: block("Flow Diagram"),
        data_model: block("Data Model"),
    };
    Ok((valid(content)?, head))
}

fn requirement(section: &[Section<'_>]) -> Result<Requirement, Vec<Fault>> {
    let heading = section[0].title;
    let (id, title) = heading.split_once(": ").ok_or_else(|| wrong(heading, "expected `### R1: title`"))?;
    let ([priority], taken) = fields(&section[0].lines, ["Priority"]);
    let priority = match priority {
        None | Some("medium") => Level::Medium,
        Some("high") => Level::High,
        Some("low") => Level::Low,
        Some(_) => return Err(wrong(heading, "its priority is none of `high`, `medium` and `low`")),
    };
    let description = beneath(section, taken);
    Ok(Requirement { id: id.trim().to_owned(), title: title.trim().to_owned(), description, priority })
}

fn scenario(section: &[Section<'_>]) -> Result<Scenario, Vec<Fault>> {
    let heading = section[0].title;
    let name = heading.strip_prefix("Scenario:").ok_or_else(|| wrong(heading, "expected `### Scenario: name`"))?.trim();
    let mut steps: [Option<String>; 3] = [None, None, None];
    let mut last = None;
    for said in items(&section[0].lines) {
        let steps_named = ["**GIVEN**", "**WHEN**", "**THEN**"].into_iter().enumerate();
        let named = steps_named.filter_map(|(at, step)| Some((at, said.strip_prefix(step)?))).next();
        match (named, last) {
            (Some((at, rest)), _) => {
                steps[at] = Some(rest.strip_prefix(':').unwrap_or(rest).trim().to_owned());
                last = Some(at);
            }
            // An entry that somebody added belongs to the step above it.
            (None, Some(at)) => steps[at].iter_mut().for_each(|step| step.push_str(&format!("\n{said}"))),
            (None, None) => return Err(wrong(heading, "expected steps `- **WHEN** …` and `- **THEN** …`")),
        }
    }
    let [given, when, then] = steps;
    let step =
        |step: Option<String>, name: &str| step.ok_or_else(|| wrong(heading, &format!("has no step `**{name}**`")));
    Ok(Scenario { name: name.to_owned(), given, when: step(when, "WHEN")?, then: step(then, "THEN")? })
}

fn wrong(heading: &str, what: &str) -> Vec<Fault> {
    let shown = crate::stdx::text::truncate_chars(&crate::stdx::text::visible_line(heading), 60);
    missing(&format!("below `### {shown}`: {what}"))
}
