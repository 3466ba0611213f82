//! What features keep: typed records, how memory stays as fresh as the store ([`feed`]), events in the commit of their
//! cause ([`outbox`]), what a host can start with while its store is unavailable ([`snapshot`]), and what is kept of it in
//! memory for each tenant. [`etag`] is its versions, [`encoded`] its texts that many answers share.

pub mod encoded;
pub mod etag;
pub mod feed;
pub mod outbox;
pub(crate) mod per_tenant;
pub mod quota;
pub mod records;
pub mod snapshot;
