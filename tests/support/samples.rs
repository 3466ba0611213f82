//! The requests of the benches: the inputs of the figures in `host/benches/README.md`.
#![allow(dead_code, unreachable_pub, reason = "each bench takes what it needs")]

/// A catalog with an age and a license condition.
pub const CATALOG: &str = r#"{"global":[{"id":"alcohol","rule":"AGE_RESTRICTION","scope":"GLOBAL","enabled":true,"condition_value":{"minimum_age":18}}],"tenant":[{"id":"tobacco","rule":"LICENSE_REQUIREMENT","scope":"TENANT","enabled":true,"condition_value":{}}]}"#;

/// A 17-year-old customer who wants a beer, as a till would send it: 172 bytes.
pub const AGE_REQUEST: &str = r#"{"item":{"id":"beer-0.5l-7311041080306"},"context":{"customer":{"customer_age":17,"licenses":["hunting","pesticide"],"loyalty":"gold","postcode":"11346"},"till":"till-04-se"}}"#;

/// An item with four properties: 115 bytes and a project id.
pub const ITEM_REQUEST: &str = r#"{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{"id":"item-042","additionalProperties":{"productGroup":"timber","brand":"acme","hazardous":false,"organic":true}}}"#;

/// An item that is on the list of [`whitelist`].
pub const LISTED_REQUEST: &str =
    r#"{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{"id":"item-000007"}}"#;

/// Returns `count` rows of customers aged 0 to 99.
pub fn age_rows(count: usize) -> String {
    let row = |number| {
        let age = number % 100;
        format!(r#"{{"id":"beer-{number:06}","customer_age":{age},"licenses":["hunting"]}}"#)
    };
    rows(count, row)
}

/// Returns `count` rows of items with four properties; [`five_restrictions`] allows a few of them.
pub fn item_rows(count: usize) -> String {
    let row = |number| {
        let group = if number % 2 == 0 { "timber" } else { "paint" };
        let organic = number % 3 == 0;
        format!(
            r#"{{"id":"item-{number:03}","additionalProperties":{{"productGroup":"{group}","brand":"acme","hazardous":false,"organic":{organic}}}}}"#
        )
    };
    rows(count, row)
}

fn rows(count: usize, row: impl Fn(usize) -> String) -> String {
    let rows: Vec<String> = (0..count).map(row).collect();
    format!(r#"{{"rows":[{}]}}"#, rows.join(","))
}

/// Returns five restrictions, one of each type, one of them with 100 ids.
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

/// Returns a whitelist of `ids` items.
pub fn whitelist(ids: usize) -> String {
    let ids: Vec<String> = (0..ids).map(|id| format!("\"item-{id:06}\"")).collect();
    format!(
        r#"{{"restrictions":[{{"type":"WHITELISTEDITEMS","itemIds":[{}]}}]}}"#,
        ids.join(",")
    )
}
