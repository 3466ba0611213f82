//! Subscribers of their own events. These are looked up while the answer is sent: each subscriber takes the next ones
//! once it has read the last, and none wait in a queue.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, Fuse};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, timeout};

use super::{
    AT_ONCE, Authorization, CHECK, CHECKS_PER_HEARTBEAT, Slot, Streams, reply, stopped, text,
};
use crate::reply::Reply;

/// The time limit of a check. The stream sends nothing during a check, and no other request waits for it.
const MAX_CHECK: Duration = Duration::from_secs(10);

/// A message to a subscriber of its own events.
#[derive(Clone, Debug)]
pub enum Followed {
    /// An event.
    Event {
        /// Its id, with which the subscriber says how far it has read.
        id: String,
        /// Its name, unless it is a message.
        name: Option<&'static str>,
        /// The data of the event, on one line.
        data: Arc<str>,
    },
    /// An event that only has an id, since there was nothing for the subscriber up to here. Readers that follow the
    /// standard resume after it; some others take it for a message.
    Position(String),
    /// A position as a comment. A reader that does not know it only has to read again.
    CaughtUp(String),
}

impl Followed {
    fn add_to(&self, text: &mut String) {
        match self {
            Self::Event { id, name, data } => text::add_event(text, id, *name, Some(data)),
            Self::Position(id) => text::add_event(text, id, None, None),
            Self::CaughtUp(cursor) => text::add_cursor(text, cursor),
        }
    }
}

impl Streams {
    /// Returns the answer to a subscriber of its own events, which takes the next ones once it has read the last.
    pub(crate) fn follow(
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
    /// Held for as long as the subscription lasts.
    _slot: Slot,
}

impl Own {
    /// Returns the text of the next events, as many as are there and fit; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            let item = tokio::select! {
                item = self.items.next() => Some(item?),
                _ = self.checks.tick() => None,
                () = stopped(&mut self.stopping) => return None,
            };
            // Checked before each event and twice a second, as for any stream.
            if timeout(MAX_CHECK, (self.authorization)()).await != Ok(true) {
                return None;
            }
            if let Some(item) = item {
                let mut text = String::new();
                item.add_to(&mut text);
                while text.len() < AT_ONCE
                    && let Some(Some(item)) = self.items.next().now_or_never()
                {
                    item.add_to(&mut text);
                }
                return Some(text);
            }
            self.count = self.count.wrapping_add(1);
            if self.count.is_multiple_of(CHECKS_PER_HEARTBEAT) {
                return Some(text::HEARTBEAT.to_owned());
            }
        }
    }
}
