//! The store on Redis, beyond what every store promises (`store.rs`): how it is opened, what its keys look like, and
//! what several hosts make of it. What happens when servers and hosts fail is in `redis_faults.rs`.

mod copy;
mod hosts;
mod layout;
mod opening;
mod periods;
mod readme;
