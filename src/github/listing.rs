//! A list of issues from a file: as GitHub's REST API answers `GET /repos/{owner}/{repo}/issues`, or as the command
//! `gh issue list --json` prints it. Nothing is filled in: what is missing is told with its place.

use serde_json::{Map, Value};

use crate::domain::RepoName;

/// The fields that `gh issue list --json` has to be asked for.
pub const GH_FIELDS: &str = "number,title,body,labels,createdAt,comments,assignees,url,author";
/// More than a person looks through, and than one call reads.
const MOST: usize = 10_000;

/// What a file says of one issue, or of a pull request among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    /// Where people find it.
    pub url: String,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    /// ISO 8601.
    pub created_at: String,
    pub comments: u64,
    /// Logins.
    pub assignees: Vec<String>,
    pub open: bool,
    pub pull: bool,
    /// `gh` does not tell.
    pub locked: Option<bool>,
}

/// The issues of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// `None` for an empty list.
    pub repository: Option<(RepoName, String)>,
    pub entries: Vec<Entry>,
}

/// What keeps a file from being read, and where.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fault(String);

type Read<T> = Result<T, Fault>;

/// Reads a whole file.
///
/// # Errors
/// The first fault, with its path in the document, for instance `[3].labels[0]`.
pub fn parse(bytes: &[u8]) -> Read<Listing> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| Fault(format!("this is not JSON: {error}")))?;
    let list = match &value {
        Value::Array(list) => list,
        Value::Object(object) => {
            let said = object.get("message").and_then(Value::as_str);
            let said = said.map_or_else(String::new, |said| format!("; it says \"{said}\""));
            return Err(Fault(format!("this is an object, not a list of issues{said}")));
        }
        other => return Err(Fault(format!("this is {}, not a list of issues", kind(other)))),
    };
    if list.len() > MOST {
        return Err(Fault(format!("the list has {} entries, more than the {MOST} that are read", list.len())));
    }
    let mut listing = Listing { repository: None, entries: Vec::new() };
    for (nth, value) in list.iter().enumerate() {
        let at = format!("[{nth}]");
        let Value::Object(object) = value else { return Err(not(&at, value, "an issue")) };
        let node = Node { object, at };
        let (entry, home) = entry(&node)?;
        match &listing.repository {
            Some((known, _)) if *known != home.0 => {
                return Err(Fault(format!("{}: of {}, while the first issue is of {known}", node.at, home.0)));
            }
            Some(_) => {}
            None => listing.repository = Some(home),
        }
        listing.entries.push(entry);
    }
    Ok(listing)
}

/// An object and the path to it.
struct Node<'v> {
    object: &'v Map<String, Value>,
    at: String,
}

impl<'v> Node<'v> {
    fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.at)
    }

    fn get(&self, key: &str) -> Read<&'v Value> {
        self.object.get(key).ok_or_else(|| Fault(format!("{} is missing", self.path(key))))
    }

    fn text(&self, key: &str) -> Read<String> {
        let value = self.get(key)?;
        value.as_str().map(str::to_owned).ok_or_else(|| not(&self.path(key), value, "a text"))
    }

    fn number(&self, key: &str) -> Read<u64> {
        let value = self.get(key)?;
        value.as_u64().ok_or_else(|| not(&self.path(key), value, "a whole number, 0 or more"))
    }

    fn list(&self, key: &str) -> Read<&'v Vec<Value>> {
        let value = self.get(key)?;
        value.as_array().ok_or_else(|| not(&self.path(key), value, "a list"))
    }

    /// One text of each entry, which is an object that has it, or bare where that is allowed.
    fn names(&self, key: &str, name: &str, bare: bool) -> Read<Vec<String>> {
        let one = |(nth, value): (usize, &'v Value)| {
            let at = format!("{}[{nth}]", self.path(key));
            match value {
                Value::String(text) if bare => Ok(text.clone()),
                Value::Object(object) => Node { object, at }.text(name),
                other => Err(not(&at, other, &format!("an object with `{name}`"))),
            }
        };
        self.list(key)?.iter().enumerate().map(one).collect()
    }

    fn time(&self, key: &str) -> Read<String> {
        let text = self.text(key)?;
        match chrono::DateTime::parse_from_rfc3339(&text) {
            Ok(_) => Ok(text),
            Err(_) => Err(Fault(format!("{}: `{text}` is not a time like 2026-11-21T10:00:00Z", self.path(key)))),
        }
    }
}

fn entry(node: &Node<'_>) -> Read<(Entry, (RepoName, String))> {
    let has = |key: &str| node.object.contains_key(key);
    match (has("html_url"), has("createdAt")) {
        (true, _) => of_rest(node),
        (false, true) => of_gh(node),
        (false, false) => Err(Fault(format!(
            "{} is neither an issue of GitHub's REST API (it has no `html_url`) nor one of `gh issue list --json {GH_FIELDS}` \
             (it has no `createdAt`)",
            node.at
        ))),
    }
}

fn of_rest(node: &Node<'_>) -> Read<(Entry, (RepoName, String))> {
    let body = match node.get("body")? {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => return Err(not(&node.path("body"), other, "a text or null")),
    };
    let locked = node.get("locked")?;
    let locked = locked.as_bool().ok_or_else(|| not(&node.path("locked"), locked, "true or false"))?;
    let open = is_open(node, &node.text("state")?)?;
    let url = node.text("html_url")?;
    let home = home(&node.path("html_url"), &url)?;
    let entry = Entry {
        number: node.number("number")?,
        title: node.text("title")?,
        body,
        labels: node.names("labels", "name", true)?,
        created_at: node.time("created_at")?,
        comments: node.number("comments")?,
        assignees: node.names("assignees", "login", false)?,
        open,
        pull: node.object.get("pull_request").is_some_and(|value| !value.is_null()),
        locked: Some(locked),
        url,
    };
    Ok((entry, home))
}

fn of_gh(node: &Node<'_>) -> Read<(Entry, (RepoName, String))> {
    // Not among the fields that have to be there: the command lists open issues unless told otherwise.
    let open = match node.object.get("state") {
        None => true,
        Some(_) => is_open(node, &node.text("state")?)?,
    };
    let url = node.text("url")?;
    let home = home(&node.path("url"), &url)?;
    let entry = Entry {
        number: node.number("number")?,
        title: node.text("title")?,
        body: node.text("body")?,
        labels: node.names("labels", "name", false)?,
        created_at: node.time("createdAt")?,
        comments: node.list("comments")?.len() as u64,
        assignees: node.names("assignees", "login", false)?,
        open,
        pull: url.contains("/pull/"),
        locked: None,
        url,
    };
    Ok((entry, home))
}

fn is_open(node: &Node<'_>, state: &str) -> Read<bool> {
    match state.to_ascii_lowercase().as_str() {
        "open" => Ok(true),
        "closed" => Ok(false),
        _ => Err(Fault(format!("{}: `{state}` is not open or closed", node.path("state")))),
    }
}

/// The repository in an issue's address, and its own address.
fn home(at: &str, url: &str) -> Read<(RepoName, String)> {
    let found = (|| {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
        let mut parts = rest.rsplit('/');
        let (number, word, name, owner) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        number.parse::<u64>().ok()?;
        let name = RepoName::new(owner, name).filter(|_| matches!(word, "issues" | "pull"))?;
        let base = url.rsplitn(3, '/').nth(2)?.to_owned();
        Some((name, base))
    })();
    found.ok_or_else(|| {
        let url = crate::stdx::text::truncate_chars(url, 200);
        Fault(format!("{at}: `{url}` is not the address of an issue, like https://github.com/OWNER/REPO/issues/1"))
    })
}

fn not(at: &str, value: &Value, wanted: &str) -> Fault {
    Fault(format!("{at} is {}, not {wanted}", kind(value)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rest() -> Value {
        json!([{
            "number": 3, "html_url": "https://github.com/o/r/issues/3", "title": "T", "body": null, "state": "open",
            "labels": [{ "name": "bug" }, "docs"], "created_at": "2026-11-01T10:00:00Z", "comments": 2, "locked": false,
            "assignees": [{ "login": "ada" }], "pull_request": { "url": "u" }
        }])
    }

    fn gh() -> Value {
        json!([{
            "number": 3, "url": "https://github.com/o/r/issues/3", "title": "T", "body": "B", "labels": [{ "name": "bug" }],
            "createdAt": "2026-11-01T10:00:00Z", "comments": [{}, {}], "assignees": [], "author": { "login": "eve" }
        }])
    }

    fn read(value: &Value) -> Result<Listing, String> {
        parse(value.to_string().as_bytes()).map_err(|fault| fault.to_string())
    }

    #[test]
    fn both_shapes_say_the_same() {
        let (rest, gh) = (read(&rest()).unwrap(), read(&gh()).unwrap());
        assert_eq!(rest.repository, gh.repository);
        assert_eq!(rest.repository.as_ref().unwrap().1, "https://github.com/o/r");
        let (rest, gh) = (&rest.entries[0], &gh.entries[0]);
        assert_eq!((rest.number, rest.comments, rest.pull, rest.locked), (3, 2, true, Some(false)));
        assert_eq!((gh.number, gh.comments, gh.pull, gh.locked, gh.open), (3, 2, false, None, true));
        assert_eq!((&rest.labels[..], &rest.assignees[..]), (&["bug".into(), "docs".into()][..], &["ada".into()][..]));
        assert_eq!(read(&json!([])).unwrap(), Listing { repository: None, entries: Vec::new() });
    }

    #[track_caller]
    fn refused(mut document: Value, pointer: &str, value: Option<Value>, want: &str) {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        match (value, parent) {
            (Some(value), Value::Object(map)) => drop(map.insert(key.to_owned(), value)),
            (Some(value), Value::Array(list)) => list[key.parse::<usize>().unwrap()] = value,
            (None, parent) => drop(parent.as_object_mut().unwrap().remove(key)),
            (_, other) => panic!("{other}"),
        }
        let said = read(&document).unwrap_err();
        assert!(said.starts_with(want), "{said}");
    }

    #[test]
    fn what_does_not_have_its_form_is_told_with_its_path() {
        for key in ["number", "title", "body", "labels", "created_at", "comments", "assignees", "locked", "state"] {
            refused(rest(), &format!("/0/{key}"), None, &format!("[0].{key} is missing"));
        }
        for key in ["number", "title", "body", "labels", "comments", "assignees", "url"] {
            refused(gh(), &format!("/0/{key}"), None, &format!("[0].{key} is missing"));
        }
        refused(gh(), "/0/createdAt", None, "[0] is neither");
        refused(rest(), "/0/number", Some(json!(-1)), "[0].number is a number, not a whole number");
        refused(rest(), "/0/labels/0", Some(json!(7)), "[0].labels[0] is a number, not an object with `name`");
        refused(rest(), "/0/labels/0/name", Some(Value::Null), "[0].labels[0].name is null, not a text");
        refused(rest(), "/0/assignees/0/login", None, "[0].assignees[0].login is missing");
        refused(rest(), "/0/created_at", Some(json!("yesterday")), "[0].created_at: `yesterday` is not a time");
        refused(rest(), "/0/state", Some(json!("odd")), "[0].state: `odd` is not open or closed");
        refused(rest(), "/0/html_url", Some(json!("https://x/y")), "[0].html_url: `https://x/y` is not the address");
        refused(gh(), "/0/comments", Some(json!(2)), "[0].comments is a number, not a list");
        refused(json!([[]]), "/0", Some(json!("x")), "[0] is a text, not an issue");
    }

    #[test]
    fn what_is_no_list_of_one_repository_is_refused() {
        assert_eq!(
            read(&json!({ "message": "Not Found" })).unwrap_err(),
            "this is an object, not a list of issues; it says \"Not Found\""
        );
        assert_eq!(read(&json!(null)).unwrap_err(), "this is null, not a list of issues");
        assert!(parse(b"[").unwrap_err().to_string().starts_with("this is not JSON"));
        let mut two = rest();
        let mut other = two[0].clone();
        other["html_url"] = json!("https://github.com/o/s/issues/3");
        two.as_array_mut().unwrap().push(other);
        assert_eq!(read(&two).unwrap_err(), "[1]: of o/s, while the first issue is of o/r");
        assert!(read(&Value::Array(vec![Value::Null; MOST + 1])).unwrap_err().contains("10001 entries"));
    }
}
