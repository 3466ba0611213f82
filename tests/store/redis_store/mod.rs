//! Tests of the store on Redis beyond what every store guarantees: its keys, the periods of its commit ids, and copying.

mod copy;
mod keys;
mod periods;
mod runtimes;
