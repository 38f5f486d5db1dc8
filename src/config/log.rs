//! What the server writes to its log, and how.

use serde::Deserialize;
use tracing_subscriber::EnvFilter;

use super::reader::{Plain, Reader, Source};
use super::server::env;
use crate::stdx::text::nearest;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl std::str::FromStr for LogFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(()),
        }
    }
}

impl Plain for LogFormat {
    const FORM: &'static str = "`text` or `json`";
}

impl std::fmt::Display for LogFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

/// The log filter: `OCTOSWARM_LOG`, in `tracing`'s directive syntax.
pub fn log_filter() -> Option<String> {
    env("OCTOSWARM_LOG")
}

pub(super) fn format(reader: &mut Reader, file: Option<LogFormat>) -> LogFormat {
    let picked = reader.pick("log", None, "OCTOSWARM_LOG_FORMAT", file);
    reader.told("log", picked.unwrap_or((LogFormat::default(), Source::Default)))
}

/// A filter that cannot be read, or that by a slip lets nothing of ours through, would leave a server without a word.
pub(super) fn filter(reader: &mut Reader) {
    const NAME: &str = "log_filter";
    const VARIABLE: &str = "OCTOSWARM_LOG";
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let Some(text) = (reader.env)(VARIABLE) else {
        return reader.show(NAME, "info".to_owned(), Source::Default);
    };
    let source = Source::Variable(VARIABLE);
    if EnvFilter::try_new(&text).is_err() {
        let why = format!("`{text}` is not a log filter; write a level, like `debug`, or `octoswarm=debug,info`");
        return reader.refuse(NAME, &source, why);
    }
    let words = text.split(',').map(str::trim).filter(|word| word.chars().all(|c| c.is_ascii_alphabetic()));
    for word in words {
        let lower = word.to_lowercase();
        if let Some(near) = nearest(&lower, LEVELS.into_iter()).filter(|near| *near != lower) {
            return reader.refuse(NAME, &source, format!("`{word}` is no level; did you mean `{near}`?"));
        }
    }
    reader.show(NAME, text, source);
}
