//! Load: limits what one requester may take and orders who waits, so that the others do not notice.
//!
//! Three mechanisms, all keyed by the [`Requester`], a tenant or the network of an anonymous request:
//! - **Room** (`room.rs`, built on `budget.rs`): one requester has at most its share of the bytes that bodies and
//!   answers take, and reserves them before it reads.
//! - **A fair semaphore** (`semaphore.rs`): work that keeps a processor busy needs a permit, and requesters take turns.
//! - **Threads of lower priority** (`workers.rs`): such work, background jobs and connections that are sent a lot at
//!   once run there; the threads that serve small requests go first.
//!
//! `README.md` beside this file has the measured effect of each, and the bound of everything that a host keeps in
//! memory by a key that a request names. A map whose values stop counting with time is a `BoundedMap` (`bounded.rs`).

mod allocator;
mod bounded;
pub mod budget;
mod context;
mod requester;
pub mod room;
pub mod semaphore;
mod workers;

pub use self::allocator::give_back;
pub use self::bounded::BoundedMap;
pub use self::context::{Connection, Context};
pub use self::requester::Requester;
pub use self::workers::Workers;
