//! Exchange rates, over HTTP: business units, rates, what shops use, and the topic (`rates.md`).

mod fixture;
mod units;
mod used;
