//! Reports in the XML of JUnit, which most runners can write.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Counts;
use super::tally::Tally;

/// Elements within each other.
const MAX_DEPTH: usize = 128;

/// Reads a report. `None`: it is none, or not all of it is there. What a document type defines is not looked at, so that no
/// entity grows.
pub fn junit(bytes: &[u8]) -> Option<Counts> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (tally, _) = document(text)?;
    Some(tally.counts)
}

/// The reports that stand in an output, one after the other.
pub(super) fn within(output: &str) -> Option<Counts> {
    let mut sum = Tally::default();
    let mut rest = output;
    while let Some(at) = rest.find("<testsuite") {
        // One that does not end leaves the sum unknown, and is not read a second time from its middle.
        let (tally, end) = document(&rest[at..])?;
        sum.add(tally);
        rest = rest.get(at + end..)?;
    }
    sum.told().map(|tally| tally.counts)
}

/// One document from the beginning of the text, and where it ends.
fn document(text: &str) -> Option<(Tally, usize)> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().allow_dangling_amp = true;
    let mut tally = Tally::default();
    let mut depth = 0_usize;
    // The case that is open: its name, its depth, and what became of it.
    let mut case: Option<(String, usize, State)> = None;
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                begin(&element, depth, &mut case)?;
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
            }
            Event::Empty(element) => {
                begin(&element, depth, &mut case)?;
                close(depth, &mut case, &mut tally);
                if depth == 0 {
                    return end(tally, &reader);
                }
            }
            Event::End(_) => {
                depth = depth.checked_sub(1)?;
                close(depth, &mut case, &mut tally);
                if depth == 0 {
                    return end(tally, &reader);
                }
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Passed,
    Skipped,
    Failed,
}

/// `None` where the root is of something else.
fn begin(element: &BytesStart<'_>, depth: usize, case: &mut Option<(String, usize, State)>) -> Option<()> {
    let name = element.local_name();
    let name: &str = name.as_ref();
    match name {
        _ if depth == 0 => return matches!(name, "testsuites" | "testsuite").then_some(()),
        "testcase" => *case = Some((called(element), depth, State::Passed)),
        "failure" | "error" => set(case, depth, State::Failed),
        "skipped" => set(case, depth, State::Skipped),
        _ => {}
    }
    Some(())
}

fn set(case: &mut Option<(String, usize, State)>, depth: usize, state: State) {
    if let Some((_, at, known)) = case
        && depth == *at + 1
        && *known != State::Failed
    {
        *known = state;
    }
}

fn close(depth: usize, case: &mut Option<(String, usize, State)>, tally: &mut Tally) {
    let Some((name, _, state)) = case.take_if(|(_, at, _)| *at == depth) else { return };
    match state {
        State::Passed => tally.suite(1, 0, 0),
        State::Skipped => tally.suite(0, 0, 1),
        State::Failed => {
            tally.suite(0, 1, 0);
            tally.failing(&name);
        }
    }
}

/// A document without cases is a result of zeros.
fn end(mut tally: Tally, reader: &Reader<&[u8]>) -> Option<(Tally, usize)> {
    tally.suites = 1;
    Some((tally, usize::try_from(reader.buffer_position()).ok()?))
}

fn called(element: &BytesStart<'_>) -> String {
    let (mut class, mut name) = (String::new(), String::new());
    // Not checked for doubles, which costs the square of their number.
    for attribute in element.attributes().with_checks(false).flatten().take(64) {
        let key = attribute.key.local_name();
        let into = match key.as_ref() {
            "classname" => &mut class,
            "name" => &mut name,
            _ => continue,
        };
        // An entity that only the document defines stays as it is written.
        let value = quick_xml::escape::unescape(&attribute.value);
        *into = value.map_or_else(|_| attribute.value.to_string(), std::borrow::Cow::into_owned);
    }
    if class.is_empty() { name } else { format!("{class}.{name}") }
}
