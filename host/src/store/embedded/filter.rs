//! Which keys a run may hold: a Bloom filter, so that looking for a key reads few runs that do not hold it.
//!
//! All bits of a key stand in one line of 64 bytes, which is one miss of the processor's cache a run. Sixteen bits
//! a key let about one key in three hundred pass that is not there.

/// Bits for each key.
const BITS: usize = 16;

/// How many of a line's bits a key sets.
const SET: u32 = 7;

/// Words of a line.
const LINE: usize = 8;

/// A filter.
pub(super) struct Filter(Vec<[u64; LINE]>);

/// What a filter knows a key by.
#[derive(Clone, Copy)]
pub(super) struct Mark(u64);

impl Mark {
    pub(super) fn of(key: &[u8]) -> Self {
        // Filters are stored, so the hash must be the same tomorrow: a CRC, whose bits are then spread
        // over a word (the finalizer of MurmurHash3).
        let mut mark = u64::from(crc32fast::hash(key));
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            mark = (mark ^ (mark >> 33)).wrapping_mul(factor);
        }
        Self(mark ^ (mark >> 33))
    }

    /// Words of a line, each with the bit that the key sets there.
    fn bits(self) -> impl Iterator<Item = (usize, u64)> {
        // Nine bits say which of a line's 512; which line it is comes from the upper bits.
        let places = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..SET).map(move |bit| {
            let place = places >> (9 * bit);
            let word = usize::try_from((place >> 6) & 7).unwrap_or_default();
            (word, 1 << (place & 63))
        })
    }
}

impl Filter {
    /// A filter for so many keys.
    pub(super) fn new(keys: u64) -> Self {
        let keys = usize::try_from(keys).unwrap_or(usize::MAX);
        let lines = keys.saturating_mul(BITS).div_ceil(64 * LINE).max(1);
        Self(vec![[0; LINE]; lines])
    }

    pub(super) fn add(&mut self, mark: Mark) {
        let line = self.line(mark);
        let Some(line) = self.0.get_mut(line) else {
            return;
        };
        for (word, bits) in mark.bits() {
            if let Some(word) = line.get_mut(word) {
                *word |= bits;
            }
        }
    }

    /// Whether the key may be there; if not, it is not.
    pub(super) fn may_hold(&self, mark: Mark) -> bool {
        let line = self.0.get(self.line(mark));
        line.is_none_or(|line| {
            mark.bits()
                .all(|(word, bits)| line.get(word).is_some_and(|word| word & bits == bits))
        })
    }

    fn line(&self, mark: Mark) -> usize {
        let lines = u128::try_from(self.0.len()).unwrap_or(u128::MAX);
        usize::try_from((u128::from(mark.0) * lines) >> 64).unwrap_or_default()
    }

    /// As it is stored.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        to.reserve(self.0.len() * LINE * 8);
        to.extend(self.0.iter().flatten().flat_map(|word| word.to_le_bytes()));
    }

    /// What was stored; a line that is not whole, which there is none of, is left out.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Self(words.as_chunks().0.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_every_key_it_holds_and_few_others() {
        let mut filter = Filter::new(10_000);
        let mark = |number: u32| Mark::of(format!("e\0tenant\0{number:08x}").as_bytes());
        (0..10_000).for_each(|number| filter.add(mark(number)));
        let mut stored = Vec::new();
        filter.write(&mut stored);
        let filter = Filter::read(&stored);
        assert!((0..10_000).all(|number| filter.may_hold(mark(number))));
        let others = (10_000..110_000).filter(|number| filter.may_hold(mark(*number)));
        let passed = others.count();
        assert!(passed < 3_000, "{passed} of 100,000 pass");
    }

    #[test]
    fn a_filter_for_nothing_and_one_that_was_cut_hide_nothing_they_could_hold() {
        let mark = Mark::of(b"key");
        let mut filter = Filter::new(0);
        assert!(!filter.may_hold(mark));
        filter.add(mark);
        assert!(filter.may_hold(mark));
        assert!(Filter::read(&[]).may_hold(mark));
    }
}
