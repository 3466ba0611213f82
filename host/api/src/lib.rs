//! What the HTTP API says: a resource is described once, and the description does two things. It reads a body, with every
//! fault and its place; and it makes the JSON Schema that `/openapi.json` and `/asyncapi.json` show.
//!
//! Read it in this order: [`body`] (how a body is read), [`value`] (what a description is made of),
//! [`values`] (values that many bodies have), [`schema`] (schemas of answers, which types derive), [`rules`] (what the module reads
//! and writes), [`problem`] (codes of errors).
//!
//! It knows neither HTTP nor the store.

#![expect(
    missing_docs,
    reason = "the crate is not published, and most names say what they are"
)]

pub mod body;
pub mod problem;
pub mod rate;
pub mod rules;
pub mod schema;
pub mod value;
pub mod values;

pub use self::body::{Body, ReadError, describe, read};
pub use self::problem::Code;
pub use self::value::{Fields, Kind, Member, Value};
