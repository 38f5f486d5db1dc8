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

/// An address of the Internet itself: nobody's own network, no machine's inside, no cloud's service for its machines.
pub fn is_on_the_internet(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, c, _] = ip.octets();
            let inside =
                ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast() || ip.is_broadcast();
            // This network, carriers' own, protocols', measuring, not given to anybody; and a cloud's metadata at a public number.
            let special = a == 0
                || a == 100 && b & 0xc0 == 64
                || (a, b, c) == (192, 0, 0)
                || a == 198 && b & 0xfe == 18
                || a >= 240
                || ip == Ipv4Addr::new(168, 63, 129, 16);
            !inside && !special
        }
        IpAddr::V6(ip) => match ip.segments() {
            // IPv4 as translators write it.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                is_on_the_internet(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into())
            }
            // Tunnels to other numbers, and what protocols have for themselves.
            [0x2002, ..] | [0x2001, 0..=0x1ff, ..] => false,
            [first, ..] => first & 0xe000 == 0x2000,
        },
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
    fn addresses_of_the_internet_are_told_from_inner_ones() {
        for ip in [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.0",
            "172.32.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(is_on_the_internet(ip.parse().unwrap()), "{ip}");
        }
        for ip in [
            "127.0.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.100.100.200",
            "192.0.0.192",
            "198.19.0.1",
            "168.63.129.16",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "fe80::1",
            "fec0::1",
            "fd00:ec2::254",
            "ff02::1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001::1",
        ] {
            assert!(!is_on_the_internet(ip.parse().unwrap()), "{ip}");
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
