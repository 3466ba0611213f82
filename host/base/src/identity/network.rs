//! The addresses that count as one client.

use std::net::{IpAddr, Ipv6Addr};

/// Returns what an address counts as. An IPv6 address counts as its network of 64 bits, because its holder has the
/// whole network.
#[must_use]
pub fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(peer) => peer.into(),
        IpAddr::V6(peer) => Ipv6Addr::from_bits(peer.to_bits() >> 64 << 64).into(),
    }
}
