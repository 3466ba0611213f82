//! The options of a [`WebhookVerifier`](super::WebhookVerifier).
//!
//! An option that would make a verifier check less than intended is an error when the verifier is created: a missing
//! audience, or a shared key that is empty because a setting is.

use std::fmt;

use super::AUTHORIZATION;
use super::signatures::{BODY_SIGNATURE, SignatureCheck};
use crate::error::{Code, Error, Fault};
use crate::signature::{SharedKey, TOLERANCE_S, standard_webhooks};

/// The default header with the signature of the data, `X-Service-Signature`.
pub const SIGNATURE: &str = "x-service-signature";

/// The largest body that is accepted by default, in bytes: 1 MiB. An event has at most 256 KiB of data.
pub const MAX_BODY: usize = 1 << 20;

/// The longest tolerance, in seconds: a day.
const MAX_TOLERANCE_S: u64 = 86_400;

/// The maximum number of shared keys: a webhook has two while its key is being replaced.
const MAX_KEYS: usize = 4;

/// The options of a verifier.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sender that deliveries must come from.
    pub scheme: Scheme,
    /// The signatures under the webhook's shared key; `None` only if the webhook has none.
    pub signatures: Option<Signatures>,
    /// The largest difference between the sender's clock and the receiver's, and the greatest age of a signed body, in
    /// seconds; [`TOLERANCE_S`] by default.
    pub tolerance_s: u64,
    /// The largest body that is accepted, in bytes; [`MAX_BODY`] by default.
    pub max_body: usize,
}

/// The webhook's `authentication`.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// `{ "type": "BEARER" }`.
    Bearer {
        /// The webhook's `callbackUrl`, character for character.
        audience: String,
        /// The e-mail address of the sender's service account.
        email: String,
        /// The sender's identity provider.
        issuer: String,
    },
    /// `{ "type": "BASIC" }`, with several credentials while a password is being changed.
    Basic(Vec<Credentials>),
}

/// A username and its password.
#[derive(Clone)]
pub struct Credentials {
    /// The username, without a colon.
    pub username: String,
    /// The password. `Debug` does not show it.
    pub password: String,
}

/// The checks with the shared key.
#[derive(Clone)]
pub struct Signatures {
    /// The shared key; several while it is being changed, at most 4.
    pub shared_keys: Vec<String>,
    /// The header with the signature of the data; [`SIGNATURE`] by default.
    pub header: String,
    /// True if the body must be signed, by Standard Webhooks or in `X-Service-Body-Signature`; false by default. A
    /// signed body is always verified.
    pub require_body: bool,
}

impl Options {
    /// Returns the usual options for a scheme.
    #[must_use]
    pub const fn new(scheme: Scheme, signatures: Option<Signatures>) -> Self {
        Self {
            scheme,
            signatures,
            tolerance_s: TOLERANCE_S,
            max_body: MAX_BODY,
        }
    }

    /// Returns the signatures to check, or every fault of the options.
    pub(super) fn check(&self) -> Result<Option<SignatureCheck>, Error> {
        let mut faults = Faults::default();
        faults.check_scheme(&self.scheme);
        let keys = self.signatures.as_ref();
        let keys = keys.map(|signatures| (signatures, faults.check_signatures(signatures)));
        if self.tolerance_s > MAX_TOLERANCE_S {
            faults.add("$.tolerance_s", "must be at most 86,400");
        }
        if self.max_body == 0 {
            faults.add("$.max_body", "must be at least 1");
        }
        faults.none_or_error()?;
        let check = |(signatures, keys): (&Signatures, _)| {
            let header = signatures.header.clone();
            SignatureCheck::new(keys, header, signatures.require_body, self.tolerance_s)
        };
        Ok(keys.map(check))
    }
}

impl Signatures {
    /// Returns the usual checks with one shared key.
    #[must_use]
    pub fn with(shared_key: impl Into<String>) -> Self {
        Self {
            shared_keys: vec![shared_key.into()],
            header: SIGNATURE.to_owned(),
            require_body: false,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Signatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signatures")
            .field("header", &self.header)
            .field("require_body", &self.require_body)
            .finish_non_exhaustive()
    }
}

/// All faults of the options, reported at once.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, path: impl Into<String>, message: &'static str) {
        self.0.push(Fault {
            path: path.into(),
            message: message.into(),
        });
    }

    fn none_or_error(self) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error {
            code: Code::Invalid,
            faults: self.0,
        })
    }

    fn check_scheme(&mut self, scheme: &Scheme) {
        match scheme {
            Scheme::Bearer {
                audience,
                email,
                issuer,
            } => {
                let claims = [("audience", audience), ("email", email), ("issuer", issuer)];
                for (name, _) in claims.iter().filter(|(_, value)| value.is_empty()) {
                    self.add(
                        format!("$.scheme.{name}"),
                        "must not be empty: the token is compared with it",
                    );
                }
            }
            Scheme::Basic(credentials) => {
                if credentials.is_empty() {
                    self.add("$.scheme", "must have at least one username and password");
                }
                for (index, one) in credentials.iter().enumerate() {
                    self.check_credentials(one, &format!("$.scheme[{index}]"));
                }
            }
        }
    }

    fn check_credentials(&mut self, credentials: &Credentials, path: &str) {
        let Credentials { username, password } = credentials;
        if username.is_empty() || username.contains(':') {
            let message = "must not be empty and must have no colon";
            self.add(format!("{path}.username"), message);
        }
        if password.is_empty() {
            self.add(format!("{path}.password"), "must not be empty");
        }
    }

    fn check_signatures(&mut self, signatures: &Signatures) -> Vec<SharedKey> {
        if !(1..=MAX_KEYS).contains(&signatures.shared_keys.len()) {
            self.add("$.signatures.shared_keys", "must have 1 to 4 keys");
        }
        let mut keys = Vec::new();
        for (index, text) in signatures.shared_keys.iter().enumerate() {
            match SharedKey::parse(text) {
                Some(key) => keys.push(key),
                None => self.add(
                    format!("$.signatures.shared_keys[{index}]"),
                    "must be 16 to 128 printable characters",
                ),
            }
        }
        if !is_header_name(&signatures.header) {
            self.add("$.signatures.header", "must be the name of a header");
        }
        keys
    }
}

/// Returns whether a header of this name can hold a signature (RFC 9110, 5.1).
fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let mut reserved = [AUTHORIZATION, BODY_SIGNATURE]
        .into_iter()
        .chain(standard_webhooks::HEADERS);
    let is_reserved = reserved.any(|other| name.eq_ignore_ascii_case(other));
    !name.is_empty() && name.bytes().all(is_token) && !is_reserved
}
