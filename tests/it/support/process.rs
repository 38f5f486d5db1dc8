//! The real program as a server in another process.

use std::net::SocketAddr;
use std::process::Command;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

/// Waits until a `serve` with a piped standard output says where it listens; nothing if it ended without a word.
pub async fn listens(child: &mut Child) -> Option<SocketAddr> {
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next_line().await.unwrap()?;
    let address = line.strip_prefix("listening on http://").unwrap_or_else(|| panic!("it listens nowhere: {line}"));
    Some(address.parse().unwrap())
}

/// Sends SIG`name`. The shell has its own `kill`; the program of that name is not on every machine.
#[track_caller]
pub fn signal(child: &Child, name: &str) {
    let id = child.id().expect("it runs");
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status().unwrap();
    assert!(sent.success(), "cannot send SIG{name}");
}
