//! The text that a scraper reads, in the form that it asked for.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// Both say the same; older readers know only the classic form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format 0.0.4.
    Classic,
    OpenMetrics,
}

impl Format {
    /// What fits an `Accept` header; without one the classic form.
    pub fn accepted(accept: Option<&str>) -> Self {
        match accept {
            Some(accept) if accept.contains("application/openmetrics-text") => Self::OpenMetrics,
            Some(_) | None => Self::Classic,
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

pub(super) fn text(registry: &Registry, format: Format) -> Result<String, std::fmt::Error> {
    let mut text = String::with_capacity(32 * 1024);
    encode(&mut text, registry)?;
    Ok(match format {
        Format::OpenMetrics => text,
        Format::Classic => classic(&text),
    })
}

/// OpenMetrics names a counter's family without the `_total` of its samples, and ends with a mark; the classic form does neither.
fn classic(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1024);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let help = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '));
        let kind = |line: &str| line.strip_prefix("# TYPE ")?.split_once(' ').map(|(_, kind)| kind.to_owned());
        match (help, kind(line)) {
            (Some((name, help)), _) => {
                let counter = lines.peek().and_then(|next| kind(next)).as_deref() == Some("counter");
                out.push_str(&format!("# HELP {name}{} {help}\n", if counter { "_total" } else { "" }));
            }
            (None, Some(kind)) if kind == "counter" => {
                let name = line.trim_start_matches("# TYPE ").trim_end_matches(" counter");
                out.push_str(&format!("# TYPE {name}_total counter\n"));
            }
            _ if line == "# EOF" => {}
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classic_form_names_a_counters_family_as_its_samples() {
        let open = "# HELP a Things.\n# TYPE a counter\na_total 1\n# HELP b B.\n# TYPE b gauge\nb 2\n# EOF\n";
        let want = "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\n# HELP b B.\n# TYPE b gauge\nb 2\n";
        assert_eq!(classic(open), want);
    }

    #[test]
    fn a_reader_that_does_not_ask_gets_the_classic_form() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for (accept, want) in
            [(None, Format::Classic), (Some("*/*"), Format::Classic), (Some(prometheus), Format::OpenMetrics)]
        {
            assert_eq!(Format::accepted(accept), want, "{accept:?}");
        }
    }
}
