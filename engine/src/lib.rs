//! Tillgate's engine answers two questions: may this item be sold to this customer on this project, and at which
//! exchange rate?
//!
//! It is the pure part of the product: it has no I/O, no clock and no randomness. It builds as this library and as one
//! WebAssembly module. The same bytes decide in the host, in the npm package and on the page, so a preview is the
//! decision.
//!
//! Read it in this order: [`outcome`] (the parts of answers), [`condition`], [`restriction`] and
//! [`restriction_checks`] (the rules that decide), [`catalog`] (a tenant's rules, and the basket), `explain`
//! (explanations) and [`many`] (long lists),
//! [`draft`], [`findings`] and [`compare`] (statements about a rule, in force or not yet), [`tests`] (the answers that
//! a rule must give, kept beside it), [`rate`] and [`signature`] (the rest of the math), [`json`] and [`error`]
//! (reading input, and reporting its faults), `face` (the same calls over bytes and over JavaScript strings). The
//! feature `receiver` adds the receiver's side of webhooks to the library, not to the module.

#![warn(missing_docs)]

pub mod catalog;
pub mod compare;
pub mod condition;
pub mod draft;
pub mod error;
mod explain;
pub mod face;
pub mod findings;
mod index;
pub mod json;
pub mod many;
pub mod outcome;
mod product;
pub mod rate;
#[cfg(all(feature = "receiver", not(target_arch = "wasm32")))]
pub mod receiver;
pub mod record;
pub mod restriction;
pub mod restriction_checks;
pub mod signature;
mod swar;
pub mod tests;
mod witness;

pub use self::error::{Code, Error, Fault};

/// The module's allocator, which is as fast as the standard library's with a quarter of its code.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// The examples in the engine's README, as tests.
#[cfg(all(doctest, feature = "receiver"))]
#[doc = include_str!("../README.md")]
struct Readme;
