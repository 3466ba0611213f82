//! Exchange rates: business units, the rates that are set at them, and which of these a shop uses (`rates.md`).
//!
//! The math is the engine's. Read it in this order: [`reference`](mod@reference).

pub mod reference;
