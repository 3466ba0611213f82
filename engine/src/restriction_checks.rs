//! A project's restrictions prepared for lookup, and their decision about an item.
//!
//! Restrictions with the same type and target that are not exclusive become one check over the union of their values
//! (`conditions.md`, "Project restrictions"). [`Checks`] is built once per change and evaluated once per item; values
//! are looked up by hash, so the cost of a check does not depend on how many values it has.

use std::borrow::Cow;

use crate::index::{Index, Seed};
use crate::json::{Node, Scalar, push, write_text};
use crate::outcome::{Outcome, Reason, Subject};
use crate::restriction::{Demand, Item, Restriction, Value};

/// The target of a restriction on the item itself.
const ITEM_ID: &str = "itemId";

/// The most values of a check that an explanation shows.
const MAX_SHOWN: usize = 10;

/// A set of values, looked up by hash. Each value has the position of the first restriction that lists it.
#[derive(Debug)]
struct Values {
    texts: Index,
    first_true: Option<usize>,
    first_false: Option<usize>,
    /// The first [`MAX_SHOWN`] distinct values, in the order of the document: JSON, separated by commas.
    shown: Vec<u8>,
}

impl Values {
    fn contains(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Text(text) => self.texts.contains(text),
            Value::Bool(true) => self.first_true.is_some(),
            Value::Bool(false) => self.first_false.is_some(),
            Value::Number => false,
        }
    }

    /// Returns the position of the first restriction that lists the value.
    fn listed_by(&self, value: Node<'_, '_>) -> Option<usize> {
        match value.scalar() {
            Scalar::Text(text) => self.texts.get(text),
            Scalar::Bool(true) => self.first_true,
            Scalar::Bool(false) => self.first_false,
            _ => None,
        }
    }

    /// Returns the number of distinct values.
    fn len(&self) -> usize {
        let booleans = [self.first_true, self.first_false];
        self.texts.len() + booleans.iter().flatten().count()
    }

    /// Adds a value that the restriction at this position lists.
    fn add(&mut self, value: &Value<'_>, position: usize) {
        let before = self.len();
        match value {
            Value::Text(text) => {
                self.texts.get_or_insert(text, position);
            }
            Value::Bool(true) => {
                self.first_true.get_or_insert(position);
            }
            Value::Bool(false) => {
                self.first_false.get_or_insert(position);
            }
            Value::Number => {}
        }
        if before < MAX_SHOWN && before < self.len() {
            push(if before == 0 { "" } else { "," }, &mut self.shown);
            match value {
                Value::Text(text) => write_text(text, &mut self.shown),
                Value::Bool(true) => push("true", &mut self.shown),
                Value::Bool(false) | Value::Number => push("false", &mut self.shown),
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Whitelist,
    Blacklist,
    Boolean,
    WhitelistedItems,
    BlacklistedItems,
}

/// A test of a property, or of the item's id, against the union of the values of its restrictions.
#[derive(Debug)]
struct Check {
    test: Test,
    /// The position of its first restriction.
    position: usize,
    /// True if the check belongs to a single, exclusive restriction.
    exclusive: bool,
    /// The name of the property, or `itemId`.
    target: Box<str>,
    /// The property's number in [`Checks::properties`]; `usize::MAX` if the item's id is tested.
    property: usize,
    values: Values,
}

/// A project's restrictions, prepared for lookup.
#[derive(Debug)]
pub struct Checks {
    /// In the order in which their first restrictions appear.
    checks: Vec<Check>,
    /// The properties that are tested, numbered from 0.
    properties: Index,
}

/// Returns the seed for hash tables of the strings in restrictions.
#[inline(never)]
pub(crate) fn seed(restrictions: &[Restriction<'_>]) -> Seed {
    let texts = restrictions.iter().flat_map(|one| one.demand.texts());
    Seed::of(texts)
}

impl Checks {
    /// Prepares restrictions for lookup.
    #[must_use]
    pub fn new(restrictions: &[Restriction<'_>]) -> Self {
        let seed = seed(restrictions);
        let mut checks = Self {
            checks: Vec::new(),
            properties: Index::new(seed),
        };
        for (position, Restriction { demand, exclusive }) in restrictions.iter().enumerate() {
            let (test, target) = demand.test();
            let property = checks.property(test, target);
            let existing = checks.checks.iter().position(|check| {
                check.test == test && check.property == property && !check.exclusive && !exclusive
            });
            let index = existing.unwrap_or(checks.checks.len());
            if existing.is_none() {
                checks.checks.push(Check {
                    test,
                    position,
                    exclusive: *exclusive,
                    target: target.into(),
                    property,
                    values: Values {
                        texts: Index::new(seed),
                        first_true: None,
                        first_false: None,
                        shown: Vec::new(),
                    },
                });
            }
            if let Some(check) = checks.checks.get_mut(index) {
                demand.add_to(&mut check.values, position);
            }
        }
        checks
    }

    /// Returns the number of the property that is tested; `usize::MAX` if the item's id is.
    fn property(&mut self, test: Test, target: &str) -> usize {
        match test {
            Test::WhitelistedItems | Test::BlacklistedItems => usize::MAX,
            Test::Whitelist | Test::Blacklist | Test::Boolean => {
                self.properties.get_or_insert(target, self.properties.len())
            }
        }
    }

    /// Returns the number of checks, which is also the number of results that an item gets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.checks.len()
    }

    /// Returns whether there are no checks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Runs every check on an item and appends a result for each.
    pub fn decide<'a>(&'a self, item: &Item<'_>, results: &mut Vec<Outcome<'a>>) {
        let mut found: Vec<Option<&Value<'_>>> = vec![None; self.properties.len()];
        for (name, value) in &item.properties {
            self.find(name, value, &mut found);
        }
        results.reserve(self.checks.len());
        results.extend(self.checks.iter().map(|check| {
            let property = found.get(check.property).copied().flatten();
            let reason = check.decide(&item.id, property);
            Outcome {
                subject: Subject::Restriction(Some(&check.target)),
                reason,
            }
        }));
    }

    /// Returns what each check compares with an item, in the order of the checks.
    pub(crate) fn compared<'s, 'd, 'a>(&'s self, item: Node<'d, 'a>) -> Vec<Compared<'s, 'd, 'a>> {
        let mut found = vec![None; self.properties.len()];
        if let Some(properties) = item.member("additionalProperties") {
            for property in properties.children() {
                self.find(property.key(), property, &mut found);
            }
        }
        let id = item.member("id");
        let compared = self.checks.iter().map(|check| {
            // No property has the number of a check of the item's id.
            let value = found.get(check.property).copied().unwrap_or(id);
            let listed_by = value.and_then(|value| check.values.listed_by(value));
            Compared {
                position: listed_by.unwrap_or(check.position),
                target: &check.target,
                value,
                shown: &check.values.shown,
                count: check.values.len(),
            }
        });
        compared.collect()
    }

    /// Keeps the value of a property at the property's number, if the property is tested.
    fn find<V>(&self, name: &str, value: V, found: &mut [Option<V>]) {
        let slot = self
            .properties
            .get(name)
            .and_then(|number| found.get_mut(number));
        if let Some(slot) = slot {
            *slot = Some(value);
        }
    }
}

/// The comparison of a check with an item.
#[derive(Debug)]
pub(crate) struct Compared<'c, 'd, 'a> {
    /// The position of the first restriction that lists the value, or of the check's first if none does.
    pub(crate) position: usize,
    /// The name of the property, or `itemId`.
    pub(crate) target: &'c str,
    /// The value of the property, if the item has it, or the item's id.
    pub(crate) value: Option<Node<'d, 'a>>,
    /// The first of the listed values, as JSON separated by commas.
    pub(crate) shown: &'c [u8],
    /// The number of distinct listed values.
    pub(crate) count: usize,
}

impl Check {
    fn decide(&self, item_id: &str, property: Option<&Value<'_>>) -> Option<Reason> {
        let listed = match self.test {
            Test::WhitelistedItems | Test::BlacklistedItems => self.values.texts.contains(item_id),
            Test::Whitelist | Test::Blacklist | Test::Boolean => {
                property.is_some_and(|value| self.values.contains(value))
            }
        };
        let (allowed, reason) = match self.test {
            Test::Whitelist | Test::WhitelistedItems => (listed, Reason::WhitelistNotMet),
            Test::Blacklist => (!listed, Reason::BlacklistMet),
            Test::Boolean => (listed, Reason::BooleanNotMet),
            Test::BlacklistedItems => (!listed, Reason::BlacklistedItem),
        };
        (!allowed).then_some(reason)
    }
}

impl Demand<'_> {
    /// Returns the test and its target.
    fn test(&self) -> (Test, &str) {
        match self {
            Self::Whitelist(name, _) => (Test::Whitelist, name),
            Self::Blacklist(name, _) => (Test::Blacklist, name),
            Self::Boolean(name, _) => (Test::Boolean, name),
            Self::WhitelistedItems(_) => (Test::WhitelistedItems, ITEM_ID),
            Self::BlacklistedItems(_) => (Test::BlacklistedItems, ITEM_ID),
        }
    }

    /// Adds the listed values; `position` is that of the restriction.
    fn add_to(&self, values: &mut Values, position: usize) {
        values.texts.reserve(self.count());
        match self {
            Self::Whitelist(_, listed) | Self::Blacklist(_, listed) => {
                listed.iter().for_each(|value| values.add(value, position));
            }
            Self::Boolean(_, value) => values.add(&Value::Bool(*value), position),
            Self::WhitelistedItems(items) | Self::BlacklistedItems(items) => {
                for item in items {
                    values.add(&Value::Text(Cow::Borrowed(item)), position);
                }
            }
        }
    }

    /// Returns every string of the demand, including the target.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let (listed, items): (&[Value<'_>], &[Cow<'_, str>]) = match self {
            Self::Whitelist(_, listed) | Self::Blacklist(_, listed) => (listed, &[]),
            Self::Boolean(..) => (&[], &[]),
            Self::WhitelistedItems(items) | Self::BlacklistedItems(items) => (&[], items),
        };
        let listed = listed.iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.as_ref()),
            Value::Bool(_) | Value::Number => None,
        });
        let items = items.iter().map(|item| item.as_ref());
        std::iter::once(self.test().1).chain(listed).chain(items)
    }
}
