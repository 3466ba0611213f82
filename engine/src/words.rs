//! Texts looked at eight bytes at a time: comparing, finding a byte, finding what must be escaped, reading hex.
//!
//! In WebAssembly every turn of a loop that can be interrupted asks whether it is, and the standard library goes there
//! by single bytes; with words the short texts of a request take one to three turns. Called by what a decision waits
//! for; knows nothing of what the texts mean.

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// Whether two texts are the same.
#[inline]
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && same_bytes(one.as_bytes(), other.as_bytes())
}

/// Whether two texts of one length are the same.
#[inline(always)]
fn same_bytes(one: &[u8], other: &[u8]) -> bool {
    if ending(one) != ending(other) {
        return false;
    }
    let (one, other) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    one.iter()
        .zip(other)
        .all(|(one, other)| u64::from_le_bytes(*one) == u64::from_le_bytes(*other))
}

/// The last eight bytes as one number; of a shorter text, one that no other of its length has, made of all its bytes.
#[inline(always)]
fn ending(bytes: &[u8]) -> u64 {
    if let Some(last) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*last);
    }
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte)),
    }
}

/// Where a byte stands first.
pub(crate) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut begin = 0;
    for word in words {
        let found = zeros(u64::from_le_bytes(*word) ^ (ONES * u64::from(byte)));
        if found != 0 {
            // The lowest of the found is one, whatever the others are.
            return usize::try_from(found.trailing_zeros() / 8)
                .ok()
                .map(|place| begin + place);
        }
        begin += 8;
    }
    rest.iter()
        .position(|&other| other == byte)
        .map(|place| begin + place)
}

/// Whether a JSON string cannot hold the text as it is. Now and then true of one that it can, never false.
pub(crate) fn may_need_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 4 {
        return bytes
            .iter()
            .any(|&byte| byte < b' ' || byte == b'"' || byte == b'\\');
    }
    let mut found = special(ending(bytes));
    for word in bytes.as_chunks::<8>().0 {
        found |= special(u64::from_le_bytes(*word));
    }
    found != 0
}

fn special(word: u64) -> u64 {
    let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    controls | zeros(word ^ (ONES * 0x22)) | zeros(word ^ (ONES * 0x5c))
}

/// The high bits of the bytes that are zero, and now and then of one above them.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

/// The number that eight hexadecimal digits of either case are.
pub(crate) fn hex(digits: [u8; 8]) -> Option<u32> {
    let word = u64::from_be_bytes(digits);
    // What each byte is worth if it is a digit: a letter has bit 6.
    let letters = word >> 6 & ONES;
    let worth = (word & (ONES * 0x0f)) + letters * 9;
    // It was one if writing its worth gives it back, in lower case.
    let above_nine = (worth + ONES * 6) >> 4 & ONES;
    let written = worth + ONES * 0x30 + above_nine * 0x27;
    if written != word | letters << 5 || worth & (ONES * 0xf0) != 0 {
        return None;
    }
    let pairs = (worth | worth >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((fours | fours >> 16) & 0xffff_ffff).ok()
}

#[cfg(test)]
mod tests {
    //! Against what says the same by single bytes.

    use proptest::prelude::*;

    use super::*;

    fn is_special(byte: u8) -> bool {
        byte < b' ' || byte == b'"' || byte == b'\\'
    }

    proptest! {
        #[test]
        fn texts_are_the_same_when_their_bytes_are(one in "[ab]{0,20}", other in "[ab]{0,20}") {
            prop_assert_eq!(same(&one, &other), one == other);
            prop_assert!(same(&one, &one.clone()));
            if let Some((last, _)) = one.char_indices().next_back() {
                for place in 0..=last {
                    let mut changed = one.clone().into_bytes();
                    changed.splice(place..=place, [b'c']);
                    prop_assert!(!same(&one, &String::from_utf8_lossy(&changed)));
                }
            }
        }

        #[test]
        fn a_byte_is_found_where_it_stands_first(bytes in prop::collection::vec(0_u8..4, 0..40), byte in 0_u8..4) {
            prop_assert_eq!(find(&bytes, byte), bytes.iter().position(|other| *other == byte));
        }

        #[test]
        fn what_must_be_escaped_is_never_missed(text in "[ -~é\u{0}\n\"\\\\]{0,30}|[a-z0-9 _é-]{0,30}") {
            let special = text.bytes().any(is_special);
            prop_assert!(!special || may_need_escape(&text));
            prop_assert!(special || !text.is_ascii() || !may_need_escape(&text));
        }

        #[test]
        fn eight_digits_are_their_number(number: u32) {
            let digits = |text: String| text.into_bytes().try_into().ok();
            prop_assert_eq!(digits(format!("{number:08x}")).and_then(hex), Some(number));
            prop_assert_eq!(digits(format!("{number:08X}")).and_then(hex), Some(number));
        }
    }

    #[test]
    fn no_other_byte_is_a_digit() {
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut digits = *b"00000000";
                if let Some(digit) = digits.get_mut(place) {
                    *digit = byte;
                }
                assert_eq!(hex(digits).is_some(), byte.is_ascii_hexdigit(), "{byte}");
            }
        }
    }
}
