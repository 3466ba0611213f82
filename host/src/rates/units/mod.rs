//! Business units, and the rates that are set at them, as they are stored and answered.
//!
//! Read them in this order: `number`, `set_rate`, `unit`, `tree`, `answers`.

pub(super) mod answers;
pub(super) mod number;
pub(super) mod set_rate;
pub(super) mod tree;
pub(super) mod unit;
