//! The addresses that may be dialed (`webhooks.md`, "SSRF"). Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The destinations that a client may have.
#[derive(Clone, Debug)]
pub enum Destinations {
    /// Every address, for targets that the operator configures.
    Any,
    /// This machine only.
    Loopback,
    /// This machine and private networks.
    Local,
    /// Global unicast addresses and the named networks, for targets that tenants configure.
    Public {
        /// Networks that are also allowed.
        besides: Vec<IpNet>,
    },
}

impl Destinations {
    /// Returns whether an address may be dialed.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback => address.to_canonical().is_loopback(),
            Self::Local => match address.to_canonical() {
                IpAddr::V4(address) => address.is_loopback() || address.is_private(),
                IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
            },
            Self::Public { besides } => {
                let canonical = address.to_canonical();
                let named = besides
                    .iter()
                    .any(|network| network.contains(&canonical) || network.contains(&address));
                named || is_global_unicast(canonical)
            }
        }
    }
}

/// Returns whether an address belongs to the public internet and stands for no other address.
fn is_global_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|special| special.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST_V6.contains(&address)
                && !SPECIAL_V6.iter().any(|special| special.contains(&address))
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: u16, second: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

/// The IANA IPv4 special-purpose registry, multicast and reserved addresses.
const SPECIAL_V4: [Ipv4Net; 14] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(192, 88, 99, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 3),
];

/// The range assigned to global unicast. It excludes loopback, link-local, unique local, multicast, NAT64
/// (`64:ff9b::/96` and `64:ff9b:1::/48`), addresses that contain an IPv4 address, and discard-only.
const GLOBAL_UNICAST_V6: Ipv6Net = v6(0x2000, 0, 3);

/// Special-purpose ranges within it: protocol assignments with Teredo, benchmarking and ORCHID; documentation; 6to4.
const SPECIAL_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 23),
    v6(0x2001, 0xdb8, 32),
    v6(0x2002, 0, 16),
    v6(0x3fff, 0, 20),
];

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::Destinations;

    fn allows(destinations: &Destinations, addresses: &[&str], expected: bool) {
        for text in addresses {
            let address = text.parse().unwrap();
            assert_eq!(destinations.allow(address), expected, "{text}");
        }
    }

    #[test]
    fn only_global_unicast_addresses_are_public() {
        let public = Destinations::Public { besides: vec![] };
        let refused = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        allows(&public, &refused, false);
        let allowed = [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.255.255",
            "172.32.0.1",
            "::ffff:8.8.8.8",
            "2001:4860:4860::8888",
            "2606:4700:4700::1111",
            "2a00:1450::1",
        ];
        allows(&public, &allowed, true);
    }

    #[test]
    fn named_networks_are_allowed_besides() {
        let besides = ["127.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let opened = Destinations::Public {
            besides: besides.into(),
        };
        allows(
            &opened,
            &["127.0.0.1", "::ffff:127.0.0.1", "fd00::1", "8.8.8.8"],
            true,
        );
        allows(&opened, &["10.0.0.1", "::1", "fc00::1"], false);
    }

    #[test]
    fn loopback_is_this_machine_alone() {
        allows(
            &Destinations::Loopback,
            &["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"],
            true,
        );
        allows(
            &Destinations::Loopback,
            &["10.0.0.1", "8.8.8.8", "fe80::1", "::"],
            false,
        );
    }

    #[test]
    fn local_is_this_machine_and_private_networks() {
        let local = [
            "127.0.0.1",
            "::1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "::ffff:10.0.0.1",
            "fd00::1",
        ];
        allows(&Destinations::Local, &local, true);
        let refused = [
            "8.8.8.8",
            "0.0.0.0",
            "169.254.169.254",
            "100.64.0.1",
            "fe80::1",
            "2a00::1",
            "::",
        ];
        allows(&Destinations::Local, &refused, false);
    }
}
