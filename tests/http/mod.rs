//! HTTP: connections, headers, queries and bodies, for all routes.

mod bad_input;
mod bounds;
mod connections;
mod cors;
mod headers;
mod queries;
mod streams;
pub(crate) mod tls;
mod unknown_members;
