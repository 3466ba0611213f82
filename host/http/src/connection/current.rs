//! The server that currently answers, which may be replaced while the host runs, as the filter that warp serves.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::runtime::Handle;
use warp::Filter;

use super::Head;
use crate::Server;

/// The server that currently answers. Another may take its place.
#[derive(Clone, Debug)]
pub struct Current(Arc<ArcSwap<Server>>);

impl Current {
    /// Returns the current server's threads of lower priority.
    pub(super) fn workers(&self) -> Handle {
        self.0.load().workers.handle()
    }

    /// Has another server answer from now on.
    pub fn replace(&self, server: Arc<Server>) {
        self.0.store(server);
    }
}

impl From<Arc<Server>> for Current {
    fn from(server: Arc<Server>) -> Self {
        Self(Arc::new(ArcSwap::new(server)))
    }
}

/// Returns the filter that answers each request with the server that is current when it comes.
pub(super) fn filter(
    current: Current,
) -> impl Filter<Extract = (warp::reply::Response,), Error = warp::Rejection>
+ Clone
+ Send
+ Sync
+ 'static {
    warp::ext::get::<Arc<Head>>()
        .and(warp::body::stream())
        .then(move |head, body| {
            let server = current.0.load_full();
            // Boxed, so that it is not copied each time a filter hands it on.
            Box::pin(server.answer(head, body))
        })
}
