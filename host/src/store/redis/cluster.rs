//! What servers say about who owns which slot: in answer to `CLUSTER SLOTS`, and when they refuse a request.
//!
//! Pure; `servers.rs` asks.

use redis::Value;

use super::link::Failure;
use super::url::Address;

/// A range of slots, first and last, and the address of its master.
type Range = (u16, u16, Address);

/// The ranges that `CLUSTER SLOTS` tells of. A server that does not know its own host's name is where it was asked.
pub(super) fn ranges(answer: &Value, asked: &Address) -> Option<Vec<Range>> {
    let Value::Array(ranges) = answer else {
        return None;
    };
    ranges.iter().map(|range| read(range, asked)).collect()
}

fn read(range: &Value, asked: &Address) -> Option<Range> {
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

impl Failure {
    /// Where the server says that the slot is.
    pub(super) fn redirect(&self) -> Option<Address> {
        let Self::Refused(error) = self else {
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

/// Whether what a server refused with passes by itself.
pub(super) fn passes(code: &str) -> bool {
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
