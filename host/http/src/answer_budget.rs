//! Limits the memory that answers take. A route that reads a lot reserves memory before it reads, and holds it until
//! the answer is sent. Other large answers are counted once they are made.

use std::sync::Arc;

use parking_lot::Mutex;
use tillgate_base::error::{Error, Result};
use tillgate_base::load::Requester;
use tillgate_base::load::budget::{Limit, Reservation};
use tillgate_base::load::room::Room;

use super::connection::body::MAX_WAITING;
use super::reply::Reply;

/// Answers of up to 64 KiB are not counted.
const SMALL: usize = 64 << 10;

/// The most requests that wait for memory, in total and per client.
const MAX_WAITING_READS: Limit = Limit {
    all: 2_048,
    each: 128,
};

const NO_ROOM: Error = Error::Overloaded("too much is being read and answered for this tenant");

/// The reservation of a request.
pub(super) type Held = Arc<Mutex<Reservation<Requester>>>;

/// The memory that all answers together may take.
#[derive(Debug)]
pub(super) struct Answers {
    /// For routes that reserve before they read.
    reads: Room,
    /// For the large answers of all other routes.
    others: Room,
}

impl Answers {
    /// Allows this many bytes for each of the two kinds.
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            reads: Room::new(bytes, MAX_WAITING_READS),
            others: Room::new(bytes, MAX_WAITING),
        }
    }

    /// Reserves the bytes that a route states for one request; returns `None` if it states 0.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room in time; [`Error::Gone`] when the client has gone meanwhile.
    pub(super) async fn hold(&self, bytes: usize) -> Result<Option<Held>> {
        if bytes == 0 {
            return Ok(None);
        }
        let reserved = self.reads.reserve(bytes).await?.ok_or(NO_ROOM)?;
        Ok(Some(Arc::new(Mutex::new(reserved))))
    }

    /// Replaces a reservation with one of another size.
    ///
    /// # Errors
    /// Those of [`hold`](Self::hold).
    pub(super) async fn resize(&self, held: &Held, bytes: usize) -> Result<()> {
        // A waiting request must not hold what others wait for.
        held.lock().shrink_to(0);
        let reserved = self.reads.reserve(bytes).await?.ok_or(NO_ROOM)?;
        *held.lock() = reserved;
        Ok(())
    }

    /// Counts a large answer until it is sent. The answer to a change is never refused, since the change has been made.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is no room.
    pub(super) fn count(&self, reply: Reply, held: Option<Held>, is_change: bool) -> Result<Reply> {
        let Some(size) = reply.own_bytes().filter(|size| *size > SMALL) else {
            return Ok(reply);
        };
        let held = held.and_then(Arc::into_inner).map(Mutex::into_inner);
        let mut reservation = held.unwrap_or_else(|| self.others.nothing());
        let more = size.saturating_sub(reservation.amount());
        if !reservation.grow(more) && !is_change {
            return Err(NO_ROOM);
        }
        reservation.shrink_to(size);
        Ok(reply.reserving(reservation))
    }
}
