//! Compares two versions of a rule: they decide the same about everything, or there is an item or customer about which
//! they do not.
//!
//! The comparison is exact. A project is a product of sets (`product/`), which two versions share or which differ in a
//! value. The customers of two conditions fall into few classes, and one customer of each class is tried. Decisions are
//! compared, not reasons.
//!
//! The request is `{ "before": rule or null, "after": rule or null }`, with rules as in [`crate::draft`], both of one
//! kind. The answer is `{ "same": true }` or `{ "same": false, "witness", "before", "after" }`, where `witness` is the
//! body of an evaluate call, and `before` and `after` are its two decisions.

use crate::condition::Rule;
use crate::draft::{Draft, with_document};
use crate::error::Error;
use crate::json::{Faults, Node, push};
use crate::outcome::Decision;
use crate::product::{Choice, FIRST_TEXT, Product};
use crate::witness::Known;

/// A difference between two versions of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The body of an evaluate call that they decide differently, as JSON: an item, and for a condition also its
    /// customer.
    pub witness: Vec<u8>,
    /// The decision of the version before; `None` if it is a condition that is not in force.
    pub before: Option<Decision>,
    /// The decision of the version after; `None` if it is a condition that is not in force.
    pub after: Option<Decision>,
}

/// Appends the answer to a comparison as JSON, or nothing if there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of the request.
pub fn answer(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    with_document(text, &mut |root, faults| {
        let root = faults.object_with(root, &["before", "after"]);
        let before = root.and_then(|root| version(root, "before", faults));
        let after = root.and_then(|root| version(root, "after", faults));
        let is_project = |draft: &Draft<'_>| matches!(draft, Draft::Project(_));
        if let (Some(root), Some(before), Some(after)) = (root, &before, &after)
            && is_project(before) != is_project(after)
        {
            faults.add_member(root, "after", "must be of the same kind as before");
        }
        if !faults.is_empty() {
            return;
        }
        match difference(before.as_ref(), after.as_ref()) {
            None => push(r#"{"same":true}"#, out),
            Some(difference) => difference.write(out),
        }
    })
}

/// Reads a version of a rule; `None` if it is null or cannot be read.
#[inline(never)]
fn version<'a>(root: Node<'_, 'a>, key: &str, faults: &mut Faults) -> Option<Draft<'a>> {
    let version = faults.required(root, key)?;
    if version.is_null() {
        None
    } else {
        Draft::read(version, faults)
    }
}

impl Difference {
    fn write(&self, out: &mut Vec<u8>) {
        let decision = |decided: Option<Decision>| decided.map_or("NOT_FOUND", Decision::as_str);
        push(r#"{"same":false,"witness":"#, out);
        out.extend_from_slice(&self.witness);
        for piece in [
            r#","before":""#,
            decision(self.before),
            r#"","after":""#,
            decision(self.after),
            r#""}"#,
        ] {
            push(piece, out);
        }
    }
}

/// Returns a difference between two versions of a rule; `None` if they decide the same. A version that is `None` does
/// not exist. Versions of different kinds are not compared, and do not differ.
#[must_use]
pub fn difference(before: Option<&Draft<'_>>, after: Option<&Draft<'_>>) -> Option<Difference> {
    match (before, after) {
        (None | Some(Draft::Condition(..)), None | Some(Draft::Condition(..))) => of_rules(
            before.and_then(Draft::in_force),
            after.and_then(Draft::in_force),
        ),
        (None | Some(Draft::Project(_)), None | Some(Draft::Project(_))) => {
            let [before, after] = [product(before), product(after)];
            of_products(before.as_ref(), after.as_ref())
        }
        _ => None,
    }
}

/// Returns the product of a project that exists.
fn product<'a>(draft: Option<&'a Draft<'a>>) -> Option<Product<'a>> {
    match draft {
        Some(Draft::Project(Some(project))) => Some(Product::of(&project.restrictions)),
        _ => None,
    }
}

/// Returns the decision of a rule in force about a customer.
#[inline(never)]
fn decided(rule: Option<(&str, Rule)>, customer: Known<'_>) -> Option<Decision> {
    rule.map(|(id, rule)| rule.decide(id, Some(&customer.customer())).decision())
}

/// Returns a difference between two rules, each with its condition's id; `None` if they decide the same. A rule that is
/// `None` decides nothing.
///
/// A customer's age matters only in whether it is known and on which side of each minimum it is; their licenses, only
/// in whether they are known and have each id.
pub(crate) fn of_rules(
    before: Option<(&str, Rule)>,
    after: Option<(&str, Rule)>,
) -> Option<Difference> {
    let minimum = |rule: Option<(&str, Rule)>| match rule {
        Some((_, Rule::AgeRestriction { minimum_age })) => Some(minimum_age),
        _ => None,
    };
    let below = |minimum: Option<u8>| minimum.and_then(|minimum| minimum.checked_sub(1));
    let (one, two) = (minimum(before), minimum(after));
    let held = [before, after].map(|rule| Some(rule.map(|(id, _)| id)));
    for licenses in [None, Some(None)].into_iter().chain(held) {
        for age in [one, below(one), two, below(two), None] {
            let customer = Known { age, licenses };
            let decisions = (decided(before, customer), decided(after, customer));
            if decisions.0 != decisions.1 {
                return Some(Difference {
                    witness: customer.request(),
                    before: decisions.0,
                    after: decisions.1,
                });
            }
        }
    }
    None
}

/// Returns a difference between two projects. A project that is `None` is unreachable, and denies every item softly.
fn of_products(before: Option<&Product<'_>>, after: Option<&Product<'_>>) -> Option<Difference> {
    let (witness, before, after) = if let Some(witness) = accepted_by_first(before, after) {
        (witness, Decision::Allow, denial(after))
    } else if let Some(witness) = accepted_by_first(after, before) {
        (witness, denial(before), Decision::Allow)
    } else if before.is_some() != after.is_some() {
        // The project that exists denies everything.
        let witness = br#"{"item":{"id":"item"}}"#.to_vec();
        (witness, denial(before), denial(after))
    } else {
        return None;
    };
    Some(Difference {
        witness,
        before: Some(before),
        after: Some(after),
    })
}

/// Returns how a project denies an item that it does not allow.
const fn denial(product: Option<&Product<'_>>) -> Decision {
    match product {
        Some(_) => Decision::HardDeny,
        None => Decision::SoftDeny,
    }
}

/// Returns an item that the first of two projects allows and the second does not.
#[inline(never)]
fn accepted_by_first(first: Option<&Product<'_>>, second: Option<&Product<'_>>) -> Option<Vec<u8>> {
    let first = first.filter(|first| !first.is_empty())?;
    let is_listed = |id: &str| {
        [Some(first), second]
            .iter()
            .flatten()
            .any(|it| it.lists(id))
    };
    let of_first = |target| first.factor(target);
    let any = || {
        let ids = of_first(None)?;
        first.witness((None, ids.first()?), &is_listed)
    };
    let Some(second) = second.filter(|second| !second.is_empty()) else {
        return any();
    };
    // An item that the second project denies has a value outside one of that project's sets.
    second.factors.iter().find_map(|denying| {
        let set = of_first(denying.target);
        let listed = [set, Some(denying)].into_iter().flatten().flat_map(|set| {
            let texts = set.values.iter().skip(FIRST_TEXT);
            texts.map(|listed| listed.value)
        });
        let others = [Choice::Other, Choice::Bool(true), Choice::Bool(false)];
        let mut values = listed.chain(others);
        let value = values
            .find(|value| set.is_none_or(|set| set.accepts(*value)) && !denying.accepts(*value))?;
        first.witness((denying.target, value), &is_listed)
    })
}
