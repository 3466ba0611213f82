//! Room: bytes of memory that requests share, of which one requester may take half. A request that finds no room waits
//! for a few seconds, as long as its client does.

use std::sync::Arc;
use std::time::Duration;

use super::budget::{Budget, Limit, Reservation};
use super::context::Context;
use super::requester::Requester;
use crate::error::Result;

/// The longest that a request waits for room.
const PATIENCE: Duration = Duration::from_secs(5);

/// A budget of bytes, for which a bounded number of requests may wait.
#[derive(Debug)]
pub struct Room {
    bytes: Arc<Budget<Requester>>,
    /// The waiting requests, by client. Behind too many of them, a request is better refused at once.
    waiting: Arc<Budget<(Requester, Option<Arc<str>>)>>,
}

impl Room {
    /// Allows this many bytes, and this many requests that wait.
    pub fn new(bytes: usize, waiting: Limit) -> Self {
        Self {
            bytes: Budget::new(Limit::half_each(bytes)),
            waiting: Budget::new(waiting),
        }
    }

    /// Returns an empty reservation for the current requester, which can grow.
    pub fn nothing(&self) -> Reservation<Requester> {
        self.bytes.empty(Some(Requester::current()))
    }

    /// Takes more, and waits for it unless too many requests already do. Returns whether there was enough.
    ///
    /// # Errors
    /// [`Error::Gone`](crate::error::Error::Gone) when the client no longer waits for the answer.
    pub async fn grow(
        &self,
        reservation: &mut Reservation<Requester>,
        more: usize,
    ) -> Result<bool> {
        if reservation.grow(more) {
            return Ok(true);
        }
        let context = Context::current();
        let client = (context.requester.clone(), context.client.clone());
        let Some(_place) = self.waiting.reserve(Some(client), 1) else {
            return Ok(false);
        };
        let growing = reservation.grow_within(more, PATIENCE);
        context.wait(growing).await
    }

    /// Reserves this many bytes, or the most that one requester may have. Returns `None` when there was no room in
    /// time.
    ///
    /// # Errors
    /// Those of [`grow`](Self::grow).
    pub async fn reserve(&self, bytes: usize) -> Result<Option<Reservation<Requester>>> {
        let mut reservation = self.nothing();
        let bytes = bytes.min(self.bytes.limit().each);
        let has_room = self.grow(&mut reservation, bytes).await?;
        Ok(has_room.then_some(reservation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_WAITING: Limit = Limit { all: 256, each: 32 };

    fn has<T>(reserved: Result<Option<T>>) -> Option<T> {
        reserved.ok().flatten()
    }

    #[tokio::test]
    async fn a_request_is_refused_at_once_behind_as_many_of_its_client_as_may_wait() {
        let room = Arc::new(Room::new(2 << 10, MAX_WAITING));
        let first = has(room.reserve(1 << 10).await);
        assert!(first.is_some());
        let wait = || {
            let room = Arc::clone(&room);
            tokio::spawn(async move { has(room.reserve(1).await).is_some() })
        };
        let waiting: Vec<_> = (0..MAX_WAITING.each).map(|_| wait()).collect();
        let all_wait = async {
            while room.waiting.reserved_by(&(Requester::Platform, None)) < MAX_WAITING.each {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), all_wait).await;
        assert!(waited.is_ok(), "not within a minute: all wait for room");
        assert!(wait().await.is_ok_and(|has_room| !has_room));
        drop(first);
        for waiting in waiting {
            assert!(waiting.await.unwrap_or_default(), "there is room for them");
        }
    }

    #[tokio::test]
    async fn what_is_more_than_one_may_have_is_all_of_that() {
        let room = Room::new(2 << 10, MAX_WAITING);
        let most = has(room.reserve(usize::MAX).await);
        assert!(most.is_some());
        assert!(!room.nothing().grow(1));
        drop(most);
        assert!(room.nothing().grow(1));
    }
}
