//! `proposal.md`: Summary, Why, What Changes, Impact. The numbers and lists of the impact count in the frontmatter.

use serde::{Deserialize, Serialize};

use super::Error;
use super::document::{Head, front, missing, normal, normal_option, read_front, required, same, valid};
use super::markdown::{find, item, items, prose, sections, span, split, text};
use crate::artifact::Fault;
use crate::artifact::agentd::{AffectedSpec, CreateProposal, Impact, Scope};
use crate::stdx::text::count;

#[derive(Serialize)]
struct Front<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    impact: Counted<'a>,
}

/// The impact without its text.
#[derive(Serialize)]
struct Counted<'a> {
    scope: Scope,
    affected_files: u32,
    new_files: u32,
    affected_specs: &'a [AffectedSpec],
    affected_code: &'a [String],
}

#[derive(Deserialize)]
struct FrontWire {
    #[serde(alias = "change_id")]
    id: String,
    impact: CountedWire,
}

#[derive(Deserialize)]
struct CountedWire {
    scope: Scope,
    affected_files: u32,
    #[serde(default)]
    new_files: u32,
    #[serde(default)]
    affected_specs: Vec<SpecWire>,
    #[serde(default)]
    affected_code: Vec<String>,
}

#[derive(Deserialize)]
struct SpecWire {
    id: String,
    #[serde(default)]
    depends: Vec<String>,
}

pub(super) fn normalize(mut input: CreateProposal) -> CreateProposal {
    [&mut input.summary, &mut input.why].into_iter().chain(&mut input.what_changes).for_each(normal);
    input.impact.affected_code.iter_mut().for_each(normal);
    normal_option(&mut input.impact.breaking_changes);
    input
}

pub(super) fn write(input: &CreateProposal, head: &Head) -> Result<String, Error> {
    let impact = &input.impact;
    let mut out = front(&Front {
        id: &input.change_id,
        kind: "proposal",
        head,
        impact: Counted {
            scope: impact.scope,
            affected_files: impact.affected_files,
            new_files: impact.new_files,
            affected_specs: &impact.affected_specs,
            affected_code: &impact.affected_code,
        },
    })?;
    out.push_str(&format!("\n# Change: {}\n", input.change_id));
    out.push_str(&format!("\n## Summary\n\n{}\n", text(&input.summary)));
    out.push_str(&format!("\n## Why\n\n{}\n", text(&input.why)));
    out.push_str("\n## What Changes\n\n");
    input.what_changes.iter().for_each(|point| out.push_str(&item(point)));
    let scope = match impact.scope {
        Scope::Patch => "patch",
        Scope::Minor => "minor",
        Scope::Major => "major",
    };
    let files = count(impact.affected_files as usize, "file");
    out.push_str(&format!("\n## Impact\n\n- Scope: {scope}\n- Files: {files}, {} of them new\n", impact.new_files));
    for spec in &impact.affected_specs {
        let after =
            if spec.depends.is_empty() { String::new() } else { format!(", after {}", spec.depends.join(", ")) };
        out.push_str(&format!("- Spec: {}{after}\n", spec.id));
    }
    impact.affected_code.iter().for_each(|path| out.push_str(&format!("- Code: {}\n", span(path))));
    if let Some(breaks) = &impact.breaking_changes {
        out.push_str(&format!("\n### Breaking Changes\n\n{}\n", text(breaks)));
    }
    Ok(out)
}

pub(super) fn read(document: &str, change_id: &str) -> Result<(CreateProposal, Head), Vec<Fault>> {
    let (yaml, body) = required(split(document))?;
    let (front, head): (FrontWire, Head) = read_front(yaml)?;
    same("id", &front.id, change_id)?;
    let sections = sections(body);
    let part = |title: &str| find(&sections, 2, title).ok_or_else(|| missing(&format!("has no section `## {title}`")));
    let specs = front.impact.affected_specs.into_iter();
    let content = CreateProposal {
        change_id: front.id,
        summary: prose(part("Summary")?),
        why: prose(part("Why")?),
        what_changes: items(&part("What Changes")?[0].lines),
        impact: Impact {
            scope: front.impact.scope,
            affected_files: front.impact.affected_files,
            new_files: front.impact.new_files,
            affected_specs: specs.map(|SpecWire { id, depends }| AffectedSpec { id, depends }).collect(),
            affected_code: front.impact.affected_code,
            breaking_changes: find(part("Impact")?, 3, "Breaking Changes").map(prose),
        },
    };
    Ok((valid(content)?, head))
}
