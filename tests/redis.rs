//! The store on Redis, beyond what every store guarantees (`store.rs`): how it is opened, its keys, copying, and several
//! hosts on one store. What happens when servers and hosts fail is in `redis_faults.rs`.

mod copy;
mod hosts;
mod keys;
mod opening;
mod periods;
mod readme;
