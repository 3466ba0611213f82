//! Load: who waits for whom, and how much one caller may take, so that the others do not notice.

pub mod background;
pub mod memory;
pub(crate) mod shares;
pub mod turns;
