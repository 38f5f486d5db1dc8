//! An input and its output that an issue states for certain, as a test in the style of the file that tests the function.

use std::sync::LazyLock;

use regex::Regex;

use super::{cases, refs};
use crate::agent::contribute::words;
use crate::agent::mechanic::places;
use crate::analysis::Language;

/// A call with nothing but literals, and what it has to give.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Example {
    pub(super) function: String,
    pub(super) arguments: Vec<(Option<String>, Literal)>,
    pub(super) result: Literal,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Number(String),
    /// Visible characters without quotes and backslashes.
    Text(String),
    Truth(bool),
    Nothing,
    List(Vec<Literal>),
}

/// A function and its arguments.
type Call = (String, Vec<(Option<String>, Literal)>);

const LONGEST: usize = 80;
const MOST: usize = 5;

/// Every example of an issue that is told as what has to be. Two that contradict each other are none.
pub(super) fn read(title: &str, body: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut fenced = false;
    // What the words before a block of code say of it.
    let mut wanted = false;
    let mut asked: Option<Call> = None;
    for line in std::iter::once(title).chain(body.lines()) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
            asked = None;
            continue;
        }
        if fenced {
            found.extend(in_code(trimmed, wanted, &mut asked));
            continue;
        }
        if trimmed.starts_with('>') {
            continue;
        }
        if !trimmed.is_empty() {
            wanted = WANTED.is_match(trimmed) && !OBSERVED.is_match(trimmed);
        }
        found.extend(in_prose(trimmed));
    }
    let same = |a: &Example, b: &Example| a.function == b.function && a.arguments == b.arguments;
    let agreed = |one: &&Example| found.iter().all(|other| !same(one, other) || one.result == other.result);
    let mut all: Vec<Example> = Vec::new();
    for one in found.iter().filter(agreed) {
        if !all.contains(one) && all.len() < MOST {
            all.push(one.clone());
        }
    }
    all
}

static WANTED: LazyLock<Regex> =
    LazyLock::new(|| words::regex(r"(?i)\bexpect(?:ed|ation)?\b|\bshould\b|\bmust\b|\bwanted\b|\bcorrect\b"));
static OBSERVED: LazyLock<Regex> = LazyLock::new(|| {
    words::regex(
        r"(?i)\bactual|\bcurrent|\bgot\b|\bgets?\b|\bobserved|\bwrong|\binstead|\bnow\b|\bnot\b|n't\b|\bbut\b|\breproduce|\bno longer\b",
    )
});

/// "`f(1)` should return `2`".
fn in_prose(line: &str) -> Option<Example> {
    static SAYS: LazyLock<Regex> = LazyLock::new(|| {
        words::regex(
            r"(?i)^`?\s+(?:should|must|has to|is (?:expected|supposed) to)\s+(?:return|be|give|yield|equal|evaluate to)\s+",
        )
    });
    for start in calls(line) {
        let Some(((function, arguments), rest)) = call(line.get(start..)?) else { continue };
        let Some(says) = SAYS.find(rest) else { continue };
        let result = rest.get(says.end()..)?;
        let ticked = result.strip_prefix('`');
        let Some((result, after)) = literal(ticked.unwrap_or(result)) else { continue };
        let after = match ticked {
            Some(_) => after.strip_prefix('`'),
            None => Some(after),
        };
        static ENDS: LazyLock<Regex> =
            LazyLock::new(|| words::regex(r"^(?:$|[.,;!](?:\s|$)|\s+(?:instead|but|not|and not|rather than|\())"));
        if after.is_some_and(|after| ENDS.is_match(after)) {
            return Some(Example { function, arguments, result });
        }
    }
    None
}

/// `>>> f(1)` with its answer on the next line, or `f(1) == 2`, in a block that is said to be what is wanted.
fn in_code(line: &str, wanted: bool, asked: &mut Option<Call>) -> Option<Example> {
    let whole = |text: &str| literal(text).filter(|(_, rest)| rest.trim().is_empty()).map(|(value, _)| value);
    let before = asked.take();
    if !wanted {
        return None;
    }
    if let (Some((function, arguments)), Some(result)) = (before, whole(line)) {
        return Some(Example { function, arguments, result });
    }
    let prompt = line.strip_prefix(">>> ").or_else(|| line.strip_prefix("> "));
    let code = prompt.unwrap_or(line);
    let code = code.strip_prefix("assert ").unwrap_or(code);
    let ((function, arguments), rest) = call(code)?;
    if rest.trim_end_matches(';').trim().is_empty() {
        *asked = prompt.map(|_| (function, arguments));
        return None;
    }
    let rest = rest.trim_start();
    let result = rest.strip_prefix("===").or_else(|| rest.strip_prefix("=="))?;
    Some(Example { function, arguments, result: whole(result.trim().trim_end_matches(';'))? })
}

/// Where a call may begin: a name that is no part of another, before a bracket.
fn calls(line: &str) -> Vec<usize> {
    static CALL: LazyLock<Regex> = LazyLock::new(|| words::regex(r"(?:^|[\s`(])([A-Za-z_]\w*)\("));
    CALL.captures_iter(line).filter_map(|found| found.get(1)).map(|name| name.start()).collect()
}

/// A call of literals, and what follows it.
fn call(text: &str) -> Option<(Call, &str)> {
    let open = text.find('(')?;
    let function = text.get(..open)?;
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.len() <= LONGEST
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !plain(function) {
        return None;
    }
    let mut arguments = Vec::new();
    let mut rest = text.get(open + 1..)?.trim_start();
    if let Some(after) = rest.strip_prefix(')') {
        return Some(((function.to_owned(), arguments), after));
    }
    loop {
        let named = rest.split_once('=').filter(|(name, after)| plain(name.trim()) && !after.starts_with('='));
        let (name, value) =
            named.map_or((None, rest), |(name, value)| (Some(name.trim().to_owned()), value.trim_start()));
        let (value, after) = literal(value)?;
        arguments.push((name, value));
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix(')') {
            return Some(((function.to_owned(), arguments), after));
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

/// A literal, and what follows it.
fn literal(text: &str) -> Option<(Literal, &str)> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| words::regex(r"^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?"));
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let (content, rest) = text.get(1..)?.split_once(quote)?;
        let plain = content.chars().count() <= LONGEST
            && content.chars().all(|c| c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric())
            && !content.contains(['\\', '"', '\'', '`', '$']);
        return plain.then(|| (Literal::Text(content.to_owned()), rest));
    }
    if let Some(number) = NUMBER.find(text) {
        let rest = text.get(number.end()..)?;
        let word = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let more = rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let over = !word && !more;
        return over.then(|| (Literal::Number(number.as_str().to_owned()), rest));
    }
    if let Some(inner) = text.strip_prefix('[') {
        let (mut items, mut rest) = (Vec::new(), inner.trim_start());
        while !rest.starts_with(']') {
            let (item, after) = literal(rest).filter(|(item, _)| !matches!(item, Literal::List(_)))?;
            items.push(item);
            rest = after.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(more) => more.trim_start(),
                None => rest,
            };
            if items.len() > LONGEST {
                return None;
            }
        }
        return Some((Literal::List(items), rest.get(1..)?));
    }
    let known = [
        ("True", Literal::Truth(true)),
        ("true", Literal::Truth(true)),
        ("False", Literal::Truth(false)),
        ("false", Literal::Truth(false)),
        ("None", Literal::Nothing),
        ("null", Literal::Nothing),
    ];
    let (word, value) = known.into_iter().find(|(word, _)| text.starts_with(word))?;
    let rest = text.get(word.len()..)?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some((value, rest))
}

impl Literal {
    fn shown(&self, python: bool, quote: char) -> String {
        match (self, python) {
            (Self::Number(digits), _) => digits.clone(),
            (Self::Text(text), _) => format!("{quote}{text}{quote}"),
            (Self::Truth(true), true) => "True".to_owned(),
            (Self::Truth(false), true) => "False".to_owned(),
            (Self::Nothing, true) => "None".to_owned(),
            (Self::Truth(truth), false) => truth.to_string(),
            (Self::Nothing, false) => "null".to_owned(),
            (Self::List(items), _) => {
                let items: Vec<String> = items.iter().map(|item| item.shown(python, quote)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

/// A test file with one more test at its end, and the name of that test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) text: String,
    pub(super) name: String,
}

impl Example {
    /// Adds the test to a file that imports the function from its source already; `number` is the issue's, 0 for none.
    ///
    /// # Errors
    /// Why it cannot be written there, as a clause.
    pub(super) fn write(&self, test: &str, text: &str, source: &str, number: u64) -> Result<Written, String> {
        let function = &self.function;
        if !refs::refers(test, text, source) {
            return Err(format!("it does not import `{function}`"));
        }
        let python = Language::of_path(test) == Some(Language::Python);
        let lines = || text.lines().filter(|line| !line.trim_start().starts_with(['#', '/', '*']));
        let imports = |line: &&str| ["import ", "require("].iter().any(|word| line.contains(word));
        if !lines().filter(imports).any(|line| !places(line, function, false).is_empty()) {
            return Err(format!("it does not import `{function}`"));
        }
        let quote = if text.matches('\'').count() > text.matches('"').count() { '\'' } else { '"' };
        let shown = |(name, value): &(Option<String>, Literal)| {
            let value = value.shown(python, quote);
            name.as_ref().map_or(value.clone(), |name| format!("{name}={value}"))
        };
        if !python && self.arguments.iter().any(|(name, _)| name.is_some()) {
            return Err("its language has no named arguments".to_owned());
        }
        let arguments: Vec<String> = self.arguments.iter().map(shown).collect();
        let call = format!("{function}({})", arguments.join(", "));
        let squeezed = |text: &str| text.replace([' ', '\'', '"'], "");
        if squeezed(text).contains(&squeezed(&call)) {
            return Err(format!("it calls `{call}` already"));
        }
        let result = self.result.shown(python, quote);
        let (name, body) = if python {
            self.python(text, &call, &result, number)?
        } else {
            self.script(text, &call, &result, number, quote)?
        };
        if cases::names(test, text).contains(&name) {
            return Err(format!("a test is called `{name}` already"));
        }
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut new = text.trim_end().to_owned();
        new.push_str(end);
        new.push_str(&body.replace('\n', end));
        Ok(Written { text: new, name })
    }

    fn python(&self, text: &str, call: &str, result: &str, number: u64) -> Result<(String, String), String> {
        let has = |start: &str| text.lines().any(|line| line.starts_with(start));
        if !has("def test_") || !text.contains("    assert ") {
            return Err("its tests are not plain functions that assert".to_owned());
        }
        if text.lines().any(|line| line.starts_with("if __name__")) {
            return Err("it ends in a part that runs it".to_owned());
        }
        let issue = if number == 0 { "the_issue".to_owned() } else { format!("issue_{number}") };
        let name = format!("test_{}_as_{issue}_expects", self.function);
        let is = if matches!(self.result, Literal::Truth(_) | Literal::Nothing) { "is" } else { "==" };
        Ok((name.clone(), format!("\n\ndef {name}():\n    assert {call} {is} {result}\n")))
    }

    fn script(
        &self,
        text: &str,
        call: &str,
        result: &str,
        number: u64,
        quote: char,
    ) -> Result<(String, String), String> {
        let word = |word: &str| text.lines().any(|line| line.trim_start().starts_with(&format!("{word}(")));
        let runs = match (word("test"), word("it")) {
            (true, _) => "test",
            (false, true) => "it",
            (false, false) => return Err("how its tests are written is not known".to_owned()),
        };
        let deep = matches!(self.result, Literal::List(_));
        let checks =
            if text.contains("expect(") && (deep && text.contains(".toEqual(") || !deep && text.contains(".toBe(")) {
                format!("expect({call}).{}({result})", if deep { "toEqual" } else { "toBe" })
            } else if !deep && text.contains("assert.strictEqual(") {
                format!("assert.strictEqual({call}, {result})")
            } else if deep && text.contains("assert.deepStrictEqual(") {
                format!("assert.deepStrictEqual({call}, {result})")
            } else {
                return Err("how its tests compare is not known".to_owned());
            };
        let semicolons = text.lines().filter(|line| line.trim_end().ends_with(';')).count() > 1;
        let end = if semicolons { ";" } else { "" };
        let indent = if text.lines().any(|line| line.starts_with('\t')) {
            "\t"
        } else if text.lines().any(|line| line.starts_with("  ") && !line.starts_with("    ")) {
            "  "
        } else {
            "    "
        };
        let issue = if number == 0 { "the issue".to_owned() } else { format!("issue {number}") };
        let name = format!("{} gives what {issue} expects", self.function);
        Ok((name.clone(), format!("\n{runs}({quote}{name}{quote}, () => {{\n{indent}{checks}{end}\n}}){end}\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, want: &[&str]) {
        let told = |one: &Example| {
            let args: Vec<String> = one.arguments.iter().map(|(_, value)| value.shown(true, '\'')).collect();
            format!("{}({}) = {}", one.function, args.join(", "), one.result.shown(true, '\''))
        };
        assert_eq!(read("", body).iter().map(told).collect::<Vec<_>>(), want, "{body}");
    }

    #[test]
    fn what_has_to_be_is_an_example() {
        check("`f(1)` should return `2`, not 3.", &["f(1) = 2"]);
        check("f('a b', True) must be \"a-b\" instead of 'a b'", &["f('a b', True) = 'a-b'"]);
        check("`f([1, 2])` is expected to return `[2, 1]`.", &["f([1, 2]) = [2, 1]"]);
        check("Expected:\n\n```python\n>>> f(1)\n2\n>>> f(2)\n4\n```\n", &["f(1) = 2", "f(2) = 4"]);
        check("These should hold:\n```\nassert f(1) == 2\ng(-1.5) === null;\n```", &["f(1) = 2", "g(-1.5) = None"]);
    }

    #[test]
    fn what_is_observed_doubted_or_unclear_is_none() {
        for body in [
            "`f(1)` returns `2`",
            "`f(1)` should not return `2`",
            "`f(1)` should return 2 items",
            "`f(1)` should return the sum",
            "`f(x)` should return `2`",
            "`f(1)` should return `2 * x`",
            "```\n>>> f(1)\n2\n```",
            "Actual behaviour:\n```\n>>> f(1)\n2\n```",
            "It should be 3, but:\n```\n>>> f(1)\n2\n```",
            "> `f(1)` should return `2`",
            "`f(1)` should return `2`.\n`f(1)` should return `3`.",
            "`a.f(1)` should return `2`",
            "`f('a\\n')` should return `2`",
        ] {
            check(body, &[]);
        }
    }

    #[test]
    fn a_test_is_written_as_the_others_of_its_file_are() {
        let example = read("", "`slug('A b')` should return `'a-b'`").remove(0);
        let python = "from shop.text import slug\n\n\ndef test_slug():\n    assert slug('a') == 'a'\n";
        let written = example.write("tests/test_text.py", python, "shop/text.py", 7).unwrap();
        let want = "\n\ndef test_slug_as_issue_7_expects():\n    assert slug('A b') == 'a-b'\n";
        assert_eq!(written.text, format!("{python}{want}"));
        let script = "import { slug } from './text';\n\ndescribe('slug', () => {\n  it('x', () => {\n    expect(slug('a')).toBe('a');\n  });\n});\n";
        let written = example.write("web/text.test.ts", script, "web/text.ts", 0).unwrap();
        let want = "\nit('slug gives what the issue expects', () => {\n  expect(slug('A b')).toBe('a-b');\n});\n";
        assert_eq!(written.text, format!("{script}{want}"));
        for (test, text, source) in [
            ("tests/test_text.py", python.replace("'a'", "'A b'"), "shop/text.py"),
            ("tests/test_text.py", python.replace("shop.text", "other.text"), "shop/text.py"),
            ("tests/test_text.py", python.replace("import slug", "import other"), "shop/text.py"),
            (
                "tests/test_text.py",
                "from shop.text import slug\nclass T(TestCase):\n    pass\n".to_owned(),
                "shop/text.py",
            ),
            ("web/text.test.ts", "import { slug } from './text';\nrun(slug);\n".to_owned(), "web/text.ts"),
        ] {
            assert!(example.write(test, &text, source, 7).is_err(), "{text}");
        }
    }
}
