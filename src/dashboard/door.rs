//! Who may see the pages: one link, one browser, under a name that is ours.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, header};
use reqwest::Url;

use crate::stdx::token;

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
    Wrong,
}

impl Door {
    pub fn new(listen: SocketAddr, public_url: Option<&str>, announce: impl Fn(&str) + Send + Sync + 'static) -> Self {
        // Who listens everywhere is reached here by the loopback address.
        let ip = match listen.ip() {
            ip if !ip.is_unspecified() => ip,
            IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
            IpAddr::V6(_) => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        };
        let keys = Keys { token: token::fresh(), used: false, session: None, closed: false };
        Self {
            local: format!("http://{}", SocketAddr::new(ip, listen.port())),
            public_url: public_url.and_then(|url| Url::parse(url).ok()),
            keys: Mutex::new(keys),
            announce: Box::new(announce),
        }
    }

    /// Tells the operator where to go.
    pub fn announce(&self) {
        let token = self.keys().token.clone();
        let base =
            self.public_url.as_ref().map_or_else(|| self.local.clone(), |url| url.origin().ascii_serialization());
        (self.announce)(&format!("{base}/setup?token={token}"));
    }

    /// Where the browser thinks it is: `http://host:port`. `None` under a foreign name: a page of somebody else's may have
    /// pointed its own name at this address. Numbers cannot be pointed anywhere.
    pub fn base(&self, headers: &HeaderMap) -> Option<String> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?;
        if hosts.next().is_some() {
            return None;
        }
        if let Some(public) = &self.public_url
            && authority(public).eq_ignore_ascii_case(host)
        {
            return Some(public.origin().ascii_serialization());
        }
        let url =
            Url::parse(&format!("http://{host}/")).ok().filter(|url| authority(url).eq_ignore_ascii_case(host))?;
        let name = url.host_str()?;
        let number = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        (number || name == "localhost").then(|| url.origin().ascii_serialization())
    }

    pub fn enter(&self, given: &str, base: &str) -> Entry {
        let mut keys = self.keys();
        if keys.closed || !token::same(&keys.token, given) {
            return Entry::Wrong;
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
        let (door, _) = door(Some("https://swarm.acme.example"));
        let base = |host: &str| door.base(&headers(header::HOST, host));
        assert_eq!(base("127.0.0.1:3000").as_deref(), Some("http://127.0.0.1:3000"));
        assert_eq!(base("[::1]:3000").as_deref(), Some("http://[::1]:3000"));
        assert_eq!(base("localhost:9").as_deref(), Some("http://localhost:9"));
        assert_eq!(base("swarm.acme.example").as_deref(), Some("https://swarm.acme.example"));
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:3000", "a@127.0.0.1", "", "127.0.0.1/x"]
        {
            assert_eq!(base(host), None, "{host}");
        }
    }

    #[test]
    fn a_link_lets_one_browser_in_and_its_second_use_makes_a_new_link() {
        let (door, told) = door(None);
        door.announce();
        let token = |n: usize| told.lock().unwrap()[n].rsplit('=').next().unwrap().to_owned();
        assert!(told.lock().unwrap()[0].starts_with("http://127.0.0.1:3000/setup?token="));
        assert!(matches!(door.enter("wrong", "http://x"), Entry::Wrong));
        let Entry::Welcome(cookie) = door.enter(&token(0), "https://x") else { panic!("the link works") };
        assert!(cookie.contains("HttpOnly; SameSite=Lax; Secure"));
        let held = headers(header::COOKIE, &format!("a=b; {}", cookie.split(';').next().unwrap()));
        assert!(door.session(&held).is_some());
        assert!(matches!(door.enter(&token(0), "http://x"), Entry::Used));
        assert!(door.session(&held).is_some(), "the one who is in stays in until another comes");
        assert!(matches!(door.enter(&token(1), "http://x"), Entry::Welcome(_)));
        assert!(door.session(&held).is_none());
        door.close();
        assert!(matches!(door.enter(&token(1), "http://x"), Entry::Wrong));
    }
}
