//! The addresses of those who send requests: which of them count as one.

use std::net::{IpAddr, Ipv6Addr};

/// What an address counts as. The holder of an IPv6 address has 2⁶⁴ of them: they count as one.
#[must_use]
pub fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(peer) => peer.into(),
        IpAddr::V6(peer) => Ipv6Addr::from_bits(peer.to_bits() >> 64 << 64).into(),
    }
}
