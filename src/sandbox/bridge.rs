//! The inner end of the way to registries: clients know proxies at addresses, ours is a socket in a folder.
//!
//! The command is this process's child, so that it has no children it has not made; with its end this process ends, and the
//! namespace with it.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use tokio::net::UnixStream;

use super::inner::{NOT_STARTED, confine_all, not_started};
use super::proxy::{SEEN, SOCKET};
use super::surroundings::PROXY_PORT;

/// Runs the command beside the bridge and ends as it ends, or says why not, with an exit code.
pub(super) fn run_beside(command: &[OsString]) -> (u8, String) {
    let Some((program, args)) = command.split_first() else { return (NOT_STARTED, "no command was given".to_owned()) };
    if let Err(why) = confine_all() {
        return (NOT_STARTED, why);
    }
    let bridge = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT)).and_then(|listener| {
        listener.set_nonblocking(true)?;
        std::thread::Builder::new().name("bridge".to_owned()).spawn(move || carry(listener))
    });
    if let Err(error) = bridge {
        return (NOT_STARTED, format!("the way to registries cannot be opened: {error}"));
    }
    #[expect(clippy::disallowed_methods, reason = "the sandbox starts processes")]
    let status = Command::new(program).args(args).spawn().and_then(|mut child| child.wait());
    match status {
        // As shells have it.
        Ok(status) => std::process::exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))),
        Err(error) => not_started(program, &error),
    }
}

fn carry(listener: TcpListener) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (mut client, _) = listener.accept().await?;
            tokio::spawn(async move {
                let mut server = UnixStream::connect(Path::new(SEEN).join(SOCKET)).await?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    })
}
