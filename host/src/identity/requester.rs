//! On whose behalf a request is served: each requester gets a share of what limits all requests together.

use std::net::IpAddr;

use super::network::network;
use super::{Caller, TenantId};

/// A tenant; on public routes an address; or the service itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Requester {
    /// The tenant of the caller.
    Tenant(TenantId),
    /// The address of a request without a token.
    Address(IpAddr),
    /// The service itself.
    Platform,
}

impl Requester {
    /// The tenant of a caller, or the address that a request came from.
    #[must_use]
    pub fn of(caller: Option<&Caller>, peer: IpAddr) -> Self {
        match caller {
            Some(caller) => Self::Tenant(caller.tenant.clone()),
            None => Self::Address(network(peer)),
        }
    }
}
