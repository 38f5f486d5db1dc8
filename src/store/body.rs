//! How a delivery's body lies in its row: packed, since GitHub's JSON shrinks to a fifth, and what is not written need not
//! be synced.

use bytes::Bytes;

use super::Error;

/// Longer than any body that is taken in. A row that claims more is damaged, and no reason to ask for so much memory.
const LONGEST: usize = 64 * 1024 * 1024;

/// What stands in the columns `body` and `packed`.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) bytes: Bytes,
    /// Whether it is an LZ4 block behind its length; else it is the body itself.
    pub(super) packed: bool,
}

impl Packed {
    pub(super) fn new(body: &Bytes) -> Self {
        let packed = lz4_flex::block::compress_prepend_size(body);
        if packed.len() < body.len() {
            Self { bytes: Bytes::from(packed), packed: true }
        } else {
            Self { bytes: body.clone(), packed: false }
        }
    }

    /// # Errors
    /// `Damaged`: the bytes are not what was packed.
    pub(super) fn unpack(self) -> Result<Bytes, Error> {
        if !self.packed {
            return Ok(self.bytes);
        }
        let damaged = |detail: String| Error::Damaged { what: "delivery body", detail };
        let (length, _) =
            lz4_flex::block::uncompressed_size(&self.bytes).map_err(|source| damaged(source.to_string()))?;
        if length > LONGEST {
            return Err(damaged(format!("it claims to be {length} bytes long")));
        }
        let body = lz4_flex::block::decompress_size_prepended(&self.bytes);
        body.map(Bytes::from).map_err(|source| damaged(source.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_takes_far_less_room() {
        let body = Bytes::from(r#"{"login":"octocat","url":"https://api.github.com/users/octocat"},"#.repeat(100));
        let packed = Packed::new(&body);
        assert!(packed.packed && packed.bytes.len() * 5 < body.len(), "{} bytes", packed.bytes.len());
        assert_eq!(packed.unpack().unwrap(), body);
    }

    proptest! {
        #[test]
        fn every_body_comes_out_as_it_went_in(body in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let body = Bytes::from(body);
            prop_assert_eq!(Packed::new(&body).unpack().unwrap(), body);
        }

        #[test]
        fn what_was_never_packed_is_damaged_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Packed { bytes: Bytes::from(bytes), packed: true }.unpack();
        }
    }

    #[test]
    fn a_row_that_claims_gigabytes_is_not_believed() {
        let bytes = Bytes::from_static(b"\xff\xff\xff\x7f\x10a");
        let error = Packed { bytes, packed: true }.unpack().unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
    }
}
