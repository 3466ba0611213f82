//! The documents that an instance keeps prepared, and the choice of those to release when there is no room for another.
//! Pure.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::DocumentDigest;

/// The most bytes of prepared documents that an instance keeps. Short and long documents have a limit each, so that
/// many long ones do not displace the short ones. The least recently used are released first, several at once.
const SHORT_LIMIT: usize = 16 << 20;
const LONG_LIMIT: usize = 48 << 20;
const RELEASED_TOGETHER: usize = 64;

/// Documents with more bytes than this are long.
const LONG: usize = 64 << 10;

/// The approximate bytes that a prepared document takes besides its text.
const OVERHEAD: usize = 1 << 10;

#[derive(Debug, Default)]
pub(super) struct PreparedDocuments {
    by_digest: HashMap<DocumentDigest, Prepared, RandomState>,
    /// The bytes that short documents and long documents take.
    taken: [usize; 2],
    /// Counts calls, to order documents by their last use.
    calls: u64,
}

/// A document that the module has prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The module's handle for it.
    pub(super) handle: u32,
    /// The length of its text.
    pub(super) bytes: usize,
    /// The round of the pool in which it was last used.
    round: u64,
    last_call: u64,
}

impl PreparedDocuments {
    /// Begins a call. The documents that it uses are not released before it ends.
    pub(super) const fn begin_call(&mut self) {
        self.calls += 1;
    }

    pub(super) fn has(&self, digest: &DocumentDigest) -> bool {
        self.by_digest.contains_key(digest)
    }

    /// Returns the handle of a document, and notes that this call uses it in a round of the pool.
    pub(super) fn find(&mut self, digest: &DocumentDigest, round: u64) -> Option<u32> {
        let prepared = self.by_digest.get_mut(digest)?;
        prepared.last_call = self.calls;
        prepared.round = round;
        Some(prepared.handle)
    }

    /// Adds a document that this call uses in a round of the pool.
    pub(super) fn insert(&mut self, digest: DocumentDigest, handle: u32, bytes: usize, round: u64) {
        *self.taken_by(bytes) += bytes + OVERHEAD;
        let prepared = Prepared {
            handle,
            bytes,
            round,
            last_call: self.calls,
        };
        self.by_digest.insert(digest, prepared);
    }

    pub(super) fn remove(&mut self, digest: &DocumentDigest) -> Option<Prepared> {
        let removed = self.by_digest.remove(digest)?;
        let taken = self.taken_by(removed.bytes);
        *taken = taken.saturating_sub(removed.bytes + OVERHEAD);
        Some(removed)
    }

    /// Returns the documents to release to make room for one of this size, the least recently used first. Documents
    /// that the current call uses stay.
    pub(super) fn displaced_by(&mut self, bytes: usize) -> Vec<DocumentDigest> {
        let limit = if is_long(bytes) {
            LONG_LIMIT
        } else {
            SHORT_LIMIT
        };
        let mut taken = *self.taken_by(bytes) + bytes + OVERHEAD;
        if taken <= limit {
            return Vec::new();
        }
        let of_its_kind = self.by_digest.iter().filter(|(_, other)| {
            other.last_call < self.calls && is_long(other.bytes) == is_long(bytes)
        });
        let mut idle: Vec<_> = of_its_kind
            .map(|(digest, other)| (other.last_call, *digest, other.bytes))
            .collect();
        idle.sort_unstable();
        let mut displaced = Vec::new();
        for (_, digest, size) in idle {
            let is_enough = taken <= limit / 8 * 7 || displaced.len() >= RELEASED_TOGETHER;
            if taken <= limit && is_enough {
                break;
            }
            taken = taken.saturating_sub(size + OVERHEAD);
            displaced.push(digest);
        }
        displaced
    }

    /// Returns the documents that were last used before a round of the pool.
    pub(super) fn unused_since(&self, round: u64) -> Vec<DocumentDigest> {
        let unused = self.by_digest.iter();
        let unused = unused.filter(|(_, prepared)| prepared.round < round);
        unused.map(|(digest, _)| *digest).collect()
    }

    /// Returns the approximate bytes that all documents take together.
    pub(super) fn size(&self) -> usize {
        self.taken.iter().sum()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Prepared> {
        self.by_digest.values()
    }

    fn taken_by(&mut self, bytes: usize) -> &mut usize {
        let [short, long] = &mut self.taken;
        if is_long(bytes) { long } else { short }
    }
}

const fn is_long(bytes: usize) -> bool {
    bytes > LONG
}
