//! The receiver's side of a webhook: verifies a delivery and returns its event (`webhooks.md`, "Verifying as a
//! receiver").
//!
//! Like the rest of the engine, it has neither I/O nor a clock: the time is an argument, and [`Certificates`] says when
//! to fetch them. It does not remember events: handle each id once. Read it in this order: [`options`] (what is
//! checked), `bearer` and `basic` (who sent it), `event` (what was sent), `signatures`, [`refusal`] (why not),
//! [`certificates`]. Native only, with the feature `receiver`; the npm package has its own receiver for JavaScript.

mod basic;
mod bearer;
pub mod certificates;
mod event;
pub mod options;
pub mod refusal;
mod remembered;
mod signatures;
mod x509;

use self::basic::BasicScheme;
use self::bearer::BearerScheme;
pub use self::certificates::{Certificates, Fetched, Next, Unusable};
pub use self::event::Event;
pub use self::options::{Credentials, Options, Scheme, Signatures};
pub use self::refusal::Refusal;
use self::signatures::SignatureCheck;
use crate::error::Error;

const AUTHORIZATION: &str = "authorization";

/// A request that claims to be a delivery.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// All headers, each with its name as it was received. A header that occurs twice is listed twice.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body as it was received, before any parser.
    pub body: &'a [u8],
}

impl<'a> Delivery<'a> {
    /// Returns the value of a header. A header that occurs twice is refused: the receiver and what is in front of it
    /// might read different values.
    fn header(&self, name: &str) -> Result<Option<&'a [u8]>, Refusal> {
        let mut values = self
            .headers
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => Err(Refusal::DuplicateHeader),
        }
    }
}

/// Verifies the deliveries of a webhook. Make one and reuse it: it caches tokens.
#[derive(Debug)]
pub struct WebhookVerifier {
    sender: Sender,
    signatures: Option<SignatureCheck>,
    max_body: usize,
}

/// The sender that deliveries must come from.
#[derive(Debug)]
enum Sender {
    Bearer(BearerScheme),
    Basic(BasicScheme),
}

impl WebhookVerifier {
    /// Creates a verifier that checks what the options say.
    ///
    /// # Errors
    /// [`Code::Invalid`](crate::Code::Invalid) with every option that is missing or would make it check less than
    /// intended.
    pub fn new(options: Options) -> Result<Self, Error> {
        let signatures = options.check()?;
        let tolerance_s = options.tolerance_s;
        let sender = match options.scheme {
            Scheme::Bearer {
                audience,
                email,
                issuer,
            } => Sender::Bearer(BearerScheme::new(audience, email, issuer, tolerance_s)),
            Scheme::Basic(credentials) => Sender::Basic(BasicScheme::new(&credentials)),
        };
        Ok(Self {
            sender,
            signatures,
            max_body: options.max_body,
        })
    }

    /// Verifies a delivery at `now`, in Unix seconds, and returns its event. The sender is checked in the order of
    /// `given.md` 5.2, then the body, then the signatures under the shared key. Only the scheme Bearer uses the
    /// certificates.
    ///
    /// # Errors
    /// The reason that the delivery is refused, which has the status to answer with. After
    /// [`Refusal::CertificatesUnavailable`], call [`Certificates::next`], fetch them if it says so, and verify again.
    pub fn verify(
        &self,
        delivery: &Delivery<'_>,
        certificates: &Certificates,
        now: u64,
    ) -> Result<Event, Refusal> {
        let authorization = delivery.header(AUTHORIZATION)?;
        let signed = self.signatures.as_ref();
        let signed = signed.map(|check| Ok::<_, Refusal>((check, check.read(delivery)?)));
        let signed = signed.transpose()?;
        if delivery.body.len() > self.max_body {
            return Err(Refusal::BodyTooLarge);
        }
        match &self.sender {
            Sender::Bearer(scheme) => scheme.verify(authorization, certificates, now)?,
            Sender::Basic(scheme) => scheme.verify(authorization)?,
        }
        let read = event::read(delivery.body)?;
        if let Some((check, headers)) = signed {
            check.verify(headers, &read, delivery.body, now)?;
        }
        Ok(read.event)
    }
}
