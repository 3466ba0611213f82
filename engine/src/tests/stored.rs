//! Where tests are in a document as it is stored: last, so that what decides is all that stands before them.

use super::MAX_BYTES;

/// The name of the member.
pub(super) const NAME: &str = "tests";

/// What stands between the rest of a document and its tests.
pub(super) const MEMBER: &[u8] = b",\"tests\":";

/// What every document with tests ends in, and no other: the expectation of the last one, the test, the list, the document.
const END: &[u8] = b"}}]}";

/// A stored document in two: all that stands before its tests, without the brace that ends it, and the JSON array of its
/// tests. `None` for one without tests. The document must be as [`Tests::append_to`](super::Tests::append_to) makes it.
#[must_use]
pub fn split(document: &[u8]) -> Option<(&[u8], &[u8])> {
    if !document.ends_with(END) {
        return None;
    }
    // In strings, quotes are escaped; and of the members that may come before, none has this name. So the first of these is the
    // document's own, though a test's request may have more.
    let from = document.len().saturating_sub(MEMBER.len() + MAX_BYTES + 1);
    let (_, end) = document.split_at_checked(from)?;
    let at = end
        .windows(MEMBER.len())
        .position(|bytes| bytes == MEMBER)?;
    let (rule, rest) = document.split_at_checked(from + at)?;
    let tests = rest.strip_prefix(MEMBER)?.strip_suffix(b"}")?;
    Some((rule, tests))
}
