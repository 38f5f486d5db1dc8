//! Addresses of files in a log, as paths below the repository's root.

use std::collections::HashMap;

use super::wire::{Artifact, ArtifactLocation};
use crate::stdx::path::normal;

/// Addresses that build on each other; whoever makes a circle of them gets none.
const MAX_BASES: usize = 8;

/// What addresses of one run are read by.
pub(super) struct Places<'a> {
    pub(super) bases: Option<&'a HashMap<String, ArtifactLocation>>,
    pub(super) artifacts: &'a [Artifact],
    /// Absolute paths that stand for the repository's root.
    pub(super) roots: &'a [String],
}

impl Places<'_> {
    /// The path of a file; nothing for one that has none, or that lies elsewhere.
    pub(super) fn path(&self, location: &ArtifactLocation) -> Option<String> {
        let by_index = || self.artifacts.get(usize::try_from(location.index?).ok()?)?.location.as_ref();
        let location = match &location.uri {
            Some(_) => location,
            None => by_index()?,
        };
        let path = self.joined(location, MAX_BASES)?;
        let path = match self.within(&path) {
            Some(path) => path,
            None if is_absolute(&path) => return None,
            None => path,
        };
        let path = normal(&path)?;
        (!path.is_empty() && !path.contains('\0')).then_some(path)
    }

    /// An address with what it builds on: absolute, or relative to the root.
    fn joined(&self, location: &ArtifactLocation, left: usize) -> Option<String> {
        let own = decoded(location.uri.as_deref().unwrap_or_default())?;
        if is_absolute(&own) {
            return Some(own);
        }
        let Some(id) = &location.uri_base_id else { return Some(own) };
        // A base that nobody explains, as `%SRCROOT%` mostly is, is the root.
        let Some(base) = self.bases.and_then(|bases| bases.get(id)) else { return Some(own) };
        if base.uri.is_none() && base.uri_base_id.is_none() {
            return Some(own);
        }
        let folder = self.joined(base, left.checked_sub(1)?)?;
        // The log was written elsewhere, where the repository lay in another folder.
        if is_absolute(&folder) && self.within(&folder).is_none() && base.uri_base_id.is_none() && is_root(id) {
            return Some(own);
        }
        Some(format!("{}/{own}", folder.trim_end_matches('/')))
    }

    /// An absolute path below one of the roots, without it.
    fn within(&self, path: &str) -> Option<String> {
        let path = is_absolute(path).then(|| tidy(path))?;
        self.roots.iter().find_map(|root| {
            let root = tidy(root);
            let root = root.trim_end_matches('/');
            let rest = path.strip_prefix(root)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
        })
    }
}

/// Whether a name says that it is the repository's root, wherever that lay.
fn is_root(id: &str) -> bool {
    let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    ["SRCROOT", "ROOT", "PROJECTROOT", "REPOROOT", "WORKSPACE", "PROJECTDIR", "PWD", "WORKINGDIR"]
        .contains(&id.as_str())
        || id.ends_with("ROOT")
}

/// An absolute path without `..`, which could lead out of the root again.
fn tidy(path: &str) -> String {
    match normal(path) {
        Some(tidy) if path.starts_with('/') => format!("/{tidy}"),
        Some(tidy) => tidy,
        None => path.to_owned(),
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_drive(path)
}

/// `C:/`.
fn is_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/'
}

/// The path in an address, with its `%` read; nothing for an address of another kind of thing.
fn decoded(uri: &str) -> Option<String> {
    // A `\` has no place in an address: it is what Windows has between folders.
    let uri = uri.trim().replace('\\', "/");
    let path = match scheme(&uri) {
        None => uri.as_str(),
        Some("file") => {
            let rest = &uri["file:".len()..];
            match rest.strip_prefix("//") {
                Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
                None => rest,
            }
        }
        Some(_) => return None,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = unescaped(path)?;
    // `/C:/x` in an address is `C:/x`.
    Some(match path.strip_prefix('/') {
        Some(drive) if is_drive(drive) => drive.to_owned(),
        _ => path,
    })
}

/// What stands before `:`, in lower case; a drive's letter is none.
fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let fits = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    match fits {
        true if scheme.eq_ignore_ascii_case("file") => Some("file"),
        true => Some(scheme),
        false => None,
    }
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            // Many write a path as it is, with a `%` that means nothing.
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(uri: &str, base: Option<&str>) -> ArtifactLocation {
        ArtifactLocation { uri: Some(uri.to_owned()), uri_base_id: base.map(str::to_owned), index: None }
    }

    #[track_caller]
    fn check(uri: &str, base: Option<&str>, want: Option<&str>) {
        let bases = HashMap::from([
            ("HERE".to_owned(), location("file:///work/", None)),
            ("SRC".to_owned(), location("src/", Some("HERE"))),
            ("%SRCROOT%".to_owned(), location("file:///home/runner/work/app/app/", None)),
            ("INCLUDES".to_owned(), location("file:///usr/include/", None)),
            ("EMPTY".to_owned(), ArtifactLocation { uri: None, uri_base_id: None, index: None }),
            ("ROUND".to_owned(), location("x/", Some("ROUND"))),
        ]);
        let roots = ["/work".to_owned(), "C:/repo".to_owned()];
        let places = Places { bases: Some(&bases), artifacts: &[], roots: &roots };
        assert_eq!(places.path(&location(uri, base)).as_deref(), want, "{uri} on {base:?}");
    }

    #[test]
    fn every_way_to_name_a_file_leads_to_its_path() {
        check("src/a.py", None, Some("src/a.py"));
        check("./src/../b.py", None, Some("b.py"));
        check("src/%C3%A4%20b.js", None, Some("src/ä b.js"));
        check("src/100%.py", None, Some("src/100%.py"));
        check("src\\win\\a.cs", None, Some("src/win/a.cs"));
        check("file:///work/src/a.py", None, Some("src/a.py"));
        check("file://host/work/a.py", None, Some("a.py"));
        check("FILE:/work/a.py", None, Some("a.py"));
        check("/work/a.py", None, Some("a.py"));
        check("file:///C:/repo/a.cs", None, Some("a.cs"));
        check("C:\\repo\\src\\a.cs", None, Some("src/a.cs"));
        check("a.py", Some("HERE"), Some("a.py"));
        check("a.py", Some("SRC"), Some("src/a.py"));
        check("a.py", Some("%SRCROOT%"), Some("a.py"));
        check("a.py", Some("EMPTY"), Some("a.py"));
        check("a.py", Some("NOBODY"), Some("a.py"));
    }

    #[test]
    fn what_leaves_the_root_has_no_path() {
        for (uri, base) in [
            ("../a.py", None),
            ("%2e%2e/a.py", None),
            ("src/../../a.py", None),
            ("/etc/passwd", None),
            ("/work/../etc/passwd", None),
            ("/workshop/a.py", None),
            ("file:///usr/include/stdio.h", None),
            ("stdio.h", Some("INCLUDES")),
            ("a.py", Some("ROUND")),
            ("https://example.com/a.py", None),
            ("D:\\other\\a.cs", None),
            ("a%00.py", None),
            ("%ff.py", None),
            ("", None),
            (".", None),
        ] {
            check(uri, base, None);
        }
    }
}
