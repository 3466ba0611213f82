//! The program: it puts the crates of the host together, and serves them.
//!
//! Read it in this order: [`cli`] (the command line), [`server`] (listeners, start and stop), [`routes`] (the features and
//! their routes) and [`page`] (what browsers get). Then the crates beside it: `base` (what every feature stands on), `http`
//! (the way of a request), the features `rules`, `rates`, `tokens` and `webhooks`, each from its `http` inwards, and `store`
//! (what is stored, and the promises).

pub mod cli;
pub mod page;
pub mod routes;
pub mod server;
