//! The place of tests in a stored document: they come last, so everything before them is the rule that decides.

use super::MAX_BYTES;

/// The name of the member.
pub(super) const NAME: &str = "tests";

/// The bytes between the rest of a document and its tests.
pub(super) const MEMBER: &[u8] = b",\"tests\":";

/// The end of every document with tests, and of no other: it ends the last test's expectation, the test, the list and
/// the document.
const END: &[u8] = b"}}]}";

/// Splits a stored document into the part before its tests, without the brace that ends it, and the JSON array of its
/// tests. Returns `None` if it has no tests. The document must be as [`Tests::append_to`](super::Tests::append_to)
/// makes it.
#[must_use]
pub fn split(document: &[u8]) -> Option<(&[u8], &[u8])> {
    if !document.ends_with(END) {
        return None;
    }
    // Quotes in strings are escaped, and none of the members that may come before has this name. So the first match is
    // the document's own member, although a test's request may have more.
    let from = document.len().saturating_sub(MEMBER.len() + MAX_BYTES + 1);
    let (_, end) = document.split_at_checked(from)?;
    let at = end
        .windows(MEMBER.len())
        .position(|bytes| bytes == MEMBER)?;
    let (rule, rest) = document.split_at_checked(from + at)?;
    let tests = rest.strip_prefix(MEMBER)?.strip_suffix(b"}")?;
    Some((rule, tests))
}
