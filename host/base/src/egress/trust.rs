//! The certificates that a client trusts.

use std::path::Path;

use reqwest::{Certificate, ClientBuilder};
use rustls::CertificateError;

/// The fault of a certificate that `openssl req -x509` creates.
const AUTHORITYS: &str =
    "it is the certificate of an authority, CA:TRUE, and that of a host must have CA:FALSE";

/// The authorities whose certificates a client trusts.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// The authorities that this machine trusts.
    #[default]
    System,
    /// Only these authorities.
    Only(Vec<Certificate>),
    /// Any certificate: only for a request to this machine itself that contains no secret.
    Any,
}

/// The reason why a certificate is not accepted.
#[derive(Clone, Debug)]
pub enum Distrust {
    /// Its authority is not trusted, or it has another fault that may go away once the authority is trusted.
    Authority(String),
    /// It is not a certificate of this host, whichever authorities are trusted.
    Certificate(String),
}

impl Trust {
    /// Trusts the authorities whose certificates are in a file, in PEM.
    ///
    /// # Errors
    /// Says why there are none, and names the file.
    pub fn of_file(file: &Path) -> Result<Self, String> {
        let name = file.display();
        let pem = std::fs::read(file);
        let pem = pem.map_err(|cause| format!("{name} cannot be read: {cause}"))?;
        match Certificate::from_pem_bundle(&pem) {
            Ok(authorities) if !authorities.is_empty() => Ok(Self::Only(authorities)),
            Ok(_) | Err(_) => Err(format!(
                "there is no certificate of an authority in {name}: it must be PEM"
            )),
        }
    }

    pub(super) fn apply(&self, client: ClientBuilder) -> ClientBuilder {
        match self {
            Self::System => client,
            Self::Only(authorities) => client.tls_certs_only(authorities.iter().cloned()),
            Self::Any => client.tls_danger_accept_invalid_certs(true),
        }
    }
}

/// Returns why the certificate of the other end was not accepted, if that caused an error.
pub(super) fn distrust(error: &reqwest::Error) -> Option<Distrust> {
    let cause = tls_error(error)?;
    let rustls::Error::InvalidCertificate(fault) = cause else {
        return None;
    };
    Some(match fault {
        CertificateError::Other(fault) if fault.to_string() == "CaUsedAsEndEntity" => {
            Distrust::Certificate(AUTHORITYS.to_owned())
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Distrust::Certificate(fault.to_string())
        }
        _ => Distrust::Authority(cause.to_string()),
    })
}

/// Returns the TLS error that caused an error. An I/O error does not have the error that it contains as its source.
fn tls_error<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    let io = error.downcast_ref::<std::io::Error>();
    match io.and_then(std::io::Error::get_ref) {
        Some(contained) => tls_error(contained),
        None => tls_error(error.source()?),
    }
}
