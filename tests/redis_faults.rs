//! Redis or a host fails: nothing acknowledged is lost or happens twice, and everything recovers by itself. What happens
//! to the store's commits alone is in `store/redis_faults/`.

mod hosts;
#[path = "store/redis_faults/load.rs"]
#[expect(dead_code, reason = "of its load only the server's side is used")]
mod load;
mod server;
