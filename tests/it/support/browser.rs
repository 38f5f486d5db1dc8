//! As much of a browser as forms, cookies and redirects need; scripts do not run in it.

use std::collections::BTreeMap;

use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Method, Response, StatusCode, Url};

#[derive(Default)]
pub struct Browser {
    client: reqwest::Client,
    /// By host and port, which is stricter than a browser.
    cookies: BTreeMap<String, String>,
    /// Headers that go along with every request.
    pub extra: Vec<(&'static str, String)>,
}

#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    pub url: Url,
    pub headers: reqwest::header::HeaderMap,
    pub html: String,
}

/// A form as it stands in a page.
#[derive(Debug, Clone)]
pub struct Form {
    pub action: Url,
    pub fields: Vec<(String, String)>,
}

impl Browser {
    pub fn new() -> Self {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        Self { client, ..Self::default() }
    }

    pub async fn open(&mut self, url: &str) -> Page {
        self.go(Method::GET, Url::parse(url).unwrap(), None).await
    }

    /// One request, no redirect followed.
    pub async fn peek(&mut self, url: &str) -> Page {
        let url = Url::parse(url).unwrap();
        let response = self.send(Method::GET, &url, None).await;
        page(url, response).await
    }

    pub async fn submit(&mut self, form: &Form) -> Page {
        self.go(Method::POST, form.action.clone(), Some(form.fields.clone())).await
    }

    async fn go(&mut self, method: Method, url: Url, fields: Option<Vec<(String, String)>>) -> Page {
        let (mut method, mut url, mut fields) = (method, url, fields);
        for _ in 0..10 {
            let response = self.send(method, &url, fields.as_deref()).await;
            if !response.status().is_redirection() {
                return page(url, response).await;
            }
            url = url.join(response.headers()[LOCATION].to_str().unwrap()).unwrap();
            (method, fields) = (Method::GET, None);
        }
        panic!("redirected without end, last to {url}");
    }

    async fn send(&mut self, method: Method, url: &Url, fields: Option<&[(String, String)]>) -> Response {
        let place = url.authority().to_owned();
        let mut request = self.client.request(method, url.clone());
        if let Some(cookie) = self.cookies.get(&place) {
            request = request.header(COOKIE, cookie);
        }
        for (name, value) in &self.extra {
            request = request.header(*name, value);
        }
        if let Some(fields) = fields {
            let mut body = Url::parse("http://x").unwrap();
            body.query_pairs_mut().extend_pairs(fields);
            request = request
                .header("content-type", "application/x-www-form-urlencoded")
                .body(body.query().unwrap_or_default().to_owned());
        }
        let response = request.send().await.unwrap();
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookies.insert(place, pair.to_owned());
        }
        response
    }
}

async fn page(url: Url, response: Response) -> Page {
    let (status, headers) = (response.status(), response.headers().clone());
    Page { status, url, headers, html: response.text().await.unwrap() }
}

impl Page {
    /// The form whose action ends so, with what is filled in already.
    #[track_caller]
    pub fn form(&self, action: &str) -> Form {
        self.find_form(action).unwrap_or_else(|| panic!("no form for `{action}` in {}", self.html))
    }

    pub fn find_form(&self, action: &str) -> Option<Form> {
        let mut rest = self.html.as_str();
        while let Some(at) = rest.find("<form") {
            let end = rest[at..].find("</form>").map_or(rest.len(), |end| at + end);
            let (text, after) = (&rest[at..end], &rest[end..]);
            let tag = &text[..text.find('>').unwrap()];
            let target = attribute(tag, "action").unwrap_or_else(|| self.url.to_string());
            let target = self.url.join(&target).unwrap();
            if target.path().ends_with(action) {
                return Some(Form { action: target, fields: fields(text) });
            }
            rest = after;
        }
        None
    }

    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(unescape(&self.html).contains(text), "`{text}` is not in {} {}", self.status, self.html);
        self
    }

    /// The address behind a link with these words.
    #[track_caller]
    pub fn link(&self, words: &str) -> String {
        let at =
            self.html.find(&format!(">{words}</a>")).unwrap_or_else(|| panic!("no link `{words}` in {}", self.html));
        let tag = &self.html[self.html[..at].rfind("<a").unwrap()..at];
        attribute(tag, "href").unwrap()
    }
}

impl Form {
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    #[track_caller]
    pub fn get(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()).unwrap()
    }
}

/// What a browser would send: of radio buttons and boxes only the chosen ones.
fn fields(form: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for (at, _) in form.match_indices("<input") {
        let tag = &form[at..at + form[at..].find('>').unwrap()];
        let kind = attribute(tag, "type").unwrap_or_default();
        if matches!(kind.as_str(), "radio" | "checkbox") && !tag.ends_with(" checked") {
            continue;
        }
        if let Some(name) = attribute(tag, "name") {
            fields.push((name, attribute(tag, "value").unwrap_or_default()));
        }
    }
    fields
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let rest = &tag[tag.find(&format!(" {name}=\""))? + name.len() + 3..];
    Some(unescape(&rest[..rest.find('"')?]))
}

pub fn unescape(text: &str) -> String {
    let names = [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&lt;", "<"),
        ("&#60;", "<"),
        ("&gt;", ">"),
        ("&#62;", ">"),
    ];
    let text = names.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign));
    text.replace("&amp;", "&#38;").replace("&#38;", "&")
}
