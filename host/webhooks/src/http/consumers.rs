//! Consumers: asking for events, listing consumers, and removing one.
//!
//! A request for events is a GET that changes something. Creating a consumer gets a line in the audit log, as removing
//! one does. Acknowledging gets none: how far a consumer has read is progress, not configuration, and the list shows
//! it.

use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{CONSUMER_NOT_FOUND, QUOTA_EXCEEDED, TOO_MUCH_WAITING};
use tillgate_api::schema::{duration, schema_of};
use tillgate_api::values::parse_duration;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, LIMIT, Operation, Query, QueryParameter, Reply, Request, Route, Tag, Takes,
};

use crate::Webhooks;
use crate::events::schema;
use crate::pull::consumers::Entry;
use crate::pull::{Asked, CURSOR_RULE, Cursor, EventPage, MAX_WAIT, no_consumer};
use crate::registry::consumer::{ConsumerName, NAME_RULE};

const CONSUMER: QueryParameter<ConsumerName> = QueryParameter {
    name: "consumer",
    about: "The name of the consumer.",
    schema: schema::consumer_name,
    read: |text| ConsumerName::new(text).ok_or(NAME_RULE),
};
const AFTER: QueryParameter<Cursor> = QueryParameter {
    name: "after",
    about: "The `next` of a page that this consumer was given. It acknowledges that page and all before it, durably.",
    schema: schema::cursor,
    read: |text| Cursor::parse(text).ok_or(CURSOR_RULE),
};
const WAIT: QueryParameter<Duration> = QueryParameter {
    name: "wait",
    about: "The time to wait for the first event, such as `20s`: at most 60s. Default: no wait.",
    schema: duration,
    read: |text| {
        let wait = parse_duration(text).filter(|wait| *wait <= MAX_WAIT);
        wait.ok_or("must be a duration such as 20s, of at most 60s")
    },
};

pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let (none, read) = (Takes::Nothing, Access::With(P::DeliveryRead));
    let consumer = "/api/v1/event-consumers/{name}";
    let write = Access::With(P::WebhookWrite);
    vec![
        Route::changing(
            Method::GET,
            "/api/v1/events",
            read,
            none,
            "event_consumer.created",
            pull,
        )
        .heavy()
        .described(describe_pull),
        Route::new(Method::GET, "/api/v1/event-consumers", read, none, list)
            .described(describe_list_consumers),
        Route::changing(
            Method::DELETE,
            consumer,
            write,
            none,
            "event_consumer.deleted",
            remove,
        )
        .described(describe_remove_consumer),
    ]
}

async fn pull(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    // Consumers keep asking, even while the store is unavailable: refused requests get no line in the audit log.
    let refused = |error: Error| Ok(Reply::error(&error, request.correlation).unchanged());
    let asked = asked(&request)?;
    let tenant = &request.caller()?.tenant;
    let (page, is_new) = match webhooks.pull(tenant, &asked, request.gone()).await {
        Ok(pulled) => pulled,
        Err(error) => return refused(error),
    };
    // A caller that may no longer see events gets none that came while it waited.
    if !asked.wait.is_zero()
        && let Err(error) = request.authorize_again().await
    {
        return refused(error);
    }
    let reply = Reply::of(StatusCode::OK, &page)?;
    Ok(if is_new {
        reply.audited(line(&request, &asked.consumer)?)
    } else {
        reply.unchanged()
    })
}

async fn list(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let all = webhooks.consumers(&request.caller()?.tenant).await?;
    Reply::of(StatusCode::OK, &all)
}

async fn remove(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let name = request.param(0)?;
    let name = ConsumerName::new(name).ok_or_else(|| no_consumer(name))?;
    let tenant = &request.caller()?.tenant;
    webhooks.remove_consumer(tenant, &name).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line(&request, &name)?))
}

/// Reads the query and reports every fault in it.
fn asked(request: &Request) -> Result<Asked> {
    let mut query = Query::of(request);
    let consumer = query.required(&CONSUMER);
    let after = query.optional(&AFTER);
    let limit = query.limit();
    let wait = query.optional(&WAIT);
    let Some(consumer) = consumer else {
        return Err(query.faults.into_error());
    };
    query.faults.none_or_error()?;
    Ok(Asked {
        consumer,
        after,
        limit,
        wait: wait.unwrap_or_default(),
    })
}

fn line(request: &Request, name: &ConsumerName) -> Result<Line> {
    Ok(Line {
        tenant: Some(request.caller()?.tenant.clone()),
        id: Some(name.as_str().to_owned()),
        ..Line::default()
    })
}

fn describe_pull() -> Operation {
    Operation::new("pullEvents", Tag::Events, "Get events as a consumer")
        .says(
            "For receivers that cannot be called. Returns the tenant's events \
                in the order in which they were accepted. The first request \
                creates the consumer, which gets the events from then on. A page \
                is returned again until it is acknowledged. The events of a page \
                have at most 1 MiB together, unless there is only one.",
        )
        .required_query(&CONSUMER)
        .query(&AFTER)
        .query(&LIMIT)
        .query(&WAIT)
        .answers(
            200,
            "A page of events, which may be empty",
            schema_of::<EventPage>,
        )
        .refuses(&[QUOTA_EXCEEDED, TOO_MUCH_WAITING])
}

fn describe_list_consumers() -> Operation {
    Operation::new(
        "listEventConsumers",
        Tag::Events,
        "List the tenant's consumers of events",
    )
    .answers(
        200,
        "The consumers, sorted by name",
        schema_of::<Vec<Entry>>,
    )
}

fn describe_remove_consumer() -> Operation {
    Operation::new(
        "deleteEventConsumer",
        Tag::Events,
        "Delete a consumer of events",
    )
    .says("A later consumer with the same name starts as a new one.")
    .path("name", "The name of the consumer.", schema::consumer_name)
    .empty(204, "The consumer was deleted")
    .refuses(&[CONSUMER_NOT_FOUND])
}
