//! A project's restrictions prepared for look-up, and what they decide about an item.
//!
//! Restrictions of one type and target that are not exclusive are one check over the union of their values
//! (`conditions.md`, "Project restrictions"), so [`Checks`] is made once per change and asked once per item: membership
//! is by hash, and what a restriction costs does not depend on how many values it has.

use std::borrow::Cow;

use crate::decision::{Outcome, Reason, Subject};
use crate::index::{Index, Seed};
use crate::restriction::{Demand, Item, Restriction, Value};

/// What a restriction on the item itself says it looked at.
const ITEM_ID: &str = "itemId";

/// Values to look up by hash.
#[derive(Debug)]
struct Values {
    texts: Index,
    yes: bool,
    no: bool,
}

impl Values {
    fn contains(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Text(text) => self.texts.contains(text),
            Value::Bool(true) => self.yes,
            Value::Bool(false) => self.no,
            Value::Number => false,
        }
    }

    fn add(&mut self, value: &Value<'_>) {
        match value {
            Value::Text(text) => {
                self.texts.get_or_add(text, 0);
            }
            Value::Bool(true) => self.yes = true,
            Value::Bool(false) => self.no = true,
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

/// One check: a test of a property, or of the item itself, against the union of the values of its restrictions.
#[derive(Debug)]
struct Check {
    test: Test,
    /// Whether it is of one restriction alone.
    exclusive: bool,
    /// The property, or `itemId`.
    target: Box<str>,
    /// The property's number in [`Checks::properties`].
    property: usize,
    values: Values,
}

/// A project's restrictions, prepared.
#[derive(Debug)]
pub struct Checks {
    /// In the order in which their restrictions first appear.
    checks: Vec<Check>,
    /// The properties that any check looks at, numbered from 0.
    properties: Index,
}

impl Checks {
    /// Prepares restrictions for look-up.
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
            let joined = checks.checks.iter().position(|check| {
                check.test == test && check.property == property && !check.exclusive && !exclusive
            });
            let index = joined.unwrap_or(checks.checks.len());
            if joined.is_none() {
                checks.open(test, target, property, *exclusive, seed);
            }
            if let Some(check) = checks.checks.get_mut(index) {
                demand.add_to(&mut check.values);
            }
        }
        checks
    }

    /// The number of the property that a test looks at; that of none when it looks at the item.
    fn property(&mut self, test: Test, target: &str) -> usize {
        match test {
            Test::WhitelistedItems | Test::BlacklistedItems => usize::MAX,
            Test::Whitelist | Test::Blacklist | Test::Boolean => {
                self.properties.get_or_add(target, self.properties.len())
            }
        }
    }

    /// How many checks there are: how many results an item gets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.checks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    fn open(&mut self, test: Test, target: &str, property: usize, exclusive: bool, seed: Seed) {
        let values = Values {
            texts: Index::new(seed),
            yes: false,
            no: false,
        };
        self.checks.push(Check {
            test,
            exclusive,
            target: target.into(),
            property,
            values,
        });
    }

    /// Runs every check on an item, adding a result for each.
    pub fn decide<'a>(&'a self, item: &Item<'_>, results: &mut Vec<Outcome<'a>>) {
        let mut found: Vec<Option<&Value<'_>>> = vec![None; self.properties.len()];
        for (name, value) in &item.properties {
            let place = self
                .properties
                .get(name)
                .and_then(|number| found.get_mut(number));
            if let Some(place) = place {
                *place = Some(value);
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
    /// How a check of this demand tests, and what.
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
                    values.texts.get_or_add(item, 0);
                });
            }
        }
    }

    /// Every text in it.
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
