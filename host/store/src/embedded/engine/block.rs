//! A block: consecutive keys of a run, each with its value or a tombstone; the unit that redb stores.
//!
//! An entry is the lengths of its key and its value, the key and the value. The entries are followed by the offset of
//! each, so that one is found without reading the others, and by their number. Then come the bounds of the block: the
//! first key that could be in it and the first that no longer could, which is where the next block begins. The blocks of
//! a run leave no gap, so one that redb's tree no longer leads to is missed. A large entry's block ends right behind its
//! key, so that nobody reads it who looks for another one. At the end is a checksum of it all and of the run's number.
//! Numbers are little-endian.

use bytes::Bytes;

use super::tables::malformed;

/// The most bytes of a block and its key in redb's table: they fit in a page of 16 KiB beside redb's own header. A larger
/// entry gets a block of its own.
const MAX_BYTES: usize = (16 << 10) - 64;

/// The bytes of the lengths of a key and of a value.
const LENGTHS: usize = 2 + 4;

/// The bytes of the length of a bound.
const BOUND: usize = 2;

/// The length of the value that marks a tombstone.
const TOMBSTONE: u32 = u32::MAX;

/// A block that is being built.
#[derive(Default)]
pub(in super::super) struct Builder {
    bytes: Vec<u8>,
    offsets: Vec<u32>,
    /// Where the block begins: where the one before ended; empty for the first.
    from: Vec<u8>,
}

/// A block that is read.
#[derive(Clone, Copy)]
pub(in super::super) struct Block<'a> {
    bytes: &'a [u8],
    /// Where each entry begins.
    offsets: &'a [[u8; 4]],
    /// The first key that could be in it.
    from: &'a [u8],
    /// The first key that no longer could; empty when there is none.
    to: &'a [u8],
}

/// A key with its value; `None` for a tombstone.
pub(in super::super) type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

impl Builder {
    /// Whether an entry still fits. The first one fits whatever its length.
    pub(in super::super) fn fits(&self, key: &[u8], value: Option<&[u8]>) -> bool {
        let trailer = 4 * (self.offsets.len() + 3) + 2 * BOUND;
        let entry = LENGTHS + key.len() + value.map_or(0, <[u8]>::len);
        // The bound behind it is about as long as its key, and its own begins the key in redb's table too.
        let bounds = 2 * self.from.len() + 2 * key.len();
        self.offsets.is_empty() || self.bytes.len() + entry + trailer + bounds <= MAX_BYTES
    }

    /// Adds an entry, whose key must be greater than those before it.
    ///
    /// # Errors
    /// When a length does not fit in its field.
    pub(in super::super) fn push(
        &mut self,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), redb::Error> {
        if self.offsets.is_empty() {
            // At once, with what comes behind a single entry: growing by doubling would copy a large one.
            let trailer = 4 * 3 + 2 * BOUND + self.from.len() + key.len() + 1;
            let one = LENGTHS + key.len() + value.map_or(0, <[u8]>::len) + trailer;
            self.bytes.reserve_exact(one.max(MAX_BYTES));
        }
        let offset = u32::try_from(self.bytes.len()).map_err(|_| malformed())?;
        let length = value.map_or(Ok(TOMBSTONE), |value| u32::try_from(value.len()));
        let length = length.map_err(|_| malformed())?;
        self.offsets.push(offset);
        self.bytes.extend_from_slice(&as_u16(key)?);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        Ok(())
    }

    /// Whether it is one entry that is larger than other blocks.
    pub(in super::super) fn is_large(&self) -> bool {
        self.bytes.len() > MAX_BYTES
    }

    /// Ends a block before the key `to`, or at the end of the run when it is empty; returns where it begins and the
    /// block, and begins the next.
    ///
    /// # Errors
    /// When a length does not fit in its field.
    pub(in super::super) fn finish(
        &mut self,
        run: u64,
        to: &[u8],
    ) -> Result<(Vec<u8>, Vec<u8>), redb::Error> {
        let Self {
            mut bytes,
            offsets,
            from,
        } = std::mem::take(self);
        let count = u32::try_from(offsets.len()).map_err(|_| malformed())?;
        for number in offsets.iter().chain([&count]) {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for bound in [from.as_slice(), to] {
            bytes.extend_from_slice(bound);
            bytes.extend_from_slice(&as_u16(bound)?);
        }
        let checksum = checksum(run, &bytes);
        bytes.extend_from_slice(&checksum);
        self.from.extend_from_slice(to);
        Ok((from, bytes))
    }
}

fn as_u16(bytes: &[u8]) -> Result<[u8; BOUND], redb::Error> {
    let length = u16::try_from(bytes.len()).map_err(|_| malformed())?;
    Ok(length.to_le_bytes())
}

fn checksum(run: u64, content: &[u8]) -> [u8; 4] {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&run.to_le_bytes());
    checksum.update(content);
    checksum.finalize().to_le_bytes()
}

impl<'a> Block<'a> {
    /// Verifies a block of a run that was read from disk, since redb does not verify its pages.
    ///
    /// # Errors
    /// When it is not as it was written.
    pub(in super::super) fn read(run: u64, bytes: &'a [u8]) -> Result<Self, redb::Error> {
        let (content, found) = bytes.split_last_chunk().ok_or_else(malformed)?;
        if *found != checksum(run, content) {
            return Err(malformed());
        }
        Self::of(bytes)
    }

    /// A block that was verified before.
    ///
    /// # Errors
    /// When its trailer is malformed.
    pub(in super::super) fn of(bytes: &'a [u8]) -> Result<Self, redb::Error> {
        let block = || {
            let (rest, _) = bytes.split_last_chunk::<4>()?;
            let (rest, to) = split_bound(rest)?;
            let (rest, from) = split_bound(rest)?;
            let (rest, count) = rest.split_last_chunk::<4>()?;
            let trailer = usize::try_from(u32::from_le_bytes(*count))
                .ok()?
                .checked_mul(4)?;
            let (bytes, offsets) = rest.split_at_checked(rest.len().checked_sub(trailer)?)?;
            let (offsets, _) = offsets.as_chunks();
            Some(Self {
                bytes,
                offsets,
                from,
                to,
            })
        };
        block().ok_or_else(malformed)
    }

    /// Whether it is where a key would be.
    pub(in super::super) fn covers(&self, key: &[u8]) -> bool {
        self.from <= key && (self.to.is_empty() || key < self.to)
    }

    /// The first key that could be in it.
    pub(in super::super) fn from(&self) -> &'a [u8] {
        self.from
    }

    /// Where the next block begins; empty when it is the last.
    pub(in super::super) fn to(&self) -> &'a [u8] {
        self.to
    }

    /// The entry at an index, `None` after the last.
    pub(in super::super) fn entry(&self, index: usize) -> Result<Option<Entry<'a>>, redb::Error> {
        let Some(offset) = self.offsets.get(index) else {
            return Ok(None);
        };
        let entry = || {
            let offset = usize::try_from(u32::from_le_bytes(*offset)).ok()?;
            let (key, rest) = self.bytes.get(offset..)?.split_first_chunk()?;
            let (value, rest) = rest.split_first_chunk()?;
            let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*key).into())?;
            let value = match u32::from_le_bytes(*value) {
                TOMBSTONE => None,
                length => Some(rest.get(..usize::try_from(length).ok()?)?),
            };
            Some((key, value))
        };
        entry().map(Some).ok_or_else(malformed)
    }

    /// The index of the first key that is not less than `key`.
    pub(in super::super) fn lower_bound(&self, key: &[u8]) -> Result<usize, redb::Error> {
        let (mut from, mut to) = (0, self.offsets.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            let (found, _) = self.entry(middle)?.ok_or_else(malformed)?;
            if found < key {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from)
    }

    /// The entry of a key: its value or a tombstone, if the block has one.
    pub(in super::super) fn find(&self, key: &[u8]) -> Result<Option<Option<Bytes>>, redb::Error> {
        let found = self.entry(self.lower_bound(key)?)?;
        let found = found.filter(|(found, _)| *found == key);
        Ok(found.map(|(_, value)| value.map(Bytes::copy_from_slice)))
    }
}

/// Takes a bound from the end.
fn split_bound(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (rest, length) = bytes.split_last_chunk()?;
    let length = usize::from(u16::from_le_bytes(*length));
    rest.split_at_checked(rest.len().checked_sub(length)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const RUN: u64 = 7;

    fn block(entries: &[Entry<'_>]) -> Vec<u8> {
        let mut builder = Builder::default();
        for (key, value) in entries {
            assert!(builder.fits(key, *value));
            builder.push(key, *value).unwrap();
        }
        let (from, bytes) = builder.finish(RUN, b"to").unwrap();
        assert!(from.is_empty());
        bytes
    }

    #[test]
    fn every_key_is_found_and_no_other() {
        let entries: [Entry<'_>; 3] = [
            (b"a", Some(b"")),
            (b"ab", None),
            (b"b", Some(b"some value")),
        ];
        let bytes = block(&entries);
        let block = Block::of(&bytes).unwrap();
        for (index, (key, value)) in entries.iter().enumerate() {
            assert_eq!(
                block.find(key).unwrap(),
                Some(value.map(Bytes::copy_from_slice))
            );
            assert_eq!(block.lower_bound(key).unwrap(), index);
            assert_eq!(block.entry(index).unwrap(), Some((*key, *value)));
        }
        for (key, index) in [(&b""[..], 0), (b"aa", 1), (b"abc", 2), (b"c", 3)] {
            assert_eq!(block.find(key).unwrap(), None);
            assert_eq!(block.lower_bound(key).unwrap(), index);
        }
        assert_eq!(block.entry(3).unwrap(), None);
    }

    #[test]
    fn a_block_holds_what_fits_in_a_page_or_one_entry_of_any_length() {
        let long = vec![0; 1 << 20];
        let mut builder = Builder::default();
        assert!(builder.fits(b"key", Some(&long)));
        builder.push(b"key", Some(&long)).unwrap();
        assert!(!builder.fits(b"longer", None));

        let (_, bytes) = builder.finish(RUN, b"next").unwrap();
        assert!(bytes.len() > long.len());
        let mut entries = 0_u32;
        while builder.fits(&entries.to_be_bytes(), Some(&[0; 100])) {
            builder
                .push(&entries.to_be_bytes(), Some(&[0; 100]))
                .unwrap();
            entries += 1;
        }
        let (from, bytes) = builder.finish(RUN, b"").unwrap();
        assert_eq!(from, b"next");
        assert!(
            (MAX_BYTES - 200..=MAX_BYTES).contains(&bytes.len()),
            "{}",
            bytes.len()
        );
    }

    #[test]
    fn every_change_of_a_stored_block_is_detected() {
        let whole = block(&[(b"a", Some(b"1")), (b"b", Some(b"2"))]);
        assert!(Block::read(RUN, &whole).is_ok());
        assert!(Block::read(RUN + 1, &whole).is_err());
        for length in 0..whole.len() {
            assert!(Block::read(RUN, whole.get(..length).unwrap()).is_err());
            // Without the check of the checksum it is still not read beyond its end.
            let cut = Block::of(whole.get(..length).unwrap());
            let _found = cut.and_then(|block| block.find(b"b"));
        }
        for index in 0..whole.len() {
            let mut wrong = whole.clone();
            *wrong.get_mut(index).unwrap() ^= 1;
            assert!(Block::read(RUN, &wrong).is_err());
            let _found = Block::of(&wrong).and_then(|block| block.find(b"b"));
        }
    }
}
