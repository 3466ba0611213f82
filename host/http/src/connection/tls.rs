//! TLS that ends at this host: a certificate with its key, the one in force, and handshakes with it. Nothing here knows
//! which files it comes from.
//!
//! Versions 1.2 and 1.3. Each certificate has its own configuration with its own session cache, so that no client
//! resumes a session under a certificate that was replaced.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ALL_VERSIONS, Error, InconsistentKeys, ServerConfig};
use tillgate_store::clock::Timestamp;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_cert::der::Decode;
use x509_cert::time::Time;

/// The time limit of a handshake.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// The only protocol that is spoken.
const HTTP: &[u8] = b"http/1.1";

/// A certificate with its key.
#[derive(Debug)]
pub struct Certificate {
    config: Arc<ServerConfig>,
    /// The time during which clients accept it.
    pub valid: Range<Timestamp>,
}

impl Certificate {
    /// Reads a certificate, followed by those between it and an authority, and its private key, all in PEM.
    ///
    /// # Errors
    /// A sentence that says what is wrong with which of them.
    pub fn read(chain: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(chain).collect();
        // The cause would repeat a part of the file.
        let chain = chain.map_err(|_| "the certificate is not PEM")?;
        let first = chain
            .first()
            .ok_or("there is no certificate in its file, which must be PEM")?;
        let valid = validity(first)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|cause| match cause {
            pem::Error::NoItemsFound => {
                "there is no private key in its file, which must be PEM and not encrypted"
            }
            _ => "the key is not PEM",
        })?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(ALL_VERSIONS)
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|cause| match cause {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                "the key does not fit the certificate".to_owned()
            }
            Error::InvalidCertificate(_) => format!("the certificate cannot be used: {cause}"),
            cause => format!("the key cannot be used: {cause}"),
        })?;
        config.alpn_protocols = vec![HTTP.to_vec()];
        Ok(Self {
            config: Arc::new(config),
            valid,
        })
    }
}

/// Returns the time during which a certificate is valid.
fn validity(certificate: &CertificateDer<'_>) -> Result<Range<Timestamp>, String> {
    let certificate = x509_cert::Certificate::from_der(certificate)
        .map_err(|cause| format!("the certificate cannot be read: {cause}"))?;
    let validity = certificate.tbs_certificate().validity();
    let at = |time: &Time| Timestamp(0).plus(time.to_unix_duration());
    Ok(at(&validity.not_before)..at(&validity.not_after))
}

/// The certificate in force. Another may take its place.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ArcSwap<Certificate>>);

impl From<Certificate> for Tls {
    fn from(certificate: Certificate) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(certificate)))
    }
}

impl Tls {
    /// Gives new connections another certificate; open connections go on.
    pub fn replace(&self, certificate: Certificate) {
        self.0.store(Arc::new(certificate));
    }

    /// Returns the time during which clients accept the certificate in force.
    #[must_use]
    pub fn valid(&self) -> Range<Timestamp> {
        self.0.load().valid.clone()
    }

    /// Performs the TLS handshake on a connection.
    pub(super) async fn accept(&self, socket: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.0.load().config));
        timeout(HANDSHAKE_DEADLINE, acceptor.accept(socket)).await?
    }
}
