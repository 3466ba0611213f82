//! An X.509 certificate, as far as a receiver needs it: its RSA key and its period of validity.
//!
//! Certificates come from a trusted address, so their own signatures are not checked.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use x509_cert::der::asn1::UintRef;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, DecodePem, Reader, SliceReader};

/// rsaEncryption (RFC 8017, A.1).
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

/// Times are Unix seconds.
#[derive(Debug)]
pub(super) struct Certificate {
    key: UnparsedPublicKey<Vec<u8>>,
    /// The length of the key's modulus, in bits.
    pub(super) bits: usize,
    pub(super) not_before: u64,
    pub(super) not_after: u64,
}

impl Certificate {
    /// Reads a certificate in PEM; `None` if it is not a certificate with an RSA key.
    pub(super) fn parse(pem: &str) -> Option<Self> {
        let certificate = x509_cert::Certificate::from_pem(pem.trim()).ok()?;
        let content = certificate.tbs_certificate();
        let key = content.subject_public_key_info();
        if key.algorithm.oid != RSA {
            return None;
        }
        let key = key.subject_public_key.as_bytes()?;
        let validity = content.validity();
        Some(Self {
            bits: bits(key).ok()?,
            key: UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.to_vec()),
            not_before: validity.not_before.to_unix_duration().as_secs(),
            not_after: validity.not_after.to_unix_duration().as_secs(),
        })
    }

    /// Returns whether an RS256 signature of a text was made with the certificate's key.
    pub(super) fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        self.key.verify(text, signature).is_ok()
    }
}

/// Returns the length, in bits, of the modulus of a key in PKCS #1.
fn bits(key: &[u8]) -> x509_cert::der::Result<usize> {
    SliceReader::new(key)?.sequence(|reader| {
        let modulus = UintRef::decode(reader)?;
        UintRef::decode(reader)?;
        let bytes = modulus.as_bytes();
        let unused = bytes.first().map_or(8, |first| first.leading_zeros());
        Ok((bytes.len() * 8).saturating_sub(unused as usize))
    })
}
