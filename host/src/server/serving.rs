//! Serves until a signal arrives, and stops in order: no new connections, then requests and jobs finish, then the
//! decision log is written to its end.

use std::io::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use tillgate_base::app::App;
use tillgate_http::{ConnectionLimits, Current, Listener, Route};
use tillgate_rules::decision_log::DecisionLog;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::certificate::CertificateFiles;
use super::start::{bind, error_text};
use crate::routes::Features;

/// The app that serves requests, which another may replace.
pub struct Serving {
    app: watch::Sender<Arc<App>>,
    current: Current,
    /// The address that is only for operators, and the server on it, if there is one.
    operations: Option<(SocketAddr, Current)>,
    /// The decision log, if this host writes one; all apps share it.
    pub(super) decision_log: Option<Arc<DecisionLog>>,
    certificate: Option<Arc<CertificateFiles>>,
}

impl Serving {
    /// Prepares to serve an app with its features, and with a certificate if this host terminates TLS.
    pub(crate) fn new(
        app: Arc<App>,
        features: &Features,
        certificate: Option<Arc<CertificateFiles>>,
    ) -> Result<Self, String> {
        let serving = Self::with_routes(app, features, Vec::new())?;
        if let Some(certificate) = &certificate {
            certificate.observe(&serving.app.borrow());
            certificate.watch();
        }
        Ok(Self {
            certificate,
            ..serving
        })
    }

    /// Prepares to serve an app without TLS, with more routes than those of its features.
    pub(crate) fn with_routes(
        app: Arc<App>,
        features: &Features,
        more: Vec<Route>,
    ) -> Result<Self, String> {
        let server = features.server_with(&app, more).map_err(error_text)?;
        let operations = match app.config.metrics.address()? {
            Some(address) => {
                let server = features.operations_server(&app).map_err(error_text)?;
                Some((address, server.into()))
            }
            None => None,
        };
        Ok(Self {
            app: watch::Sender::new(app),
            current: server.into(),
            operations,
            decision_log: features.conditions.decision_log().cloned(),
            certificate: None,
        })
    }

    /// Serves another app from now on. The event streams of the previous one end, so that their clients reconnect.
    pub(super) async fn replace(&self, app: Arc<App>, features: &Features) -> Result<(), String> {
        if let Some(certificate) = &self.certificate {
            certificate.observe(&app);
        }
        let server = features.server(&app).map_err(error_text)?;
        self.current.replace(server);
        if let Some((_, operations)) = &self.operations {
            operations.replace(features.operations_server(&app).map_err(error_text)?);
        }
        let before = self.app.send_replace(app);
        before.begin_stop();
        before.runner.stop().await;
        Ok(())
    }

    /// Prints the address, calls `print_more`, and serves until a signal arrives; runs `meanwhile` until then. Signals
    /// are handled before the address is printed. At the end, requests and background jobs finish at the same time.
    pub(crate) async fn until_signal(
        &self,
        listener: Listener,
        print_more: impl FnOnce(),
        meanwhile: impl Future<Output = ()>,
    ) -> Result<(), String> {
        let config = &self.app.borrow().config.clone();
        let count = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
        let limits = ConnectionLimits {
            all: count(config.limits.connections),
            per_address: count(config.limits.connections_per_address),
            exempt: config.trusted_proxies.clone(),
        };
        let limits = limits.within_process();
        let operations = self.serve_operations(limits.clone()).await?;
        let listener = listener.limited(limits);
        let mut terminate = signal(SignalKind::terminate()).map_err(|cause| cause.to_string())?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|cause| cause.to_string())?;
        let address = listener.address().map_err(|cause| cause.to_string())?;
        // A host whose output is closed still serves.
        let scheme = config.scheme();
        let _ = writeln!(std::io::stdout(), "listening on {scheme}://{address}");
        print_more();
        let (stop, mut stopping) = watch::channel(false);
        let signalled = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!(
                "stopping: no new connections are accepted, running requests and jobs finish"
            );
            stop.send_replace(true);
            self.app.borrow().begin_stop();
        };
        let jobs = async {
            // `meanwhile` may replace the app, so it ends before the app is stopped.
            let meanwhile = async {
                meanwhile.await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = meanwhile => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
            let app = Arc::clone(&self.app.borrow());
            app.runner.stop().await;
        };
        tokio::join!(listener.serve(self.current.clone(), signalled), jobs);
        if let Some(log) = &self.decision_log {
            log.close().await;
        }
        // Last, so that operators see the host stop.
        if let Some(operations) = operations {
            operations.abort();
        }
        Ok(())
    }

    /// Serves on the address that is only for operators, if there is one.
    async fn serve_operations(
        &self,
        limits: ConnectionLimits,
    ) -> Result<Option<JoinHandle<()>>, String> {
        let Some((address, current)) = &self.operations else {
            return Ok(None);
        };
        let listener = bind(*address).await?.limited(limits);
        let address = listener.address().map_err(|cause| cause.to_string())?;
        tracing::info!(%address, "metrics are served on a separate address");
        let serving = listener.serve(current.clone(), std::future::pending());
        Ok(Some(tokio::spawn(serving)))
    }
}
