//! Signs events for a receiver on a developer's own machine, which this service cannot reach. `tillgate listen` pulls
//! events as a consumer and sends each with the headers that are made here.
//!
//! The URL is the audience of the token, so it must be an address of that machine or its network: with a token for another
//! URL, the caller could deceive the receiver there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use reqwest::Url;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use tillgate_api::problem::EVENT_NOT_FOUND;
use tillgate_api::{Value, describe};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use uuid::Uuid;

use super::Webhooks;
use super::delivery::sender::Prepared;
use super::events::accepted_id::{AcceptedId, accepted_id_key};
use super::events::event::{Event, event_key};
use super::registry::body::{check_url, is_short_text, signing_key, url};
use super::registry::webhook::Settings;

const LOCAL_RULE: &str = "must be a URL of your own machine, such as \
    http://127.0.0.1:3000/hook, or of an address in a private network that \
    this service does not reach";

/// The headers of a delivery.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct SignedHeaders {
    /// The values of the headers, by name in lower case.
    headers: BTreeMap<String, String>,
}

/// Reads `{ url, sharedKey? }` as the settings of a webhook. This service itself delivers to the networks in `reached`.
pub(super) fn local_receiver(value: Value<'_, '_, '_>, reached: &[IpNet]) -> Option<Settings> {
    value.component("SignedHeadersRequest", |value| {
        value.object(|fields| {
            let about = "The URL to which the caller sends the event: a URL of \
                its own machine, or of an address in a private network that \
                this service does not reach. It is the audience of the token.";
            let url = fields.required("url", about, |value| {
                url(value, |text| {
                    check_url(text, true)?;
                    if is_local(text, reached) {
                        Ok(())
                    } else {
                        Err(LOCAL_RULE)
                    }
                })
            });
            let about = "The key of the signatures. Without it, there are no signatures.";
            let key = fields.optional("sharedKey", about, signing_key);
            Some(Settings::of_receiver(url?, key?))
        })
    })
}

pub(super) fn local_receiver_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, |value| local_receiver(value, &[]))
}

/// Returns whether a URL is on the developer's machine or network. An address that this service may deliver to is not,
/// except on the machine itself.
fn is_local(url: &str, reached: &[IpNet]) -> bool {
    let url = Url::parse(url).ok();
    let Some(host) = url.as_ref().and_then(Url::host_str) else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let Ok(address) = bare.parse::<IpAddr>() else {
        return host == "localhost" || host.ends_with(".localhost");
    };
    let is_private = match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    };
    let is_reached = || reached.iter().any(|network| network.contains(&address));
    address.is_loopback() || is_private && !is_reached()
}

impl Webhooks {
    /// Returns the headers that deliver an event to a local receiver now, and the event's type.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Overloaded`] when no token can be made; when the store is unavailable.
    pub(super) async fn sign(
        &self,
        tenant: &TenantId,
        event: &str,
        settings: &Settings,
    ) -> Result<(SignedHeaders, String)> {
        let event = self.event(tenant, event).await?;
        let now = self.app.clock.now();
        let prepared = self.sender.prepare(&self.identity, settings, &event, now);
        let Prepared::Request(headers, _) = prepared.await? else {
            return Err(Error::Overloaded("no token can be made now"));
        };
        let texts = headers.iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        });
        let headers = texts.collect();
        Ok((SignedHeaders { headers }, event.event_type))
    }

    /// Returns an event by its id. An id that the publisher chose is found for as long as it is remembered.
    async fn event(&self, tenant: &TenantId, id: &str) -> Result<Event> {
        let missing = || Error::missing(EVENT_NOT_FOUND, id);
        if !is_short_text(id) {
            return Err(missing());
        }
        let records = self.records(tenant);
        let accepted = records.get::<AcceptedId>(&accepted_id_key(id)).await?;
        let key = accepted.and_then(|accepted| accepted.record.event);
        let key = key.or_else(|| Uuid::try_parse(id).ok());
        let key = key.ok_or_else(missing)?;
        let event = records.get::<Event>(&event_key(key)).await?;
        let event = event.filter(|event| event.record.id == id);
        event.map(|event| event.record).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_urls_that_no_receiver_has_are_local() {
        let reached = ["10.1.0.0/16", "127.0.0.0/8"].map(|net| net.parse());
        let reached: Vec<_> = reached.into_iter().flatten().collect();
        for url in [
            "http://127.0.0.1:3000/hook",
            "https://localhost/",
            "http://shop.localhost:3000/",
            "http://[::1]:3000/",
            "http://192.168.1.7/",
            "http://10.2.0.1/",
            "http://[fd00::1]/",
        ] {
            assert!(is_local(url, &reached), "{url}");
        }
        for url in [
            "https://erp.example/hook",
            "http://localhost.example/",
            "http://notlocalhost/",
            "http://8.8.8.8/",
            "http://0.0.0.0/",
            "http://169.254.169.254/",
            "http://10.1.2.3/",
            "http://[::ffff:10.1.2.3]/",
            "http://[2a00::1]/",
        ] {
            assert!(!is_local(url, &reached), "{url}");
        }
    }
}
