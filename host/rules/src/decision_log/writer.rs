//! The thread that writes the log: it takes what waits and writes many lines at a time. While nothing can be written,
//! it retries from where it stopped, and the queue fills up.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tillgate_store::clock::Clock;
use tokio::sync::oneshot;

use super::file::Sink;
use super::line::Line;
use super::queue::{Batch, Queue};

/// The delay before lines that could not be written are tried again.
const RETRY: Duration = Duration::from_millis(250);

/// The approximate size of a write in bytes: a file is renamed between two of them.
const WRITE: usize = 256 << 10;

/// The largest buffer in bytes that is kept for more lines.
const KEPT: usize = 4 << 20;

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

    /// Writes until the queue ends.
    pub(super) fn run(mut self) {
        let mut room = Vec::new();
        while let Some(mut batch) = self.queue.next(room) {
            self.write(&mut batch);
            room = batch.lines;
            room.clear();
            room.shrink_to(KEPT);
        }
    }

    fn write(&mut self, batch: &mut Batch) {
        if let Some(missing) = batch.missing {
            let line = Line {
                at: self.clock.now().to_millis_text().into(),
                since: Some(missing.since.to_millis_text().into()),
                missing: Some(missing.decisions),
                ..Line::default()
            };
            line.write(&mut batch.lines);
            batch.count += 1;
        }
        let mut rest = &*batch.lines;
        let mut is_written = true;
        while !rest.is_empty() && is_written {
            let (lines, later) = rest.split_at(end_of_line(rest));
            is_written = self.write_lines(lines);
            rest = later;
        }
        if is_written {
            self.queue.succeed(batch.count);
        }
        if is_written && !batch.written.is_empty() {
            let synced = self.sink.sync();
            is_written = synced.inspect_err(|cause| self.queue.fail(cause)).is_ok();
        }
        for written in batch.written.drain(..) {
            // A till that no longer waits uploads again.
            let _ = written.send(is_written);
        }
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

/// Returns where the last line ends that begins within a write.
fn end_of_line(lines: &[u8]) -> usize {
    let rest = lines.get(WRITE..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'\n');
    end.map_or(lines.len(), |end| WRITE + end + 1)
}
