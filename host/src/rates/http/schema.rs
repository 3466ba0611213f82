//! The schemas of business units, exchange rates and their messages, for the documents of the API. They are by hand, since
//! decimals are read and written as text, exactly.

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::http::schema::{component, managed_by, tenant_id};

/// The ids of business units.
const UNIT_ID: &str = "^[A-Za-z0-9._:-]{1,128}$";

/// The id of a business unit.
pub(super) fn unit_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": UNIT_ID, "not": { "enum": [".", ".."] }, "examples": ["SE-003"] })
}

/// Where a page of units begins.
pub(super) fn unit_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": UNIT_ID })
}

/// What a rate is for.
pub(super) fn rate_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["SALES", "PURCHASE", "INTERCOMPANY"], "examples": ["SALES"] })
}

/// A currency.
pub(super) fn currency(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "An ISO 4217 code.", "examples": ["EUR"] })
}

/// A value of a rate.
fn rate_value() -> Schema {
    json_schema!({
        "type": "number", "exclusiveMinimum": 0,
        "description": "How many units of `currencyIdFrom` one unit of `currencyIdTo` is worth: at most six decimals and 15 significant digits.",
    })
}

/// A percentage.
fn percentage(description: &str) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "exclusiveMaximum": 100, "description": description })
}

/// The members that name a rate of a unit, and others.
fn of_rate(
    generator: &mut SchemaGenerator,
    more: &[(&str, Schema)],
    optional: &[(&str, Schema)],
) -> Schema {
    let names = ["exchangeRateType", "currencyIdFrom", "currencyIdTo"];
    let schemas = [
        rate_type(generator),
        currency(generator),
        currency(generator),
    ];
    let key = names.into_iter().zip(schemas);
    let required = key.chain(more.iter().cloned());
    let (mut names, mut properties) = (Vec::new(), serde_json::Map::new());
    for (name, schema) in required {
        names.push(name.to_owned());
        properties.insert(name.to_owned(), schema.to_value());
    }
    for (name, schema) in optional {
        properties.insert((*name).to_owned(), schema.clone().to_value());
    }
    json_schema!({ "type": "object", "required": names, "properties": properties })
}

/// The body of a PUT of a business unit.
pub(super) fn unit_put(generator: &mut SchemaGenerator) -> Schema {
    let members = unit_members(generator);
    component(generator, "BusinessUnitPut", |_| {
        json_schema!({
            "type": "object",
            "required": ["type"],
            "properties": members,
            "oneOf": [
                { "properties": { "type": { "const": "COMPANY" }, "parentId": { "type": "null" } } },
                { "required": ["parentId"], "properties": { "type": { "enum": ["GROUP", "STORE"] }, "parentId": { "type": "string" } } },
            ],
        })
    })
}

/// The members of a business unit but its id.
fn unit_members(generator: &mut SchemaGenerator) -> serde_json::Map<String, serde_json::Value> {
    let markup = percentage("At most four decimals.");
    let markups = of_rate(generator, &[("markupPercentage", markup.clone())], &[]);
    let tolerances = of_rate(generator, &[("tolerancePercentage", markup)], &[]);
    let mut members = serde_json::Map::new();
    let mut put = |name: &str, schema: Schema| members.insert(name.to_owned(), schema.to_value());
    put(
        "type",
        json_schema!({ "type": "string", "enum": ["COMPANY", "GROUP", "STORE"] }),
    );
    put(
        "parentId",
        json_schema!({ "type": ["string", "null"], "pattern": UNIT_ID, "description": "The unit above; a COMPANY has none." }),
    );
    put(
        "name",
        json_schema!({ "type": ["string", "null"], "minLength": 1, "maxLength": 256, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$" }),
    );
    put(
        "markupPercentage",
        json_schema!({
            "type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 100,
            "description": "Of all pairs that have no markup of their own here: at most four decimals.",
        }),
    );
    put(
        "markups",
        json_schema!({ "type": ["array", "null"], "maxItems": 1000, "items": markups, "description": "Of single pairs, one for both directions." }),
    );
    put(
        "tolerancePercentage",
        json_schema!({
            "type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 100,
            "description": "By how many percent a rate may move at once; 0 for any step.",
        }),
    );
    put(
        "tolerances",
        json_schema!({ "type": ["array", "null"], "maxItems": 1000, "items": tolerances }),
    );
    put("managedBy", managed_by());
    members
}

/// A business unit.
pub(super) fn unit(generator: &mut SchemaGenerator) -> Schema {
    let (mut members, id) = (unit_members(generator), unit_id(generator));
    members.insert("id".to_owned(), id.to_value());
    component(
        generator,
        "BusinessUnit",
        |_| json_schema!({ "type": "object", "required": ["id", "type"], "properties": members }),
    )
}

/// The units: all of them, or a page.
pub(super) fn units(generator: &mut SchemaGenerator) -> Schema {
    let unit = unit(generator);
    json_schema!({
        "oneOf": [
            { "type": "array", "items": unit },
            {
                "type": "object", "required": ["items"],
                "properties": { "items": { "type": "array", "items": unit }, "next": { "type": "string", "description": "The `cursor` of the following page." } },
            },
        ],
    })
}

fn date_time(description: &str) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "description": description })
}

/// The document that a rate was imported from.
fn reference() -> Schema {
    json_schema!({
        "type": "object", "required": ["source", "date", "stale"],
        "properties": {
            "source": { "type": "string", "const": "ECB" },
            "date": { "type": "string", "format": "date" },
            "stale": { "type": "boolean", "description": "Whether a later document had no rate of this currency any more." },
        },
    })
}

/// A rate that is set at a unit.
pub(super) fn set_rate(generator: &mut SchemaGenerator) -> Schema {
    let optional = [
        ("createdDate", date_time("When it was first set.")),
        ("createdBy", json_schema!({ "type": "string" })),
        (
            "lastModified",
            date_time("When its value was last changed."),
        ),
        ("reference", reference()),
        ("managedBy", managed_by()),
    ];
    let schema = of_rate(generator, &[("rateValue", rate_value())], &optional);
    component(generator, "SetRate", |_| schema)
}

/// The rates that are set at a unit.
pub(super) fn set_rates(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": set_rate(generator) })
}

/// A rate that a unit uses.
fn used_rate(generator: &mut SchemaGenerator) -> Schema {
    let with_markup = json_schema!({ "type": "number", "minimum": 0, "description": "The same less the markup." });
    let required = [
        ("rateValue", rate_value()),
        ("rateValueWithMarkup", with_markup),
        ("createdDate", date_time("When the unit first got it.")),
        (
            "setAt",
            json_schema!({ "type": "string", "description": "The unit at which it is set." }),
        ),
    ];
    let optional = [
        ("createdBy", json_schema!({ "type": "string" })),
        (
            "lastModified",
            date_time("When its value or markup last changed."),
        ),
        (
            "asOf",
            json_schema!({ "type": "string", "format": "date", "description": "Of a reference rate: the day that it is of." }),
        ),
        (
            "ageInBusinessDays",
            json_schema!({ "type": "integer", "minimum": 0 }),
        ),
        ("stale", json_schema!({ "type": "boolean", "const": true })),
    ];
    let schema = of_rate(generator, &required, &optional);
    component(generator, "UsedRate", |_| schema)
}

/// The rates that a unit uses.
pub(super) fn used_rates(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": used_rate(generator) })
}

/// The body of a PUT of a rate.
pub(super) fn rate_put(generator: &mut SchemaGenerator) -> Schema {
    component(
        generator,
        "RatePut",
        |_| json_schema!({ "type": "object", "required": ["rateValue"], "properties": { "rateValue": rate_value(), "managedBy": managed_by() } }),
    )
}

/// Many changes of rates at a unit.
pub(super) fn rates_change(generator: &mut SchemaGenerator) -> Schema {
    let label = [("managedBy", managed_by())];
    let set = of_rate(generator, &[("rateValue", rate_value())], &label);
    let delete = of_rate(generator, &[], &[]);
    component(generator, "RatesChange", |_| {
        json_schema!({
            "type": "object",
            "description": "1 to 1,000 rates in `set` and `delete` together, each once.",
            "anyOf": [{ "required": ["set"] }, { "required": ["delete"] }],
            "properties": {
                "set": { "type": ["array", "null"], "maxItems": 1000, "items": set },
                "delete": { "type": ["array", "null"], "maxItems": 1000, "items": delete },
            },
        })
    })
}

/// What a change of many rates has done.
fn rates_changed(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RatesChanged", |_| {
        let count = || json_schema!({ "type": "integer", "minimum": 0 });
        json_schema!({
            "type": "object",
            "required": ["correlationId", "created", "updated", "deleted", "unchanged"],
            "properties": {
                "correlationId": { "type": "string", "format": "uuid" },
                "created": count(), "updated": count(), "deleted": count(), "unchanged": count(),
            },
        })
    })
}

/// What a dry run answers.
pub(super) fn dry_run(generator: &mut SchemaGenerator) -> Schema {
    let (lists, deviation) = (message_lists(generator), deviation(generator));
    component(generator, "DryRun", |_| {
        let count = |description: &str| json_schema!({ "type": "integer", "minimum": 0, "description": description });
        json_schema!({
            "type": "object",
            "description": "What a change would publish, for `dryRun=true`.",
            "required": ["businessUnits", "sample"],
            "properties": {
                "businessUnits": {
                    "type": "object", "required": ["total", "affected", "shielded"],
                    "properties": {
                        "total": count("Shops at or below the unit."),
                        "affected": count("Those that would get a message."),
                        "shielded": count("Those that would not, because a rate that is set nearer to them decides."),
                    },
                },
                "sample": {
                    "type": "array", "maxItems": 20,
                    "items": { "allOf": [
                        { "type": "object", "required": ["businessUnitId"], "properties": { "businessUnitId": { "type": "string" } } },
                        lists,
                    ] },
                },
                "deviations": { "type": "array", "items": deviation },
            },
        })
    })
}

/// What a change answers where a dry run answers with the same status.
fn or_dry_run(generator: &mut SchemaGenerator, done: Schema) -> Schema {
    let dry_run = dry_run(generator);
    json_schema!({ "anyOf": [done, dry_run] })
}

/// A unit that was put, or what a dry run says.
pub(super) fn unit_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let unit = unit(generator);
    or_dry_run(generator, unit)
}

/// A rate that was set, or what a dry run says.
pub(super) fn rate_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let rate = set_rate(generator);
    or_dry_run(generator, rate)
}

/// Counts of changed rates, or what a dry run says.
pub(super) fn changed_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let changed = rates_changed(generator);
    or_dry_run(generator, changed)
}

/// A rate that would move by more than it may.
fn deviation(generator: &mut SchemaGenerator) -> Schema {
    let number = |description: &str| json_schema!({ "type": "number", "description": description });
    let required = [
        ("old", number("What the unit uses now.")),
        ("new", number("What it would use.")),
        (
            "percent",
            number("By how many percent that is more, or less."),
        ),
    ];
    let hint = json_schema!({ "type": "string", "enum": ["INVERTED", "DECIMAL_POINT"], "description": "What the step looks like." });
    let schema = of_rate(generator, &required, &[("hint", hint)]);
    component(generator, "Deviation", |_| schema)
}

/// A rate in a message (`given.md`, 2.5).
fn message_rate(generator: &mut SchemaGenerator) -> Schema {
    let (rate_type, currency) = (rate_type(generator), currency(generator));
    component(generator, "MessageRate", |_| {
        json_schema!({
            "type": "object",
            "description": "One unit of the target is worth `rateValue` units of the source.",
            "required": ["exchangeRateType", "sourceCurrencyCode", "targetCurrencyCode", "rateValue", "rateValueWithMarkup", "createdDate"],
            "properties": {
                "exchangeRateType": rate_type,
                "sourceCurrencyCode": currency.clone(), "targetCurrencyCode": currency,
                "rateValue": { "type": "number", "exclusiveMinimum": 0 },
                "rateValueWithMarkup": { "type": "number", "minimum": 0 },
                "createdDate": date_time("When the shop first got this rate."),
                "createdBy": { "type": "string" },
                "lastModified": date_time("When its value or markup last changed."),
            },
        })
    })
}

/// The lists of a message.
fn message_lists(generator: &mut SchemaGenerator) -> Schema {
    let rate = message_rate(generator);
    component(generator, "RateLists", |_| {
        let list = |description: &str| json_schema!({ "type": "array", "items": rate, "description": description });
        json_schema!({
            "type": "object",
            "description": "A list that is empty is left out.",
            "properties": {
                "createdRates": list("Rates that the shop did not have before."),
                "updatedRates": list("Rates that it had, with a new value or markup."),
                "deletedRates": list("Rates that it no longer has, as it last used them."),
            },
        })
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
                "messageId": text(),
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

/// The body of a message of the topic.
fn rates_changed_message(generator: &mut SchemaGenerator) -> Schema {
    let lists = message_lists(generator);
    component(generator, "RatesChangedMessage", |_| {
        json_schema!({
            "description": "The rates of a shop that have changed.",
            "allOf": [
                {
                    "type": "object", "required": ["tenantId", "businessUnitId"],
                    "properties": { "tenantId": { "type": "string" }, "businessUnitId": { "type": "string", "description": "The shop." } },
                },
                lists,
            ],
        })
    })
}

/// The query of a conversion.
pub(super) fn conversion(generator: &mut SchemaGenerator) -> Schema {
    let (unit, rate_type, currency) = (
        unit_id(generator),
        rate_type(generator),
        currency(generator),
    );
    component(generator, "Conversion", |_| {
        json_schema!({
            "type": "object",
            "required": ["businessUnitId", "exchangeRateType", "from", "to", "amount"],
            "properties": {
                "businessUnitId": unit, "exchangeRateType": rate_type,
                "from": currency.clone(), "to": currency,
                "amount": { "type": "number", "description": "In `from`." },
                "withMarkup": { "type": ["boolean", "null"], "default": false },
            },
        })
    })
}

/// An amount that was converted.
pub(super) fn converted(generator: &mut SchemaGenerator) -> Schema {
    let (rate, currency) = (used_rate(generator), currency(generator));
    component(generator, "Converted", |_| {
        json_schema!({
            "type": "object",
            "required": ["amount", "currency", "rate"],
            "properties": {
                "amount": { "type": "number", "description": "In `currency`, rounded to its minor unit." },
                "currency": currency, "rate": rate,
            },
        })
    })
}

/// How far a change is.
pub(super) fn change(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RateChange", |_| {
        json_schema!({
            "type": "object",
            "required": ["correlationId", "state", "businessUnits"],
            "properties": {
                "correlationId": { "type": "string", "format": "uuid" },
                "state": { "type": "string", "enum": ["RUNNING", "DONE"] },
                "businessUnits": {
                    "type": "object", "required": ["total", "done", "published"],
                    "properties": {
                        "total": { "type": ["integer", "null"], "description": "Shops to visit; null until they are counted." },
                        "done": { "type": "integer" },
                        "published": { "type": "integer", "description": "Shops that have got a message." },
                    },
                },
                "failed": { "type": "array", "items": { "type": "string" }, "maxItems": 100, "description": "Shops that could not be brought up to date: the first hundred." },
            },
        })
    })
}

/// The values of a rate over time.
pub(super) fn values(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "RateHistory", |_| {
        json_schema!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "array",
                    "description": "From when on the unit used which value; without a value, from when on it had none.",
                    "items": {
                        "type": "object", "required": ["at"],
                        "properties": {
                            "at": date_time("From when on."),
                            "rateValue": { "type": "number" }, "rateValueWithMarkup": { "type": "number" },
                            "setAt": { "type": "string" },
                        },
                    },
                },
                "next": { "type": "string", "description": "The `cursor` of the following page." },
            },
        })
    })
}

/// The body of a request for the initial state.
pub(super) fn initial_state(generator: &mut SchemaGenerator) -> Schema {
    let (tenant, unit) = (tenant_id(generator), unit_id(generator));
    component(generator, "InitialState", |_| {
        json_schema!({
            "type": "object", "required": ["tenantId"],
            "properties": { "tenantId": tenant, "businessUnitId": unit },
        })
    })
}

/// The id of a change.
pub(super) fn correlation(generator: &mut SchemaGenerator) -> Schema {
    component(
        generator,
        "Correlation",
        |_| json_schema!({ "type": "object", "required": ["correlationId"], "properties": { "correlationId": { "type": "string", "format": "uuid" } } }),
    )
}

/// A document of reference rates in a form.
pub(super) fn import_form(generator: &mut SchemaGenerator) -> Schema {
    let unit = unit_id(generator);
    component(generator, "ReferenceRatesForm", |_| {
        json_schema!({
            "type": "object",
            "required": ["businessUnitId", "exchangeRateTypes", "source", "document"],
            "properties": {
                "businessUnitId": unit,
                "exchangeRateTypes": { "type": "string", "description": "One or more, separated by commas." },
                "source": { "type": "string", "const": "ECB" },
                "crosses": { "type": "string", "enum": ["true", "false"] },
                "document": { "type": "string", "contentMediaType": "application/octet-stream" },
            },
        })
    })
}

/// A document of reference rates.
pub(super) fn document(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// What an import has done.
pub(super) fn imported(generator: &mut SchemaGenerator) -> Schema {
    let dry_run = dry_run(generator);
    let imported = component(generator, "ReferenceRatesImported", |_| {
        let count = |description: &str| json_schema!({ "type": "integer", "minimum": 0, "description": description });
        let codes = |description: &str| json_schema!({ "type": "array", "items": { "type": "string" }, "description": description });
        json_schema!({
            "type": "object",
            "required": ["correlationId", "date", "created", "updated", "unchanged", "stale", "skipped", "older", "filledDays"],
            "properties": {
                "correlationId": { "type": "string", "format": "uuid" },
                "date": { "type": "string", "format": "date", "description": "The newest day of the document." },
                "created": count("Rates that were not there."), "updated": count("Rates with another value."),
                "unchanged": count("Rates with the value that they had."), "filledDays": count("Days that have added something to the history."),
                "stale": codes("Currencies that the document lacks; their rates are kept."),
                "skipped": codes("Currencies of the document of which no rate is set."),
                "older": { "type": "boolean", "description": "Whether a later document was imported before: the rates of such a type stay." },
                "deviations": { "type": "array", "description": "Rates that were left out, because they would move by more than they may." },
            },
        })
    });
    json_schema!({ "anyOf": [imported, dry_run] })
}

/// Where a page of the history begins.
pub(super) fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9]{1,19}$" })
}

/// Where a subscriber of the topic begins.
pub(super) fn topic_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "examples": ["latest"] })
}

/// Whose reference rates they are.
pub(super) fn source(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "ECB" })
}
