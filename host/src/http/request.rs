//! A request that found its route, and what the head of a request says.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH,
};
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use uuid::Uuid;

use super::reply::CORRELATION_ID;
use crate::error::{Error, Result};
use crate::etag::{Etag, Preconditions};
use crate::tokens::Caller;

/// `X-Forwarded-For`: the addresses that a request came through.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A request that found its route.
#[derive(Debug)]
pub struct Request {
    /// The path's parameters, percent-decoded, in order.
    pub params: Vec<String>,
    /// The query, as sent.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// Where it came from, proxies of ours aside.
    pub peer: IpAddr,
    /// Its correlation id.
    pub correlation: Uuid,
    /// The body.
    pub body: Bytes,
    pub(super) caller: Option<Caller>,
}

impl Request {
    /// The caller; every route but the public ones has one.
    ///
    /// # Errors
    /// [`Error::Bug`] on a public route.
    pub fn caller(&self) -> Result<&Caller> {
        self.caller
            .as_ref()
            .ok_or_else(|| Error::Bug("a public route has no caller".to_owned()))
    }

    /// A parameter of the path.
    ///
    /// # Errors
    /// [`Error::Bug`] when the route has fewer.
    pub fn param(&self, index: usize) -> Result<&str> {
        let param = self.params.get(index).map(String::as_str);
        param.ok_or_else(|| Error::Bug("a route lacks a parameter".to_owned()))
    }

    /// Whether the caller has this version already (`If-None-Match`, weak comparison).
    #[must_use]
    pub fn has(&self, etag: &Etag) -> bool {
        tags(&self.headers, &IF_NONE_MATCH).any(|tag| tag == "*" || tag == etag)
    }

    /// Whether a compressed answer is taken.
    #[must_use]
    pub fn takes_gzip(&self) -> bool {
        accepts_gzip(&self.headers)
    }

    /// What must hold before something is changed.
    #[must_use]
    pub fn preconditions(&self) -> Preconditions {
        let named = self.headers.contains_key(IF_MATCH);
        Preconditions {
            tags: named.then(|| tags(&self.headers, &IF_MATCH).map(str::to_owned).collect()),
            absent: tags(&self.headers, &IF_NONE_MATCH).any(|tag| tag == "*"),
        }
    }
}

/// The entity tags of a header. `W/` is taken off: a compressed answer has a weak tag, and it names its version as well
/// as the strong one does.
fn tags<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|tag| {
        let tag = tag.trim();
        let strong = tag.strip_prefix("W/");
        strong
            .filter(|strong| strong.starts_with('"'))
            .unwrap_or(tag)
    })
}

/// The caller's correlation id when it is a UUID, otherwise a new one.
pub(super) fn correlation(headers: &HeaderMap) -> Uuid {
    let sent = headers
        .get(CORRELATION_ID)
        .and_then(|value| value.to_str().ok());
    let sent = sent
        .filter(|text| text.len() == 36)
        .and_then(|text| Uuid::try_parse(text).ok());
    sent.unwrap_or_else(Uuid::new_v4)
}

/// Who is at the other end of a connection: where it comes from one of our proxies, the address that they had it from.
/// Read from the end, since whoever asks may have begun the header.
pub(super) fn behind_proxies(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let ours = |address: IpAddr| {
        let address = address.to_canonical();
        proxies.iter().any(|network| network.contains(&address))
    };
    if !ours(peer) {
        return peer;
    }
    let values = headers.get_all(FORWARDED_FOR).iter().rev();
    let values = values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    let mut nearest = peer;
    for value in values {
        // What is no address was not written by a proxy of ours.
        let Some(address) = address_of(value.trim()) else {
            break;
        };
        nearest = address;
        if !ours(address) {
            break;
        }
    }
    nearest
}

/// An address, which some proxies write with a port.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = || text.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    bare.parse().ok().or_else(with_port)
}

/// Whether a compressed answer is taken.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut codings = accepted.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// Whether an `Accept` header, when there is one, takes the media type or an error about it.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut ranges = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim())
        .filter(|range| !range.is_empty())
        .peekable();
    let family = media_type.split('/').next().unwrap_or_default();
    ranges.peek().is_none()
        || ranges.any(|range| {
            range == "*/*"
                || range.eq_ignore_ascii_case(media_type)
                || range
                    .strip_suffix("/*")
                    .is_some_and(|named| named == family)
        })
}

/// Whether the body may be JSON: of that type or of none, and not compressed.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let json = headers.get(CONTENT_TYPE).is_none_or(|value| {
        let media_type = value
            .to_str()
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case("application/json")
    });
    let plain = headers
        .get(CONTENT_ENCODING)
        .is_none_or(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    json && plain
}
