//! Paths as git writes them: `/` between the parts, relative to the root of a tree.

/// The path of something in a folder; the root is the empty path.
pub fn join(folder: &str, rest: &str) -> String {
    match (folder, rest) {
        ("", rest) => rest.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, rest) => format!("{folder}/{rest}"),
    }
}

/// A path without `.`, `..` and empty parts; `None` when it leaves the tree.
pub fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leaves_the_tree_is_none() {
        assert_eq!(normal("a/./b//../c").as_deref(), Some("a/c"));
        assert_eq!(normal("/a/..").as_deref(), Some(""));
        assert_eq!(normal("a/../../b"), None);
    }

    #[test]
    fn the_root_adds_no_slash() {
        assert_eq!([join("", "a"), join("a", ""), join("a", "b")], ["a", "a", "a/b"]);
    }
}
