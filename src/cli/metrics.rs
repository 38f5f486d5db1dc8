//! `GET /metrics`: who may read it, and where it is served.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::{App, Format};
use crate::config::Metrics;
use crate::domain::Secret;
use crate::stdx::net;
use crate::webhook;

/// Proxies leave one of these on what they pass on. Whoever passes on the whole host must not publish this with it.
const FORWARDED: [HeaderName; 5] = [
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
];

#[derive(Clone)]
struct Door {
    app: App,
    token: Option<Arc<Secret>>,
}

/// Mounts `/metrics` beside the other doors, or serves it at an address of its own.
///
/// # Errors
/// That address cannot be listened on.
pub async fn mount(
    router: Router,
    app: &App,
    config: &Metrics,
    shutdown: &CancellationToken,
) -> anyhow::Result<Router> {
    let own = Router::new()
        .route("/metrics", get(metrics))
        .with_state(Door { app: app.clone(), token: config.token.clone().map(Arc::new) });
    let Some(address) = config.listen else { return Ok(router.merge(own)) };
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!("metrics on http://{}/metrics", listener.local_addr()?);
    let limits = webhook::Limits { connections: 16, ..webhook::Limits::default() };
    tokio::spawn(webhook::serve_http(listener, own, shutdown.clone(), limits));
    Ok(router)
}

async fn metrics(State(door): State<Door>, request: Request) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    if let Err(refusal) = may_read(door.token.as_deref(), peer, request.headers()) {
        // Every refusal says what would be taken.
        return (refusal.0, [(header::WWW_AUTHENTICATE, "Bearer")], refusal.1).into_response();
    }
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept);
    match door.app.metrics(format).await {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => {
            tracing::error!("the metrics could not be written: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

type Refusal = (StatusCode, &'static str);

/// With a token, whoever has it. Without one, neighbours that ask for themselves.
fn may_read(token: Option<&Secret>, peer: Option<IpAddr>, headers: &HeaderMap) -> Result<(), Refusal> {
    if let Some(token) = token {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given =
            given.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        if given.is_some_and(|(_, given)| token.equals(given.trim())) {
            return Ok(());
        }
        let text = "the metrics take a bearer token: the one in this server's `metrics_token_file`\n";
        return Err((StatusCode::UNAUTHORIZED, text));
    }
    let refused = |text| Err((StatusCode::FORBIDDEN, text));
    if FORWARDED.iter().any(|name| headers.contains_key(name)) {
        return refused(
            "the metrics are not given to a proxy: it may speak for anybody. Ask this server directly, \
             or set `metrics_token_file` and send the token\n",
        );
    }
    if !headers.get_all(header::HOST).iter().all(|host| host.to_str().is_ok_and(is_near_name)) {
        return refused(
            "the metrics are given under this server's number, `localhost` or a name without dots: a page of somebody else's may have \
             pointed any other name here. Set `metrics_token_file` and send the token\n",
        );
    }
    if !peer.is_some_and(is_near) {
        return refused(
            "the metrics are given to this machine and private networks. \
             Set `metrics_token_file` and send the token to read them from elsewhere\n",
        );
    }
    Ok(())
}

/// This machine, or an address that no router of the Internet passes on.
fn is_near(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// A name that nobody on the Internet can point at this machine, with or without a port.
fn is_near_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && net::number(host).is_none() => name,
        _ => host,
    };
    net::number(name).is_some() || net::is_host(name) && !name.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(token: Option<&str>, peer: &str, headers: &[(&'static str, &str)], want: u16) {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect();
        let token = token.map(Secret::new);
        let got = may_read(token.as_ref(), Some(peer.parse().unwrap()), &headers);
        assert_eq!(got.map_or_else(|refusal| refusal.0.as_u16(), |()| 200), want);
    }

    #[test]
    fn neighbours_read_without_a_token_and_strangers_do_not() {
        for near in
            ["127.0.0.1", "::1", "10.2.3.4", "172.17.0.2", "192.168.1.9", "fd00::1", "fe80::1", "::ffff:10.0.0.1"]
        {
            check(None, near, &[], 200);
        }
        for far in ["140.82.115.1", "172.32.0.1", "100.64.0.1", "2606:50c0::1", "::ffff:8.8.8.8", "0.0.0.0"] {
            check(None, far, &[], 403);
        }
    }

    #[test]
    fn a_proxy_next_door_does_not_read_for_others() {
        for name in ["forwarded", "x-forwarded-for", "via", "x-real-ip", "x-forwarded-host"] {
            check(None, "127.0.0.1", &[(name, "anything")], 403);
            check(Some("t0ken"), "127.0.0.1", &[(name, "anything"), ("authorization", "Bearer t0ken")], 200);
        }
    }

    #[test]
    fn a_name_that_was_pointed_here_reads_nothing() {
        for host in ["127.0.0.1:3000", "10.0.0.7", "[::1]:3000", "[::1]", "localhost:9", "octoswarm", "octoswarm:3000"]
        {
            check(None, "127.0.0.1", &[("host", host)], 200);
        }
        for host in ["evil.example", "evil.example:3000", "127.0.0.1.evil.example", "localhost.:9", "", "a@b"] {
            check(None, "127.0.0.1", &[("host", host)], 403);
            check(Some("t0ken"), "127.0.0.1", &[("host", host), ("authorization", "Bearer t0ken")], 200);
        }
    }

    #[test]
    fn a_token_is_needed_where_there_is_one_and_is_compared_whole() {
        for (given, want) in [
            ("Bearer t0ken", 200),
            ("bearer t0ken", 200),
            ("Bearer t0ke", 401),
            ("Bearer t0kens", 401),
            ("t0ken", 401),
            ("Basic t0ken", 401),
        ] {
            check(Some("t0ken"), "8.8.8.8", &[("authorization", given)], want);
        }
        check(Some("t0ken"), "127.0.0.1", &[], 401);
    }
}
