//! Who serves packages to whom: the one place that names such hosts. An operator adds registries of their own in the settings.
//!
//! Every name counts exactly: what lies below it is another host. Left out is whoever stores files for anybody, since a command could
//! leave there what it has read: GitHub, where Composer's archives and some of Gradle's distributions lie, and buckets in clouds.

use std::fmt;
use std::str::FromStr;

use crate::stdx::net;

/// What is spoken by all of them, inside of TLS.
pub(super) const PORT: u16 = 443;

/// A package manager's world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    Cargo,
    Npm,
    Python,
    Go,
    Maven,
    Gradle,
    Ruby,
    Composer,
    NuGet,
    Hex,
}

impl Ecosystem {
    pub const ALL: [Self; 10] = [
        Self::Cargo,
        Self::Npm,
        Self::Python,
        Self::Go,
        Self::Maven,
        Self::Gradle,
        Self::Ruby,
        Self::Composer,
        Self::NuGet,
        Self::Hex,
    ];

    /// In lower case, for keys and texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Python => "python",
            Self::Go => "go",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
            Self::Ruby => "ruby",
            Self::Composer => "composer",
            Self::NuGet => "nuget",
            Self::Hex => "hex",
        }
    }

    /// Its public registries: the index and where the packages themselves are sent from.
    pub fn registries(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["index.crates.io", "static.crates.io", "crates.io"],
            Self::Npm => &["registry.npmjs.org", "registry.yarnpkg.com"],
            Self::Python => &["pypi.org", "files.pythonhosted.org"],
            Self::Go => &["proxy.golang.org", "sum.golang.org"],
            Self::Maven => &["repo.maven.apache.org", "repo1.maven.org"],
            Self::Gradle => &[
                "plugins.gradle.org",
                "plugins-artifacts.gradle.org",
                "services.gradle.org",
                "downloads.gradle.org",
                "repo.maven.apache.org",
                "repo1.maven.org",
                "maven.google.com",
                "dl.google.com",
            ],
            Self::Ruby => &["rubygems.org", "index.rubygems.org"],
            Self::Composer => &["repo.packagist.org", "packagist.org"],
            Self::NuGet => &["api.nuget.org", "www.nuget.org"],
            Self::Hex => &["repo.hex.pm", "hex.pm", "builds.hex.pm"],
        }
    }
}

/// A host by its name, and a port of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    host: String,
    port: u16,
}

/// What was written is no name with a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no `name:port` of a host; numbers are not taken as names")]
pub struct NoHostPort(String);

impl HostPort {
    /// # Errors
    /// The host is no name, or a number.
    pub fn new(host: &str, port: u16) -> Result<Self, NoHostPort> {
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        // The system takes `127.1` and `0x7f000001` as addresses too: a name's last part is never a number.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_name = net::is_host(&name)
            && net::number(&name).is_none()
            && name.len() <= 253
            && !last.starts_with(|c: char| c.is_ascii_digit());
        if !is_name || name.split('.').any(str::is_empty) || port == 0 {
            return Err(NoHostPort(crate::stdx::text::visible_source(host).chars().take(100).collect()));
        }
        Ok(Self { host: name, port })
    }

    /// In lower case, without a dot at its end.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for HostPort {
    type Err = NoHostPort;

    fn from_str(text: &str) -> Result<Self, NoHostPort> {
        let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        let (host, port) =
            parts.ok_or_else(|| NoHostPort(crate::stdx::text::visible_source(text).chars().take(100).collect()))?;
        Self::new(host, port)
    }
}

/// Another proxy that the machine reaches the Internet by. It is told names, and finds their addresses itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// `host:port`, a name or a number, as the operator says. It is spoken to by plain `CONNECT`, without credentials.
    pub at: String,
    /// Hosts that are reached without it.
    pub not_for: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_and_a_port() {
        let read = |text: &str| text.parse::<HostPort>().map(|it| it.to_string());
        assert_eq!(read("Packages.Example.Com.:8443").as_deref(), Ok("packages.example.com:8443"));
        for wrong in [
            "example.com",
            "example.com:0",
            "example.com:70000",
            "a b:1",
            "user@example.com:1",
            "",
            ":1",
            "a..b:1",
            "a/b:1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for number in ["127.0.0.1:80", "[::1]:80", "::1:80", "127.1:80", "2130706433:80", "0x7f000001:80", "a.0x7f:80"]
        {
            assert!(read(number).is_err(), "{number}");
        }
    }

    #[test]
    fn every_ecosystem_has_registries_with_names() {
        for ecosystem in Ecosystem::ALL {
            assert!(!ecosystem.registries().is_empty());
            for host in ecosystem.registries() {
                assert_eq!(HostPort::new(host, PORT).map(|it| it.host().to_owned()).as_deref(), Ok(*host));
            }
        }
    }
}
