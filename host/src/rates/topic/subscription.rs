//! A subscriber's way through the topic: from its cursor to the newest message by itself, then live.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::sync::mpsc;

use super::cursor::Cursor;
use super::hub::{Hub, Hubs, Live, PAGE};
use super::{Reader, TOPIC, shop_of};
use crate::app::App;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::identity::TenantId;
use crate::records::Records;
use crate::store::{ChangedPartitions, Message, Partition, PartitionHints, Position};

/// After how long without a message a subscriber is told how far it has read all the same.
const QUIET: Duration = Duration::from_secs(10);

/// How long a subscriber waits while the store is away.
const PAUSE: Duration = Duration::from_millis(500);

/// Hints about partitions may be lost: all of them are looked at this often.
const SCAN: Duration = Duration::from_secs(30);

/// How much a subscriber of all tenants receives again when it resumes: more than the clocks of stores differ.
const OVERLAP: Duration = Duration::from_secs(10);

/// How many partitions are listed at once.
const PARTITIONS: usize = 500;

/// The messages that a subscriber wants.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those of this shop.
    pub business_unit: Option<String>,
}

impl Filter {
    fn matches(&self, message: &Message) -> bool {
        let wanted = self.business_unit.as_deref();
        wanted.is_none_or(|wanted| wanted == shop_of(message))
    }
}

/// What a subscriber receives.
#[derive(Clone, Debug)]
pub enum Item {
    /// A message, as JSON on one line.
    Message(Cursor, Arc<str>),
    /// Messages after the subscriber's cursor are gone: it must read its rates again.
    Reset(Cursor),
    /// There was nothing for it up to here.
    Position(Cursor),
}

/// The messages of a tenant after a cursor, without end.
pub(in crate::rates) fn follow(
    hubs: &Hubs,
    records: Records,
    tenant: &TenantId,
    filter: Filter,
    after: Cursor,
) -> impl Stream<Item = Item> + Send + 'static {
    let subscription = Subscription {
        hub: hubs.of(tenant, &records),
        reader: Reader::new(tenant.clone(), records),
        filter,
        start: Some(after),
        at: Position::default(),
        live: None,
        pending: VecDeque::new(),
    };
    stream::unfold(subscription, |mut subscription| async {
        Some((subscription.next().await, subscription))
    })
}

struct Subscription {
    hub: Arc<Hub>,
    reader: Reader,
    filter: Filter,
    /// Where it begins, until it has.
    start: Option<Cursor>,
    at: Position,
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

    /// Waits for a live message. The subscriber goes on listening unless it was let go.
    async fn listen(&mut self, mut live: mpsc::Receiver<Live>) {
        let received = if let Ok(received) = tokio::time::timeout(QUIET, live.recv()).await {
            received
        } else {
            // All messages up to there were sent, so when none is left to be received, there was none.
            let read = self.hub.read();
            match live.try_recv() {
                Ok(received) => Some(received),
                Err(mpsc::error::TryRecvError::Disconnected) => None,
                Err(mpsc::error::TryRecvError::Empty) => {
                    if read > Some(self.at) {
                        self.at = read.unwrap_or(self.at);
                        self.pending.push_back(Item::Position(self.cursor()));
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
        }
        self.live = Some(live);
    }

    /// Reads the log, and joins the hub once there is nothing more to read.
    async fn catch_up(&mut self) -> Result<()> {
        let (store, partition) = (
            Arc::clone(self.reader.records.store()),
            self.reader.records.partition().clone(),
        );
        let mut may_reset = true;
        if let Some(start) = &self.start {
            let newest = store.read(&partition, TOPIC, Position::default(), 0);
            let newest = newest.await?.last;
            self.at = match start {
                Cursor::Tenant(_, position) => *position,
                Cursor::Latest | Cursor::All(_) => newest,
                Cursor::Earliest => Position::default(),
            };
            may_reset = *start != Cursor::Earliest;
            // A cursor from a log that was longer, before the store was restored.
            let is_ahead = self.at > newest;
            if is_ahead {
                self.at = newest;
                self.pending.push_back(Item::Reset(self.cursor()));
            }
            self.start = None;
        }
        let slice = store.read(&partition, TOPIC, self.at, PAGE).await?;
        if self.at < slice.trimmed {
            self.at = slice.trimmed;
            if may_reset {
                self.pending.push_back(Item::Reset(self.cursor()));
            }
        }
        for message in &slice.messages {
            if self.filter.matches(message) {
                let data = self.reader.data(message).await?;
                self.at = message.position;
                let item = data.map(|data| Item::Message(self.cursor(), data));
                self.pending.extend(item);
            }
            self.at = message.position;
        }
        if self.at >= slice.last {
            // Says that nothing is left to be read. A subscriber whose connection ends before the next message resumes
            // here.
            self.pending.push_back(Item::Position(self.cursor()));
            let shop = self.filter.business_unit.as_deref();
            self.live = self.hub.join(self.at, shop);
        }
        Ok(())
    }
}

/// The messages of all tenants after a cursor, without end. A cursor that is older than `retention` resets.
pub(in crate::rates) fn follow_all(
    app: &Arc<App>,
    filter: Filter,
    after: Cursor,
    retention: Duration,
) -> impl Stream<Item = Item> + Send + 'static {
    let mut pending = VecDeque::new();
    let now = app.clock.now();
    match after {
        Cursor::All(at) if at < now.minus(retention) => {
            pending.push_back(Item::Reset(after.clone()));
        }
        Cursor::Latest => pending.push_back(Item::Position(Cursor::All(now))),
        _ => {}
    }
    let everyone = Everyone {
        hints: app.store.partition_hints(),
        app: Arc::clone(app),
        filter,
        start: Some(after),
        logs: HashMap::new(),
        changed: VecDeque::new(),
        pending,
    };
    stream::unfold(everyone, |mut everyone| async {
        Some((everyone.next().await, everyone))
    })
}

struct Everyone {
    app: Arc<App>,
    hints: PartitionHints,
    filter: Filter,
    /// Where it begins in the logs that are there at first; in later ones at their beginning.
    start: Option<Cursor>,
    logs: HashMap<Partition, (Reader, Position)>,
    /// The partitions to look at.
    changed: VecDeque<Partition>,
    pending: VecDeque<Item>,
}

impl Everyone {
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

    /// Reads on in the next partition that has changed; waits when there is none.
    async fn step(&mut self) -> Result<()> {
        if let Some(start) = self.start.clone() {
            self.look_at_all(Some(&start)).await?;
            self.start = None;
        }
        let Some(partition) = self.changed.pop_front() else {
            match tokio::time::timeout(SCAN, self.hints.changed()).await {
                Ok(ChangedPartitions::These(partitions)) => self.changed.extend(partitions),
                Ok(ChangedPartitions::All) | Err(_) => self.look_at_all(None).await?,
            }
            return Ok(());
        };
        let read = self.read_on(&partition).await;
        if !matches!(read, Ok(false)) {
            self.changed.push_front(partition);
        }
        read.map(|_| ())
    }

    async fn look_at_all(&mut self, start: Option<&Cursor>) -> Result<()> {
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
            }
            after = page.last().cloned();
            if page.len() < PARTITIONS {
                return Ok(());
            }
        }
    }

    /// Where a cursor stands in the log of a partition.
    async fn position(&self, partition: &Partition, start: &Cursor) -> Result<Position> {
        let store = &self.app.store;
        let since = match start {
            Cursor::Earliest => return Ok(Position::default()),
            Cursor::All(at) => at.minus(OVERLAP),
            Cursor::Latest | Cursor::Tenant(..) => Timestamp(u64::MAX),
        };
        let bounds = store.read(partition, TOPIC, Position::default(), 0).await?;
        // The last position whose messages are all older: publish times increase with positions.
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

    /// Reads a page of a partition's messages; whether there may be more.
    async fn read_on(&mut self, partition: &Partition) -> Result<bool> {
        let Some(tenant) = TenantId::of_partition(partition) else {
            return Ok(false);
        };
        let records = || self.app.records(partition.clone());
        let log = self.logs.entry(partition.clone());
        let (reader, at) =
            log.or_insert_with(|| (Reader::new(tenant, records()), Position::default()));
        let slice = self.app.store.read(partition, TOPIC, *at, PAGE).await?;
        for message in &slice.messages {
            if self.filter.matches(message)
                && let Some(data) = reader.data(message).await?
            {
                let cursor = Cursor::All(message.publish_time);
                self.pending.push_back(Item::Message(cursor, data));
            }
            *at = message.position;
        }
        Ok(!slice.messages.is_empty() && *at < slice.last)
    }
}
