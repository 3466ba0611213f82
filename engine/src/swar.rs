//! SIMD within a register: looks at strings eight bytes at a time, to compare them, to find a byte, to find what JSON
//! must escape and to parse hexadecimal digits.
//!
//! In WebAssembly every iteration of an interruptible loop checks for an interrupt, and the standard library goes
//! through strings byte by byte. At eight bytes at a time, the short strings of a request take one to three iterations.

/// The lowest bit of every byte.
const LOW_BITS: u64 = u64::MAX / 255;
/// The highest bit of every byte.
const HIGH_BITS: u64 = LOW_BITS << 7;

#[inline]
pub(crate) fn equal(one: &str, other: &str) -> bool {
    one.len() == other.len() && equal_bytes(one.as_bytes(), other.as_bytes())
}

/// Returns whether two strings of the same length are equal.
#[inline(always)]
fn equal_bytes(one: &[u8], other: &[u8]) -> bool {
    if tail(one) != tail(other) {
        return false;
    }
    let (one, other) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    one.iter()
        .zip(other)
        .all(|(one, other)| u64::from_le_bytes(*one) == u64::from_le_bytes(*other))
}

/// Returns the last eight bytes as one number. For fewer bytes, returns a number made of all of them that no other
/// string of the same length has.
#[inline(always)]
fn tail(bytes: &[u8]) -> u64 {
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

pub(crate) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let mut start = 0;
    for chunk in chunks {
        let found = zero_bytes(u64::from_le_bytes(*chunk) ^ (LOW_BITS * u64::from(byte)));
        if found != 0 {
            // Bits above the lowest may be false positives; the lowest never is.
            return usize::try_from(found.trailing_zeros() / 8)
                .ok()
                .map(|offset| start + offset);
        }
        start += 8;
    }
    rest.iter()
        .position(|&other| other == byte)
        .map(|offset| start + offset)
}

/// Returns whether JSON must escape something in the text. There are false positives, but no false negatives.
pub(crate) fn may_need_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 4 {
        return bytes
            .iter()
            .any(|&byte| byte < b' ' || byte == b'"' || byte == b'\\');
    }
    let mut found = escaped_bytes(tail(bytes));
    for chunk in bytes.as_chunks::<8>().0 {
        found |= escaped_bytes(u64::from_le_bytes(*chunk));
    }
    found != 0
}

/// Returns the high bits of the bytes that JSON must escape: control characters, `"` and `\`. It may set a few more.
fn escaped_bytes(chunk: u64) -> u64 {
    let controls = chunk.wrapping_sub(LOW_BITS * 0x20) & !chunk & HIGH_BITS;
    controls | zero_bytes(chunk ^ (LOW_BITS * 0x22)) | zero_bytes(chunk ^ (LOW_BITS * 0x5c))
}

/// Returns the high bits of the zero bytes. It may set the bit of a byte above one of them too.
fn zero_bytes(chunk: u64) -> u64 {
    chunk.wrapping_sub(LOW_BITS) & !chunk & HIGH_BITS
}

/// Parses eight hexadecimal digits of either case.
pub(crate) fn parse_hex(digits: [u8; 8]) -> Option<u32> {
    let chunk = u64::from_be_bytes(digits);
    // The value of each byte, if it is a digit: letters have bit 6 set.
    let letters = chunk >> 6 & LOW_BITS;
    let values = (chunk & (LOW_BITS * 0x0f)) + letters * 9;
    // All were digits if formatting the values gives the same bytes, in lower case.
    let above_nine = (values + LOW_BITS * 6) >> 4 & LOW_BITS;
    let formatted = values + LOW_BITS * 0x30 + above_nine * 0x27;
    if formatted != chunk | letters << 5 || values & (LOW_BITS * 0xf0) != 0 {
        return None;
    }
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    u32::try_from((fours | fours >> 16) & 0xffff_ffff).ok()
}

#[cfg(test)]
mod tests {
    //! Compares the functions with the same work done byte by byte.

    use proptest::prelude::*;

    use super::*;

    fn is_special(byte: u8) -> bool {
        byte < b' ' || byte == b'"' || byte == b'\\'
    }

    proptest! {
        #[test]
        fn strings_are_equal_when_their_bytes_are(one in "[ab]{0,20}", other in "[ab]{0,20}") {
            prop_assert_eq!(equal(&one, &other), one == other);
            prop_assert!(equal(&one, &one.clone()));
            if let Some((last, _)) = one.char_indices().next_back() {
                for position in 0..=last {
                    let mut changed = one.clone().into_bytes();
                    changed.splice(position..=position, [b'c']);
                    prop_assert!(!equal(&one, &String::from_utf8_lossy(&changed)));
                }
            }
        }

        #[test]
        fn the_first_occurrence_of_a_byte_is_found(bytes in prop::collection::vec(0_u8..4, 0..40), byte in 0_u8..4) {
            prop_assert_eq!(find(&bytes, byte), bytes.iter().position(|other| *other == byte));
        }

        #[test]
        fn what_must_be_escaped_is_never_missed(text in "[ -~é\u{0}\n\"\\\\]{0,30}|[a-z0-9 _é-]{0,30}") {
            let special = text.bytes().any(is_special);
            prop_assert!(!special || may_need_escape(&text));
            prop_assert!(special || !text.is_ascii() || !may_need_escape(&text));
        }

        #[test]
        fn eight_digits_are_parsed(number: u32) {
            let digits = |text: String| text.into_bytes().try_into().ok();
            prop_assert_eq!(digits(format!("{number:08x}")).and_then(parse_hex), Some(number));
            prop_assert_eq!(digits(format!("{number:08X}")).and_then(parse_hex), Some(number));
        }
    }

    #[test]
    fn no_other_byte_is_a_digit() {
        for position in 0..8 {
            for byte in 0..=u8::MAX {
                let mut digits = *b"00000000";
                if let Some(digit) = digits.get_mut(position) {
                    *digit = byte;
                }
                assert_eq!(
                    parse_hex(digits).is_some(),
                    byte.is_ascii_hexdigit(),
                    "{byte}"
                );
            }
        }
    }
}
