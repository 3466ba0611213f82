//! The bodies of exchange rates: what they must have beside what all bodies have in common (`crate::body`). Numbers are
//! taken from their text, never through a float.

use std::collections::BTreeSet;

use tillgate_engine::json::{Faults, Node};
use tillgate_engine::rate::{Amount, Currency, Invalid, Pair, Percentage, Rate, RateKey, RateType};

use super::change::plan::{Bulk, Placed};
use super::shop::used::Conversion;
use super::units::set_rates::NewRate;
use super::units::unit::{ID_RULE, PairMarkup, PairTolerance, UnitId, UnitSettings, UnitType};
use crate::body::{self, Body, Fields, object, or_fault, parsed, read, tenant};
use crate::data::managed_by;
use crate::error::Result;
use crate::identity::TenantId;

/// The most characters of a unit's name.
const MAX_NAME: usize = 256;

/// The most markups of single pairs, and as many tolerances.
const MAX_PAIRS: usize = 1_000;

/// The most rates of a bulk change.
const MAX_BULK: usize = 1_000;

/// What an answer says of a rate beside what can be set: it may be sent back.
const ANSWERED: [&str; 4] = ["createdBy", "createdDate", "lastModified", "reference"];

/// Reads `{ type, parentId?, name?, markupPercentage?, markups?, tolerancePercentage?, tolerances?, managedBy? }`.
pub(super) fn unit(body: &Body) -> Result<UnitSettings> {
    read(body, |fields| {
        fields.may_have(&["id"]);
        let unit_type = fields.required("type", |node, faults| {
            let rule = "must be COMPANY, GROUP or STORE";
            parsed(node, faults, UnitType::parse, rule)
        });
        let parent = fields.optional("parentId", unit_id);
        match (
            unit_type,
            fields
                .node
                .member("parentId")
                .filter(|node| !node.is_null()),
        ) {
            (Some(UnitType::Company), Some(node)) => {
                let rule = "must be absent: a COMPANY stands at the top";
                fields.faults.add(node, rule);
            }
            (Some(UnitType::Group | UnitType::Store), None) => {
                let rule = "is required: only a COMPANY stands at the top";
                fields.faults.add_member(fields.node, "parentId", rule);
            }
            _ => {}
        }
        let name = fields.optional("name", |node, faults| body::name(node, faults, MAX_NAME));
        let markup = fields.optional("markupPercentage", percentage);
        let markups = fields.optional("markups", |list, faults| pairs(list, &MARKUPS, faults));
        let tolerance = fields.optional("tolerancePercentage", percentage);
        let tolerances = fields.optional("tolerances", |list, faults| {
            pairs(list, &TOLERANCES, faults)
        });
        let managed_by = fields.managed_by();
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
}

/// A list of percentages of single pairs: the member that has the percentage, its messages, and what an entry becomes.
struct PairList<T> {
    member: &'static str,
    too_many: &'static str,
    duplicate: &'static str,
    entry: fn(RateKey, String) -> T,
}

const MARKUPS: PairList<PairMarkup> = PairList {
    member: "markupPercentage",
    too_many: "must have at most 1,000 markups",
    duplicate: "is a duplicate: a pair has one markup for both directions",
    entry: |key, markup_percentage| PairMarkup {
        key,
        markup_percentage,
    },
};

const TOLERANCES: PairList<PairTolerance> = PairList {
    member: "tolerancePercentage",
    too_many: "must have at most 1,000 tolerances",
    duplicate: "is a duplicate: a pair has one tolerance for both directions",
    entry: |key, tolerance_percentage| PairTolerance {
        key,
        tolerance_percentage,
    },
};

fn pairs<T>(list: Node<'_, '_>, kind: &PairList<T>, faults: &mut Faults) -> Option<Vec<T>> {
    let list = faults.array(list)?;
    if list.children().count() > MAX_PAIRS {
        faults.add(list, kind.too_many);
        return None;
    }
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    for node in list.children() {
        let entry = object(node, faults, |fields| {
            let key = rate_key(fields);
            let value = fields.required(kind.member, percentage);
            let key = key?;
            // Unordered: one entry for both directions.
            if !seen.insert(key.min(key.opposite())) {
                fields.faults.add(node, kind.duplicate);
            }
            Some((kind.entry)(key, value?))
        });
        entries.extend(entry);
    }
    Some(entries)
}

/// A percentage, as the engine writes it: 0 to less than 100.
fn percentage(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let percentage = number(node, faults, Percentage::parse)?;
    Some(percentage.value().to_string())
}

/// Reads `{ rateValue, managedBy? }` as the rate of a key.
pub(super) fn rate(body: &Body, key: RateKey) -> Result<NewRate> {
    read(body, |fields| {
        fields.may_have(&ANSWERED);
        fields.of_path("exchangeRateType", key.rate_type.as_str());
        fields.of_path("currencyIdFrom", key.pair.from().as_str());
        fields.of_path("currencyIdTo", key.pair.to().as_str());
        let rate = required_number(fields, "rateValue", Rate::parse);
        let managed_by = fields.managed_by();
        Some(NewRate {
            key,
            rate: rate?,
            reference: None,
            managed_by: managed_by?,
        })
    })
}

/// Reads `{ set?: [...], delete?: [...] }`.
pub(super) fn bulk(body: &Body) -> Result<Bulk> {
    read(body, |fields| {
        let mut seen = BTreeSet::new();
        let set = fields.optional("set", |list, faults| {
            objects(list, faults, |fields| {
                fields.may_have(&ANSWERED);
                let key = rate_key(fields);
                let rate = required_number(fields, "rateValue", Rate::parse);
                let managed_by = fields.managed_by();
                let value = NewRate {
                    key: distinct(key?, &mut seen, fields),
                    rate: rate?,
                    reference: None,
                    managed_by: managed_by?,
                };
                let path = fields.node.path();
                Some(Placed { value, path })
            })
        });
        let delete = fields.optional("delete", |list, faults| {
            objects(list, faults, |fields| {
                fields.may_have(&ANSWERED);
                fields.may_have(&["rateValue", managed_by::MEMBER]);
                let key = rate_key(fields)?;
                Some(distinct(key, &mut seen, fields))
            })
        });
        let bulk = Bulk {
            set: set?.unwrap_or_default(),
            delete: delete?.unwrap_or_default(),
        };
        let count = ["set", "delete"]
            .iter()
            .filter_map(|name| fields.node.member(name))
            .map(|list| list.children().count())
            .sum();
        if !(1..=MAX_BULK).contains(&count) {
            let rule = "must have 1 to 1,000 rates in set and delete together";
            fields.faults.add(fields.node, rule);
            return None;
        }
        Some(bulk)
    })
}

/// A key, with a fault when an object before had the same.
fn distinct(
    key: RateKey,
    seen: &mut BTreeSet<RateKey>,
    fields: &mut Fields<'_, '_, '_>,
) -> RateKey {
    if !seen.insert(key) {
        fields.faults.add(fields.node, "is a duplicate");
    }
    key
}

/// The objects of a list that could be read.
fn objects<T>(
    list: Node<'_, '_>,
    faults: &mut Faults,
    mut read: impl FnMut(&mut Fields<'_, '_, '_>) -> Option<T>,
) -> Option<Vec<T>> {
    let list = faults.array(list)?;
    let mut objects = Vec::new();
    for node in list.children().take(MAX_BULK + 1) {
        objects.extend(object(node, faults, &mut read));
    }
    Some(objects)
}

/// Reads `{ businessUnitId, exchangeRateType, from, to, amount, withMarkup? }`.
pub(super) fn conversion(body: &Body) -> Result<Conversion> {
    read(body, |fields| {
        let unit = fields.required("businessUnitId", unit_id);
        let rate_type = required_text(fields, "exchangeRateType", RateType::parse);
        let from = required_text(fields, "from", Currency::parse);
        let to = required_text(fields, "to", Currency::parse);
        let amount = required_number(fields, "amount", Amount::parse);
        let with_markup = fields.optional("withMarkup", |node, faults| faults.boolean(node));
        // An amount in the target times the rate is in the source (`given.md`, 6.1).
        let pair = Pair::new(to?, from?);
        let Ok(pair) = pair else {
            let node = fields.node.member("to").unwrap_or(fields.node);
            fields.faults.add(node, "must differ from $.from");
            return None;
        };
        Some(Conversion {
            unit: unit?,
            key: RateKey {
                rate_type: rate_type?,
                pair,
            },
            amount: amount?.to_string(),
            with_markup: with_markup?.unwrap_or(false),
        })
    })
}

/// Reads `{ tenantId, businessUnitId? }`.
pub(super) fn initial_state(body: &Body) -> Result<(TenantId, Option<UnitId>)> {
    read(body, |fields| {
        let tenant = fields.required("tenantId", tenant);
        let unit = fields.optional("businessUnitId", unit_id);
        Some((tenant?, unit?))
    })
}

fn unit_id(node: Node<'_, '_>, faults: &mut Faults) -> Option<UnitId> {
    parsed(node, faults, UnitId::new, ID_RULE)
}

/// The members `exchangeRateType`, `currencyIdFrom` and `currencyIdTo`.
fn rate_key(fields: &mut Fields<'_, '_, '_>) -> Option<RateKey> {
    let rate_type = required_text(fields, "exchangeRateType", RateType::parse);
    let from = required_text(fields, "currencyIdFrom", Currency::parse);
    let to = required_text(fields, "currencyIdTo", Currency::parse);
    let pair = Pair::new(from?, to?);
    let node = fields.node.member("currencyIdTo").unwrap_or(fields.node);
    Some(RateKey {
        pair: valid(node, fields.faults, pair)?,
        rate_type: rate_type?,
    })
}

/// A required string, as the engine parses it.
fn required_text<T>(
    fields: &mut Fields<'_, '_, '_>,
    member: &'static str,
    parse: fn(&str) -> Result<T, Invalid>,
) -> Option<T> {
    fields.required(member, |node, faults| {
        let text = or_fault(faults, node, node.text(), "must be a string")?;
        valid(node, faults, parse(text))
    })
}

/// A required number, as the engine parses it.
fn required_number<T>(
    fields: &mut Fields<'_, '_, '_>,
    member: &'static str,
    parse: fn(&str) -> Result<T, Invalid>,
) -> Option<T> {
    fields.required(member, |node, faults| number(node, faults, parse))
}

/// A number, as the engine parses its text.
fn number<T>(
    node: Node<'_, '_>,
    faults: &mut Faults,
    parse: fn(&str) -> Result<T, Invalid>,
) -> Option<T> {
    let text = or_fault(faults, node, node.number(), "must be a number")?;
    valid(node, faults, parse(&text))
}

/// What the engine has parsed; its refusal is noted as a fault of the node.
fn valid<T>(node: Node<'_, '_>, faults: &mut Faults, read: Result<T, Invalid>) -> Option<T> {
    read.map_err(|invalid| faults.add(node, invalid.as_str()))
        .ok()
}
