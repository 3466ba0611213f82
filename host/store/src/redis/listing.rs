//! Lists how much of each kind a store on Redis holds, without content; hosts may serve the store meanwhile. Counts
//! come from the indexes, so each partition costs a server two short scripts, however many entries it has.

use std::collections::BTreeMap;

use bytes::Bytes;
use redis::Value;

use super::super::contract::{Partition, Unavailable};
use super::portable::metadata_of;
use super::reply;
use super::scripts::{self, Request};
use super::shared::Shared;
use crate::inspection::{Item, Kind, Listing};

/// The most partitions to look at.
const MAX_PARTITIONS: usize = 5_000;

/// The number of partitions to list at once.
const PAGE: usize = 500;

/// The number of items from which the bytes of a kind are estimated.
const SAMPLE: usize = 10;

/// The amounts of each kind.
type Kinds = BTreeMap<(Item, String), Kind>;

/// Lists what the store holds.
pub(super) async fn list(shared: &Shared) -> Result<Listing, Unavailable> {
    let (mut listing, mut kinds) = (Listing::default(), Kinds::new());
    let (mut after, mut seen) = (None, 0);
    while !listing.more {
        let names = shared.listed(after.as_deref(), PAGE).await?;
        for name in &names {
            if let Some(partition) = shared.existing(name).await? {
                add_partition(shared, &partition, &mut kinds).await?;
                listing.partitions += 1;
            }
        }
        seen += names.len();
        if names.len() < PAGE {
            break;
        }
        listing.more = seen >= MAX_PARTITIONS;
        after = names.last().cloned();
    }
    listing.kinds = kinds.into_values().filter(|kind| kind.count > 0).collect();
    Ok(listing)
}

/// Adds what a partition holds.
async fn add_partition(
    shared: &Shared,
    partition: &Partition,
    kinds: &mut Kinds,
) -> Result<(), Unavailable> {
    let metadata = metadata_of(shared, partition).await?;
    let keys = shared.keyspace.partition(partition);
    let mut names = vec![keys.key("keys"), keys.key("values")];
    let mut arguments = [SAMPLE, metadata.logs.len(), metadata.queues.len()]
        .map(|number| Bytes::from(number.to_string()))
        .to_vec();
    for log in metadata.logs.keys() {
        names.push(keys.key_of("log", log));
        arguments.push(Bytes::copy_from_slice(log.as_bytes()));
    }
    for queue in &metadata.queues {
        names.extend(["due", "jobs"].map(|kind| keys.key_of(kind, queue)));
        arguments.push(Bytes::copy_from_slice(queue.as_bytes()));
    }
    let request = Request::script(&scripts::LISTING, names, arguments);
    let found = shared.send_idempotent(keys.slot, &request).await?;
    let found = counts(found).ok_or_else(reply::unexpected)?;
    for (of, name, count, bytes) in found {
        let kind = kinds.entry((of, name.clone())).or_insert(Kind {
            of,
            name,
            partitions: 0,
            count: 0,
            bytes: 0,
        });
        kind.partitions += u64::from(count > 0);
        kind.count += count;
        kind.bytes += bytes;
    }
    Ok(())
}

/// Parses what the script has found: an item, its kind, how many, and their bytes.
fn counts(reply: Value) -> Option<Vec<(Item, String, u64, u64)>> {
    type Found = Vec<(String, u64, u64)>;
    let (entries, messages, jobs): (Found, Found, Found) = redis::from_redis_value(reply).ok()?;
    let of = |item, found: Found| {
        let found = found.into_iter();
        found.map(move |(name, count, bytes)| (item, name, count, bytes))
    };
    let all = of(Item::Entry, entries).chain(of(Item::Message, messages));
    Some(all.chain(of(Item::Job, jobs)).collect())
}
