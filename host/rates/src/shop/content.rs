//! What shops share: rates or lists of rates, named by a digest that is made once, however many shops have them.

use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// How many digits of a digest are a name.
const DIGITS: usize = 32;

/// See the module's documentation.
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

    /// Its name.
    pub(super) fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let mut digest = hex::encode(Sha256::digest(&self.bytes));
            digest.truncate(DIGITS);
            digest
        })
    }
}
