//! Words that nobody can guess, and their comparison.

use rand::{RngCore, TryRngCore};

/// 256 random bits from the system's generator, as 64 hexadecimal digits.
pub fn fresh() -> String {
    let mut bits = [0_u8; 32];
    // A system without randomness is no place to go on.
    rand::rngs::OsRng.unwrap_err().fill_bytes(&mut bits);
    hex::encode(bits)
}

/// Takes the same time wherever the two differ; only their lengths show.
pub fn same(one: &str, other: &str) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one.as_bytes(), other.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_differ_and_only_the_same_one_is_the_same() {
        let (one, other) = (fresh(), fresh());
        assert_eq!(one.len(), 64);
        assert!(same(&one, &one.clone()) && !same(&one, &other) && !same(&one, &one[..63]) && !same(&one, ""));
    }
}
