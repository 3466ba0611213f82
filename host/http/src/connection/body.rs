//! Reads request bodies within limits of size, time and memory. A refused body is read for a while longer, so that its
//! sender receives the answer.

use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use tillgate_api::Code;
use tillgate_api::problem::{BODY_TOO_LARGE, BODY_TOO_SLOW, INVALID};
use tillgate_base::load::Requester;
use tillgate_base::load::budget::{Limit, Reservation, counted};
use tillgate_base::load::room::Room;

use crate::MAX_BODY;

/// The time limit for each [`MAX_BODY`] bytes of a body, and for each wait for more of it.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Larger bodies are counted against the room for all bodies: at once if their size was announced, otherwise as they
/// grow, by doubling.
const SMALL: usize = 16 << 10;

/// The most bytes of a refused body that are read all the same, and the time limit for that. A body slightly over the
/// limit is read to its end, since a sender whose connection is closed earlier may lose the answer.
const DRAIN: usize = 64 << 20;
const DRAIN_DEADLINE: Duration = Duration::from_secs(1);

/// The most bodies that wait for room, in total and per client.
pub(crate) const MAX_WAITING: Limit = Limit { all: 256, each: 32 };

/// The part of a body that has not been read.
#[derive(Clone, Copy)]
pub(crate) struct Unread {
    /// Its `Content-Length`, if there is one.
    pub(crate) announced: Option<usize>,
    /// Set if there is a body.
    any: bool,
    /// Set if its sender waits for `100 Continue`.
    waits: bool,
}

impl Unread {
    pub(crate) const NOTHING: Self = Self {
        announced: None,
        any: false,
        waits: false,
    };

    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let length = headers.get(CONTENT_LENGTH);
        let announced = length.and_then(|value| value.to_str().ok()?.parse().ok());
        Self {
            announced,
            any: announced.is_some_and(|length| length > 0)
                || headers.contains_key(TRANSFER_ENCODING),
            waits: headers.contains_key(EXPECT),
        }
    }

    /// Reads on for a while, so that a sender that is still sending receives the answer. Returns whether the connection
    /// can be used for another request.
    pub(crate) async fn drain<B: Buf>(
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

/// The reason why a body could not be read.
pub(crate) enum BodyError {
    TooLarge,
    TooSlow,
    /// There is no room for it now.
    Overloaded,
    Broken,
}

impl BodyError {
    /// Returns the code and the sentence of the answer; `None` if the host is overloaded, which has its own answer.
    pub(crate) fn answer(&self, limit: usize) -> Option<(Code, String)> {
        let (code, detail) = match self {
            Self::Overloaded => return None,
            Self::TooLarge => (
                BODY_TOO_LARGE,
                format!("the body must be at most {limit} bytes"),
            ),
            Self::TooSlow => (BODY_TOO_SLOW, "the body arrived too slowly".to_owned()),
            Self::Broken => (INVALID, "the body did not arrive whole".to_owned()),
        };
        Some((code, detail))
    }
}

/// Reads the whole body. A large one is counted against its requester's room for as long as its bytes exist.
pub(crate) async fn read<B: Buf>(
    body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
    bodies: &Room,
) -> Result<Bytes, BodyError> {
    if announced.is_some_and(|length| length > limit) {
        return Err(BodyError::TooLarge);
    }
    if announced.is_some_and(|length| length <= SMALL) {
        let mut whole = pin!(collect(body, limit, announced, None));
        // Usually it has arrived with the head, and needs no timer.
        if let Some(whole) = whole.as_mut().now_or_never() {
            return whole;
        }
        let whole = tokio::time::timeout(BODY_DEADLINE, whole);
        return whole.await.unwrap_or(Err(BodyError::TooSlow));
    }
    Box::pin(read_counted(body, limit, announced, bodies)).await
}

/// Grows the reservation, and returns whether it did. If the sender has gone, its answer is dropped.
async fn has_grown(bodies: &Room, reservation: &mut Reservation<Requester>, more: usize) -> bool {
    bodies.grow(reservation, more).await.unwrap_or_default()
}

async fn read_counted<B: Buf>(
    body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
    bodies: &Room,
) -> Result<Bytes, BodyError> {
    let mut reservation = bodies.nothing();
    let mut taken = SMALL;
    if let Some(length) = announced.filter(|length| *length > SMALL) {
        if !has_grown(bodies, &mut reservation, length).await {
            return Err(BodyError::Overloaded);
        }
        taken = length;
    }
    let mebibytes = announced.unwrap_or(limit).div_ceil(MAX_BODY).max(1);
    let deadline = BODY_DEADLINE * u32::try_from(mebibytes).unwrap_or(u32::MAX);
    let growing = Growing {
        bodies,
        reservation: &mut reservation,
        taken,
    };
    let collect = collect(body, limit, announced, Some(growing));
    let whole = tokio::time::timeout(deadline, collect).await;
    let whole = whole.unwrap_or(Err(BodyError::TooSlow))?;
    Ok(if whole.len() > SMALL {
        counted(whole, reservation)
    } else {
        whole
    })
}

/// The reservation for a body that is being read.
struct Growing<'a> {
    bodies: &'a Room,
    reservation: &'a mut Reservation<Requester>,
    /// The bytes that may be read before it must grow.
    taken: usize,
}

/// Reads the parts of a body. A small body needs no reservation.
async fn collect<B: Buf>(
    mut body: Pin<&mut (impl Stream<Item = Result<B, warp::Error>> + Send)>,
    limit: usize,
    announced: Option<usize>,
    mut growing: Option<Growing<'_>>,
) -> Result<Bytes, BodyError> {
    let mut whole = BytesMut::new();
    loop {
        let next = match growing {
            Some(_) => tokio::time::timeout(BODY_DEADLINE, body.next()).await,
            // The whole body has the same time limit.
            None => Ok(body.next().await),
        };
        let Some(chunk) = next.map_err(|_| BodyError::TooSlow)? else {
            return Ok(whole.freeze());
        };
        let mut chunk = chunk.map_err(|_| BodyError::Broken)?;
        let size = chunk.remaining();
        if whole.len() + size > limit {
            return Err(BodyError::TooLarge);
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
            if !has_grown(growing.bodies, growing.reservation, more).await {
                return Err(BodyError::Overloaded);
            }
            growing.taken += more;
        }
        whole.put(chunk);
    }
}
