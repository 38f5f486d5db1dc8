//! Takes secrets out of text that leaves a room: errors, logs, comments, what a command printed.

use std::sync::LazyLock;

use regex::Regex;

use super::secret::Secret;

const MASK: &str = "[redacted]";

/// Wide on purpose: installation tokens are `ghs_<app id>_<JWT>` now, and new prefixes come.
#[expect(clippy::expect_used, reason = "the pattern is a constant and a test compiles it")]
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
        r"|\bgh[a-z]_[A-Za-z0-9_.\-]{16,}",
        r"|\bgithub_pat_[A-Za-z0-9_]{16,}",
        r"|\bglpat-[A-Za-z0-9_\-]{20,}|\bnpm_[A-Za-z0-9]{36}|\bxox[abeoprs]-[A-Za-z0-9\-]{10,}",
        r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_\-]{35}|\bsk-(?:proj-|ant-)[A-Za-z0-9_\-]{20,}|\bsk-[A-Za-z0-9]{32,}",
        r"|\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
    ))
    .expect("a constant pattern")
});

/// Masks the given secrets wherever they stand, then everything shaped like a token, a JWT or a private key.
pub fn redact(text: &str, secrets: &[&Secret]) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret.expose(), MASK);
    }
    SHAPES.replace_all(&text, MASK).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_every_shape_are_masked() {
        let jwt = format!("eyJ{}.eyJ{}.{}", "a".repeat(20), "b".repeat(300), "c".repeat(170));
        for token in [
            format!("ghs_123456_{jwt}"),
            format!("ghp_{}", "A1".repeat(18)),
            format!("github_pat_{}", "Z9_".repeat(20)),
            jwt,
            format!("AKIA{}", "A7".repeat(8)),
            format!("xoxb-{}", "12-ab".repeat(4)),
            format!("sk-ant-{}", "a1-_B".repeat(8)),
            format!("sk-{}", "a1B2".repeat(12)),
            format!("npm_{}", "a1".repeat(18)),
            format!("-----BEGIN RSA PRIVATE {}-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----", "KEY"),
            format!("-----BEGIN PRIVATE {}-----\ncut off", "KEY"),
        ] {
            assert_eq!(redact(&format!("before {token}"), &[]), "before [redacted]");
        }
        for text in ["ghs_short and eyJust words", ".sk-folding-cube-with-a-long-name-of-its-own", "npm_config_cache"] {
            assert_eq!(redact(text, &[]), text);
        }
    }

    #[test]
    fn a_known_secret_is_masked_whatever_its_shape() {
        let secret = Secret::new("correct horse");
        assert_eq!(redact("a correct horse b", &[&secret, &Secret::new("")]), "a [redacted] b");
    }
}
