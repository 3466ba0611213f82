//! Where everything lies in Redis: the names of keys, the slot of a partition, positions as stream ids, how an entry
//! is written.
//!
//! `README.md` beside this file is the same in words, for those who read streams themselves. Every key of a partition
//! has one hash tag, so a partition lies in one slot of a cluster and a script may touch all of it.

use bytes::{Buf, Bytes};

use super::super::{Entry, Partition, Position, Revision};

/// How many slots a cluster has.
pub(super) const SLOTS: u16 = 16_384;

/// How many places of a stream one moment has: one more bit than a commit has messages.
const PLACES: u64 = 1_024;

/// An entry's revision stands before its value. That of a value with more bytes stands alone too, so that a check need
/// not read it.
pub(super) const LARGE: usize = 4 << 10;

/// The keys of one store.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    prefix: String,
}

/// The keys of one partition.
#[derive(Clone, Debug)]
pub(super) struct Home {
    /// `{PREFIX:PARTITION}:`
    tag: String,
    /// Its slot in a cluster.
    pub(super) slot: u16,
}

impl Layout {
    /// The keys of the store with a prefix: letters, digits, `-` and `_`.
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    /// The keys of a partition.
    pub(super) fn home(&self, partition: &Partition) -> Home {
        Home::new(format!("{}:{}", self.prefix, partition.as_str()))
    }

    /// The set of all partitions that ever had a commit, and its slot.
    pub(super) fn partitions(&self) -> (Bytes, u16) {
        let home = Home::new(self.prefix.clone());
        (home.key("partitions"), home.slot)
    }

    /// The channel on which the name of a partition is published when it changes.
    pub(super) fn channel(&self) -> String {
        format!("{}:hints", self.prefix)
    }
}

impl Home {
    fn new(tag: String) -> Self {
        Self {
            slot: slot(tag.as_bytes()),
            tag: format!("{{{tag}}}:"),
        }
    }

    /// A key that every partition has.
    pub(super) fn key(&self, kind: &str) -> Bytes {
        format!("{}{kind}", self.tag).into()
    }

    /// A key of a log or a queue.
    pub(super) fn key_of(&self, kind: &str, name: &str) -> Bytes {
        format!("{}{kind}:{name}", self.tag).into()
    }
}

/// The slot of a hash tag: CRC-16/XMODEM, as the cluster specification asks.
fn slot(tag: &[u8]) -> u16 {
    let crc = tag.iter().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    crc % SLOTS
}

/// The position of the message at a place of a commit's messages.
pub(super) fn position(moment: u64, place: u64) -> Position {
    Position(moment.saturating_mul(PLACES).saturating_add(place))
}

/// The stream id of a position.
pub(super) fn id(position: Position) -> String {
    format!("{}-{}", position.0 / PLACES, position.0 % PLACES)
}

/// The position of a stream id.
pub(super) fn position_of(id: &str) -> Option<Position> {
    let (moment, place) = id.split_once('-')?;
    Some(position(moment.parse().ok()?, place.parse().ok()?))
}

/// An entry as it lies in `values`: its revision, a blank, its value.
pub(super) fn put(entry: &Entry) -> Vec<u8> {
    let revision = entry.revision.0.to_string();
    [revision.as_bytes(), b" ", &entry.value].concat()
}

/// The entry that lies there.
pub(super) fn entry(mut put: Bytes) -> Option<Entry> {
    let blank = put.iter().position(|byte| *byte == b' ')?;
    let revision = str::from_utf8(put.get(..blank)?).ok()?.parse().ok()?;
    put.advance(blank + 1);
    Some(Entry {
        revision: Revision(revision),
        value: put,
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
            assert_eq!(position_of(&id(Position(at))), Some(Position(at)));
        }
        assert_eq!(position_of("1-x"), None);
    }
}
