//! The headers of a request: its correlation id, its origin, and the media types and encodings that it sends and accepts.

use std::net::{IpAddr, SocketAddr};

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use mime::Mime;
use uuid::Uuid;

use super::reply::CORRELATION_ID;

/// `X-Forwarded-For`: the addresses that a request came through.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// `Prefer` and `Preference-Applied` (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(super) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

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

/// The address that a request comes from: the other end of the connection, or, when that is one of our proxies, the
/// address that the proxy had it from. Read from the end of the header, since the client may have written its beginning.
pub(super) fn behind_proxies(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let is_proxy = |address: IpAddr| {
        let address = address.to_canonical();
        proxies.iter().any(|network| network.contains(&address))
    };
    if !is_proxy(peer) {
        return peer;
    }
    let values = headers.get_all(FORWARDED_FOR).iter().rev();
    let values = values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
    let mut nearest = peer;
    for value in values {
        // One of our proxies would have written an address.
        let Some(address) = address_of(value.trim()) else {
            break;
        };
        nearest = address;
        if !is_proxy(address) {
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

/// The elements of a header that is a list.
fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let elements = values.flat_map(|value| value.split(',')).map(str::trim);
    elements.filter(|element| !element.is_empty())
}

/// Whether a weight (RFC 9110, section 12.4.2) is 0: not acceptable.
fn is_zero(weight: &str) -> bool {
    matches!(weight.trim(), "0" | "0." | "0.0" | "0.00" | "0.000")
}

/// Whether an answer in a coding, such as `gzip`, is accepted.
pub(super) fn accepts_coding(headers: &HeaderMap, coding: &str) -> bool {
    elements(headers, &ACCEPT_ENCODING).any(|element| {
        let (name, parameter) = element.split_once(';').unwrap_or((element, ""));
        let weight = parameter.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case(coding) && !is_zero(weight)
    })
}

/// Whether an `Accept` header, when there is one, accepts a media type. The most specific range decides; one that is
/// malformed does not count.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut is_empty = true;
    let (mut best, mut accepted) = (0, false);
    for element in elements(headers, &ACCEPT) {
        // What nearly every client sends needs no parsing.
        if element == media_type {
            return true;
        }
        is_empty = false;
        let Some(range) = media_type_of(element) else {
            continue;
        };
        let specificity = specificity(&range, media_type);
        if specificity > best {
            best = specificity;
            accepted = !range
                .get_param("q")
                .is_some_and(|weight| is_zero(weight.as_str()));
        }
    }
    is_empty || accepted
}

/// Whether an `Accept` header names a media type, and not by a range alone.
pub(super) fn accepts_by_name(headers: &HeaderMap, media_type: &str) -> bool {
    let mut ranges = elements(headers, &ACCEPT).filter_map(media_type_of);
    ranges.any(|range| specificity(&range, media_type) == 3 && weight(&range) > 0.0)
}

/// Whether an `Accept` header prefers one media type to another: by its weight, or, where both have the same, because it is
/// named more specifically.
pub(super) fn prefers(headers: &HeaderMap, media_type: &str, other: &str) -> bool {
    let preference = |media_type: &str| {
        let ranges = elements(headers, &ACCEPT).filter_map(media_type_of);
        let meant = ranges.map(|range| (specificity(&range, media_type), weight(&range)));
        let decides = meant.max_by(|one, two| one.0.cmp(&two.0).then(one.1.total_cmp(&two.1)));
        let decides = decides.filter(|(specificity, weight)| *specificity > 0 && *weight > 0.0);
        decides.map(|(specificity, weight)| (weight, specificity))
    };
    preference(media_type) > preference(other)
}

/// What a request prefers is done about unknown members and parameters (RFC 7240, section 4.4): whether they are ignored.
pub(super) fn prefers_lenient(headers: &HeaderMap) -> Option<bool> {
    elements(headers, &PREFER).find_map(|element| {
        let preference = element.split(';').next().unwrap_or_default();
        let (name, value) = preference.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("handling") {
            return None;
        }
        match value.trim().trim_matches('"') {
            "lenient" => Some(true),
            "strict" => Some(false),
            _ => None,
        }
    })
}

/// The weight of a range; 1 without one, and where it is malformed.
fn weight(range: &Mime) -> f32 {
    let weight = range.get_param("q");
    let weight = weight.and_then(|weight| weight.as_str().parse().ok());
    weight
        .filter(|weight| (0.0..=1.0).contains(weight))
        .unwrap_or(1.0)
}

/// The media type or range that a text is, with its parameters. `mime` takes no white space before a semicolon and no
/// empty parameter, where RFC 9110 (section 5.6.6) allows both.
fn media_type_of(text: &str) -> Option<Mime> {
    let parts = text.split(';').map(str::trim);
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(";").parse().ok()
}

/// How specifically a range means a media type: 0 when it does not.
fn specificity(range: &Mime, media_type: &str) -> u8 {
    if range.essence_str().eq_ignore_ascii_case(media_type) {
        return 3;
    }
    if range.subtype() != mime::STAR {
        return 0;
    }
    let family = media_type.split('/').next().unwrap_or_default();
    match range.type_() {
        name if name == family => 2,
        name if name == mime::STAR => 1,
        _ => 0,
    }
}

/// What a request says of its body's media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// Nothing.
    Absent,
    /// Its essence, such as `application/json`, in lower case.
    Is(String),
    /// It cannot be read, or there are two.
    Malformed,
}

/// The media type of a request's body.
#[must_use]
pub fn content_type(headers: &HeaderMap) -> ContentType {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    let Some(header) = all.next() else {
        return ContentType::Absent;
    };
    let media_type = header.to_str().ok().and_then(media_type_of);
    match media_type.filter(|_| all.next().is_none()) {
        Some(media_type) => ContentType::Is(media_type.essence_str().to_ascii_lowercase()),
        None => ContentType::Malformed,
    }
}

/// Whether the body may be JSON: its type is that or absent, and it is not compressed.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    // What nearly every client sends needs no parsing.
    let is_usual = types
        .next()
        .is_some_and(|value| value == "application/json");
    let is_json = is_usual && types.next().is_none()
        || match content_type(headers) {
            ContentType::Absent => true,
            ContentType::Is(essence) => essence == "application/json",
            ContentType::Malformed => false,
        };
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let is_plain = codings.all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    is_json && is_plain
}
