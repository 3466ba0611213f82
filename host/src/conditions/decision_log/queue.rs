//! What waits to be written: decisions, until the writer takes them. Bounded by bytes, in all and of one tenant, so that a
//! disk that is slow or full costs memory no more than that, and a tenant with large baskets does not take the place of the
//! others. What finds no room is dropped: it is counted, and the record will say so.
//!
//! Adding a decision waits for nothing: no lock, no system call, and no copy of the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use crossbeam_queue::SegQueue;
use parking_lot::Mutex;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::conditions::backlog::{Backlog, Gap};
use crate::conditions::choice::Choice;
use crate::conditions::plan::Subject;
use crate::conditions::versions::Versions;
use crate::identity::{Caller, TenantId};

/// A decision that was made here, as it is known: lines are made of it when they are written. The catalog is not kept.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) at: Timestamp,
    pub(super) tenant: TenantId,
    pub(super) backlog: Arc<Backlog>,
    /// What the tenant had chosen.
    pub(super) choice: Choice,
    pub(super) caller: Arc<Caller>,
    pub(super) correlation: Uuid,
    pub(super) subject: Subject,
    pub(super) versions: Versions,
    /// The module's answer.
    pub(super) answer: Bytes,
}

impl Decided {
    /// What it takes, about.
    fn size(&self) -> usize {
        self.answer.len() + self.versions.size() + size_of::<Self>() + 64
    }
}

/// Room in the queue that is taken until this is dropped, by what does not wait in it.
#[derive(Debug)]
pub(super) struct Room {
    queue: Arc<Queue>,
    backlog: Arc<Backlog>,
    bytes: usize,
}

impl Room {
    /// Takes room for so many bytes of a tenant.
    pub(super) fn take(
        queue: &Arc<Queue>,
        backlog: &Arc<Backlog>,
        bytes: usize,
    ) -> Result<Self, Dropped> {
        queue.take(backlog, bytes)?;
        Ok(Self {
            queue: Arc::clone(queue),
            backlog: Arc::clone(backlog),
            bytes,
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.queue.give_back(&self.backlog, self.bytes);
    }
}

/// Why a decision is not on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    /// There was no room.
    Full,
    /// The tenant had its half.
    TenantFull,
    /// The host ended before it was written.
    Ended,
}

impl Dropped {
    pub(super) const ALL: [Self; 3] = [Self::Full, Self::TenantFull, Self::Ended];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::TenantFull => "tenant_full",
            Self::Ended => "ended",
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Queue {
    decided: SegQueue<Decided>,
    bytes: AtomicUsize,
    max_bytes: usize,
    is_closed: AtomicBool,
    /// The tenants with a gap that the record does not tell yet.
    gapped: Mutex<Vec<(TenantId, Arc<Backlog>)>>,
    dropped: [AtomicU64; Dropped::ALL.len()],
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            decided: SegQueue::new(),
            bytes: AtomicUsize::new(0),
            max_bytes,
            is_closed: AtomicBool::new(false),
            gapped: Mutex::default(),
            dropped: Default::default(),
        }
    }

    /// Adds a decision, unless there is no room. Answers whether the queue is now half full.
    pub(super) fn add(&self, decided: Decided) -> bool {
        match self.take(&decided.backlog, decided.size()) {
            Ok(bytes) => {
                self.decided.push(decided);
                bytes >= self.max_bytes / 2
            }
            Err(why) => {
                self.leave_out(decided, why);
                false
            }
        }
    }

    /// Takes room for so many bytes of a tenant; answers how many are taken now.
    fn take(&self, backlog: &Backlog, bytes: usize) -> Result<usize, Dropped> {
        if self.is_closed() {
            return Err(Dropped::Ended);
        }
        let of_tenant = backlog.add(bytes);
        let of_all = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let why = match (of_tenant > self.max_bytes / 2, of_all > self.max_bytes) {
            (false, false) => return Ok(of_all),
            (true, _) => Dropped::TenantFull,
            (false, true) => Dropped::Full,
        };
        self.give_back(backlog, bytes);
        Err(why)
    }

    /// Gives back what was taken.
    fn give_back(&self, backlog: &Backlog, bytes: usize) {
        backlog.remove(bytes);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The decision that waits for longest.
    pub(super) fn next(&self) -> Option<Decided> {
        let decided = self.decided.pop()?;
        self.give_back(&decided.backlog, decided.size());
        Some(decided)
    }

    fn leave_out(&self, decided: Decided, why: Dropped) {
        self.count_dropped(why, 1);
        if decided.backlog.drop_one(decided.at) {
            self.gapped.lock().push((decided.tenant, decided.backlog));
        }
    }

    pub(super) fn count_dropped(&self, why: Dropped, decisions: u64) {
        let counts = Dropped::ALL.iter().zip(&self.dropped);
        for (_, count) in counts.filter(|(reason, _)| **reason == why) {
            count.fetch_add(decisions, Ordering::Relaxed);
        }
    }

    /// The gaps that the record does not tell yet.
    pub(super) fn gaps(&self) -> Vec<(TenantId, Gap)> {
        let gapped = std::mem::take(&mut *self.gapped.lock());
        let gaps = gapped.into_iter();
        gaps.filter_map(|(tenant, backlog)| Some((tenant, backlog.take_gap()?)))
            .collect()
    }

    /// How many decisions were dropped, by reason.
    pub(super) fn dropped(&self) -> [(Dropped, u64); Dropped::ALL.len()] {
        let mut counts = self.dropped.iter();
        Dropped::ALL.map(|why| {
            let count = counts.next().map(|count| count.load(Ordering::Relaxed));
            (why, count.unwrap_or_default())
        })
    }

    /// How many decisions wait.
    pub(super) fn len(&self) -> usize {
        self.decided.len()
    }

    /// The bytes that what waits takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes nothing more from now on.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}
