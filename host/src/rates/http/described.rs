//! What the API's documents say of business units, exchange rates and their topic.

use tillgate_api::describe;
use tillgate_api::problem::{
    BUSINESS_UNIT_NOT_FOUND, CHANGE_NOT_FOUND, QUOTA_EXCEEDED, RATE_DEVIATES, RATE_NOT_FOUND,
    TENANT_NOT_FOUND, TOO_MANY_RATES, TOO_MUCH_WAITING, UNIT_MISPLACED, UNIT_NOT_EMPTY,
};
use tillgate_api::schema::{cursor, flag, limit, tenant_id, text, time, uuid};

use super::schema;
use crate::http::{Operation, Tag};
use crate::rates::body;

const ETAG: (&str, &str) = (
    "ETag",
    "The version of what is answered, for `If-Match`; a dry run has none.",
);
const DRY_RUN: &str =
    "Whether to change nothing, and to answer 200 with what the change would publish.";

fn with_unit_id(operation: Operation) -> Operation {
    operation.path(
        "businessUnitId",
        "The id of the business unit.",
        schema::unit_id,
    )
}

fn with_rate(operation: Operation) -> Operation {
    with_unit_id(operation)
        .path(
            "exchangeRateType",
            "What the rate is for.",
            schema::rate_type,
        )
        .path(
            "currencyIdFrom",
            "The currency that the rate is counted in.",
            schema::counted_currency,
        )
        .path(
            "currencyIdTo",
            "The currency that is priced.",
            schema::priced_currency,
        )
}

/// What all changes have in common.
fn changing(operation: Operation) -> Operation {
    operation
        .query("dryRun", DRY_RUN, flag)
        .query(
            "acceptDeviation",
            "Whether rates may move by more than their tolerance.",
            flag,
        )
        .with_note()
        .refuses(&[
            UNIT_MISPLACED,
            TOO_MANY_RATES,
            QUOTA_EXCEEDED,
            RATE_DEVIATES,
            TOO_MUCH_WAITING,
        ])
}

pub(super) fn list_units() -> Operation {
    Operation::new("listBusinessUnits", Tag::BusinessUnits, "List the business units of a tenant")
        .says("All of them up to 16 MiB, by id; with `limit` or `cursor`, a page. A longer list without either is a 400 that names `limit`.")
        .query("limit", "How many items the page has at most.", limit)
        .query("cursor", "`next` of the page before.", schema::unit_cursor)
        .answers(200, "The units", schema::units)
        .with_entity_tag()
}

pub(super) fn get_unit() -> Operation {
    with_unit_id(Operation::new(
        "getBusinessUnit",
        Tag::BusinessUnits,
        "Get a business unit",
    ))
    .answers(200, "The unit", schema::unit)
    .with_entity_tag()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

pub(super) fn put_unit() -> Operation {
    let operation = with_unit_id(Operation::new("putBusinessUnit", Tag::BusinessUnits, "Create or replace a business unit"))
        .says("A COMPANY stands at the top, GROUPs below it, STOREs at the leaves, on at most 32 levels. A unit keeps its type. Another `parentId` moves it, which changes the rates of the shops below it.")
        .takes(|generator| describe(generator, body::unit))
        .answers(200, "It was replaced, or what a dry run says", schema::unit_or_dry_run)
        .with_header(ETAG.0, ETAG.1)
        .answers(201, "It was created", schema::unit)
        .with_preconditions();
    changing(operation)
}

pub(super) fn delete_unit() -> Operation {
    let operation = Operation::new(
        "deleteBusinessUnit",
        Tag::BusinessUnits,
        "Delete a business unit",
    );
    with_unit_id(operation)
        .says("The rates that are set at it go with it, also those that others have set. `If-Match` does not cover them; `ifRatesMatch` does.")
        .query(
            "ifRatesMatch",
            "The entity tag of the list of rates that are set at the unit, as `listSetRates` answers it. With any other list it is a 412, and nothing is deleted.",
            schema::rates_entity_tag,
        )
        .with_note()
        .empty(204, "It was deleted")
        .with_preconditions()
        .refuses(&[BUSINESS_UNIT_NOT_FOUND, UNIT_NOT_EMPTY, TOO_MUCH_WAITING])
}

pub(super) fn list_rates() -> Operation {
    with_unit_id(Operation::new(
        "listSetRates",
        Tag::Rates,
        "List the rates that are set at a business unit",
    ))
    .answers(200, "The rates", schema::set_rates)
    .with_entity_tag()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

pub(super) fn change_rates() -> Operation {
    let operation = with_unit_id(Operation::new("changeRates", Tag::Rates, "Set and delete many rates at a business unit"))
        .says("All or none, as one change. `getRateChange` tells how many shops it has reached.")
        .takes(|generator| describe(generator, body::bulk))
        .answers(
            200,
            "What was changed, or what a dry run says",
            schema::changed_or_dry_run)
        .with_header(
            "ETag",
            "The version of the list of rates that this makes, for the `If-Match` of the next change; a dry run has none.",
        )
        .with_preconditions()
        .refuses(&[BUSINESS_UNIT_NOT_FOUND]);
    changing(operation)
}

pub(super) fn get_rate() -> Operation {
    with_rate(Operation::new(
        "getSetRate",
        Tag::Rates,
        "Get a rate that is set at a business unit",
    ))
    .answers(200, "The rate", schema::set_rate)
    .with_entity_tag()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND])
}

pub(super) fn put_rate() -> Operation {
    let operation = with_rate(Operation::new(
        "putRate",
        Tag::Rates,
        "Set a rate at a business unit",
    ))
    .says("A rate of which the opposite rounds to 0.000000 needs its opposite set too.")
    .takes(body::rate_schema)
    .answers(
        200,
        "It was replaced, or what a dry run says",
        schema::rate_or_dry_run,
    )
    .with_header(ETAG.0, ETAG.1)
    .answers(201, "It was set", schema::set_rate)
    .with_preconditions()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND]);
    changing(operation)
}

pub(super) fn delete_rate() -> Operation {
    let operation = with_rate(Operation::new(
        "deleteRate",
        Tag::Rates,
        "Delete a rate that is set at a business unit",
    ))
    .answers(200, "What a dry run says", schema::dry_run)
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND]);
    changing(operation)
}

pub(super) fn used() -> Operation {
    Operation::new("listUsedRates", Tag::Rates, "List the rates that a business unit uses")
        .says("In both directions, by type and currencies. A company or group is answered as a shop directly below it would see it.")
        .required_query("businessUnit", "The id of the business unit.", schema::unit_id)
        .answers(200, "The rates", schema::used_rates)
        .with_entity_tag()
        .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

pub(super) fn history() -> Operation {
    Operation::new("getRateHistory", Tag::Rates, "Get the values of a rate that a business unit used over time")
        .says("A page may have fewer values than its `limit`, even none, and still have a `next`. `by` and `note` say who has made the change that brought a value, and why; values that were published by a source of reference rates have neither.")
        .required_query("businessUnit", "The id of the business unit.", schema::unit_id)
        .required_query("exchangeRateType", "What the rate is for.", schema::rate_type)
        .required_query("currencyIdFrom", "The currency that the rate is counted in.", schema::counted_currency)
        .required_query("currencyIdTo", "The currency that is priced.", schema::priced_currency)
        .reads_earlier_names(&["type", "from", "to"])
        .query("since", "From when on; 400 days ago, unless configured otherwise.", time)
        .query("limit", "How many items the page has at most.", limit)
        .query("cursor", "`next` of the page before.", cursor)
        .answers(
            200,
            "The values, the oldest first",
            schema::values)
        .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

pub(super) fn convert() -> Operation {
    Operation::new("convertAmount", Tag::Rates, "Convert an amount")
        .changes_nothing()
        .says("With the rate that the business unit uses. The amount times the rate is rounded to the currency's minor unit, half away from zero.")
        .takes(
            |generator| describe(generator, body::conversion))
        .answers(200, "The amount, and the rate that was applied", schema::converted)
        .refuses(&[BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND])
}

pub(super) fn change() -> Operation {
    Operation::new(
        "getRateChange",
        Tag::Rates,
        "Get how many shops a change of rates has reached",
    )
    .says("Kept as long as messages of the topic.")
    .path("correlationId", "The `Correlation-Id` of the change.", uuid)
    .answers(200, "How far it is", schema::change)
    .refuses(&[CHANGE_NOT_FOUND])
}

pub(super) fn follow() -> Operation {
    Operation::new("followRates", Tag::Rates, "Follow the changes of the rates that shops use")
        .says("Server-sent events of the topic `cer.public.event.rates-changed.v1`, without end. `id` is a cursor, `data` is `{ messageId, publishTime, attributes, data }`. An event named `reset` says that messages after the cursor are gone: read the rates again. A comment comes every 15 seconds. `/asyncapi.json` has the messages.")
        .query("tenantId", "Only messages of this tenant. A tenant's client sees its own in any case.", tenant_id)
        .query("businessUnitId", "Only messages of this shop. A company or a group is a 400, because no message is about one.", schema::unit_id)
        .query("after", "Where to begin: a cursor, `earliest` or `latest`, the default.", schema::topic_cursor)
        .header("Last-Event-ID", "The same, as browsers send it when they connect again; it takes precedence.", schema::topic_cursor)
        .answers_as(
            "text/event-stream",
            200,
            "Events without end",
            text)
        .refuses(&[QUOTA_EXCEEDED])
}

pub(super) fn send_initial_state() -> Operation {
    Operation::new("sendInitialState", Tag::Rates, "Have all rates of shops sent again")
        .says("One message for each shop, with all its rates in `updatedRates`. Without `businessUnitId`, every shop of the tenant; of a company or group, the shops below it.")
        .takes(|generator| describe(generator, body::initial_state))
        .answers(200, "The messages will be sent", schema::correlation)
        .refuses(&[TENANT_NOT_FOUND, BUSINESS_UNIT_NOT_FOUND, TOO_MUCH_WAITING])
}

pub(super) fn import() -> Operation {
    let operation = Operation::new("importReferenceRates", Tag::Rates, "Import a document of reference rates")
        .says("The daily or historical XML or CSV of the European Central Bank (ECB), also zipped: as the body with the rest in the query, or in a form, of which the rest are parts. The newest day is set at the business unit; every day fills the history. The same document again changes nothing.")
        .query("businessUnitId", "The unit at which rates are set. Required, unless the body is a form.", schema::importing_unit)
        .query("exchangeRateTypes", "The types that are set, separated by commas. Required, unless the body is a form.", schema::rate_types)
        .query("source", "`ECB`. Required, unless the body is a form.", schema::source)
        .query("crosses", "Whether rates between all currencies of the document are set, and not only those to the euro. In a form, a part.", flag)
        .takes_as("text/csv", schema::document)
        .takes_as("application/xml", schema::document)
        .takes_as("application/zip", schema::document)
        .takes_as(
            "multipart/form-data",
            schema::import_form)
        .answers(
            200,
            "What was imported, or what a dry run says",
            schema::imported)
        .refuses(&[BUSINESS_UNIT_NOT_FOUND]);
    changing(operation)
}
