//! The shop: the repository of the story and what a review of each branch must say, embedded.

use anyhow::Context;
use rust_embed::RustEmbed;
use serde::Deserialize;

use crate::demo::Change;
use crate::domain::Category;

#[derive(RustEmbed)]
#[folder = "fixtures/repos/shop"]
struct Shop;

/// One comment that a review must make.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub path: String,
    pub category: Category,
    /// The source line under which the comment stands, trimmed.
    pub line: String,
    /// What stands there once the suggestion is applied; empty when the line goes.
    #[serde(default)]
    pub fixed: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    pub feature: Vec<Expected>,
    pub fork: Vec<Expected>,
    pub crash: Vec<Expected>,
}

/// The files of one folder of the shop, as a change.
pub fn change(folder: &str) -> Change {
    files(folder).into_iter().fold(Change::new(), |change, (path, text)| change.write(&path, text))
}

/// The text of one file of a folder.
pub fn text(folder: &str, path: &str) -> anyhow::Result<String> {
    let name = format!("{folder}/{path}");
    let file = Shop::get(&name).with_context(|| format!("the shop has no `{name}`"))?;
    String::from_utf8(file.data.into_owned()).with_context(|| format!("`{name}` is not text"))
}

pub fn expectations() -> anyhow::Result<Expectations> {
    let file = Shop::get("expected.yml").context("the shop has no `expected.yml`")?;
    serde_saphyr::from_str(std::str::from_utf8(&file.data)?).context("`expected.yml` does not have its form")
}

fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    Shop::iter()
        .filter_map(|name| {
            let path = name.strip_prefix(folder)?.strip_prefix('/')?.to_owned();
            Some((path, Shop::get(&name)?.data.into_owned()))
        })
        .collect()
}
