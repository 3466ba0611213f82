//! Texts that many answers share. Each is encoded once for each change, and compressed once.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The longest text that is compressed and kept in one piece: 8 MiB.
pub const MAX_WHOLE: usize = 8 << 20;

/// Pieces of a long text are sent together up to this size.
const CHUNK: usize = 64 << 10;

/// A text that many answers share.
#[derive(Clone, Debug)]
pub enum Encoded {
    /// A short text, in one piece.
    Whole(Arc<Whole>),
    /// A long text: pieces that other places share, to be sent one after another.
    Pieces(Arc<[Bytes]>),
}

/// A text, and its compressed form once that is first used.
#[derive(Debug)]
pub struct Whole {
    text: Bytes,
    compressed: OnceLock<Option<Bytes>>,
}

impl From<Bytes> for Whole {
    fn from(text: Bytes) -> Self {
        Self {
            text,
            compressed: OnceLock::new(),
        }
    }
}

impl Whole {
    /// Returns the text.
    #[must_use]
    pub const fn text(&self) -> &Bytes {
        &self.text
    }

    /// Returns whether the text was compressed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.compressed.get().is_some()
    }

    /// Returns the compressed text, or `None` if it would not be shorter.
    #[must_use]
    pub fn compressed(&self) -> Option<Bytes> {
        self.compressed.get_or_init(|| gzip(&self.text)).clone()
    }
}

impl From<Bytes> for Encoded {
    fn from(text: Bytes) -> Self {
        Self::Whole(Arc::new(Whole::from(text)))
    }
}

impl Encoded {
    /// Creates a text from pieces that have `size` bytes in total.
    #[must_use]
    pub fn of(pieces: Vec<Bytes>, size: usize) -> Self {
        if size > MAX_WHOLE {
            return Self::Pieces(pieces.into());
        }
        let mut text = Vec::with_capacity(size);
        for piece in pieces {
            text.extend_from_slice(&piece);
        }
        Self::from(Bytes::from(text))
    }
}

/// Returns the pieces of a text in chunks: short pieces are joined, long ones stay as they are.
pub fn chunks(pieces: Arc<[Bytes]>) -> impl Iterator<Item = Bytes> + Send + Sync + 'static {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = pieces.get(next)?;
        next += 1;
        if first.len() >= CHUNK {
            return Some(first.clone());
        }
        let mut chunk = Vec::with_capacity(CHUNK);
        chunk.extend_from_slice(first);
        while let Some(piece) = pieces.get(next)
            && chunk.len() + piece.len() <= CHUNK
        {
            chunk.extend_from_slice(piece);
            next += 1;
        }
        Some(chunk.into())
    })
}

/// Compresses bytes. Returns `None` if the result would not be shorter.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    let smaller = encoder.finish().ok()?;
    (smaller.len() < bytes.len()).then(|| smaller.into())
}
