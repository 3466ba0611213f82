//! The schemas of messages of the topic (`given.md`, 2.5).

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate::{currency, rate_type};
use tillgate_api::schema::component;

use super::date_time;

/// A rate in a message (`given.md`, 2.5).
fn message_rate(generator: &mut SchemaGenerator) -> Schema {
    let rate_type = rate_type(generator);
    component(generator, "MessageRate", |_| {
        json_schema!({
            "type": "object",
            "description": "One unit of the target is worth `rateValue` units of the source.",
            "required": ["exchangeRateType", "sourceCurrencyCode", "targetCurrencyCode", "rateValue", "rateValueWithMarkup", "createdDate"],
            "properties": {
                "exchangeRateType": rate_type,
                "sourceCurrencyCode": currency("SEK"), "targetCurrencyCode": currency("EUR"),
                "rateValue": { "type": "number", "exclusiveMinimum": 0 },
                "rateValueWithMarkup": { "type": "number", "minimum": 0 },
                "createdDate": date_time("When the shop first got this rate."),
                "createdBy": { "type": "string" },
                "lastModified": date_time("When its value or markup last changed."),
            },
        })
    })
}

/// An object of a shop with the lists of its rates that have changed, and these members.
fn with_lists(generator: &mut SchemaGenerator, members: &[(&str, &str)]) -> Schema {
    let rate = message_rate(generator);
    let list = |description: &str| json_schema!({ "type": "array", "items": rate, "description": description });
    let mut properties = json_schema!({
        "createdRates": list("Rates that the shop did not have before."),
        "updatedRates": list("Rates that it had, with a new value or markup."),
        "deletedRates": list("Rates that it no longer has, as it last used them."),
    });
    for (name, description) in members {
        let text = json_schema!({ "type": "string", "description": description });
        properties.insert((*name).to_owned(), text.to_value());
    }
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    json_schema!({
        "type": "object", "required": required, "properties": properties,
        "description": "The rates of a shop that have changed. A list that is empty is left out.",
    })
}

/// What a change would publish for a shop.
pub(super) fn shop_lists(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "ShopChange", |generator| {
        with_lists(generator, &[("businessUnitId", "The shop.")])
    })
}

/// An event of the topic: a message with its attributes.
pub(crate) fn topic_event(generator: &mut SchemaGenerator) -> Schema {
    let message = rates_changed_message(generator);
    component(generator, "TopicEvent", |_| {
        let text = || json_schema!({ "type": "string" });
        json_schema!({
            "type": "object",
            "required": ["messageId", "publishTime", "attributes", "data"],
            "properties": {
                "messageId": { "type": "string", "description": "An opaque text, the same each time that the message comes." },
                "publishTime": date_time("Strictly increasing within a shop, with six decimals, so that it sorts as text."),
                "attributes": {
                    "type": "object", "required": ["Tenant-Id", "Business-Unit-Id", "Correlation-Id"],
                    "properties": { "Tenant-Id": text(), "Business-Unit-Id": text(), "Correlation-Id": text() },
                },
                "data": message,
            },
        })
    })
}

/// The data of the event that says that messages are gone.
pub(crate) fn topic_reset(generator: &mut SchemaGenerator) -> Schema {
    component(
        generator,
        "TopicReset",
        |_| json_schema!({ "type": "object", "maxProperties": 0 }),
    )
}

/// The body of a message of the topic.
fn rates_changed_message(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RatesChangedMessage", |generator| {
        let members = [("tenantId", "Its tenant."), ("businessUnitId", "The shop.")];
        with_lists(generator, &members)
    })
}

/// Where a subscriber of the topic begins.
pub(in crate::rates::http) fn topic_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "examples": ["latest"] })
}
