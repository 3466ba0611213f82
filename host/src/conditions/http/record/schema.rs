//! The schemas of decisions on record, for the documents of the API.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, time};

use crate::conditions::decision_log::till_schema as till;

/// The greatest number of a decision.
const MAX_SEQUENCE: u64 = (1 << 53) - 1;

/// A till in a page.
pub(super) fn till_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64},[0-9a-f]{64}$" })
}

fn sequence() -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_SEQUENCE })
}

/// What became of what was handed in.
pub(super) fn receipt(generator: &mut SchemaGenerator) -> Schema {
    let till = till(generator);
    let count = json_schema!({ "type": "integer", "minimum": 0 });
    component(generator, "DecisionReceipt", |_| {
        json_schema!({
            "type": "object",
            "required": ["till", "sequence", "written", "repeated", "leftOut"],
            "properties": {
                "till": till, "sequence": sequence(), "written": count, "repeated": count, "leftOut": count,
            },
        })
    })
}

/// A page of tills.
pub(super) fn tills(generator: &mut SchemaGenerator) -> Schema {
    let (till, time, next) = (till(generator), time(generator), till_cursor(generator));
    component(generator, "Tills", |_| {
        json_schema!({
            "type": "object", "required": ["items"],
            "properties": {
                "items": { "type": "array", "items": {
                    "type": "object", "required": ["till", "clientId", "sequence", "handedInAt"],
                    "properties": {
                        "till": till, "clientId": { "type": "string" }, "sequence": sequence(), "handedInAt": time,
                    },
                } },
                "next": next,
            },
        })
    })
}
