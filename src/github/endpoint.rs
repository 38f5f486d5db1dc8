//! Every call we can make to GitHub, with the permission it takes. There is no other way out of this room.

use std::collections::BTreeMap;

use http::Method;

/// A permission of the App, as the manifest spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    Checks,
    Contents,
    Metadata,
    PullRequests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Read,
    Write,
}

/// Which token the call goes out with. Each is minted with these permissions and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// The App's own JWT.
    App,
    /// Look at pull requests, checks and files.
    Read,
    /// Write reviews and check runs.
    Write,
    /// Resolve a review thread: GitHub asks for `contents: write`, so no other call carries that.
    Resolve,
    /// Fetch by git.
    Git,
}

/// Whether the call changes anything: such calls are paced and never repeated by this room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Reads,
    Writes,
}

#[derive(Debug)]
pub struct Endpoint {
    pub name: &'static str,
    pub method: Method,
    /// `{}` takes one encoded segment, `{*}` a path whose slashes stay. `graphql` stands for the GraphQL address, `git` for smart HTTP.
    pub template: &'static str,
    pub access: Access,
    pub effect: Effect,
    pub needs: &'static [(Permission, Level)],
}

macro_rules! endpoints {
    ($($(#[$doc:meta])* $name:ident = $access:ident $effect:ident $method:ident $template:literal [$($perm:ident: $level:ident),*];)*) => {
        $($(#[$doc])* pub(super) static $name: Endpoint = Endpoint {
            name: stringify!($name),
            method: Method::$method,
            template: $template,
            access: Access::$access,
            effect: Effect::$effect,
            needs: &[$((Permission::$perm, Level::$level)),*],
        };)*
        /// The whole table.
        pub static ENDPOINTS: &[&Endpoint] = &[$(&$name),*];
    };
}

endpoints! {
    GET_APP = App Reads GET "/app" [];
    MINT_TOKEN = App Reads POST "/app/installations/{}/access_tokens" [];
    GET_PULL = Read Reads GET "/repos/{}/{}/pulls/{}" [PullRequests: Read];
    LIST_FILES = Read Reads GET "/repos/{}/{}/pulls/{}/files" [PullRequests: Read];
    LIST_REVIEWS = Read Reads GET "/repos/{}/{}/pulls/{}/reviews" [PullRequests: Read];
    CREATE_REVIEW = Write Writes POST "/repos/{}/{}/pulls/{}/reviews" [PullRequests: Write];
    UPDATE_REVIEW = Write Writes PUT "/repos/{}/{}/pulls/{}/reviews/{}" [PullRequests: Write];
    LIST_THREADS = Read Reads POST "graphql" [PullRequests: Read];
    LIST_THREAD_COMMENTS = Read Reads POST "graphql" [PullRequests: Read];
    /// GitHub answers FORBIDDEN to an App without `contents: write`, whatever else it has.
    RESOLVE_THREAD = Resolve Writes POST "graphql" [PullRequests: Write, Contents: Write];
    LIST_CHECK_RUNS = Read Reads GET "/repos/{}/{}/commits/{}/check-runs" [Checks: Read];
    LIST_ANNOTATIONS = Read Reads GET "/repos/{}/{}/check-runs/{}/annotations" [Checks: Read];
    CREATE_CHECK_RUN = Write Writes POST "/repos/{}/{}/check-runs" [Checks: Write];
    UPDATE_CHECK_RUN = Write Writes PATCH "/repos/{}/{}/check-runs/{}" [Checks: Write];
    GET_CONTENT = Read Reads GET "/repos/{}/{}/contents/{*}" [Contents: Read];
    /// Never called here: the credential made for it goes to `workspace`.
    GIT_FETCH = Git Reads GET "git" [Contents: Read];
}

impl Permission {
    pub fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Contents => "contents",
            Self::Metadata => "metadata",
            Self::PullRequests => "pull_requests",
        }
    }
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl Access {
    /// What a token for this access is narrowed to: the union over the calls that carry it.
    pub fn permissions(self) -> BTreeMap<&'static str, &'static str> {
        union(ENDPOINTS.iter().filter(|endpoint| endpoint.access == self))
    }
}

impl Endpoint {
    /// The template with its places filled.
    pub(super) fn path(&self, parts: &[&str]) -> String {
        let mut path = String::new();
        let mut parts = parts.iter();
        let mut rest = self.template;
        while let Some((before, after)) = rest.split_once('{') {
            path.push_str(before);
            let (place, after) = after.split_once('}').unwrap_or(("", after));
            let part = parts.next().copied().unwrap_or_default();
            path.push_str(&encode(part, place == "*"));
            rest = after;
        }
        path.push_str(rest);
        path
    }

    /// "`pull_requests: write`", for messages.
    pub(super) fn needs_text(&self) -> String {
        let needs: Vec<_> =
            self.needs.iter().map(|(permission, level)| format!("`{}: {}`", permission.name(), level.name())).collect();
        needs.join(" and ")
    }
}

/// What the App has to ask for: the highest level over all calls, and `metadata: read`, which GitHub gives to every App.
pub fn needed_permissions() -> BTreeMap<&'static str, &'static str> {
    let mut all = union(ENDPOINTS.iter());
    all.insert(Permission::Metadata.name(), Level::Read.name());
    all
}

fn union<'a>(endpoints: impl Iterator<Item = &'a &'static Endpoint>) -> BTreeMap<&'static str, &'static str> {
    let mut highest: BTreeMap<Permission, Level> = BTreeMap::new();
    for (permission, level) in endpoints.flat_map(|endpoint| endpoint.needs) {
        let entry = highest.entry(*permission).or_insert(*level);
        *entry = (*entry).max(*level);
    }
    highest.into_iter().map(|(permission, level)| (permission.name(), level.name())).collect()
}

/// Percent-encodes all but unreserved characters.
pub(super) fn encode(text: &str, keep_slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b'/' if keep_slashes => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_place_in_the_path() {
        assert_eq!(GET_PULL.path(&["o", "r", "../7?x=1"]), "/repos/o/r/pulls/..%2F7%3Fx%3D1");
        assert_eq!(GET_CONTENT.path(&["o", "r", ".github/a b#.yml"]), "/repos/o/r/contents/.github/a%20b%23.yml");
    }

    #[test]
    fn only_resolving_a_thread_carries_the_power_to_write_contents() {
        for access in [Access::Read, Access::Write, Access::Git] {
            assert_ne!(access.permissions().get("contents"), Some(&"write"), "{access:?}");
        }
        assert_eq!(Access::Resolve.permissions()["contents"], "write");
        assert_eq!(Access::Git.permissions(), BTreeMap::from([("contents", "read")]));
    }
}
