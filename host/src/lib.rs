//! .

pub mod clock;
pub mod store;
