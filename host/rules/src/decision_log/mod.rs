//! The decision log: a line of JSON about each item and rule that was decided, in a file or on standard output, for
//! tenants that have chosen this (`choice.rs`).
//!
//! No decision waits for the log. Lines go into a queue, and a thread writes them (`writer.rs`, `file.rs`). Decisions
//! that find no room in the queue are counted, and a line reports how many are missing. Tills upload decisions that
//! they made themselves (`uploads/`). This room knows no rules: the caller makes the lines (`line.rs`).

mod choice;
mod file;
mod line;
mod metrics;
mod queue;
mod uploads;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_base::config;
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::{Clock, Timestamp};
use tokio::sync::oneshot;

pub use self::choice::{CHOICE, Choice, Chosen, read_choice};
use self::file::{RotatingFile, Sink};
pub use self::file::{old_file, open_files};
pub use self::line::Line;
pub use self::metrics::measure;
use self::queue::Queue;
pub use self::uploads::{
    NO_LOG, Receipt, TillPage, TillQuery, Upload, Uploads, forget_till, is_till_cursor,
    till_cursor, till_schema, tills, tills_used, upload_body,
};
use self::writer::Writer;

/// The longest time that a stopping host waits for unwritten lines.
const GRACE: Duration = Duration::from_secs(2);

/// The log that a host writes. When it is dropped, what waits is still written.
#[derive(Debug)]
pub struct DecisionLog {
    queue: Arc<Queue>,
    /// Ends with the thread that writes.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl DecisionLog {
    /// Opens the log that the configuration names, if it names one.
    ///
    /// # Errors
    /// [`Error::Bug`] when it cannot be written.
    pub fn open(settings: &config::Decisions, clock: &Arc<dyn Clock>) -> Result<Option<Arc<Self>>> {
        if settings.log.is_empty() {
            return Ok(None);
        }
        let cannot =
            |cause: std::io::Error| Error::Bug(format!("decisions.log, {}: {cause}", settings.log));
        let sink = if settings.to_stdout() {
            Sink::Stdout
        } else {
            let (path, bytes) = (Path::new(&settings.log), settings.file_bytes.as_u64());
            let file = RotatingFile::open(path, bytes, settings.old_files);
            Sink::File(file.map_err(cannot)?)
        };
        let max_bytes = usize::try_from(settings.queue_bytes.as_u64()).unwrap_or(usize::MAX);
        let queue = Arc::new(Queue::new(max_bytes));
        let (ends, ended) = oneshot::channel();
        let writer = Writer::new(sink, Arc::clone(&queue), Arc::clone(clock), ends);
        let thread = thread::Builder::new().name("decision-log".to_owned());
        thread.spawn(|| writer.run()).map_err(cannot)?;
        Ok(Some(Arc::new(Self {
            queue,
            ended: Mutex::new(Some(ended)),
        })))
    }

    /// Adds the lines of a decision that was made at this time, or counts it as missing if there is no room.
    pub fn add(&self, lines: Vec<u8>, count: u64, at: Timestamp) {
        if !self.queue.add(lines, count, None) {
            self.miss(at);
        }
    }

    /// Returns whether lines of this many bytes would fit if nothing else waited.
    pub fn may_have_room(&self, bytes: usize) -> bool {
        bytes <= self.queue.max_bytes
    }

    /// Counts a decision that was made at this time as missing.
    pub fn miss(&self, at: Timestamp) {
        self.queue.miss(at);
    }

    /// Adds lines, and waits until they are on disk. Returns whether they are.
    async fn write(&self, lines: Vec<u8>, count: u64, patience: Duration) -> bool {
        let (written, is_written) = oneshot::channel();
        self.queue.add(lines, count, Some(written))
            && matches!(
                tokio::time::timeout(patience, is_written).await,
                Ok(Ok(true))
            )
    }

    /// Writes what waits, and ends. Later lines find no room.
    pub async fn close(&self) {
        self.queue.end();
        let ended = self.ended.lock().take();
        if let Some(ended) = ended {
            let _ = tokio::time::timeout(GRACE, ended).await;
        }
        let bytes = self.queue.bytes();
        if bytes > 0 {
            tracing::error!(bytes, "the host ends before its decisions are in their log");
        }
    }
}

impl Drop for DecisionLog {
    fn drop(&mut self) {
        self.queue.end();
    }
}
