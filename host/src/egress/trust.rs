//! Whose certificates a client trusts.

use std::path::Path;

use reqwest::{Certificate, ClientBuilder};

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those of the authorities that this machine trusts.
    #[default]
    System,
    /// Those of these authorities alone.
    Only(Vec<Certificate>),
    /// Any: only for a question to this machine itself, without a secret in it.
    Any,
}

impl Trust {
    /// Trusts the authorities whose certificates are in a file, in PEM.
    ///
    /// # Errors
    /// Why there are none, with the name of the file.
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

/// Why the certificate of the other end was not accepted, if that is what an error comes from.
pub(super) fn distrust(error: &reqwest::Error) -> Option<String> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        // An error of a socket does not have what it contains as its source.
        let io = error.downcast_ref::<std::io::Error>();
        let inner = io.and_then(|io| io.get_ref()?.downcast_ref::<rustls::Error>());
        if let Some(inner @ rustls::Error::InvalidCertificate(_)) = inner {
            return Some(inner.to_string());
        }
        cause = error.source();
    }
    None
}
