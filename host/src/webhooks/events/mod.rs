//! Events: accepted in one commit with their deliveries (`event.rs`, `delivery.rs`), or delivered later (`fan_out.rs`);
//! where they come from (`publish.rs`).

pub(super) mod body;
pub(super) mod delivery;
pub(super) mod event;
pub(super) mod fan_out;
pub(super) mod publish;
