//! `[tls]`: the files of the certificate with which a host ends TLS itself. What is in them is read by the server.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A certificate and its key.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct Tls {
    pub cert: String,
    pub key: String,
}

/// What flags set of it.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "default.toml documents every setting")]
pub struct TlsFlags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

impl Tls {
    /// The files of the certificate and of its key, where TLS ends here.
    #[must_use]
    pub fn files(&self) -> Option<(&Path, &Path)> {
        let files = (Path::new(&self.cert), Path::new(&self.key));
        (!self.cert.is_empty()).then_some(files)
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.cert.is_empty() == self.key.is_empty() {
            Ok(())
        } else {
            Err("tls.cert and tls.key must be set together: the certificate and its private key")
        }
    }
}
