//! Load: who waits for whom, and how much one requester may take, so that the others do not notice.
//!
//! Three ideas, all keyed by the [`Requester`], a tenant or the network of an anonymous request:
//! - **Room** (`room.rs`, a `budget.rs`): of the bytes of bodies that are read, and of what answers take, one has at most
//!   its part; it is reserved before it is read.
//! - **A fair semaphore** (`semaphore.rs`): work that keeps a processor busy needs a permit, and requesters take turns.
//! - **Threads of lower priority** (`workers.rs`): such work, background jobs and connections that are sent much at once
//!   run there; the threads that serve small requests go first.
//!
//! What each of them buys, measured, stands in `README.md` beside this file; and everything that a host keeps in memory by a
//! key that a request names, with its bound. A map whose values stop to count by themselves is a `BoundedMap`
//! (`bounded.rs`).

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
