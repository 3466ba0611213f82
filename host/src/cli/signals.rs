//! The signals that end a command: Ctrl-C and SIGTERM.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C and SIGTERM, from when this is made.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, String> {
        let listen_to = |kind| signal(kind).map_err(|cause| cause.to_string());
        Ok(Self {
            interrupt: listen_to(SignalKind::interrupt())?,
            terminate: listen_to(SignalKind::terminate())?,
        })
    }

    /// Waits for one of them.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
