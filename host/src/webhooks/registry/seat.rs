//! The seats of a tenant's listeners: so many, and no more, whoever asks first.
//!
//! A listener takes the record of a seat in the commit that creates its webhook. A seat has a queue, on which the
//! deliveries wait that the listener forwards: the names of queues stay few, however many listeners come and go.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The records of seats that are taken.
const SEAT: &str = "webhook-listener/";

/// The queues, one a seat.
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
pub(in crate::webhooks) const SEATS: usize = QUEUES.len();

/// A seat.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(try_from = "usize", into = "usize")]
pub(in crate::webhooks) struct Seat(usize);

/// Who has a seat.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(in crate::webhooks) struct Taken {
    pub(in crate::webhooks) webhook: Uuid,
    /// The stream that the deliveries go to: the newest.
    pub(in crate::webhooks) stream: Option<Uuid>,
}

impl Seat {
    /// All of them.
    pub(in crate::webhooks) fn all() -> impl Iterator<Item = Self> {
        (0..QUEUES.len()).map(Self)
    }

    /// Its queue.
    pub(in crate::webhooks) fn queue(self) -> &'static str {
        QUEUES.get(self.0).copied().unwrap_or_default()
    }

    /// The key of the record of who has it.
    pub(in crate::webhooks) fn key(self) -> String {
        format!("{SEAT}{}", self.0)
    }
}

impl TryFrom<usize> for Seat {
    type Error = String;

    fn try_from(number: usize) -> Result<Self, String> {
        let seat = Some(Self(number)).filter(|_| number < QUEUES.len());
        seat.ok_or_else(|| format!("there is no seat {number}"))
    }
}

impl From<Seat> for usize {
    fn from(seat: Seat) -> Self {
        seat.0
    }
}
