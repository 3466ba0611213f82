//! The slots of a tenant's listeners: so many listeners may there be at once, whichever come first.
//!
//! A listener takes the record of a slot in the commit that creates its webhook. A slot has a queue, on which the
//! deliveries wait that the listener forwards: the names of queues stay few, however many listeners come and go.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The records of slots that are taken.
const SLOT: &str = "webhook-listener/";

/// The queues, one a slot.
const QUEUES: [&str; 10] = [
    "webhook-listener/0",
    "webhook-listener/1",
    "webhook-listener/2",
    "webhook-listener/3",
    "webhook-listener/4",
    "webhook-listener/5",
    "webhook-listener/6",
    "webhook-listener/7",
    "webhook-listener/8",
    "webhook-listener/9",
];

/// How many there are.
pub(in crate::webhooks) const SLOTS: usize = QUEUES.len();

/// A slot.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(try_from = "usize", into = "usize")]
pub(in crate::webhooks) struct Slot(usize);

/// The listener that has a slot.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(in crate::webhooks) struct SlotHolder {
    pub(in crate::webhooks) webhook: Uuid,
    /// The stream that the deliveries go to: the newest.
    pub(in crate::webhooks) stream: Option<Uuid>,
}

impl Slot {
    /// All of them.
    pub(in crate::webhooks) fn all() -> impl Iterator<Item = Self> {
        (0..QUEUES.len()).map(Self)
    }

    /// Its queue.
    pub(in crate::webhooks) fn queue(self) -> &'static str {
        QUEUES.get(self.0).copied().unwrap_or_default()
    }

    /// The key of the record of its holder.
    pub(in crate::webhooks) fn key(self) -> String {
        format!("{SLOT}{}", self.0)
    }
}

impl TryFrom<usize> for Slot {
    type Error = String;

    fn try_from(number: usize) -> Result<Self, String> {
        let slot = Some(Self(number)).filter(|_| number < QUEUES.len());
        slot.ok_or_else(|| format!("there is no slot {number}"))
    }
}

impl From<Slot> for usize {
    fn from(slot: Slot) -> Self {
        slot.0
    }
}
