//! The party that work is done for: the key by which load is limited.

use std::net::IpAddr;

use crate::identity::{Caller, TenantId, network};

/// A tenant, the network of an anonymous request, or this service itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Requester {
    /// The tenant of the caller.
    Tenant(TenantId),
    /// The network that an anonymous request came from.
    Network(IpAddr),
    /// The service itself, such as a background job.
    Platform,
}

impl Requester {
    /// Returns the tenant of a caller, or the network that a request came from.
    #[must_use]
    pub fn of(caller: Option<&Caller>, peer: IpAddr) -> Self {
        match caller {
            Some(caller) => Self::Tenant(caller.tenant.clone()),
            None => Self::Network(network(peer)),
        }
    }
}
