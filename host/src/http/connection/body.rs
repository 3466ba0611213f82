//! Request bodies: read within bounds of size, time and memory. A body that is refused is read on for a while, so that
//! its sender receives the answer.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};

use crate::http::MAX_BODY;
use crate::identity::Holder;
use crate::load::shares::{Most, Share, Shares, sharing};

/// How long each part of a body may take to arrive that is as large as [`MAX_BODY`], and how long nothing may arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Larger bodies need a share of what all may take together: at once when their size was announced, otherwise as they
/// grow, in steps of as much.
const SMALL: usize = 16 << 10;

/// How long a body waits for its share.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much of a refused body is read all the same, and for how long.
const DRAIN: usize = 4 << 20;
const DRAIN_DEADLINE: Duration = Duration::from_secs(1);

/// How many bodies wait for a share, in all and of one holder. It is better to be refused at once than behind so many.
const MOST_WAITING: Most = Most { all: 256, each: 32 };

/// The bytes that large bodies may take while they are read or acted on.
#[derive(Debug)]
pub(in crate::http) struct Bodies {
    bytes: Arc<Shares<Holder>>,
    /// Those who wait for a share.
    waiting: Arc<Shares<Holder>>,
}

impl Bodies {
    /// So many bytes in all, of which one holder has at most half.
    pub(in crate::http) fn new(bytes: usize) -> Self {
        Self {
            bytes: Shares::new(Most::halved(bytes)),
            waiting: Shares::new(MOST_WAITING),
        }
    }

    /// Takes more for a holder, and waits for that unless too many do; whether there was so much.
    async fn grow(&self, share: &mut Share<Holder>, holder: &Holder, more: usize) -> bool {
        if share.grow(more) {
            return true;
        }
        let Some(_place) = self.waiting.take(Some(holder.clone()), 1) else {
            return false;
        };
        share.grow_within(more, PATIENCE).await
    }
}

/// The part of a body that has not been read.
#[derive(Clone, Copy)]
pub(in crate::http) struct Unread {
    /// Its `Content-Length`, if there is one.
    pub(in crate::http) announced: Option<usize>,
    /// Whether there is a body.
    any: bool,
    /// Whether its sender waits for `100 Continue`.
    waits: bool,
}

impl Unread {
    pub(in crate::http) const NOTHING: Self = Self {
        announced: None,
        any: false,
        waits: false,
    };

    pub(in crate::http) fn of(headers: &HeaderMap) -> Self {
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
    pub(in crate::http) async fn drain<B: Buf>(
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
pub(in crate::http) enum NoBody {
    TooLarge,
    TooSlow,
    /// There is no room for it now.
    Crowded,
    Broken,
}

/// Reads the whole body. A large one takes a share for its holder, which the bytes that are answered keep.
pub(in crate::http) async fn read<B: Buf>(
    body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
    shared: (&Bodies, &Holder),
) -> Result<Bytes, NoBody> {
    if announced.is_some_and(|length| length > limit) {
        return Err(NoBody::TooLarge);
    }
    if announced.is_some_and(|length| length <= SMALL) {
        let mut whole = pin!(collect(body, limit, announced, None));
        // Usually it has arrived with its head, and needs no timer.
        if let Some(whole) = whole.as_mut().now_or_never() {
            return whole;
        }
        let whole = tokio::time::timeout(BODY_DEADLINE, whole);
        return whole.await.unwrap_or(Err(NoBody::TooSlow));
    }
    Box::pin(read_shared(body, limit, announced, shared)).await
}

/// Reads a body that takes a share.
async fn read_shared<B: Buf>(
    body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
    (bodies, holder): (&Bodies, &Holder),
) -> Result<Bytes, NoBody> {
    let mut share = bodies.bytes.nothing(Some(holder.clone()));
    let mut taken = SMALL;
    if let Some(length) = announced.filter(|length| *length > SMALL) {
        if !bodies.grow(&mut share, holder, length).await {
            return Err(NoBody::Crowded);
        }
        taken = length;
    }
    let mebibytes = announced.unwrap_or(limit).div_ceil(MAX_BODY).max(1);
    let deadline = BODY_DEADLINE * u32::try_from(mebibytes).unwrap_or(u32::MAX);
    let growing = Growing {
        bodies,
        holder,
        share: &mut share,
        taken,
    };
    let collect = collect(body, limit, announced, Some(growing));
    let whole = tokio::time::timeout(deadline, collect).await;
    let whole = whole.unwrap_or(Err(NoBody::TooSlow))?;
    Ok(match whole.len() > SMALL {
        true => sharing(whole, share),
        false => whole,
    })
}

/// The share of a body that is read.
struct Growing<'a> {
    bodies: &'a Bodies,
    holder: &'a Holder,
    share: &'a mut Share<Holder>,
    /// How many bytes may be read before it must grow.
    taken: usize,
}

/// Reads the parts of a body; a small one has no share.
async fn collect<B: Buf>(
    mut body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
    mut growing: Option<Growing<'_>>,
) -> Result<Bytes, NoBody> {
    let mut whole = BytesMut::new();
    loop {
        let next = match growing {
            Some(_) => tokio::time::timeout(BODY_DEADLINE, body.next()).await,
            // All of it has no longer.
            None => Ok(body.next().await),
        };
        let Some(chunk) = next.map_err(|_| NoBody::TooSlow)? else {
            return Ok(whole.freeze());
        };
        let mut chunk = chunk.map_err(|_| NoBody::Broken)?;
        let size = chunk.remaining();
        if whole.len() + size > limit {
            return Err(NoBody::TooLarge);
        }
        if whole.is_empty() {
            if announced == Some(size) {
                return Ok(chunk.copy_to_bytes(size));
            }
            whole.reserve(announced.unwrap_or_default());
        }
        if let Some(growing) = &mut growing
            && whole.len() + size > growing.taken
        {
            let more = size.max(growing.taken);
            let Growing { bodies, holder, .. } = *growing;
            if !bodies.grow(growing.share, holder, more).await {
                return Err(NoBody::Crowded);
            }
            growing.taken += more;
        }
        whole.put(chunk);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_is_refused_at_once_behind_as_many_of_its_holder_as_may_wait() {
        let bodies = Arc::new(Bodies::new(2 << 10));
        let holder = Holder::Platform;
        let mut first = bodies.bytes.nothing(Some(holder.clone()));
        assert!(bodies.grow(&mut first, &holder, 1 << 10).await);
        let wait = || {
            let (bodies, holder) = (Arc::clone(&bodies), holder.clone());
            tokio::spawn(async move {
                let mut share = bodies.bytes.nothing(Some(holder.clone()));
                bodies.grow(&mut share, &holder, 1).await
            })
        };
        let waiting: Vec<_> = (0..MOST_WAITING.each).map(|_| wait()).collect();
        while bodies.waiting.of(&holder) < MOST_WAITING.each {
            tokio::task::yield_now().await;
        }
        let refused = wait().await;
        assert!(refused.is_ok_and(|has_grown| !has_grown));
        drop(first);
        for waiting in waiting {
            assert!(waiting.await.unwrap_or_default(), "they have their share");
        }
    }
}
