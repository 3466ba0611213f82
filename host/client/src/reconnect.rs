//! Opens a stream of a running host again, after a pause that grows while the host does not answer.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tillgate_base::egress::EventStream;

use super::answer::Failure;
use super::output::tell;

/// The pause before the first attempt.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// The state of the backoff.
pub(crate) struct Reconnect {
    builder: ExponentialBuilder,
    pauses: ExponentialBackoff,
}

impl Reconnect {
    pub(crate) fn new(max_pause: Duration) -> Self {
        let builder = ExponentialBuilder::new()
            .with_min_delay(MIN_PAUSE)
            .with_max_delay(max_pause)
            .without_max_times();
        Self {
            pauses: builder.build(),
            builder,
        }
    }

    /// Opens a stream in place of one that has ended, as soon as the host answers. The pauses are short again once a
    /// stream has received anything.
    ///
    /// # Errors
    /// If another attempt cannot help.
    pub(crate) async fn replace(
        &mut self,
        ended: &EventStream,
        mut open: impl AsyncFnMut() -> Result<EventStream, Failure>,
    ) -> Result<EventStream, String> {
        if ended.has_received() {
            self.pauses = self.builder.build();
        }
        loop {
            tokio::time::sleep(self.pauses.next().unwrap_or(MIN_PAUSE)).await;
            match open().await {
                Ok(stream) => return Ok(stream),
                Err(Failure::Final(message)) => return Err(message),
                Err(Failure::Temporary(message)) => tell(&message),
            }
        }
    }
}
