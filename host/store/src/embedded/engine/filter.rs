//! A blocked Bloom filter: which keys a run or a memtable may contain, so that a search skips most that do not.
//!
//! All bits of a key are in one line of 64 bytes, so a look-up costs one cache miss. With sixteen bits a key, about one
//! absent key in three hundred passes.

/// How many bits of the filter each key gets.
const BITS_PER_KEY: usize = 16;

/// How many bits of its line a key sets (the number of hash functions).
const HASHES: u32 = 7;

/// The 64-bit words of a line.
const LINE: usize = 8;

/// A Bloom filter.
pub(in super::super) struct Filter(Vec<[u64; LINE]>);

/// The hash of a key.
#[derive(Clone, Copy)]
pub(in super::super) struct KeyHash(u64);

impl KeyHash {
    pub(in super::super) fn of(key: &[u8]) -> Self {
        // Filters are stored, so the hash must never change: a CRC, whose bits are then spread over 64 (the finalizer of
        // MurmurHash3).
        let mut hash = u64::from(crc32fast::hash(key));
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
        }
        Self(hash ^ (hash >> 33))
    }

    /// Indexes of words of the line, each with the bit that the key sets there.
    fn bits(self) -> impl Iterator<Item = (usize, u64)> {
        // Nine bits of the product select one of the line's 512; the line is selected by the upper bits of the hash.
        let positions = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..HASHES).map(move |bit| {
            let position = positions >> (9 * bit);
            let word = usize::try_from((position >> 6) & 7).unwrap_or_default();
            (word, 1 << (position & 63))
        })
    }
}

impl Filter {
    /// A filter sized for so many keys.
    pub(in super::super) fn new(keys: u64) -> Self {
        let keys = usize::try_from(keys).unwrap_or(usize::MAX);
        let lines = keys.saturating_mul(BITS_PER_KEY).div_ceil(64 * LINE).max(1);
        Self(vec![[0; LINE]; lines])
    }

    pub(in super::super) fn add(&mut self, hash: KeyHash) {
        let line = self.line(hash);
        let Some(line) = self.0.get_mut(line) else {
            return;
        };
        for (word, bits) in hash.bits() {
            if let Some(word) = line.get_mut(word) {
                *word |= bits;
            }
        }
    }

    /// Whether the key may have been added; `false` is certain.
    pub(in super::super) fn may_contain(&self, hash: KeyHash) -> bool {
        let line = self.0.get(self.line(hash));
        line.is_none_or(|line| {
            hash.bits()
                .all(|(word, bits)| line.get(word).is_some_and(|word| word & bits == bits))
        })
    }

    fn line(&self, hash: KeyHash) -> usize {
        let lines = u128::try_from(self.0.len()).unwrap_or(u128::MAX);
        usize::try_from((u128::from(hash.0) * lines) >> 64).unwrap_or_default()
    }

    /// Appends the filter as it is stored.
    pub(in super::super) fn write(&self, to: &mut Vec<u8>) {
        to.reserve(self.0.len() * LINE * 8);
        to.extend(self.0.iter().flatten().flat_map(|word| word.to_le_bytes()));
    }

    /// Reads a stored filter. Its row has a checksum, so an incomplete line cannot occur.
    pub(in super::super) fn read(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Self(words.as_chunks().0.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_every_added_key_and_few_others() {
        let mut filter = Filter::new(10_000);
        let hash = |number: u32| KeyHash::of(format!("e\0tenant\0{number:08x}").as_bytes());
        (0..10_000).for_each(|number| filter.add(hash(number)));
        let mut stored = Vec::new();
        filter.write(&mut stored);
        let filter = Filter::read(&stored);
        assert!((0..10_000).all(|number| filter.may_contain(hash(number))));
        let others = (10_000..110_000).filter(|number| filter.may_contain(hash(*number)));
        let passed = others.count();
        assert!(passed < 3_000, "{passed} of 100,000 pass");
    }

    #[test]
    fn a_filter_sized_for_no_keys_hides_none() {
        let hash = KeyHash::of(b"key");
        let mut filter = Filter::new(0);
        assert!(!filter.may_contain(hash));
        filter.add(hash);
        assert!(filter.may_contain(hash));
        assert!(Filter::read(&[]).may_contain(hash));
    }
}
