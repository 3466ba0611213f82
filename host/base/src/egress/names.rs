//! Names and their addresses. Only allowed addresses are dialed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::{fmt, io};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::Destinations;

/// An address that may not be dialed. The error names the host: a tenant must not learn the address of a name.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{host} must not be dialed from here: its {family} address is not allowed")]
pub struct Refusal {
    host: String,
    family: &'static str,
}

impl Refusal {
    pub(super) fn new(host: String, address: IpAddr) -> Self {
        let family = match address.to_canonical() {
            IpAddr::V4(_) => "IPv4",
            IpAddr::V6(_) => "IPv6",
        };
        Self { host, family }
    }
}

/// Finds the addresses of names.
pub trait Names: Send + Sync + fmt::Debug + 'static {
    /// Looks up the addresses of a name.
    fn look_up(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The names that this machine can resolve.
#[derive(Clone, Copy, Debug)]
pub struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|found| found.ip()).collect())
        })
    }
}

/// Resolves names, and refuses an answer with an address that may not be dialed.
pub(super) struct CheckedResolver {
    pub(super) names: Arc<dyn Names>,
    pub(super) destinations: Destinations,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looking_up = self.names.look_up(name.as_str());
        let (host, destinations) = (name.as_str().to_owned(), self.destinations.clone());
        Box::pin(async move {
            let found = looking_up.await?;
            let is_this_machine = found.iter().all(|at| at.to_canonical().is_loopback());
            let (allowed, refused): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|at| destinations.allow(*at));
            // An answer with both kinds is refused as a whole: it may be an attempt to get around the check.
            // `localhost` is not, although perhaps only one of its families is allowed.
            if let Some(refused) = refused.first()
                && (allowed.is_empty() || !is_this_machine)
            {
                tracing::debug!(host, address = %refused, "an address must not be dialed");
                return Err(Refusal::new(host, *refused).into());
            }
            let allowed = allowed.into_iter().map(|at| SocketAddr::new(at, 0));
            Ok(Box::new(allowed) as Addrs)
        })
    }
}

/// Returns the resolver's refusal, if it caused an error.
pub(super) fn refusal(error: &reqwest::Error) -> Option<Refusal> {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return Some(refusal.clone());
        }
        cause = error.source();
    }
    None
}
