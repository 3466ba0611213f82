//! How many connections are open, in all and from each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::peer::network;

/// Descriptors that connections must leave for the store, for outgoing requests and for files.
const RESERVED: usize = 64;

/// The most connections that are open at once.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// In all.
    pub all: usize,
    /// From one address; an IPv6 network of 64 bits counts as one.
    pub per_address: usize,
    /// Networks whose addresses may have any number: our own proxies.
    pub exempt: Vec<IpNet>,
}

impl ConnectionLimits {
    /// These limits, as far as this process may have open files. Raises what it may have to what the system allows.
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

/// How many files this process may have open, after it was allowed as many as possible.
fn raise_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // When that is refused, what was allowed stays.
    let _raised = setrlimit(Resource::Nofile, raised);
    let current = getrlimit(Resource::Nofile).current;
    current.map_or(usize::MAX, |current| {
        usize::try_from(current).unwrap_or(usize::MAX)
    })
}

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    limits: ConnectionLimits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// A connection that is open until this is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    connections: Arc<Connections>,
    /// `None` from an address that may have any number.
    address: Option<IpAddr>,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            open: Mutex::default(),
        })
    }

    /// Counts one more connection, unless there are too many already.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Admitted> {
        let peer = peer.to_canonical();
        let is_exempt = self.limits.exempt.iter().any(|net| net.contains(&peer));
        let address = (!is_exempt).then(|| network(peer));
        let mut open = self.lock();
        if open.all >= self.limits.all {
            return None;
        }
        if let Some(address) = address {
            let of_address = open.by_address.entry(address).or_default();
            if *of_address >= self.limits.per_address {
                return None;
            }
            *of_address += 1;
        }
        open.all += 1;
        Some(Admitted {
            connections: Arc::clone(self),
            address,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.all = open.all.saturating_sub(1);
        let Some(address) = self.address else { return };
        if let Some(of_address) = open.by_address.get_mut(&address) {
            *of_address = of_address.saturating_sub(1);
            if *of_address == 0 {
                open.by_address.remove(&address);
            }
        }
    }
}
