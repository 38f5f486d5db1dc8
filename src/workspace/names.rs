//! Which paths a change of ours may write: stricter than what is read, since a tree of ours is checked out elsewhere.

use super::limits::Limits;

/// Bytes of a path, and of one name in it: what common file systems hold.
const LONGEST_PATH: usize = 4_096;
const LONGEST_NAME: usize = 255;

/// Why nothing is written at a path, if so.
pub(super) fn refuse_path(path: &str, limits: &Limits) -> Option<&'static str> {
    let git = path.split('/').any(is_git).then_some("some systems take it for git's own folder");
    git.or_else(|| refuse_shape(path, limits.depth))
}

/// The same, but for git's own folder.
pub(super) fn refuse_shape(path: &str, depth: usize) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.len() > LONGEST_PATH || path.split('/').any(|name| name.len() > LONGEST_NAME) {
        return Some("it is too long");
    }
    if path.split('/').count() > depth {
        return Some("it lies too deep");
    }
    if path.starts_with('/') {
        return Some("it is absolute");
    }
    path.split('/').find_map(refuse_name)
}

fn refuse_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("a folder on its way has no name"),
        "." | ".." => Some("it leads elsewhere"),
        _ if name.contains('\\') => Some("it holds a backslash, which some systems take for a slash"),
        _ if name.chars().any(char::is_control) => Some("it holds control characters"),
        _ if name.chars().any(is_unseen) => Some("it holds characters that cannot be seen"),
        _ => None,
    }
}

/// `.git` as HFS+ and NTFS may spell it: with characters that are not looked at, another case, dots and spaces behind, a
/// stream behind a colon, or under its short name.
pub(super) fn is_git(name: &str) -> bool {
    let seen: String = name.chars().filter(|c| !is_unseen(*c)).flat_map(char::to_lowercase).collect();
    let seen = seen.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
    let short = seen.strip_prefix("git~").or_else(|| seen.strip_prefix("gi7eba~"));
    seen == ".git" || short.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Characters without a shape, or that turn the text around them.
pub(super) fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a branch of this name may be made.
pub(super) fn is_branch(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && !name.starts_with('-')
        && name != "HEAD"
        && !name.chars().any(is_unseen)
        && git2::Reference::is_valid_name(&format!("refs/heads/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_some_system_reads_otherwise_are_refused() {
        let long = "n".repeat(256);
        let deep = "d/".repeat(200) + "f";
        for bad in [
            "",
            "/etc/passwd",
            "a//b",
            "a/",
            "./a",
            "a/.",
            "..",
            "../a",
            "a/../b",
            ".git",
            ".git/config",
            ".GIT/hooks/x",
            "a/.Git/config",
            ".git ",
            ".git.",
            ".git . .",
            ".git::$INDEX_ALLOCATION/config",
            ".git:x",
            "git~1",
            "GIT~1/config",
            "git~27",
            "GI7EBA~1",
            ".g\u{200c}it/config",
            ".gi\u{feff}t",
            "\u{202e}.git",
            "a\\b",
            "..\\a",
            "C:\\a",
            "a\nb",
            "a\0b",
            "a\u{7f}",
            "a\u{85}b",
            "a\u{200b}b",
            "a\u{202e}b",
            &long,
            &deep,
        ] {
            assert!(refuse_path(bad, &Limits::default()).is_some(), "{bad:?}");
        }
        for good in [
            "a",
            "src/lib.rs",
            ".github/x.yml",
            ".gitignore",
            ".gitattributes",
            "git",
            "git~",
            "git~a",
            "x.git",
            "-rf",
            "...",
            "a b/c d",
            "ä/日本.txt",
            "a:b",
            "C:",
            " ",
        ] {
            assert_eq!(refuse_path(good, &Limits::default()), None, "{good:?}");
        }
    }

    #[test]
    fn a_branch_has_a_name_that_git_takes() {
        for good in ["main", "octoswarm/issue-7", "a.b", "ä"] {
            assert!(is_branch(good), "{good}");
        }
        for bad in [
            "",
            "-x",
            "HEAD",
            "a b",
            "a..b",
            "a.lock",
            "/a",
            "a/",
            "a//b",
            "a~1",
            "a:b",
            "a\nb",
            "@{",
            ".a",
            "a\u{200b}",
        ] {
            assert!(!is_branch(bad), "{bad:?}");
        }
        assert!(!is_branch(&"x".repeat(300)));
    }
}
