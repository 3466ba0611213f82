//! A subscriber's way through the topic: from its cursor to the newest message by itself, then live.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, Stream, stream};
use tokio::sync::mpsc;
use tokio::time::Interval;

use super::cursor::Cursor;
use super::hub::{Hub, Hubs, Live, PAGE};
use super::{Reader, TOPIC, shop_of};
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::records::Records;
use crate::error::Result;
use crate::identity::TenantId;
use crate::store::{ChangedPartitions, Message, Partition, PartitionHints, Position};

/// How many messages a subscriber reads by itself at once: there may be very many who do.
const OWN_PAGE: usize = 32;

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

/// The messages of a tenant after a cursor, without end. The newest message is that of now, not of when the stream is
/// first asked.
///
/// # Errors
/// When the store is away.
pub(in crate::rates) async fn follow(
    hubs: &Hubs,
    records: Records,
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
    /// Whether it is told when messages after its position are gone.
    may_reset: bool,
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

    /// Finds where to begin.
    async fn begin(&mut self, after: &Cursor) -> Result<()> {
        let (store, partition) = (self.reader.records.store(), self.reader.records.partition());
        let newest = store.read(partition, TOPIC, Position::default(), 0);
        let newest = newest.await?.last;
        self.at = match after {
            Cursor::Tenant(_, position) => *position,
            Cursor::Latest | Cursor::All(_) => newest,
            Cursor::Earliest => Position::default(),
        };
        // A cursor from a log that was longer, before the store was restored.
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

/// The messages of all tenants after a cursor, without end, as those of one. A cursor that is older than `retention`
/// resets.
///
/// # Errors
/// When the store is away.
pub(in crate::rates) async fn follow_all(
    app: &Arc<App>,
    filter: Filter,
    after: Cursor,
    retention: Duration,
) -> Result<impl Stream<Item = Item> + Send + use<>> {
    let mut pending = VecDeque::new();
    let now = app.clock.now();
    match after {
        Cursor::All(at) if at < now.minus(retention) => {
            pending.push_back(Item::Reset(after.clone()));
        }
        Cursor::Latest => pending.push_back(Item::Position(Cursor::All(now))),
        _ => {}
    }
    let mut everyone = Everyone {
        hints: app.store.partition_hints(),
        app: Arc::clone(app),
        filter,
        read_to: after.clone(),
        scan: tokio::time::interval(SCAN),
        unread: HashSet::new(),
        began: Timestamp(0),
        logs: HashMap::new(),
        changed: VecDeque::new(),
        pending,
    };
    everyone.look_at_all(Some(&after)).await?;
    if after == Cursor::Latest {
        everyone.read_to = Cursor::All(everyone.began);
    }
    everyone.scan.reset();
    Ok(stream::unfold(everyone, |mut everyone| async {
        Some((everyone.next().await, everyone))
    }))
}

struct Everyone {
    app: Arc<App>,
    hints: PartitionHints,
    filter: Filter,
    /// Up to where the messages of all logs were sent: the cursor of what is sent next. A message of one log says nothing of
    /// the others, so this moves only when all of them were read.
    read_to: Cursor,
    /// When all partitions are looked at again.
    scan: Interval,
    /// Those that were not read to their end since then, and when that was.
    unread: HashSet<Partition>,
    began: Timestamp,
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
            // Behind the others, so that a busy tenant does not hold them up.
            self.changed.push_back(partition);
        }
        read.map(|_| ())
    }

    /// A partition was read to its end. When all were, so were all messages of the time before.
    fn has_read(&mut self, partition: &Partition) {
        if self.unread.remove(partition) && self.unread.is_empty() {
            self.read_to = Cursor::All(self.began);
            self.pending.push_back(Item::Position(self.read_to.clone()));
        }
    }

    /// Has all partitions read. With a `start`, that is where to begin in them; in later ones it is at their beginning.
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
            }
            *at = message.position;
        }
        Ok(!slice.messages.is_empty() && *at < slice.last)
    }
}
