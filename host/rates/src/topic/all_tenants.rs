//! A subscription to the messages of all tenants: it reads the logs of their partitions as they change.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, Stream, stream};
use tillgate_base::app::App;
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;
use tillgate_store::{ChangedPartitions, Partition, PartitionHints, Position};
use tokio::time::Interval;

use super::cursor::Cursor;
use super::hub::{PAGE, PAUSE};
use super::item::{Filter, Item};
use super::message::TOPIC;
use super::read_again::ReadAgain;
use super::reader::Reader;

/// The interval at which all partitions are read, because hints about them may be lost.
const SCAN: Duration = Duration::from_secs(30);

/// The period that a subscriber receives again when it resumes: longer than the clocks of stores differ.
const OVERLAP: Duration = Duration::from_secs(10);

/// The number of partitions to list at once.
const PARTITIONS: usize = 500;

/// Follows the messages of all tenants after a cursor, without end, like those of one. A cursor that is older than
/// `retention` resets.
///
/// # Errors
/// [`Error::Unavailable`](tillgate_base::error::Error::Unavailable).
pub(crate) async fn follow_all(
    app: &Arc<App>,
    filter: Filter,
    after: Cursor,
    retention: Duration,
) -> Result<impl Stream<Item = Item> + Send + use<>> {
    let mut pending = VecDeque::new();
    let mut read_again = ReadAgain::default();
    let now = app.clock.now();
    match after {
        Cursor::All(at) => {
            read_again = ReadAgain::since(at, now);
            if at < now.minus(retention) {
                pending.push_back(Item::Reset(after.clone()));
            }
        }
        Cursor::Latest => pending.push_back(Item::CaughtUp(Cursor::All(now))),
        _ => {}
    }
    let mut subscription = Subscription {
        hints: app.store.partition_hints(),
        app: Arc::clone(app),
        filter,
        read_again,
        is_told: false,
        read_to: after.clone(),
        scan: tokio::time::interval(SCAN),
        unread: HashSet::new(),
        began: Timestamp(0),
        logs: HashMap::new(),
        changed: VecDeque::new(),
        pending,
    };
    subscription.look_at_all(Some(&after)).await?;
    if after == Cursor::Latest {
        subscription.read_to = Cursor::All(subscription.began);
    }
    subscription.scan.reset();
    Ok(stream::unfold(subscription, |mut subscription| async {
        Some((subscription.next().await, subscription))
    }))
}

struct Subscription {
    app: Arc<App>,
    hints: PartitionHints,
    filter: Filter,
    read_again: ReadAgain,
    /// True if an event had the cursor `read_to`.
    is_told: bool,
    /// The cursor of the next item: the messages of all logs were sent up to here. A message of one log says nothing
    /// about the others, so this moves only when all of them were read.
    read_to: Cursor,
    /// The timer for reading all partitions again.
    scan: Interval,
    /// The partitions that were not read to their end since the scan began, and the time when it began.
    unread: HashSet<Partition>,
    began: Timestamp,
    logs: HashMap<Partition, (Reader, Position)>,
    /// The partitions to read.
    changed: VecDeque<Partition>,
    pending: VecDeque<Item>,
}

impl Subscription {
    async fn next(&mut self) -> Item {
        loop {
            if let Some(item) = self.pending.pop_front() {
                return item;
            }
            if self.step().await.is_err() {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Reads on in the next partition that has changed, or waits for one.
    async fn step(&mut self) -> Result<()> {
        if self.scan.tick().now_or_never().is_some() {
            self.look_at_all(None).await?;
        }
        let Some(partition) = self.changed.pop_front() else {
            let changed = tokio::select! {
                changed = self.hints.changed() => changed,
                _ = self.scan.tick() => ChangedPartitions::All,
            };
            match changed {
                ChangedPartitions::These(partitions) => self.changed.extend(partitions),
                ChangedPartitions::All => self.look_at_all(None).await?,
            }
            return Ok(());
        };
        let read = self.read_on(&partition).await;
        if matches!(read, Ok(false)) {
            self.has_read(&partition);
        } else {
            // Queue it behind the others, so that a busy tenant does not hold them up.
            self.changed.push_back(partition);
        }
        read.map(|_| ())
    }

    /// Notes that a partition was read to its end. Once all are, all messages from before the scan were sent.
    fn has_read(&mut self, partition: &Partition) {
        if self.unread.remove(partition) && self.unread.is_empty() {
            self.read_to = Cursor::All(self.began);
            let item = self
                .read_again
                .tell(self.read_to.clone(), self.app.clock.now());
            self.is_told = matches!(item, Item::Position(_));
            self.pending.push_back(item);
        }
    }

    /// Queues all partitions to be read. `start` is where to begin in them; later ones are read from their beginning.
    async fn look_at_all(&mut self, start: Option<&Cursor>) -> Result<()> {
        self.unread.clear();
        self.began = self.app.clock.now();
        let mut after: Option<Partition> = None;
        loop {
            let name = after.as_ref().map(Partition::as_str);
            let page = self.app.store.partitions(name, PARTITIONS).await?;
            for partition in &page {
                if let Some(start) = start
                    && let Some(tenant) = TenantId::of_partition(partition)
                {
                    let at = self.position(partition, start).await?;
                    let reader = Reader::new(tenant, self.app.records(partition.clone()));
                    self.logs.insert(partition.clone(), (reader, at));
                }
                self.changed.push_back(partition.clone());
                self.unread.insert(partition.clone());
            }
            after = page.last().cloned();
            if page.len() < PARTITIONS {
                return Ok(());
            }
        }
    }

    /// Returns the position of a cursor in the log of a partition.
    async fn position(&self, partition: &Partition, start: &Cursor) -> Result<Position> {
        let store = &self.app.store;
        let since = match start {
            Cursor::Earliest => return Ok(Position::default()),
            Cursor::All(at) => at.minus(OVERLAP),
            Cursor::Latest | Cursor::Tenant(..) => Timestamp(u64::MAX),
        };
        let bounds = store.read(partition, TOPIC, Position::default(), 0).await?;
        // Find the last position whose messages are all older: publish times increase with positions.
        let (mut low, mut high) = (bounds.trimmed.0, bounds.last.0);
        if since == Timestamp(u64::MAX) {
            return Ok(bounds.last);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            let slice = store.read(partition, TOPIC, Position(middle), 1).await?;
            match slice.messages.first() {
                Some(message) if message.publish_time < since => low = message.position.0,
                _ => high = middle,
            }
        }
        Ok(Position(low))
    }

    /// Reads a page of a partition's messages and returns whether there may be more.
    async fn read_on(&mut self, partition: &Partition) -> Result<bool> {
        let Some(tenant) = TenantId::of_partition(partition) else {
            return Ok(false);
        };
        let records = || self.app.records(partition.clone());
        let log = self.logs.entry(partition.clone());
        let (reader, at) =
            log.or_insert_with(|| (Reader::new(tenant, records()), Position::default()));
        let slice = self.app.store.read(partition, TOPIC, *at, PAGE).await?;
        if *at < slice.trimmed {
            let is_behind = *at > Position::default();
            *at = slice.trimmed;
            if is_behind {
                self.pending.push_back(Item::Reset(self.read_to.clone()));
            }
        }
        for message in &slice.messages {
            if self.filter.matches(message)
                && let Some(data) = reader.data(message).await?
            {
                let item = Item::Message(self.read_to.clone(), data);
                self.pending.push_back(item);
                if !std::mem::replace(&mut self.is_told, true) {
                    self.read_again.clear();
                }
            }
            // The cursor is of an earlier moment, so the message itself would be read again.
            self.read_again.add(1, message.publish_time);
            *at = message.position;
        }
        Ok(!slice.messages.is_empty() && *at < slice.last)
    }
}
