//! A project's restrictions prepared for lookup, and what they decide about an item.
//!
//! Restrictions with the same type and target that are not exclusive become one check over the union of their values
//! (`conditions.md`, "Project restrictions"). [`Checks`] is built once per change and evaluated once per item; values
//! are looked up by hash, so the cost of a check does not depend on how many values it has.

use std::borrow::Cow;

use crate::decision::{Outcome, Reason, Subject};
use crate::index::{Index, Seed};
use crate::restriction::{Demand, Item, Restriction, Value};

/// The target of a restriction on the item itself.
const ITEM_ID: &str = "itemId";

/// A set of values, looked up by hash.
#[derive(Debug)]
struct Values {
    texts: Index,
    has_true: bool,
    has_false: bool,
}

impl Values {
    fn contains(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Text(text) => self.texts.contains(text),
            Value::Bool(true) => self.has_true,
            Value::Bool(false) => self.has_false,
            Value::Number => false,
        }
    }

    fn add(&mut self, value: &Value<'_>) {
        match value {
            Value::Text(text) => {
                self.texts.get_or_insert(text, 0);
            }
            Value::Bool(true) => self.has_true = true,
            Value::Bool(false) => self.has_false = true,
            Value::Number => {}
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
    /// Whether it belongs to a single, exclusive restriction.
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

impl Checks {
    /// Prepares restrictions for lookup.
    #[must_use]
    pub fn new(restrictions: &[Restriction<'_>]) -> Self {
        let seed = Seed::of(
            restrictions
                .iter()
                .flat_map(|restriction| restriction.demand.texts()),
        );
        let mut checks = Self {
            checks: Vec::new(),
            properties: Index::new(seed),
        };
        for Restriction { demand, exclusive } in restrictions {
            let (test, target) = demand.test();
            let property = checks.property(test, target);
            let existing = checks.checks.iter().position(|check| {
                check.test == test && check.property == property && !check.exclusive && !exclusive
            });
            let index = existing.unwrap_or(checks.checks.len());
            if existing.is_none() {
                checks.add(test, target, property, *exclusive, seed);
            }
            if let Some(check) = checks.checks.get_mut(index) {
                demand.add_to(&mut check.values);
            }
        }
        checks
    }

    /// The number of the property that is tested; `usize::MAX` if the item's id is.
    fn property(&mut self, test: Test, target: &str) -> usize {
        match test {
            Test::WhitelistedItems | Test::BlacklistedItems => usize::MAX,
            Test::Whitelist | Test::Blacklist | Test::Boolean => {
                self.properties.get_or_insert(target, self.properties.len())
            }
        }
    }

    /// How many checks there are, and so how many results an item gets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.checks.len()
    }

    /// Whether there are no checks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    fn add(&mut self, test: Test, target: &str, property: usize, exclusive: bool, seed: Seed) {
        let values = Values {
            texts: Index::new(seed),
            has_true: false,
            has_false: false,
        };
        self.checks.push(Check {
            test,
            exclusive,
            target: target.into(),
            property,
            values,
        });
    }

    /// Runs every check on an item and appends a result for each.
    pub fn decide<'a>(&'a self, item: &Item<'_>, results: &mut Vec<Outcome<'a>>) {
        let mut found: Vec<Option<&Value<'_>>> = vec![None; self.properties.len()];
        for (name, value) in &item.properties {
            let slot = self
                .properties
                .get(name)
                .and_then(|number| found.get_mut(number));
            if let Some(slot) = slot {
                *slot = Some(value);
            }
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
    /// Which test it is, and of what.
    fn test(&self) -> (Test, &str) {
        match self {
            Self::Whitelist(name, _) => (Test::Whitelist, name),
            Self::Blacklist(name, _) => (Test::Blacklist, name),
            Self::Boolean(name, _) => (Test::Boolean, name),
            Self::WhitelistedItems(_) => (Test::WhitelistedItems, ITEM_ID),
            Self::BlacklistedItems(_) => (Test::BlacklistedItems, ITEM_ID),
        }
    }

    fn add_to(&self, values: &mut Values) {
        values.texts.reserve(self.count());
        match self {
            Self::Whitelist(_, listed) | Self::Blacklist(_, listed) => {
                listed.iter().for_each(|value| values.add(value));
            }
            Self::Boolean(_, value) => values.add(&Value::Bool(*value)),
            Self::WhitelistedItems(items) | Self::BlacklistedItems(items) => {
                items.iter().for_each(|item| {
                    values.texts.get_or_insert(item, 0);
                });
            }
        }
    }

    /// Every string in it, the target included.
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
