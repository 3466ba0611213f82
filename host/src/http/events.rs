//! Server-sent events: one task for each stream that has subscribers, however many they are.
//!
//! The task hands each event to all subscribers, greets a new one with the newest event, sends heartbeats, and drops those
//! that may not subscribe any more, before each event and twice a second. A subscriber that does not read is dropped when
//! its queue is full: its connection ends, and it starts again with the newest event when it comes back. A subscriber of
//! its own events has no task: they are found as its answer is sent.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{BoxStream, Fuse};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use parking_lot::Mutex;
use sync_wrapper::SyncStream;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::unconstrained;
use tokio::time::{Interval, MissedTickBehavior, timeout};
use warp::Reply as _;
use warp::sse;

use super::reply::Reply;
use crate::data::quota::Usage;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::load::Requester;
use crate::load::budget::{Budget, Limit, Reservation};

/// How often it is checked who may still subscribe, and after how many checks a heartbeat is sent: every 15 seconds.
const CHECK: Duration = Duration::from_millis(500);
const CHECKS_PER_HEARTBEAT: u32 = 30;

/// How long a check may take; a subscriber that cannot be checked is dropped, and may come back.
const MAX_CHECK: Duration = Duration::from_secs(1);

/// How many events may wait for a subscriber to read them.
const MAX_WAITING: usize = 16;

/// How many bytes of events go together at least, when so many wait: each part of an answer costs a write.
const AT_ONCE: usize = 16 << 10;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id, with which a subscriber says how far it has read.
    pub id: Arc<str>,
    /// What has happened, on one line.
    pub data: Arc<str>,
}

/// A place among the subscribers of a requester, until it is dropped.
pub(super) type Slot = Reservation<Requester>;

/// Tells whether a subscriber may still subscribe.
pub(super) type Authorization = Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

#[derive(Clone)]
enum Sent {
    Event(Event),
    Heartbeat,
}

impl Sent {
    fn event(&self) -> sse::Event {
        match self {
            Self::Event(Event { id, data }) => sse::Event::default().id(&**id).data(&**data),
            Self::Heartbeat => heartbeat(),
        }
    }
}

struct Subscriber {
    authorization: Authorization,
    queue: mpsc::Sender<Sent>,
}

impl Subscriber {
    /// Sends to the subscriber; whether it is still there and reads.
    fn send(&self, sent: &Sent) -> bool {
        self.queue.try_send(sent.clone()).is_ok()
    }
}

/// The streams that have subscribers, by name.
#[derive(Debug)]
pub(super) struct Streams {
    sources: Arc<Sources>,
    /// How many subscribers each tenant has.
    subscribers: Arc<Budget<Requester>>,
    /// Where they are told: many of them must not keep requests waiting.
    pool: Handle,
    stopping: watch::Receiver<bool>,
}

type Sources = Mutex<HashMap<String, mpsc::UnboundedSender<Subscriber>>>;

impl Streams {
    /// Each tenant may have so many subscribers.
    pub(super) fn new(stopping: watch::Receiver<bool>, pool: Handle, each: usize) -> Self {
        let limit = Limit {
            all: usize::MAX,
            each,
        };
        Self {
            sources: Arc::default(),
            subscribers: Budget::new(limit),
            pool,
            stopping,
        }
    }

    /// A slot for a subscriber of the requester.
    pub(super) fn slot(&self) -> Result<Slot> {
        let slot = self.subscribers.reserve(Some(Requester::current()), 1);
        slot.ok_or_else(|| Error::quota("event streams", self.subscribers.limit().each))
    }

    /// How many subscribers a tenant has.
    pub(super) fn of(&self, tenant: &TenantId) -> Usage {
        let tenant = Requester::Tenant(tenant.clone());
        Usage::of(
            self.subscribers.reserved_by(&tenant),
            self.subscribers.limit().each,
        )
    }

    /// The answer to a new subscriber of a stream.
    pub(super) fn subscribe<U>(
        &self,
        name: &str,
        (authorization, slot): (Authorization, Slot),
        updates: impl FnOnce() -> U,
    ) -> Reply
    where
        U: Stream<Item = Event> + Send + 'static,
    {
        let (queue, queued) = mpsc::channel(MAX_WAITING);
        let mut subscriber = Subscriber {
            authorization,
            queue,
        };
        let mut sources = lock(&self.sources);
        if let Some(source) = sources.get(name) {
            match source.send(subscriber) {
                Ok(()) => return reply(received(queued, slot)),
                // The source has just ended.
                Err(unsent) => subscriber = unsent.0,
            }
        }
        let (joining, joined) = mpsc::unbounded_channel();
        sources.insert(name.to_owned(), joining);
        let source = Source {
            name: name.to_owned(),
            sources: Arc::clone(&self.sources),
            joining: joined,
            subscribers: vec![subscriber],
            newest: None,
        };
        self.pool
            .spawn(source.run(updates(), self.stopping.clone()));
        reply(received(queued, slot))
    }
}

/// What a subscriber of its own events is sent.
#[derive(Clone, Debug)]
pub enum Followed {
    /// An event.
    Event {
        /// Its id, with which the subscriber says how far it has read.
        id: String,
        /// Its name, where it is not a message.
        name: Option<&'static str>,
        /// What has happened, on one line.
        data: Arc<str>,
    },
    /// There was nothing for the subscriber up to here.
    Position(String),
}

impl From<Followed> for sse::Event {
    fn from(item: Followed) -> Self {
        match item {
            Followed::Event { id, name, data } => {
                let event = Self::default().id(id).data(&*data);
                match name {
                    Some(name) => event.event(name),
                    None => event,
                }
            }
            Followed::Position(id) => Self::default().id(id),
        }
    }
}

impl Streams {
    /// The answer to a subscriber of its own events: it takes the next ones when it has read the last.
    pub(super) fn follow(
        &self,
        (authorization, slot): (Authorization, Slot),
        items: impl Stream<Item = Followed> + Send + 'static,
    ) -> Reply {
        let mut checks = tokio::time::interval(CHECK);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let own = Own {
            items: items.boxed().fuse(),
            authorization,
            checks,
            count: 0,
            stopping: self.stopping.clone(),
            _slot: slot,
        };
        let texts = stream::unfold(own, |mut own| async {
            let text = own.next().await?;
            Some((text, own))
        });
        reply(texts)
    }
}

/// One subscriber's own events.
struct Own {
    items: Fuse<BoxStream<'static, Followed>>,
    authorization: Authorization,
    checks: Interval,
    count: u32,
    stopping: watch::Receiver<bool>,
    /// Held for as long as it subscribes.
    _slot: Slot,
}

impl Own {
    /// The text of the next events, of all that are there already as far as they fit; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            let item = tokio::select! {
                item = self.items.next() => Some(item?),
                _ = self.checks.tick() => None,
                () = stopped(&mut self.stopping) => return None,
            };
            // Before each event and twice a second, as of any stream.
            if timeout(MAX_CHECK, (self.authorization)()).await != Ok(true) {
                return None;
            }
            if let Some(item) = item {
                let mut text = sse::Event::from(item).to_string();
                while text.len() < AT_ONCE
                    && let Some(Some(item)) = self.items.next().now_or_never()
                {
                    add(&mut text, &item.into());
                }
                return Some(text);
            }
            self.count = self.count.wrapping_add(1);
            if self.count.is_multiple_of(CHECKS_PER_HEARTBEAT) {
                return Some(heartbeat().to_string());
            }
        }
    }
}

/// The task of one stream.
struct Source {
    name: String,
    sources: Arc<Sources>,
    joining: mpsc::UnboundedReceiver<Subscriber>,
    subscribers: Vec<Subscriber>,
    newest: Option<Event>,
}

impl Source {
    async fn run(
        mut self,
        updates: impl Stream<Item = Event>,
        mut stopping: watch::Receiver<bool>,
    ) {
        let mut updates = pin!(updates.fuse());
        let mut checks = tokio::time::interval(CHECK);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut count = 0_u32;
        loop {
            tokio::select! {
                event = updates.next() => match event {
                    Some(event) => self.publish(event).await,
                    None => break,
                },
                Some(subscriber) = self.joining.recv() => {
                    // Events from before the subscriber joined may still wait here: it is greeted with nothing older.
                    for _ in 0..MAX_WAITING {
                        let Some(Some(event)) = unconstrained(updates.next()).now_or_never() else {
                            break;
                        };
                        self.publish(event).await;
                    }
                    let greeting = self.newest.clone().map(Sent::Event);
                    if greeting.is_none_or(|greeting| subscriber.send(&greeting)) {
                        self.subscribers.push(subscriber);
                    }
                }
                _ = checks.tick() => {
                    self.drop_unauthorized().await;
                    count = count.wrapping_add(1);
                    if count.is_multiple_of(CHECKS_PER_HEARTBEAT) {
                        self.send(&Sent::Heartbeat);
                    }
                    if self.subscribers.is_empty() && self.is_forgotten() {
                        return;
                    }
                }
                () = stopped(&mut stopping) => break,
            }
        }
        lock(&self.sources).remove(&self.name);
    }

    /// Sends an event to every subscriber that still may subscribe.
    async fn publish(&mut self, event: Event) {
        self.drop_unauthorized().await;
        self.send(&Sent::Event(event.clone()));
        self.newest = Some(event);
    }

    /// Sends to all, and drops those that are gone or do not read.
    fn send(&mut self, sent: &Sent) {
        self.subscribers.retain(|subscriber| subscriber.send(sent));
    }

    async fn drop_unauthorized(&mut self) {
        let check = async |subscriber: Subscriber| {
            let is_authorized = !subscriber.queue.is_closed()
                && timeout(MAX_CHECK, (subscriber.authorization)()).await == Ok(true);
            is_authorized.then_some(subscriber)
        };
        // All at once: a token whose issuer has to be asked must not hold up the others.
        let checked = join_all(self.subscribers.drain(..).map(check)).await;
        self.subscribers = checked.into_iter().flatten().collect();
    }

    /// Takes the stream from the map, unless a subscriber has joined in the meantime.
    fn is_forgotten(&self) -> bool {
        let mut sources = lock(&self.sources);
        if !self.joining.is_empty() {
            return false;
        }
        sources.remove(&self.name);
        true
    }
}

/// Waits until the host is stopping.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

fn lock(
    sources: &Sources,
) -> parking_lot::MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Subscriber>>> {
    sources.lock()
}

/// The texts of what waits for a subscriber, which keeps its slot until then.
fn received(
    queue: mpsc::Receiver<Sent>,
    slot: Slot,
) -> impl Stream<Item = String> + Send + 'static {
    stream::unfold((queue, slot), |(mut queue, slot)| async {
        let mut text = queue.recv().await?.event().to_string();
        while text.len() < AT_ONCE
            && let Ok(sent) = queue.try_recv()
        {
            add(&mut text, &sent.event());
        }
        Some((text, (queue, slot)))
    })
}

fn heartbeat() -> sse::Event {
    sse::Event::default().comment("heartbeat")
}

fn add(text: &mut String, event: &sse::Event) {
    // Writing to a text never fails.
    let _ = write!(text, "{event}");
}

/// The answer with these texts of events.
fn reply(texts: impl Stream<Item = String> + Send + 'static) -> Reply {
    let texts = SyncStream::new(texts.map(Ok::<_, Infallible>));
    let reply = Reply::stream(warp::reply::stream(texts).into_response());
    reply.with(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))
}
