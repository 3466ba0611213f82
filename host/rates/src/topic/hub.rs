//! The live messages of a tenant, which a hub reads from the log once, however many subscribers follow it.
//!
//! A hub finds the subscribers of a message by its shop, so a subscriber costs nothing for messages that it does not
//! want. A subscriber that does not keep up is dropped: it goes on reading the log by itself, and joins again when it
//! has caught up (`subscription.rs`). A hub ends with its last subscriber.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_base::data::records::Records;
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_base::load::BoundedMap;
use tillgate_store::{Message, Position, hinted};
use tokio::sync::mpsc;

use super::message::{TOPIC, shop_of};
use super::reader::Reader;

/// The longest wait for a hint. After it, a hub reads the log anyway and checks that it still has a subscriber.
const POLL: Duration = Duration::from_secs(30);

/// The wait of a hub or a subscriber after the log could not be read.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

/// The number of messages to read at once.
pub(super) const PAGE: usize = 200;

/// The most messages that may wait for a subscriber before it is dropped.
const MAX_WAITING: usize = 256;

/// A message as subscribers receive it.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) position: Position,
    pub(super) data: Arc<str>,
}

/// The hubs of the tenants that have subscribers.
#[derive(Debug, Default)]
pub(crate) struct Hubs(Mutex<HashMap<TenantId, Weak<Hub>>>);

impl Hubs {
    /// Returns the hub of a tenant, and starts it if there is none.
    pub(super) fn of(&self, tenant: &TenantId, records: &Records) -> Arc<Hub> {
        let mut hubs = self.0.lock();
        if let Some(hub) = hubs.get(tenant).and_then(Weak::upgrade) {
            return hub;
        }
        hubs.retain(|_, hub| hub.strong_count() > 0);
        let hub = Arc::new(Hub::default());
        hubs.insert(tenant.clone(), Arc::downgrade(&hub));
        tokio::spawn(run(
            Arc::downgrade(&hub),
            Reader::new(tenant.clone(), records.clone()),
        ));
        hub
    }
}

#[derive(Debug, Default)]
pub(super) struct Hub(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The position up to which the log was read; `None` until a subscriber joins.
    read: Option<Position>,
    everything: Vec<mpsc::Sender<Live>>,
    /// No list is empty, but all subscribers of one may have left.
    by_shop: BoundedMap<String, Vec<mpsc::Sender<Live>>>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            read: None,
            everything: Vec::new(),
            by_shop: BoundedMap::new(usize::MAX),
        }
    }
}

impl Hub {
    /// Adds a subscriber to the messages after a position, of one shop or of all. Returns `None` when the hub has read
    /// on, because the subscriber would miss messages. The hub begins where its first subscriber joins.
    pub(super) fn join(&self, at: Position, shop: Option<&str>) -> Option<mpsc::Receiver<Live>> {
        let mut state = self.0.lock();
        if *state.read.get_or_insert(at) > at {
            return None;
        }
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let is_open = |sender: &mpsc::Sender<Live>| !sender.is_closed();
        let is_followed = |senders: &Vec<mpsc::Sender<Live>>| senders.iter().any(is_open);
        let State {
            everything,
            by_shop,
            ..
        } = &mut *state;
        let senders = match shop {
            None => everything,
            Some(shop) => by_shop.get_or_insert(shop.to_owned(), is_followed, Vec::new),
        };
        // Removes subscribers that have left, because there may never be a message that reveals it.
        senders.retain(is_open);
        senders.push(sender);
        Some(receiver)
    }

    /// Returns the position up to which the log was read; all messages up to there were sent.
    pub(super) fn read(&self) -> Option<Position> {
        self.0.lock().read
    }

    /// Returns whether a subscriber wants a message. If none does, it counts as read at once: the next to join begins
    /// after it.
    fn is_wanted(&self, shop: &str, at: Position) -> bool {
        let mut state = self.0.lock();
        let is_wanted = !state.everything.is_empty() || state.by_shop.get(shop).is_some();
        if !is_wanted {
            state.read = Some(at);
        }
        is_wanted
    }

    fn send(&self, shop: &str, position: Position, data: Option<&Arc<str>>) {
        let mut state = self.0.lock();
        state.read = Some(position);
        let Some(data) = data else { return };
        let keep = |sender: &mpsc::Sender<Live>| {
            let data = Arc::clone(data);
            sender.try_send(Live { position, data }).is_ok()
        };
        state.everything.retain(keep);
        if let Some(senders) = state.by_shop.get_mut(shop) {
            senders.retain(keep);
            if senders.is_empty() {
                state.by_shop.remove(shop);
            }
        }
    }
}

/// Reads the log for as long as the hub has subscribers.
async fn run(hub: Weak<Hub>, mut reader: Reader) {
    let (store, partition) = (
        Arc::clone(reader.records.store()),
        reader.records.partition().clone(),
    );
    let mut hints = store.hints(&partition);
    let mut failing = false;
    loop {
        let Some(hub) = hub.upgrade() else { return };
        match read_on(&hub, &mut reader).await {
            Ok(true) => continue,
            Ok(false) => failing = false,
            Err(cause) => {
                if !failing {
                    tracing::warn!(?partition, %cause, "the messages of a topic cannot be read");
                }
                failing = true;
            }
        }
        drop(hub);
        let wait = if failing { PAUSE } else { POLL };
        let _ = tokio::time::timeout(wait, hinted(&mut hints)).await;
    }
}

/// Sends the next messages and returns whether there may be more.
async fn read_on(hub: &Hub, reader: &mut Reader) -> Result<bool> {
    let (store, partition) = (reader.records.store(), reader.records.partition());
    let Some(read) = hub.read() else {
        return Ok(false);
    };
    let slice = store.read(partition, TOPIC, read, PAGE).await?;
    for message in &slice.messages {
        send(hub, reader, message).await?;
    }
    Ok(!slice.messages.is_empty())
}

async fn send(hub: &Hub, reader: &mut Reader, message: &Message) -> Result<()> {
    let (shop, position) = (shop_of(message), message.position);
    if hub.is_wanted(shop, position) {
        // A message without data is damaged and counts as read.
        let data = reader.data(message).await?;
        hub.send(shop, position, data.as_ref());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_that_have_left_are_let_go_though_no_message_comes() {
        let hub = Hub::default();
        let stays = hub.join(Position::default(), Some("stays"));
        for number in 0..10_000 {
            drop(hub.join(Position::default(), Some(&format!("shop-{number}"))));
            drop(hub.join(Position::default(), Some("stays")));
            drop(hub.join(Position::default(), None));
        }
        let mut state = hub.0.lock();
        assert!(state.by_shop.len() <= 64, "{}", state.by_shop.len());
        assert!(state.everything.len() <= 1);
        assert!(
            state
                .by_shop
                .get_mut("stays")
                .is_some_and(|all| all.len() <= 2)
        );
        assert!(stays.is_some_and(|stays| !stays.is_closed()));
    }
}
