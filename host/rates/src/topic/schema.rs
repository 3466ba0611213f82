//! The schemas of the topic's events, for `/asyncapi.json`. `message.rs` and `reader.rs` write them as text, from lists that
//! are stored as JSON.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, schema_of};

use super::Lists;

/// The rates of a shop that have changed. Empty lists are left out.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct RatesChangedMessage {
    /// The tenant of the shop.
    tenant_id: String,
    /// The shop.
    business_unit_id: String,
    #[schemars(flatten)]
    lists: Lists<'static>,
}

/// Returns the schema of an event: a message with its attributes.
pub fn topic_event(generator: &mut SchemaGenerator) -> Schema {
    let message = schema_of::<RatesChangedMessage>(generator);
    component(generator, "TopicEvent", |_| {
        let text = || json_schema!({ "type": "string" });
        json_schema!({
            "type": "object",
            "required": ["messageId", "publishTime", "attributes", "data"],
            "properties": {
                "messageId": { "type": "string", "description": "An opaque text, which stays the same if the message is sent again." },
                "publishTime": { "type": "string", "format": "date-time", "description": "The time when the message was published. It strictly increases within a shop and has six decimals, so that it sorts as text." },
                "attributes": {
                    "type": "object", "required": ["Tenant-Id", "Business-Unit-Id", "Correlation-Id"],
                    "properties": { "Tenant-Id": text(), "Business-Unit-Id": text(), "Correlation-Id": text() },
                },
                "data": message,
            },
        })
    })
}

/// Returns the schema of the data of the event that says that messages are gone.
pub fn topic_reset(generator: &mut SchemaGenerator) -> Schema {
    component(
        generator,
        "TopicReset",
        |_| json_schema!({ "type": "object", "maxProperties": 0 }),
    )
}
