//! Parses what servers report about a cluster: its slots, its members, and how it has changed; and the errors that
//! redirect.
//!
//! Pure; `router.rs` and `link.rs` send the requests.

use std::collections::HashMap;
use std::net::IpAddr;

use redis::Value;

use super::address::Address;
use super::info::fields;
use super::node::RequestError;

/// A range of slots and its master.
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Address,
    /// The master's id in the cluster.
    id: String,
}

/// The numbers that change when a server is promoted, is added, or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// The newest epoch that the server has heard of: every election begins one, and most masters vote in it before a
    /// replica is promoted.
    pub(super) epoch: u64,
    nodes: u64,
}

/// The masters in a list of members.
pub(super) struct MasterList {
    pub(super) masters: Vec<Address>,
    /// The newest epoch that one of the members has won.
    pub(super) epoch: u64,
    /// True if the server that was asked has slots.
    pub(super) has_slots: bool,
}

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
    let [host, port, id, ..] = master.as_slice() else {
        return None;
    };
    let host: Option<String> = redis::from_redis_value(host.clone()).ok()?;
    let port = redis::from_redis_value(port.clone()).ok()?;
    let host = host.filter(|host| !host.is_empty() && host != "?");
    let host = host.unwrap_or_else(|| asked.host.clone());
    Some(Range {
        first: redis::from_redis_value(first.clone()).ok()?,
        last: redis::from_redis_value(last.clone()).ok()?,
        master: Address { host, port },
        id: redis::from_redis_value(id.clone()).ok()?,
    })
}

/// Parses the reply to `CLUSTER INFO`.
pub(super) fn view(info: &str) -> Option<View> {
    let fields: HashMap<_, _> = fields(info).collect();
    let number = |name| fields.get(name)?.parse().ok();
    Some(View {
        epoch: number("cluster_current_epoch")?,
        nodes: number("cluster_known_nodes")?,
    })
}

/// Returns whether a server executes requests to its slots, according to its reply to `CLUSTER INFO`: one that has just
/// started waits until it knows that it is still their master.
pub(super) fn serves(info: &str) -> bool {
    fields(info).any(|field| field == ("cluster_state", "ok"))
}

/// Parses the replies to `CLUSTER NODES` and `CLUSTER SLOTS`: every master that serves a slot, and those that may be
/// given one. Masters that serve slots have the addresses that clients should use.
pub(super) fn members(nodes: &str, slots: &Value, asked: &Address) -> Option<MasterList> {
    let ranges = slot_ranges(slots, asked)?;
    let is_name = |range: &Range| range.master.host.parse::<IpAddr>().is_err();
    let names = ranges.iter().any(is_name);
    let mut list = MasterList {
        masters: Vec::new(),
        epoch: 0,
        has_slots: false,
    };
    for line in nodes.lines().filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [id, at, flags, _, _, _, epoch, _, slots @ ..] = fields.as_slice() else {
            return None;
        };
        list.epoch = list.epoch.max(epoch.parse().ok()?);
        let flagged = |flag| flags.split(',').any(|of_node| of_node == flag);
        // Slots in brackets are being moved.
        let serves = slots.iter().any(|range| !range.starts_with('['));
        list.has_slots |= serves && flagged("myself");
        let gone = flagged("fail") || flagged("noaddr");
        if !flagged("master") || flagged("handshake") || (gone && !serves) {
            continue;
        }
        let mut of_node = ranges.iter().filter(|range| range.id == *id);
        let master = match of_node.next() {
            Some(range) => range.master.clone(),
            None => address(at, names, asked)?,
        };
        if !list.masters.contains(&master) {
            list.masters.push(master);
        }
    }
    Some(list)
}

/// Parses `IP:PORT@BUS-PORT,HOST,...`. The host name counts where clients should use names.
fn address(at: &str, names: bool, asked: &Address) -> Option<Address> {
    let (ip, rest) = at.split_once('@')?;
    let (ip, port) = ip.rsplit_once(':')?;
    let name = rest
        .split(',')
        .nth(1)
        .filter(|name| names && !name.is_empty());
    let ip = Some(ip).filter(|ip| !ip.is_empty());
    let host = name.or(ip).unwrap_or(&asked.host).to_owned();
    let port = port.parse().ok()?;
    Some(Address { host, port })
}

/// Returns whether a server is a master, according to its reply to `INFO replication`.
pub(super) fn is_master(info: &str) -> bool {
    fields(info).any(|field| field == ("role", "master"))
}

/// Returns whether a server has just started and refuses requests, according to its reply to `INFO persistence`.
pub(super) fn is_loading(info: &str) -> bool {
    fields(info).any(|field| field == ("loading", "1"))
}

impl RequestError {
    /// Returns the server that a `MOVED` or `ASK` error redirects to.
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

/// Returns whether the cause of an error goes away by itself, so that the request can be sent again.
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

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    /// Returns a reply to `CLUSTER SLOTS` in which one server has all slots.
    fn slots(host: &str, id: &str) -> Value {
        let master = Value::Array(vec![text(host), Value::Int(7000), text(id)]);
        Value::Array(vec![Value::Array(vec![
            Value::Int(0),
            Value::Int(16_383),
            master,
        ])])
    }

    fn masters(nodes: &str, slots: &Value) -> Option<(Vec<String>, u64)> {
        let asked = Address {
            host: "asked".to_owned(),
            port: 1,
        };
        let list = members(nodes, slots, &asked)?;
        let masters = list.masters.iter().map(Address::to_string);
        Some((masters.collect(), list.epoch))
    }

    #[test]
    fn masters_are_those_that_serve_slots_and_those_that_may() {
        let nodes = "\
a 10.0.0.1:7000@17000 myself,master - 0 0 3 connected 0-16383 [93->-b]
b 10.0.0.2:7000@17000,,shard-id=x master - 0 0 2 connected
c 10.0.0.3:7000@17000 slave a 0 0 9 connected
d 10.0.0.4:7000@17000 master,fail - 0 0 1 disconnected
e :0@0 master,noaddr - 0 0 1 disconnected
f 10.0.0.6:7000@17000 handshake,master - 0 0 0 connected
g ::1:7000@17000 master,fail? - 0 0 1 connected
";
        let expected = ["10.0.0.1:7000", "10.0.0.2:7000", "[::1]:7000"].map(str::to_owned);
        let found = masters(nodes, &slots("10.0.0.1", "a"));
        assert_eq!(found, Some((expected.into(), 9)));
    }

    #[test]
    fn a_server_says_whether_it_has_slots_and_serves_them() {
        let asked = Address {
            host: "asked".to_owned(),
            port: 1,
        };
        let list = |nodes| members(nodes, &slots("10.0.0.1", "a"), &asked).expect("a list");
        let with = "a 10.0.0.1:7000@17000 myself,master - 0 0 3 connected 0-16383";
        let without = "a 10.0.0.1:7000@17000 master - 0 0 3 connected 0-16383\n\
                       b 10.0.0.2:7000@17000 myself,master - 0 0 0 connected [93-<-a]";
        assert_eq!(
            (list(with).has_slots, list(without).has_slots),
            (true, false)
        );
        assert!(serves("cluster_enabled:1\r\ncluster_state:ok\r\n"));
        assert!(!serves("cluster_state:fail\r\n"));
        assert!(is_loading(
            "# Persistence\r\nloading:1\r\n# Replication\r\nrole:master\r\n"
        ));
        assert!(!is_loading(
            "loading:0\r\nasync_loading:1\r\nrole:master\r\n"
        ));
    }

    #[test]
    fn a_failed_master_counts_for_as_long_as_its_slots_are_its_own() {
        let nodes = "a 10.0.0.1:7000@17000 master,fail - 0 0 3 disconnected 0-16383";
        let found = masters(nodes, &slots("10.0.0.1", "a")).expect("a list");
        assert_eq!(found.0, ["10.0.0.1:7000"]);
    }

    #[test]
    fn members_are_at_the_addresses_that_clients_are_to_use() {
        let nodes = "\
a 10.0.0.1:7000@17000,one.example myself,master - 0 0 3 connected 0-16383
b 10.0.0.2:7000@17000,two.example master - 0 0 2 connected
";
        let found = masters(nodes, &slots("one.example", "a")).expect("a list");
        assert_eq!(found.0, ["one.example:7000", "two.example:7000"]);
        let found = masters(nodes, &slots("10.0.0.1", "a")).expect("a list");
        assert_eq!(found.0, ["10.0.0.1:7000", "10.0.0.2:7000"]);
    }

    #[test]
    fn what_is_not_a_list_of_members_is_refused() {
        for nodes in [
            "a",
            "a b c d e f g",
            "a b master - 0 0 x connected",
            "a b master - 0 0 1 connected",
        ] {
            assert_eq!(masters(nodes, &slots("h", "z")), None, "{nodes}");
        }
        assert_eq!(masters("", &Value::Nil), None);
        assert_eq!(view("cluster_current_epoch:1"), None);
        let info = "cluster_known_nodes:6\r\ncluster_current_epoch:7\r\n";
        assert_eq!(view(info), Some(View { epoch: 7, nodes: 6 }));
    }
}
