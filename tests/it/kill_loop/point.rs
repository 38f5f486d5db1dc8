//! Where the server dies, and what has it go there.

use super::wire::Gap;

/// What people do first in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primary {
    /// A pull request with two findings.
    Open,
    OpenAny,
    /// One finding less in a pull request that was reviewed.
    Push,
    /// `/swarm fix` on a pull request that was reviewed.
    Fix,
    /// `/swarm status` on a new pull request.
    Status,
    /// A labelled issue that a mechanic can solve.
    Issue,
}

#[derive(Debug, Clone)]
pub enum How {
    AnyTime,
    /// The box has done what was asked and keeps its answer, or the second half of it; `skip` such calls go through before.
    Call {
        method: &'static str,
        path: &'static str,
        skip: u32,
        half: bool,
    },
    /// The same at any call whatever.
    AnyCall,
    /// A message of an agent's dispatch was sent, and the one that follows it was not.
    Dispatch(Gap),
    /// Half a delivery was sent.
    HalfBody,
    /// The delivery is in the database and its answer was not read.
    Unanswered,
    /// The delivery was read whole and cannot be written.
    Uncommitted,
    /// The database's log is being folded into its file.
    Checkpoint,
    /// After it was asked to stop.
    Graceful,
    /// After it was frozen for a while.
    Paused,
    /// While it starts on what it left behind.
    Starting,
    /// While it makes its schema.
    Migrating,
}

#[derive(Debug, Clone)]
pub struct Point {
    pub name: &'static str,
    pub act: Primary,
    pub how: How,
}

impl Point {
    /// Something has to happen for it, and it does unless the point has moved.
    pub fn is_certain(&self) -> bool {
        matches!(self.how, How::Call { .. } | How::Checkpoint)
    }
}

const fn call(name: &'static str, act: Primary, method: &'static str, path: &'static str, skip: u32) -> Point {
    Point { name, act, how: How::Call { method, path, skip, half: false } }
}

const fn point(name: &'static str, act: Primary, how: How) -> Point {
    Point { name, act, how }
}

/// Every named point once, and the unnamed ones several times.
pub const ALL: &[Point] = &[
    point("K1 body half read", Primary::OpenAny, How::HalfBody),
    point("K2 committed, not answered", Primary::Open, How::Unanswered),
    point("K2 read, not committed", Primary::OpenAny, How::Uncommitted),
    call("K3 claimed", Primary::Open, "GET", "{repo}/pulls/{n}", 0),
    Point {
        name: "K4 pack half fetched",
        act: Primary::Open,
        how: How::Call { method: "POST", path: "{repo}.git/git-upload-pack", skip: 0, half: true },
    },
    call("K4 mirror fetched", Primary::Open, "GET", "{repo}/pulls/{n}/reviews", 0),
    point("K5 assigned, not accepted", Primary::Open, How::Dispatch(Gap::Unaccepted)),
    point("K5 result sent, not acknowledged", Primary::Open, How::Dispatch(Gap::Unacknowledged)),
    point("K5 result sent, not acknowledged, of a contribution", Primary::Issue, How::Dispatch(Gap::Unacknowledged)),
    call("K6 patch applied", Primary::Issue, "GET", "{repo}/rules/branches", 0),
    call("K8 fix pushed, not journaled", Primary::Fix, "POST", "{repo}.git/git-receive-pack", 0),
    call("K8 branch pushed, not journaled", Primary::Issue, "POST", "{repo}.git/git-receive-pack", 0),
    call("K9 pull request made, not journaled", Primary::Issue, "POST", "{repo}/pulls", 0),
    call("K10 review made, not journaled", Primary::Open, "POST", "{repo}/pulls/{n}/reviews", 0),
    call("K10 comment made, not journaled", Primary::Status, "POST", "{repo}/issues/{n}/comments", 0),
    call("K10 comment edited, not journaled", Primary::Fix, "PATCH", "{repo}/issues/comments", 0),
    call("K10 reaction made, not journaled", Primary::Fix, "POST", "/reactions", 0),
    call("K10 check run made, not journaled", Primary::Open, "POST", "{repo}/check-runs", 0),
    call("K10 check run concluded, not journaled", Primary::Open, "PATCH", "{repo}/check-runs", 0),
    call("K10 thread resolved, not journaled", Primary::Push, "POST", "/graphql", 2),
    call("K10 review edited, not journaled", Primary::Push, "PUT", "{repo}/pulls/{n}/reviews", 0),
    point("K11 checkpoint", Primary::OpenAny, How::Checkpoint),
    point("K12 schema being made", Primary::OpenAny, How::Migrating),
    point("K12 starting", Primary::Open, How::Starting),
    point("K13 graceful stop", Primary::Open, How::Graceful),
    point("frozen for a while", Primary::OpenAny, How::Paused),
    point("any call", Primary::Open, How::AnyCall),
    point("any call of a push", Primary::Push, How::AnyCall),
    point("any call of a fix", Primary::Fix, How::AnyCall),
    point("any call of a contribution", Primary::Issue, How::AnyCall),
    point("any time", Primary::OpenAny, How::AnyTime),
    point("any time of a fix", Primary::Fix, How::AnyTime),
    point("any time of a contribution", Primary::Issue, How::AnyTime),
];
