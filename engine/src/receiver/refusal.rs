//! The reasons for refusing a delivery, and the status to answer each with.
//!
//! Messages are fixed texts: they never contain a token, a claim or a secret, so refusals may be logged. The codes are those
//! of the npm package.

use std::fmt;

/// The reason that a delivery is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A header that decides about the delivery occurs more than once.
    DuplicateHeader,
    /// The body is larger than the options allow.
    BodyTooLarge,
    /// The body is not the envelope of an event.
    MalformedBody,
    /// The Authorization header has another scheme.
    WrongScheme,
    /// Credentials are expected, but there is no Authorization header.
    MissingCredentials,
    /// The credentials are not base64.
    MalformedCredentials,
    /// The username or the password is wrong.
    WrongCredentials,
    /// A token is expected, but there is no Authorization header.
    MissingToken,
    /// The token is too long.
    OversizedToken,
    /// The token is malformed.
    MalformedToken,
    /// The token is not signed with RS256.
    WrongAlgorithm,
    /// The token's header names a key or an extension.
    ForbiddenHeader,
    /// The token's type is not JWT.
    WrongType,
    /// The token does not name its certificate.
    MissingKid,
    /// The token's certificate is not published.
    UnknownKid,
    /// The certificate's key has fewer than 2,048 bits.
    WeakKey,
    /// The certificate is not valid yet.
    CertificateNotYetValid,
    /// The certificate has expired.
    CertificateExpired,
    /// The token's signature is wrong.
    BadSignature,
    /// The token is for another audience.
    WrongAudience,
    /// The token is from another service account.
    WrongEmail,
    /// The token's e-mail address is not verified.
    EmailNotVerified,
    /// The token is from another issuer.
    WrongIssuer,
    /// The token does not say when it expires.
    MissingExpiry,
    /// The token has expired.
    Expired,
    /// The token is not valid yet: one of the clocks is wrong.
    NotYetValid,
    /// The data is not signed.
    MissingSignature,
    /// The signature of the data is malformed.
    MalformedSignature,
    /// The signature does not match the data and the key.
    SignatureMismatch,
    /// The body is not signed.
    MissingBodySignature,
    /// The signature of the body is malformed.
    MalformedBodySignature,
    /// The signature does not match the body and the key.
    BodySignatureMismatch,
    /// The signature of the body is too old.
    BodySignatureTooOld,
    /// The signature of the body is from the future: one of the clocks is wrong.
    BodySignatureTooNew,
    /// The certificate is unknown but may have been published meanwhile, or none could be fetched: the delivery cannot
    /// be verified now.
    CertificatesUnavailable {
        /// The earliest time that it can be verified, in seconds from now: a value for `Retry-After`.
        retry_after_s: u64,
    },
}

impl Refusal {
    /// Returns the status to answer with: 401, 400 and 413 reject the delivery; 503 asks the sender to try again,
    /// because it cannot be verified now.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::DuplicateHeader | Self::MalformedBody => 400,
            Self::BodyTooLarge => 413,
            Self::CertificatesUnavailable { .. } => 503,
            _ => 401,
        }
    }

    /// Returns the reason as a code, such as `wrong_audience`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::DuplicateHeader => "duplicate_header",
            Self::BodyTooLarge => "body_too_large",
            Self::MalformedBody => "malformed_body",
            Self::WrongScheme => "wrong_scheme",
            Self::MissingCredentials => "missing_credentials",
            Self::MalformedCredentials => "malformed_credentials",
            Self::WrongCredentials => "wrong_credentials",
            Self::MissingToken => "missing_token",
            Self::OversizedToken => "oversized_token",
            Self::MalformedToken => "malformed_token",
            Self::WrongAlgorithm => "wrong_algorithm",
            Self::ForbiddenHeader => "forbidden_header",
            Self::WrongType => "wrong_type",
            Self::MissingKid => "missing_kid",
            Self::UnknownKid => "unknown_kid",
            Self::WeakKey => "weak_key",
            Self::CertificateNotYetValid => "certificate_not_yet_valid",
            Self::CertificateExpired => "certificate_expired",
            Self::BadSignature => "bad_signature",
            Self::WrongAudience => "wrong_audience",
            Self::WrongEmail => "wrong_email",
            Self::EmailNotVerified => "email_not_verified",
            Self::WrongIssuer => "wrong_issuer",
            Self::MissingExpiry => "missing_expiry",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::MissingSignature => "missing_signature",
            Self::MalformedSignature => "malformed_signature",
            Self::SignatureMismatch => "signature_mismatch",
            Self::MissingBodySignature => "missing_body_signature",
            Self::MalformedBodySignature => "malformed_body_signature",
            Self::BodySignatureMismatch => "body_signature_mismatch",
            Self::BodySignatureTooOld => "body_signature_too_old",
            Self::BodySignatureTooNew => "body_signature_too_new",
            Self::CertificatesUnavailable { .. } => "certificates_unavailable",
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::DuplicateHeader => "a header that decides about it is there twice",
            Self::BodyTooLarge => "the body is too large",
            Self::MalformedBody => "the body is not the envelope of an event",
            Self::WrongScheme => "the Authorization header has another scheme",
            Self::MissingCredentials => "there is no Authorization header",
            Self::MalformedCredentials => "the credentials are malformed",
            Self::WrongCredentials => "the username or the password is wrong",
            Self::MissingToken => "there is no Authorization header",
            Self::OversizedToken => "the token is too long",
            Self::MalformedToken => "the token is malformed",
            Self::WrongAlgorithm => "the token is not signed with RS256",
            Self::ForbiddenHeader => "the token's header names a key or an extension",
            Self::WrongType => "the token's type is not JWT",
            Self::MissingKid => "the token does not name its certificate",
            Self::UnknownKid => "the token's certificate is not published",
            Self::WeakKey => "the certificate's key has less than 2,048 bits",
            Self::CertificateNotYetValid => "the certificate is not valid yet",
            Self::CertificateExpired => "the certificate has expired",
            Self::BadSignature => "the token's signature is wrong",
            Self::WrongAudience => "the token is for another audience",
            Self::WrongEmail => "the token is from another service account",
            Self::EmailNotVerified => "the token's e-mail address is not verified",
            Self::WrongIssuer => "the token is from another issuer",
            Self::MissingExpiry => "the token does not say when it expires",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is from the future",
            Self::MissingSignature => "the data is not signed",
            Self::MalformedSignature => "the signature is malformed",
            Self::SignatureMismatch => "the signature does not match the data and the key",
            Self::MissingBodySignature => "the body is not signed",
            Self::MalformedBodySignature => "the body's signature is malformed",
            Self::BodySignatureMismatch => "the signature does not match the body and the key",
            Self::BodySignatureTooOld => "the body's signature is too old",
            Self::BodySignatureTooNew => "the body's signature is from the future",
            Self::CertificatesUnavailable { .. } => "the certificates are not there now",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Refusal {}
