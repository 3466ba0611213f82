//! Changes. An edit of one unit is one commit (`unit_edit.rs`): the effect of the request on the unit (`plan.rs`), the
//! checks (`validation.rs`, `place.rs`, `max_rates.rs`, `deviations.rs`), and the line in the audit log (`audit.rs`),
//! or what it would publish (`dry_run.rs`).
//!
//! The shops below the unit follow in the background: the progress (`progress.rs`), job by job (`fan_out.rs`), page by
//! page (`shop_page.rs`), for a limited number of changes at once (`passes.rs`). All rates are sent again in the same way
//! (`initial_state.rs`).

pub(super) mod audit;
pub(super) mod author;
pub(super) mod deviations;
pub(super) mod dry_run;
pub(super) mod fan_out;
pub(super) mod initial_state;
mod max_rates;
pub(super) mod passes;
mod place;
pub(super) mod plan;
pub(super) mod progress;
pub(super) mod shop_page;
pub(super) mod unit_edit;
mod validation;
