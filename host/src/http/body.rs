//! Request bodies: read within bounds of size and time. A body that is refused is read on for a while, so that its sender
//! receives the answer.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};

use super::MAX_BODY;

/// How long a body of [`MAX_BODY`] may take to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// How much of a refused body is read all the same, and for how long.
const DRAIN: usize = 4 << 20;
const DRAIN_DEADLINE: Duration = Duration::from_secs(1);

/// The part of a body that has not been read.
#[derive(Clone, Copy)]
pub(super) struct Unread {
    /// Its `Content-Length`, if there is one.
    pub(super) announced: Option<usize>,
    /// Whether there is a body.
    any: bool,
    /// Whether its sender waits for `100 Continue`.
    waits: bool,
}

impl Unread {
    pub(super) const NOTHING: Self = Self {
        announced: None,
        any: false,
        waits: false,
    };

    pub(super) fn of(headers: &HeaderMap) -> Self {
        let length = headers.get(CONTENT_LENGTH);
        let announced = length.and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            announced,
            any: announced.is_some_and(|length| length > 0)
                || headers.contains_key(TRANSFER_ENCODING),
            waits: headers.contains_key(EXPECT),
        }
    }

    /// Reads on for a while, so that a sender that is still sending receives the answer. Answers whether the connection can
    /// be used for another request.
    pub(super) async fn drain<B: Buf>(
        self,
        mut body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    ) -> bool {
        if !self.any {
            return true;
        }
        if self.waits {
            return false;
        }
        let to_the_end = async {
            let mut left = DRAIN;
            while let Some(Ok(chunk)) = body.next().await {
                match left.checked_sub(chunk.remaining()) {
                    Some(less) => left = less,
                    None => return false,
                }
            }
            true
        };
        let drained = tokio::time::timeout(DRAIN_DEADLINE, to_the_end).await;
        drained.unwrap_or(false)
    }
}

/// Why a body could not be read.
pub(super) enum NoBody {
    TooLarge,
    TooSlow,
    Broken,
}

/// Reads the whole body.
pub(super) async fn read<B: Buf>(
    mut body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
) -> Result<Bytes, NoBody> {
    if announced.is_some_and(|length| length > limit) {
        return Err(NoBody::TooLarge);
    }
    let collect = async {
        let mut whole = BytesMut::new();
        while let Some(chunk) = body.next().await {
            let mut chunk = chunk.map_err(|_| NoBody::Broken)?;
            if whole.len() + chunk.remaining() > limit {
                return Err(NoBody::TooLarge);
            }
            if whole.is_empty() && announced == Some(chunk.remaining()) {
                return Ok(chunk.copy_to_bytes(chunk.remaining()));
            }
            whole.extend_from_slice(&chunk.copy_to_bytes(chunk.remaining()));
        }
        Ok(whole.freeze())
    };
    let mebibytes = u32::try_from(limit.div_ceil(MAX_BODY)).unwrap_or(1);
    let within = tokio::time::timeout(BODY_DEADLINE * mebibytes, collect);
    within.await.unwrap_or(Err(NoBody::TooSlow))
}
