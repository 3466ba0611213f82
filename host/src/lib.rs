//! Tillgate's host: serves the module's decisions, with the token service and the store around it.
//!
//! Read it in this order: [`app`] (what there is), [`http`] (the table of routes and the way of a request), then a
//! feature from its `http.rs` inwards: [`conditions`], [`tokens`]; [`engine`] (the module under wasmtime), [`store`]
//! (what is kept, and the promises), [`follow`] (how memory stays fresh), [`page`] (what browsers get).

pub mod app;
pub mod cli;
pub mod clock;
pub mod conditions;
pub mod config;
pub mod engine;
pub mod error;
pub mod etag;
pub mod follow;
pub mod http;
pub mod page;
pub mod store;
pub mod tokens;
pub mod worker;

/// What a commit allocates on a caller's thread is freed on the store's, which glibc's allocator makes wait for each
/// other: with this one 64 committers get a fifth more done.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
