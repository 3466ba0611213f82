//! Content that shops share: rates or lists of rates. It is named by a digest that is computed once, however many shops
//! have it.

use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// The number of digits of a digest that make a name.
const DIGITS: usize = 32;

#[derive(Clone, Debug)]
pub(crate) struct Content {
    bytes: Bytes,
    digest: OnceLock<String>,
}

impl Content {
    pub(crate) const fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            digest: OnceLock::new(),
        }
    }

    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the name of the content.
    pub(super) fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let mut digest = hex::encode(Sha256::digest(&self.bytes));
            digest.truncate(DIGITS);
            digest
        })
    }
}
