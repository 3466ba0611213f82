//! A certificate authority for tests, and the certificates for this machine that it issues.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use reqwest::{Certificate, ClientBuilder};
use tillgate_store::clock::{Clock, SystemClock, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Issued {
    pub chain: String,
    pub key: String,
    /// The certificate as clients see it.
    pub der: Vec<u8>,
}

/// The certificate files that are configured on a host.
pub struct Files {
    pub chain: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        Self { issuer }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Issues a certificate that is valid for a year from yesterday.
    pub fn issue(&self) -> Issued {
        let now = SystemClock.now();
        self.issue_valid(now.minus(DAY), now.plus(365 * DAY))
    }

    pub fn issue_valid(&self, from: Timestamp, until: Timestamp) -> Issued {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = CertificateParams::new(names).unwrap();
        let at = |time: Timestamp| date_time_ymd(1970, 1, 1) + Duration::from_secs(time.seconds());
        (params.not_before, params.not_after) = (at(from), at(until));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Issued {
            chain: certificate.pem() + &self.pem(),
            key: key.serialize_pem(),
            der: certificate.der().to_vec(),
        }
    }

    /// Returns a client that trusts only this authority and knows the certificate of each answer.
    pub fn client(&self) -> ClientBuilder {
        let own = Certificate::from_pem(self.pem().as_bytes()).unwrap();
        reqwest::Client::builder()
            .tls_certs_only([own])
            .tls_info(true)
    }
}

impl Files {
    /// Returns the paths of the files in a folder.
    pub fn new(folder: &Path) -> Self {
        Self {
            chain: folder.join("fullchain.pem"),
            key: folder.join("privkey.pem"),
        }
    }

    /// Writes them one after the other, as a script might.
    pub fn write(&self, issued: &Issued) {
        std::fs::write(&self.chain, &issued.chain).unwrap();
        std::fs::write(&self.key, &issued.key).unwrap();
    }
}
