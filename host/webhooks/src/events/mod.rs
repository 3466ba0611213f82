//! Events: the request that publishes one (`body.rs`), how many there may be (`admission.rs`), what it becomes
//! (`publish.rs`, `event.rs`, `media_type.rs`, `accepted_id.rs`), and the commit that accepts it (`accept.rs`) with its deliveries
//! (`delivery.rs`, `delivery_id.rs`), some of which a job creates afterwards (`fan_out.rs`), and its place in the log that
//! consumers read (`log.rs`); and the event that tells of a delivery that has failed (`failure.rs`).

pub(super) mod accept;
pub(super) mod accepted_id;
pub(super) mod admission;
pub(super) mod body;
pub(super) mod delivery;
pub(super) mod delivery_id;
pub(super) mod event;
pub(super) mod failure;
pub(super) mod fan_out;
pub(super) mod log;
mod media_type;
pub(super) mod own_schema;
pub(super) mod publish;
pub(super) mod schema;

/// Larger events are read and compared with filters off the threads that serve.
pub(super) const INLINE: usize = 16 << 10;
