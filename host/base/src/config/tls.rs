//! `[tls]`: the certificate files of a host that terminates TLS itself. The server reads their contents.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A certificate and its key.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    pub cert: String,
    pub key: String,
}

/// TLS settings from flags.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TlsFlags {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}

impl Tls {
    /// Returns the files of the certificate and its key, if this host terminates TLS.
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
