//! Documents of conditions, and JSON in pieces: for the module and for answers, without copying anything more than once.

use bytes::Bytes;
use serde::Serialize;
use tillgate_base::engine::Document;
use tillgate_base::error::{Error, Result};

/// A document of conditions: `{"global":[..],"tenant":[..]}`.
pub(super) fn document(global: Vec<Bytes>, tenant: Vec<Bytes>) -> Document {
    let mut text = vec![b'{'];
    for piece in lists(global, tenant) {
        text.extend_from_slice(&piece);
    }
    text.push(b'}');
    Document::catalog(text.into())
}

/// `"global":[..],"tenant":[..]`.
pub(super) fn lists(global: Vec<Bytes>, tenant: Vec<Bytes>) -> impl Iterator<Item = Bytes> {
    let names = [b"\"global\":".as_slice(), b",\"tenant\":"].map(Bytes::from_static);
    let [first, second] = names;
    let global = [first].into_iter().chain(global);
    global.chain([second]).chain(tenant)
}

/// Returns the pieces of a JSON array, each of whose elements may itself be in pieces.
pub(super) fn array<E>(elements: impl Iterator<Item = E>) -> Vec<Bytes>
where
    E: IntoIterator<Item = Bytes>,
{
    let mut pieces = Vec::with_capacity(1 + 2 * elements.size_hint().0);
    for element in elements {
        let mark: &[u8] = if pieces.is_empty() { b"[" } else { b"," };
        pieces.push(Bytes::from_static(mark));
        pieces.extend(element);
    }
    if pieces.is_empty() {
        pieces.push(Bytes::from_static(b"["));
    }
    pieces.push(Bytes::from_static(b"]"));
    pieces
}

/// Encodes a value as JSON.
///
/// # Errors
/// [`Error::Bug`] when it has no JSON form.
pub(super) fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))
}
