//! The thread that writes the log: it takes what waits and writes many lines at a time. While nothing can be written,
//! it retries from where it stopped, and the queue fills up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use tillgate_store::clock::Clock;
use tokio::sync::oneshot;

use super::file::Sink;
use super::line::Line;
use super::queue::{Entry, Queue};

/// The time for which lines are collected.
const LINGER: Duration = Duration::from_millis(50);

/// The delay before lines that could not be written are tried again.
const RETRY: Duration = Duration::from_millis(250);

/// The approximate size of a batch in bytes.
const BATCH: usize = 256 << 10;

/// A message to the thread.
#[derive(Debug)]
pub(super) enum Message {
    /// Write lines.
    Write(Entry),
    /// End, and say when that is done.
    End(oneshot::Sender<()>),
}

/// Lines that are written together.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<u8>,
    count: u64,
    /// The room that they take in the queue, in bytes.
    bytes: usize,
    /// Tell those who wait whether the lines are on disk.
    waiting: Vec<oneshot::Sender<bool>>,
}

impl Batch {
    fn add(&mut self, entry: Entry) {
        self.bytes += entry.lines.len();
        if self.lines.is_empty() {
            self.lines = entry.lines;
        } else {
            self.lines.extend(entry.lines);
        }
        self.count += entry.count;
        self.waiting.extend(entry.written);
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    messages: Receiver<Message>,
    sink: Sink,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
}

impl Writer {
    pub(super) fn new(
        messages: Receiver<Message>,
        sink: Sink,
        queue: Arc<Queue>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            messages,
            sink,
            queue,
            clock,
        }
    }

    /// Writes until it is told to end, or until nobody is left who could tell it anything.
    pub(super) fn run(mut self) {
        while let Ok(first) = self.messages.recv() {
            // More lines come meanwhile, and are written with it.
            thread::sleep(LINGER);
            let mut next = Some(first);
            while next.is_some() {
                let mut batch = Batch::default();
                while let Some(message) = next.take_if(|_| batch.lines.len() < BATCH) {
                    match message {
                        Message::Write(entry) => batch.add(entry),
                        Message::End(ended) => {
                            self.write(batch);
                            let _ = ended.send(());
                            return;
                        }
                    }
                    next = self.messages.try_recv().ok();
                }
                self.write(batch);
            }
        }
    }

    fn write(&mut self, mut batch: Batch) {
        if let Some(missing) = self.queue.take_missing() {
            let line = Line {
                at: self.clock.now().to_millis_text().into(),
                since: Some(missing.since.to_millis_text().into()),
                missing: Some(missing.decisions),
                ..Line::default()
            };
            line.write(&mut batch.lines);
            batch.count += 1;
        }
        let mut is_written = self.write_lines(&batch.lines);
        if is_written {
            self.queue.give_back(batch.bytes);
            self.queue.succeed(batch.count);
        }
        if is_written && !batch.waiting.is_empty() {
            let synced = self.sink.sync();
            is_written = synced.inspect_err(|cause| self.queue.fail(cause)).is_ok();
        }
        for waiting in batch.waiting {
            // A till that no longer waits uploads again.
            let _ = waiting.send(is_written);
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
                    if self.queue.is_ending.load(Ordering::Relaxed) {
                        return false;
                    }
                    thread::sleep(RETRY);
                }
            }
        }
        true
    }
}
