//! A block: some keys of a run in their order, each with its value or without one, as redb keeps them.
//!
//! Each entry is the lengths of its key and its value, the key and the value; behind all of them stands where each
//! begins, how many there are, so that one is found without reading the others, and a checksum of it all. Numbers are
//! little-endian.

use bytes::Bytes;

use super::tables::malformed;

/// How long a block gets, and its key in redb's table with it: what fits in a page of 16 KiB of redb's, whose own
/// words need some bytes too. An entry that is longer has a block of its own.
const FULL: usize = (16 << 10) - 64;

/// The lengths of a key and of a value.
const LENGTHS: usize = 2 + 4;

/// What stands for the length of the value of a key that goes.
const GONE: u32 = u32::MAX;

/// A block that is being made.
#[derive(Default)]
pub(super) struct Builder {
    bytes: Vec<u8>,
    starts: Vec<u32>,
    first: Vec<u8>,
}

/// A block that is read.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    bytes: &'a [u8],
    /// Where each entry begins.
    starts: &'a [[u8; 4]],
}

/// An entry: its key, and its value unless the key goes.
pub(super) type Entry<'a> = (&'a [u8], Option<&'a [u8]>);

impl Builder {
    /// Whether a key and its value fit behind what is there. The first fits whatever its length.
    pub(super) fn fits(&self, key: &[u8], value: Option<&[u8]>) -> bool {
        let words = 4 * (self.starts.len() + 3);
        let more = LENGTHS + key.len() + value.map_or(0, <[u8]>::len);
        self.starts.is_empty() || self.first.len() + self.bytes.len() + more + words <= FULL
    }

    /// Adds a key, which comes after those that are there.
    ///
    /// # Errors
    /// When a key, a value or the block is longer than can be written down.
    pub(super) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), redb::Error> {
        if self.starts.is_empty() {
            self.first.extend_from_slice(key);
        }
        let start = u32::try_from(self.bytes.len()).map_err(|_| malformed())?;
        let key_length = u16::try_from(key.len()).map_err(|_| malformed())?;
        let length = value.map_or(Ok(GONE), |value| u32::try_from(value.len()));
        let length = length.map_err(|_| malformed())?;
        self.starts.push(start);
        self.bytes.extend_from_slice(&key_length.to_le_bytes());
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
        Ok(())
    }

    /// The first key and the block, if anything is in it.
    pub(super) fn finish(&mut self) -> Option<(&[u8], &[u8])> {
        let count = u32::try_from(self.starts.len()).ok()?;
        let starts = self.starts.iter().filter(|_| count > 0);
        for number in starts.chain([&count]) {
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&self.bytes);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        (count > 0).then_some((self.first.as_slice(), self.bytes.as_slice()))
    }

    /// Begins the next block.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.first.clear();
    }
}

impl<'a> Block<'a> {
    /// A block as it was read.
    ///
    /// # Errors
    /// When it is not as it was written: redb checks its pages only after a crash.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, redb::Error> {
        let (content, checksum) = bytes.split_last_chunk().ok_or_else(malformed)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(malformed());
        }
        Self::of(bytes)
    }

    /// One that was read before.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, redb::Error> {
        let block = || {
            let (rest, _) = bytes.split_last_chunk::<4>()?;
            let (rest, count) = rest.split_last_chunk::<4>()?;
            let words = usize::try_from(u32::from_le_bytes(*count))
                .ok()?
                .checked_mul(4)?;
            let (bytes, starts) = rest.split_at_checked(rest.len().checked_sub(words)?)?;
            let (starts, _) = starts.as_chunks();
            Some(Self { bytes, starts })
        };
        block().ok_or_else(malformed)
    }

    /// The entry at a place, `None` behind the last.
    pub(super) fn entry(&self, place: usize) -> Result<Option<Entry<'a>>, redb::Error> {
        let Some(start) = self.starts.get(place) else {
            return Ok(None);
        };
        let entry = || {
            let start = usize::try_from(u32::from_le_bytes(*start)).ok()?;
            let (key, rest) = self.bytes.get(start..)?.split_first_chunk()?;
            let (value, rest) = rest.split_first_chunk()?;
            let (key, rest) = rest.split_at_checked(u16::from_le_bytes(*key).into())?;
            let value = match u32::from_le_bytes(*value) {
                GONE => None,
                length => Some(rest.get(..usize::try_from(length).ok()?)?),
            };
            Some((key, value))
        };
        entry().map(Some).ok_or_else(malformed)
    }

    /// The place of the first key that is not before `key`.
    pub(super) fn place(&self, key: &[u8]) -> Result<usize, redb::Error> {
        let (mut from, mut to) = (0, self.starts.len());
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

    /// What the block says of a key: nothing, that it goes, or its value.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Option<Bytes>>, redb::Error> {
        let found = self.entry(self.place(key)?)?;
        let found = found.filter(|(there, _)| *there == key);
        Ok(found.map(|(_, value)| value.map(Bytes::copy_from_slice)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn block(entries: &[Entry<'_>]) -> Vec<u8> {
        let mut builder = Builder::default();
        for (key, value) in entries {
            assert!(builder.fits(key, *value));
            builder.push(key, *value).unwrap();
        }
        let (first, bytes) = builder.finish().unwrap();
        assert_eq!(first, entries.first().unwrap().0);
        bytes.to_vec()
    }

    #[test]
    fn every_key_is_found_and_none_beside_it() {
        let entries: [Entry<'_>; 3] = [
            (b"a", Some(b"")),
            (b"ab", None),
            (b"b", Some(b"some value")),
        ];
        let bytes = block(&entries);
        let block = Block::of(&bytes).unwrap();
        for (place, (key, value)) in entries.iter().enumerate() {
            assert_eq!(
                block.find(key).unwrap(),
                Some(value.map(Bytes::copy_from_slice))
            );
            assert_eq!(block.place(key).unwrap(), place);
            assert_eq!(block.entry(place).unwrap(), Some((*key, *value)));
        }
        for (key, place) in [(&b""[..], 0), (b"aa", 1), (b"abc", 2), (b"c", 3)] {
            assert_eq!(block.find(key).unwrap(), None);
            assert_eq!(block.place(key).unwrap(), place);
        }
        assert_eq!(block.entry(3).unwrap(), None);
    }

    #[test]
    fn a_block_takes_what_fits_in_a_page_or_one_entry_of_any_length() {
        let long = vec![0; 1 << 20];
        let mut builder = Builder::default();
        assert!(builder.fits(b"key", Some(&long)));
        builder.push(b"key", Some(&long)).unwrap();
        assert!(!builder.fits(b"longer", None));

        builder.clear();
        let mut entries = 0_u32;
        while builder.fits(&entries.to_be_bytes(), Some(&[0; 100])) {
            builder
                .push(&entries.to_be_bytes(), Some(&[0; 100]))
                .unwrap();
            entries += 1;
        }
        let (_, bytes) = builder.finish().unwrap();
        assert!(
            (FULL - 200..=FULL).contains(&bytes.len()),
            "{}",
            bytes.len()
        );
    }

    #[test]
    fn what_is_not_as_it_was_written_is_said_whatever_it_is() {
        let whole = block(&[(b"a", Some(b"1")), (b"b", Some(b"2"))]);
        assert!(Block::read(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(Block::read(whole.get(..length).unwrap()).is_err());
            // Also one that is not checked is not read beyond its end.
            let cut = Block::of(whole.get(..length).unwrap());
            let _found = cut.and_then(|block| block.find(b"b"));
        }
        for place in 0..whole.len() {
            let mut wrong = whole.clone();
            *wrong.get_mut(place).unwrap() ^= 1;
            assert!(Block::read(&wrong).is_err());
            let _found = Block::of(&wrong).and_then(|block| block.find(b"b"));
        }
    }
}
