//! What becomes of acknowledged commits when Redis or a host fails under load: nothing is lost, nothing is doubled, and
//! everything goes on by itself.
//!
//! Each fault happens while committers commit without pause; then what was acknowledged is counted against what is
//! there (`load.rs`). The controls let the same happen to a store or a client that does not keep the promises, and see
//! the losses and the doubles.

mod cluster;
mod hosts;
mod load;
mod proxy;
mod server;
