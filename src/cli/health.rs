//! `octoswarm health`: asks the running server whether it is ready, for images that carry no other client.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use super::{Exit, Failure, args, report};
use crate::config::{self, Overrides};

/// It does not answer, or says that no delivery can be stored.
const EXIT_NOT_READY: u8 = 1;
const PATIENCE: Duration = Duration::from_secs(3);

pub async fn cmd_health(args: args::Health) -> Exit {
    let overrides = Overrides { file: args.config, listen: args.listen, ..Overrides::default() };
    let listen = config::listen_address(&overrides).map_err(|e| Failure::Usage(e.into()))?;
    let url = format!("http://{}/readyz", reachable(listen));
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let (answered, text) = match client.get(&url).send().await {
        Ok(answer) => (answer.status().is_success(), answer.text().await.unwrap_or_default()),
        Err(error) => {
            (false, anyhow::Error::from(error).chain().map(ToString::to_string).collect::<Vec<_>>().join(": "))
        }
    };
    if answered {
        report::line("ready");
        return Ok(ExitCode::SUCCESS);
    }
    report::error(&format!("{url} is not ready: {}", text.trim()));
    Ok(ExitCode::from(EXIT_NOT_READY))
}

/// Who listens on every address is asked on this machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
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
}
