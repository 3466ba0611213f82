//! Changes. An edit of one unit is one commit (`edit.rs`): what the request makes of the unit (`plan.rs`), whether it may
//! (`check.rs`, `place.rs`, `bound.rs`, `guard.rs`), its line in the audit log (`audit.rs`), or what it would publish
//! (`dry_run.rs`). What shops
//! below the unit use follows in the background: how far it has come (`progress.rs`), job by job (`fan_out.rs`), page by
//! page (`page.rs`), for so many changes at once (`passes.rs`). So does sending all rates again (`initial_state.rs`).

pub(super) mod audit;
mod bound;
mod check;
pub(super) mod dry_run;
pub(super) mod edit;
pub(super) mod editor;
pub(super) mod fan_out;
pub(super) mod guard;
pub(super) mod initial_state;
pub(super) mod page;
pub(super) mod passes;
mod place;
pub(super) mod plan;
pub(super) mod progress;
