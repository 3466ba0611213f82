//! Request bodies: read within bounds of size, time and memory. A body that is refused is read on for a while, so that
//! its sender receives the answer.

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

/// How long each part of a body may take to arrive that is as large as [`MAX_BODY`], and how long nothing may arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Larger bodies are counted against what all may take together: at once when their size was announced, otherwise as they
/// grow, in steps of as much.
const SMALL: usize = 16 << 10;

/// How much of a refused body is read all the same, and for how long: one that is a little longer than the longest that is
/// accepted is read to its end, since a sender whose connection is closed earlier may lose the answer.
const DRAIN: usize = 64 << 20;
const DRAIN_DEADLINE: Duration = Duration::from_secs(1);

/// How many bodies wait for room, in all and of one client.
pub(crate) const MAX_WAITING: Limit = Limit { all: 256, each: 32 };

/// The part of a body that has not been read.
#[derive(Clone, Copy)]
pub(crate) struct Unread {
    /// Its `Content-Length`, if there is one.
    pub(crate) announced: Option<usize>,
    /// Whether there is a body.
    any: bool,
    /// Whether its sender waits for `100 Continue`.
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

    /// Reads on for a while, so that a sender that is still sending receives the answer. Answers whether the connection can
    /// be used for another request.
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

/// Why a body could not be read.
pub(crate) enum BodyError {
    TooLarge,
    TooSlow,
    /// There is no room for it now.
    Overloaded,
    Broken,
}

impl BodyError {
    /// The code and the sentence of the answer; `None` when the host is overloaded, which has an answer of its own.
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

/// Reads the whole body. A large one is counted against what its requester may take, for as long as its bytes are there.
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
        // Usually it has arrived with its head, and needs no timer.
        if let Some(whole) = whole.as_mut().now_or_never() {
            return whole;
        }
        let whole = tokio::time::timeout(BODY_DEADLINE, whole);
        return whole.await.unwrap_or(Err(BodyError::TooSlow));
    }
    Box::pin(read_counted(body, limit, announced, bodies)).await
}

/// Whether the reservation has grown. Nobody reads the answer when the sender has gone.
async fn has_grown(bodies: &Room, reservation: &mut Reservation<Requester>, more: usize) -> bool {
    bodies.grow(reservation, more).await.unwrap_or_default()
}

/// Reads a body that is counted.
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

/// What is reserved for a body that is read.
struct Growing<'a> {
    bodies: &'a Room,
    reservation: &'a mut Reservation<Requester>,
    /// How many bytes may be read before it must grow.
    taken: usize,
}

/// Reads the parts of a body; for a small one nothing is reserved.
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
            // All of it has no longer.
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
