//! What the readers of TOML and YAML say of a mistake, in the words of a person who writes a file.

use serde_saphyr::Error as Yaml;

/// Without its place.
pub(super) fn of_yaml(error: &Yaml) -> String {
    match error.without_snippet() {
        Yaml::Eof { .. } => "the file ends in the middle of something".to_owned(),
        Yaml::MultipleDocuments { .. } => "a second document begins here: take out the `---`".to_owned(),
        Yaml::Unexpected { expected, .. } => format!("this is not {}", form(expected)),
        Yaml::InvalidBooleanStrict { .. } => format!("this is not {}", form("boolean")),
        Yaml::NullIntoString { .. } | Yaml::TaggedScalarCannotDeserializeIntoString { .. } => {
            format!("this is not {}", form("string"))
        }
        Yaml::InvalidScalar { ty, .. } => format!("this is not {}", form(ty)),
        Yaml::SerdeInvalidType { unexpected, expected, .. } | Yaml::SerdeInvalidValue { unexpected, expected, .. } => {
            unfit(unexpected, expected)
        }
        Yaml::SerdeUnknownVariant { variant, expected, .. } => {
            format!("`{variant}` is not one of {}", expected.join(", "))
        }
        Yaml::SerdeUnknownField { field, .. } => format!("there is no key `{field}`"),
        Yaml::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` is given twice"),
        Yaml::DuplicateMappingKey { key: None, .. } => "this key is given twice".to_owned(),
        Yaml::UnknownAnchor { .. } => "it refers by `*` to what nothing is named by `&`".to_owned(),
        Yaml::UnsupportedTag { tag, .. } => format!("a tag, `{tag}`, means nothing here: take it out"),
        Yaml::AliasReplayCounterOverflow { .. }
        | Yaml::AliasReplayLimitExceeded { .. }
        | Yaml::AliasExpansionLimitExceeded { .. }
        | Yaml::AliasReplayStackDepthExceeded { .. }
        | Yaml::Budget { .. } => {
            "it is too large or nested too deeply: write values out instead of `*` and `&`".to_owned()
        }
        Yaml::AliasError { error, .. } => of_yaml(error),
        Yaml::UnexpectedSequenceEnd { .. }
        | Yaml::UnexpectedMappingEnd { .. }
        | Yaml::ContainerEndMismatch { .. }
        | Yaml::UnexpectedContainerEndWhileReadingKeyNode { .. }
        | Yaml::UnexpectedContainerEndWhileSkippingNode { .. } => {
            "a bracket closes here that none has opened".to_owned()
        }
        other => {
            let text = other.render_with_formatter(&serde_saphyr::UserMessageFormatter);
            let text = text.lines().next().unwrap_or_default().trim_end_matches(['.', ' ']);
            format!(
                "this cannot be read as YAML{}; mind quotation marks, colons, brackets and indentation",
                clause(text)
            )
        }
    }
}

/// Without its place.
pub(super) fn of_toml(message: &str) -> String {
    let message = message.trim_end();
    for what in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) = message.strip_prefix(what).and_then(|rest| rest.rsplit_once(", expected ")) {
            return unfit(found, expected);
        }
    }
    if let Some((found, expected)) = message.strip_prefix("unknown variant ").and_then(|m| m.split_once(", expected "))
    {
        return format!("{found} is not {expected}");
    }
    match message {
        "invalid socket address syntax" => format!("this is not {}", form("socket address")),
        _ if message.starts_with("duplicate key") => "this key is given twice".to_owned(),
        _ => message.lines().collect::<Vec<_>>().join(", "),
    }
}

fn unfit(found: &str, expected: &str) -> String {
    // Found is told with its type before it: `string "many"`, "integer `-1`"; or as a type alone.
    let value = found.split_once(' ').map(|(_, value)| value.trim_matches('`'));
    let found = match (found, value) {
        ("sequence", _) => "a list",
        ("map", _) => "a table",
        ("unit value" | "null" | "Option value", _) => "nothing",
        (_, Some(value)) => value,
        (found, None) => found,
    };
    format!("{found} is not {}", form(expected))
}

/// What a type is called by people.
pub(super) fn form(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "an integer" => "a whole number",
        "bool" | "boolean" | "a boolean" => "true or false",
        "seq" | "sequence" | "a sequence" | "sequence start" => "a list, like [\"one\", \"two\"]",
        "string" | "a string" | "path string" => "a text",
        "scalar" | "string scalar" => "a single value",
        "map" | "a map" | "mapping" | "mapping start" => "a list of keys, each with its value",
        "socket address" => "an address and a port, like 127.0.0.1:3000",
        // A struct is told by its name in the source.
        _ if expected.starts_with("struct ") => "a list of keys, each with its value",
        _ => expected,
    }
}

/// `: found a tab`, of "error: line 1 column 2: while scanning a plain scalar, found a tab".
fn clause(text: &str) -> String {
    let text = match text.find(" column ") {
        Some(at) => text[at..].split_once(": ").map_or(text, |(_, rest)| rest),
        None => text,
    };
    let text = match text.strip_prefix("while ") {
        Some(rest) => rest.split_once(", ").map_or("", |(_, rest)| rest),
        None => text,
    };
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

#[cfg(test)]
mod tests {
    use super::super::RepoConfig;
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let said = RepoConfig::parse(text).unwrap_err();
        assert!(said.contains(want), "{text:?}: {said}");
        for leaked in ["u64", "usize", "sequence", "boolean", "Options", "while ", "digit", "unknown variant", "error:"]
        {
            assert!(!said.contains(leaked), "{text:?}: {said}");
        }
    }

    #[test]
    fn mistakes_in_yaml_are_told_in_a_persons_words() {
        check("max_files: many\n", "line 1, column 12: this is not a whole number");
        check("max_files: -1\n", "a whole number");
        check("max_files: 1.5\n", "a whole number");
        check("max_files: [1]\n", "this is not a single value");
        check("review: perhaps\n", "line 1, column 9: this is not true or false");
        check("ignore: docs\n", "this is not a list, like");
        check("ignore: {a: b}\n", "a list, like");
        check("review: true\nreview: false\n", "line 2, column 1: `review` is given twice");
        check("label: [a]\n", "this is not a ");
        check("fail_on: sometimes\n", "`sometimes` is not one of low, medium, high, never");
        check("label: a: b\n", "line 1");
        check("label: \"a\n", "line ");
        check("review: [\n", "line ");
        check("label:\ta\n\tb: c\n", "line ");
        check("- review\n", "line 1");
        check("ignore: [*a]\n", "`*`");
    }

    #[test]
    fn mistakes_in_toml_are_told_in_a_persons_words() {
        for (message, want) in [
            ("invalid type: string \"many\", expected usize", "\"many\" is not a whole number, 0 or more"),
            ("invalid value: integer `-1`, expected u64", "-1 is not a whole number, 0 or more"),
            ("invalid type: integer `1`, expected a boolean", "1 is not true or false"),
            (
                "invalid type: string \"a, expected b\", expected a sequence",
                "\"a, expected b\" is not a list, like [\"one\", \"two\"]",
            ),
            ("invalid type: sequence, expected a string", "a list is not a text"),
            ("invalid type: map, expected u64", "a table is not a whole number, 0 or more"),
            ("unknown variant `x`, expected `text` or `json`", "`x` is not `text` or `json`"),
            ("invalid socket address syntax", "this is not an address and a port, like 127.0.0.1:3000"),
        ] {
            assert_eq!(of_toml(message), want);
        }
    }
}
