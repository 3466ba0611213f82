//! What the benches ask: the inputs of the figures in `host/benches/README.md`.
#![allow(dead_code, unreachable_pub, reason = "each bench takes what it needs")]

/// A catalog with an age and a license condition.
pub const CATALOG: &str = r#"{"global":[{"id":"alcohol","rule":"AGE_RESTRICTION","scope":"GLOBAL","enabled":true,"condition_value":{"minimum_age":18}}],"tenant":[{"id":"tobacco","rule":"LICENSE_REQUIREMENT","scope":"TENANT","enabled":true,"condition_value":{}}]}"#;

/// A customer of 17 who wants a beer, as a till would send it: 172 bytes.
pub const AGE_REQUEST: &str = r#"{"item":{"id":"beer-0.5l-7311041080306"},"context":{"customer":{"customer_age":17,"licenses":["hunting","pesticide"],"loyalty":"gold","postcode":"11346"},"till":"till-04-se"}}"#;

/// An item with four properties: 115 bytes and a project id.
pub const ITEM_REQUEST: &str = r#"{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{"id":"item-042","additionalProperties":{"productGroup":"timber","brand":"acme","hazardous":false,"organic":true}}}"#;

/// An item that the whitelists of [`whitelist`] hold.
pub const LISTED_REQUEST: &str =
    r#"{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{"id":"item-000007"}}"#;

/// Five restrictions, one of each type, one of them with 100 ids.
pub fn five_restrictions() -> String {
    let ids: Vec<String> = (0..100).map(|id| format!("\"item-{id:03}\"")).collect();
    format!(
        r#"{{"restrictions":[
            {{"type":"WHITELIST","propertyName":"productGroup","allowedValues":["timber","fasteners","insulation"]}},
            {{"type":"BLACKLIST","propertyName":"brand","deniedValues":["umbrella","initech"]}},
            {{"type":"BOOLEAN","propertyName":"hazardous","value":false}},
            {{"type":"WHITELISTEDITEMS","itemIds":[{}]}},
            {{"type":"BLACKLISTEDITEMS","itemIds":["item-900","item-901"]}}]}}"#,
        ids.join(",")
    )
}

/// A whitelist of that many items.
pub fn whitelist(ids: usize) -> String {
    let ids: Vec<String> = (0..ids).map(|id| format!("\"item-{id:06}\"")).collect();
    format!(
        r#"{{"restrictions":[{{"type":"WHITELISTEDITEMS","itemIds":[{}]}}]}}"#,
        ids.join(",")
    )
}
