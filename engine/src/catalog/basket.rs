//! Baskets: many items that are decided together (`conditions.md`, "Basket evaluation").

use std::borrow::Cow;

use super::{Catalog, decide_into};
use crate::condition::{ConditionId, Customer, read_context};
use crate::error::{Code, Error};
use crate::json::{Document, Faults, Node};
use crate::outcome::{Decision, ItemDecision, MAX_ANSWER, WriteResults, too_large};
use crate::restriction::{Item, ProjectId, read_project_id};
use crate::restriction_checks::Checks;

/// The most items in a basket.
pub const MAX_ITEMS: usize = 1_000;

/// The most results of a basket, so that a till can still handle the answer.
pub const MAX_RESULTS: usize = 100_000;

/// The most conditions of an item in a basket.
pub const MAX_CONDITIONS: usize = 64;

impl Catalog {
    /// Decides about a basket. `project`, which is prepared on its own, replaces the project that the request names.
    ///
    /// # Errors
    /// [`Code::Invalid`] if there would be more than [`MAX_RESULTS`] results.
    pub fn decide_basket<'a>(
        &'a self,
        request: &'a BasketRequest<'_>,
        project: Option<&'a Checks>,
    ) -> Result<BasketDecision<'a>, Error> {
        let project = self.project_of(request, project);
        let of_project = project.flatten().map_or(0, Checks::len);
        let of_item = |item: &BasketItem<'_>| item.condition_ids.len() + of_project;
        if request.items.iter().map(of_item).sum::<usize>() > MAX_RESULTS {
            let message = "must lead to at most 100000 results";
            return Err(Error::new(Code::Invalid, "$.items", message));
        }
        let items = request.items.iter().map(|basket_item| {
            let item = &basket_item.item;
            let mut results = Vec::with_capacity(basket_item.condition_ids.len());
            let mut unresolved = Vec::new();
            for id in &basket_item.condition_ids {
                match self.in_force(id) {
                    Some((id, rule)) => results.push(rule.decide(id, request.customer.as_ref())),
                    None => unresolved.push(id.as_ref()),
                }
            }
            if let Some(checks) = project {
                decide_into(checks, item, &mut results);
            }
            BasketItemDecision {
                decision: ItemDecision {
                    id: &item.id,
                    results,
                },
                unresolved,
            }
        });
        Ok(BasketDecision {
            items: items.collect(),
        })
    }

    /// Returns the project that the basket is checked against: `None` if the request names none, and `Some(None)` if
    /// the project is unreachable. `project`, which is prepared on its own, replaces it.
    pub(crate) fn project_of<'a>(
        &'a self,
        request: &BasketRequest<'_>,
        project: Option<&'a Checks>,
    ) -> Option<Option<&'a Checks>> {
        let id = request.project_id?;
        Some(project.or_else(|| self.project(id)))
    }
}

/// An item in a basket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasketItem<'a> {
    /// The item.
    pub item: Item<'a>,
    /// The conditions to evaluate for the item, at most [`MAX_CONDITIONS`].
    pub condition_ids: Vec<Cow<'a, str>>,
}

/// A request to decide about a basket (`conditions.md`, "Basket evaluation").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasketRequest<'a> {
    /// The items, 1 to [`MAX_ITEMS`].
    pub items: Vec<BasketItem<'a>>,
    /// The project whose restrictions every item is checked against.
    pub project_id: Option<ProjectId>,
    /// The customer, if known.
    pub customer: Option<Customer<'a>>,
}

impl<'a> BasketRequest<'a> {
    /// Reads `{ "items": [{ "id", "conditionIds"?, "additionalProperties"? }], "projectId"?, "context" }`. `faults`
    /// determines whether unknown members are ignored.
    ///
    /// # Errors
    /// [`Code::Invalid`] with a fault for every invalid member.
    pub fn read(document: &Document<'a>, mut faults: Faults) -> Result<Self, Error> {
        let members = ["items", "projectId", "context"];
        let Some(root) = faults.object_with(document.root(), &members) else {
            return Err(Error::new(Code::Invalid, "$", "must be an object"));
        };
        let list = faults.required(root, "items");
        let list = list.and_then(|list| faults.array(list));
        if let Some(list) = list {
            let count = list.children().take(MAX_ITEMS + 1).count();
            if !(1..=MAX_ITEMS).contains(&count) {
                faults.add(list, "must have 1 to 1000 items");
            }
        }
        let mut items = Vec::new();
        for node in list.unwrap_or_default().children().take(MAX_ITEMS) {
            items.extend(read_basket_item(node, &mut faults));
        }
        let project_id = root.member("projectId");
        let project_id = project_id.and_then(|id| read_project_id(id, &mut faults));
        let customer = read_context(root, &mut faults);
        faults.none_or_error()?;
        Ok(Self {
            items,
            project_id,
            customer,
        })
    }
}

fn read_basket_item<'a>(node: Node<'_, 'a>, faults: &mut Faults) -> Option<BasketItem<'a>> {
    let members = ["id", "conditionIds", "additionalProperties"];
    let item = Item::read(node, &members, faults);
    let ids = node
        .member("conditionIds")
        .and_then(|ids| faults.array(ids));
    let mut condition_ids = Vec::new();
    for (position, id) in ids.unwrap_or_default().children().enumerate() {
        if position == MAX_CONDITIONS {
            faults.add(ids.unwrap_or_default(), "must have at most 64 ids");
            break;
        }
        match id.text().filter(|text| ConditionId::is_id(text)) {
            Some(text) => condition_ids.push(text.clone()),
            None => faults.add(id, ConditionId::RULE),
        }
    }
    Some(BasketItem {
        item: item?,
        condition_ids,
    })
}

/// The answer for one item in a basket: the item's decision, and `errors` if a condition is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasketItemDecision<'a> {
    /// The results of the checks that ran.
    pub decision: ItemDecision<'a>,
    /// The ids of conditions that are not in force, in the order of the request.
    pub unresolved: Vec<&'a str>,
}

impl BasketItemDecision<'_> {
    /// Returns true only if every check ran and every result allows the item.
    #[must_use]
    pub fn allow(&self) -> bool {
        self.unresolved.is_empty() && self.decision.allow()
    }

    /// Returns the worst of the results. A condition that is not in force is a soft denial, because it was not
    /// evaluated.
    #[must_use]
    pub fn decision(&self) -> Decision {
        let unresolved = if self.unresolved.is_empty() {
            Decision::Allow
        } else {
            Decision::SoftDeny
        };
        self.decision.decision().max(unresolved)
    }

    fn write(&self, write: Option<&mut (dyn WriteResults + '_)>, out: &mut Vec<u8>) {
        self.decision.write_open(self.allow(), write, out);
        for (index, id) in self.unresolved.iter().enumerate() {
            let open: &[u8] = if index == 0 { b",\"errors\":[" } else { b"," };
            out.extend_from_slice(open);
            // The id of a condition never needs escaping.
            out.extend_from_slice(b"{\"conditionId\":\"");
            out.extend_from_slice(id.as_bytes());
            out.extend_from_slice(b"\",\"status\":404}");
        }
        out.extend_from_slice(if self.unresolved.is_empty() {
            b"}"
        } else {
            b"]}"
        });
    }
}

/// The answer for a basket: `{ "allow", "decision", "items" }`, with the items in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasketDecision<'a> {
    /// One decision for each item.
    pub items: Vec<BasketItemDecision<'a>>,
}

impl BasketDecision<'_> {
    /// Appends the decision as JSON.
    ///
    /// # Errors
    /// [`Code::Invalid`] if it would be larger than [`MAX_ANSWER`]: names of properties may be long, and are repeated
    /// for each item. In that case, discard the bytes already appended.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.write_with(None, out)
    }

    /// Appends the decision as JSON, with results from `write` if it is given.
    pub(crate) fn write_with(
        &self,
        mut write: Option<&mut (dyn WriteResults + '_)>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let begin = out.len();
        let allow = self.items.iter().all(BasketItemDecision::allow);
        let worst = self
            .items
            .iter()
            .map(BasketItemDecision::decision)
            .max()
            .unwrap_or_default();
        out.extend_from_slice(if allow {
            b"{\"allow\":true"
        } else {
            b"{\"allow\":false"
        });
        out.extend_from_slice(b",\"decision\":\"");
        out.extend_from_slice(worst.as_str().as_bytes());
        out.extend_from_slice(b"\",\"items\":[");
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            item.write(write.as_deref_mut(), out);
            if out.len() - begin > MAX_ANSWER {
                return Err(too_large("$.items"));
            }
        }
        out.extend_from_slice(b"]}");
        Ok(())
    }
}
