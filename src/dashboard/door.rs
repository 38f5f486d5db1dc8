//! Who may see the pages: one link, one browser, under a name that is ours.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, header};
use reqwest::Url;

use crate::stdx::{net, token};

const COOKIE: &str = "octoswarm_setup";

/// Keeps the link's token and the one session that it led to.
pub struct Door {
    /// How the server itself names its address.
    local: String,
    public_url: Option<Url>,
    keys: Mutex<Keys>,
    /// Tells the operator a link, where nobody else reads.
    announce: Box<dyn Fn(&str) + Send + Sync>,
}

struct Keys {
    token: String,
    /// The token was used: the link leads nowhere any more.
    used: bool,
    session: Option<Session>,
    closed: bool,
}

/// One browser. `form` stands in every form that we take back.
#[derive(Clone)]
pub struct Session {
    pub id: String,
    pub form: String,
}

/// What a link was good for.
pub enum Entry {
    /// The value of a `Set-Cookie` header.
    Welcome(String),
    /// The right link for the second time: the operator was told a new one.
    Used,
    /// The right link for the second time, and no other will be made.
    Spent,
    Wrong,
}

impl Door {
    pub fn new(listen: SocketAddr, public_url: Option<&str>, announce: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let keys = Keys { token: token::fresh(), used: false, session: None, closed: false };
        Self {
            local: format!("http://{}", net::reachable(listen)),
            public_url: public_url.and_then(|url| Url::parse(url).ok()),
            keys: Mutex::new(keys),
            announce: Box::new(announce),
        }
    }

    /// Whether there is one address only under which the pages answer.
    pub fn has_public_address(&self) -> bool {
        self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }

    /// Tells the operator where to go.
    pub fn announce(&self) {
        let token = self.keys().token.clone();
        let base =
            self.public_url.as_ref().map_or_else(|| self.local.clone(), |url| url.origin().ascii_serialization());
        (self.announce)(&format!("{base}/setup?token={token}"));
    }

    /// Where the browser thinks it is: `http://host:port`. `None` under a foreign name: a page of somebody else's may have
    /// pointed its own name at this address. Numbers cannot be pointed anywhere. With a public https address only that one
    /// counts: what a proxy makes of `Host` must not decide where GitHub sends the code.
    pub fn base(&self, headers: &HeaderMap) -> Option<String> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?;
        if hosts.next().is_some() {
            return None;
        }
        if let Some(public) = &self.public_url {
            let named =
                authority(public).eq_ignore_ascii_case(host) || full_authority(public).eq_ignore_ascii_case(host);
            if named || public.scheme() == "https" {
                return named.then(|| public.origin().ascii_serialization());
            }
        }
        let url =
            Url::parse(&format!("http://{host}/")).ok().filter(|url| authority(url).eq_ignore_ascii_case(host))?;
        let name = url.host_str()?;
        (net::number(name).is_some() || name == "localhost").then(|| url.origin().ascii_serialization())
    }

    /// `served`: there is an App already, and nobody needs a new link any more.
    pub fn enter(&self, given: &str, base: &str, served: bool) -> Entry {
        let mut keys = self.keys();
        if keys.closed || !token::same(&keys.token, given) {
            return Entry::Wrong;
        }
        if keys.used && served {
            return Entry::Spent;
        }
        if keys.used {
            keys.token = token::fresh();
            keys.used = false;
            drop(keys);
            self.announce();
            return Entry::Used;
        }
        keys.used = true;
        let session = Session { id: token::fresh(), form: token::fresh() };
        let secure = if base.starts_with("https://") { "; Secure" } else { "" };
        // Lax: GitHub sends the browser back here, and the cookie has to come along.
        let cookie = format!("{COOKIE}={}; Path=/setup; HttpOnly; SameSite=Lax{secure}", session.id);
        keys.session = Some(session);
        Entry::Welcome(cookie)
    }

    pub fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let keys = self.keys();
        let session = keys.session.as_ref().filter(|_| !keys.closed)?;
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut ids = cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|pair| pair.trim().split_once('=').filter(|(name, _)| *name == COOKIE).map(|(_, value)| value));
        ids.any(|id| token::same(id, &session.id)).then(|| session.clone())
    }

    /// Set-up is over: no link and no session leads in any more.
    pub fn close(&self) {
        self.keys().closed = true;
    }

    pub fn is_closed(&self) -> bool {
        self.keys().closed
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `host` or `host:port`, as the `Host` header has it.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// With the port, also where it is the scheme's own and most leave it out.
fn full_authority(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn door(public_url: Option<&str>) -> (Door, Arc<Mutex<Vec<String>>>) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = told.clone();
        let listen = SocketAddr::from(([0, 0, 0, 0], 3000));
        (Door::new(listen, public_url, move |link| log.lock().unwrap().push(link.to_owned())), told)
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn a_name_that_is_not_ours_is_nobodys_base() {
        let (door, _) = door(None);
        let base = |host: &str| door.base(&headers(header::HOST, host));
        assert_eq!(base("127.0.0.1:3000").as_deref(), Some("http://127.0.0.1:3000"));
        assert_eq!(base("[::1]:3000").as_deref(), Some("http://[::1]:3000"));
        assert_eq!(base("localhost:9").as_deref(), Some("http://localhost:9"));
        for host in [
            "evil.example",
            "swarm.acme.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:3000",
            "a@127.0.0.1",
            "",
            "127.0.0.1/x",
        ] {
            assert_eq!(base(host), None, "{host}");
        }
    }

    #[test]
    fn with_a_public_address_nothing_else_is_our_base() {
        let (door, told) = door(Some("https://swarm.acme.example"));
        door.announce();
        assert!(told.lock().unwrap()[0].starts_with("https://swarm.acme.example/setup?token="));
        let base = |host: &str| door.base(&headers(header::HOST, host));
        for host in ["swarm.acme.example", "Swarm.acme.example", "swarm.acme.example:443"] {
            assert_eq!(base(host).as_deref(), Some("https://swarm.acme.example"), "{host}");
        }
        for host in ["127.0.0.1:3000", "localhost:3000", "[::1]:3000", "swarm.acme.example:3000", "evil.example"] {
            assert_eq!(base(host), None, "{host}");
        }
    }

    #[test]
    fn a_link_lets_one_browser_in_and_its_second_use_makes_a_new_link() {
        let (door, told) = door(None);
        door.announce();
        let token = |n: usize| told.lock().unwrap()[n].rsplit('=').next().unwrap().to_owned();
        assert!(told.lock().unwrap()[0].starts_with("http://127.0.0.1:3000/setup?token="));
        assert!(matches!(door.enter("wrong", "http://x", false), Entry::Wrong));
        let Entry::Welcome(cookie) = door.enter(&token(0), "https://x", false) else { panic!("the link works") };
        assert!(cookie.contains("HttpOnly; SameSite=Lax; Secure"));
        let held = headers(header::COOKIE, &format!("a=b; {}", cookie.split(';').next().unwrap()));
        assert!(door.session(&held).is_some());
        assert!(matches!(door.enter(&token(0), "http://x", false), Entry::Used));
        assert!(door.session(&held).is_some(), "the one who is in stays in until another comes");
        assert!(matches!(door.enter(&token(1), "http://x", false), Entry::Welcome(_)));
        assert!(door.session(&held).is_none());
        assert!(matches!(door.enter(&token(1), "http://x", true), Entry::Spent));
        assert_eq!(told.lock().unwrap().len(), 2, "no third link");
        door.close();
        assert!(matches!(door.enter(&token(1), "http://x", false), Entry::Wrong));
    }
}
