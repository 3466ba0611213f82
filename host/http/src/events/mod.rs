//! Server-sent events: one task for each stream that has subscribers, however many there are.
//!
//! The task hands each event to all subscribers, greets a new one with the newest event, sends heartbeats, and drops
//! those that may no longer subscribe, before each event and twice a second. A subscriber that does not read is dropped
//! when its queue is full: its connection ends, and it starts again with the newest event when it comes back. A
//! subscriber of its own events (`own.rs`) has no task. `text.rs` writes what is sent.

mod own;
mod text;

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use sync_wrapper::SyncStream;
use tillgate_base::data::quota::Usage;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::load::Requester;
use tillgate_base::load::budget::{Budget, Limit, Reservation};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::unconstrained;
use tokio::time::{MissedTickBehavior, timeout};
use warp::Reply as _;

pub use self::own::Followed;
use super::reply::Reply;

/// `X-Accel-Buffering`: tells nginx whether to buffer an answer.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The interval of the checks of who may still subscribe, and the number of checks per heartbeat: one every 15 seconds.
const CHECK: Duration = Duration::from_millis(500);
const CHECKS_PER_HEARTBEAT: u32 = 30;

/// The time limit of a check. A subscriber that cannot be checked is dropped, and may come back.
const MAX_CHECK: Duration = Duration::from_secs(1);

/// The most events that may wait for a subscriber to read them.
const MAX_WAITING: usize = 16;

/// The fewest bytes of events to send together while more are waiting, since each part of an answer costs a write.
const AT_ONCE: usize = 16 << 10;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id, with which a subscriber says how far it has read.
    pub id: Arc<str>,
    /// The data of the event, on one line.
    pub data: Arc<str>,
}

/// A slot among the subscribers of a requester, which is freed when dropped.
pub(super) type Slot = Reservation<Requester>;

/// Returns whether a subscriber may still subscribe.
pub(super) type Authorization = Box<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;

#[derive(Clone)]
enum Sent {
    Event(Event),
    Heartbeat,
}

impl Sent {
    fn add_to(&self, text: &mut String) {
        match self {
            Self::Event(Event { id, data }) => text::add_event(text, id, None, Some(data)),
            Self::Heartbeat => text.push_str(text::HEARTBEAT),
        }
    }
}

struct Subscriber {
    authorization: Authorization,
    queue: mpsc::Sender<Sent>,
}

impl Subscriber {
    /// Sends to the subscriber. Returns whether it is still there and reads.
    fn send(&self, sent: &Sent) -> bool {
        self.queue.try_send(sent.clone()).is_ok()
    }
}

/// The streams that have subscribers, by name.
#[derive(Debug)]
pub(super) struct Streams {
    sources: Arc<Sources>,
    /// The subscribers of each tenant.
    subscribers: Arc<Budget<Requester>>,
    /// The threads that send to subscribers: many of them must not keep requests waiting.
    pool: Handle,
    stopping: watch::Receiver<bool>,
}

type Sources = Mutex<HashMap<String, mpsc::UnboundedSender<Subscriber>>>;

impl Streams {
    /// Allows each tenant this many subscribers.
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

    pub(super) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Reserves a slot for a subscriber of the requester.
    pub(super) fn slot(&self) -> Result<Slot> {
        let slot = self.subscribers.reserve(Some(Requester::current()), 1);
        slot.ok_or_else(|| Error::quota("event streams", self.subscribers.limit().each))
    }

    /// Returns how many subscribers a tenant has.
    pub(super) fn of(&self, tenant: &TenantId) -> Usage {
        let tenant = Requester::Tenant(tenant.clone());
        Usage::of(
            self.subscribers.reserved_by(&tenant),
            self.subscribers.limit().each,
        )
    }

    /// Returns the answer to a new subscriber of a stream.
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
                    // Events from before the subscriber joined go first, so that its greeting is the newest.
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

    /// Sends an event to every subscriber that may still subscribe.
    async fn publish(&mut self, event: Event) {
        self.drop_unauthorized().await;
        self.send(&Sent::Event(event.clone()));
        self.newest = Some(event);
    }

    /// Sends to all subscribers, and drops those that have gone or do not read.
    fn send(&mut self, sent: &Sent) {
        self.subscribers.retain(|subscriber| subscriber.send(sent));
    }

    async fn drop_unauthorized(&mut self) {
        let check = async |subscriber: Subscriber| {
            let is_authorized = !subscriber.queue.is_closed()
                && timeout(MAX_CHECK, (subscriber.authorization)()).await == Ok(true);
            is_authorized.then_some(subscriber)
        };
        // All at once, so that a token whose issuer must be asked does not hold up the others.
        let checked = join_all(self.subscribers.drain(..).map(check)).await;
        self.subscribers = checked.into_iter().flatten().collect();
    }

    /// Removes the stream from the map, unless a subscriber has joined meanwhile. Returns whether it did.
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

/// Returns the texts of what waits for a subscriber, and holds its slot until they end.
fn received(
    queue: mpsc::Receiver<Sent>,
    slot: Slot,
) -> impl Stream<Item = String> + Send + 'static {
    stream::unfold((queue, slot), |(mut queue, slot)| async {
        let mut text = String::new();
        queue.recv().await?.add_to(&mut text);
        while text.len() < AT_ONCE
            && let Ok(sent) = queue.try_recv()
        {
            sent.add_to(&mut text);
        }
        Some((text, (queue, slot)))
    })
}

/// Returns the answer with these texts of events, which nginx passes on as they come.
fn reply(texts: impl Stream<Item = String> + Send + 'static) -> Reply {
    let texts = SyncStream::new(texts.map(Ok::<_, Infallible>));
    let reply = Reply::stream(warp::reply::stream(texts).into_response());
    reply
        .with(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))
        .with(X_ACCEL_BUFFERING, HeaderValue::from_static("no"))
}
