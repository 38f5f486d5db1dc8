//! `pull_request` deliveries as GitHub sends them: 23.6 KB, each with a GUID, a number and a head of its own, signed.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const SECRET: &str = "a secret for benchmarks only";
/// As large as a usual `pull_request` body.
pub const SIZE: usize = 23_600;

/// A body but for its end, which differs from delivery to delivery. The signer has read what they share, so that signing
/// takes the load generator little time.
pub struct Template {
    start: Vec<u8>,
    signer: Hmac<Sha256>,
}

impl Template {
    pub fn new(action: &str) -> Self {
        let bare = start(action, "");
        let missing = SIZE - bare.len() - end(0).len();
        let start = start(action, &text(missing)).into_bytes();
        let mut signer = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any key will do");
        signer.update(&start);
        Self { start, signer }
    }

    pub fn body(&self, n: u64) -> Vec<u8> {
        [&self.start[..], end(n).as_bytes()].concat()
    }

    /// One request for `path`, of the same length for every `n`.
    pub fn request(&self, path: &str, event: &str, n: u64) -> Request {
        let head = head(path, event, "", "");
        let head_length = head.len() + GUID + SIGNATURE;
        let mut bytes = vec![b' '; head_length];
        bytes.extend_from_slice(&self.body(n));
        let mut request = Request { path: path.to_owned(), event: event.to_owned(), bytes, head_length };
        self.renew(&mut request, n);
        request
    }

    /// Makes another delivery of it.
    pub fn renew(&self, request: &mut Request, n: u64) {
        let end = end(n);
        let mac = self.signer.clone().chain_update(end.as_bytes()).finalize().into_bytes();
        let guid = format!("{:08x}-6b1f-11f0-9a53-{n:012x}", n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff);
        let head = head(&request.path, &request.event, &guid, &hex::encode(mac));
        request.bytes[..request.head_length].copy_from_slice(head.as_bytes());
        let at = request.bytes.len() - end.len();
        request.bytes[at..].copy_from_slice(end.as_bytes());
    }
}

const GUID: usize = 36;
const SIGNATURE: usize = 64;

/// A whole request, head and body.
pub struct Request {
    path: String,
    event: String,
    bytes: Vec<u8>,
    head_length: usize,
}

impl Request {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn head(path: &str, event: &str, guid: &str, mac: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: swarm.example\r\nUser-Agent: GitHub-Hookshot/f0e1d2c\r\nAccept: */*\r\n\
         Content-Type: application/json\r\nContent-Length: {SIZE}\r\nX-GitHub-Delivery: {guid}\r\nX-GitHub-Event: {event}\r\n\
         X-GitHub-Hook-ID: 504321987\r\nX-GitHub-Hook-Installation-Target-ID: 987654\r\n\
         X-GitHub-Hook-Installation-Target-Type: integration\r\nX-Hub-Signature-256: sha256={mac}\r\n\r\n"
    )
}

/// What differs, of one length.
fn end(n: u64) -> String {
    let number = 10_000_000 + n;
    let sha = format!("{n:08x}").repeat(5);
    format!("\"sha\":\"{sha}\"}},\"number\":{number}}},\"number\":{number}}}")
}

fn start(action: &str, description: &str) -> String {
    let owner = user("octo-makers", 70_111, "Organization");
    let sender = user("ada-of-the-north", 70_112, "User");
    let repository = repository(&owner);
    let api = "https://api.github.com/repos/octo-makers/long-distance-calculator";
    let links: String = ["self", "html", "issue", "comments", "review_comments", "commits", "statuses"]
        .map(|name| format!("\"{name}\":{{\"href\":\"{api}/pulls/10000000/{name}\"}}"))
        .join(",");
    format!(
        "{{\"action\":\"{action}\",\"repository\":{repository},\"organization\":{{\"login\":\"octo-makers\",\"id\":70111,\
         \"url\":\"https://api.github.com/orgs/octo-makers\",\"description\":\"Calculators that go a long way\"}},\
         \"sender\":{sender},\"installation\":{{\"id\":55443322,\"node_id\":\"MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uNTU0NDMzMjI=\"}},\
         \"pull_request\":{{\"url\":\"{api}/pulls/10000000\",\"id\":2381550011,\"node_id\":\"PR_kwDOLongDistance5Zx\",\
         \"html_url\":\"https://github.com/octo-makers/long-distance-calculator/pull/10000000\",\
         \"diff_url\":\"https://github.com/octo-makers/long-distance-calculator/pull/10000000.diff\",\"state\":\"open\",\
         \"locked\":false,\"title\":\"Carry the remainder over to the next leg\",\"user\":{sender},\
         \"body\":\"{description}\",\"created_at\":\"2026-11-20T09:15:27Z\",\"updated_at\":\"2026-11-20T09:15:27Z\",\
         \"closed_at\":null,\"merged_at\":null,\"merge_commit_sha\":null,\"assignees\":[],\"requested_reviewers\":[],\
         \"requested_teams\":[],\"labels\":[],\"milestone\":null,\"draft\":false,\"_links\":{{{links}}},\
         \"author_association\":\"CONTRIBUTOR\",\"auto_merge\":null,\"active_lock_reason\":null,\"merged\":false,\
         \"mergeable\":null,\"rebaseable\":null,\"mergeable_state\":\"unknown\",\"merged_by\":null,\"comments\":0,\
         \"review_comments\":0,\"maintainer_can_modify\":false,\"commits\":3,\"additions\":128,\"deletions\":41,\"changed_files\":7,\
         \"base\":{{\"label\":\"octo-makers:main\",\"ref\":\"main\",\"sha\":\"6dcb09b5b57875f334f61aebed695e2e4193db5e\",\
         \"user\":{owner},\"repo\":{repository}}},\
         \"head\":{{\"label\":\"octo-makers:carry\",\"ref\":\"carry\",\"user\":{owner},\"repo\":{repository},"
    )
}

fn user(login: &str, id: u32, kind: &str) -> String {
    let api = format!("https://api.github.com/users/{login}");
    let urls: String =
        ["followers", "subscriptions", "organizations", "repos", "received_events", "following", "gists"]
            .map(|name| format!("\"{name}_url\":\"{api}/{name}{{/other}}\","))
            .concat();
    format!(
        "{{\"login\":\"{login}\",\"id\":{id},\"node_id\":\"MDQ6VXNlcjcwMTEx\",\
         \"avatar_url\":\"https://avatars.githubusercontent.com/u/{id}?v=4\",\"gravatar_id\":\"\",\"url\":\"{api}\",\
         \"html_url\":\"https://github.com/{login}\",{urls}\"type\":\"{kind}\",\"user_view_type\":\"public\",\"site_admin\":false}}"
    )
}

fn repository(owner: &str) -> String {
    let api = "https://api.github.com/repos/octo-makers/long-distance-calculator";
    let urls: String = [
        "forks",
        "keys",
        "collaborators",
        "teams",
        "hooks",
        "issue_events",
        "events",
        "assignees",
        "branches",
        "tags",
        "blobs",
        "git_tags",
        "git_refs",
        "trees",
        "statuses",
        "languages",
        "stargazers",
        "contributors",
        "subscribers",
        "subscription",
        "commits",
        "git_commits",
        "comments",
        "issue_comment",
        "contents",
        "compare",
        "merges",
        "archive",
        "downloads",
        "issues",
        "pulls",
        "milestones",
        "notifications",
        "labels",
        "releases",
        "deployments",
    ]
    .map(|name| format!("\"{name}_url\":\"{api}/{name}{{/one}}\","))
    .concat();
    format!(
        "{{\"id\":618033988,\"node_id\":\"R_kgDOLongDistance\",\"name\":\"long-distance-calculator\",\
         \"full_name\":\"octo-makers/long-distance-calculator\",\"private\":true,\"owner\":{owner},\
         \"html_url\":\"https://github.com/octo-makers/long-distance-calculator\",\
         \"description\":\"Adds up what lies far apart\",\"fork\":false,\"url\":\"{api}\",{urls}\
         \"created_at\":\"2024-02-03T11:12:13Z\",\"updated_at\":\"2026-11-19T16:42:05Z\",\"pushed_at\":\"2026-11-20T09:14:58Z\",\
         \"size\":18233,\"stargazers_count\":42,\"watchers_count\":42,\"language\":\"Rust\",\"has_issues\":true,\
         \"has_projects\":true,\"has_downloads\":true,\"has_wiki\":false,\"has_pages\":false,\"has_discussions\":false,\
         \"forks_count\":7,\"archived\":false,\"disabled\":false,\"open_issues_count\":12,\"license\":null,\
         \"allow_forking\":true,\"is_template\":false,\"web_commit_signoff_required\":false,\"topics\":[],\
         \"visibility\":\"private\",\"forks\":7,\"open_issues\":12,\"watchers\":42,\"default_branch\":\"main\"}}"
    )
}

/// A description of that length; not one sentence over and over, which any compression would take for nothing.
fn text(length: usize) -> String {
    let words =
        ["the", "remainder", "of", "each", "leg", "is", "carried", "over", "to", "where", "it", "counts", "once"];
    let mut seed = 7_u64;
    let mut text = String::new();
    while text.len() < length {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(words[usize::try_from(seed >> 33).unwrap_or(0) % words.len()]);
        text.push(' ');
    }
    text.truncate(length);
    text
}
