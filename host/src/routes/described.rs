//! What the API's documents say of the routes that belong to no feature: probes, metrics, usage, jobs that were set aside.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, json};
use tillgate_api::problem::{INTERNAL, JOB_NOT_FOUND, OVERLOADED};
use tillgate_api::schema::{SchemaOf, component, limit, schema_of, tenant_id, text, time};

use super::ready::Ready;
use crate::http::{Operation, Tag};
use crate::observe::metrics::{OPEN_METRICS, TEXT};

const UNCACHED: &str = "`no-store`.";

pub(super) fn healthz() -> Operation {
    let up = |_: &mut SchemaGenerator| {
        json_schema!({
            "type": "object", "required": ["status"], "properties": { "status": { "type": "string", "const": "up" } },
        })
    };
    Operation::new("getHealth", Tag::Operations, "Ask whether the host lives")
        .says("An orchestrator may restart a host that does not answer. It says nothing of the store.")
        .answers(200, "It lives", up)
        .with_header("Cache-Control", UNCACHED)
}

pub(super) fn readyz() -> Operation {
    Operation::new(
        "getReadiness",
        Tag::Operations,
        "Ask whether the host can decide",
    )
    .says(
        "While the store is unavailable the host decides from memory: it is `degraded`, and ready.",
    )
    .answers(200, "It can decide", schema_of::<Ready<'_>>)
    .with_header("Cache-Control", UNCACHED)
    .answers(503, "It cannot decide", schema_of::<Ready<'_>>)
    .with_header("Cache-Control", UNCACHED)
}

pub(super) fn metrics() -> Operation {
    Operation::new("getMetrics", Tag::Operations, "Get the metrics of the host")
        .says("`Accept` chooses the format. Where it prefers neither, and where there is none, the answer is in OpenMetrics.")
        .answers_as(
            OPEN_METRICS,
            200,
            "The metrics, in OpenMetrics 1.0 or in the text format 0.0.4 of Prometheus",
            text)
        .or_answers_as(
            TEXT)
        .with_header("Cache-Control", UNCACHED)
        .refuses(&[INTERNAL, OVERLOADED])
}

/// Usage, whose answer is of this schema.
pub(super) fn usage(schema: SchemaOf) -> Operation {
    Operation::new(
        "getUsage",
        Tag::Platform,
        "Get how much of its quotas a tenant uses",
    )
    .says("For any client of the tenant, and for the platform's.")
    .path("tenantId", "The id of the tenant.", tenant_id)
    .answers(
        200,
        "How much there is of each, and how much there may be",
        schema,
    )
}

/// The id of a job that was set aside, and its example.
const JOB: &str = "dGVuYW50OmFjbWUKd2ViaG9vay1mYW4tb3V0LzE3";

fn job_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{2,1400}$", "examples": [JOB] })
}

fn set_aside(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "SetAsideJob", |generator| {
        let texts = ["queue", "job", "partition", "error"];
        let mut properties =
            Map::from_iter(texts.map(|name| (name.to_owned(), text(generator).to_value())));
        let others: [(&str, SchemaOf); 3] =
            [("id", job_id), ("tenantId", tenant_id), ("failedAt", time)];
        for (name, schema) in others {
            properties.insert(name.to_owned(), schema(generator).to_value());
        }
        let attempts = json!({ "type": "integer", "minimum": 0 });
        properties.insert("attempts".to_owned(), attempts);
        json_schema!({
            "type": "object", "properties": properties,
            "required": ["id", "queue", "job", "partition", "attempts", "failedAt", "error"],
        })
    })
}

fn set_aside_page(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "required": ["items"],
        "properties": {
            "items": { "type": "array", "items": set_aside(generator) },
            "next": job_id(generator),
        },
    })
}

pub(super) fn list_set_aside() -> Operation {
    Operation::new(
        "listSetAsideJobs",
        Tag::Platform,
        "List the jobs that failed too often",
    )
    .says("Of all tenants and of the platform. A page may be empty and still have a `next`. What a job was to do is not shown.")
    .query("cursor", "`next` of the page before.", job_id)
    .query("limit", "How many jobs the page has at most.", limit)
    .answers(200, "A page of jobs", set_aside_page)
}

pub(super) fn retry_set_aside() -> Operation {
    with_job(Operation::new(
        "retrySetAsideJob",
        Tag::Platform,
        "Have a job tried again that failed too often",
    ))
    .says("It is put back on its queue, where it takes the place of one with the same id.")
    .answers(202, "It is tried again; this is what it was", set_aside)
}

pub(super) fn drop_set_aside() -> Operation {
    with_job(Operation::new(
        "dropSetAsideJob",
        Tag::Platform,
        "Drop a job that failed too often",
    ))
    .empty(204, "It is gone, and what it should have done is not done")
}

fn with_job(operation: Operation) -> Operation {
    operation
        .path("jobId", "The id of the job, from the list.", job_id)
        .refuses(&[JOB_NOT_FOUND])
}
