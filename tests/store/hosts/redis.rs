//! Hosts on Redis: opening the store, the copy program, and several hosts on one store. The tests of the store itself
//! are in `store/`; failures of servers and hosts are in `redis_faults.rs`.

mod copy;
mod hosts;
mod opening;
mod readme;
