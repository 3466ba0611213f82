//! Business units: the tree in which rates are set, a COMPANY above any number of GROUPs above STOREs (`rates.md`,
//! "Business units").
//!
//! A unit's record changes with everything that is set at it, including its rates, which have their own record: a
//! commit that expects the version of the unit also expects that of its rates.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tillgate_api::problem::BUSINESS_UNIT_NOT_FOUND;
pub(crate) use tillgate_api::rate::UNIT_ID_RULE as ID_RULE;
use tillgate_api::rate::{Key, is_unit_id, key, number, percentage};
use tillgate_api::schema::{made_by, title};
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_engine::rate::RateKey;

use super::json::exact;

/// The most levels of a tree, including the company and the store.
pub(crate) const MAX_DEPTH: usize = 32;

/// The pattern of a business unit's id.
pub(crate) const UNIT_ID: &str = "^[A-Za-z0-9._:-]{1,128}$";

/// The most characters of a unit's name.
pub(crate) const MAX_NAME: usize = 256;

const UNITS: &str = "unit/";
const RATES: &str = "unit-rates/";
const CHILDREN: &str = "unit-child/";

/// The id of a business unit.
#[derive(
    Clone, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct UnitId(String);

impl UnitId {
    /// Returns the id, if the text is one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_unit_id(text).then(|| Self(text.to_owned()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn key(&self) -> String {
        format!("{UNITS}{}", self.0)
    }

    pub(crate) fn rates_key(&self) -> String {
        format!("{RATES}{}", self.0)
    }
}

pub(crate) const fn units_prefix() -> &'static str {
    UNITS
}

/// Returns the prefix of the entries of the units directly below a unit; with `None`, of the roots.
pub(crate) fn children_prefix(parent: Option<&UnitId>) -> String {
    format!("{CHILDREN}{}/", parent.map_or("", UnitId::as_str))
}

/// Returns the key of a unit's entry among the children of its parent.
pub(crate) fn child_key(parent: Option<&UnitId>, child: &UnitId) -> String {
    format!("{}{}", children_prefix(parent), child.as_str())
}

/// The level of a business unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum UnitType {
    /// The root of a tree.
    Company,
    /// Any level between a company and its shops.
    Group,
    /// A shop: a leaf of a tree, about which messages are published.
    Store,
}

impl UnitType {
    /// Parses a type's name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "COMPANY" => Some(Self::Company),
            "GROUP" => Some(Self::Group),
            "STORE" => Some(Self::Store),
            _ => None,
        }
    }
}

/// A markup of a single pair, in both directions (`rates.md`, "Business units").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PairMarkup {
    /// Type and currencies.
    #[serde(flatten, with = "key")]
    pub key: RateKey,
    /// Percent, a decimal: 0 to less than 100, at most four decimals.
    pub markup_percentage: String,
}

/// The tolerance of a single pair, in both directions (`rates.md`, "Guard against slips").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PairTolerance {
    /// Type and currencies.
    #[serde(flatten, with = "key")]
    pub key: RateKey,
    /// Percent, a decimal: 0 to less than 100, at most four decimals; 0 for any step.
    pub tolerance_percentage: String,
}

/// The settings of a business unit, as a PUT has them. Percentages are decimals in text, 0 to less than 100, at most
/// four decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitSettings {
    /// Its level.
    #[serde(rename = "type")]
    pub unit_type: UnitType,
    /// The unit above; a COMPANY has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<UnitId>,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The markup of all pairs that have none of their own here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markup_percentage: Option<String>,
    /// The markups of single pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markups: Vec<PairMarkup>,
    /// The tolerance of all pairs that have none of their own here; 0 for any step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance_percentage: Option<String>,
    /// The tolerances of single pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerances: Vec<PairTolerance>,
    /// The program that manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
}

impl UnitSettings {
    /// Creates settings of which only the place is known.
    #[must_use]
    pub const fn new(unit_type: UnitType, parent_id: Option<UnitId>) -> Self {
        Self {
            unit_type,
            parent_id,
            name: None,
            markup_percentage: None,
            markups: Vec::new(),
            tolerance_percentage: None,
            tolerances: Vec::new(),
            managed_by: None,
        }
    }

    /// Returns whether any markup is set.
    #[must_use]
    pub fn has_markups(&self) -> bool {
        self.markup_percentage.is_some() || !self.markups.is_empty()
    }
}

/// The record of a business unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unit {
    #[serde(flatten)]
    pub(crate) settings: UnitSettings,
    pub(crate) has_rates: bool,
    /// For a shop, the key of the rates that it uses, as last published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) used_rates: Option<String>,
    /// The time of the last change of anything set at it, in microseconds since the epoch; increases with every change.
    pub(crate) changed_at: u64,
    /// The last editor of its settings; absent from records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_modified_by: Option<By>,
}

/// A business unit.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BusinessUnit")]
pub(crate) struct UnitAnswer<'a> {
    #[schemars(schema_with = "unit_id_schema")]
    id: &'a UnitId,
    #[serde(rename = "type")]
    unit_type: UnitType,
    /// The unit above; a COMPANY has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = UNIT_ID))]
    parent_id: Option<&'a UnitId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "name_schema")]
    name: Option<&'a str>,
    /// The markup of all pairs without their own markup at this unit: at most four decimals.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "percentage")]
    markup_percentage: Option<&'a RawValue>,
    /// The markups of single pairs: one for both directions of a pair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    markups: Vec<MarkupAnswer<'a>>,
    /// The percentage by which a rate may move in one change; 0 for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "percentage")]
    tolerance_percentage: Option<&'a RawValue>,
    /// The tolerances of single pairs: one for both directions of a pair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    tolerances: Vec<ToleranceAnswer<'a>>,
    /// The program that manages it.
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<&'a ManagedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "made_by")]
    last_modified_by: Option<&'a By>,
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct MarkupAnswer<'a> {
    #[serde(flatten, with = "key")]
    #[schemars(with = "Key<'_>")]
    key: RateKey,
    /// At most four decimals.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "percentage")]
    markup_percentage: &'a str,
}

#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct ToleranceAnswer<'a> {
    #[serde(flatten, with = "key")]
    #[schemars(with = "Key<'_>")]
    key: RateKey,
    /// At most four decimals.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "percentage")]
    tolerance_percentage: &'a str,
}

/// Returns the schema of a business unit's id in a path.
pub(crate) fn unit_id_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": UNIT_ID, "not": { "enum": [".", ".."] }, "examples": ["SE-003"] })
}

fn name_schema(_: &mut SchemaGenerator) -> Schema {
    title(MAX_NAME)
}

impl<'a> UnitAnswer<'a> {
    pub(crate) fn new(
        id: &'a UnitId,
        settings: &'a UnitSettings,
        last_modified_by: Option<&'a By>,
    ) -> Result<Self> {
        let markups = settings.markups.iter().map(|markup| MarkupAnswer {
            key: markup.key,
            markup_percentage: &markup.markup_percentage,
        });
        let tolerances = settings.tolerances.iter().map(|tolerance| ToleranceAnswer {
            key: tolerance.key,
            tolerance_percentage: &tolerance.tolerance_percentage,
        });
        let markup = settings.markup_percentage.as_deref();
        let tolerance = settings.tolerance_percentage.as_deref();
        Ok(Self {
            id,
            unit_type: settings.unit_type,
            parent_id: settings.parent_id.as_ref(),
            name: settings.name.as_deref(),
            markup_percentage: markup.map(exact).transpose()?,
            markups: markups.collect(),
            tolerance_percentage: tolerance.map(exact).transpose()?,
            tolerances: tolerances.collect(),
            managed_by: settings.managed_by.as_ref(),
            last_modified_by,
        })
    }
}

/// Returns the error for an id that no unit has.
pub(crate) fn no_unit(id: &UnitId) -> Error {
    Error::missing(BUSINESS_UNIT_NOT_FOUND, id.as_str())
}
