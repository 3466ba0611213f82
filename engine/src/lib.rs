//! Tillgate's engine: may this item be sold to this customer, on this project, and at which exchange rate.
//!
//! The pure part of the product: no I/O, no clock, no randomness. It builds as this library and as one WebAssembly
//! module; the same bytes decide in the host, in the npm package and in the page, so a preview is the decision.
//!
//! Read it in this order: [`decision`] (what an answer is), [`condition`], [`restriction`] and [`check`] (what
//! decides), [`catalog`] (what a tenant sees, and the basket), `explain` (why) and [`many`] (long lists), [`draft`],
//! [`findings`] and [`compare`] (what is said of a rule, in force or not yet), [`tests`] (what a rule must answer, kept
//! beside it), [`rate`] and [`signature`] (the rest of the math), [`json`] and [`error`] (how input is read, and how its
//! faults are reported), `face` (the same calls over bytes and over JavaScript strings). The feature `receiver` adds the
//! receiver's side of webhooks to the library, not to the
//! module.

#![warn(missing_docs)]

pub mod catalog;
pub mod check;
pub mod compare;
pub mod condition;
pub mod decision;
pub mod draft;
pub mod error;
mod explain;
pub mod face;
pub mod findings;
mod index;
pub mod json;
pub mod many;
mod product;
pub mod rate;
#[cfg(all(feature = "receiver", not(target_arch = "wasm32")))]
pub mod receiver;
pub mod record;
pub mod restriction;
pub mod signature;
mod swar;
pub mod tests;
mod witness;

pub use self::error::{Code, Error, Fault};

/// The module's allocator: as fast as that of the standard library, in a quarter of its code.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// The examples in the engine's README, as tests.
#[cfg(all(doctest, feature = "receiver"))]
#[doc = include_str!("../README.md")]
struct Readme;
