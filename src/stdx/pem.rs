//! Private keys as files hold them.

use aws_lc_rs::rsa::KeyPair;
use base64::Engine;

use super::text;

/// How long the modulus of an RSA private key is, in bits.
///
/// # Errors
/// One sentence: it is not the PEM of an RSA key between 2048 and 8192 bits.
pub fn rsa_bits(pem: &str) -> Result<usize, String> {
    let text = pem.trim();
    let label = text.strip_prefix("-----BEGIN ").and_then(|rest| rest.split_once("-----")).map(|(label, _)| label);
    let parse = match label {
        Some("RSA PRIVATE KEY") => KeyPair::from_der,
        Some("PRIVATE KEY") => KeyPair::from_pkcs8,
        Some(label) if label.contains("PRIVATE KEY") => {
            return Err(format!("it is \"{}\", not an RSA key without a passphrase", text::truncate_chars(label, 40)));
        }
        Some(label) => return Err(format!("it is \"{}\", not a private key", text::truncate_chars(label, 40))),
        None => return Err("it is not PEM: it does not begin with -----BEGIN".to_owned()),
    };
    let base64: String = text.lines().filter(|line| !line.starts_with("-----")).flat_map(str::chars).collect();
    let base64: String = base64.chars().filter(|c| !c.is_whitespace()).collect();
    let der = base64::engine::general_purpose::STANDARD.decode(base64);
    let der = der.map_err(|_| "its base64 is damaged".to_owned())?;
    let key = parse(&der).map_err(|_| "it is not an RSA key of 2048 to 8192 bits".to_owned())?;
    Ok(key.public_modulus_len() * 8)
}
