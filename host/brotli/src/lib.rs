//! Compression by brotli (RFC 7932), as small as it gets.
//!
//! A crate of its own, since the encoder is generic and thus compiled where it is called: this crate is optimized in every
//! profile (`Cargo.toml`), a build script in none. Optimized, the module takes 0.3 s and a file of 20 kB 22 ms.

use brotli::BrotliCompress;
use brotli::enc::BrotliEncoderParams;

/// The slowest and smallest.
const QUALITY: i32 = 11;

/// Bytes compressed; `None` when they would not be shorter.
#[must_use]
pub fn brotli(bytes: &[u8]) -> Option<Vec<u8>> {
    let params = BrotliEncoderParams {
        quality: QUALITY,
        // The memory that is taken grows with the window, which need not be larger than the text.
        lgwin: window_bits(bytes.len()),
        size_hint: bytes.len(),
        ..BrotliEncoderParams::default()
    };
    let mut smaller = Vec::new();
    BrotliCompress(&mut &*bytes, &mut smaller, &params).ok()?;
    (smaller.len() < bytes.len()).then_some(smaller)
}

/// The logarithm of the smallest window, of those that every browser takes, that holds so many bytes.
fn window_bits(size: usize) -> i32 {
    (16..24).find(|bits| size < 1 << bits).unwrap_or(24)
}
