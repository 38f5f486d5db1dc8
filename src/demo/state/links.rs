//! Which pull requests close which issues: closing keywords in a body aimed at the default branch.

use std::sync::LazyLock;

use regex::Regex;

use super::{Pull, Repo, World};
use crate::demo::refusal::Refusal;

/// `fixes #7`, `Closes: owner/name#7`, `resolved https://host/owner/name/issues/7`.
static KEYWORD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let verb = r"(?:^|[^\w])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+";
    let place = r"(?:https?://[^/\s]+/([\w.-]+/[\w.-]+)/issues/(\d+)|([\w.-]+/[\w.-]+)?#(\d+))\b";
    Regex::new(&format!("(?i){verb}{place}")).ok()
});

/// Code and comments link nothing.
static UNREAD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)```.*?(?:```|\z)|~~~.*?(?:~~~|\z)|`[^`\n]*`|<!--.*?(?:-->|\z)").ok());

impl World {
    /// The issues that a pull request closes once it is merged, by repository and number.
    pub fn issues_closed_by(&self, repo: u64, number: u64) -> Result<Vec<(u64, u64)>, Refusal> {
        Ok(self.closes(self.repo(repo)?, self.pull(repo, number)?))
    }

    /// The pull requests, of whichever repository, that close an issue.
    pub fn pulls_closing(&self, repo: u64, issue: u64) -> Vec<(u64, u64)> {
        let all = self.repos.values().flat_map(|r| r.pulls.values().map(move |p| (r, p)));
        all.filter(|(r, p)| self.closes(r, p).contains(&(repo, issue))).map(|(r, p)| (r.id, p.number)).collect()
    }

    fn closes(&self, repo: &Repo, pull: &Pull) -> Vec<(u64, u64)> {
        let (Some(keyword), Some(unread)) = (&*KEYWORD, &*UNREAD) else { return Vec::new() };
        if pull.base_ref != repo.default_branch {
            return Vec::new();
        }
        let body = unread.replace_all(pull.body.as_deref().unwrap_or_default(), " ").into_owned();
        let mut found = Vec::new();
        for hit in keyword.captures_iter(&body) {
            let name = hit.get(1).or_else(|| hit.get(3)).map(|name| name.as_str());
            let number = hit.get(2).or_else(|| hit.get(4)).and_then(|number| number.as_str().parse().ok());
            let target = match name {
                None => Some(repo.id),
                Some(name) => self.repo_named(name).ok(),
            };
            if let (Some(target), Some(number)) = (target, number)
                && self.repos.get(&target).is_some_and(|r| r.issues.contains_key(&number))
                && !found.contains(&(target, number))
            {
                found.push((target, number));
            }
        }
        found
    }
}
