//! The AsyncAPI document (3.0): the messages that this service sends by itself. `channels.rs` defines the channels;
//! this module builds the document from them.

mod channels;

use schemars::Schema;
use serde_json::{Map, Value, json};
use tillgate_http::document::{Info, generator};

/// A message of a channel.
struct Message {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    headers: Option<Schema>,
    payload: Schema,
    example: Value,
}

/// A channel, with the messages that are sent on it.
struct Channel {
    name: &'static str,
    operation: &'static str,
    address: &'static str,
    title: &'static str,
    /// The recipients of the messages.
    summary: &'static str,
    description: &'static str,
    parameters: Value,
    messages: Vec<Message>,
}

pub(super) fn asyncapi(info: Info) -> Value {
    let mut generator = generator();
    let (mut channels, mut operations, mut messages) = (Map::new(), Map::new(), Map::new());
    for channel in channels::all(&mut generator) {
        let place = format!("#/channels/{}", channel.name);
        let (mut own, mut sent) = (Map::new(), Vec::new());
        for message in channel.messages {
            let name = message.name;
            let reference = json!({ "$ref": format!("#/components/messages/{name}") });
            own.insert(name.to_owned(), reference);
            sent.push(json!({ "$ref": format!("{place}/messages/{name}") }));
            messages.insert(name.to_owned(), message.into_document());
        }
        let mut document = json!({
            "address": channel.address,
            "title": channel.title,
            "description": channel.description,
            "messages": own,
        });
        if let (Some(document), true) = (document.as_object_mut(), channel.parameters.is_object()) {
            document.insert("parameters".to_owned(), channel.parameters);
        }
        channels.insert(channel.name.to_owned(), document);
        let operation = json!({
            "action": "send",
            "channel": { "$ref": place },
            "title": channel.title,
            "summary": channel.summary,
            "messages": sent,
        });
        operations.insert(channel.operation.to_owned(), operation);
    }
    let mut schemas = Value::Object(generator.take_definitions(true));
    name_discriminators(&mut schemas);
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tillgate",
            "version": info.version,
            "description": "The messages that Tillgate sends: changes of rates and of the catalog to subscribers, and events to the receivers of webhooks. `/openapi.json` describes the requests.",
            "license": { "name": "Apache 2.0" },
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": { "messages": messages, "schemas": schemas },
    })
}

/// Writes each discriminator as AsyncAPI defines it: the name of a member, without the meaning of its values.
fn name_discriminators(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(name_discriminators),
        Value::Object(members) => {
            let by = members.get("discriminator");
            if let Some(by) = by.and_then(|by| by.get("propertyName")).cloned() {
                members.insert("discriminator".to_owned(), by);
            }
            members.values_mut().for_each(name_discriminators);
        }
        _ => {}
    }
}

impl Message {
    fn into_document(self) -> Value {
        let mut document = json!({
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "contentType": "application/json",
            "payload": self.payload,
            "examples": [{ "payload": self.example }],
        });
        if let (Some(document), Some(headers)) = (document.as_object_mut(), self.headers) {
            document.insert("headers".to_owned(), headers.to_value());
        }
        document
    }
}
