//! The list of its refs, with which a git server greets whoever comes to fetch or to push.

use std::sync::Arc;

use git2::Oid;
use git2::transport::Service;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::git::blocking;
use super::limits::Limits;
use super::mirror::Remote;
use super::packet::{Packet, Packets, show};
use super::transport::{self, Session};

/// How many branches a repository shows to the holder of this credential: proof that fetching would begin well.
/// Nothing is written anywhere.
///
/// # Errors
/// As for a fetch: `Unauthorized`, `RepositoryGone`, `Redirected`, the network's or the protocol's.
pub async fn count_branches(remote: Remote, limits: Limits, cancel: &CancellationToken) -> Result<usize, Error> {
    let cancel = cancel.child_token();
    let _stop_when_dropped = cancel.clone().drop_guard();
    let client = transport::client(&limits)?;
    let session = Session::new(&remote.url, remote.credential.as_ref(), client, limits, cancel)?;
    blocking(move || {
        let mut branches = 0;
        let refused = |why| Error::Protocol { origin: session.origin().to_owned(), why };
        read(&session, Service::UploadPackLs, refused, |_, name| {
            branches += usize::from(name.starts_with(b"refs/heads/"));
        })?;
        Ok(branches)
    })
    .await
}

/// Shows every ref to `each`; returns what the server says it can do, which a server without refs may leave out.
pub(super) fn read(
    session: &Arc<Session>,
    service: Service,
    refused: impl FnOnce(String) -> Error,
    mut each: impl FnMut(Oid, &[u8]),
) -> Result<Option<String>, Error> {
    let banner: &[u8] = match service {
        Service::UploadPackLs | Service::UploadPack => b"# service=git-upload-pack",
        Service::ReceivePackLs | Service::ReceivePack => b"# service=git-receive-pack",
    };
    let mut packets = Packets::new(session, session.exchange(service, Vec::new()));
    match packets.next()? {
        Packet::Line(line) if line.trim_ascii_end() == banner => {}
        _ => return Err(session.broken("the list of branches does not begin as one")),
    }
    if packets.next()? != Packet::Flush {
        return Err(session.broken("the list of branches does not begin as one"));
    }
    let mut capabilities: Option<String> = None;
    loop {
        let line = match packets.next()? {
            Packet::Flush => return Ok(capabilities),
            Packet::End => return Err(session.broken("the list of branches ended early")),
            Packet::Line(line) => line,
        };
        if line.starts_with(b"version ") || line.starts_with(b"shallow ") {
            continue;
        }
        if let Some(text) = line.strip_prefix(b"ERR ") {
            return Err(refused(show(text)));
        }
        let (line, can_do) = match line.iter().position(|byte| *byte == 0) {
            Some(at) => (&line[..at], String::from_utf8_lossy(&line[at + 1..]).trim_end().to_owned()),
            None => (line.trim_ascii_end(), String::new()),
        };
        let (id, name) = line.split_at_checked(40).ok_or_else(|| session.broken("a ref without a name"))?;
        let id = std::str::from_utf8(id).ok().and_then(|id| Oid::from_str(id).ok());
        let id = id.ok_or_else(|| session.broken("a ref without an object id"))?;
        capabilities.get_or_insert(can_do);
        if let Some(name) = name.strip_prefix(b" ") {
            each(id, name);
        }
    }
}
