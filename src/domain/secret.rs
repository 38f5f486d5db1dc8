//! A value that never prints.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use crate::stdx::token;

/// Printed and logged as `[redacted]`; wiped from memory on drop.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(SecretString::from(value.into()))
    }

    /// The value itself, for the one call that needs it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Compared in constant time; only the length can be learned from how long it takes.
    pub fn equals(&self, given: &str) -> bool {
        token::same(self.expose(), given)
    }

    pub fn is_empty(&self) -> bool {
        self.expose().trim().is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
