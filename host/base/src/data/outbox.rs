//! Events of this service's own features, published in the commit of the change that causes them.
//!
//! A feature publishes its change here, and other features add messages and jobs to the same commit: state, message and job
//! are committed together or not at all (`platform.md`, "Store"). Neither feature knows the other.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::records::{Change, Records};
use crate::error::Result;
use crate::identity::TenantId;

/// The effect of a change on a document.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "ChangeAction")]
pub enum Action {
    /// The document did not exist before.
    Created,
    /// The document existed before.
    Replaced,
    /// The document was removed.
    Deleted,
}

/// A change to a tenant's document. The commit that carries it is in the tenant's partition.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// Its type, such as `entity-conditions.events.v1` (`webhooks.md`, "Events").
    pub event_type: &'static str,
    /// The tenant.
    pub tenant: &'a TenantId,
    /// The action that changed the document.
    pub action: Action,
    /// The document's id.
    pub id: &'a str,
    /// The document after the change, as JSON; `None` once it is deleted.
    pub document: Option<&'a Bytes>,
}

/// Adds to the commit of an event, and may read the tenant's records to do so.
type Listener = dyn for<'a> Fn(&'a Event<'a>, &'a Records, &'a mut Change) -> BoxFuture<'a, Result<()>>
    + Send
    + Sync;

/// The listeners that add to the commits of events.
#[derive(Default)]
pub struct Outbox(RwLock<Vec<Arc<Listener>>>);

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outbox")
    }
}

impl Outbox {
    /// Calls a listener for every event from now on. The listener may be called more than once for one event, if the
    /// change is planned again; what it adds is committed once.
    pub fn subscribe(
        &self,
        listener: impl for<'a> Fn(
            &'a Event<'a>,
            &'a Records,
            &'a mut Change,
        ) -> BoxFuture<'a, Result<()>>
        + Send
        + Sync
        + 'static,
    ) {
        self.0.write().push(Arc::new(listener));
    }

    /// Lets every listener add to the change of the tenant's records that causes an event.
    ///
    /// # Errors
    /// The error of a listener. The change must then not be committed.
    pub async fn publish(
        &self,
        event: &Event<'_>,
        records: &Records,
        change: &mut Change,
    ) -> Result<()> {
        let listeners = self.0.read().clone();
        for listener in &listeners {
            listener(event, records, change).await?;
        }
        Ok(())
    }
}
