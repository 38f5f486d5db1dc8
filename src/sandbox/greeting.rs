//! The first words of a connection to a public registry: TLS, and for the host that was asked for. Many hosts share one address, and
//! whoever reaches it could ask for another of them.

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes; clients need less than a tenth.
const MOST: usize = 32 * 1024;

/// What was read until the client has named its host, or why it may not go on.
pub(super) async fn read(from: &mut (impl AsyncRead + Unpin), host: &str) -> Result<Vec<u8>, String> {
    let (mut acceptor, mut seen, mut buffer) = (Acceptor::default(), Vec::new(), [0; 2048]);
    while seen.len() < MOST {
        let read = from.read(&mut buffer).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("it ended without TLS".to_owned());
        }
        let mut bytes = &buffer[..read];
        seen.extend_from_slice(bytes);
        while !bytes.is_empty() {
            acceptor.read_tls(&mut bytes).map_err(|_| "it does not begin with TLS".to_owned())?;
            match acceptor.accept() {
                Ok(None) => {}
                Ok(Some(accepted)) => return judge(accepted.client_hello().server_name(), host).map(|()| seen),
                Err(_) => return Err("it does not begin with TLS".to_owned()),
            }
        }
    }
    Err("its TLS does not begin".to_owned())
}

fn judge(named: Option<&str>, host: &str) -> Result<(), String> {
    match named {
        Some(name) if name.eq_ignore_ascii_case(host) => Ok(()),
        Some(name) => Err(format!("its TLS is for {name}")),
        None => Err("its TLS names no host".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    fn hello(name: &'static str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let mut client = ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[tokio::test]
    async fn only_tls_for_the_host_that_was_asked_for_goes_on() {
        let good = hello("packages.example");
        assert_eq!(read(&mut good.as_slice(), "packages.example").await.as_ref(), Ok(&good));
        let wrong = read(&mut hello("evil.example").as_slice(), "packages.example").await.unwrap_err();
        assert_eq!(wrong, "its TLS is for evil.example");
        // A number is not named.
        assert!(
            read(&mut hello("1.1.1.1").as_slice(), "packages.example").await.unwrap_err().contains("names no host")
        );
        for nonsense in [b"SSH-2.0-x\r\n".as_slice(), b"GET / HTTP/1.1\r\n\r\n", &[0; 5000], b"", &good[..50]] {
            assert!(read(&mut &*nonsense, "packages.example").await.is_err());
        }
    }

    #[tokio::test]
    async fn the_greeting_may_come_in_pieces() {
        let good = hello("packages.example");
        let (mut write, mut from) = tokio::io::duplex(7);
        let (sent, read) =
            tokio::join!(tokio::io::AsyncWriteExt::write_all(&mut write, &good), read(&mut from, "packages.example"));
        sent.unwrap();
        assert_eq!(read, Ok(good));
    }
}
