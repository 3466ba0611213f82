//! Entity conditions: the two rules, how conditions are read and written, and the decision of each rule.
//!
//! The contract is `conditions.md`, "Conditions" and "Decisions". A condition decides on its own; [`crate::catalog`]
//! selects the condition.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use crate::error::Error;
use crate::index::{Index, Seed};
use crate::json::{Document, Faults, Node, Scalar};
use crate::outcome::{Outcome, Reason, Subject};

/// The highest age, in years, that a condition or a customer may have.
pub const MAX_AGE: u8 = 150;

/// The longest id of an item, in characters.
pub const MAX_ITEM_ID: usize = 256;

/// The id of a condition: 1 to 64 characters of `[A-Za-z0-9_.:-]`. For a license condition it is also the license's id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConditionId(Box<str>);

impl ConditionId {
    /// The error message about a text that is not an id.
    pub const RULE: &'static str = "must be 1 to 64 of A-Z a-z 0-9 _ . : -";

    /// Returns the id, if the text is one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::is_id(text).then(|| Self(text.into()))
    }

    /// Returns whether the text is an id.
    #[must_use]
    pub fn is_id(text: &str) -> bool {
        let fits = (1..=64).contains(&text.len());
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-');
        fits && text.bytes().all(allowed)
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConditionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The owner of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The platform, whose conditions are read-only for tenants.
    Global,
    /// A tenant.
    Tenant,
}

impl Scope {
    /// Returns the scope as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "GLOBAL",
            Self::Tenant => "TENANT",
        }
    }
}

/// The requirement of a condition on the customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A minimum age.
    AgeRestriction {
        /// The age in years, 0 to [`MAX_AGE`].
        minimum_age: u8,
    },
    /// The license whose id is the condition's id.
    LicenseRequirement,
}

impl Rule {
    /// Returns the rule as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgeRestriction { .. } => "AGE_RESTRICTION",
            Self::LicenseRequirement => "LICENSE_REQUIREMENT",
        }
    }

    /// Decides about a customer; `id` is the condition's id.
    #[must_use]
    pub fn decide<'a>(self, id: &'a str, customer: Option<&Customer<'_>>) -> Outcome<'a> {
        match self {
            Self::AgeRestriction { minimum_age } => {
                let reason = match customer.and_then(|customer| customer.age) {
                    None => Some(Reason::AgeMissing),
                    Some(age) if age < minimum_age => Some(Reason::Underage),
                    Some(_) => None,
                };
                Outcome {
                    subject: Subject::Age(id),
                    reason,
                }
            }
            Self::LicenseRequirement => {
                let reason = match customer.and_then(|customer| customer.licenses.as_ref()) {
                    None => Some(Reason::LicensesMissing),
                    Some(held) if held.contains(id) => None,
                    Some(_) => Some(Reason::LicenseMissing),
                };
                Outcome {
                    subject: Subject::License(id),
                    reason,
                }
            }
        }
    }
}

/// The members of a condition: those that decide, its tests, and the program that manages it at a host.
const MEMBERS: [&str; 7] = [
    "id",
    "rule",
    "scope",
    "enabled",
    "condition_value",
    "tests",
    "managedBy",
];

/// A condition: `{ "id", "rule", "scope", "enabled", "condition_value" }` (`given.md` 2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityCondition {
    /// The id.
    pub id: ConditionId,
    /// The owner.
    pub scope: Scope,
    /// True if evaluation considers the condition.
    pub enabled: bool,
    /// The requirement on the customer.
    pub rule: Rule,
}

impl EntityCondition {
    /// Reads the body of a PUT, and collects faults. It has `rule`, `condition_value` and `enabled`, which defaults to
    /// true. `id` and `scope` may be given if they match the path and the caller, so that the body of a GET can be sent
    /// back. Returns `None` if the rule cannot be read.
    pub fn from_put(
        id: ConditionId,
        scope: Scope,
        node: Node<'_, '_>,
        faults: &mut Faults,
    ) -> Option<Self> {
        let node = faults.object_with(node, &MEMBERS)?;
        if let Some(member) = node.member("id")
            && member.text().is_none_or(|text| text != id.as_str())
        {
            faults.add(member, "must be the id in the path");
        }
        if let Some(member) = node.member("scope")
            && member.text().is_none_or(|text| text != scope.as_str())
        {
            faults.add(member, format!("must be {}", scope.as_str()));
        }
        let (rule, enabled) = read_rule(node, faults)?;
        Some(Self {
            id,
            scope,
            enabled,
            rule,
        })
    }

    /// Reads a condition of a catalog and collects faults; its list determines the scope. Returns `None` if the
    /// condition cannot be read.
    pub fn from_catalog(node: Node<'_, '_>, scope: Scope, faults: &mut Faults) -> Option<Self> {
        let node = faults.object_with(node, &MEMBERS)?;
        let id = faults.required(node, "id").and_then(|member| {
            let id = member.text().and_then(|text| ConditionId::new(text));
            if id.is_none() {
                faults.add(member, ConditionId::RULE);
            }
            id
        });
        let (rule, enabled) = read_rule(node, faults)?;
        Some(Self {
            id: id?,
            scope,
            enabled,
            rule,
        })
    }
}

fn finish<T>(read: Option<T>, faults: Faults) -> Result<T, Error> {
    faults.none_or_error()?;
    read.ok_or_else(|| Error::new(crate::Code::Invalid, "$", "must be an object"))
}

fn read_rule(node: Node<'_, '_>, faults: &mut Faults) -> Option<(Rule, bool)> {
    let enabled = node
        .member("enabled")
        .map_or(Some(true), |member| faults.boolean(member));
    let is_age = faults.required(node, "rule").and_then(|member| {
        match member.text().map(|text| text.as_ref()) {
            Some("AGE_RESTRICTION") => Some(true),
            Some("LICENSE_REQUIREMENT") => Some(false),
            _ => {
                faults.add(member, "must be AGE_RESTRICTION or LICENSE_REQUIREMENT");
                None
            }
        }
    });
    let value = faults.required(node, "condition_value");
    let value = value.and_then(|value| faults.object(value));
    let rule = match (is_age?, value?) {
        (true, value) => {
            faults.always_refuse_unknown(value, &["minimum_age"]);
            let minimum_age = faults.required(value, "minimum_age");
            let minimum_age = minimum_age.and_then(|age| faults.integer(age, MAX_AGE))?;
            Rule::AgeRestriction { minimum_age }
        }
        (false, value) => {
            faults.always_refuse_unknown(value, &[]);
            Rule::LicenseRequirement
        }
    };
    Some((rule, enabled?))
}

impl Serialize for EntityCondition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("EntityCondition", 5)?;
        out.serialize_field("id", self.id.as_str())?;
        out.serialize_field("rule", self.rule.as_str())?;
        out.serialize_field("scope", self.scope.as_str())?;
        out.serialize_field("enabled", &self.enabled)?;
        out.serialize_field("condition_value", &ConditionValue(self.rule))?;
        out.end()
    }
}

struct ConditionValue(Rule);

impl Serialize for ConditionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        if let Rule::AgeRestriction { minimum_age } = self.0 {
            out.serialize_entry("minimum_age", &minimum_age)?;
        }
        out.end()
    }
}

/// The known facts about a customer. `None` means unknown, which differs from an empty list of licenses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Customer<'a> {
    /// The age in years, 0 to [`MAX_AGE`].
    pub age: Option<u8>,
    /// The licenses of the customer.
    pub licenses: Option<Licenses<'a>>,
}

/// The ids of a customer's licenses. A basket looks them up many times, so a long list has a hash table.
#[derive(Clone, Debug, Default)]
pub struct Licenses<'a> {
    ids: Vec<Cow<'a, str>>,
    /// All ids, if there are more than [`MAX_SCANNED`].
    index: Option<Index>,
}

/// The most licenses that are searched one by one.
const MAX_SCANNED: usize = 16;

impl<'a> Licenses<'a> {
    /// Creates a list of the licenses with these ids.
    #[must_use]
    pub fn new(ids: Vec<Cow<'a, str>>) -> Self {
        let index = (ids.len() > MAX_SCANNED).then(|| {
            let mut index = Index::new(Seed::of(ids.iter().map(|id| id.as_ref())));
            ids.iter().for_each(|id| {
                index.get_or_insert(id, 0);
            });
            index
        });
        Self { ids, index }
    }

    /// Returns whether one of the licenses has this id; the comparison is case-sensitive.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        match &self.index {
            Some(index) => index.contains(id),
            None => self.ids.iter().any(|held| held == id),
        }
    }

    /// Returns the ids, in the order in which they were sent.
    #[must_use]
    pub fn ids(&self) -> &[Cow<'a, str>] {
        &self.ids
    }
}

impl PartialEq for Licenses<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.ids == other.ids
    }
}

impl Eq for Licenses<'_> {}

/// A request to decide about one item for one customer (`given.md` 2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRequest<'a> {
    /// The item's id, 1 to [`MAX_ITEM_ID`] characters.
    pub item_id: Cow<'a, str>,
    /// The customer, if known.
    pub customer: Option<Customer<'a>>,
}

impl<'a> ConditionRequest<'a> {
    /// Reads `{ "item": { "id" }, "context": { "customer"? } }`. `faults` determines whether unknown members are
    /// ignored.
    ///
    /// # Errors
    /// [`crate::Code::Invalid`] with a fault for every invalid member.
    pub fn read(document: &Document<'a>, mut faults: Faults) -> Result<Self, Error> {
        let read = Self::from_node(document.root(), &mut faults);
        finish(read, faults)
    }

    /// Reads a request from a value in a document, and collects faults; `None` if the item's id cannot be read.
    pub(crate) fn from_node(node: Node<'_, 'a>, faults: &mut Faults) -> Option<Self> {
        let root = faults.object_with(node, &["item", "context"])?;
        let item_id = faults
            .required(root, "item")
            .and_then(|item| faults.object_with(item, &["id"]))
            .and_then(|item| faults.required(item, "id"))
            .and_then(|id| faults.name(id, MAX_ITEM_ID));
        let customer = read_context(root, faults);
        item_id.map(|item_id| Self { item_id, customer })
    }
}

/// Reads the required member `context` and the customer in it.
pub(crate) fn read_context<'a>(root: Node<'_, 'a>, faults: &mut Faults) -> Option<Customer<'a>> {
    let context = faults.required(root, "context")?;
    let context = faults.object_with(context, &["customer"])?;
    let customer = context.member("customer")?;
    if customer.is_null() {
        return None;
    }
    let customer = faults.object_with(customer, &["customer_age", "licenses"])?;
    Some(read_customer(customer, faults))
}

/// Reads the known facts about a customer: the members `customer_age` and `licenses` of an object.
pub(crate) fn read_customer<'a>(customer: Node<'_, 'a>, faults: &mut Faults) -> Customer<'a> {
    let known = |member: &Node<'_, 'a>| !member.is_null();
    let age = customer.member("customer_age").filter(known);
    let age = age.and_then(|age| faults.integer(age, MAX_AGE));
    let licenses = customer.member("licenses").filter(known);
    let licenses = licenses.and_then(|licenses| faults.array(licenses));
    let licenses = licenses.map(|array| {
        let mut held = Vec::new();
        for element in array.children() {
            held.extend(read_license(element, faults));
        }
        Licenses::new(held)
    });
    Customer { age, licenses }
}

/// Reads a license: a string, its id, or an object with a string member `id`.
fn read_license<'a>(element: Node<'_, 'a>, faults: &mut Faults) -> Option<Cow<'a, str>> {
    let id = match element.scalar() {
        Scalar::Text(_) => element,
        Scalar::Object => faults.required(element, "id")?,
        _ => {
            faults.add(element, "must be a license id, or an object with an id");
            return None;
        }
    };
    if id.text().is_none() {
        faults.add(id, "must be a string");
    }
    id.text().cloned()
}
