//! The ids of deliveries and the keys of their records, which sort newest first.

use std::fmt;

use serde::{Deserialize, Serialize};
use tillgate_store::clock::Timestamp;
use uuid::{NoContext, Uuid};

/// The key prefix of deliveries, newest first.
pub(crate) const DELIVERY: &str = "webhook-delivery/";

/// The time that keys count down from, in milliseconds: 48 bits.
const END_OF_TIME: u64 = (1 << 48) - 1;

/// The id of a delivery, a UUID of version 7. Its record's key counts time down, since journals are read backwards.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct DeliveryId(pub(crate) Uuid);

impl DeliveryId {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(time_ordered_id(now))
    }

    pub(crate) fn key(self) -> String {
        let bits = self.0.as_u128();
        let millis = u64::try_from(bits >> 80).unwrap_or(0);
        let rest = bits & ((1 << 80) - 1);
        format!("{DELIVERY}{:012x}{rest:020x}", END_OF_TIME - millis)
    }

    /// Returns the id in a record's key.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        let (millis, rest) = key.strip_prefix(DELIVERY)?.split_at_checked(12)?;
        let millis = END_OF_TIME.checked_sub(u64::from_str_radix(millis, 16).ok()?)?;
        let rest = u128::from_str_radix(rest, 16).ok()?;
        Some(Self(Uuid::from_u128(u128::from(millis) << 80 | rest)))
    }
}

/// Returns the key after which the deliveries of a time, and of earlier times, come.
pub(crate) fn key_before(at: Timestamp) -> String {
    let millis = (at.0 / 1_000).min(END_OF_TIME);
    // Sorts before every key of that millisecond, since those are longer.
    format!("{DELIVERY}{:012x}", END_OF_TIME - millis)
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Creates a UUID of version 7; UUIDs of a later time sort after it.
pub(crate) fn time_ordered_id(at: Timestamp) -> Uuid {
    let nanos = u32::try_from(at.0 % 1_000_000 * 1_000).unwrap_or(0);
    let at = uuid::Timestamp::from_unix(NoContext, at.seconds(), nanos);
    Uuid::new_v7(at)
}
