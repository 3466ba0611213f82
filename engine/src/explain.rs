//! Explains answers by what each result was compared with (`conditions.md`, "Beyond an answer").
//!
//! An explained answer is the ordinary one, with a last member `explanation` in each result. This module decides
//! nothing, and looks up what an ordinary answer does not need, such as the text of a number, in the request's
//! document.

use std::borrow::Cow;

use crate::catalog::{BasketDecision, Catalog};
use crate::condition::{Customer, Rule};
use crate::error::Error;
use crate::json::{Node, push, write_number, write_text};
use crate::outcome::{ItemDecision, Outcome, Subject, WriteResults, too_large};
use crate::restriction_checks::{Checks, Compared};

/// The most licenses of a customer that an explanation shows.
const MAX_LICENSES: usize = 10;

/// The rules and the customer that the items of a request were compared with.
#[derive(Debug)]
pub(crate) struct Explain<'r, 'a> {
    /// The conditions in force.
    pub(crate) catalog: Option<&'r Catalog>,
    /// The customer, if known.
    pub(crate) customer: Option<&'r Customer<'a>>,
    /// The project, if there is one and it is reachable.
    pub(crate) checks: Option<&'r Checks>,
    /// The length beyond which the answer is refused, so nothing more is explained.
    pub(crate) limit: usize,
}

impl Explain<'_, '_> {
    /// Appends the decision about a request's item.
    ///
    /// # Errors
    /// [`crate::Code::Invalid`] if the answer would be too large. In that case, discard the bytes already appended.
    #[cold]
    pub(crate) fn write_item(
        &self,
        decision: &ItemDecision<'_>,
        request: Node<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let items: Vec<_> = request.member("item").into_iter().collect();
        let mut results = Results {
            explain: self,
            items: items.into_iter(),
        };
        decision.write_open(decision.allow(), Some(&mut results), out);
        push("}", out);
        if out.len() > self.limit {
            Err(too_large("$.item"))
        } else {
            Ok(())
        }
    }

    /// Appends the decision about a basket.
    ///
    /// # Errors
    /// As [`BasketDecision::write`].
    #[cold]
    pub(crate) fn write_basket(
        &self,
        decision: &BasketDecision<'_>,
        request: Node<'_, '_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let items = request
            .member("items")
            .map(|items| items.children().collect());
        let items: Vec<_> = items.unwrap_or_default();
        let mut results = Results {
            explain: self,
            items: items.into_iter(),
        };
        decision.write_with(Some(&mut results), out)
    }

    fn write_age(&self, id: &str, out: &mut Vec<u8>) {
        let minimum = match self.catalog.and_then(|catalog| catalog.in_force(id)) {
            Some((_, Rule::AgeRestriction { minimum_age })) => Some(minimum_age),
            _ => None,
        };
        push("{\"minimumAge\":", out);
        write_count(minimum.map(usize::from), out);
        push(",\"customerAge\":", out);
        let age = self.customer.and_then(|customer| customer.age);
        write_count(age.map(usize::from), out);
        push("}", out);
    }

    fn write_license(&self, id: &str, out: &mut Vec<u8>) {
        push("{\"licenseId\":", out);
        write_text(id, out);
        push(",\"licenses\":", out);
        let held = self
            .customer
            .and_then(|customer| customer.licenses.as_ref());
        let ids = held.map(|held| held.ids());
        match ids {
            Some(ids) => write_list(ids, out),
            None => push("null", out),
        }
        push(",\"licensesCount\":", out);
        write_count(ids.map(<[_]>::len), out);
        push("}", out);
    }
}

/// Writes the results of one item after another.
struct Results<'e, 'd, 'a> {
    explain: &'e Explain<'e, 'a>,
    /// The items whose results are not written yet.
    items: std::vec::IntoIter<Node<'d, 'a>>,
}

impl WriteResults for Results<'_, '_, '_> {
    fn write(&mut self, results: &[Outcome<'_>], out: &mut Vec<u8>) {
        let Explain { checks, limit, .. } = self.explain;
        let compared = checks.zip(self.items.next());
        let compared = compared.map_or(Vec::new(), |(checks, item)| checks.compared(item));
        let mut compared = compared.iter();
        for (index, result) in results.iter().enumerate() {
            if out.len() > *limit {
                return;
            }
            if index > 0 {
                push(",", out);
            }
            result.write(out);
            // A result is an object, whose closing brace comes after the explanation.
            out.pop();
            push(",\"explanation\":", out);
            match result.subject {
                Subject::Age(id) => self.explain.write_age(id, out),
                Subject::License(id) => self.explain.write_license(id, out),
                Subject::Restriction(None) => push("null", out),
                Subject::Restriction(Some(_)) => {
                    if let Some(compared) = compared.next() {
                        compared.write(out);
                    }
                }
            }
            push("}", out);
        }
    }
}

impl Compared<'_, '_, '_> {
    fn write(&self, out: &mut Vec<u8>) {
        push("{\"restrictionIndex\":", out);
        write_count(Some(self.position), out);
        push(",\"propertyName\":", out);
        write_text(self.target, out);
        push(",\"value\":", out);
        match self.value {
            Some(value) => value.write(out),
            None => push("null", out),
        }
        push(",\"wants\":[", out);
        out.extend_from_slice(self.shown);
        push("],\"wantsCount\":", out);
        write_count(Some(self.count), out);
        push("}", out);
    }
}

/// Appends the first [`MAX_LICENSES`] of a customer's licenses.
fn write_list(ids: &[Cow<'_, str>], out: &mut Vec<u8>) {
    push("[", out);
    for (index, id) in ids.iter().take(MAX_LICENSES).enumerate() {
        if index > 0 {
            push(",", out);
        }
        write_text(id, out);
    }
    push("]", out);
}

/// Appends a number, or `null` if there is none.
fn write_count(number: Option<usize>, out: &mut Vec<u8>) {
    match number {
        Some(number) => write_number(number, out),
        None => push("null", out),
    }
}
