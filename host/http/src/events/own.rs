//! Subscribers of their own events: these are found as their answer is sent, so that each subscriber takes the next ones
//! when it has read the last, and nothing waits for it.

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

/// How long a check may take. Nothing is sent meanwhile, and nobody else waits for it.
const MAX_CHECK: Duration = Duration::from_secs(10);

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
    /// There was nothing for the subscriber up to here: an event that only has an id. Readers that keep to the standard
    /// resume after it; some others take it for a message.
    Position(String),
    /// The same as a comment, which costs a reader that does not know it nothing but reading again.
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
    /// The answer to a subscriber of its own events: it takes the next ones when it has read the last.
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
