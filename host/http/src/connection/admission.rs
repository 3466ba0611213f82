//! Limits how many connections are open, in total and from each address.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tillgate_base::identity::network;
use tillgate_base::load::budget::{Budget, Limit, Reservation};

/// Descriptors that are kept free for the store, for outgoing requests and for files.
const RESERVED: usize = 64;

/// The most connections that may be open at once.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// In total.
    pub all: usize,
    /// From one address; an IPv6 network of 64 bits counts as one.
    pub per_address: usize,
    /// Networks whose addresses may have any number: our own proxies.
    pub exempt: Vec<IpNet>,
}

impl ConnectionLimits {
    /// Raises the number of files this process may open to what the system allows, and lowers the limits to that number.
    #[must_use]
    pub fn within_process(self) -> Self {
        let open_files = raise_open_files();
        let all = self.all.min(open_files.saturating_sub(RESERVED)).max(2);
        Self {
            all,
            // One address never takes what all others need.
            per_address: self.per_address.min(all / 2),
            ..self
        }
    }
}

/// Raises the number of files this process may open as far as possible, and returns it.
fn raise_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // If the system refuses, the old limit stays.
    let _raised = setrlimit(Resource::Nofile, raised);
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |current| {
        usize::try_from(current).unwrap_or(usize::MAX)
    })
}

/// A connection that is counted until this is dropped.
pub(crate) type Admitted = Reservation<IpAddr>;

/// The connections that are open.
#[derive(Debug)]
pub(crate) struct Connections {
    exempt: Vec<IpNet>,
    open: Arc<Budget<IpAddr>>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        let limit = Limit {
            all: limits.all,
            each: limits.per_address,
        };
        Self {
            exempt: limits.exempt,
            open: Budget::new(limit),
        }
    }

    /// Counts one more connection for as long as the result is held; returns `None` if there are too many already.
    pub(crate) fn admit(&self, peer: IpAddr) -> Option<Admitted> {
        let peer = peer.to_canonical();
        let is_exempt = self.exempt.iter().any(|net| net.contains(&peer));
        self.open.reserve((!is_exempt).then(|| network(peer)), 1)
    }
}
