//! Failures of Redis under load: no acknowledged commit is lost or applied twice, and everything recovers by itself.
//!
//! Each fault happens while committers commit without pause; then the acknowledged commits are compared with the
//! contents of the store (`load.rs`). The controls do the same with a store or a client that breaks the guarantees,
//! and detect losses and duplicates.

mod cluster;
mod freshness;
mod load;
mod proxy;
mod replicas;
mod sentinels;
mod server;
