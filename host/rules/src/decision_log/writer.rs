//! The thread that writes the log: it takes what waits and writes many lines at a time. While nothing can be written,
//! it retries from where it stopped, and the queue fills up.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tillgate_store::clock::Clock;
use tokio::sync::oneshot;

use super::file::Sink;
use super::line::Line;
use super::queue::{Batch, Missing, Queue};

/// The delay before lines that could not be written are tried again.
const RETRY: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct Writer {
    sink: Sink,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
    /// Is dropped when the thread ends.
    _ends: oneshot::Sender<()>,
}

impl Writer {
    pub(super) fn new(
        sink: Sink,
        queue: Arc<Queue>,
        clock: Arc<dyn Clock>,
        ends: oneshot::Sender<()>,
    ) -> Self {
        Self {
            sink,
            queue,
            clock,
            _ends: ends,
        }
    }

    /// Writes until the queue ends, or until nothing can be written while it ends.
    pub(super) fn run(mut self) {
        while let Some((batch, missing)) = self.queue.next() {
            if !self.write(batch, missing) {
                return;
            }
        }
    }

    /// Writes a batch, and how many decisions are missing before its end. Returns whether it is written.
    fn write(&mut self, batch: Batch, missing: Option<Missing>) -> bool {
        let Batch {
            mut lines,
            mut count,
            written,
        } = batch;
        let bytes = lines.len();
        if let Some(missing) = missing {
            let line = Line {
                at: self.clock.now().to_millis_text().into(),
                since: Some(missing.since.to_millis_text().into()),
                missing: Some(missing.decisions),
                ..Line::default()
            };
            line.write(&mut lines);
            count += 1;
        }
        let is_written = self.write_lines(&lines);
        if is_written {
            self.queue.succeed(count, bytes);
        }
        let mut is_on_disk = is_written;
        if is_written && !written.is_empty() {
            let synced = self.sink.sync();
            is_on_disk = synced.inspect_err(|cause| self.queue.fail(cause)).is_ok();
        }
        for written in written {
            // A till that no longer waits uploads again.
            let _ = written.send(is_on_disk);
        }
        is_written
    }

    /// Writes lines, however often that takes. Returns whether they are written, which they are not if the log ends first.
    fn write_lines(&mut self, lines: &[u8]) -> bool {
        let mut rest = lines;
        while !rest.is_empty() {
            let is_begun = rest.len() < lines.len();
            match self.sink.write(rest, is_begun) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(cause) => {
                    self.queue.fail(&cause);
                    if self.queue.is_ending() {
                        return false;
                    }
                    thread::sleep(RETRY);
                }
            }
        }
        true
    }
}
