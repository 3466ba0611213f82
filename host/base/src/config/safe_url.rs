//! URLs in the configuration: their safety and their origins. Pure.

/// Returns whether an attacker in the network cannot change what comes from a URL: it is an https URL, or an http URL
/// of this machine.
pub(super) fn is_safe_url(source: &str) -> bool {
    let Ok(url) = source.parse::<http::Uri>() else {
        return false;
    };
    let host = url.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let here = host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    match url.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => here,
        _ => false,
    }
}

/// Returns the origin of a URL, as browsers write it.
pub(super) fn origin_of(url: &str) -> Option<String> {
    let url: http::Uri = url.parse().ok()?;
    let (scheme, authority) = (url.scheme_str()?, url.authority()?.as_str());
    // The origin becomes part of a policy, in which other characters have a meaning.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    authority
        .chars()
        .all(is_plain)
        .then(|| format!("{scheme}://{authority}"))
}
