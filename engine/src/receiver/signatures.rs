//! Verifies the signatures of a delivery under the shared key of its webhook (`webhooks.md`, "A delivery").
//! [`crate::signature`] computes and compares them, as it does for the sender.
//!
//! If a delivery has the headers of Standard Webhooks, they decide: they cover all that the others do. While a shared
//! key is being replaced, they are signed under both keys, and the others under the old one.

use super::Delivery;
use super::event::ReadEvent;
use super::refusal::Refusal;
use crate::signature::standard_webhooks::{self, Headers};
use crate::signature::{SharedKey, VerifyError, verify_body, verify_data};

/// The header with the signature of the body.
pub(super) const BODY_SIGNATURE: &str = "x-service-body-signature";

/// The checks with the shared keys.
#[derive(Debug)]
pub(super) struct SignatureCheck {
    keys: Vec<SharedKey>,
    header: String,
    require_body: bool,
    tolerance_s: u64,
}

/// The headers with signatures, as they were received.
#[derive(Clone, Copy)]
pub(super) struct SignatureHeaders<'a> {
    data: Option<&'a [u8]>,
    body: Option<&'a [u8]>,
    /// The headers of Standard Webhooks.
    standard: [Option<&'a [u8]>; 3],
}

impl SignatureCheck {
    pub(super) const fn new(
        keys: Vec<SharedKey>,
        header: String,
        require_body: bool,
        tolerance_s: u64,
    ) -> Self {
        Self {
            keys,
            header,
            require_body,
            tolerance_s,
        }
    }

    /// Reads the headers to check. Each may occur at most once.
    pub(super) fn read<'a>(
        &self,
        delivery: &Delivery<'a>,
    ) -> Result<SignatureHeaders<'a>, Refusal> {
        let [id, timestamp, signature] =
            standard_webhooks::HEADERS.map(|name| delivery.header(name));
        Ok(SignatureHeaders {
            data: delivery.header(&self.header)?,
            body: delivery.header(BODY_SIGNATURE)?,
            standard: [id?, timestamp?, signature?],
        })
    }

    /// Verifies the headers of Standard Webhooks if there are any. Otherwise the data must be signed, and so must the
    /// body if `require_body` is set; a body signature that is sent must match.
    pub(super) fn verify(
        &self,
        headers: SignatureHeaders<'_>,
        read: &ReadEvent<'_>,
        body: &[u8],
        now: u64,
    ) -> Result<(), Refusal> {
        if headers.standard.iter().any(Option::is_some) {
            return self.verify_standard(headers.standard, body, now);
        }
        let signature = headers.data.ok_or(Refusal::MissingSignature)?;
        let signature = text(signature).ok_or(Refusal::MalformedSignature)?;
        self.under_any_key(|key| verify_data(key, read.data.as_bytes(), signature))
            .map_err(data_refusal)?;
        let Some(signature) = headers.body else {
            let missing = Err(Refusal::MissingBodySignature);
            return if self.require_body { missing } else { Ok(()) };
        };
        let signature = text(signature).ok_or(Refusal::MalformedBodySignature)?;
        let id = &read.event.id;
        self.under_any_key(|key| verify_body(key, id, body, signature, now, self.tolerance_s))
            .map_err(body_refusal)
    }

    fn verify_standard(
        &self,
        headers: [Option<&[u8]>; 3],
        body: &[u8],
        now: u64,
    ) -> Result<(), Refusal> {
        let [Some(id), Some(timestamp), Some(signature)] = headers.map(|it| it.and_then(text))
        else {
            return Err(Refusal::MalformedSignature);
        };
        let headers = Headers {
            id,
            timestamp,
            signature,
        };
        self.under_any_key(|key| {
            standard_webhooks::verify(key, &headers, body, now, self.tolerance_s)
        })
        .map_err(standard_refusal)
    }

    /// Requires a match with one of the keys; a signature that is wrong for another reason is wrong under every key.
    fn under_any_key(
        &self,
        verify: impl Fn(&SharedKey) -> Result<(), VerifyError>,
    ) -> Result<(), VerifyError> {
        let verified = self.keys.iter().map(verify);
        verified
            .reduce(|before, next| match before {
                Err(VerifyError::Mismatch) => next,
                decided => decided,
            })
            .unwrap_or(Err(VerifyError::Mismatch))
    }
}

fn text(header: &[u8]) -> Option<&str> {
    std::str::from_utf8(header).ok()
}

const fn data_refusal(error: VerifyError) -> Refusal {
    match error {
        VerifyError::Malformed => Refusal::MalformedSignature,
        VerifyError::Mismatch | VerifyError::TooOld | VerifyError::TooNew => {
            Refusal::SignatureMismatch
        }
    }
}

const fn standard_refusal(error: VerifyError) -> Refusal {
    match error {
        VerifyError::Malformed => Refusal::MalformedSignature,
        VerifyError::Mismatch => Refusal::SignatureMismatch,
        VerifyError::TooOld => Refusal::BodySignatureTooOld,
        VerifyError::TooNew => Refusal::BodySignatureTooNew,
    }
}

const fn body_refusal(error: VerifyError) -> Refusal {
    match error {
        VerifyError::Malformed => Refusal::MalformedBodySignature,
        VerifyError::Mismatch => Refusal::BodySignatureMismatch,
        VerifyError::TooOld => Refusal::BodySignatureTooOld,
        VerifyError::TooNew => Refusal::BodySignatureTooNew,
    }
}
