//! One small file of a repository, without git.

use bytes::Bytes;
use serde::Deserialize;

use super::error::Error;
use super::{Repo, endpoint};

/// The largest file that is read this way; it is also where GitHub's answers change shape.
pub const CONTENT_CAP: usize = 1 << 20;

#[derive(Deserialize)]
struct EntryWire {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    size: usize,
}

impl Repo {
    /// The file at `path` as of `reference` (branch, tag or commit; the default branch when `None`). `None` when there is none.
    ///
    /// # Errors
    /// `NotAFile` for a directory, a symbolic link or a submodule; `TooLarge` beyond [`CONTENT_CAP`]; else as [`Error`] says.
    pub async fn content(&self, path: &str, reference: Option<&str>) -> Result<Option<Bytes>, Error> {
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Error::NotAFile { path: path.to_owned(), kind: "path that leaves its place".to_owned() });
        }
        let mut call = self.call(&endpoint::GET_CONTENT, &[path]);
        if let Some(reference) = reference {
            call = call.query("ref", reference);
        }
        let not_a_file = |kind: &str| Error::NotAFile { path: path.to_owned(), kind: kind.to_owned() };
        // The JSON form tells what stands there; the raw form would follow a symbolic link in silence.
        let answer = match self.send(&call).await {
            Ok(answer) => answer,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let value: serde_json::Value = super::client::decode(&call, &answer.body)?;
        if value.is_array() {
            return Err(not_a_file("directory"));
        }
        let entry: EntryWire =
            serde_json::from_value(value).map_err(|source| Error::Decode { call: call.text(), source })?;
        if entry.kind != "file" {
            return Err(not_a_file(&entry.kind));
        }
        let too_large = || Error::TooLarge { what: format!("`{path}`"), limit: format!("{CONTENT_CAP} bytes") };
        if entry.size > CONTENT_CAP {
            return Err(too_large());
        }
        if entry.encoding == "base64" {
            let text: String = entry.content.split_whitespace().collect();
            let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text)
                .map_err(|error| Error::Decode { call: call.text(), source: serde::de::Error::custom(error) })?;
            return if bytes.len() > CONTENT_CAP { Err(too_large()) } else { Ok(Some(bytes.into())) };
        }
        // `encoding: none` stands for a file whose content did not fit into JSON.
        self.send(&call.raw(CONTENT_CAP)).await.map(|answer| Some(answer.body))
    }

    /// The same as text; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// As [`Repo::content`].
    pub async fn file(&self, path: &str, reference: Option<&str>) -> Result<Option<String>, Error> {
        let bytes = self.content(path, reference).await?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}
