//! Reads the request bodies of exchange rates: the rules that go beyond those of all bodies (`tillgate_api`). Numbers
//! are parsed from their text, never through a float.

use std::cell::RefCell;
use std::collections::BTreeSet;

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::rate;
use tillgate_api::values::{boolean, title};
use tillgate_api::{Fields, Value, describe};
use tillgate_base::body::tenant;
use tillgate_base::data::managed_by::{self, managed_by};
use tillgate_base::identity::TenantId;
use tillgate_engine::rate::{Amount, Currency, Invalid, Pair, Percentage, Rate, RateKey, RateType};

use super::change::plan::{Bulk, Placed};
use super::shop::used::Conversion;
use super::units::set_rates::NewRate;
use super::units::unit::{
    ID_RULE, MAX_NAME, PairMarkup, PairTolerance, UNIT_ID, UnitId, UnitSettings, UnitType,
};

/// The most pair markups of a unit; also the most pair tolerances.
const MAX_PAIRS: usize = 1_000;

/// The most rates of a bulk change.
const MAX_BULK: usize = 1_000;

const TOO_MANY: &str = "must have 1 to 1,000 rates in set and delete together";

const RATE_VALUE: &str = "The price of one unit of `currencyIdTo` in \
    `currencyIdFrom`: at most six decimals and 15 significant digits.";

/// The members that only answers have. Bodies accept them, so that an answer may be sent back.
const ANSWERED: [&str; 4] = ["createdBy", "createdDate", "lastModified", "reference"];

/// Reads `{ type, parentId?, name?, markupPercentage?, markups?, tolerancePercentage?, tolerances?, managedBy? }`.
pub(super) fn unit(value: Value<'_, '_, '_>) -> Option<UnitSettings> {
    value.component("BusinessUnitPut", |value| {
        value.object(|fields| {
            fields.may_have(&["id", "lastModifiedBy"]);
            let unit_type = fields.required(
                "type",
                "The type, which cannot be changed later.",
                |value| {
                    let names = ["COMPANY", "GROUP", "STORE"];
                    value.name_of(&names, UnitType::parse, "must be COMPANY, GROUP or STORE")
                },
            );
            let parent = fields.optional(
                "parentId",
                "The unit above. Every unit except a COMPANY has one.",
                unit_id,
            );
            let has_parent = fields
                .member("parentId")
                .is_some_and(|node| !node.is_null());
            match (unit_type, has_parent) {
                (Some(UnitType::Company), true) => {
                    let rule = "must be absent: a COMPANY stands at the top";
                    fields.refuse_member("parentId", rule);
                }
                (Some(UnitType::Group | UnitType::Store), false) => {
                    let rule = "is required: only a COMPANY stands at the top";
                    fields.refuse_member("parentId", rule);
                }
                _ => {}
            }
            let name = fields.optional("name", "The display name.", |value| title(value, MAX_NAME));
            let about = "The markup of all pairs without their own markup at this unit.";
            let markup = fields.optional("markupPercentage", about, percentage);
            let about = "The markups of single pairs: one for both directions of a pair.";
            let markups = fields.optional("markups", about, |value| pairs(value, &MARKUPS));
            let about = "The percentage by which a rate may move in one change; 0 for no limit.";
            let tolerance = fields.optional("tolerancePercentage", about, percentage);
            let about = "The tolerances of single pairs: one for both directions of a pair.";
            let tolerances =
                fields.optional("tolerances", about, |value| pairs(value, &TOLERANCES));
            let managed_by = managed_by(fields);
            Some(UnitSettings {
                unit_type: unit_type?,
                parent_id: parent?,
                name: name?,
                markup_percentage: markup?,
                markups: markups?.unwrap_or_default(),
                tolerance_percentage: tolerance?,
                tolerances: tolerances?.unwrap_or_default(),
                managed_by: managed_by?,
            })
        })
    })
}

/// A list of percentages of single pairs: the component of an entry in the documents, the member that has the
/// percentage, the error messages, and the constructor of an entry.
struct PairList<T> {
    component: &'static str,
    member: &'static str,
    too_many: &'static str,
    duplicate: &'static str,
    entry: fn(RateKey, String) -> T,
}

const MARKUPS: PairList<PairMarkup> = PairList {
    component: "PairMarkup",
    member: "markupPercentage",
    too_many: "must have at most 1,000 markups",
    duplicate: "is a duplicate: a pair has one markup for both directions",
    entry: |key, markup_percentage| PairMarkup {
        key,
        markup_percentage,
    },
};

const TOLERANCES: PairList<PairTolerance> = PairList {
    component: "PairTolerance",
    member: "tolerancePercentage",
    too_many: "must have at most 1,000 tolerances",
    duplicate: "is a duplicate: a pair has one tolerance for both directions",
    entry: |key, tolerance_percentage| PairTolerance {
        key,
        tolerance_percentage,
    },
};

fn pairs<T>(value: Value<'_, '_, '_>, kind: &PairList<T>) -> Option<Vec<T>> {
    let mut seen = BTreeSet::new();
    value.list(0..=MAX_PAIRS, kind.too_many, |value| {
        value.component(kind.component, |value| {
            value.object(|fields| {
                let key = rate_key(fields);
                let value = fields.required(kind.member, "", percentage);
                let key = key?;
                // The smaller key stands for both directions, because a pair has one entry.
                if !seen.insert(key.min(key.opposite())) {
                    fields.refuse(kind.duplicate);
                }
                Some((kind.entry)(key, value?))
            })
        })
    })
}

/// Reads a percentage, 0 to less than 100, and returns it as the engine writes it.
fn percentage(value: Value<'_, '_, '_>) -> Option<String> {
    let schema = |_: &mut _| {
        json_schema!({
            "type": "number", "minimum": 0, "exclusiveMaximum": 100, "description": "At most four decimals."
        })
    };
    let percentage = value.number(schema, |text| {
        Percentage::parse(text).map_err(Invalid::as_str)
    })?;
    Some(percentage.value().to_string())
}

/// Reads `{ rateValue, managedBy? }` as the rate of a key.
pub(super) fn rate(value: Value<'_, '_, '_>, key: Option<RateKey>) -> Option<NewRate> {
    value.component("RatePut", |value| {
        value.object(|fields| {
            fields.may_have(&ANSWERED);
            if let Some(key) = key {
                fields.of_path("exchangeRateType", key.rate_type.as_str());
                fields.of_path("currencyIdFrom", key.pair.from().as_str());
                fields.of_path("currencyIdTo", key.pair.to().as_str());
            }
            let rate = fields.required("rateValue", RATE_VALUE, rate_value);
            let managed_by = managed_by(fields);
            Some(NewRate {
                key: key?,
                rate: rate?,
                reference: None,
                managed_by: managed_by?,
            })
        })
    })
}

/// Returns the schema of the body of a rate's PUT.
pub(super) fn rate_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, |value| rate(value, None))
}

/// Reads `{ set?: [...], delete?: [...] }`.
pub(super) fn bulk(value: Value<'_, '_, '_>) -> Option<Bulk> {
    let seen = RefCell::new(BTreeSet::new());
    // Reports a fault when an earlier object has the same key.
    let distinct = |key: RateKey, fields: &mut Fields<'_, '_, '_>| {
        if !seen.borrow_mut().insert(key) {
            fields.refuse("is a duplicate");
        }
        key
    };
    value.component("RatesChange", |value| {
        value.object(|fields| {
            let count: usize = ["set", "delete"]
                .iter()
                .filter_map(|name| fields.member(name))
                .map(|list| list.children().take(MAX_BULK + 1).count())
                .sum();
            if count > MAX_BULK {
                fields.may_have(&["set", "delete"]);
                fields.refuse(TOO_MANY);
                return None;
            }
            let about = "The rates to set. `set` and `delete` together have 1 to 1,000 rates, each only once.";
            let set = fields.optional("set", about, |value| {
                value.list(0..=MAX_BULK, TOO_MANY, |value| {
                    value.component("RateToSet", |value| {
                        value.object(|fields| {
                            fields.may_have(&ANSWERED);
                            let key = rate_key(fields);
                            let rate = fields.required("rateValue", RATE_VALUE, rate_value);
                            let managed_by = managed_by(fields);
                            let value = NewRate {
                                key: distinct(key?, fields),
                                rate: rate?,
                                reference: None,
                                managed_by: managed_by?,
                            };
                            let path = fields.path();
                            Some(Placed { value, path })
                        })
                    })
                })
            });
            let delete = fields.optional("delete", "The rates to delete.", |value| {
                value.list(0..=MAX_BULK, TOO_MANY, |value| {
                    value.component("RateToDelete", |value| {
                        value.object(|fields| {
                            fields.may_have(&ANSWERED);
                            fields.may_have(&["rateValue", managed_by::MEMBER]);
                            let key = rate_key(fields)?;
                            Some(distinct(key, fields))
                        })
                    })
                })
            });
            let bulk = Bulk {
                set: set?.unwrap_or_default(),
                delete: delete?.unwrap_or_default(),
            };
            if count == 0 {
                fields.refuse(TOO_MANY);
                return None;
            }
            Some(bulk)
        })
    })
}

/// Reads `{ businessUnitId, exchangeRateType, from, to, amount, withMarkup? }`.
pub(super) fn conversion(value: Value<'_, '_, '_>) -> Option<Conversion> {
    value.component("Conversion", |value| {
        value.object(|fields| {
            let unit = fields.required("businessUnitId", "The unit whose rate is used.", unit_id);
            let rate_type = fields.required("exchangeRateType", "", rate_type);
            let from = fields.required("from", "The currency of the amount.", |value| {
                currency(value, "EUR")
            });
            let to = fields.required("to", "The currency to convert to.", |value| {
                currency(value, "SEK")
            });
            let amount = fields.required("amount", "The amount in `from`.", |value| {
                let schema = |_: &mut _| json_schema!({ "type": "number" });
                value.number(schema, |text| Amount::parse(text).map_err(Invalid::as_str))
            });
            let about = "`true` to take off the markup of the unit.";
            let with_markup = fields.with_default("withMarkup", about, false, boolean);
            // Multiplying by a rate converts from its target to its source (`given.md`, 6.1), so the pair is reversed.
            let Ok(pair) = Pair::new(to?, from?) else {
                fields.refuse_member("to", "must differ from $.from");
                return None;
            };
            Some(Conversion {
                unit: unit?,
                key: RateKey {
                    rate_type: rate_type?,
                    pair,
                },
                amount: amount?.to_string(),
                with_markup: with_markup?,
            })
        })
    })
}

/// Reads `{ tenantId, businessUnitId? }`.
pub(super) fn initial_state(value: Value<'_, '_, '_>) -> Option<(TenantId, Option<UnitId>)> {
    value.component("InitialState", |value| {
        value.object(|fields| {
            let tenant = fields.required("tenantId", "The tenant of the shops.", tenant);
            let unit = fields.optional(
                "businessUnitId",
                "The shop, or a unit above shops. Without it, all shops of the tenant.",
                unit_id,
            );
            Some((tenant?, unit?))
        })
    })
}

/// Reads a unit's id in a body. Unlike a path, a body accepts `.` and `..`; no unit has such an id.
fn unit_id(value: Value<'_, '_, '_>) -> Option<UnitId> {
    let schema = |_: &mut _| {
        json_schema!({
            "type": "string", "pattern": UNIT_ID, "examples": ["SE-003"]
        })
    };
    value.parsed(schema, UnitId::new, ID_RULE)
}

fn rate_type(value: Value<'_, '_, '_>) -> Option<RateType> {
    value.checked(rate::rate_type, |text| {
        RateType::parse(text).map_err(Invalid::as_str)
    })
}

fn currency(value: Value<'_, '_, '_>, example: &str) -> Option<Currency> {
    let schema = |_: &mut _| rate::currency(example);
    value.checked(schema, |text| {
        Currency::parse(text).map_err(Invalid::as_str)
    })
}

fn rate_value(value: Value<'_, '_, '_>) -> Option<Rate> {
    let schema = |_: &mut _| {
        json_schema!({
            "type": "number", "exclusiveMinimum": 0
        })
    };
    value.number(schema, |text| Rate::parse(text).map_err(Invalid::as_str))
}

/// Reads `exchangeRateType`, `currencyIdFrom` and `currencyIdTo`.
fn rate_key(fields: &mut Fields<'_, '_, '_>) -> Option<RateKey> {
    let rate_type = fields.required("exchangeRateType", "The type of the rate.", rate_type);
    let from = fields.required(
        "currencyIdFrom",
        "The currency that the rate is counted in.",
        |value| currency(value, "SEK"),
    );
    let to = fields.required("currencyIdTo", "The currency that is priced.", |value| {
        currency(value, "EUR")
    });
    match Pair::new(from?, to?) {
        Ok(pair) => Some(RateKey {
            pair,
            rate_type: rate_type?,
        }),
        Err(invalid) => {
            fields.refuse_member("currencyIdTo", invalid.as_str());
            None
        }
    }
}
