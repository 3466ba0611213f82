//! A project's restrictions as a product of sets: the values that they accept for the item's id and for each property
//! that they test. The project allows an item if and only if each of these sets contains the item's value.
//!
//! A set is finite if a check allows by a list: no other value passes that check. Otherwise it contains everything but
//! the denied values: an absent property, a number and any other text pass too. Building a product looks at each value
//! once. [`crate::restriction_checks`] makes the decisions, fast and without this; this is made to take up little of the module.

mod factor;

pub(crate) use self::factor::{
    ALLOWED, ASKED, DENIED, DENIES, FIRST_TEXT, Factor, JOINS_BOOLEANS, Line, PASSES,
};
use crate::index::{Index, Seed};
use crate::json::{push, push_text};
use crate::restriction::{Demand, Restriction};
use crate::restriction_checks::seed;

/// The target of a set: a property, by its name, or the item's id.
pub(crate) type Target<'a> = Option<&'a str>;

/// A value of a target, as far as restrictions tell values apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    /// A value that is not listed: an absent property or any other id. A number or any other text is accepted wherever
    /// these are.
    Other,
    Bool(bool),
    /// A text, or an item's id.
    Text(&'a str),
}

/// A project's restrictions as a product of sets.
#[derive(Debug)]
pub(crate) struct Product<'a> {
    /// The set for the item's id, then those for the properties, in order of appearance.
    pub(crate) factors: Vec<Factor<'a>>,
    properties: Index,
    /// The names of the properties: each restriction on a property lists the name of that property.
    pub(crate) names: Factor<'a>,
    /// The seed for further hash tables of its contents.
    pub(crate) seed: Seed,
}

impl<'a> Product<'a> {
    #[inline(never)]
    pub(crate) fn of(restrictions: &'a [Restriction<'a>]) -> Self {
        let seed = seed(restrictions);
        let mut product = Self {
            factors: Vec::new(),
            properties: Index::new(seed),
            names: Factor::new(None, seed),
            seed,
        };
        product.add(None);
        for (position, restriction) in restrictions.iter().enumerate() {
            let target = restriction.demand.target();
            let next = product.factors.len();
            let number = match target {
                None => 0,
                Some(name) => product.properties.get_or_insert(name, next),
            };
            if number == next {
                product.add(target);
            }
            if let Some(name) = target {
                product.names.add_text(position, name);
            }
            if let Some(factor) = product.factors.get_mut(number) {
                factor.add(position, restriction);
            }
        }
        product
    }

    #[inline(never)]
    fn add(&mut self, target: Target<'a>) {
        self.factors.push(Factor::new(target, self.seed));
    }

    /// Returns the set for a target; `None` if every value is accepted.
    pub(crate) fn factor(&self, target: Target<'_>) -> Option<&Factor<'a>> {
        let number = match target {
            None => 0,
            Some(name) => self.properties.get(name)?,
        };
        self.factors.get(number)
    }

    /// Returns whether an item's id is listed.
    pub(crate) fn lists(&self, id: &str) -> bool {
        let ids = self.factors.first();
        ids.is_some_and(|ids| ids.lists(id))
    }

    /// Returns whether no item is accepted.
    pub(crate) fn is_empty(&self) -> bool {
        self.factors.iter().any(|set| set.first().is_none())
    }

    /// Returns the body of an evaluate call, without a project's id, about an item that is accepted except perhaps for
    /// its value of one target; `None` if there is no such item. An id is unlisted if `is_listed` is false for it.
    #[inline(never)]
    pub(crate) fn witness(
        &self,
        of_target: (Target<'_>, Choice<'_>),
        is_listed: &dyn Fn(&str) -> bool,
    ) -> Option<Vec<u8>> {
        let (target, value) = of_target;
        let mut witness = Vec::new();
        push(r#"{"item":{"id":"#, &mut witness);
        let mut properties = Vec::new();
        for factor in &self.factors {
            let value = if factor.target == target {
                value
            } else {
                factor.first()?
            };
            match (factor.target, value) {
                (Some(name), _) => set(name, value, &mut properties),
                (None, Choice::Text(id)) => push_text(id, &mut witness),
                (None, _) => push_text(&other_id(is_listed), &mut witness),
            }
        }
        if let (Some(name), None) = (target, self.factor(target)) {
            set(name, value, &mut properties);
        }
        if !properties.is_empty() {
            push(r#","additionalProperties":{"#, &mut witness);
            witness.append(&mut properties);
            witness.push(b'}');
        }
        push("}}", &mut witness);
        Some(witness)
    }
}

/// Appends a property unless it is absent.
#[inline(never)]
fn set(name: &str, value: Choice<'_>, properties: &mut Vec<u8>) {
    if value == Choice::Other {
        return;
    }
    if !properties.is_empty() {
        properties.push(b',');
    }
    push_text(name, properties);
    properties.push(b':');
    match value {
        Choice::Text(text) => push_text(text, properties),
        Choice::Bool(value) => push(name_of(value), properties),
        Choice::Other => {}
    }
}

/// Returns a boolean as it is written.
pub(crate) const fn name_of(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Returns an id that is not listed.
fn other_id(is_listed: &dyn Fn(&str) -> bool) -> String {
    let mut id = "item".to_owned();
    let mut number = 1_usize;
    while is_listed(&id) {
        number += 1;
        id = String::from("item-") + &number.to_string();
    }
    id
}

impl<'a> Demand<'a> {
    fn target(&'a self) -> Target<'a> {
        match self {
            Self::Whitelist(name, _) | Self::Blacklist(name, _) | Self::Boolean(name, _) => {
                Some(name)
            }
            Self::WhitelistedItems(_) | Self::BlacklistedItems(_) => None,
        }
    }
}
