//! A subscription to the messages of a tenant: it reads from its cursor to the newest by itself, then live.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use tillgate_base::data::records::Records;
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_store::Position;
use tillgate_store::clock::Clock;
use tokio::sync::mpsc;

use super::cursor::Cursor;
use super::hub::{Hub, Hubs, Live, PAUSE};
use super::item::{Filter, Item};
use super::message::TOPIC;
use super::read_again::ReadAgain;
use super::reader::Reader;

/// The number of messages that a subscriber reads by itself at once; very many may do so.
const OWN_PAGE: usize = 32;

/// The time without a message after which a subscriber is sent its cursor.
const QUIET: Duration = Duration::from_secs(10);

/// Follows the messages of a tenant after a cursor, without end. `latest` is the end of the log now, not when the
/// stream is first polled.
///
/// # Errors
/// [`Error::Unavailable`](tillgate_base::error::Error::Unavailable).
pub(crate) async fn follow(
    hubs: &Hubs,
    (records, clock): (Records, Arc<dyn Clock>),
    tenant: &TenantId,
    filter: Filter,
    after: Cursor,
) -> Result<impl Stream<Item = Item> + Send + use<>> {
    let mut subscription = Subscription {
        hub: hubs.of(tenant, &records),
        reader: Reader::new(tenant.clone(), records),
        filter,
        may_reset: after != Cursor::Earliest,
        at: Position::default(),
        read_again: ReadAgain::default(),
        clock,
        live: None,
        pending: VecDeque::new(),
    };
    subscription.begin(&after).await?;
    Ok(stream::unfold(subscription, |mut subscription| async {
        Some((subscription.next().await, subscription))
    }))
}

struct Subscription {
    hub: Arc<Hub>,
    reader: Reader,
    filter: Filter,
    /// True to send a reset when messages after its position are gone.
    may_reset: bool,
    at: Position,
    read_again: ReadAgain,
    clock: Arc<dyn Clock>,
    live: Option<mpsc::Receiver<Live>>,
    pending: VecDeque<Item>,
}

impl Subscription {
    async fn next(&mut self) -> Item {
        loop {
            if let Some(item) = self.pending.pop_front() {
                return item;
            }
            let step = match self.live.take() {
                Some(live) => {
                    self.listen(live).await;
                    Ok(())
                }
                None => self.catch_up().await,
            };
            if step.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn cursor(&self) -> Cursor {
        Cursor::Tenant(self.reader.tenant.clone(), self.at)
    }

    /// Sends the cursor when there is no message. A subscriber whose connection ends before the next one resumes here.
    fn tell_cursor(&mut self) {
        let item = self.read_again.tell(self.cursor(), self.clock.now());
        self.pending.push_back(item);
    }

    /// Waits for a live message. The subscriber stays live unless it was dropped.
    async fn listen(&mut self, mut live: mpsc::Receiver<Live>) {
        let received = if let Ok(received) = tokio::time::timeout(QUIET, live.recv()).await {
            received
        } else {
            // All messages up to there were sent, so if none is waiting, there was none for this subscriber.
            let read = self.hub.read();
            match live.try_recv() {
                Ok(received) => Some(received),
                Err(mpsc::error::TryRecvError::Disconnected) => None,
                Err(mpsc::error::TryRecvError::Empty) => {
                    if let Some(read) = read.filter(|read| *read > self.at) {
                        let count = read.0.saturating_sub(self.at.0);
                        self.read_again.add(count, self.clock.now());
                        self.at = read;
                        self.tell_cursor();
                    }
                    self.live = Some(live);
                    return;
                }
            }
        };
        let Some(Live { position, data }) = received else {
            return;
        };
        if position > self.at {
            self.at = position;
            self.pending.push_back(Item::Message(self.cursor(), data));
            self.read_again.clear();
        }
        self.live = Some(live);
    }

    /// Finds the position to begin at.
    async fn begin(&mut self, after: &Cursor) -> Result<()> {
        let (store, partition) = (self.reader.records.store(), self.reader.records.partition());
        let newest = store.read(partition, TOPIC, Position::default(), 0);
        let newest = newest.await?.last;
        self.at = match after {
            Cursor::Tenant(_, position) => *position,
            Cursor::Latest | Cursor::All(_) => newest,
            Cursor::Earliest => Position::default(),
        };
        // The cursor is from a log that was longer, before the store was restored.
        let is_ahead = self.at > newest;
        if is_ahead {
            self.at = newest;
            self.pending.push_back(Item::Reset(self.cursor()));
        }
        Ok(())
    }

    /// Reads the log, and joins the hub once there is nothing more to read.
    async fn catch_up(&mut self) -> Result<()> {
        let (store, partition) = (
            Arc::clone(self.reader.records.store()),
            self.reader.records.partition().clone(),
        );
        let slice = store.read(&partition, TOPIC, self.at, OWN_PAGE).await?;
        if self.at < slice.trimmed {
            self.at = slice.trimmed;
            if self.may_reset {
                self.pending.push_back(Item::Reset(self.cursor()));
            }
        }
        self.may_reset = true;
        for message in &slice.messages {
            if self.filter.matches(message) {
                let data = self.reader.data(message).await?;
                self.at = message.position;
                let item = data.map(|data| Item::Message(self.cursor(), data));
                self.pending.extend(item);
                self.read_again.clear();
            } else {
                self.read_again.add(1, message.publish_time);
            }
            self.at = message.position;
        }
        if self.at >= slice.last {
            // This says that nothing is left to read.
            self.tell_cursor();
            let shop = self.filter.business_unit.as_deref();
            self.live = self.hub.join(self.at, shop);
        }
        Ok(())
    }
}
