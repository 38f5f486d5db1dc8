//! Every call to GitHub that this program can make, as a table that other programs read.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::github::{self, Access, DOCUMENTS, ENDPOINTS, Endpoint};

#[derive(Debug, Serialize)]
pub struct Calls {
    pub calls: Vec<Call>,
    /// What the App has to be granted for all of them.
    pub permissions: BTreeMap<&'static str, &'static str>,
    /// The events that it acts on; GitHub sends those of installations to every App.
    pub events: &'static [&'static str],
}

#[derive(Debug, Serialize)]
pub struct Call {
    pub name: &'static str,
    pub method: String,
    /// `{}` is one segment, `{*}` a path; `graphql` stands for the GraphQL address, `git` for git over HTTP.
    pub template: &'static str,
    /// The document that is sent, for GraphQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<&'static str>,
    pub permissions: BTreeMap<&'static str, &'static str>,
    /// It goes out without a token, so that only what is public can be read by it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub anonymous: bool,
}

pub fn all() -> Calls {
    Calls {
        calls: ENDPOINTS.iter().map(|endpoint| call(endpoint)).collect(),
        permissions: github::needed_permissions(),
        events: super::HANDLED,
    }
}

fn call(endpoint: &Endpoint) -> Call {
    Call {
        name: endpoint.name,
        method: endpoint.method.to_string(),
        template: endpoint.template,
        document: DOCUMENTS.iter().find(|(name, _)| *name == endpoint.name).map(|(_, document)| *document),
        anonymous: endpoint.access == Access::Anybody,
        permissions: endpoint.needs.iter().map(|(permission, level)| (permission.name(), level.name())).collect(),
    }
}
