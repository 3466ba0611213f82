//! A delivery as a listener gets it: the request that is to be made, and what is needed to report its outcome.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use serde::Serialize;

use super::report::Receipt;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::store::Lease;
use crate::webhooks::events::delivery_id::DeliveryId;
use crate::webhooks::events::event::Event;

/// An attempt that a listener is to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) id: DeliveryId,
    /// Which attempt it is, from 1.
    pub(super) attempt: usize,
    pub(super) lease: Lease,
    pub(super) at: Timestamp,
    pub(super) deadline: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Json<'a> {
    delivery_id: DeliveryId,
    event_id: &'a str,
    event_type: &'a str,
    attempt: usize,
    at: String,
    receipt: String,
    deadline_ms: u64,
    request: Request<'a>,
}

#[derive(Serialize)]
struct Request<'a> {
    method: &'static str,
    url: &'a str,
    headers: BTreeMap<&'a str, &'a str>,
    body: &'a str,
}

impl Offer {
    /// It as JSON on one line, with the request.
    pub(super) fn to_json(self, event: &Event, url: &str, headers: &HeaderMap) -> Result<Arc<str>> {
        let (lease, at) = (self.lease, self.at);
        let texts = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let json = Json {
            delivery_id: self.id,
            event_id: &event.id,
            event_type: &event.event_type,
            attempt: self.attempt,
            at: at.to_millis_text(),
            receipt: Receipt { lease, at }.to_string(),
            deadline_ms: u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX),
            request: Request {
                method: "POST",
                url,
                headers: texts.collect(),
                body: event.envelope(),
            },
        };
        let json = serde_json::to_string(&json);
        json.map(Into::into)
            .map_err(|cause| Error::Bug(cause.to_string()))
    }
}
