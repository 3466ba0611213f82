//! The keys and encodings in Redis: the names of keys, the slot of a partition, positions as stream ids, entries.
//!
//! `README.md` beside this file documents them for those who read streams themselves. All keys of a partition have the
//! same hash tag, so a partition is in one slot of a cluster and a script may access all of it.

use bytes::{Buf, Bytes};

use super::super::contract::{Entry, Partition, Position, Revision};

/// The number of slots in a cluster.
pub(super) const SLOTS: u16 = 16_384;

/// The number of positions in each microsecond: a power of two, and more than a commit has messages.
const POSITIONS_PER_MOMENT: u64 = 1_024;

/// The kinds of keys of a queue, in the order that `commit.lua` expects.
pub(super) const QUEUE_KEYS: [&str; 3] = ["due", "jobs", "claims"];

/// The size in bytes above which a value's revision is also stored separately, so that a check need not read the value.
pub(super) const LARGE_VALUE: usize = 4 << 10;

/// The keys of one store.
#[derive(Clone, Debug)]
pub(super) struct Keyspace {
    prefix: String,
}

/// The keys of one partition.
#[derive(Clone, Debug)]
pub(super) struct PartitionKeys {
    /// `{PREFIX:PARTITION}:`
    tag: String,
    /// Its slot in a cluster.
    pub(super) slot: u16,
}

impl Keyspace {
    /// Creates the keys of the store with a prefix: letters, digits, `-` and `_`.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    pub(super) fn partition(&self, partition: &Partition) -> PartitionKeys {
        PartitionKeys::new(format!("{}:{}", self.prefix, partition.as_str()))
    }

    /// Returns the key of the index of all partitions, and its slot.
    pub(super) fn partitions(&self) -> (Bytes, u16) {
        let keys = PartitionKeys::new(self.prefix.clone());
        (keys.key("partitions"), keys.slot)
    }

    /// Returns the channel on which the names of partitions are published when they change.
    pub(super) fn channel(&self) -> String {
        format!("{}:hints", self.prefix)
    }
}

impl PartitionKeys {
    fn new(tag: String) -> Self {
        Self {
            slot: slot(tag.as_bytes()),
            tag: format!("{{{tag}}}:"),
        }
    }

    /// Returns a key that every partition has.
    pub(super) fn key(&self, kind: &str) -> Bytes {
        format!("{}{kind}", self.tag).into()
    }

    /// Returns a key of a log or a queue.
    pub(super) fn key_of(&self, kind: &str, name: &str) -> Bytes {
        format!("{}{kind}:{name}", self.tag).into()
    }
}

/// Computes the slot of a hash tag by CRC-16/XMODEM, as the cluster specification requires.
fn slot(tag: &[u8]) -> u16 {
    let crc = tag.iter().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    crc % SLOTS
}

/// Computes the position of a message from the publish time of its commit and its index among the commit's messages.
pub(super) fn position(at: u64, index: u64) -> Position {
    Position(
        at.saturating_mul(POSITIONS_PER_MOMENT)
            .saturating_add(index),
    )
}

pub(super) fn stream_id(position: Position) -> String {
    format!(
        "{}-{}",
        position.0 / POSITIONS_PER_MOMENT,
        position.0 % POSITIONS_PER_MOMENT
    )
}

/// Parses a stream id into its position.
pub(super) fn position_of(id: &str) -> Option<Position> {
    let (at, index) = id.split_once('-')?;
    Some(position(at.parse().ok()?, index.parse().ok()?))
}

/// Encodes an entry as it is stored in `values`: its revision, a space, its value.
pub(super) fn encode_entry(entry: &Entry) -> Vec<u8> {
    let revision = entry.revision.0.to_string();
    [revision.as_bytes(), b" ", &entry.value].concat()
}

pub(super) fn decode_entry(mut stored: Bytes) -> Option<Entry> {
    let space = stored.iter().position(|byte| *byte == b' ')?;
    let revision = str::from_utf8(stored.get(..space)?).ok()?.parse().ok()?;
    stored.advance(space + 1);
    Some(Entry {
        revision: Revision(revision),
        value: stored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        assert_eq!(slot(b"123456789"), 0x31C3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b""), 0);
    }

    #[test]
    fn a_position_is_its_stream_id() {
        for at in [
            0,
            1,
            1_023,
            1_024,
            1_767_225_600_000_000 << 10 | 7,
            u64::MAX,
        ] {
            assert_eq!(position_of(&stream_id(Position(at))), Some(Position(at)));
        }
        assert_eq!(position_of("1-x"), None);
    }
}
