//! The certificate of a host that terminates TLS itself: read from its files at the start, and again when they change.
//!
//! The files are read every second. A change is taken once two reads in a row agree, so that neither half of a file nor
//! half of a pair is taken while they are being written. A pair that cannot be used changes nothing: the log says why,
//! once, and `/readyz` is degraded and says why until the files are good again.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_base::app::App;
use tillgate_base::config::Config;
use tillgate_base::observe::metrics::{MetricFamily, Sample};
use tillgate_base::observe::readiness::{State, Warning};
use tillgate_http::{Certificate, Tls};
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::regular_file;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// The interval at which the files are read.
const LOOK: Duration = Duration::from_secs(1);

/// The time after which the files count as unreadable: a disk that hangs answers nothing.
const STALLED: Duration = Duration::from_secs(10);

/// The time before its expiry at which a certificate is warned of, but at most a fifth of its validity.
const NEAR: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Its name in the checks, the warnings and the log.
const NAME: &str = "certificate";

/// The files of the certificate, and the certificate in force.
#[derive(Debug)]
pub struct CertificateFiles {
    chain: PathBuf,
    key: PathBuf,
    tls: Tls,
    clock: Arc<dyn Clock>,
    seen: Mutex<Seen>,
}

/// The contents that were read from the files.
#[derive(Debug)]
struct Seen {
    /// The content in force.
    taken: Content,
    /// The content at the last read.
    last: Content,
    /// The reason why the current content cannot be used.
    fault: Option<String>,
}

/// The contents of the two files, or the reason why they cannot be read.
type Content = Result<(Vec<u8>, Vec<u8>), String>;

impl CertificateFiles {
    /// Reads the certificate that a configuration names, if it names one.
    ///
    /// # Errors
    /// The reason why it cannot be used, with the names of the files.
    pub fn read(config: &Config, clock: Arc<dyn Clock>) -> Result<Option<Arc<Self>>, String> {
        let Some((chain, key)) = config.tls.files() else {
            return Ok(None);
        };
        let content = content(chain, key);
        let certificate = certificate(&content).map_err(|why| {
            let (chain, key) = (chain.display(), key.display());
            format!("the certificate in {chain} with the key in {key} cannot be used: {why}")
        })?;
        Ok(Some(Arc::new(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            tls: certificate.into(),
            clock,
            seen: Mutex::new(Seen {
                taken: content.clone(),
                last: content,
                fault: None,
            }),
        })))
    }

    /// Returns the certificate in force.
    #[must_use]
    pub fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Returns when the certificate in force expires.
    ///
    /// # Errors
    /// The reason why clients refuse it now.
    pub fn expiry(&self) -> Result<Timestamp, String> {
        let valid = self.tls.valid();
        is_valid(&valid, self.clock.now())?;
        Ok(valid.end)
    }

    /// Returns whether it is time to replace it.
    #[must_use]
    pub fn expires_soon(&self) -> bool {
        expires_soon(&self.tls.valid(), self.clock.now())
    }

    /// Takes changes of the files from now on, for as long as this value exists.
    pub fn watch(self: &Arc<Self>) {
        // Clients that do not check dates are still served.
        if let Err(why) = is_valid(&self.tls.valid(), self.clock.now()) {
            tracing::warn!(why, "clients will refuse the certificate");
        }
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut looks = interval(LOOK);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                looks.tick().await;
                let Some(files) = weak.upgrade() else { return };
                let looking = Arc::clone(&files);
                let mut looked = spawn_blocking(move || looking.look());
                if timeout(STALLED, &mut looked).await.is_err() {
                    let why = "its files are not read within ten seconds".to_owned();
                    files.refuse(&mut files.seen.lock(), why);
                    // Until then, another read would only keep another thread waiting.
                    let _ = looked.await;
                }
            }
        });
    }

    fn look(&self) {
        let content = content(&self.chain, &self.key);
        let mut seen = self.seen.lock();
        if content == seen.taken {
            seen.fault = None;
        } else if content == seen.last {
            self.take(&content, &mut seen);
        }
        seen.last = content;
    }

    /// Gives new connections the certificate that is in the files, if it can be used.
    fn take(&self, content: &Content, seen: &mut Seen) {
        let file = self.chain.display();
        let certificate = certificate(content).and_then(|certificate| {
            is_valid(&certificate.valid, self.clock.now())?;
            Ok(certificate)
        });
        match certificate {
            Ok(certificate) => {
                let until = certificate.valid.end.to_millis_text();
                tracing::info!(%file, until, "new connections get a new certificate");
                self.tls.replace(certificate);
                seen.taken.clone_from(content);
                seen.fault = None;
            }
            Err(why) => self.refuse(seen, why),
        }
    }

    /// Keeps the certificate in force, and logs each reason once.
    fn refuse(&self, seen: &mut Seen, why: String) {
        if seen.fault.as_ref() != Some(&why) {
            let (file, key) = (self.chain.display(), self.key.display());
            tracing::error!(%file, %key, why, "the new certificate cannot be used: the previous one stays");
        }
        seen.fault = Some(why);
    }

    /// Makes an app report whether the certificate is good, and when it expires.
    pub fn observe(self: &Arc<Self>, app: &App) {
        let files = Arc::clone(self);
        app.readiness.check(NAME, move || {
            let why = match is_valid(&files.tls.valid(), files.clock.now()) {
                Err(_) => Cow::from("clients refuse the certificate: it is not valid now"),
                Ok(()) => {
                    let why = files.seen.lock().fault.clone()?;
                    format!("the new certificate cannot be used, and the previous one stays: {why}")
                        .into()
                }
            };
            Some((State::ReadOnly, why))
        });
        let tls = self.tls();
        app.readiness.warn(NAME, move |now| {
            let warning = Warning {
                count: 1,
                why: "the certificate expires soon",
            };
            expires_soon(&tls.valid(), now).then_some(warning)
        });
        let expiry = MetricFamily::gauge(
            "tillgate_certificate_expiry_timestamp",
            "The expiry time of the certificate in force, in seconds since 1970",
        );
        let tls = self.tls();
        app.metrics.collect(expiry.seconds(), move || {
            vec![Sample::count([], tls.valid().end.seconds())]
        });
    }
}

fn content(chain: &Path, key: &Path) -> Content {
    // Names no paths, because `/readyz` shows the error to strangers.
    let read = |file: &Path, what: &str| {
        let cannot = |cause| format!("the file of the {what} cannot be read: {cause}");
        regular_file::read_blocking(file).map_err(cannot)
    };
    Ok((read(chain, "certificate")?, read(key, "key")?))
}

fn certificate(content: &Content) -> Result<Certificate, String> {
    let (chain, key) = content.as_ref().map_err(String::clone)?;
    Certificate::read(chain, key)
}

/// Fails with the reason if clients do not accept a certificate now.
fn is_valid(valid: &Range<Timestamp>, now: Timestamp) -> Result<(), String> {
    if now < valid.start {
        let from = valid.start.to_millis_text();
        return Err(format!("it is only valid from {from}"));
    }
    if now >= valid.end {
        let end = valid.end.to_millis_text();
        return Err(format!("it has expired at {end}"));
    }
    Ok(())
}

/// Returns whether it is time to replace a certificate.
fn expires_soon(valid: &Range<Timestamp>, now: Timestamp) -> bool {
    let near = NEAR.min(valid.end.since(valid.start) / 5);
    valid.contains(&now) && valid.end.since(now) < near
}
