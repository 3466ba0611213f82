//! The thread that writes the record: takes what waits, makes lines of it, and writes many at a time. What was handed in goes
//! first and is synced, since its till waits for that. While nothing can be written, what waits goes on waiting, until the
//! queue is full. On standard output it begins after the address, which programs read as the first line.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::file::Sink;
use super::line::{HostEvent, Line};
use super::queue::{Dropped, Queue, Room};
use super::records;
use crate::clock::{Clock, Timestamp};
use crate::engine::MODULE_SHA256;

/// How long decisions are collected.
const LINGER: Duration = Duration::from_millis(50);

/// How long it is until what could not be written is tried again.
const RETRY: Duration = Duration::from_millis(250);

/// How long writing may take until it counts as failing: a disk that hangs answers nothing.
const STALLED: Duration = Duration::from_secs(2);

/// About how many bytes are written at once.
const CHUNK: usize = 256 << 10;

/// Lines that were handed in, and who waits for them to be on disk.
#[derive(Debug)]
pub(super) struct HandedIn {
    pub(super) lines: Vec<u8>,
    pub(super) count: u64,
    /// Whether they are.
    pub(super) done: oneshot::Sender<bool>,
    /// What they take of the queue.
    pub(super) room: Room,
}

/// What the thread shares with those who want something written.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) queue: Arc<Queue>,
    handed_in: Mutex<Vec<HandedIn>>,
    /// How many lines were written, and how many attempts failed.
    pub(super) written: AtomicU64,
    pub(super) errors: AtomicU64,
    /// How many of the decisions that were handed in were written, repeated and left out.
    pub(super) handed_in_counts: [AtomicU64; 3],
    /// Whether the last attempt failed.
    is_failing: AtomicBool,
    /// Whether anything may be written yet.
    may_begin: AtomicBool,
    /// When the attempt began that has not ended yet, in microseconds; 0 when there is none.
    writing_since: AtomicU64,
    /// How many decisions were taken from the queue and are not written yet.
    taken: AtomicU64,
    clock: Arc<dyn Clock>,
    pub(super) has_ended: watch::Sender<bool>,
    thread: OnceLock<Thread>,
}

impl Shared {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there can be no more threads.
    pub(super) fn start(
        sink: Sink,
        clock: Arc<dyn Clock>,
        max_bytes: usize,
    ) -> io::Result<Arc<Self>> {
        let shared = Arc::new(Self {
            queue: Arc::new(Queue::new(max_bytes)),
            handed_in: Mutex::default(),
            written: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            handed_in_counts: Default::default(),
            is_failing: AtomicBool::new(false),
            may_begin: AtomicBool::new(!matches!(sink, Sink::Stdout)),
            writing_since: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            clock,
            has_ended: watch::Sender::new(false),
            thread: OnceLock::new(),
        });
        let writer = Writer {
            shared: Arc::clone(&shared),
            sink,
            lines: Vec::new(),
            count: 0,
        };
        let name = "decision-log".to_owned();
        let thread = thread::Builder::new().name(name).spawn(|| writer.run())?;
        let _ = shared.thread.set(thread.thread().clone());
        Ok(shared)
    }

    /// Whether nothing can be written now.
    pub(super) fn is_failing(&self) -> bool {
        let since = self.writing_since.load(Ordering::Relaxed);
        let is_stalled = || since > 0 && self.clock.now().since(Timestamp(since)) > STALLED;
        self.is_failing.load(Ordering::Relaxed) || is_stalled()
    }

    /// How many decisions wait to be written.
    pub(super) fn waiting(&self) -> u64 {
        let queued = u64::try_from(self.queue.len()).unwrap_or(u64::MAX);
        queued.saturating_add(self.taken.load(Ordering::Relaxed))
    }

    /// Has the thread write from now on.
    pub(super) fn begin(&self) {
        self.may_begin.store(true, Ordering::Release);
        self.wake();
    }

    /// Has the thread look at once.
    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Has lines written that were handed in.
    pub(super) fn hand_in(&self, handed_in: HandedIn) {
        self.handed_in.lock().push(handed_in);
        self.wake();
    }
}

/// See the module's documentation.
struct Writer {
    shared: Arc<Shared>,
    sink: Sink,
    /// What is to be written next: lines, and how many.
    lines: Vec<u8>,
    count: u64,
}

impl Writer {
    fn run(mut self) {
        let mut goes_on = self.may_begin();
        if goes_on {
            self.event(HostEvent::Started);
            goes_on = self.write();
        }
        while goes_on {
            // Asked before it is looked what waits: nothing is added afterwards.
            let is_closed = self.shared.queue.is_closed();
            self.write_handed_in();
            let is_all = self.collect();
            if is_closed && is_all {
                self.event(HostEvent::Stopped);
            }
            goes_on = self.write() && !(is_closed && is_all);
            if goes_on && is_all {
                thread::park_timeout(LINGER);
            }
        }
        let _ = self.sink.sync();
        self.shared.has_ended.send_replace(true);
    }

    /// Waits until it may write. Answers whether it may: not when the host ends before.
    fn may_begin(&self) -> bool {
        while !self.shared.may_begin.load(Ordering::Acquire) {
            if self.shared.queue.is_closed() {
                return false;
            }
            thread::park();
        }
        true
    }

    /// Makes lines of what waits, up to a chunk, and of the gaps; answers whether that is all.
    fn collect(&mut self) -> bool {
        let queue = &self.shared.queue;
        let (mut is_all, mut taken) = (false, 0);
        while self.lines.len() < CHUNK {
            let Some(decided) = queue.next() else {
                is_all = true;
                break;
            };
            self.count += records::write(&decided, &mut self.lines);
            taken += 1;
        }
        // Once, and not for each: deciding reads what lies beside it.
        self.shared.taken.fetch_add(taken, Ordering::Relaxed);
        for (tenant, gap) in queue.gaps() {
            records::write_gap(&tenant, &gap, &mut self.lines);
            self.count += 1;
        }
        is_all
    }

    fn event(&mut self, event: HostEvent) {
        let line = Line {
            at: self.shared.clock.now().to_millis_text().into(),
            engine: Some(MODULE_SHA256.into()),
            event: Some(event),
            ..Line::default()
        };
        line.write(&mut self.lines);
        self.count += 1;
    }

    /// Writes the lines, however often that takes. Answers whether they are written: not once the host is to end.
    fn write(&mut self) -> bool {
        while !self.lines.is_empty() {
            let is_closed = self.shared.queue.is_closed();
            let lines = std::mem::take(&mut self.lines);
            let written = self.attempt(|sink| sink.write(&lines));
            self.lines = lines;
            if self.note(written, self.count) {
                self.lines.clear();
                self.lines.shrink_to(2 * CHUNK);
                self.count = 0;
                self.shared.taken.store(0, Ordering::Relaxed);
            } else if is_closed {
                self.give_up();
                return false;
            } else {
                self.write_handed_in();
                thread::park_timeout(RETRY);
            }
        }
        true
    }

    /// Writes what was handed in, and tells those who wait whether it is on disk.
    fn write_handed_in(&mut self) {
        let all = std::mem::take(&mut *self.shared.handed_in.lock());
        if all.is_empty() {
            return;
        }
        let lines: Vec<&[u8]> = all.iter().map(|handed_in| &*handed_in.lines).collect();
        let written = self.attempt(|sink| {
            sink.write(&lines.concat())?;
            sink.sync()
        });
        let is_written = self.note(written, all.iter().map(|handed_in| handed_in.count).sum());
        for HandedIn { done, room, .. } in all {
            drop(room);
            // Who does not wait any more hands it in again.
            let _ = done.send(is_written);
        }
    }

    fn attempt(&mut self, write: impl FnOnce(&mut Sink) -> io::Result<()>) -> io::Result<()> {
        let Shared {
            clock,
            writing_since,
            ..
        } = &*self.shared;
        writing_since.store(clock.now().0, Ordering::Relaxed);
        let written = write(&mut self.sink);
        writing_since.store(0, Ordering::Relaxed);
        written
    }

    /// Counts what was written, or says once that nothing can be. Answers whether it was.
    fn note(&self, written: io::Result<()>, lines: u64) -> bool {
        let shared = &self.shared;
        let was_failing = shared.is_failing.swap(written.is_err(), Ordering::Relaxed);
        match &written {
            Ok(()) => {
                shared.written.fetch_add(lines, Ordering::Relaxed);
                if was_failing {
                    tracing::info!("decisions are put on record again");
                }
            }
            Err(cause) => {
                shared.errors.fetch_add(1, Ordering::Relaxed);
                if !was_failing {
                    tracing::error!(%cause, "decisions cannot be put on record: they wait, as many as there is room for");
                }
            }
        }
        written.is_ok()
    }

    /// The host ends, and what waits cannot be written.
    fn give_up(&mut self) {
        let Shared { queue, taken, .. } = &*self.shared;
        let mut decisions = taken.load(Ordering::Relaxed);
        while queue.next().is_some() {
            decisions += 1;
        }
        queue.count_dropped(Dropped::Ended, decisions);
        tracing::error!(decisions, "the host ends, and decisions are not on record");
    }
}
