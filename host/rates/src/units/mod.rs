//! Business units and the rates that are set at them, as they are stored and answered.
//!
//! Read the modules in this order: `json`, `calendar`, `rate_text`, `set_rates`, `unit`, `level`, `tree`, `usage`,
//! `reference_dates`, `walk`; then the answers: `prepared`, `rate_answers`, `rate_list`, `answers`, `reading`.

pub(super) mod answers;
pub(super) mod calendar;
pub(super) mod json;
pub(super) mod level;
pub(super) mod prepared;
pub(super) mod rate_answers;
pub(super) mod rate_list;
pub(super) mod rate_text;
pub(super) mod reading;
pub(super) mod reference_dates;
pub(super) mod set_rates;
pub(super) mod tree;
pub(super) mod unit;
pub(super) mod usage;
pub(super) mod walk;
