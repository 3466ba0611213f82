//! Events: the request that publishes one (`body.rs`), the limits on their number (`admission.rs`), what the request
//! becomes (`publish.rs`, `event.rs`, `media_type.rs`, `accepted_id.rs`), and the commit that accepts it (`accept.rs`)
//! with its deliveries (`delivery_record.rs`, `delivery_id.rs`), some of which a job creates later (`fan_out.rs`), and
//! its place in the log that consumers read (`log.rs`); and the event that reports a failed delivery (`failure.rs`).

pub(super) mod accept;
pub(super) mod accepted_id;
pub(super) mod admission;
pub(super) mod body;
pub(super) mod delivery_id;
pub(super) mod delivery_record;
pub(super) mod event;
pub(super) mod failure;
pub(super) mod fan_out;
pub(super) mod log;
mod media_type;
pub(super) mod own_schema;
pub(super) mod publish;
pub(super) mod schema;

/// The most bytes of an event that the serving threads themselves read and compare with filters.
pub(super) const INLINE: usize = 16 << 10;
