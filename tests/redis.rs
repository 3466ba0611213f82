//! Hosts on Redis: how the store is opened, copying as a program, and several hosts on one store. The store itself is in
//! `store/`; what happens when servers and hosts fail is in `redis_faults.rs`.

mod copy;
mod hosts;
mod opening;
mod readme;
