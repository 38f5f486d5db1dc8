//! Every call we can make to GitHub, with the permission it takes. There is no other way out of this room.

use std::collections::BTreeMap;

use http::Method;

/// A permission of the App, as the manifest spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    Checks,
    Contents,
    Issues,
    Metadata,
    PullRequests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Read,
    Write,
}

/// Which token the call goes out with. Each is minted with these permissions and no more. A token that asks for a permission
/// which the installation's owner has not accepted is not minted at all, so what reviews need stands apart from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// No token: there is no App yet.
    Nobody,
    /// No token, for what anybody may read.
    Anybody,
    /// The App's own JWT.
    App,
    /// List what an installation holds: the only token that is not narrowed to one repository.
    Survey,
    /// Look at pull requests, checks, files, commits and roles.
    Read,
    /// Write pull requests, reviews and check runs.
    Write,
    /// Look at issues, and at comments on issues and pull requests.
    ReadIssues,
    /// Comment and react, on issues and pull requests.
    WriteIssues,
    /// Resolve a review thread: GitHub asks for `contents: write`.
    Resolve,
    /// Fetch by git.
    Git,
    /// Make commits and branches, by git or by GitHub's API. Never with `workflows`.
    Push,
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
    /// Turns the code that GitHub gave to a browser into an App, once.
    CREATE_APP = Nobody Writes POST "/app-manifests/{}/conversions" [];
    GET_APP = App Reads GET "/app" [];
    MINT_TOKEN = App Reads POST "/app/installations/{}/access_tokens" [];
    GET_PULL = Read Reads GET "/repos/{}/{}/pulls/{}" [PullRequests: Read];
    LIST_FILES = Read Reads GET "/repos/{}/{}/pulls/{}/files" [PullRequests: Read];
    LIST_PULL_COMMITS = Read Reads GET "/repos/{}/{}/pulls/{}/commits" [PullRequests: Read];
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
    /// Nor is this one.
    GIT_PUSH = Push Writes POST "git" [Contents: Write];

    /// Tells whether a GitHub answers, whoever asks.
    GET_META = Nobody Reads GET "/meta" [];
    GET_HOOK_CONFIG = App Reads GET "/app/hook/config" [];
    /// Costs nothing of the limit that it tells.
    GET_RATE_LIMIT = Survey Reads GET "/rate_limit" [];
    LIST_INSTALLATIONS = App Reads GET "/app/installations" [];
    LIST_DELIVERIES = App Reads GET "/app/hook/deliveries" [];
    GET_DELIVERY = App Reads GET "/app/hook/deliveries/{}" [];
    REDELIVER = App Writes POST "/app/hook/deliveries/{}/attempts" [];
    LIST_REPOSITORIES = Survey Reads GET "/installation/repositories" [Metadata: Read];
    /// Public, but GitHub takes the App's JWT for its own endpoints only, and a private server takes nobody unknown.
    GET_USER = Survey Reads GET "/users/{}" [Metadata: Read];
    GET_PUBLIC_REPOSITORY = Anybody Reads GET "/repos/{}/{}" [];
    LIST_PUBLIC_ISSUES = Anybody Reads GET "/repos/{}/{}/issues" [];
    GET_REPOSITORY = Read Reads GET "/repos/{}/{}" [Metadata: Read];
    GET_ROLE = Read Reads GET "/repos/{}/{}/collaborators/{}/permission" [Metadata: Read];
    LIST_BRANCH_RULES = Read Reads GET "/repos/{}/{}/rules/branches/{}" [Metadata: Read];
    LIST_PULLS = Read Reads GET "/repos/{}/{}/pulls" [PullRequests: Read];
    CREATE_PULL = Write Writes POST "/repos/{}/{}/pulls" [PullRequests: Write];
    UPDATE_PULL = Write Writes PATCH "/repos/{}/{}/pulls/{}" [PullRequests: Write];

    LIST_ISSUES = ReadIssues Reads GET "/repos/{}/{}/issues" [Issues: Read];
    GET_ISSUE = ReadIssues Reads GET "/repos/{}/{}/issues/{}" [Issues: Read];
    LIST_ISSUE_EVENTS = ReadIssues Reads GET "/repos/{}/{}/issues/{}/events" [Issues: Read];
    LIST_LINKED_PULLS = ReadIssues Reads POST "graphql" [Issues: Read, PullRequests: Read];
    /// Of an issue or of a pull request: GitHub asks for the one permission or the other, and the number does not tell which.
    LIST_COMMENTS = ReadIssues Reads GET "/repos/{}/{}/issues/{}/comments" [Issues: Read, PullRequests: Read];
    GET_COMMENT = ReadIssues Reads GET "/repos/{}/{}/issues/comments/{}" [Issues: Read, PullRequests: Read];
    CREATE_COMMENT = WriteIssues Writes POST "/repos/{}/{}/issues/{}/comments" [Issues: Write, PullRequests: Write];
    UPDATE_COMMENT = WriteIssues Writes PATCH "/repos/{}/{}/issues/comments/{}" [Issues: Write, PullRequests: Write];
    REACT_TO_ISSUE = WriteIssues Writes POST "/repos/{}/{}/issues/{}/reactions" [Issues: Write, PullRequests: Write];
    REACT_TO_COMMENT = WriteIssues Writes POST "/repos/{}/{}/issues/comments/{}/reactions" [Issues: Write, PullRequests: Write];

    GET_LABEL = ReadIssues Reads GET "/repos/{}/{}/labels/{}" [Issues: Read];
    CREATE_LABEL = WriteIssues Writes POST "/repos/{}/{}/labels" [Issues: Write];

    GET_BRANCH_HEAD = Read Reads GET "/repos/{}/{}/git/ref/heads/{*}" [Contents: Read];
    GET_COMMIT = Read Reads GET "/repos/{}/{}/commits/{}" [Contents: Read];
    CREATE_BLOB = Push Writes POST "/repos/{}/{}/git/blobs" [Contents: Write];
    CREATE_TREE = Push Writes POST "/repos/{}/{}/git/trees" [Contents: Write];
    CREATE_COMMIT = Push Writes POST "/repos/{}/{}/git/commits" [Contents: Write];
    CREATE_BRANCH = Push Writes POST "/repos/{}/{}/git/refs" [Contents: Write];
    MOVE_BRANCH = Push Writes PATCH "/repos/{}/{}/git/refs/heads/{*}" [Contents: Write];
}

impl Permission {
    pub fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Contents => "contents",
            Self::Issues => "issues",
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
        assert_eq!(GET_ROLE.path(&["o", "r", "dep[bot]"]), "/repos/o/r/collaborators/dep%5Bbot%5D/permission");
        assert_eq!(GET_PULL.path(&["o", "r", "../7?x=1"]), "/repos/o/r/pulls/..%2F7%3Fx%3D1");
        assert_eq!(GET_CONTENT.path(&["o", "r", ".github/a b#.yml"]), "/repos/o/r/contents/.github/a%20b%23.yml");
    }

    const ALL: [Access; 11] = [
        Access::Nobody,
        Access::Anybody,
        Access::App,
        Access::Survey,
        Access::Read,
        Access::Write,
        Access::ReadIssues,
        Access::WriteIssues,
        Access::Resolve,
        Access::Git,
        Access::Push,
    ];

    #[test]
    fn only_resolving_a_thread_and_pushing_carry_the_power_to_write_contents() {
        for access in ALL {
            let writes = access.permissions().get("contents") == Some(&"write");
            assert_eq!(writes, matches!(access, Access::Resolve | Access::Push), "{access:?}");
        }
        assert_eq!(Access::Git.permissions(), BTreeMap::from([("contents", "read")]));
        assert_eq!(Access::Push.permissions(), BTreeMap::from([("contents", "write")]));
        assert_eq!(Access::Survey.permissions(), BTreeMap::from([("metadata", "read")]));
    }

    #[test]
    fn reviews_need_nothing_that_an_older_installation_has_not_accepted() {
        for access in [Access::Read, Access::Write, Access::Resolve, Access::Git] {
            assert!(!access.permissions().contains_key("issues"), "{access:?}");
        }
    }

    #[test]
    fn a_token_that_only_reads_holds_no_power_to_write() {
        for access in [Access::Survey, Access::Read, Access::ReadIssues, Access::Git] {
            assert!(access.permissions().values().all(|level| *level == "read"), "{access:?}");
            let writes = ENDPOINTS.iter().any(|e| e.access == access && e.effect == Effect::Writes);
            assert!(!writes, "{access:?}");
        }
    }
}
