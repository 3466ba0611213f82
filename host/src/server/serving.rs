//! What serves until a signal comes, and how it ends: no new connections, then requests and jobs finish.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::start::{bind, explain};
use crate::app::App;
use crate::http::{ConnectionLimits, Current, Listener};
use crate::routes::Features;

/// What serves: an app, whose place another may take.
pub struct Serving {
    app: watch::Sender<Arc<App>>,
    current: Current,
    /// The same on the address that is for operators alone, if there is one.
    operations: Option<(SocketAddr, Current)>,
}

impl Serving {
    pub(crate) fn new(app: Arc<App>, features: &Features) -> Result<Self, String> {
        let server = features.server(&app).map_err(explain)?;
        let operations = match app.config.metrics.address()? {
            Some(address) => {
                let server = features.operations_server(&app).map_err(explain)?;
                Some((address, server.into()))
            }
            None => None,
        };
        Ok(Self {
            app: watch::Sender::new(app),
            current: server.into(),
            operations,
        })
    }

    /// Has another app serve from now on. The streams of the one before end, so that those who listen connect again.
    pub(super) async fn replace(&self, app: Arc<App>, features: &Features) -> Result<(), String> {
        let server = features.server(&app).map_err(explain)?;
        self.current.replace(server);
        if let Some((_, operations)) = &self.operations {
            operations.replace(features.operations_server(&app).map_err(explain)?);
        }
        let before = self.app.send_replace(app);
        before.begin_stop();
        before.runner.stop().await;
        Ok(())
    }

    /// Prints the address, then whatever `print_more` prints, and serves until a signal comes; does `meanwhile` until then.
    /// Signals are handled before the address is printed. At the end, requests and background jobs finish at the same
    /// time.
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
        println!("listening on http://{address}");
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
            // What is done meanwhile may put another app in place: it ends first.
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
        // To the end: those who operate the host see it stop.
        if let Some(operations) = operations {
            operations.abort();
        }
        Ok(())
    }

    /// Serves on the address that is for operators alone, if there is one.
    async fn serve_operations(
        &self,
        limits: ConnectionLimits,
    ) -> Result<Option<JoinHandle<()>>, String> {
        let Some((address, current)) = &self.operations else {
            return Ok(None);
        };
        let listener = bind(*address).await?.limited(limits);
        let address = listener.address().map_err(|cause| cause.to_string())?;
        tracing::info!(%address, "metrics are served on an address of their own");
        let serving = listener.serve(current.clone(), std::future::pending());
        Ok(Some(tokio::spawn(serving)))
    }
}
