//! What servers report about the owners of slots: in reply to `CLUSTER SLOTS`, and in the errors of requests.
//!
//! Pure; `router.rs` sends the requests.

use redis::Value;

use super::node::RequestError;
use super::url::Address;

/// A range of slots, first and last, and the address of its master.
type Range = (u16, u16, Address);

/// Parses the reply to `CLUSTER SLOTS`. A server that does not know its own host name is at the address that was asked.
pub(super) fn slot_ranges(reply: &Value, asked: &Address) -> Option<Vec<Range>> {
    let Value::Array(ranges) = reply else {
        return None;
    };
    ranges
        .iter()
        .map(|range| slot_range(range, asked))
        .collect()
}

fn slot_range(range: &Value, asked: &Address) -> Option<Range> {
    let Value::Array(range) = range else {
        return None;
    };
    let [first, last, Value::Array(master), ..] = range.as_slice() else {
        return None;
    };
    let [host, port, ..] = master.as_slice() else {
        return None;
    };
    let host: Option<String> = redis::from_redis_value(host.clone()).ok()?;
    let port = redis::from_redis_value(port.clone()).ok()?;
    let host = host.filter(|host| !host.is_empty() && host != "?");
    let host = host.unwrap_or_else(|| asked.host.clone());
    let first = redis::from_redis_value(first.clone()).ok()?;
    let last = redis::from_redis_value(last.clone()).ok()?;
    Some((first, last, Address { host, port }))
}

impl RequestError {
    /// The server that a `MOVED` or `ASK` error redirects to.
    pub(super) fn redirect(&self) -> Option<Address> {
        let Self::Rejected(error) = self else {
            return None;
        };
        let (host, port) = error.redirect_node()?.0.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        Some(Address { host, port })
    }
}

/// Whether the cause of an error passes by itself, so that the request can be sent again.
pub(super) fn is_transient(code: &str) -> bool {
    matches!(
        code,
        "MOVED"
            | "ASK"
            | "TRYAGAIN"
            | "CLUSTERDOWN"
            | "MASTERDOWN"
            | "LOADING"
            | "READONLY"
            | "BUSY"
    )
}
