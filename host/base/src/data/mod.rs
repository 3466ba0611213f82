//! The data of features, on top of the store.
//!
//! Read it in this order: [`records`] (typed records, and how they are changed), [`feed`] (how caches stay as fresh as
//! the store), [`outbox`] (events in the commit of the change that causes them), [`snapshot`] (the records that a host
//! starts with while its store is unavailable), `per_tenant` (a bounded map of caches), [`tenant`] (the settings of a
//! tenant), [`quota`], [`etag`] (versions for callers), [`managed_by`] (who manages a resource), [`note`](mod@note)
//! (why a change was made), [`encoded`] (texts that many answers share).

pub mod encoded;
pub mod etag;
pub mod feed;
pub mod managed_by;
pub mod note;
pub mod outbox;
pub mod per_tenant;
pub mod quota;
pub mod records;
pub mod snapshot;
pub mod tenant;
