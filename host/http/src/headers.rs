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

/// Returns the caller's correlation id if it is a UUID, otherwise a new one.
pub(super) fn correlation(headers: &HeaderMap) -> Uuid {
    let sent = headers
        .get(CORRELATION_ID)
        .and_then(|value| value.to_str().ok());
    let sent = sent
        .filter(|text| text.len() == 36)
        .and_then(|text| Uuid::try_parse(text).ok());
    sent.unwrap_or_else(Uuid::new_v4)
}

/// Returns the address that a request comes from: the other end of the connection, or, behind our proxies, the address
/// that they had it from. The header is read from its end, since the client may have written its beginning.
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

/// Parses an address, which some proxies write with a port.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = || text.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    bare.parse().ok().or_else(with_port)
}

/// Returns the elements of a list header.
fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let elements = values.flat_map(|value| value.split(',')).map(str::trim);
    elements.filter(|element| !element.is_empty())
}

/// Returns whether a weight (RFC 9110, section 12.4.2) is 0, that is, not acceptable.
fn is_zero(weight: &str) -> bool {
    matches!(weight.trim(), "0" | "0." | "0.0" | "0.00" | "0.000")
}

/// Returns whether the client accepts an answer in a coding, such as `gzip`.
pub(super) fn accepts_coding(headers: &HeaderMap, coding: &str) -> bool {
    elements(headers, &ACCEPT_ENCODING).any(|element| {
        let (name, parameter) = element.split_once(';').unwrap_or((element, ""));
        let weight = parameter.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case(coding) && !is_zero(weight)
    })
}

/// Returns whether the `Accept` header, if there is one, accepts a media type. The most specific range decides; a
/// malformed one does not count.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut is_empty = true;
    let (mut best, mut accepted) = (0, false);
    for element in elements(headers, &ACCEPT) {
        // Nearly every client sends this, which needs no parsing.
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

/// Returns whether an `Accept` header accepts a media type by its name, and not only by a range.
pub(super) fn accepts_by_name(headers: &HeaderMap, media_type: &str) -> bool {
    let mut ranges = elements(headers, &ACCEPT).filter_map(media_type_of);
    ranges.any(|range| specificity(&range, media_type) == 3 && weight(&range) > 0.0)
}

/// Returns whether an `Accept` header prefers one media type to another: by a higher weight, or, at equal weights,
/// because it names it more specifically.
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

/// Returns whether the client prefers unknown members and parameters to be ignored (RFC 7240, section 4.4), if it says.
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

/// Returns the weight of a range; 1 if it is missing or malformed.
fn weight(range: &Mime) -> f32 {
    let weight = range.get_param("q");
    let weight = weight.and_then(|weight| weight.as_str().parse().ok());
    weight
        .filter(|weight| (0.0..=1.0).contains(weight))
        .unwrap_or(1.0)
}

/// Parses a media type or range with its parameters. `mime` accepts neither white space before a semicolon nor an empty
/// parameter, while RFC 9110 (section 5.6.6) allows both.
fn media_type_of(text: &str) -> Option<Mime> {
    let parts = text.split(';').map(str::trim);
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(";").parse().ok()
}

/// Returns how specifically a range matches a media type; 0 if it does not.
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

/// The media type that a request declares for its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// None is declared.
    Absent,
    /// Its essence, such as `application/json`, in lower case.
    Is(String),
    /// It cannot be read, or there is more than one.
    Malformed,
}

/// Returns the media type of a request's body.
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

/// Returns whether the body may be JSON: its type is JSON or absent, and it is not compressed.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    // Nearly every client sends this, which needs no parsing.
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
