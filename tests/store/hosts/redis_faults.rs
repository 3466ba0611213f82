//! Failures of Redis or of a host: nothing acknowledged is lost or happens twice, and everything recovers by itself.
//! `store/redis_faults/` tests the commits of the store alone.

mod hosts;
#[path = "../redis_faults/load.rs"]
#[expect(dead_code, reason = "of its load only the server's side is used")]
mod load;
mod server;
