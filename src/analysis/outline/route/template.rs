//! Path templates: `<int:id>`, `:id`, `{id:[0-9]+}`, `*rest`, `(?P<id>\d+)` all become `{id}`.

/// A parameter of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// Its type as it is written, if it is: `int`, `uuid`, `u64`.
    pub kind: Option<String>,
    /// The regular expression that it must match, where it is written.
    pub pattern: Option<String>,
}

/// The template as OpenAPI writes it, and its parameters in their order. None for a regular expression that says more than
/// a template can.
pub fn path_template(path: &str, is_regex: bool) -> Option<(String, Vec<Parameter>)> {
    let mut parameters = Vec::new();
    let text = if is_regex { regex(path, &mut parameters)? } else { plain(path, &mut parameters) };
    let mut clean = String::from("/");
    for c in text.chars().filter(|c| !c.is_control()) {
        if c != '/' || !clean.ends_with('/') {
            clean.push(c);
        }
    }
    Some((clean, parameters))
}

fn plain(path: &str, parameters: &mut Vec<Parameter>) -> String {
    let chars: Vec<char> = path.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    while let Some(&c) = chars.get(at) {
        let starts = at == 0 || chars.get(at - 1).is_some_and(|before| matches!(before, '/' | '-' | '.'));
        match c {
            '{' | '<' => {
                let close = if c == '{' { '}' } else { '>' };
                let Some(end) = closing(&chars, at, c, close) else {
                    out.push_str(if c == '{' { "%7B" } else { "%3C" });
                    at += 1;
                    continue;
                };
                let inner: String = chars.get(at + 1..end).unwrap_or_default().iter().collect();
                if inner != "$" {
                    let parameter = if c == '{' { braced(&inner) } else { angled(&inner) };
                    push(parameter, parameters, &mut out);
                }
                at = end + 1;
            }
            '}' | '>' => {
                out.push_str(if c == '}' { "%7D" } else { "%3E" });
                at += 1;
            }
            // A query begins, or a fragment.
            '?' | '#' => break,
            ':' | '*' if starts => {
                let (mut name, end) = word(&chars, at + 1);
                if name.is_empty() && c == ':' {
                    out.push(c);
                    at += 1;
                    continue;
                }
                at = end;
                let mut pattern = None;
                if c == '*' && name.is_empty() {
                    "rest".clone_into(&mut name);
                } else if chars.get(at) == Some(&'(')
                    && let Some(close) = closing(&chars, at, '(', ')')
                {
                    pattern = Some(chars.get(at + 1..close).unwrap_or_default().iter().collect());
                    at = close + 1;
                }
                // Marks of "may be absent" and "several".
                at += usize::from(chars.get(at).is_some_and(|mark| matches!(mark, '?' | '+' | '*')));
                push(Parameter { name, kind: None, pattern }, parameters, &mut out);
            }
            _ => {
                out.push(c);
                at += 1;
            }
        }
    }
    out
}

/// `id`, `id:int`, `id:[0-9]+`, `*rest`, `rest...`.
fn braced(inner: &str) -> Parameter {
    let (name, after) = inner.split_once(':').map_or((inner, None), |(name, after)| (name, Some(after)));
    let name = name.trim().trim_start_matches('*').trim_end_matches("...").trim_end_matches('?').to_owned();
    let is_type = |text: &&str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let kind = after.filter(is_type).map(str::to_owned);
    Parameter { name, pattern: after.filter(|text| !is_type(text)).map(str::to_owned), kind }
}

/// `id`, `int:id`, `rest..`.
fn angled(inner: &str) -> Parameter {
    let (kind, name) = inner.rsplit_once(':').map_or((None, inner), |(kind, name)| (Some(kind), name));
    let kind = kind.map(|kind| kind.split('(').next().unwrap_or(kind).trim().to_owned());
    Parameter { name: name.trim().trim_end_matches("..").to_owned(), kind, pattern: None }
}

/// The named groups of a regular expression, in place of their patterns.
fn regex(path: &str, parameters: &mut Vec<Parameter>) -> Option<String> {
    let path = path.strip_prefix('^').unwrap_or(path);
    let path = path.strip_suffix('$').or_else(|| path.strip_suffix("\\Z")).unwrap_or(path);
    let chars: Vec<char> = path.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    while let Some(&c) = chars.get(at) {
        match c {
            '(' => {
                let end = closing(&chars, at, '(', ')')?;
                let inner: String = chars.get(at + 1..end)?.iter().collect();
                let (name, pattern) = inner.strip_prefix("?P<")?.split_once('>')?;
                let parameter = Parameter { name: name.to_owned(), kind: None, pattern: Some(pattern.to_owned()) };
                push(parameter, parameters, &mut out);
                at = end + 1;
            }
            '/' if chars.get(at + 1) == Some(&'?') => {
                out.push('/');
                at += 2;
            }
            '\\' => {
                let literal = chars.get(at + 1).filter(|c| matches!(c, '.' | '-' | '/' | '_'))?;
                out.push(*literal);
                at += 2;
            }
            '[' | ']' | '*' | '+' | '?' | '|' | '{' | '}' | '^' | '$' | '.' => return None,
            _ => {
                out.push(c);
                at += 1;
            }
        }
    }
    Some(out)
}

fn push(mut parameter: Parameter, parameters: &mut Vec<Parameter>, out: &mut String) {
    parameter.name.retain(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if parameter.name.is_empty() {
        parameter.name = format!("value{}", parameters.len() + 1);
    }
    let (wanted, mut nth) = (parameter.name.clone(), 1);
    while parameters.iter().any(|known| known.name == parameter.name) {
        nth += 1;
        parameter.name = format!("{wanted}{nth}");
    }
    out.push_str(&format!("{{{}}}", parameter.name));
    parameters.push(parameter);
}

fn closing(chars: &[char], from: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in chars.iter().enumerate().skip(from) {
        if *c == open {
            depth += 1;
        } else if *c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

fn word(chars: &[char], from: usize) -> (String, usize) {
    let rest = chars.get(from..).unwrap_or_default();
    let name: String = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
    let end = from + name.chars().count();
    (name, end)
}

#[cfg(test)]
mod tests {
    use super::path_template;

    type Named<'a> = (&'a str, Option<&'a str>);

    #[track_caller]
    fn check(path: &str, is_regex: bool, want: Option<(&str, &[Named<'_>])>) {
        let found = path_template(path, is_regex);
        let found = found.as_ref().map(|(path, parameters)| {
            let parameters: Vec<_> = parameters.iter().map(|p| (p.name.as_str(), p.kind.as_deref())).collect();
            (path.as_str(), parameters)
        });
        assert_eq!(found, want.map(|(path, parameters)| (path, parameters.to_vec())), "{path}");
    }

    #[test]
    fn every_frameworks_template_becomes_one_form() {
        check("/users/<int:id>", false, Some(("/users/{id}", &[("id", Some("int"))])));
        check("/users/<id>/x/<rest..>?<q>", false, Some(("/users/{id}/x/{rest}", &[("id", None), ("rest", None)])));
        check("/users/:id(\\d+)/:tab?", false, Some(("/users/{id}/{tab}", &[("id", None), ("tab", None)])));
        check("/files/*", false, Some(("/files/{rest}", &[("rest", None)])));
        check("/files/{*path}", false, Some(("/files/{path}", &[("path", None)])));
        check("/files/{path:path}", false, Some(("/files/{path}", &[("path", Some("path"))])));
        check("/n/{id:[0-9]{2,3}}", false, Some(("/n/{id}", &[("id", None)])));
        check("GET", false, Some(("/GET", &[])));
        check("/a/{$}", false, Some(("/a/", &[])));
        check("//a//b", false, Some(("/a/b", &[])));
        check("/v1/things:batch", false, Some(("/v1/things:batch", &[])));
        check("/{a}/{a}", false, Some(("/{a}/{a2}", &[("a", None), ("a2", None)])));
        check("/broken{", false, Some(("/broken%7B", &[])));
        check("^articles/(?P<year>[0-9]{4})/?$", true, Some(("/articles/{year}/", &[("year", None)])));
        check("^a/(b|c)/$", true, None);
    }
}
