//! `X-Hub-Signature-256`: HMAC-SHA256 over the raw bytes, compared in constant time, against one or several secrets.

use axum::http::HeaderMap;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::domain::Secret;

const HEADER: &str = "x-hub-signature-256";

/// A body whose sender knew one of our secrets. Only this module makes one.
#[derive(Debug)]
pub struct Verified<'a> {
    body: &'a Bytes,
    secret: usize,
}

impl Verified<'_> {
    pub fn body(&self) -> &Bytes {
        self.body
    }

    /// Which of the secrets signed it, counted from 0.
    pub fn secret(&self) -> usize {
        self.secret
    }
}

/// Checks a body against the header's value. An empty secret signs nothing.
pub fn verify<'a>(secrets: &[Secret], header: &str, body: &'a Bytes) -> Option<Verified<'a>> {
    verify_mac(secrets, &parse(header.as_bytes())?, body)
}

pub(super) fn verify_mac<'a>(secrets: &[Secret], mac: &[u8; 32], body: &'a Bytes) -> Option<Verified<'a>> {
    let secret = secrets.iter().position(|secret| signs(secret, body, mac))?;
    Some(Verified { body, secret })
}

/// The one signature header, if there is exactly one and it is well-formed: what cannot match needs no body.
pub(super) fn header(headers: &HeaderMap) -> Option<[u8; 32]> {
    let mut values = headers.get_all(HEADER).iter();
    let value = values.next()?;
    values.next().is_none().then(|| parse(value.as_bytes()))?
}

fn parse(value: &[u8]) -> Option<[u8; 32]> {
    let mut mac = [0; 32];
    hex::decode_to_slice(value.strip_prefix(b"sha256=")?, &mut mac).ok()?;
    Some(mac)
}

fn signs(secret: &Secret, body: &[u8], mac: &[u8; 32]) -> bool {
    !secret.is_empty()
        && Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
            .is_ok_and(|hmac| hmac.chain_update(body).verify_slice(mac).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VECTOR: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn accepts(secrets: &[&str], header: &str, body: &'static str) -> bool {
        let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new(*secret)).collect();
        verify(&secrets, header, &Bytes::from_static(body.as_bytes())).is_some()
    }

    #[test]
    fn githubs_published_example_passes_and_nothing_near_it() {
        let good = format!("sha256={VECTOR}");
        let secret = "It's a Secret to Everybody";
        assert!(accepts(&[secret], &good, "Hello, World!"));
        assert!(accepts(&[secret], &format!("sha256={}", VECTOR.to_uppercase()), "Hello, World!"), "the same bytes");
        assert!(accepts(&["another", secret], &good, "Hello, World!"), "an old secret beside the new");
        assert!(!accepts(&[secret], &good, "Hello, World"));
        assert!(!accepts(&["It's a secret to everybody"], &good, "Hello, World!"));
        assert!(!accepts(&[], &good, "Hello, World!"));
        for header in [
            String::new(),
            VECTOR.to_owned(),
            format!("sha1={VECTOR}"),
            format!("SHA256={VECTOR}"),
            format!("sha256= {VECTOR}"),
            format!(" sha256={VECTOR}"),
            format!("sha256={VECTOR} "),
            format!("sha256={}", &VECTOR[..62]),
            format!("sha256={}", &VECTOR[..63]),
            format!("sha256={VECTOR}00"),
            format!("sha256=zz{}", &VECTOR[2..]),
            format!("sha256=00{}", &VECTOR[2..]),
            format!("sha256={VECTOR},sha256={VECTOR}"),
        ] {
            assert!(!accepts(&[secret], &header, "Hello, World!"), "{header}");
        }
    }

    #[test]
    fn an_empty_secret_signs_nothing() {
        let mac = Hmac::<Sha256>::new_from_slice(b"").unwrap().chain_update(b"{}").finalize().into_bytes();
        assert!(!accepts(&[""], &format!("sha256={}", hex::encode(mac)), "{}"));
    }
}
