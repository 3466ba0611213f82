//! The future tree of business units: that of the host, with the files' units in their places and without the deleted
//! ones. It reports faults before anything is written, and gives the order in which units are written: parents first.

use std::collections::{BTreeMap, BTreeSet};

use super::document::Document;

/// The most levels of a tree (`rates.md`, "Business units").
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    parent: Option<String>,
    unit_type: String,
    /// The file that puts it there.
    file: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    places: BTreeMap<String, Place>,
    deleted: BTreeSet<String>,
    problems: Vec<String>,
}

impl Tree {
    /// Adds a unit of the host.
    pub(super) fn add(&mut self, unit: &Document) {
        self.places.insert(unit.id.clone(), place(unit, None));
    }

    /// Puts a unit in the place that a file states.
    pub(super) fn put(&mut self, unit: &Document, file: &str) {
        let place = place(unit, Some(file.to_owned()));
        let new_type = place.unit_type.clone();
        let before = self.places.insert(unit.id.clone(), place);
        if let Some(before) = before
            && before.unit_type != new_type
        {
            self.problems.push(format!(
                "{file}: $.type must stay {}: a business unit keeps its type",
                before.unit_type
            ));
        }
    }

    /// Marks a unit for deletion.
    pub(super) fn delete(&mut self, unit: &str) {
        self.deleted.insert(unit.to_owned());
    }

    /// Returns whether the unit will exist once everything is written.
    pub(super) fn has(&self, unit: &str) -> bool {
        self.places.contains_key(unit) && !self.deleted.contains(unit)
    }

    /// Returns a line for each fault of the tree.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
        for (unit, place) in &self.places {
            let Some(parent) = &place.parent else {
                continue;
            };
            if let Some(file) = &place.file {
                problems.extend(self.problem_of(unit, parent, file));
            } else if self.deleted.contains(parent) && !self.deleted.contains(unit) {
                problems.push(format!(
                    "business-units/{parent} cannot be deleted: business-units/{unit} stands below it and stays"
                ));
            }
        }
        problems
    }

    fn problem_of(&self, unit: &str, parent: &str, file: &str) -> Option<String> {
        let fault = match self.places.get(parent) {
            None => format!("names no business unit: {parent}"),
            Some(_) if self.deleted.contains(parent) => {
                format!("names a business unit that is to be deleted: {parent}")
            }
            Some(place) if place.unit_type == "STORE" => {
                format!("names a STORE, which is always a leaf: {parent}")
            }
            Some(_) => match self.depth(unit) {
                Some(depth) if depth < MAX_DEPTH => return None,
                Some(_) => "would make the tree deeper than 32 levels".to_owned(),
                None if self.stands_below_itself(unit) => {
                    format!("would put the business unit below itself: {parent}")
                }
                // Another unit stands below itself, and is reported.
                None => return None,
            },
        };
        Some(format!("{file}: $.parentId {fault}"))
    }

    fn stands_below_itself(&self, unit: &str) -> bool {
        let parent = |unit: &String| self.places.get(unit)?.parent.clone();
        let above = std::iter::successors(parent(&unit.to_owned()), parent);
        above.take(self.places.len()).any(|above| above == unit)
    }

    /// Returns the number of units above this one; `None` if they form a cycle.
    pub(super) fn depth(&self, unit: &str) -> Option<usize> {
        let mut seen = BTreeSet::from([unit]);
        let mut unit = unit;
        while let Some(parent) = self
            .places
            .get(unit)
            .and_then(|place| place.parent.as_deref())
        {
            if !seen.insert(parent) {
                return None;
            }
            unit = parent;
        }
        Some(seen.len() - 1)
    }
}

fn place(unit: &Document, file: Option<String>) -> Place {
    Place {
        parent: unit.members.text("parentId"),
        unit_type: unit.members.text("type").unwrap_or_default(),
        file,
    }
}
