//! The bodies of exchange rates: what they must have beside what all bodies have in common (`crate::body`). Numbers are
//! taken from their text, never through a float.

use std::collections::BTreeSet;

use tillgate_engine::json::{Faults, Node};
use tillgate_engine::rate::{Amount, Currency, Invalid, Pair, Percentage, Rate, RateKey, RateType};

use super::change::plan::{Bulk, Placed};
use super::shop::used::Conversion;
use super::units::set_rates::NewRate;
use super::units::unit::{ID_RULE, PairMarkup, PairTolerance, UnitId, UnitSettings, UnitType};
use crate::body::{self, optional, or_fault, parsed, read, required, tenant};
use crate::data::managed_by::ManagedBy;
use crate::error::Result;
use crate::identity::TenantId;

/// The most characters of a unit's name.
const MAX_NAME: usize = 256;

/// The most markups of single pairs, and as many tolerances.
const MAX_PAIRS: usize = 1_000;

/// The most rates of a bulk change.
const MAX_BULK: usize = 1_000;

/// Reads `{ type, parentId?, name?, markupPercentage?, markups?, tolerancePercentage?, tolerances?, managedBy? }`.
pub(super) fn unit(body: &[u8]) -> Result<UnitSettings> {
    read(body, |root, faults| {
        let unit_type = required(root, "type", faults, |node, faults| {
            let rule = "must be COMPANY, GROUP or STORE";
            parsed(node, faults, UnitType::parse, rule)
        });
        let parent = optional(root, "parentId", faults, unit_id);
        match (
            unit_type,
            root.member("parentId").filter(|node| !node.is_null()),
        ) {
            (Some(UnitType::Company), Some(node)) => {
                faults.add(node, "must be absent: a COMPANY stands at the top");
            }
            (Some(UnitType::Group | UnitType::Store), None) => {
                faults.add_member(
                    root,
                    "parentId",
                    "is required: only a COMPANY stands at the top",
                );
            }
            _ => {}
        }
        let name = optional(root, "name", faults, |node, faults| {
            body::name(node, faults, MAX_NAME)
        });
        let markup = optional(root, "markupPercentage", faults, percentage);
        let markups = optional(root, "markups", faults, |list, faults| {
            pairs(list, &MARKUPS, faults)
        });
        let tolerance = optional(root, "tolerancePercentage", faults, percentage);
        let tolerances = optional(root, "tolerances", faults, |list, faults| {
            pairs(list, &TOLERANCES, faults)
        });
        let managed_by = ManagedBy::read(root, faults);
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
        let Some(node) = faults.object(node) else {
            continue;
        };
        let key = rate_key(node, faults);
        let value = required(node, kind.member, faults, percentage);
        let Some(key) = key else { continue };
        // Unordered: one entry for both directions.
        if !seen.insert(key.min(key.opposite())) {
            faults.add(node, kind.duplicate);
        }
        entries.extend(value.map(|value| (kind.entry)(key, value)));
    }
    Some(entries)
}

/// A percentage, as the engine writes it: 0 to less than 100.
fn percentage(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    let percentage = number(node, faults, Percentage::parse)?;
    Some(percentage.value().to_string())
}

/// Reads `{ rateValue, managedBy? }` as the rate of a key.
pub(super) fn rate(body: &[u8], key: RateKey) -> Result<NewRate> {
    read(body, |root, faults| {
        let rate = required_number(root, "rateValue", Rate::parse, faults);
        let managed_by = ManagedBy::read(root, faults);
        Some(NewRate {
            key,
            rate: rate?,
            reference: None,
            managed_by: managed_by?,
        })
    })
}

/// Reads `{ set?: [...], delete?: [...] }`.
pub(super) fn bulk(body: &[u8]) -> Result<Bulk> {
    read(body, |root, faults| {
        let mut seen = BTreeSet::new();
        let set = optional(root, "set", faults, |list, faults| {
            objects(list, faults, |node, faults| {
                let key = rate_key(node, faults);
                let rate = required_number(node, "rateValue", Rate::parse, faults);
                let managed_by = ManagedBy::read(node, faults);
                let value = NewRate {
                    key: distinct(node, key?, &mut seen, faults),
                    rate: rate?,
                    reference: None,
                    managed_by: managed_by?,
                };
                let path = node.path();
                Some(Placed { value, path })
            })
        });
        let delete = optional(root, "delete", faults, |list, faults| {
            objects(list, faults, |node, faults| {
                let key = rate_key(node, faults)?;
                Some(distinct(node, key, &mut seen, faults))
            })
        });
        let bulk = Bulk {
            set: set?.unwrap_or_default(),
            delete: delete?.unwrap_or_default(),
        };
        let count = ["set", "delete"]
            .iter()
            .filter_map(|name| root.member(name))
            .map(|list| list.children().count())
            .sum();
        if !(1..=MAX_BULK).contains(&count) {
            faults.add(
                root,
                "must have 1 to 1,000 rates in set and delete together",
            );
            return None;
        }
        Some(bulk)
    })
}

/// A key, with a fault when an object before had the same.
fn distinct(
    node: Node<'_, '_>,
    key: RateKey,
    seen: &mut BTreeSet<RateKey>,
    faults: &mut Faults,
) -> RateKey {
    if !seen.insert(key) {
        faults.add(node, "is a duplicate");
    }
    key
}

/// The objects of a list that could be read.
fn objects<T>(
    list: Node<'_, '_>,
    faults: &mut Faults,
    mut read: impl FnMut(Node<'_, '_>, &mut Faults) -> Option<T>,
) -> Option<Vec<T>> {
    let list = faults.array(list)?;
    let mut objects = Vec::new();
    for node in list.children().take(MAX_BULK + 1) {
        let object = faults.object(node);
        objects.extend(object.and_then(|object| read(object, faults)));
    }
    Some(objects)
}

/// Reads `{ businessUnitId, exchangeRateType, from, to, amount, withMarkup? }`.
pub(super) fn conversion(body: &[u8]) -> Result<Conversion> {
    read(body, |root, faults| {
        let unit = required(root, "businessUnitId", faults, unit_id);
        let rate_type = required_text(root, "exchangeRateType", RateType::parse, faults);
        let from = required_text(root, "from", Currency::parse, faults);
        let to = required_text(root, "to", Currency::parse, faults);
        let amount = required_number(root, "amount", Amount::parse, faults);
        let with_markup = optional(root, "withMarkup", faults, |node, faults| {
            faults.boolean(node)
        });
        // An amount in the target times the rate is in the source (`given.md`, 6.1).
        let pair = Pair::new(to?, from?);
        let Ok(pair) = pair else {
            let node = root.member("to").unwrap_or(root);
            faults.add(node, "must differ from $.from");
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
pub(super) fn initial_state(body: &[u8]) -> Result<(TenantId, Option<UnitId>)> {
    read(body, |root, faults| {
        let tenant = required(root, "tenantId", faults, tenant);
        let unit = optional(root, "businessUnitId", faults, unit_id);
        Some((tenant?, unit?))
    })
}

fn unit_id(node: Node<'_, '_>, faults: &mut Faults) -> Option<UnitId> {
    parsed(node, faults, UnitId::new, ID_RULE)
}

/// The members `exchangeRateType`, `currencyIdFrom` and `currencyIdTo`.
fn rate_key(object: Node<'_, '_>, faults: &mut Faults) -> Option<RateKey> {
    let rate_type = required_text(object, "exchangeRateType", RateType::parse, faults);
    let from = required_text(object, "currencyIdFrom", Currency::parse, faults);
    let to = required_text(object, "currencyIdTo", Currency::parse, faults);
    let pair = Pair::new(from?, to?);
    let node = object.member("currencyIdTo").unwrap_or(object);
    Some(RateKey {
        pair: valid(node, faults, pair)?,
        rate_type: rate_type?,
    })
}

/// A required string, as the engine parses it.
fn required_text<T>(
    object: Node<'_, '_>,
    member: &str,
    parse: fn(&str) -> Result<T, Invalid>,
    faults: &mut Faults,
) -> Option<T> {
    required(object, member, faults, |node, faults| {
        let text = or_fault(faults, node, node.text(), "must be a string")?;
        valid(node, faults, parse(text))
    })
}

/// A required number, as the engine parses it.
fn required_number<T>(
    object: Node<'_, '_>,
    member: &str,
    parse: fn(&str) -> Result<T, Invalid>,
    faults: &mut Faults,
) -> Option<T> {
    required(object, member, faults, |node, faults| {
        number(node, faults, parse)
    })
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
