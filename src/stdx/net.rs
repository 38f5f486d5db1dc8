//! Hosts and addresses: which are this machine's, which the Internet can reach. One judgement for everybody who asks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The number that a host is, with or without the brackets that an address puts around IPv6.
pub fn number(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

/// What is sent there stays on this machine.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || number(host).is_some_and(|ip| ip.to_canonical().is_loopback())
}

/// Somebody on the Internet may reach it, as far as its name or number tells.
pub fn is_public(host: &str) -> bool {
    match number(host).map(|ip| ip.to_canonical()) {
        Some(IpAddr::V4(ip)) => !(ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()),
        Some(IpAddr::V6(ip)) => {
            !(ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_unspecified())
        }
        None => {
            host.contains('.') && ![".localhost", ".local", ".internal", ".lan"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// A name of letters, digits, dots and hyphens, or a number: nothing that could end a word in a header.
pub fn is_host(host: &str) -> bool {
    number(host).is_some()
        || !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
}

/// Who listens on every address is reached on this machine.
pub fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_address_is_asked_on_this_machine() {
        for (listen, want) in
            [("0.0.0.0:3000", "127.0.0.1:3000"), ("[::]:3000", "[::1]:3000"), ("10.0.0.5:80", "10.0.0.5:80")]
        {
            assert_eq!(reachable(listen.parse().unwrap()), want.parse().unwrap());
        }
    }

    #[test]
    fn hosts_are_told_apart() {
        for (host, loopback, public, fits) in [
            ("localhost", true, false, true),
            ("127.0.0.2", true, false, true),
            ("[::1]", true, false, true),
            ("[::ffff:127.0.0.1]", true, false, true),
            ("127.0.0.1.evil.example", false, true, true),
            ("10.0.0.7", false, false, true),
            ("[fd00::1]", false, false, true),
            ("swarm", false, false, true),
            ("swarm.local", false, false, true),
            ("acme.example", false, true, true),
            ("a;script-src.example", false, true, false),
            ("a'b.example", false, true, false),
            ("", false, false, false),
        ] {
            assert_eq!((is_loopback(host), is_public(host), is_host(host)), (loopback, public, fits), "{host}");
        }
    }
}
