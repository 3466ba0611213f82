//! The vectors, run through the C ABI and through the routes of a host.

mod abi;
mod http;
#[path = "../support/vector.rs"]
pub(crate) mod vector;
