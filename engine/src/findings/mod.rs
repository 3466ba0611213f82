//! The certain and probable mistakes in a rule. Each finding has a sentence, and names every line that is part of it.
//!
//! The contract is `conditions.md`, "Beyond an answer". Findings are exact, because a project is a product of sets
//! (`product/`): a finding about a target (a property, or the item's id) is true of its restrictions, whatever the
//! other restrictions are. A finding decides nothing, and no answer depends on one.
//!
//! The request is `{ "condition": condition, "other"?: condition or null }` or `{ "project": project }`, as in
//! [`crate::draft`]. The answer is `{ "findings": [{ "kind", "message", "places", "witness"? }] }`, with the most
//! serious kinds first.

#[cfg(not(target_arch = "wasm32"))]
mod catalog;
mod condition;
mod lines;
mod look_alike;
mod project;
mod report;
mod rule;
mod sentence;
mod suspicious;

#[cfg(not(target_arch = "wasm32"))]
pub use self::catalog::{Linted, RuleId, lint};
pub use self::report::MAX_FINDINGS;
pub use self::rule::{answer, write};
