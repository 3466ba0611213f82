//! The content of the HTTP API. A resource is described once, and the description does two things: it reads a body,
//! with every fault and its place, and it makes the JSON Schema that `/openapi.json` and `/asyncapi.json` show.
//!
//! Read it in this order: [`body`] (reading a body), [`value`] (the elements of a description), [`values`] (values that
//! many bodies have), [`schema`] (schemas of answers, which types derive), [`rules`] (documents that the module reads
//! and writes), [`problem`] (codes of errors).
//!
//! It knows neither HTTP nor the store.

pub mod body;
pub mod client_status;
pub mod problem;
pub mod rate;
pub mod rules;
pub mod schema;
pub mod value;
pub mod values;

pub use self::body::{Body, ReadError, describe, read};
pub use self::problem::Code;
pub use self::value::{Fields, Kind, Member, Value};
